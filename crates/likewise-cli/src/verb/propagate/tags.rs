//! `likewise propagate --multi-label`: each label by itself.

use likewise::propagate::by_tag::{ByTag, by_tag};
use likewise::propagate::{Given, Method};
use likewise::{Error, Labels, Tags};
use likewise_study::graph::Searched;
use likewise_study::table;
use serde::Serialize;

use crate::args::Propagate;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Answer {
    method: String,
    /// Items whose labels were given.
    labeled: usize,
    /// Items that no label reaches.
    unreached: usize,
    /// How the neighbours were found, if the graph was built here.
    search: Option<Searched>,
    /// F1 over all labels of the items whose labels were hidden; absent if none were.
    f1_hidden: Option<f64>,
    tags: Vec<Row>,
    seconds: f64,
}

/// One label.
#[derive(Serialize)]
struct Row {
    tag: String,
    /// Items that are known to have it.
    labeled: usize,
    /// Items that have it, as known or believed.
    found: usize,
    /// What a belief has to be above.
    threshold: f64,
    /// F1 of the labeled items, hidden in turn.
    f1: Option<f64>,
    /// Of the items whose labels were hidden.
    #[serde(flatten)]
    hidden: Option<Hidden>,
}

/// How the beliefs in a label compare with the truth.
#[derive(Serialize, Clone, Copy, Default)]
struct Hidden {
    precision_hidden: Option<f64>,
    recall_hidden: Option<f64>,
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

/// Fails on flags that go by one label an item.
pub(super) fn check(args: &Propagate) -> Result<(), Failure> {
    let given = [
        ("--not", args.excluded.is_some()),
        ("--class-sizes", args.class_sizes.is_some()),
        ("--negatives", args.negatives.is_some()),
        ("--diagnose", args.diagnose),
        ("--calibrate", args.calibrate),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag} goes by one label an item, and with --multi-label each label is spread by itself; \
             leave it out"
        ))),
    }
}

/// Spreads each label of `visible` by itself.
pub(super) fn run(
    args: &Propagate,
    method: &Method,
    given: &Given,
    (truth, ids): (&Labels, &[String]),
    search: Option<Searched>,
    at: &Context,
) -> Result<Answered, Failure> {
    let several = || Error::data("the labels are one an item");
    let known = given.labels.item_tags().ok_or_else(several)?;
    let truth = truth.item_tags().ok_or_else(several)?;
    let found = by_tag(method, given, &known, at.common.seed, at.env.monitor)?;
    if let Some(out) = &args.out {
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
    let row = |tag: usize| Row {
        tag: known.names()[tag].clone(),
        labeled: labeled[tag].len(),
        found: reached[tag].len(),
        threshold: found.decided[tag].threshold,
        f1: found.decided[tag].f1,
        hidden: any_hidden.then(|| counts[tag].hidden()),
    };
    Ok(Answered(Answer {
        method: method.name().into(),
        labeled: known.n_known(),
        unreached: found.tags.len() - found.tags.n_known(),
        search,
        f1_hidden: all.f1().filter(|_| any_hidden),
        tags: (0..known.n_tags()).map(row).collect(),
        seconds: 0.0,
    }))
}

/// Of each tag, what is believed of the items whose tags were hidden.
fn compare(found: &ByTag, known: &Tags, truth: &Tags) -> Vec<Counts> {
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

/// What there is to say.
pub(super) struct Answered(Answer);

impl Answered {
    pub(super) fn print(mut self, seconds: f64, at: &Context) -> Result<(), Failure> {
        self.0.seconds = seconds;
        let answer = &self.0;
        if at.common.json {
            return output::json(answer);
        }
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.3}"));
        let mut lines = vec![
            [
                "",
                "labeled",
                "found",
                "threshold",
                "F1",
                "precision",
                "recall",
            ]
            .map(str::to_owned)
            .to_vec(),
        ];
        for row in &answer.tags {
            let hidden = row.hidden.unwrap_or_default();
            lines.push(vec![
                row.tag.clone(),
                row.labeled.to_string(),
                row.found.to_string(),
                number(Some(row.threshold)),
                number(row.f1),
                number(hidden.precision_hidden),
                number(hidden.recall_hidden),
            ]);
        }
        output::text(table::aligned(&lines))?;
        let hidden = match answer.f1_hidden {
            Some(f1) => format!("F1 {f1:.3} on hidden labels"),
            None => "no hidden labels to measure on".to_owned(),
        };
        output::line(format!(
            "{}: {} items labeled, {} that no label reaches, {hidden}, {:.1} s",
            answer.method, answer.labeled, answer.unreached, answer.seconds
        ))
    }
}
