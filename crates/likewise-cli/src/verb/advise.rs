//! `likewise advise`

use likewise::advise::next::Strategy;
use likewise_io::atomic;
use likewise_study::advise::{self, Advice, Wanted};
use likewise_study::run_folder::{RunFolder, check_apart, check_ending, check_output};
use likewise_study::table::aligned;
use likewise_terminal::{Context, Failure, output};

use crate::args::Advise;

/// Items that are printed.
const SHOWN: usize = 20;

pub(crate) fn run(args: &Advise, at: &Context) -> Result<(), Failure> {
    let out = args.out.as_deref();
    check_output(out, &[])?;
    check_apart(out, &args.run)?;
    check_ending(out, "what to label next is written", "csv")?;
    if let Some(out) = out.filter(|out| out.is_file() && !atomic::is_stream(out) && !args.overwrite)
    {
        let shown = out.display();
        return Err(Failure::usage(format!(
            "{shown} is there, and may hold labels that were filled in; name another file, or give --overwrite"
        )));
    }
    output::beside(out);
    if args.only.dry_run {
        let estimate = RunFolder::read_by(&args.run, |run| advise::estimate(run, &at.env))?;
        return at.print(estimate);
    }
    let wanted = Wanted {
        budget: args.budget.get(),
        strategy: Strategy::named(&args.strategy)?,
        precision: args.precision,
        seed: at.common.seed,
    };
    let advice = RunFolder::read_by(&args.run, |run| advise::advise(run, &wanted, &at.env))?;
    if let Some(out) = out {
        advice.write(out)?;
    }
    at.tell(&advice, |advice| print(advice, args, at))
}

fn print(advice: &Advice, args: &Advise, at: &Context) -> Result<(), Failure> {
    output::line(format!(
        "label next, by {}: {} of {} items without a label",
        advice.strategy.name(),
        advice.next.len(),
        advice.unlabeled
    ))?;
    if !advice.next.is_empty() {
        let header = ["rank", "id", "believed", "sure", "why"];
        let mut lines = vec![header.map(str::to_owned).to_vec()];
        for next in advice.next.iter().take(SHOWN) {
            lines.push(vec![
                next.rank.to_string(),
                next.id.clone(),
                next.believed.clone().unwrap_or("-".into()),
                next.sure.map_or("-".into(), |sure| format!("{sure:.2}")),
                next.why.clone(),
            ]);
        }
        output::text(aligned(&lines))?;
    }
    if advice.next.len() > SHOWN && args.out.is_none() {
        output::line(format!(
            "and {} more; -o FILE.csv writes them all",
            advice.next.len() - SHOWN
        ))?;
    }
    for line in [advice.worth_in_words(), advice.threshold_in_words()]
        .into_iter()
        .flatten()
    {
        output::line(line)?;
    }
    for note in &advice.notes {
        output::line(format!("note: {}", at.wording.settings(note)))?;
    }
    if let (Some(out), false) = (&args.out, advice.next.is_empty()) {
        output::line(format!(
            "fill in the column label, then: likewise fit {} --add-labels {}",
            args.run.display(),
            out.display()
        ))?;
    }
    Ok(())
}
