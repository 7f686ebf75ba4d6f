//! `likewise doctor`

use std::num::NonZeroUsize;

use likewise_study::doctor::{self, Examination, NEIGHBORS};
use likewise_study::graph::DataShape;
use likewise_study::plain;
use likewise_study::table::aligned;

use crate::args::{Doctor, check_neighbors, joined};
use crate::context::Context;
use crate::failure::{Failure, as_flags};
use crate::output;

/// Neighbours of an item. Fails where there are fewer than the command says.
fn neighbors(args: &Doctor, shape: &DataShape) -> Result<usize, Failure> {
    let asked = args.k.map_or(NEIGHBORS, NonZeroUsize::get);
    if args.k.is_some() {
        check_neighbors(asked, shape.items, args.data.path())?;
    }
    Ok(asked)
}

pub(crate) fn run(args: &Doctor, at: &Context) -> Result<(), Failure> {
    let source = args.data.source(at.common.seed)?;
    let shape = DataShape::of(&source, &at.env)?;
    let asked = neighbors(args, &shape)?;
    let estimate = doctor::estimate(&shape, asked);
    if args.dry_run {
        return at.print(estimate);
    }
    estimate.check(at.env.max_memory)?;
    let collection = source.load(&at.env)?;
    let view = joined(&args.data.view);
    let mut seen = doctor::examine(&collection, view.as_deref(), asked, at.env.monitor)?;
    for warning in &mut seen.warnings {
        *warning = as_flags(warning);
    }
    if at.common.json {
        return output::json(&seen);
    }
    print(&seen)
}

fn print(seen: &Examination) -> Result<(), Failure> {
    output::line(format!(
        "{} items: {} labeled, {} unlabeled, {} outside, {} classes",
        seen.items,
        seen.labeled,
        seen.unlabeled,
        seen.outside,
        seen.classes.len()
    ))?;
    if let Some((least, most)) = seen.class_sizes() {
        output::line(format!("items a class: {least} to {most}"))?;
    }
    for (part, count) in &seen.split {
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
    for view in &seen.views {
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
    for warning in &seen.warnings {
        output::line(format!("! {}", plain::message(warning)))?;
    }
    Ok(())
}
