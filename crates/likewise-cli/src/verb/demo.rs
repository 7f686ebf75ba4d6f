//! `likewise demo`

use likewise::Collection;
use likewise_io::{Form, ReadOptions};
use likewise_study::Recipe;
use likewise_study::fit::Job;
use likewise_study::plain;
use likewise_study::report::{Rows, Thumbnails};
use likewise_study::run_folder::{Rights, RunFolder, Work, begun};
use likewise_study::study::{Protocol, Results, SplitKind};
use serde::Serialize;

use super::fit::print;
use crate::args::Demo;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// 2000 handwritten digits in six feature sets (UCI "Multiple Features", CC BY 4.0).
const DIGITS: &[u8] = include_bytes!("../../digits.npz");

/// Rows and columns of the view `pix`.
const PIXELS: (usize, usize) = (16, 15);

/// In the place of a digest of the data.
const DIGEST: &str = "built-in";

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    item: &'a Results,
    zero_shot: &'a Results,
    run: String,
}

pub(crate) fn run(args: &Demo, at: &Context) -> Result<(), Failure> {
    let collection = likewise_io::read_bytes(Form::Npz, DIGITS, &ReadOptions::default())?;
    let view = collection.view(Some(&args.view))?;
    let record = RunFolder::open(&args.out).and_then(|run| run.record());
    let rights = Rights {
        // A demo run may be made again, and one that was interrupted too.
        overwrite: record.is_ok_and(|record| record.data_sha256 == DIGEST)
            || begun(&args.out).is_some_and(|(_, origin)| origin.data_sha256 == DIGEST),
        ..Rights::default()
    };
    let work = Work::begin(&args.out, rights)?;
    let usual = Recipe::default();
    let recipe = match usual.check_build() {
        Ok(()) => usual,
        Err(_) => Recipe::mild_probabilities(),
    };
    let protocol = Protocol {
        split: SplitKind::ZeroShot,
        labels_per_class: Some(args.labels_per_class.get()),
        draws: args.draws.get(),
        seed: at.common.seed,
        ..Protocol::default()
    };
    let data = format!("built-in digits, view {}", view.name);
    let read_as = format!("view {}", view.name);
    let mut job = Job {
        command: at.command(),
        ..Job::new(recipe, protocol, data, DIGEST.into(), read_as)
    };
    if !at.common.json {
        intro(&collection, args)?;
    }
    let zero_shot = job
        .plan(&collection, view, None, &at.env)
        .run(at.env.monitor)?
        .results;
    job.protocol.split = SplitKind::Item;
    let pixels = collection.view(Some("pix"))?;
    let thumbnails = Thumbnails::Rows(Rows {
        pixels: pixels.matrix.view(),
        width: PIXELS.1,
        height: PIXELS.0,
    });
    let (study, _) = job.run(
        &collection,
        view,
        work,
        Some(thumbnails),
        Some(&zero_shot),
        &at.env,
    )?;
    if at.common.json {
        return output::json(&Answer {
            item: &study.results,
            zero_shot: &zero_shot,
            run: args.out.display().to_string(),
        });
    }
    let classes = "Tested on other items of the same ten classes (mean ± half a 95 % interval):\n";
    output::text(classes)?;
    print(&study.results)?;
    output::text("\nTested on classes that were never seen (class-disjoint split):\n")?;
    print(&zero_shot)?;
    let run = args.out.display().to_string();
    let run = plain::name(&run);
    output::text(format!(
        "\nLook at {run}/report.html, then try:\n  likewise search {run} --id 42 -k 5\n  likewise \
         eval {run}\n  likewise explain mixed"
    ))
}

fn intro(collection: &Collection, args: &Demo) -> Result<(), Failure> {
    output::text(format!(
        "{} handwritten digits, feature set {}, {} labels a class; all other labels are hidden \
         and only measure.\n",
        collection.len(),
        args.view,
        args.labels_per_class
    ))
}
