//! Two runs side by side: which one searches better, and for which queries.
//!
//! Both must be of the same items, with the same labels and the same split. What neither has learned from
//! asks, each run ranks the same gallery by its own embedding, and the difference of every metric has the
//! interval of a bootstrap over the queries, each paired with itself
//! ([`Bootstrap::paired`]). Where the runs have several draws of labels their
//! embeddings are those of the first: luck with labels is not in the interval.
//!
//! Cost: two exact evaluations; the memory of both embeddings.

pub(crate) mod compared;
mod request;

use std::collections::{BTreeMap, HashMap};

use likewise::eval::bootstrap::Bootstrap;
use likewise::eval::ranking::{Measure, Protocol as Asked, Ranking, evaluate};
use likewise::eval::split;
use likewise::{Embedding, Labels, Part, Similarity};
use likewise_io::items::ItemRow;
use ndarray::Axis;

pub use self::compared::{Both, Changed, Compared};
pub use self::request::Request;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::report::Thumbnails;
use crate::report::compared::{Pair, page};
use crate::run_folder::{Config, RunFolder};
use crate::source::{Photos, ReadAs, Source};
use crate::study::{Found, SplitKind};
use crate::{Result, failed, labels, run_graph, usage};

/// Ids that a message names.
const NAMED: usize = 3;

/// Both runs, with their rows in the order of the first.
#[derive(Debug)]
pub struct Runs {
    items: Vec<ItemRow>,
    labels: Labels,
    config: Config,
    recipes: [String; 2],
    embeddings: [Embedding; 2],
    similarities: [Similarity; 2],
    queries: Vec<usize>,
    gallery: Vec<usize>,
    photos: Option<Photos>,
}

/// What [`Runs::open`] and [`Runs::compare`] will cost.
pub fn estimate(runs: [&RunFolder; 2], at: &Environment) -> Result<Estimate> {
    let mut needed = Estimate::new();
    for run in runs {
        let shape = Source::open(&run.file("embeddings.npy"), ReadAs::default())?.shape(at)?;
        let (n, d) = (shape.items as f64, shape.views[0].1 as f64);
        needed = needed
            .resident(4.0 * n * d + 200.0 * n)
            .evaluation(n, n, d, 1.0, false);
    }
    Ok(needed)
}

impl Runs {
    /// Reads two runs. Fails, saying what differs, unless they are of the same items, labels and split,
    /// where their embeddings have learned from all labels, and where one is damaged.
    pub fn open(runs: [&RunFolder; 2], at: &Environment) -> Result<Self> {
        estimate(runs, at)?.check(at.max_memory)?;
        let [a, b] = runs;
        for run in runs {
            run.record()?.check_single_labels("compare")?;
        }
        let (first, second) = (a.config()?, b.config()?);
        alike(&first, &second)?;
        let (items, rows) = run_graph::read(a)?;
        if labels::of(&items)?.n_known() == 0 {
            return Err(failed(
                "the items of the first run have no labels, by which alone runs are compared; label some, and fit \
                 both with `split item`",
            ));
        }
        for (which, config) in [("first", &first), ("second", &second)] {
            learned_apart(which, config)?;
        }
        let (others, other_rows) = run_graph::read(b)?;
        let order = order(&items, &others)?;
        let other_rows = other_rows.select(Axis(0), &order);
        let parts = items.iter().map(|item| item.split);
        let parts: Option<Vec<Part>> = parts.collect();
        let parts = parts.ok_or_else(|| {
            failed("items were added to the runs since they were fitted; fit data that hold them")
        })?;
        let (queries, gallery) = split::roles(&parts);
        let similarities = [a.similarity()?, b.similarity()?];
        Ok(Self {
            labels: labels::of(&items)?,
            recipes: [a.metrics()?.recipe, b.metrics()?.recipe],
            embeddings: [
                Embedding::new(rows, &similarities[0]),
                Embedding::new(other_rows, &similarities[1]),
            ],
            similarities,
            photos: crate::suspects::photos(a)?,
            config: first,
            items,
            queries,
            gallery,
        })
    }

    /// Asks both, and compares what they answer.
    ///
    /// Fails where no query has a known class, on NaN, and when cancelled.
    pub fn compare(&self, seed: u64, at: &Environment) -> Result<Compared> {
        let rank = |embedding: &Embedding| {
            let asked = Asked::of(embedding, &self.labels, &self.queries, &self.gallery);
            evaluate(&asked, &self.config.protocol.ks, at.monitor)
        };
        let (first, second) = (rank(&self.embeddings[0])?, rank(&self.embeddings[1])?);
        let paired = Bootstrap::new().seed(seed).paired(&second, &first)?;
        let metrics = paired.into_iter().filter_map(|(measure, difference)| {
            let both = Both {
                first: first.mean(measure)?,
                second: second.mean(measure)?,
                difference,
            };
            Some((measure.to_string(), both))
        });
        let metrics: BTreeMap<String, Both> = metrics.collect();
        let changed = self.changed(&first, &second);
        let better = changed.iter().filter(|c| c.second > c.first).count();
        let answered = first.queries.len() - first.lone();
        let map_at_r = metrics.get("map_at_r").map(|both| both.difference);
        Ok(Compared {
            recipes: self.recipes.clone(),
            split: self.config.protocol.split,
            queries: first.queries.len(),
            drawn_from: first.drawn_from,
            gallery: first.gallery,
            finding: map_at_r.map_or(Found::TooFew, |e| Found::of(&e, answered)),
            better,
            worse: changed.len() - better,
            same: answered - changed.len(),
            metrics,
            changed,
        })
    }

    fn changed(&self, first: &Ranking, second: &Ranking) -> Vec<Changed> {
        let values = |ranking: &Ranking| {
            let values = ranking.values(Measure::MapAtR).unwrap_or_default();
            // The mean of nothing found may be -0, which is no other value than 0.
            values.iter().map(|value| value + 0.0).collect::<Vec<f64>>()
        };
        let each = values(first).into_iter().zip(values(second));
        let each = each
            .zip(&first.queries)
            .filter(|((a, b), _)| a.to_bits() != b.to_bits());
        let mut changed: Vec<Changed> = each
            .map(|((first, second), &item)| Changed {
                id: self.items[item].id.clone(),
                label: self.items[item].label.clone().unwrap_or_default(),
                first,
                second,
                item,
            })
            .collect();
        let by = |c: &Changed| (c.second - c.first).abs();
        changed.sort_by(|a, b| by(b).total_cmp(&by(a)).then(a.item.cmp(&b.item)));
        changed
    }

    /// A page with the queries that changed most, and what both runs answer.
    ///
    /// Fails where a picture cannot be read.
    pub fn page(&self, compared: &Compared) -> Result<String> {
        let ids: Vec<String> = self.items.iter().map(|item| item.id.clone()).collect();
        let pair = Pair {
            compared,
            ids: &ids,
            labels: &self.labels,
            rows: [
                self.embeddings[0].rows.view(),
                self.embeddings[1].rows.view(),
            ],
            similarities: &self.similarities,
            gallery: &self.gallery,
        };
        page(&pair, self.photos.as_ref().map(Thumbnails::Photos))
    }
}

/// Fails where the runs were not measured in the same way.
fn alike(first: &Config, second: &Config) -> Result<()> {
    let (a, b) = (&first.protocol, &second.protocol);
    let word = |split: SplitKind| match split {
        SplitKind::Item => "item",
        SplitKind::ZeroShot => "zero-shot",
        SplitKind::Given => "given",
        SplitKind::Folds => "folds",
    };
    let labels = |m: Option<usize>| m.map_or("all".to_owned(), |m| m.to_string());
    let (split, per_class, seed) = ("split", "labels a class", "seed");
    let each = [
        (split, word(a.split).to_owned(), word(b.split).to_owned()),
        (
            per_class,
            labels(a.labels_per_class),
            labels(b.labels_per_class),
        ),
        (seed, a.seed.to_string(), b.seed.to_string()),
    ];
    match each.into_iter().find(|(_, a, b)| a != b) {
        None => Ok(()),
        Some((what, a, b)) => Err(usage(format!(
            "the runs differ in their {what}: {a} and {b}; compare runs that were measured in the same way"
        ))),
    }
}

/// Fails where the embeddings of a run have learned from the items that would ask.
fn learned_apart(which: &str, config: &Config) -> Result<()> {
    let protocol = &config.protocol;
    if protocol.split == SplitKind::Folds || protocol.refits() {
        return Err(failed(format!(
            "the {which} run has kept no labels apart for a test, so that none are left to compare by: fit both \
             anew with `split item`, on the same labels. What each model is worth by rounds that kept labels back \
             stands in its report, and what more labels are worth is told by `likewise advise`"
        )));
    }
    Ok(())
}

/// The row of each item in the second run. Fails unless both have the same items, labels and parts.
fn order(items: &[ItemRow], others: &[ItemRow]) -> Result<Vec<usize>> {
    let places = others
        .iter()
        .enumerate()
        .map(|(row, item)| (item.id.as_str(), row));
    let places: HashMap<&str, usize> = places.collect();
    let missing: Vec<&str> = items
        .iter()
        .map(|item| item.id.as_str())
        .filter(|id| !places.contains_key(id))
        .collect();
    if !missing.is_empty() || items.len() != others.len() {
        let named = missing[..missing.len().min(NAMED)].join(", ");
        return Err(failed(format!(
            "the runs are not of the same items: the first has {}, the second {}, {} of the first are not in the \
             second{}{named}",
            items.len(),
            others.len(),
            missing.len(),
            if named.is_empty() { "" } else { ": " }
        )));
    }
    let order: Vec<usize> = items.iter().map(|item| places[item.id.as_str()]).collect();
    for (item, &row) in items.iter().zip(&order) {
        let other = &others[row];
        if item.label != other.label {
            let word = |label: &Option<String>| label.clone().unwrap_or("no label".into());
            return Err(failed(format!(
                "the runs differ in their labels: item {} has {} in the first and {} in the second; fit both on the \
                 same labels",
                item.id,
                word(&item.label),
                word(&other.label)
            )));
        }
        if item.split != other.split {
            let word = |part: Option<Part>| part.map_or("added later", Part::name);
            return Err(failed(format!(
                "the runs differ in their parts: item {} is of {} in the first and of {} in the second",
                item.id,
                word(item.split),
                word(other.split)
            )));
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, label: &str, split: Part) -> ItemRow {
        ItemRow {
            id: id.into(),
            label: Some(label.into()),
            split: Some(split),
            ..ItemRow::default()
        }
    }

    #[test]
    fn items_are_matched_by_id_and_what_differs_is_named() {
        let a = [item("p", "x", Part::Test), item("q", "y", Part::Train)];
        let b = [a[1].clone(), a[0].clone()];
        assert_eq!(order(&a, &b).unwrap(), [1, 0]);
        let said = |b: &[ItemRow]| order(&a, b).unwrap_err().to_string();
        assert!(
            said(&[item("r", "x", Part::Test), b[0].clone()])
                .contains("1 of the first are not in the second: p")
        );
        assert!(said(&a[..1]).contains("not of the same items"));
        assert!(
            said(&[item("p", "z", Part::Test), b[0].clone()])
                .contains("item p has x in the first and z")
        );
        assert!(
            said(&[item("p", "x", Part::Train), b[0].clone()])
                .contains("item p is of test in the first and of train")
        );
    }
}
