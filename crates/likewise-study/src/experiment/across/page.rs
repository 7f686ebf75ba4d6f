//! The tables as Markdown.

use std::fmt::Write as _;

use likewise::eval::bootstrap::Estimate;

use super::cells::{Cell, DataRecord, Row, Store};
use super::definition::{Data, Experiment, HeldOut, Split};
use crate::experiment::draws::mean;
use crate::experiment::page::{Page, SHARE, Skipped, count, difference, made_by, number, percent};
use crate::experiment::store::key;
use crate::study::Selection;

/// What is shown.
const METRIC: &str = "map50";

/// The whole document.
pub(super) fn document(experiment: &Experiment, store: &Store, skipped: &[Skipped]) -> String {
    let mut page = Page::default();
    page.head(&experiment.head);
    let mut groups: Vec<&str> = Vec::new();
    for data in &experiment.data {
        if store.data(&data.name).is_some() && !groups.contains(&data.group.as_str()) {
            groups.push(&data.group);
        }
    }
    for group in groups {
        // Columns that were not computed are not there.
        let sets: Vec<&Data> = (experiment.of_group(group))
            .filter(|data| store.data(&data.name).is_some())
            .collect();
        page.line(&format!("## {group}"));
        about(&mut page, store, &sets);
        results(&mut page, experiment, store, group, &sets);
        gains(&mut page, experiment, store, &sets);
        believed(&mut page, experiment, store, &sets);
        selections(&mut page, experiment, store, &sets);
    }
    page.line(
        "MAP@50, the mean of both directions and over all orders of equally near items; means over the \
         draws of labels, ± half of the 95 % t interval over them. Pseudo-labels \"right\": of the items \
         of the known classes that got a class, the share whose class is right; items of classes that \
         are held out stand beside it, since any class that they get is wrong. Seconds are those of a \
         row alone, its pseudo-labels with it.",
    );
    page.line(&experiment.head.reading);
    recipes(&mut page, experiment);
    let open: Vec<&str> = (experiment.data.iter())
        .filter(|data| store.data(&data.name).is_none())
        .map(|data| data.name.as_str())
        .collect();
    if !open.is_empty() {
        page.line(&format!("Not computed: {}.", open.join("; ")));
    }
    let other: Vec<Skipped> = (skipped.iter())
        .filter(|set| set.reason != "not asked for")
        .map(|set| Skipped {
            name: set.name.clone(),
            reason: set.reason.clone(),
        })
        .collect();
    page.skipped(&other);
    page.line(&format!(
        "{}; other work beside it.",
        made_by(&store.times.machine)
    ));
    page.text
}

/// What the data are and how they are divided.
fn about(page: &mut Page, store: &Store, sets: &[&Data]) {
    let Some((data, record)) = sets
        .first()
        .and_then(|data| Some((data, store.data(&data.name)?)))
    else {
        return;
    };
    let split = match &data.split {
        Split::Item => "75 % of each class to fit on",
        Split::Given => "divided as the data say",
        Split::Lists { .. } => "divided by lists in the file",
    };
    let views = data.views.iter().zip(&record.dimensions);
    let views: Vec<String> = views.map(|(view, d)| format!("{view} ({d})")).collect();
    let [fit, test] = record.parts;
    // Where classes are held out, each data set and draw has its own counts.
    let counts = match record.hidden {
        None => format!(": {fit} to fit on, {test} ask and are searched"),
        Some(_) => String::new(),
    };
    page.line(&format!(
        "{} items of {} classes, views {} of {}; {split}{counts}.",
        record.items,
        record.classes,
        views.join(" and "),
        data.file.display(),
    ));
    for data in sets {
        if let (Some(held), Some(record)) = (data.outside, store.data(&data.name)) {
            page.line(&held_out(data, held, record));
        }
    }
}

/// How many items there are where classes are held out.
fn held_out(data: &Data, held: HeldOut, record: &DataRecord) -> String {
    let [fit, test] = record.parts;
    let [outside, left_out] = record.hidden.unwrap_or_default();
    let (theirs, of_these) = match data.label_fraction {
        Some(_) => (
            format!(
                "{} of their items without a label for each unlabeled item of the other classes",
                held.share
            ),
            format!(", {outside} of them held out, {left_out} unlabeled others left out"),
        ),
        None => (
            "none of their items is there, since all others have a label".to_owned(),
            String::new(),
        ),
    };
    format!(
        "{}: {} classes are held out, others in every draw; {theirs}. In the first draw {fit} to fit \
         on{of_these}; {test} ask and are searched.",
        data.name, held.classes
    )
}

fn results(page: &mut Page, experiment: &Experiment, store: &Store, group: &str, sets: &[&Data]) {
    let all: Vec<&Data> = experiment.of_group(group).collect();
    let printed = |learner: &str, source: &str, data: &Data| {
        let rows = experiment.paper_rows.iter();
        let mut rows = rows.filter(|row| row.group == group && row.learner == learner);
        let place = all.iter().position(|other| other.name == data.name)?;
        let value = *rows.next()?.values.get(source)?.get(place)?;
        (!value.is_nan()).then_some(value)
    };
    let has_printed = experiment.paper_rows.iter().any(|row| row.group == group);
    let mut head = vec!["learner".to_owned(), "labels".to_owned()];
    for data in sets {
        head.push(data.name.clone());
        if has_printed {
            head.push("printed".into());
        }
    }
    head.extend(["draws", "seconds"].map(String::from));
    let mut lines = vec![head];
    for learner in &experiment.learners {
        for source in &experiment.sources {
            let rows: Vec<Option<&Row>> = (sets.iter())
                .map(|data| store.row(&data.name, learner, source))
                .collect();
            if rows.iter().all(Option::is_none) {
                continue;
            }
            let mut line = vec![learner.clone(), source.clone()];
            for (data, row) in sets.iter().zip(&rows) {
                line.push(row.map_or("-".into(), |row| {
                    let value = mean(&row.values(METRIC));
                    value.map_or("-".into(), |value| number(&value))
                }));
                if has_printed {
                    let printed = printed(learner, source, data);
                    line.push(printed.map_or("-".into(), |value| format!("{value:.3}")));
                }
            }
            let draws = rows.iter().flatten().map(|row| row.cells.len()).max();
            line.push(draws.unwrap_or(0).to_string());
            line.push(seconds(store, rows.iter().flatten()));
            lines.push(line);
        }
    }
    page.table(&lines);
}

fn seconds<'a>(store: &Store, rows: impl Iterator<Item = &'a &'a Row>) -> String {
    let times = rows.filter_map(|row| store.times.cells.get(&key(&row.data, &row.name())));
    let all: Vec<f64> = times
        .flat_map(|by_draw| by_draw.values().copied())
        .collect();
    mean(&all).map_or("-".into(), |mean| format!("{:.0}", mean.value))
}

/// What each source adds to the first one.
fn gains(page: &mut Page, experiment: &Experiment, store: &Store, sets: &[&Data]) {
    let Some((first, others)) = experiment.sources.split_first() else {
        return;
    };
    let mut lines = Vec::new();
    for learner in &experiment.learners {
        for source in others {
            let each = sets.iter().filter(|data| data.label_fraction.is_some());
            let each = each.map(|data| {
                let own = store.row(&data.name, learner, source)?;
                let gain = own.less(store.row(&data.name, learner, first)?, METRIC)?;
                Some(difference(format!("{:+.3}", gain.value), &gain, SHARE))
            });
            let each: Vec<Option<String>> = each.collect();
            if each.iter().all(Option::is_none) {
                continue;
            }
            let mut line = vec![learner.clone(), source.clone()];
            line.extend(each.into_iter().map(|cell| cell.unwrap_or("-".into())));
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return;
    }
    let mut head = vec!["learner".to_owned(), format!("less {first}")];
    let hidden = sets.iter().filter(|data| data.label_fraction.is_some());
    head.extend(hidden.map(|data| data.name.clone()));
    lines.insert(0, head);
    page.line("Paired by draw; bold where 0 lies outside of the interval:");
    page.table(&lines);
}

/// The pseudo-labels of each source.
fn believed(page: &mut Page, experiment: &Experiment, store: &Store, sets: &[&Data]) {
    let mut lines = Vec::new();
    let (mut some_outside, mut some_scored) = (false, false);
    for data in sets {
        for source in &experiment.sources {
            // All learners of a source learn the same.
            let rows = store.runs.iter();
            let mut rows = rows.filter(|row| row.data == data.name && row.source == *source);
            let Some(row) = rows.next() else { continue };
            let of = |value: &dyn Fn(&Cell) -> Option<f64>| {
                let values: Vec<f64> = row.cells.iter().filter_map(value).collect();
                mean(&values).map(|mean| mean.value)
            };
            let Some(right) = of(&|cell| cell.right) else {
                continue;
            };
            let outside = of(&|cell| cell.outside.map(|[_, got]| got as f64));
            let there = of(&|cell| cell.outside.map(|[all, _]| all as f64));
            let scored = of(&|cell| cell.outside_auroc);
            some_outside |= there.is_some();
            some_scored |= scored.is_some();
            lines.push(vec![
                data.name.clone(),
                source.clone(),
                format!("{:.0}", of(&|cell| Some(cell.labels as f64)).unwrap_or(0.0)),
                format!(
                    "{:.0}",
                    of(&|cell| Some(cell.believed as f64)).unwrap_or(0.0)
                ),
                format!("{:.1}", 100.0 * right),
                match (outside, there) {
                    (Some(got), Some(all)) => format!("{got:.0} of {all:.0}"),
                    _ => "-".into(),
                },
                scored.map_or("-".into(), |area| format!("{area:.3}")),
            ]);
        }
    }
    if lines.is_empty() {
        return;
    }
    let head = [
        "data",
        "source",
        "labels",
        "pseudo-labels",
        "right of known classes, %",
        "of held-out classes that got one",
        "AUROC of held-out classes",
    ];
    lines.insert(0, head.map(String::from).to_vec());
    // What no data set and source has is no column.
    let columns = match (some_outside, some_scored) {
        (_, true) => 7,
        (true, false) => 6,
        (false, false) => 5,
    };
    for line in &mut lines {
        line.truncate(columns);
    }
    page.table(&lines);
    if some_scored {
        page.line(
            "AUROC: the chance that what refuses items finds one of a held-out class less like the known \
             ones than an unlabeled item of these, whether either is refused or not; .5 is a guess.",
        );
    }
}

/// What label prediction selected, at first and in the end.
fn selections(page: &mut Page, experiment: &Experiment, store: &Store, sets: &[&Data]) {
    let mut lines = Vec::new();
    for data in sets {
        for source in &experiment.sources {
            // They stand beside one learner alone.
            let rows = store.runs.iter();
            let mut rows = rows.filter(|row| row.data == data.name && row.source == *source);
            let of_row = |row: &Row| of_selections(&row.cells);
            if let Some(cells) = rows.find_map(of_row) {
                let mut line = vec![data.name.clone(), source.clone()];
                line.extend(cells);
                lines.push(line);
            }
        }
    }
    if lines.is_empty() {
        return;
    }
    let head = [
        "data",
        "source",
        "first selection",
        "right, %",
        "last selection",
        "right, %",
        "selections",
    ];
    lines.insert(0, head.map(String::from).to_vec());
    page.line(
        "What label prediction selected to learn from, at first and in the end; right: of the items of the \
         known classes:",
    );
    page.table(&lines);
}

/// Items of the first and of the last selection of each draw, the share of them that is right, and how many
/// selections there were; nothing where no draw has one.
fn of_selections(cells: &[Cell]) -> Option<[String; 5]> {
    let draws = || cells.iter().map(|cell| &cell.selections[..]);
    let over = |value: &dyn Fn(&[Selection]) -> Option<f64>| {
        mean(&draws().filter_map(value).collect::<Vec<f64>>())
    };
    let selected = |of: Option<&Selection>| Some(of?.all.selected as f64);
    let right = |of: Option<&Selection>| of?.all.precision;
    let share = |value: Option<Estimate>| value.map_or("-".into(), |v| percent(&v, false));
    Some([
        count(&over(&|of| selected(of.first()))?, 0),
        share(over(&|of| right(of.first()))),
        count(&over(&|of| selected(of.last()))?, 0),
        share(over(&|of| right(of.last()))),
        count(&over(&|of| (!of.is_empty()).then_some(of.len() as f64))?, 1),
    ])
}

/// Every learner and source, for whoever wants to know.
fn recipes(page: &mut Page, experiment: &Experiment) {
    page.line("## Recipes");
    page.line(
        "As in the file of the experiment; all their fields stand in `results.json` under `recipes`.",
    );
    let mut text = String::new();
    for learner in &experiment.learners {
        let methods = experiment.methods.iter();
        let mut methods = methods.filter(|method| method.names[0] == *learner);
        if let Some(method) = methods.next() {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "- {learner}: {}", method.learner.name());
        }
    }
    for source in &experiment.sources {
        let methods = experiment.methods.iter();
        let mut methods = methods.filter(|method| method.names[1] == *source);
        if let Some(method) = methods.next() {
            let of = match method.recipe.pseudo_labels.propagation() {
                Some(propagation) => propagation.spread.name(),
                None if method.by_labels_alone() => "the known labels alone",
                None => method.recipe.pseudo_labels.kind(),
            };
            let _ = writeln!(text, "- {source}: {of}");
        }
    }
    page.line(&text);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::study::Selected;

    fn cell(draw: u64, selected: &[(usize, f64)]) -> Cell {
        let selection = |&(selected, precision): &(usize, f64)| Selection {
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
        Cell {
            draw,
            seconds: 0.0,
            metrics: BTreeMap::new(),
            labels: 1,
            believed: 0,
            right: None,
            outside: None,
            outside_auroc: None,
            left_out: None,
            selections: selected.iter().map(selection).collect(),
        }
    }

    #[test]
    fn selections_are_means_over_the_draws_that_have_some() {
        let one = [cell(0, &[(900, 0.97), (950, 0.5), (1000, 0.96)])];
        let said = of_selections(&one).unwrap();
        assert_eq!(said, ["900", "97.0", "1000", "96.0", "3.0"]);
        let two = [
            cell(0, &[(900, 0.97), (1000, 0.96)]),
            cell(1, &[(902, 0.97), (1000, 0.96)]),
            cell(2, &[]),
        ];
        // t(1) = 12.706 times 1, the error of the mean of 900 and 902.
        let said = of_selections(&two).unwrap();
        assert_eq!(
            said,
            ["901 ±13", "97.0 ±0.0", "1000 ±0", "96.0 ±0.0", "2.0 ±0.0"]
        );
        // Results of before say nothing of them.
        assert_eq!(of_selections(&[cell(0, &[])]), None);
        assert_eq!(of_selections(&[]), None);
    }
}
