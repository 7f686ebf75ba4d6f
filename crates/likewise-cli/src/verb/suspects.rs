//! `likewise suspects`

use likewise_study::suspects::{Found, Request};
use likewise_study::table::aligned;
use likewise_terminal::{Context, Failure, output};

use crate::args::Suspects;

/// Items that are printed.
const SHOWN: usize = 20;

pub(crate) fn run(args: &Suspects, at: &Context) -> Result<(), Failure> {
    let request = Request {
        run: args.run.clone(),
        out: args.out.clone(),
        seed: at.common.seed,
    };
    output::beside(args.out.as_deref());
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    at.tell(&request.run(&at.env)?, print)
}

fn print(found: &Found) -> Result<(), Failure> {
    output::line(found.in_words())?;
    if found.suspects.is_empty() {
        return Ok(());
    }
    let header = ["rank", "id", "label", "suggested", "sure"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for suspect in found.suspects.iter().take(SHOWN) {
        lines.push(vec![
            suspect.rank.to_string(),
            suspect.id.clone(),
            suspect.label.clone(),
            suspect.suggested.clone(),
            format!("{:.2}", suspect.sure),
        ]);
    }
    output::text(aligned(&lines))?;
    if found.suspects.len() > SHOWN {
        output::line(format!(
            "and {} more; -o FILE.csv writes them all",
            found.suspects.len() - SHOWN
        ))?;
    }
    output::line("look before you change a label: items between two classes stand out as well")
}
