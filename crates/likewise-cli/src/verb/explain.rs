//! `likewise explain`

use likewise_study::topic;
use likewise_terminal::{Context, Failure, output};

use crate::args::Explain;

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
