//! A search as it is asked for: in a run, in a run across views, or in an index of embeddings.

use std::path::PathBuf;

use crate::across::{self, Ask, Way};
use crate::data::Data;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::query::{self, Answer, Query};
use crate::run_folder::{AcrossFolder, IndexFolder, RunFolder};
use crate::{Result, live, usage};

/// What asks.
#[derive(Debug, Clone)]
pub enum Asked {
    /// The item with this id; it is left out of the answer.
    Id(String),
    /// Every item of these data.
    Data(Box<Data>),
    /// A text, in a view of texts.
    Text(String),
}

/// A search that is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Folder of a run, or of an index.
    pub run: PathBuf,
    /// What asks.
    pub asked: Asked,
    /// Across views: from which to which.
    pub way: Way,
    /// Answers a query.
    pub k: usize,
    /// Whether every item is compared with, instead of using the index.
    pub exact: bool,
}

/// What asks, once it was looked at.
enum Opened<'a> {
    Query(Query),
    Text(&'a str),
}

impl Opened<'_> {
    fn ask(&self) -> Ask<'_> {
        match self {
            Self::Query(query) => Ask::Query(query),
            Self::Text(text) => Ask::Text(text),
        }
    }
}

impl Request {
    /// What the search will cost.
    ///
    /// Fails on settings that do not suit what stands in the folder, and on data that are not there.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        let (run, k) = (&self.run, self.k);
        match self.open()?.ask() {
            Ask::Query(query) if IndexFolder::is_one(run) => {
                query::estimate_of_index(&IndexFolder::open(run)?, query, k, at)
            }
            Ask::Query(query) if !AcrossFolder::is_one(run) => {
                RunFolder::read_by(run, |run| query::estimate_of_search(run, query, k, at))
            }
            _ => AcrossFolder::read_by(run, across::estimate_of_search),
        }
    }

    /// The nearest items of each query.
    ///
    /// Fails on settings that do not suit what stands in the folder, and as [`query::search`],
    /// [`query::search_index`] and [`across::search`] do.
    pub fn run(&self, at: &Environment) -> Result<Vec<Answer>> {
        let (run, k, exact) = (&self.run, self.k, self.exact);
        match self.open()?.ask() {
            Ask::Query(query) if IndexFolder::is_one(run) => {
                query::search_index(&IndexFolder::open(run)?, query, k, exact, at)
            }
            Ask::Query(query) if !AcrossFolder::is_one(run) => {
                let found = RunFolder::read_by(run, |run| query::search(run, query, k, exact, at))?;
                live::remark_newer(run, at.monitor);
                Ok(found)
            }
            ask => AcrossFolder::read_by(run, |run| across::search(run, &ask, &self.way, k, at)),
        }
    }

    /// What asks. Fails on settings that do not suit what stands in the folder.
    fn open(&self) -> Result<Opened<'_>> {
        let (run, is_across) = (self.run.display(), AcrossFolder::is_one(&self.run));
        let opened = match &self.asked {
            Asked::Text(text) if is_across => return Ok(Opened::Text(text)),
            Asked::Text(_) => {
                return Err(usage(format!(
                    "`query_text` goes with a run across views, and {run} is none; ask with `query FILE` or \
                     `id ID`"
                )));
            }
            Asked::Id(id) => Opened::Query(Query::Id(id.clone())),
            Asked::Data(data) => Opened::Query(Query::Data(Box::new(data.open()?))),
        };
        let ways = [
            ("from", self.way.from.is_some()),
            ("to", self.way.to.is_some()),
            ("asymmetric", self.way.asymmetric),
        ];
        // What is no run is said as such by who opens it.
        let is_known = RunFolder::is_run(&self.run) || IndexFolder::is_one(&self.run);
        match ways.iter().find(|(_, given)| *given) {
            Some((way, _)) if is_known && !is_across => Err(usage(format!(
                "`{way}` goes with a run across views, and {run} is none; leave it out"
            ))),
            _ => Ok(opened),
        }
    }
}
