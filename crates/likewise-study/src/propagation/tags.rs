//! Several labels an item: each is spread by itself.

use std::path::Path;

use likewise::graph::Fusion;
use likewise::propagate::by_tag::{self, by_tag};
use likewise::propagate::{Given, Method};
use likewise::{Error, Labels, Monitor, Tags};
use serde::Serialize;

use crate::Result;
use crate::graph::Searched;

/// Of a propagation of several labels an item.
#[derive(Debug, Serialize)]
pub struct ByTag {
    /// The method.
    pub method: String,
    /// Items whose labels were given.
    pub labeled: usize,
    /// Items that no label reaches.
    pub unreached: usize,
    /// How the neighbours were found, if the graph was built here.
    pub search: Option<Searched>,
    /// How several views became one graph; absent of one view, and of a graph that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuse: Option<Fusion>,
    /// The views whose columns were brought to one scale for the graph.
    pub standardized: Vec<String>,
    /// F1 over all labels of the items whose labels were hidden; absent if none were.
    pub f1_hidden: Option<f64>,
    /// Label by label.
    pub tags: Vec<Tag>,
    /// From the first item read to the last belief written.
    pub seconds: f64,
}

/// One label.
#[derive(Debug, Serialize)]
pub struct Tag {
    /// Its name.
    pub tag: String,
    /// Items that are known to have it.
    pub labeled: usize,
    /// Items that have it, as known or believed.
    pub found: usize,
    /// What a belief has to be above.
    pub threshold: f64,
    /// F1 of the labeled items, hidden in turn.
    pub f1: Option<f64>,
    /// Of the items whose labels were hidden.
    #[serde(flatten)]
    pub hidden: Option<Hidden>,
}

/// How the beliefs in a label compare with the truth.
#[derive(Debug, Serialize, Clone, Copy, Default)]
pub struct Hidden {
    /// Of those believed to have it, the share that has it.
    pub precision_hidden: Option<f64>,
    /// Of those that have it, the share believed to.
    pub recall_hidden: Option<f64>,
}

/// Counts of right and wrong.
#[derive(Clone, Copy, Default)]
struct Counts {
    right: usize,
    believed: usize,
    true_ones: usize,
}

impl Counts {
    fn f1(self) -> Option<f64> {
        let all = self.believed + self.true_ones;
        (all > 0).then(|| 2.0 * self.right as f64 / all as f64)
    }

    fn hidden(self) -> Hidden {
        let share = |of: usize| (of > 0).then(|| self.right as f64 / of as f64);
        Hidden {
            precision_hidden: share(self.believed),
            recall_hidden: share(self.true_ones),
        }
    }
}

/// Spreads each label of `given` by itself, and writes the beliefs where that is asked for.
pub(super) fn spread(
    method: &Method,
    given: &Given,
    (truth, ids): (&Labels, &[String]),
    out: Option<&Path>,
    seed: u64,
    monitor: &Monitor,
) -> Result<ByTag> {
    let several = || Error::data("the labels are one an item");
    let known = given.labels.item_tags().ok_or_else(several)?;
    let truth = truth.item_tags().ok_or_else(several)?;
    let found = by_tag(method, given, &known, seed, monitor)?;
    if let Some(out) = out {
        likewise_io::tags::write(out, &found, ids)?;
    }
    let counts = compare(&found, &known, &truth);
    let all = counts.iter().fold(Counts::default(), |all, own| Counts {
        right: all.right + own.right,
        believed: all.believed + own.believed,
        true_ones: all.true_ones + own.true_ones,
    });
    let any_hidden = (0..known.len()).any(|i| known.of(i).is_none() && truth.of(i).is_some());
    let (labeled, reached) = (known.by_tag(), found.tags.by_tag());
    let row = |tag: usize| Tag {
        tag: known.names()[tag].clone(),
        labeled: labeled[tag].len(),
        found: reached[tag].len(),
        threshold: found.decided[tag].threshold,
        f1: found.decided[tag].f1,
        hidden: any_hidden.then(|| counts[tag].hidden()),
    };
    Ok(ByTag {
        method: method.name().into(),
        labeled: known.n_known(),
        unreached: found.tags.len() - found.tags.n_known(),
        search: None,
        fuse: None,
        standardized: Vec::new(),
        f1_hidden: all.f1().filter(|_| any_hidden),
        tags: (0..known.n_tags()).map(row).collect(),
        seconds: 0.0,
    })
}

/// Of each tag, what is believed of the items whose tags were hidden.
fn compare(found: &by_tag::ByTag, known: &Tags, truth: &Tags) -> Vec<Counts> {
    let mut counts = vec![Counts::default(); known.n_tags()];
    for item in 0..known.len() {
        let (None, Some(own)) = (known.of(item), truth.of(item)) else {
            continue;
        };
        let believed = found.tags.of(item).unwrap_or_default();
        for &tag in own {
            counts[tag as usize].true_ones += 1;
            counts[tag as usize].right += usize::from(believed.binary_search(&tag).is_ok());
        }
        for &tag in believed {
            counts[tag as usize].believed += 1;
        }
    }
    counts
}
