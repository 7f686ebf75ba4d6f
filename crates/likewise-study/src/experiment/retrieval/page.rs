//! The tables as Markdown.

use std::fmt::Write as _;

use super::cells::{Cell, Store, gains, means, means_as_trained};
use super::definition::{Data, Experiment, How, Method, Split};
use crate::experiment::draws;
use crate::experiment::page::{PERCENT, Page, Skipped, difference, made_by, percent};
use crate::experiment::store::key;
use crate::recipe::{Learner, ModelConfig, PseudoLabels, Recipe};

/// Metrics in the order of the papers, and their titles.
const METRICS: [(&str, &str); 6] = [
    ("nmi", "NMI"),
    ("recall@1", "R@1"),
    ("recall@2", "R@2"),
    ("recall@4", "R@4"),
    ("recall@8", "R@8"),
    ("map_at_r", "MAP@R"),
];

/// The metrics of a data set: items with several labels have no partition to compare with, and grades.
fn metrics_of(data: &Data) -> [(&'static str, &'static str); 6] {
    let mut metrics = METRICS;
    if data.multi_label {
        metrics[0] = ("ndcg@8", "nDCG@8");
    }
    metrics
}

/// Those that are also shown as the method was trained to the end.
const AS_TRAINED: [(&str, &str); 2] = [
    ("recall@1", "R@1, as trained"),
    ("map_at_r", "MAP@R, as trained"),
];

/// Columns behind the metrics.
const BEHIND: usize = 7;

/// The whole document.
pub(super) fn document(experiment: &Experiment, store: &Store, skipped: &[Skipped]) -> String {
    let mut page = Page::default();
    page.head(&experiment.head);
    let done = experiment
        .data
        .iter()
        .filter(|d| store.data(&d.name).is_some());
    for data in done {
        page.line(&format!("## {}", data.name));
        about(&mut page, store, data);
        table(&mut page, experiment, store, data);
    }
    page.line(
        "In percent, means over the draws; ± is half of the 95 % interval, over queries and over \
         draws. Bold: the highest mean of a column, bounds aside: these learn from the hidden \
         labels. All but the columns \"as trained\" are of the epoch that the recipe keeps, by \
         validation where there is one; those are of the last epoch, as methods are published, \
         so that what validation sends back to the start still shows what it learned; \"= NAME\" is the same start \
         as in the row of that name. \"Over\" is R@1 minus \
         that of the raw and of the whitened features, paired by query and by draw; bold where 0 \
         lies outside of the interval. Printed rows are the paper's: its networks, and its part of the data.",
    );
    page.line(&experiment.head.reading);
    recipes(&mut page, experiment);
    page.skipped(skipped);
    let seconds: f64 = store.times.cells.values().flat_map(|c| c.values()).sum();
    page.line(&format!(
        "{}; {:.0} minutes for all cells, other work beside it.",
        made_by(&store.times.machine),
        seconds / 60.0
    ));
    page.text
}

/// What the data are and how they are divided.
fn about(page: &mut Page, store: &Store, data: &Data) {
    let Some(record) = store.data(&data.name) else {
        return;
    };
    let [fit, validate, queries, gallery] = record.parts;
    let labels = match data.labels_per_class {
        Some(n) => format!("{n} labels a class"),
        None => "all labels".into(),
    };
    let split = match data.split {
        Split::Given => "split as the data say".to_owned(),
        Split::Item => "the same classes in all parts".to_owned(),
        Split::ZeroShot => "classes disjoint, drawn at random".to_owned(),
        Split::Roles {
            fit,
            validate,
            query,
        } => {
            let rest = 100 - fit - validate - query;
            format!(
                "of each class {fit} % to fit, {validate} % validate, {query} % ask, {rest} % are searched"
            )
        }
        Split::Classes { fit, validate } => {
            let test = record.classes - fit - validate;
            format!("classes disjoint: {fit} to fit, {validate} to validate, {test} to test")
        }
    };
    page.line(&format!(
        "{} items of {} {}, {} dimensions ({}); {split}. {fit} items to fit on with {labels}, \
         {validate} to validate with as many a class, {queries} ask {gallery}.",
        record.items,
        record.classes,
        if data.multi_label {
            "sets of tags"
        } else {
            "classes"
        },
        record.dimensions,
        data.file.display()
    ));
}

fn table(page: &mut Page, experiment: &Experiment, store: &Store, data: &Data) {
    let rows: Vec<(&Method, Vec<&Cell>)> = (experiment.of(data))
        .map(|method| (method, store.cells(&data.name, &method.name)))
        .filter(|(_, cells)| !cells.is_empty())
        .collect();
    let mut head = vec![data.name.clone(), "draws".into()];
    let measured = metrics_of(data);
    head.extend(measured.map(|(_, title)| title.to_owned()));
    head.extend(["over raw", "over whitened", "epoch"].map(String::from));
    head.extend(AS_TRAINED.map(|(_, title)| title.to_owned()));
    head.extend(["right", "seconds"].map(String::from));
    let found: Vec<_> = rows.iter().map(|(_, cells)| means(cells)).collect();
    let highest = measured.map(|(metric, _)| {
        let results = rows
            .iter()
            .zip(&found)
            .filter(|((method, _), _)| !bound(method));
        let values = results.filter_map(|(_, m)| Some(m.get(metric)?.value));
        values.fold(f64::NEG_INFINITY, f64::max)
    });
    let mut lines = vec![head];
    let mut starts: Vec<(&str, Vec<String>)> = Vec::new();
    for ((method, cells), metrics) in rows.iter().zip(&found) {
        let bound = bound(method);
        let name = if bound {
            format!("{} (bound)", method.name)
        } else {
            method.name.clone()
        };
        let mut line = vec![name, cells.len().to_string()];
        for ((metric, _), highest) in measured.iter().zip(highest) {
            line.push(metrics.get(*metric).map_or("-".into(), |value| {
                percent(value, !bound && value.value >= highest)
            }));
        }
        for start in ["raw", "whitened"] {
            let gain = gains(cells, start).get("recall@1").copied();
            line.push(gain.map_or("-".into(), |gain| {
                difference(format!("{:+.1}", 100.0 * gain.value), &gain, PERCENT)
            }));
        }
        if cells.iter().all(|cell| cell.epoch == Some(0)) {
            // What many rows were sent back to is shown once.
            let kept = line.split_off(2);
            if let Some((first, _)) = starts.iter().find(|(_, shown)| *shown == kept) {
                line.push(format!("= {first}"));
                line.extend(std::iter::repeat_n("=".to_owned(), kept.len() - 1));
            } else {
                line.extend(kept.iter().cloned());
                starts.push((&method.name, kept));
            }
        }
        line.push(mean(cells, |c| c.epoch.map(|e| e as f64), 1.0, 1));
        let trained = means_as_trained(cells);
        line.extend(AS_TRAINED.map(|(metric, _)| {
            (trained.get(metric)).map_or("-".into(), |value| percent(value, false))
        }));
        line.push(mean(cells, |c| c.pseudo_label_accuracy, 100.0, 1));
        let seconds = store.times.cells.get(&key(&data.name, &method.name));
        line.push(seconds.map_or("-".into(), |by_draw| {
            let sum: f64 = by_draw.values().sum();
            format!("{:.0}", sum / by_draw.len().max(1) as f64)
        }));
        lines.push(line);
    }
    for row in experiment
        .paper_rows
        .iter()
        .filter(|row| row.data == data.name)
    {
        let mut line = vec![format!("printed: {}", row.name), String::new()];
        line.extend(measured.map(|(metric, _)| match row.values.get(metric) {
            Some(toml::Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => "-".into(),
        }));
        line.extend(std::iter::repeat_n(String::new(), BEHIND));
        lines.push(line);
    }
    page.table(&lines);
}

/// Whether a method learns from the hidden labels.
fn bound(method: &Method) -> bool {
    matches!(&method.how, How::Recipe(recipe) if recipe.is_bound())
}

/// The mean of what the cells know, or a dash.
fn mean(cells: &[&Cell], of: impl Fn(&Cell) -> Option<f64>, factor: f64, digits: usize) -> String {
    let values: Vec<f64> = cells.iter().filter_map(|cell| of(cell)).collect();
    let mean = draws::mean(&values);
    mean.map_or("-".into(), |mean| {
        format!("{:.digits$}", factor * mean.value)
    })
}

/// A recipe in one line.
fn in_words(recipe: &Recipe) -> String {
    let labels = match &recipe.pseudo_labels {
        PseudoLabels::Propagation(propagation) => propagation.spread.name(),
        other => other.kind(),
    };
    let epochs = recipe.rounds.epochs;
    match &recipe.learner {
        Learner::Cross(learner) => format!("pseudo-labels {labels}, {}", learner.name()),
        Learner::Closed(learner) => {
            format!("pseudo-labels {labels}, {}, {epochs} fits", learner.name())
        }
        Learner::Gradient(gradient) => {
            let model = match &gradient.model {
                ModelConfig::Linear(_) => "head linear",
                ModelConfig::Mlp(_) => "head mlp",
                ModelConfig::Orthogonal(_) => "head orthogonal",
                ModelConfig::Network(network) => &format!("network {}", network.encoder.name()),
            };
            format!(
                "pseudo-labels {labels}, loss {}, {model}, {epochs} epochs of batches of {}",
                gradient.title(),
                gradient.train.batch
            )
        }
    }
}

/// Every method in full, for whoever wants to know.
fn recipes(page: &mut Page, experiment: &Experiment) {
    page.line("## Recipes");
    page.line(
        "As in the file of the experiment; all their fields stand in `results.json` under \
         `recipes`. \"epoch\" is the one that validation kept (0: the start), \"right\" the share of \
         right pseudo-labels on the graph of the start.",
    );
    let mut text = String::new();
    for method in &experiment.methods {
        let what = match &method.how {
            How::Raw => "raw".to_owned(),
            How::Whitened => "whitened".to_owned(),
            How::Recipe(recipe) => in_words(recipe),
        };
        let of = if bound(method) { " (bound)" } else { "" };
        let _ = writeln!(text, "- {}{of}: {what}", method.name);
    }
    page.line(&text);
}
