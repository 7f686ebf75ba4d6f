//! `likewise doctor`

use std::num::NonZeroUsize;

use likewise_study::doctor::{Examination, Request};
use likewise_study::plain;
use likewise_study::table::aligned;
use likewise_terminal::{Context, Failure, output};

use crate::args::Doctor;

pub(crate) fn run(args: &Doctor, at: &Context) -> Result<(), Failure> {
    let request = Request {
        data: args.data.asked(at.common.seed)?,
        k: args.k.map(NonZeroUsize::get),
    };
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    let mut seen = request.run(&at.env)?;
    for warning in &mut seen.warnings {
        *warning = at.wording.settings(warning);
    }
    at.tell(&seen, print)
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
