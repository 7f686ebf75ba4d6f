//! `likewise toy-verb`

use crate::args::ToyVerb;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &ToyVerb, at: &Context) -> Result<(), Failure> {
    if at.common.json {
        return output::json(&args.word);
    }
    output::line(&args.word)
}
