//! `likewise demo`

use likewise_study::demo::{Request, Shown};
use likewise_study::plain;
use likewise_terminal::{Context, Failure, output};

use super::fit;
use crate::args::Demo;

pub(crate) fn run(args: &Demo, at: &Context) -> Result<(), Failure> {
    let request = Request {
        view: args.view.clone(),
        labels_per_class: args.labels_per_class.get(),
        draws: args.draws.get(),
        out: args.out.clone(),
        seed: at.common.seed,
        command: at.command(),
    };
    let demo = request.begin()?;
    if !at.common.json {
        output::text(format!(
            "{} handwritten digits, feature set {}, {} labels a class; all other labels are hidden \
             and only measure.\n",
            demo.items(),
            args.view,
            args.labels_per_class
        ))?;
    }
    at.tell(&demo.run(&at.env)?, print)
}

fn print(shown: &Shown) -> Result<(), Failure> {
    let classes = "Tested on other items of the same ten classes (mean ± half a 95 % interval):\n";
    output::text(classes)?;
    fit::print(&shown.item)?;
    output::text("\nTested on classes that were never seen (class-disjoint split):\n")?;
    fit::print(&shown.zero_shot)?;
    let run = plain::name(&shown.run);
    output::text(format!(
        "\nLook at {run}/report.html, then try:\n  likewise search {run} --id 42 -k 5\n  likewise \
         eval {run}\n  likewise explain mixed"
    ))
}
