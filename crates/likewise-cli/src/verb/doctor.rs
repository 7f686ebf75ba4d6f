//! `likewise doctor`

use std::num::NonZeroUsize;

use std::collections::BTreeMap;

use likewise::eval::{collapse::Collapse, leak};
use likewise::graph::KnnGraph;
use likewise::{Label, Part, matrix};
use likewise_study::graph::DataShape;
use likewise_study::plain;
use likewise_study::source::part_with_view;
use likewise_study::table::aligned;
use ndarray::ArrayView2;
use serde::Serialize;

use crate::args::{Doctor, joined};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Answer {
    items: usize,
    views: Vec<ViewCard>,
    labeled: usize,
    unlabeled: usize,
    outside: usize,
    classes: BTreeMap<String, usize>,
    split: BTreeMap<&'static str, usize>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct ViewCard {
    name: String,
    dimensions: usize,
    missing: usize,
    zero_rows: usize,
    constant_columns: usize,
    unit_length: bool,
    duplicates: usize,
    duplicates_across_split: usize,
    near_duplicates_across_split: usize,
    effective_rank: f64,
    mean_cosine: f64,
    isolated: usize,
    components: usize,
}

/// Neighbours of an item where the command does not say.
const NEIGHBORS: usize = 10;

/// Neighbours of an item. Fails where there are fewer than the command says.
fn neighbors(args: &Doctor, shape: &DataShape) -> Result<usize, Failure> {
    let asked = args.k.map_or(NEIGHBORS, NonZeroUsize::get);
    if args.k.is_some() && asked as f64 >= shape.items {
        return Err(Failure::usage(format!(
            "{}: -k {asked}, but an item has at most {} neighbours",
            args.data.path().display(),
            shape.items - 1.0
        )));
    }
    Ok(asked)
}

pub(crate) fn run(args: &Doctor, at: &Context) -> Result<(), Failure> {
    let source = args.data.source(at.common.seed)?;
    let shape = DataShape::of(&source, &at.env)?;
    let asked = neighbors(args, &shape)?;
    let (n, d) = (shape.items, shape.columns);
    // Views are looked at one after the other.
    let of_others = 2.0 * n * n * (shape.all_columns - d);
    let estimate = shape.read().graph(n, d, asked as f64);
    let estimate = estimate.variances(n, d).stage(0.0, of_others);
    if args.dry_run {
        return at.print(estimate);
    }
    estimate.check(at.env.max_memory)?;
    let collection = source.load(&at.env)?;
    let mut warnings = Vec::new();
    let names: Vec<String> = match joined(&args.data.view) {
        Some(name) => vec![name],
        None => collection.views().iter().map(|v| v.name.clone()).collect(),
    };
    let mut views = Vec::new();
    for name in names {
        let (part, name) = part_with_view(&collection, Some(&name), at.env.monitor)?;
        let x = part.view(Some(&name))?.matrix.view();
        let parts = part
            .split
            .clone()
            .unwrap_or_else(|| vec![Part::Train; part.len()]);
        let leaks = leak::check(
            x,
            &parts,
            part.labels.as_ref(),
            None,
            leak::Options::default(),
            at.env.monitor,
        )?;
        let meter = Collapse::measure(x)?;
        let k = asked.min(part.len().saturating_sub(1)).max(1);
        let (isolated, components) = if part.len() > 1 {
            let graph = KnnGraph::new().k(k).build(x, at.env.monitor)?;
            (graph.isolated().len(), graph.n_components())
        } else {
            (part.len(), part.len())
        };
        // In f64: squares of tiny numbers are none in f32.
        let lengths = matrix::lengths(x);
        let constant = |column: ndarray::ArrayView1<f32>| {
            column.iter().all(|v| v.to_bits() == column[0].to_bits())
        };
        let card = ViewCard {
            dimensions: x.ncols(),
            missing: collection.len() - part.len(),
            zero_rows: lengths.iter().filter(|&&l| l == 0.0).count(),
            constant_columns: x.columns().into_iter().filter(|c| constant(*c)).count(),
            unit_length: lengths.iter().all(|l| (l - 1.0).abs() < 5e-4),
            duplicates: leaks.duplicates_within.count,
            duplicates_across_split: leaks.duplicates_across.count,
            near_duplicates_across_split: leaks.near_duplicates.count,
            effective_rank: meter.effective_rank,
            mean_cosine: meter.mean_cosine,
            isolated,
            components,
            name,
        };
        remarks(&card, &mut warnings);
        warnings.extend(outsized(x, &card.name, part.ids()));
        views.push(card);
    }
    let labels = collection.labels.as_ref();
    let count = |wanted: fn(&Label) -> bool| {
        labels.map_or(0, |l| l.items().iter().filter(|l| wanted(l)).count())
    };
    let mut classes = BTreeMap::new();
    if let Some(labels) = labels {
        for (name, members) in labels.classes().iter().zip(labels.by_class()) {
            classes.insert(name.clone(), members.len());
        }
    }
    let labeled = count(|l| matches!(l, Label::Known(_)));
    if labeled == 0 {
        warnings.push("no labels: give some with --labels FILE".into());
    } else if classes.len() < 2 {
        warnings.push("only one class: similarity needs at least two".into());
    }
    if let (Some(least), Some(most)) = (classes.values().min(), classes.values().max())
        && *most > 10 * (*least).max(1)
    {
        warnings.push(format!("unbalanced classes: from {least} to {most} items"));
    }
    let mut split = BTreeMap::new();
    for part in collection.split.iter().flatten() {
        *split.entry(part.name()).or_default() += 1;
    }
    let answer = Answer {
        items: collection.len(),
        views,
        labeled,
        unlabeled: labels.map_or(collection.len(), |_| count(|l| *l == Label::Unknown)),
        outside: count(|l| *l == Label::Outside),
        classes,
        split,
        warnings,
    };
    if at.common.json {
        return output::json(&answer);
    }
    print(&answer)
}

fn remarks(card: &ViewCard, warnings: &mut Vec<String>) {
    let name = &card.name;
    let listed = [
        (card.zero_rows, "rows of zeros; they are similar to nothing"),
        (
            card.duplicates,
            "items are identical to an earlier one (likewise duplicates lists them)",
        ),
        (
            card.duplicates_across_split,
            "items stand on both sides of the split: a leak",
        ),
        (
            card.near_duplicates_across_split,
            "items have a near copy on the other side of the split",
        ),
        (
            card.isolated,
            "items have no similar neighbour; labels cannot reach them",
        ),
        (card.constant_columns, "columns are the same in every item"),
    ];
    for (count, what) in listed {
        if count > 0 {
            warnings.push(format!("view {name}: {count} {what}"));
        }
    }
    if card.mean_cosine > SAME_WAY {
        warnings.push(format!(
            "view {name}: all items point the same way (mean cosine {:.3}), so that their cosines \
             tell little apart; fit takes the mean off by itself, graph and propagate do with \
             --center",
            card.mean_cosine
        ));
    }
}

/// A warning of rows that dwarf all others.
fn outsized(x: ArrayView2<f32>, view: &str, ids: &[String]) -> Option<String> {
    let rows = matrix::outsized(x);
    let first = &ids[*rows.first()?];
    Some(format!(
        "view {view}: {} items are over 1,000 times as long as others (first: {first}); check them",
        rows.len()
    ))
}

/// Mean cosine from which on a warning is due: at .75, labels have piled up on one class.
const SAME_WAY: f64 = 0.6;

fn print(answer: &Answer) -> Result<(), Failure> {
    output::line(format!(
        "{} items: {} labeled, {} unlabeled, {} outside, {} classes",
        answer.items,
        answer.labeled,
        answer.unlabeled,
        answer.outside,
        answer.classes.len()
    ))?;
    let sizes = answer.classes.values();
    if let (Some(least), Some(most)) = (sizes.clone().min(), sizes.max()) {
        output::line(format!("items a class: {least} to {most}"))?;
    }
    for (part, count) in &answer.split {
        output::line(format!("split {part}: {count}"))?;
    }
    let mut lines = vec![
        [
            "view",
            "dim",
            "missing",
            "duplicates",
            "zero rows",
            "unit length",
            "eff. rank",
            "isolated",
            "components",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for view in &answer.views {
        lines.push(vec![
            view.name.clone(),
            view.dimensions.to_string(),
            view.missing.to_string(),
            view.duplicates.to_string(),
            view.zero_rows.to_string(),
            if view.unit_length { "yes" } else { "no" }.to_owned(),
            format!("{:.1}", view.effective_rank),
            view.isolated.to_string(),
            view.components.to_string(),
        ]);
    }
    output::text(aligned(&lines))?;
    for warning in &answer.warnings {
        output::line(format!("! {}", plain::message(warning)))?;
    }
    Ok(())
}
