//! What is measured beside the ranking: collapse and calibration.

use std::collections::BTreeMap;

use likewise::eval::calibration::Calibration;
use likewise::eval::collapse::Collapse;
use likewise::{Beliefs, Labels, Part, matrix};
use ndarray::ArrayView2;

use super::ground::Ground;
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
