//! Data as an experiment uses them: read, divided, and with classes held out.

use std::path::Path;

use likewise::eval::split;
use likewise::{Collection, Labels, Part, seed};
use rand::seq::SliceRandom;

use super::definition::{Data, HeldOut, Split};
use crate::environment::Environment;
use crate::source::{self, ReadAs, Source};
use crate::study::CROSS_TRAIN_SHARE;
use crate::{Result, failed};

/// The items of a draw, and how many of them are of classes that are held out.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) items: Collection,
    pub(super) hidden: usize,
}

/// All items, divided.
pub(super) fn read(data: &Data, file: &Path, seed: u64, at: &Environment) -> Result<Collection> {
    let source = Source::open(&source::folder(file)?, ReadAs::default())?;
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

/// The items of a draw, where `all` are divided.
pub(super) fn of_draw(data: &Data, all: &Collection, seed: u64, draw: u64) -> Result<Prepared> {
    let Some(held) = data.outside else {
        return Ok(Prepared {
            items: all.clone(),
            hidden: 0,
        });
    };
    let labels = source::labels(all)?;
    let parts = split::given(all)?;
    let seed = seed.wrapping_add(draw);
    let (rows, outside) = chosen(labels, &parts, held, data.label_fraction, seed)?;
    let mut items = all.select(&rows);
    items.labels = Some(labels.select(&rows).masked(|place| !outside[place]));
    Ok(Prepared {
        hidden: outside.iter().filter(|outside| **outside).count(),
        items,
    })
}

/// The rows that stay, ascending, and which of them are of classes that are held out.
fn chosen(
    labels: &Labels,
    parts: &[Part],
    held: HeldOut,
    share: Option<f64>,
    seed: u64,
) -> Result<(Vec<usize>, Vec<bool>)> {
    let classes = labels.n_classes();
    if held.classes + 2 > classes {
        return Err(failed(format!(
            "outside.classes = {}: leaves fewer than two of {classes} classes",
            held.classes
        )));
    }
    let mut order: Vec<u32> = (0..classes as u32).collect();
    order.shuffle(&mut seed::stream(seed, "classes that are held out"));
    let is_held =
        |item: usize| (labels[item].class()).is_some_and(|c| order[..held.classes].contains(&c));
    let fitted = |item: &usize| parts[*item] == Part::Train;
    let (mut outside, inside): (Vec<usize>, Vec<usize>) =
        (0..labels.len()).partition(|&item| is_held(item));
    outside.retain(fitted);
    let train: Vec<usize> = inside.iter().copied().filter(fitted).collect();
    let of_train = labels.select(&train);
    let shown = share.map_or(of_train.n_known(), |share| {
        of_train.draw_share(share, seed).n_known()
    });
    // With all labels shown, those held out are as many as there are labels to look at.
    let others = if share.is_some() {
        train.len() - shown
    } else {
        train.len()
    };
    outside.shuffle(&mut seed::stream(seed, "items that are held out"));
    outside.truncate((held.share * others as f64).round() as usize);
    let mut rows: Vec<(usize, bool)> = (inside.into_iter().map(|item| (item, false)))
        .chain(outside.into_iter().map(|item| (item, true)))
        .collect();
    rows.sort_unstable();
    Ok(rows.into_iter().unzip())
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn held_out_classes_teach_without_labels_and_are_not_asked() {
        let labels = Labels::from_integers((0..400).map(|i| i % 4));
        let parts: Vec<Part> = (0..400)
            .map(|i| if i < 300 { Part::Train } else { Part::Test })
            .collect();
        let held = |share| HeldOut { classes: 1, share };
        let count = |(rows, outside): &(Vec<usize>, Vec<bool>)| {
            let of = |part: Part, held: bool| {
                let each = rows.iter().zip(outside);
                each.filter(|(row, is)| parts[**row] == part && **is == held)
                    .count()
            };
            [
                of(Part::Train, false),
                of(Part::Train, true),
                of(Part::Test, false),
                of(Part::Test, true),
            ]
        };
        // Of 225 items to fit on 24 are shown, which leaves 201.
        let some = chosen(&labels, &parts, held(0.25), Some(0.1), 3).unwrap();
        assert_eq!(count(&some), [225, 50, 75, 0]);
        let classes: std::collections::BTreeSet<_> = (some.0.iter().zip(&some.1))
            .filter(|(_, held)| **held)
            .map(|(row, _)| labels[*row].class())
            .collect();
        assert_eq!(classes.len(), 1);
        // No more than there are.
        let most = chosen(&labels, &parts, held(9.0), Some(0.1), 3).unwrap();
        assert_eq!(count(&most), [225, 75, 75, 0]);
        assert!(some.0.is_sorted());
        let others = chosen(&labels, &parts, held(0.25), Some(0.1), 4).unwrap();
        assert_ne!(some, others);
        let three = HeldOut {
            classes: 3,
            share: 1.0,
        };
        assert!(chosen(&labels, &parts, three, None, 3).is_err());
    }
}
