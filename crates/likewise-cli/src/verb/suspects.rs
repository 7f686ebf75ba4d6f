//! `likewise suspects`

use likewise_study::run_folder::{RunFolder, check_apart, check_output, ending_of};
use likewise_study::suspects::{self, Found};
use likewise_study::table::aligned;

use crate::args::Suspects;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Items that are printed.
const SHOWN: usize = 20;

pub(crate) fn run(args: &Suspects, at: &Context) -> Result<(), Failure> {
    let out = args.out.as_deref();
    check_output(out, &[])?;
    check_apart(out, &args.run)?;
    let ending = out.map(|out| ending_of(out, "suspects are written", &["csv", "html"]));
    let ending = ending.transpose()?;
    output::beside(out);
    if args.dry_run {
        let estimate = RunFolder::read_by(&args.run, |run| suspects::estimate(run, &at.env))?;
        return at.print(estimate);
    }
    let (found, items, photos) = RunFolder::read_by(&args.run, |run| {
        let (found, items) = suspects::find(run, at.common.seed, &at.env)?;
        Ok((found, items, suspects::photos(run)?))
    })?;
    match (out, ending) {
        (Some(out), Some("html")) => {
            let page = suspects::page(&found, &items, photos.as_ref())?;
            likewise_io::atomic::write(out, |file| {
                Ok(std::io::Write::write_all(file, page.as_bytes())?)
            })?;
        }
        (Some(out), _) => {
            let lines = found.suspects.iter().map(|suspect| {
                [
                    suspect.rank.to_string(),
                    suspect.id.clone(),
                    suspect.label.clone(),
                    suspect.suggested.clone(),
                    suspect.sure.to_string(),
                ]
            });
            let names = ["rank", "id", "label", "suggested", "sure"];
            likewise_io::write_lines(out, &names, lines)?;
        }
        (None, _) => {}
    }
    if at.common.json {
        return output::json(&found);
    }
    print(&found)
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
