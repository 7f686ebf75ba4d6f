//! `likewise explain`

use likewise_study::topic;

use crate::args::Explain;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Explain, at: &Context) -> Result<(), Failure> {
    if let Some(name) = &args.name {
        let explained = topic::explain(name)?;
        if at.common.json {
            return output::json(&explained);
        }
        let topic::Explained { name, what, text } = explained;
        return output::text(format!("{name} - {what}\n\n{text}"));
    }
    let all = topic::names();
    if at.common.json {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        return output::json(&names);
    }
    for (name, what) in all {
        output::line(format!("{name:28}{what}"))?;
    }
    Ok(())
}
