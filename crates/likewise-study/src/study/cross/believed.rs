//! What the items to fit on are taken for: their labels, and what is believed of the others.

use likewise::{Label, Labels};

use crate::study::selection::Selection;

/// A class and a weight for each item to fit on; weight 0 is an item without a class.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Believed {
    pub(super) class: Vec<u32>,
    pub(super) weight: Vec<f32>,
    /// What label prediction selected, one selection after the other; none of another source.
    pub(super) selections: Vec<Selection>,
}

impl Believed {
    /// The known labels alone.
    pub(super) fn known(labels: &Labels) -> Self {
        let class = labels.items().iter().map(|label| label.class());
        Self {
            weight: class
                .clone()
                .map(|c| f32::from(u8::from(c.is_some())))
                .collect(),
            class: class.map(Option::unwrap_or_default).collect(),
            selections: vec![],
        }
    }

    pub(super) fn of(class: Vec<Option<u32>>, weight: Vec<f32>) -> Self {
        let weight = class.iter().zip(weight);
        Self {
            weight: weight
                .map(|(c, w)| if c.is_some() { w } else { 0.0 })
                .collect(),
            class: class.into_iter().map(Option::unwrap_or_default).collect(),
            selections: vec![],
        }
    }
}

/// How many of those without a known label got a class, of how many of these the class is known to us,
/// and of how many it is right.
pub(super) fn hits(believed: &Believed, known: &Labels, truth: &Labels) -> [usize; 3] {
    let (mut given, mut judged, mut right) = (0, 0, 0);
    for (place, label) in known.items().iter().enumerate() {
        if label.class().is_some() || believed.weight[place] <= 0.0 {
            continue;
        }
        given += 1;
        if let Label::Known(class) = truth[place] {
            judged += 1;
            right += usize::from(class == believed.class[place]);
        }
    }
    [given, judged, right]
}
