//! Which unlabeled items are believed, and in what.

use serde::{Deserialize, Serialize};

/// What must hold for an item to be selected.
///
/// A view is *sure* of an item where the confidence of its network is above the threshold and the
/// mean of the class it predicts is, among the means of all classes, the nearest to the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The view whose network is most accurate on the labels that were kept back is sure. Where an
    /// item lacks it, the most accurate view that it has.
    #[default]
    Switching,
    /// All views are sure, of the same class.
    All,
    /// At least one view is sure, and no other of another class.
    Either,
}

/// What a view says of an item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opinion {
    /// The class that its network predicts.
    pub class: u32,
    /// How likely the network finds it.
    pub confidence: f32,
    /// The class whose mean is nearest to the features.
    pub nearest: u32,
}

impl Opinion {
    fn is_sure(self, threshold: f64) -> bool {
        f64::from(self.confidence) > threshold && self.class == self.nearest
    }
}

/// The view that is most accurate, the first of several.
pub fn best_view(accuracy: &[f64]) -> usize {
    let better = |best: usize, t: usize| {
        if accuracy[t] > accuracy[best] {
            t
        } else {
            best
        }
    };
    (0..accuracy.len()).fold(0, better)
}

impl Check {
    /// The class of an item and how sure of it the views are that said so, in the mean; `None` where
    /// it is not selected. `opinions` are those of each view, `None` of one that the item lacks, and
    /// `accuracy` how well each view does.
    pub fn select(
        self,
        opinions: &[Option<Opinion>],
        accuracy: &[f64],
        threshold: f64,
    ) -> Option<(u32, f32)> {
        let said = opinions.iter().zip(accuracy);
        let said: Vec<(Opinion, f64)> = said.filter_map(|(o, &a)| Some(((*o)?, a))).collect();
        let asked: Vec<Opinion> = match self {
            Self::Switching => {
                let accuracy: Vec<f64> = said.iter().map(|(_, a)| *a).collect();
                let best = said.get(best_view(&accuracy))?;
                vec![best.0]
            }
            Self::All => said.iter().map(|(o, _)| *o).collect(),
            Self::Either => {
                let sure = said.iter().filter(|(o, _)| o.is_sure(threshold));
                sure.map(|(o, _)| *o).collect()
            }
        };
        let first = asked.first()?;
        let agree = |o: &Opinion| o.is_sure(threshold) && o.class == first.class;
        if !asked.iter().all(agree) {
            return None;
        }
        let sum: f32 = asked.iter().map(|o| o.confidence).sum();
        Some((first.class, sum / asked.len() as f32))
    }
}

/// Of the selected items, the most confident `most` of each class; earlier ones of equals.
pub(super) fn at_most(selected: &mut [Option<(u32, f32)>], most: usize) {
    let mut order: Vec<usize> = (0..selected.len())
        .filter(|&i| selected[i].is_some())
        .collect();
    let confidence = |i: usize| selected[i].map_or(0.0, |(_, c)| c);
    order.sort_by(|&a, &b| confidence(b).total_cmp(&confidence(a)).then(a.cmp(&b)));
    let mut count = std::collections::BTreeMap::new();
    for i in order {
        if let Some((class, _)) = selected[i] {
            let n = count.entry(class).or_insert(0_usize);
            *n += 1;
            if *n > most {
                selected[i] = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FIRST: [[f32; 3]; 6] = [
        [0.95, 0.03, 0.02],
        [0.91, 0.05, 0.04],
        [0.5, 0.3, 0.2],
        [0.02, 0.96, 0.02],
        [0.9, 0.05, 0.05],
        [0.92, 0.04, 0.04],
    ];
    const SECOND: [[f32; 3]; 6] = [
        [0.97, 0.02, 0.01],
        [0.3, 0.6, 0.1],
        [0.05, 0.93, 0.02],
        [0.94, 0.03, 0.03],
        [0.96, 0.02, 0.02],
        [0.2, 0.7, 0.1],
    ];

    fn opinion(p: [f32; 3], nearest: u32) -> Opinion {
        let class = (0..3).fold(0, |best, k| if p[k] > p[best] { k } else { best });
        Opinion {
            class: class as u32,
            confidence: p[class],
            nearest,
        }
    }

    fn selected(check: Check, accuracy: [f64; 2]) -> Vec<(usize, u32)> {
        let nearest = [[0, 1, 1, 1, 0, 0], [0, 1, 1, 0, 0, 2]];
        let of = |i: usize| {
            let both = [
                Some(opinion(FIRST[i], nearest[0][i])),
                Some(opinion(SECOND[i], nearest[1][i])),
            ];
            // A confidence of exactly .9, which f32 puts a hair below, is not above .9.
            let found = check.select(&both, &accuracy, f64::from(0.9_f32))?;
            Some((i, found.0))
        };
        (0..6).filter_map(of).collect()
    }

    #[test]
    fn the_check_values() {
        // Row 1 of the first view is confident of class 0, while the mean of class 1 is nearest.
        assert_eq!(
            selected(Check::Switching, [0.5, 0.5]),
            [(0, 0), (3, 1), (5, 0)]
        );
        assert_eq!(
            selected(Check::Switching, [0.5, 0.6]),
            [(0, 0), (2, 1), (3, 0), (4, 0)]
        );
        // All four conditions hold in rows 0 and 3, but in row 3 the views contradict each other.
        assert_eq!(selected(Check::All, [0.5, 0.5]), [(0, 0)]);
        assert_eq!(
            selected(Check::Either, [0.5, 0.5]),
            [(0, 0), (2, 1), (4, 0), (5, 0)]
        );
    }

    #[test]
    fn an_item_is_judged_by_the_views_it_has() {
        let sure = Some(opinion([0.95, 0.03, 0.02], 0));
        let unsure = Some(opinion([0.5, 0.3, 0.2], 0));
        for check in [Check::Switching, Check::All, Check::Either] {
            assert_eq!(
                check.select(&[None, sure], &[0.9, 0.1], 0.9),
                Some((0, 0.95))
            );
            assert_eq!(check.select(&[None, unsure], &[0.9, 0.1], 0.9), None);
            assert_eq!(check.select(&[None, None], &[0.9, 0.1], 0.9), None);
        }
        // The third of three views is the most accurate one.
        let three = [unsure, None, sure];
        let by = |accuracy: &[f64]| Check::Switching.select(&three, accuracy, 0.9).is_some();
        assert!(by(&[0.1, 0.9, 0.2]) && !by(&[0.3, 0.9, 0.2]));
    }

    #[test]
    fn classes_are_cut_to_their_most_confident() {
        let mut all = vec![
            Some((0, 0.5)),
            None,
            Some((0, 0.9)),
            Some((1, 0.1)),
            Some((0, 0.5)),
        ];
        at_most(&mut all, 2);
        assert_eq!(
            all,
            [Some((0, 0.5)), None, Some((0, 0.9)), Some((1, 0.1)), None]
        );
    }

    proptest! {
        #[test]
        fn strict_checks_select_less(
            raw in prop::collection::vec((0_u32..3, 0.8..1.0_f32, 0_u32..3), 1..4),
            threshold in 0.8..1.0_f64,
        ) {
            let opinions: Vec<_> = raw.iter().map(|&(class, confidence, nearest)| {
                Some(Opinion { class, confidence, nearest })
            }).collect();
            let accuracy = vec![0.5; opinions.len()];
            let by = |check: Check| check.select(&opinions, &accuracy, threshold);
            // What all are sure of, each is, and nobody contradicts.
            if let Some((class, _)) = by(Check::All) {
                prop_assert_eq!(by(Check::Switching).map(|s| s.0), Some(class));
                prop_assert_eq!(by(Check::Either).map(|s| s.0), Some(class));
            }
            // Either: by brute force over the sure ones.
            let sure: std::collections::BTreeSet<u32> = raw.iter()
                .filter(|(c, p, n)| f64::from(*p) > threshold && c == n)
                .map(|(c, _, _)| *c)
                .collect();
            let expected = (sure.len() == 1).then(|| sure.first().copied()).flatten();
            prop_assert_eq!(by(Check::Either).map(|s| s.0), expected);
        }
    }
}
