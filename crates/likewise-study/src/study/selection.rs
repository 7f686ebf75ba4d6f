//! What label prediction selected, one selection after the other, and how much of it is right.

use std::collections::BTreeMap;

use likewise::{Label, Labels};
use likewise_nn::lpf::Iteration;
use serde::{Deserialize, Serialize};

/// What label prediction selected at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// Items without a label that were selected, and how many of these are right.
    #[serde(flatten)]
    pub all: Selected,
    /// The view that decided, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// By view: its accuracy on the labels that were kept back.
    pub accuracy: BTreeMap<String, f64>,
    /// Items that would have been selected, but look like none of the known classes.
    pub refused: usize,
    /// By the class that they were selected as: the same of the items of that class alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_class: BTreeMap<String, Selected>,
}

/// How many items were selected, and how many of them are right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Selected {
    /// Items that were selected.
    pub selected: usize,
    /// Those of them whose class the study knows.
    pub judged: usize,
    /// Share of these whose class is right; absent where the study knows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
}

impl Selected {
    /// Of the items that were selected, whether the class of each is right, where that is known.
    fn of(right: impl Iterator<Item = Option<bool>>) -> Self {
        let mut found = Self::default();
        let mut n_right = 0_usize;
        for right in right {
            found.selected += 1;
            found.judged += usize::from(right.is_some());
            n_right += usize::from(right == Some(true));
        }
        found.precision = (found.judged > 0).then(|| n_right as f64 / found.judged as f64);
        found
    }
}

impl Selection {
    /// Each selection in order. Classes count as those of `known`, the labels that were learned from;
    /// `truth` are all labels of the same items, whose classes may stand in another order.
    pub(super) fn all(
        iterations: &[Iteration],
        known: &Labels,
        truth: &Labels,
        views: &[&str],
    ) -> Vec<Self> {
        let each = iterations.iter();
        each.map(|of| Self::new(of, known, truth, views)).collect()
    }

    fn new(of: &Iteration, known: &Labels, truth: &Labels, views: &[&str]) -> Self {
        let name = |class: u32| known.classes()[class as usize].as_str();
        let is_right = |item: usize, class: u32| match truth[item] {
            Label::Known(own) => Some(truth.classes()[own as usize] == name(class)),
            Label::Outside | Label::Unknown => None,
        };
        let mut right: BTreeMap<&str, Vec<Option<bool>>> = BTreeMap::new();
        for (&item, &class) in of.items.iter().zip(&of.class) {
            let of_class = right.entry(name(class)).or_default();
            of_class.push(is_right(item, class));
        }
        let by_class = right.iter();
        let by_class =
            by_class.map(|(&name, of)| (name.to_owned(), Selected::of(of.iter().copied())));
        let accuracy = views.iter().zip(&of.accuracy);
        Self {
            all: Selected::of(right.values().flatten().copied()),
            view: (of.view).and_then(|view| Some((*views.get(view)?).to_owned())),
            accuracy: accuracy
                .map(|(&name, &share)| (name.to_owned(), share))
                .collect(),
            refused: of.refused,
            by_class: by_class.collect(),
        }
    }
}

/// The first and the last of the selections of the first of so many draws, in one line; nothing where there
/// are none.
pub(super) fn in_words(selections: &[Selection], draws: usize) -> Option<String> {
    let (first, later) = selections.split_first()?;
    let begin = if draws > 1 {
        "In the first draw label prediction selected"
    } else {
        "Label prediction selected"
    };
    let items = if first.all.selected == 1 {
        "item"
    } else {
        "items"
    };
    let share = |of: &Selection, what: &str| {
        let precision = of.all.precision;
        precision.map_or(String::new(), |share| {
            format!(", {:.1} %{what}", 100.0 * share)
        })
    };
    let last = later.last().map_or(String::new(), |last| {
        let when = match later.len() {
            1 => "then".to_owned(),
            n => format!("in the last of {} selections", n + 1),
        };
        format!("; {when} {}{}", last.all.selected, share(last, ""))
    });
    Some(format!(
        "{begin} {} {items}{}{last}.",
        first.all.selected,
        share(first, " of them right")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iteration(items: &[usize], class: &[u32], view: Option<usize>) -> Iteration {
        Iteration {
            items: items.to_vec(),
            class: class.to_vec(),
            per_class: vec![],
            view,
            accuracy: vec![0.5, 0.75],
            refused: 2,
        }
    }

    #[test]
    fn what_is_right_is_counted_where_the_class_is_known() {
        // What is learned from counts its classes b, c; the truth a, b, c.
        let known = Labels::parse(["c", "b", "", "", "", ""]);
        let truth = Labels::parse(["c", "b", "b", "c", "a", ""]);
        assert_eq!((known.classes().len(), truth.classes().len()), (2, 3));
        let (b, c) = (0, 1);
        // Right, wrong, wrong (a is no class that is known), and one of which nobody knows.
        let found = iteration(&[2, 3, 4, 5], &[b, b, c, c], Some(1));
        let of = &Selection::all(&[found], &known, &truth, &["image", "text"])[0];
        assert_eq!((of.all.selected, of.all.judged, of.refused), (4, 3, 2));
        assert!((of.all.precision.unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(of.view.as_deref(), Some("text"));
        assert!((of.accuracy["image"] - 0.5).abs() < 1e-12);
        assert!((of.accuracy["text"] - 0.75).abs() < 1e-12);
        let (of_b, of_c) = (of.by_class["b"], of.by_class["c"]);
        assert_eq!((of_b.selected, of_b.judged), (2, 2));
        assert!((of_b.precision.unwrap() - 0.5).abs() < 1e-12);
        assert_eq!((of_c.selected, of_c.judged), (2, 1));
        assert!(of_c.precision.is_some_and(|share| share.abs() < 1e-12));
        let json = serde_json::to_string(of).unwrap();
        assert!(json.starts_with("{\"selected\":4,\"judged\":3,"), "{json}");
        assert_eq!(&serde_json::from_str::<Selection>(&json).unwrap(), of);
    }

    #[test]
    fn without_hidden_labels_nothing_is_called_right() {
        let known = Labels::parse(["a", "b", "", ""]);
        let found = iteration(&[2, 3], &[0, 1], None);
        let of = &Selection::all(&[found], &known, &known, &["x", "y"])[0];
        assert_eq!((of.all.selected, of.all.judged), (2, 0));
        assert_eq!((of.all.precision, of.view.as_ref()), (None, None));
        let json = serde_json::to_string(of).unwrap();
        assert!(
            !json.contains("precision") && !json.contains("view"),
            "{json}"
        );
        let said = in_words(std::slice::from_ref(of), 1).unwrap();
        assert_eq!(said, "Label prediction selected 2 items.");
    }

    #[test]
    fn the_first_and_the_last_selection_are_told() {
        let of = |selected, precision| Selection {
            all: Selected {
                selected,
                judged: selected,
                precision: Some(precision),
            },
            view: None,
            accuracy: BTreeMap::new(),
            refused: 0,
            by_class: BTreeMap::new(),
        };
        let all = [of(924, 0.967), of(1000, 0.5), of(1060, 0.968)];
        assert_eq!(in_words(&[], 1), None);
        for (n, draws, expected) in [
            (
                1,
                1,
                "Label prediction selected 924 items, 96.7 % of them right.",
            ),
            (
                2,
                1,
                "Label prediction selected 924 items, 96.7 % of them right; then 1000, 50.0 %.",
            ),
            (
                3,
                5,
                "In the first draw label prediction selected 924 items, 96.7 % of them right; in the last of \
                 3 selections 1060, 96.8 %.",
            ),
        ] {
            assert_eq!(in_words(&all[..n], draws).as_deref(), Some(expected));
        }
    }
}
