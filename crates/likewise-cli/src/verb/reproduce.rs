//! `likewise reproduce`

use likewise_study::experiment::{self, Request};
use likewise_terminal::{Context, Failure, output};

use crate::args::Reproduce;

pub(crate) fn run(args: &Reproduce, at: &Context) -> Result<(), Failure> {
    let request = Request {
        experiment: args.experiment.clone(),
        out: args.out.clone(),
        data: args.data.clone(),
        draws: args.draws,
        only: args.only.clone(),
    };
    let answer = experiment::run(&request, &at.env)?;
    if at.common.json {
        return output::json(&answer);
    }
    let [computed, cells, skipped] = answer.counts();
    output::line(format!(
        "{cells} cells, {computed} of them computed now; {skipped} set(s) skipped; look at {}",
        request.folder().join("README.md").display()
    ))
}
