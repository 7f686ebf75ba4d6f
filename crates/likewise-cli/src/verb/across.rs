//! How a run across views is told.

use std::path::Path;

use likewise::cross::Embedding;
use likewise_study::study::{CrossResults, CrossStudy};
use likewise_study::table;
use likewise_terminal::{Context, Failure, output};

/// What stands in the folder.
pub(super) fn tell(study: &CrossStudy, out: &Path) -> Result<(), Failure> {
    output::line("")?;
    output::line(format!(
        "{}: model, {} of {} views, report.html",
        out.display(),
        match study.kept.embedded.rows[0] {
            Embedding::Bits(_) => "codes",
            Embedding::Real(_) => "embeddings",
        },
        study.kept.embedded.rows.len()
    ))
}

/// The numbers of a run across views.
pub(super) fn show(results: &CrossResults, at: &Context) -> Result<(), Failure> {
    at.tell(results, |results| {
        if results.not_measured.is_none() {
            output::text(table::aligned(&results.table()))?;
            output::line("")?;
        }
        results.verdict.iter().try_for_each(output::line)
    })
}
