//! Data as an experiment uses them: read, divided, and with classes held out.

use std::collections::BTreeSet;
use std::path::Path;

use likewise::eval::split;
use likewise::{Collection, Labels, Part, View, seed};
use rand::seq::SliceRandom;

use super::definition::{Data, HeldOut, Split};
use crate::environment::Environment;
use crate::source::{self, ReadAs, Source};
use crate::study::CROSS_TRAIN_SHARE;
use crate::{Result, failed};

/// The items of a draw.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) items: Collection,
    pub(super) hidden: Hidden,
}

/// How many items are not what they are elsewhere, where classes are held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Hidden {
    /// Of these classes.
    pub(super) outside: usize,
    /// Of other classes, without a label, which nobody sees.
    pub(super) left_out: usize,
}

/// All items, divided.
pub(super) fn read(data: &Data, file: &Path, seed: u64, at: &Environment) -> Result<Collection> {
    let folder = source::folder(file)?;
    let source = Source::open(folder.path(), ReadAs::default())?;
    let mut items = source.load(at)?;
    for view in &data.views {
        items.view(Some(view))?;
    }
    let labels = source::labels(&items)?;
    match &data.split {
        Split::Given => {
            split::given(&items)?;
        }
        Split::Item => {
            items.split = Some(split::by_item(labels, CROSS_TRAIN_SHARE, 0.0, seed)?);
        }
        Split::Lists { fit, test } => {
            let fit = likewise_io::read_list(file, fit)?;
            let test = likewise_io::read_list(file, test)?;
            items.split = Some(by_lists(items.len(), &fit, &test)?);
        }
    }
    Ok(items)
}

/// Fails unless each row is in one of the lists, once.
fn by_lists(n: usize, fit: &[i64], test: &[i64]) -> Result<Vec<Part>> {
    let mut parts: Vec<Option<Part>> = vec![None; n];
    for (rows, part) in [(fit, Part::Train), (test, Part::Test)] {
        for &row in rows {
            let place = usize::try_from(row).ok().and_then(|row| parts.get_mut(row));
            match place {
                Some(place @ None) => *place = Some(part),
                Some(Some(_)) => {
                    return Err(failed(format!(
                        "split: row {row} stands twice in the lists"
                    )));
                }
                None => return Err(failed(format!("split: there is no row {row}, only {n}"))),
            }
        }
    }
    let missing = parts.iter().position(Option::is_none);
    match missing {
        Some(row) => Err(failed(format!("split: row {row} is in none of the lists"))),
        None => Ok(parts.into_iter().flatten().collect()),
    }
}

/// What an item is in a draw with classes that are held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Of a class that is not held out.
    Inside,
    /// Of one that is; its label is not there.
    Outside,
    /// Of a class that is not held out, but nobody sees it.
    LeftOut,
}

impl Prepared {
    /// Items to fit on, and queries, which are also what is searched: those that have one of the views.
    pub(super) fn parts(&self, views: &[String]) -> Result<[usize; 2]> {
        let mut seen = vec![false; self.items.len()];
        for name in views {
            let view = self.items.view(Some(name))?;
            for (item, seen) in seen.iter_mut().enumerate() {
                *seen |= view.present.as_ref().is_none_or(|present| present[item]);
            }
        }
        let parts = self.items.split.as_deref().unwrap_or_default();
        let seen = parts.iter().zip(seen).filter(|(_, seen)| *seen);
        let (train, test): (Vec<Part>, Vec<Part>) = seen
            .map(|(part, _)| *part)
            .partition(|part| *part == Part::Train);
        Ok([train.len(), test.len()])
    }
}

/// The items of a draw, where `all` are divided.
pub(super) fn of_draw(data: &Data, all: &Collection, seed: u64, draw: u64) -> Result<Prepared> {
    let Some(held) = data.outside else {
        return Ok(Prepared {
            items: all.clone(),
            hidden: Hidden::default(),
        });
    };
    let labels = source::labels(all)?;
    let parts = split::given(all)?;
    let seed = seed.wrapping_add(draw);
    let chosen = chosen(labels, &parts, held, data.label_fraction, seed)?;
    let (rows, roles): (Vec<usize>, Vec<Role>) = chosen.into_iter().unzip();
    let mut items = all.select(&rows);
    let has_label = |place: usize| roles[place] != Role::Outside;
    items.labels = Some(labels.select(&rows).masked(has_label));
    let count = |wanted: Role| roles.iter().filter(|role| **role == wanted).count();
    Ok(Prepared {
        hidden: Hidden {
            outside: count(Role::Outside),
            left_out: count(Role::LeftOut),
        },
        items: unseen(items, &roles)?,
    })
}

/// The rows that stay, ascending, and what each is.
fn chosen(
    labels: &Labels,
    parts: &[Part],
    held: HeldOut,
    share: Option<f64>,
    seed: u64,
) -> Result<Vec<(usize, Role)>> {
    let classes = held_out(labels.n_classes(), held.classes, seed)?;
    let is_held = |item: usize| (labels[item].class()).is_some_and(|c| classes.contains(&c));
    let fitted = |item: &usize| parts[*item] == Part::Train;
    let (mut outside, inside): (Vec<usize>, Vec<usize>) =
        (0..labels.len()).partition(|&item| is_held(item));
    outside.retain(fitted);
    let train: Vec<usize> = inside.iter().copied().filter(fitted).collect();
    let mut open = unlabeled(labels, &train, share, seed);
    let [stay, there] = counts(open.len(), outside.len(), held.share);
    outside.shuffle(&mut seed::stream(seed, "items that are held out"));
    outside.truncate(there);
    open.shuffle(&mut seed::stream(seed, "unlabeled items that stay"));
    let left_out: BTreeSet<usize> = open.into_iter().skip(stay).collect();
    let role = |item: usize| {
        if left_out.contains(&item) {
            Role::LeftOut
        } else {
            Role::Inside
        }
    };
    let mut rows: Vec<(usize, Role)> = (inside.into_iter().map(|item| (item, role(item))))
        .chain(outside.into_iter().map(|item| (item, Role::Outside)))
        .collect();
    rows.sort_unstable_by_key(|(item, _)| *item);
    Ok(rows)
}

/// The classes that are held out. Fails where fewer than two would be left.
fn held_out(classes: usize, held: usize, seed: u64) -> Result<Vec<u32>> {
    if held + 2 > classes {
        return Err(failed(format!(
            "outside.classes = {held}: leaves fewer than two of {classes} classes"
        )));
    }
    let mut order: Vec<u32> = (0..classes as u32).collect();
    order.shuffle(&mut seed::stream(seed, "classes that are held out"));
    order.truncate(held);
    Ok(order)
}

/// Those of these items whose label is not shown, by the same draw as that of the study, which sees the
/// same labels in the same order.
fn unlabeled(labels: &Labels, train: &[usize], share: Option<f64>, seed: u64) -> Vec<usize> {
    let all = labels.select(train);
    let shown = match share {
        Some(share) => all.draw_share(share, seed),
        None => all,
    };
    let places = train.iter().enumerate();
    places
        .filter(|(place, _)| shown[*place].class().is_none())
        .map(|(_, &item)| item)
        .collect()
}

/// How many stay of the unlabeled items of the known classes, and of the items that are held out:
/// `share` of the latter for each of the former, whichever there are too few of.
fn counts(unlabeled: usize, outside: usize, share: f64) -> [usize; 2] {
    let wanted = (share * unlabeled as f64).round() as usize;
    if wanted <= outside {
        return [unlabeled, wanted];
    }
    [(outside as f64 / share).floor() as usize, outside]
}

/// The items without any view of those that are left out.
///
/// These are not taken away: the study draws its labels as a share of all of them, so that the same
/// items have a label whatever is left out.
fn unseen(items: Collection, roles: &[Role]) -> Result<Collection> {
    if !roles.contains(&Role::LeftOut) {
        return Ok(items);
    }
    let without = |view: &View| {
        let mut view = view.clone();
        let mut present = view.present.unwrap_or_else(|| vec![true; roles.len()]);
        for (place, role) in roles.iter().enumerate() {
            if *role == Role::LeftOut {
                present[place] = false;
                view.matrix.row_mut(place).fill(0.0);
            }
        }
        view.present = Some(present);
        view
    };
    let views = items.views().iter().map(without).collect();
    let mut left = Collection::new(items.ids().to_vec(), views)?;
    left.labels = items.labels;
    left.split = items.split;
    Ok(left)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn lists_divide_all_rows_once() {
        let parts = by_lists(4, &[2, 0], &[3, 1]).unwrap();
        assert_eq!(parts, [Part::Train, Part::Test, Part::Train, Part::Test]);
        for (fit, test, said) in [
            (&[0, 1][..], &[2][..], "row 3 is in none"),
            (&[0, 1, 2], &[2, 3], "row 2 stands twice"),
            (&[0, 1, 2], &[4], "no row 4"),
            (&[0, 1, 2], &[-1], "no row -1"),
        ] {
            let wrong = by_lists(4, fit, test).unwrap_err().to_string();
            assert!(wrong.contains(said), "{wrong}");
        }
    }

    /// Four classes of a hundred items each, of which three quarters are fitted.
    fn all() -> Collection {
        let view = |name: &str| View {
            name: name.into(),
            matrix: Array2::from_shape_fn((400, 2), |(i, j)| (i + j) as f32),
            present: None,
        };
        let ids = (0..400).map(|i| i.to_string()).collect();
        let mut all = Collection::new(ids, vec![view("a"), view("b")]).unwrap();
        all.labels = Some(Labels::from_integers((0..400).map(|i| i % 4)));
        let part = |i| if i < 300 { Part::Train } else { Part::Test };
        all.split = Some((0..400).map(part).collect());
        all
    }

    fn data(label_fraction: Option<f64>, share: f64) -> Data {
        Data {
            name: "d".into(),
            group: "g".into(),
            file: "d.npz".into(),
            views: vec!["a".into(), "b".into()],
            split: Split::Given,
            label_fraction,
            outside: Some(HeldOut { classes: 1, share }),
        }
    }

    #[test]
    fn held_out_classes_teach_without_labels_and_are_not_asked() {
        let all = all();
        let (labels, parts) = (all.labels.as_ref().unwrap(), all.split.as_deref().unwrap());
        let held = |share| HeldOut { classes: 1, share };
        let count = |rows: &[(usize, Role)]| {
            let of = |part: Part, role: Role| {
                let each = rows.iter();
                each.filter(|(row, own)| parts[*row] == part && *own == role)
                    .count()
            };
            [
                of(Part::Train, Role::Inside),
                of(Part::Train, Role::Outside),
                of(Part::Train, Role::LeftOut),
                of(Part::Test, Role::Inside),
                of(Part::Test, Role::Outside),
            ]
        };
        // Of 225 items to fit on 24 are shown, which leaves 201.
        let some = chosen(labels, parts, held(0.25), Some(0.1), 3).unwrap();
        assert_eq!(count(&some), [225, 50, 0, 75, 0]);
        let classes: BTreeSet<_> = (some.iter())
            .filter(|(_, role)| *role == Role::Outside)
            .map(|(row, _)| labels[*row].class())
            .collect();
        assert_eq!(classes.len(), 1);
        assert!(some.is_sorted_by_key(|(row, _)| *row));
        // 75 are there: eight unlabeled ones stay beside the 24.
        let most = chosen(labels, parts, held(9.0), Some(0.1), 3).unwrap();
        assert_eq!(count(&most), [32, 75, 193, 75, 0]);
        let others = chosen(labels, parts, held(0.25), Some(0.1), 4).unwrap();
        assert_ne!(some, others);
        // Where all have a label there is nothing to mix others with.
        let whole = chosen(labels, parts, held(0.25), None, 3).unwrap();
        assert_eq!(count(&whole), [225, 0, 0, 75, 0]);
        let three = HeldOut {
            classes: 3,
            share: 1.0,
        };
        assert!(chosen(labels, parts, three, None, 3).is_err());
    }

    #[test]
    fn too_few_held_out_items_keep_their_share_and_cost_no_label() {
        let all = all();
        let mut labeled: Vec<Vec<String>> = Vec::new();
        for share in [0.5, 1.5] {
            let data = data(Some(0.1), share);
            let draw = of_draw(&data, &all, 7, 2).unwrap();
            let items = &draw.items;
            let (labels, parts) = (
                items.labels.as_ref().unwrap(),
                items.split.as_ref().unwrap(),
            );
            let train: Vec<usize> = (0..items.len())
                .filter(|&item| parts[item] == Part::Train)
                .collect();
            let present = |name: &str| items.view(Some(name)).unwrap().present.clone().unwrap();
            let (seen, other) = (present("a"), present("b"));
            assert_eq!(seen, other);
            // As the study draws them, by the seed and the number of the draw.
            let shown = labels.select(&train).draw_share(0.1, 7 + 2);
            let of = |has_label: bool, inside: bool| -> Vec<usize> {
                let places = train.iter().enumerate();
                let wanted = places.filter(|(place, item)| {
                    shown[*place].class().is_some() == has_label
                        && labels[**item].class().is_some() == inside
                });
                wanted.map(|(_, &item)| item).collect()
            };
            let (known, open, outside) = (of(true, true), of(false, true), of(false, false));
            assert!(known.iter().chain(&outside).all(|&item| seen[item]));
            assert_eq!((known.len(), outside.len()), (24, 75));
            let inside = open.iter().filter(|&&item| seen[item]).count();
            let hidden = Hidden {
                outside: 75,
                left_out: open.len() - inside,
            };
            assert_eq!(draw.hidden, hidden);
            let off = outside.len() as f64 - share * inside as f64;
            assert!((0.0..share).contains(&off), "{share}: {inside}");
            let parts = draw.parts(&data.views).unwrap();
            assert_eq!(parts, [24 + inside + 75, 75]);
            labeled.push(
                known
                    .iter()
                    .map(|&item| items.ids()[item].clone())
                    .collect(),
            );
        }
        assert_eq!(labeled[0], labeled[1]);
    }

    #[test]
    fn with_all_labels_nothing_is_left_out() {
        let data = data(None, 1.5);
        let draw = of_draw(&data, &all(), 7, 0).unwrap();
        assert_eq!((draw.hidden, draw.items.len()), (Hidden::default(), 300));
        assert_eq!(draw.parts(&data.views).unwrap(), [225, 75]);
    }
}
