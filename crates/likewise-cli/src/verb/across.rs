//! What the verbs do with a recipe, or a run, across views.

use std::path::Path;

use likewise_study::across::{self, Ask, Way};
use likewise_study::gate::Gate;
use likewise_study::query::Answer;
use likewise_study::run_folder::AcrossFolder;
use likewise_study::study::{CrossResults, CrossStudy};
use likewise_study::table;

use crate::args::{Eval, Search};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// What stands in the folder.
pub(super) fn tell(study: &CrossStudy, out: &Path) -> Result<(), Failure> {
    output::line("")?;
    output::line(format!(
        "{}: model, {} of {} views, report.html",
        out.display(),
        match study.embedded.rows[0] {
            likewise::cross::Embedding::Bits(_) => "codes",
            likewise::cross::Embedding::Real(_) => "embeddings",
        },
        study.embedded.rows.len()
    ))
}

/// The numbers of a run across views.
pub(super) fn show(results: &CrossResults, at: &Context) -> Result<(), Failure> {
    if at.common.json {
        return output::json(results);
    }
    output::text(table::aligned(&results.table()))?;
    output::line("")?;
    results.verdict.iter().try_for_each(output::line)
}

/// `eval` of a run across views; `ks` are those that are asked for, if any are.
pub(super) fn eval(args: &Eval, ks: Option<&[usize]>, at: &Context) -> Result<(), Failure> {
    let mut results = AcrossFolder::read_by(&args.source, AcrossFolder::metrics)?;
    for gate in &args.gate {
        gate.value_across(&results.summary)?;
    }
    if let Some(out) = &args.classes {
        if results.classes.is_empty() {
            return Err(Failure::failed(format!(
                "--classes: {} was fitted before classes were measured one by one; fit again",
                args.source.display()
            )));
        }
        let lines = results.classes.iter().map(|class| {
            let first = class.recall_at_1.map_or(String::new(), |v| v.to_string());
            let name = class.class.clone();
            [
                name,
                class.queries.to_string(),
                first,
                class.map50.to_string(),
            ]
        });
        likewise_io::write_lines(out, &["class", "queries", "recall@1", "map50"], lines)?;
    }
    let summary = results.summary.clone();
    if let Some(ks) = ks {
        let measured: Vec<&String> = summary.recall.keys().collect();
        results.keep_at(ks).map_err(|k| {
            let measured: Vec<&str> = measured.iter().map(|k| k.as_str()).collect();
            Failure::usage(format!(
                "--at {k}: the run was measured at {} when it was fitted",
                measured.join(",")
            ))
        })?;
    }
    show(&results, at)?;
    let check = |gate: &Gate| gate.check_across(&summary);
    Ok(args.gate.iter().try_for_each(check)?)
}

/// `search` in a run across views.
pub(super) fn search(args: &Search, ask: Ask, at: &Context) -> Result<Vec<Answer>, Failure> {
    let way = Way {
        from: args.from.clone(),
        to: args.to.clone(),
    };
    let search = |run: &AcrossFolder| across::search(run, &ask, &way, args.k, &at.env);
    Ok(AcrossFolder::read_by(&args.run, search)?)
}
