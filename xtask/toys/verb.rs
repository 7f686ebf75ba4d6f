//! `likewise toy-verb`

use likewise_terminal::{Context, Failure, output};

use crate::args::ToyVerb;

pub(crate) fn run(args: &ToyVerb, at: &Context) -> Result<(), Failure> {
    if at.common.json {
        return output::json(&args.word);
    }
    output::line(&args.word)
}
