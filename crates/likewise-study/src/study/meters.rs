//! What is measured beside the ranking: collapse and calibration.

use std::collections::BTreeMap;

use likewise::eval::calibration::Calibration;
use likewise::eval::collapse::{Collapse, Verdict};
use likewise::{Beliefs, Labels, Monitor, Part, matrix};
use ndarray::ArrayView2;

use super::ground::Ground;
use super::kept::Kept;
use crate::Result;

/// Items that the collapse meter looks at.
const METER_SAMPLE: usize = 4096;

/// The collapse meter on the items that are searched, or on some of them drawn at random.
pub(super) fn collapse(ground: &Ground, tested: ArrayView2<f32>) -> Result<Collapse> {
    let gallery = &ground.gallery;
    let drawn =
        likewise::eval::collapse::sample(gallery.len(), METER_SAMPLE, ground.plan.protocol.seed);
    let rows: Vec<usize> = drawn.into_iter().map(|place| gallery[place]).collect();
    let tested = matrix::select_rows(tested, &rows);
    Collapse::measure(tested.view())
}

/// The collapse meter on what a model makes of the items that are searched.
pub(super) fn collapse_of_learned(
    ground: &Ground,
    kept: &Kept,
    monitor: &Monitor,
) -> Result<Collapse> {
    let embedded = ground.embed_tested(kept, monitor)?;
    collapse(ground, embedded.rows.view())
}

/// What is said of an embedding of so many classes that collapsed where the features did not.
pub(super) fn collapsed(learned: &Collapse, raw: &Collapse, classes: usize) -> Option<String> {
    let flat = |of: &Collapse| of.verdict() == Verdict::Collapsed;
    // Two classes need no more than a line.
    (classes > 2 && flat(learned) && !flat(raw)).then(|| {
        format!(
            "the embedding has collapsed: it uses {:.1} of its {} directions (the features as they are use {:.1}), so \
             that most items look alike; take another recipe, fewer epochs or a lower learning rate",
            learned.effective_rank, learned.dimensions, raw.effective_rank
        )
    })
}

/// Accuracy by confidence of the unlabeled training items whose class is known to us.
pub(super) fn calibration(
    beliefs: &Beliefs,
    truth: &Labels,
    classes: &[String],
) -> Result<Calibration> {
    let column: BTreeMap<&str, u32> = (0..)
        .zip(classes)
        .map(|(c, name)| (name.as_str(), c))
        .collect();
    let items = truth.items().iter().map(|label| match label {
        likewise::Label::Known(class) => column
            .get(truth.classes()[*class as usize].as_str())
            .map_or(likewise::Label::Unknown, |&c| likewise::Label::Known(c)),
        other => *other,
    });
    let truth = Labels::new(classes.to_vec(), items.collect())?;
    Calibration::measure(beliefs, &truth)
}

pub(super) fn count(parts: &[Part]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for part in parts {
        *counts.entry(part.name().to_owned()).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collapse_is_said_where_the_features_had_none() {
        let of = |effective_rank: f64| Collapse {
            effective_rank,
            mean_cosine: 0.1,
            dimensions: 12,
        };
        let said = collapsed(&of(1.0), &of(7.3), 5).unwrap();
        assert!(said.contains("uses 1.0 of its 12 directions"), "{said}");
        assert!(said.contains("as they are use 7.3"), "{said}");
        for (learned, raw, classes) in [(1.0, 7.3, 2), (1.0, 1.2, 5), (2.0, 7.3, 5)] {
            assert_eq!(collapsed(&of(learned), &of(raw), classes), None);
        }
    }
}
