//! The tables of an experiment as Markdown.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use likewise::eval::bootstrap::Estimate;

use super::cells::{Run, Store, key};
use super::definition::{Data, Experiment, LabelDraw, Method, Standardize};
use super::summary::{best, paired, record};
use crate::experiment::draws::mean;
use crate::experiment::page::{Page, SHARE, Skipped, bold, difference, made_by, number};

/// The whole document.
pub(super) fn document(
    experiment: &Experiment,
    store: &Store,
    skipped: &[Skipped],
    figure: bool,
) -> String {
    let mut page = Page::default();
    page.head(&experiment.head);
    if figure {
        page.line("![Accuracy by parameter](figure.svg)");
    }
    let done = |data: &&Data| store.data(&data.name).is_some();
    for group in experiment.groups() {
        let sets: Vec<&Data> = (experiment.data.iter())
            .filter(|data| data.group.as_deref() == group)
            .filter(done)
            .collect();
        if sets.is_empty() {
            continue;
        }
        if let Some(group) = group {
            page.line(&format!("## {group}"));
        }
        accuracy(&mut page, experiment, store, &sets);
        for other in &experiment.compare {
            compared(&mut page, experiment, store, &sets, other);
        }
        swept(&mut page, experiment, store, &sets);
    }
    page.line(&experiment.head.reading);
    printed(&mut page, experiment);
    settings(&mut page, experiment, store, skipped);
    times(&mut page, experiment, store);
    page.text
}

/// The methods that are not swept.
fn plain(experiment: &Experiment) -> Vec<&Method> {
    let plain = experiment.methods.iter();
    plain
        .filter(|m| m.rows.iter().all(|(setting, _)| setting.is_none()))
        .collect()
}

fn accuracy(page: &mut Page, experiment: &Experiment, store: &Store, sets: &[&Data]) {
    let methods = plain(experiment);
    if methods.is_empty() {
        return;
    }
    let mut head = vec!["accuracy".to_owned(), "draws".to_owned()];
    head.extend(methods.iter().map(|m| m.name.clone()));
    let mut rows = vec![head];
    for set in sets {
        let runs: Vec<Option<&Run>> = methods
            .iter()
            .map(|m| store.run(&set.name, &m.name, None))
            .collect();
        let bests = best(&runs);
        let counts: BTreeSet<usize> = runs.iter().flatten().map(|run| run.draws.len()).collect();
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        let mut row = vec![set.name.clone(), counts.join("-")];
        row.extend(runs.iter().zip(bests).map(|(run, is_best)| {
            let value = run.and_then(|run| mean(&run.accuracy));
            value.map_or("-".into(), |value| bold(number(&value), is_best))
        }));
        rows.push(row);
    }
    page.table(&rows);
    page.line(
        "Accuracy over all items, labeled ones included (eq. 36), with half of the 95 % t \
         interval over draws. Bold: no other method is better beyond the 95 % interval of the \
         difference, paired by draw.",
    );
}

fn compared(page: &mut Page, experiment: &Experiment, store: &Store, sets: &[&Data], other: &str) {
    let methods = plain(experiment);
    let methods: Vec<&&Method> = methods.iter().filter(|m| m.name != other).collect();
    let mut head = vec![format!("against {other}")];
    head.extend(methods.iter().map(|m| m.name.clone()));
    let mut rows = vec![head];
    for set in sets {
        let reference = store.run(&set.name, other, None);
        let mut row = vec![set.name.clone()];
        row.extend(methods.iter().map(|m| {
            let run = store.run(&set.name, &m.name, None);
            let found = run.zip(reference).and_then(|(a, b)| paired(a, b));
            found.map_or("-".into(), |d| difference(signed(d.value), &d, SHARE))
        }));
        rows.push(row);
    }
    page.table(&rows);
    page.line(&format!(
        "Accuracy minus that of {other}, paired by draw, with half of the 95 % t interval; + or \
         - in bold where 0 lies outside of it."
    ));
    let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    let mut rows = vec![
        [
            &format!("against {other}, sets"),
            "better",
            "unclear",
            "worse",
            "mean",
            "lowest",
        ]
        .map(String::from)
        .to_vec(),
    ];
    for method in methods {
        if let Some(record) = record(store, &names, &method.name, other) {
            let lowest = record
                .worst
                .map_or(String::new(), |(set, d)| format!("{} {set}", signed(d)));
            rows.push(vec![
                method.name.clone(),
                record.better.to_string(),
                record.unclear.to_string(),
                record.worse.to_string(),
                signed(record.mean),
                lowest,
            ]);
        }
    }
    page.table(&rows);
}

/// One table a swept parameter: a row for each set and method, a column for each value.
fn swept(page: &mut Page, experiment: &Experiment, store: &Store, sets: &[&Data]) {
    for parameter in parameters(experiment) {
        let values = values(experiment, &parameter);
        let mut head = vec![parameter.clone(), "method".to_owned()];
        head.extend(values.iter().map(ToString::to_string));
        let mut rows = vec![head];
        for set in sets {
            for method in &experiment.methods {
                let of = |value: f64| {
                    let same = |s: &&super::method::Setting| {
                        s.parameter == parameter && s.value.to_bits() == value.to_bits()
                    };
                    let mut settings = method.rows.iter().filter_map(|(s, _)| s.as_ref());
                    let setting = settings.find(same)?;
                    mean(&store.run(&set.name, &method.name, Some(setting))?.accuracy)
                };
                let found: Vec<Option<Estimate>> = values.iter().map(|&v| of(v)).collect();
                if found.iter().any(Option::is_some) {
                    let mut row = vec![set.name.clone(), method.name.clone()];
                    let cells = found.iter();
                    row.extend(cells.map(|v| v.map_or("-".into(), |v| number(&v))));
                    rows.push(row);
                }
            }
        }
        page.table(&rows);
    }
}

/// The swept parameters in the order of the experiment.
pub(super) fn parameters(experiment: &Experiment) -> Vec<String> {
    let mut parameters: Vec<String> = Vec::new();
    let rows = experiment.methods.iter().flat_map(|m| &m.rows);
    for setting in rows.filter_map(|(setting, _)| setting.as_ref()) {
        if !parameters.contains(&setting.parameter) {
            parameters.push(setting.parameter.clone());
        }
    }
    parameters
}

/// All values of a parameter, ascending.
pub(super) fn values(experiment: &Experiment, parameter: &str) -> Vec<f64> {
    let rows = experiment.methods.iter().flat_map(|m| &m.rows);
    let settings = rows.filter_map(|(setting, _)| setting.as_ref());
    let of = settings.filter(|s| s.parameter == parameter);
    let mut values: Vec<f64> = of.map(|s| s.value).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

fn printed(page: &mut Page, experiment: &Experiment) {
    if experiment.paper_rows.is_empty() {
        return;
    }
    let columns: BTreeSet<&String> = (experiment.paper_rows.iter())
        .flat_map(|row| row.values.keys())
        .collect();
    // As they stand in the experiment, then the others.
    let order = |name: &&String| experiment.methods.iter().position(|m| m.name == **name);
    let mut columns: Vec<&String> = columns.into_iter().collect();
    columns.sort_by_key(|name| order(name).unwrap_or(usize::MAX));
    page.line("## As printed");
    page.line(
        "The paper's own numbers are on other data sets and other features: nothing can be \
         compared but the pattern, which method is ahead of which.",
    );
    let mut rows = vec![vec!["printed".to_owned()]];
    rows[0].extend(columns.iter().map(|name| (*name).clone()));
    for row in &experiment.paper_rows {
        let cells = columns.iter().map(|&name| row.values.get(name));
        let cells = cells.map(|cell| cell.map_or("-", String::as_str).to_owned());
        rows.push([row.name.clone()].into_iter().chain(cells).collect());
    }
    page.table(&rows);
}

fn settings(page: &mut Page, experiment: &Experiment, store: &Store, skipped: &[Skipped]) {
    page.line("## Settings");
    let mut rows = vec![
        [
            "data",
            "file",
            "view",
            "items",
            "classes",
            "class sizes",
            "k",
            "columns",
            "labels",
            "draws",
        ]
        .map(String::from)
        .to_vec(),
    ];
    for data in &experiment.data {
        let Some(record) = store.data(&data.name) else {
            continue;
        };
        rows.push(vec![
            data.name.clone(),
            data.file.display().to_string(),
            data.view.clone().unwrap_or_default(),
            record.items.to_string(),
            record.classes.to_string(),
            format!("{} to {}", record.smallest, record.largest),
            record.k.to_string(),
            match data.standardize {
                Standardize::None => "as they are".into(),
                Standardize::Columns => "standardised".into(),
            },
            match data.label_draw {
                LabelDraw::Class => format!("{} a class", experiment.labels_per_class),
                LabelDraw::Random => format!(
                    "{} at random, each class at least once",
                    experiment.labels_per_class.get() * record.classes
                ),
            },
            {
                let draws = experiment.draws_of(data, experiment.draws.get());
                format!("{} to {}", draws.start, draws.end - 1)
            },
        ]);
    }
    page.table(&rows);
    page.line(&format!(
        "Graph: exact cosine neighbours, weights cos^{}, summed over both directions; with `one_sided` below, an edge \
         that one end alone lists weighs that share. Labels are drawn anew for each draw, whose number is the seed; the items of a cut set are drawn once, with \
         seed {}.",
        experiment.gamma, experiment.head.seed
    ));
    let mut text = String::new();
    for method in &experiment.methods {
        let row = method
            .rows
            .first()
            .map(|(_, row)| serde_json::to_string(row));
        let row = row.and_then(Result::ok).unwrap_or_default();
        let _ = writeln!(text, "- {}: `{row}`", method.name);
    }
    page.line(&text);
    page.skipped(skipped);
}

fn times(page: &mut Page, experiment: &Experiment, store: &Store) {
    page.line("## Times");
    page.line(&format!(
        "{}; other work may have run beside it. Mean seconds of a draw on the largest set, and mean \
         iterations over all sets:",
        made_by(&store.times.machine)
    ));
    let sets = experiment.data.iter().filter_map(|d| store.data(&d.name));
    let Some(largest) = sets.max_by_key(|record| record.items) else {
        return;
    };
    let name = &largest.definition.name;
    let mut rows = vec![
        ["method", name, "iterations", "not converged"]
            .map(String::from)
            .to_vec(),
    ];
    for method in &experiment.methods {
        let of_set = method.rows.iter().filter_map(|(setting, _)| {
            store
                .times
                .cells
                .get(&key(name, &method.name, setting.as_ref()))
        });
        let seconds: Vec<f64> = of_set
            .flat_map(|by_draw| by_draw.values().copied())
            .collect();
        let runs: Vec<&Run> = (experiment.data.iter())
            .flat_map(|data| {
                let rows = method.rows.iter();
                rows.filter_map(|(s, _)| store.run(&data.name, &method.name, s.as_ref()))
            })
            .collect();
        let iterations: Vec<f64> = runs
            .iter()
            .flat_map(|run| run.iterations.iter().map(|&i| i as f64))
            .collect();
        let unconverged: usize = runs.iter().map(|run| run.unconverged.len()).sum();
        let shown = |values: &[f64], digits: usize| {
            mean(values).map_or("-".into(), |m| format!("{:.digits$}", m.value))
        };
        rows.push(vec![
            method.name.clone(),
            shown(&seconds, 2),
            shown(&iterations, 0),
            format!("{unconverged} of {}", iterations.len()),
        ]);
    }
    page.table(&rows);
    let graphs: f64 = store.times.graphs.values().sum();
    let cells: f64 = (store.times.cells.values())
        .flat_map(|by_draw| by_draw.values())
        .sum();
    page.line(&format!(
        "All graphs: {graphs:.0} s. All cells: {cells:.0} s."
    ));
}

/// A difference with its sign; one that rounds to nothing has none.
fn signed(value: f64) -> String {
    if value.abs() < 0.000_5 {
        "0.000".into()
    } else {
        format!("{value:+.3}")
    }
}
