//! Embeddings measured: who finds whom, class by class, and the losses over all items.

mod request;

use std::path::Path;

use likewise::distance::Metric;
use likewise::eval::bootstrap::Bootstrap;
use likewise::eval::by_class::{ClassResult, by_class};
use likewise::eval::nmi;
use likewise::eval::ranking::{self, Protocol};
use likewise::eval::summary::{Run, Summary};
use likewise::{Label, Labels};
use likewise_nn::loss::{MOST_ITEMS, WholeSet};
use ndarray::{Array2, Axis};
use serde::Serialize;

pub use self::request::{Outcome, Request};
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::gate::Losses;
use crate::graph::DataShape;
use crate::sides::Sides;
use crate::study::CrossClass;
use crate::{Error, Result};

/// Classes that are thought of before the labels are read.
const CLASSES: f64 = 100.0;

/// What is measured.
pub struct Job {
    /// How near two items are.
    pub metric: Metric,
    /// The k of R@k and P@k.
    pub ks: Vec<usize>,
    /// Whether the items are clustered, which takes longer than all else; those of several labels are not.
    pub nmi: bool,
    /// Losses over all labeled items.
    pub losses: WholeSet,
    /// Seed of every random step.
    pub seed: u64,
}

/// The metrics, and the losses that were asked for.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// The metrics.
    #[serde(flatten)]
    pub summary: Summary,
    /// The losses by their names.
    #[serde(skip_serializing_if = "Losses::is_empty")]
    pub loss: Losses,
    /// Class by class.
    pub classes: Vec<ClassResult>,
}

impl Job {
    /// What it takes, before anything is read: the data that ask, those that are searched where they are
    /// others, and the number of classes where that is known.
    pub fn before_reading(
        &self,
        asked: &DataShape,
        searched: Option<&DataShape>,
        classes: Option<usize>,
    ) -> Estimate {
        let (queries, d) = (asked.items, asked.columns);
        let gallery = searched.map_or(0.0, |shape| shape.items);
        let making = searched.map_or(0.0, |shape| shape.making);
        let searched = if gallery > 0.0 { gallery } else { queries };
        let read = Estimate::new().resident(8.0 * (queries + gallery) * d);
        let read = read.stage(asked.making.max(making), 0.0);
        let classes = classes.map_or(CLASSES, |c| c as f64);
        self.with_losses(read, queries)
            .evaluation(queries, searched, d, classes, self.nmi)
    }

    /// The same once it is known who asks, who is searched and how many classes there are.
    pub fn after_reading(&self, sides: &Sides) -> Estimate {
        let (rows, d) = (
            sides.embeddings.nrows() as f64,
            sides.embeddings.ncols() as f64,
        );
        let (asked, searched) = (sides.queries.len() as f64, sides.gallery.len() as f64);
        let classes = sides.labels.n_classes() as f64;
        let read = Estimate::new().resident(8.0 * rows * d);
        self.with_losses(read, rows)
            .evaluation(asked, searched, d, classes, self.nmi)
    }

    /// The losses hold about eight matrices of all with all, in f64.
    fn with_losses(&self, estimate: Estimate, items: f64) -> Estimate {
        if self.losses.is_empty() {
            return estimate;
        }
        estimate.resident(64.0 * items.min(MOST_ITEMS as f64).powi(2))
    }

    /// Measures; says how many items and queries have no part in it.
    ///
    /// Fails where no query has anything to find, and as the losses do.
    pub fn run(&self, sides: &Sides, at: &Environment) -> Result<Measured> {
        let several = sides.labels.tags().is_some();
        let loss = self.losses(&sides.embeddings, &sides.labels)?;
        let x = sides.embeddings.view();
        let protocol = Protocol::new(x, &sides.labels, &sides.queries, &sides.gallery);
        let mut protocol = protocol.metric(self.metric);
        if let Some(same_as) = &sides.same_as {
            protocol = protocol.same_as(same_as);
        }
        let measured = Run {
            ranking: ranking::evaluate(&protocol, &self.ks, at.monitor)?,
            nmi: (self.nmi && !several)
                .then(|| nmi::evaluate(&protocol, self.seed, at.monitor))
                .transpose()?,
        };
        if let Some(said) = sides.unused_in_words() {
            at.monitor.warn(said);
        }
        let classes = by_class([&measured.ranking], &sides.labels);
        let bootstrap = Bootstrap::new().seed(self.seed);
        let summary = Summary::of(&[measured], &bootstrap)?;
        tell_of_lone(&summary, at)?;
        Ok(Measured {
            summary,
            loss,
            classes,
        })
    }

    /// The losses over all items with a known label.
    fn losses(&self, embeddings: &Array2<f32>, labels: &Labels) -> Result<Losses> {
        if self.losses.is_empty() {
            return Ok(Losses::new());
        }
        let known = labels.items().iter().enumerate();
        let (items, classes): (Vec<usize>, Vec<u32>) = known
            .filter_map(|(item, label)| match label {
                Label::Known(class) => Some((item, *class)),
                Label::Outside | Label::Unknown => None,
            })
            .unzip();
        let rows = embeddings.select(Axis(0), &items);
        match labels.select(&items).item_tags() {
            Some(tags) => self.losses.measure_tags(rows.view(), &tags),
            None => self.losses.measure(rows.view(), &classes),
        }
    }
}

/// Fails where no query has anything to find; says where some have not.
fn tell_of_lone(summary: &Summary, at: &Environment) -> Result<()> {
    let (queries, lone) = (summary.n_queries, summary.n_lone);
    if lone == queries {
        return Err(Error::data(
            "no query has another item of its class in the gallery, so that there is nothing to find; label two \
             items of a class at least",
        ));
    }
    if lone > 0 {
        at.monitor.warn(format!(
            "{lone} of {queries} queries have no other item of their class in the gallery: R@k and P@k count them as \
             misses, the other measures leave them out"
        ));
    }
    Ok(())
}

/// Writes what each class gets, and which one it is most often taken for, as csv.
fn write_classes(out: &Path, classes: &[ClassResult]) -> Result<()> {
    let names = [
        "class",
        "queries",
        "recall@1",
        "map_at_r",
        "taken_for",
        "times",
    ];
    let lines = classes.iter().map(|class| {
        let (other, times) = class.taken_for().unwrap_or_default();
        let map_at_r = class.map_at_r.map(|value| value.to_string());
        [
            class.class.clone(),
            class.queries.to_string(),
            class.recall_at_1.to_string(),
            map_at_r.unwrap_or_default(),
            other.to_owned(),
            times.to_string(),
        ]
    });
    Ok(likewise_io::write_lines(out, &names, lines)?)
}

/// Writes what each class gets across views, as csv.
fn write_classes_across(out: &Path, classes: &[CrossClass]) -> Result<()> {
    let lines = classes.iter().map(|class| {
        let first = class.recall_at_1.map_or(String::new(), |v| v.to_string());
        let name = class.class.clone();
        [
            name,
            class.queries.to_string(),
            first,
            class.map50.to_string(),
        ]
    });
    let names = ["class", "queries", "recall@1", "map50"];
    Ok(likewise_io::write_lines(out, &names, lines)?)
}

/// Writes the class of each query beside that of its first answer, counted, as csv.
fn write_confusion(out: &Path, classes: &[ClassResult]) -> Result<()> {
    let lines = classes.iter().flat_map(|class| {
        let each = class.nearest.iter();
        each.map(|(nearest, times)| [class.class.clone(), nearest.clone(), times.to_string()])
    });
    Ok(likewise_io::write_lines(
        out,
        &["class", "nearest", "queries"],
        lines,
    )?)
}
