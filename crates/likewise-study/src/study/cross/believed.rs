//! What the items to fit on are taken for: their labels, and what is believed of the others.

use likewise::advise::outside::auroc;
use likewise::{Label, Labels};

use crate::study::selection::Selection;

/// A class and a weight for each item to fit on; weight 0 is an item without a class.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Believed {
    pub(super) class: Vec<u32>,
    pub(super) weight: Vec<f32>,
    /// What label prediction selected, one selection after the other; none of another source.
    pub(super) selections: Vec<Selection>,
    /// How unlike the known classes each item without a label is, where the source asks; empty where it does not.
    pub(super) unlike: Vec<Option<f64>>,
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
            unlike: Vec::new(),
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
            unlike: Vec::new(),
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

/// How well the items of classes without any label are told from the others, where the source scores them: the
/// area under the ROC curve. Of the former nobody knows the class (`truth`); items that are known to be of no class
/// have no part. `None` where there are none of either, or no scores.
pub(super) fn told_apart(believed: &Believed, known: &Labels, truth: &Labels) -> Option<f64> {
    let (mut new, mut of_known) = (Vec::new(), Vec::new());
    for (place, score) in believed.unlike.iter().enumerate() {
        match (known[place], truth[place], score) {
            (Label::Unknown, Label::Unknown, &Some(score)) => new.push(score),
            (Label::Unknown, Label::Known(_), &Some(score)) => of_known.push(score),
            _ => {}
        }
    }
    auroc(&new, &of_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_out_classes_are_told_by_their_scores() {
        // Two labels; two of known classes, three of others, one known to be of none.
        let known = Labels::from_integers([0, 1, -1, -1, -1, -1, -1, -2]);
        let truth = Labels::from_integers([0, 1, 0, 1, -1, -1, -1, -2]);
        let mut believed = Believed::known(&known);
        assert_eq!(told_apart(&believed, &known, &truth), None);
        let scores = [0.0, 0.0, 1.0, 4.0, 2.0, 5.0, 0.0, 9.0].map(Some);
        believed.unlike = scores.to_vec();
        believed.unlike[6] = None;
        // 2 is above 1, 5 above both: three of four pairs.
        assert_eq!(told_apart(&believed, &known, &truth), Some(0.75));
        // Where every class has labels there is nobody to tell.
        let truth = Labels::from_integers([0, 1, 0, 1, 0, 1, 0, -2]);
        assert_eq!(told_apart(&believed, &known, &truth), None);
    }
}
