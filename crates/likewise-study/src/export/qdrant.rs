//! A collection of Qdrant, by its REST interface.
//!
//! A point's number is the UUID (version 5, namespace OID) of its item's id, so that an item that is
//! sent again takes its own place, and no item comes twice. Points know the run that they are of:
//! those that are there already are counted, and the export goes on behind them. The server builds its
//! index by itself once it has enough points, and is asked for its recall when that is done.

mod server;

use std::ops::Range;
use std::time::Duration;

use likewise::Monitor;
use likewise::error::Hint;
use serde_json::{Value, json};
use uuid::Uuid;

use self::server::Server;
use super::contents::{Compared, Contents, Vectors};
use super::recall;
use super::report::{Recall, Report, lines};
use super::store::Store;
use crate::environment::Environment;
use crate::{Result, failed, usage};

/// Numbers that go at a time: about ten times as many bytes, where a server takes 32 MB.
const BLOCK: usize = 1 << 18;
/// Most points that go at a time.
const MOST: usize = 1000;
/// How long the server is left to its index between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// Writes the contents, and counts.
pub(super) fn write(store: &Store, contents: &Contents, at: &Environment) -> Result<Report> {
    if store.table.contains('.') {
        return Err(likewise::Error::parameter(
            "table",
            &store.table,
            "must be a name without a dot; a collection of Qdrant is in no schema",
        ));
    }
    let server = Server::at(&store.url, store.secret.as_deref())?;
    let collection = Collection {
        server: &server,
        path: format!("/collections/{}", store.table),
        name: &store.table,
    };
    let done = collection.begin(store.overwrite, contents)?;
    let n = contents.items.len();
    let block = (BLOCK / contents.vectors.dimensions()).clamp(1, MOST);
    // A block that was cut off is sent again as a whole.
    let first = done / block * block;
    let send = |first: usize| {
        at.monitor.start("export", (n - first) as u64);
        for from in (first..n).step_by(block) {
            let to = (from + block).min(n);
            collection.put(contents, from..to)?;
            at.monitor.step((to - first) as u64)?;
        }
        at.monitor.end();
        collection.counts(contents)
    };
    let mut sent = n - first;
    let (mut all, mut own) = send(first)?;
    if own < n && first > 0 {
        // What was there were not the first ones: some were taken out since.
        sent = n;
        (all, own) = send(0)?;
    }
    if all != n || own != n {
        return Err(failed(format!(
            "{}: the collection {} holds {all} points, {own} of this run, where {n} were written; \
             something else wrote to it",
            server.place(),
            store.table
        ))
        .hint(Hint::OverwriteTable));
    }
    collection.wait(at.monitor)?;
    let recall = collection.recall(contents, store.seed, at.monitor)?;
    Ok(Report {
        target: "qdrant",
        to: format!("{}, collection {}", server.place(), store.table),
        items: Some(n),
        written: Some(sent),
        counted: Some(all),
        dimensions: contents.vectors.dimensions(),
        compared: contents.compared.name(),
        recall: Some(recall),
        usage: lines(&format!(
            "POST {}/collections/{}/points/query\n\
             {{\"query\": VECTOR, \"limit\": 10, \"with_payload\": true}}",
            server.place(),
            store.table
        )),
    })
}

/// The points of these contents.
fn of_run(contents: &Contents) -> Value {
    json!({"must": [{"key": "run", "match": {"value": contents.mark}}]})
}

struct Collection<'a> {
    server: &'a Server,
    path: String,
    name: &'a str,
}

impl Collection<'_> {
    /// How many points of these contents it holds; it is made where it is not there. One that was begun goes on, also
    /// where it may be overwritten.
    ///
    /// Fails on one that holds something else, which may not be overwritten, and on points that no export made.
    fn begin(&self, overwrite: bool, contents: &Contents) -> Result<usize> {
        let wanted = (
            contents.vectors.dimensions() as u64,
            distance(contents.compared),
        );
        let there = self.server.get(&self.path)?;
        if let Some(there) = &there {
            let foreign = self.count(
                &json!({"should": [{"is_empty": {"key": "run"}}, {"is_empty": {"key": "id"}}]}),
            )?;
            if foreign > 0 {
                return Err(usage(format!(
                    "{}: the collection {} holds {foreign} points that no export made, and is left alone; name another one",
                    self.server.place(),
                    self.name
                )));
            }
            let vectors = &there["result"]["config"]["params"]["vectors"];
            let own = (vectors["size"].as_u64(), vectors["distance"].as_str());
            let (all, done) = self.counts(contents)?;
            let n = contents.items.len();
            let is_same = own == (Some(wanted.0), Some(wanted.1));
            if is_same && all == done && (!overwrite || done < n) {
                return Ok(done.min(n));
            }
            if !overwrite && !is_same {
                let own = match own {
                    (Some(size), Some(distance)) => format!("vectors of {size} by {distance}"),
                    _ => "several vectors a point".to_owned(),
                };
                let run = format!("vectors of {} by {}", wanted.0, wanted.1);
                return Err(self.holds(&format!("{own}, the run {run}")));
            }
            if !overwrite {
                let more = all - done.min(all);
                return Err(self.holds(&format!("{more} points of something else")));
            }
            self.server.delete(&self.path)?;
        }
        let vectors = json!({"vectors": {"size": wanted.0, "distance": wanted.1}});
        self.server.put(&self.path, &vectors)?;
        Ok(0)
    }

    fn holds(&self, what: &str) -> likewise::Error {
        let place = self.server.place();
        usage(format!(
            "{place}: the collection {} holds {what}",
            self.name
        ))
        .hint(Hint::OverwriteTable)
    }

    /// Sends some items and waits until they are there.
    fn put(&self, contents: &Contents, items: Range<usize>) -> Result<()> {
        let rows = contents.numbers(items.clone());
        let points: Vec<Value> = (contents.items[items].iter().zip(rows.rows()))
            .map(|(item, row)| {
                json!({
                    "id": Uuid::new_v5(&Uuid::NAMESPACE_OID, item.id.as_bytes()).to_string(),
                    "vector": row.to_vec(),
                    "payload": {
                        "id": item.id,
                        "label": item.label,
                        "pseudo_label": item.pseudo_label,
                        "confidence": item.confidence,
                        "split": item.split.map(likewise::Part::name),
                        "run": contents.mark,
                    },
                })
            })
            .collect();
        let path = format!("{}/points?wait=true", self.path);
        self.server.put(&path, &json!({"points": points}))
    }

    /// How many points it holds, and how many of them are of these contents.
    fn counts(&self, contents: &Contents) -> Result<(usize, usize)> {
        Ok((self.count(&json!({}))?, self.count(&of_run(contents))?))
    }

    /// How many points it holds, of those that a filter lets through.
    fn count(&self, filter: &Value) -> Result<usize> {
        let asked = json!({"exact": true, "filter": filter});
        let path = format!("{}/points/count", self.path);
        let answer = self.server.post(&path, &asked)?;
        let count = answer["result"]["count"].as_u64();
        count
            .map(|count| count as usize)
            .ok_or_else(|| self.server.strange())
    }

    /// Waits until the server has built its index.
    fn wait(&self, monitor: &Monitor) -> Result<()> {
        monitor.start("index", None);
        loop {
            let there = self.server.get(&self.path)?;
            let status = there
                .as_ref()
                .and_then(|there| there["result"]["status"].as_str());
            match status {
                Some("yellow") => std::thread::sleep(PAUSE),
                Some("red") => {
                    let place = self.server.place();
                    return Err(failed(format!(
                        "{place}: Qdrant could not build the index of the collection {}; its log says why",
                        self.name
                    )));
                }
                Some(_) => break,
                None => return Err(self.server.strange()),
            }
            monitor.check()?;
        }
        monitor.end();
        Ok(())
    }

    /// How often it finds what comparing with every item finds, asked as anybody asks it.
    fn recall(&self, contents: &Contents, seed: u64, monitor: &Monitor) -> Result<Recall> {
        let path = format!("{}/points/query", self.path);
        recall::measure(contents, seed, monitor, |item, k| {
            let query = match &contents.vectors {
                Vectors::Rows(_) => contents.asking(&[item])?,
                Vectors::Codes(_) => contents.numbers(item..item + 1),
            };
            let asked = json!({"query": query.row(0).to_vec(), "limit": k, "with_payload": ["id"]});
            let answer = self.server.post(&path, &asked)?;
            let points = answer["result"]["points"].as_array();
            let points = points.ok_or_else(|| self.server.strange())?;
            let id = |point: &Value| point["payload"]["id"].as_str().map(str::to_owned);
            Ok(points.iter().filter_map(id).collect())
        })
    }
}

/// What Qdrant calls it. Bits are numbers whose cosine falls with every bit that differs.
fn distance(compared: Compared) -> &'static str {
    match compared {
        Compared::Cosine | Compared::Hamming => "Cosine",
        Compared::Euclidean => "Euclid",
        Compared::InnerProduct => "Dot",
    }
}
