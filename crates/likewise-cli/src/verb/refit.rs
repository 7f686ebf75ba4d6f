//! `likewise fit RUN --add-labels FILE`: the same fit with more labels; and `likewise fit --continue RUN
//! --triplets FILE`: the same learning, with more triplets.

use std::ffi::OsString;
use std::path::Path;

use likewise_io::items::ItemRow;
use likewise_nn::Model;
use likewise_study::run_folder::{Config, RunFolder};
use likewise_study::{journal, live, plain};

use crate::args::{Cli, Fit, Table, Verb};
use crate::aside::aside;
use crate::config;
use crate::context::Context;
use crate::failure::Failure;

/// What a run was made with, to be made again.
pub(super) struct Again {
    /// The flags of the fit that made it, with those of this one.
    pub(super) args: Fit,
    /// What was chosen then.
    pub(super) config: Config,
    /// Whether recipes were compared for it: one that merely stood where nothing could be is chosen anew.
    pub(super) compared: bool,
    /// Its items, with all labels that are known.
    pub(super) items: Vec<ItemRow>,
    /// Digest of the data it was made of.
    pub(super) data: String,
    /// The command that does the same from the data alone.
    pub(super) command: Vec<String>,
    /// The model that learning goes on from, where it does.
    pub(super) model: Option<Model>,
    /// Files of triplets that it has learned from.
    pub(super) learned: usize,
    /// Whether the new run takes its place.
    pub(super) renews: bool,
}

/// The run that stands in the place of the data; none where these are data, or nothing is added.
pub(super) fn again(args: &Fit, seed: u64) -> Result<Option<Again>, Failure> {
    let path = args.data.path();
    let shown = path.display();
    if args.goes_on && !RunFolder::is_meant(path) {
        return Err(Failure::usage(format!(
            "{shown}: not a run; --continue goes on with the learning of one"
        )));
    }
    if (args.add_labels.is_empty() && !args.goes_on) || !RunFolder::is_meant(path) {
        return Ok(None);
    }
    let with = if args.goes_on {
        "--continue"
    } else {
        "--add-labels"
    };
    if let Some(flag) = refused(args) {
        return Err(no_effect(flag, with));
    }
    for file in args.add_labels.iter().chain(&args.triplets) {
        likewise_io::open(file)?;
    }
    let (config, record, items) =
        RunFolder::read_by(path, |run| Ok((run.config()?, run.record()?, run.items()?)))?;
    if seed != 0 && seed != record.seed {
        return Err(no_effect("--seed", with));
    }
    let model = if args.goes_on {
        config.recipe.check_goes_on()?;
        Some(RunFolder::read_by(path, RunFolder::model)?)
    } else {
        None
    };
    if record.added > 0 && args.out.is_none() {
        return Err(Failure::failed(format!(
            "{shown}: {} items were added since it was fitted, which a fit of its data would leave \
             out; fit data that hold them all, or write another run: -o NEW",
            record.added
        )));
    }
    let line = record.arguments.iter().map(OsString::from);
    let cli = Cli::read(config::arguments(line)?.line);
    let Ok(Verb::Fit(mut own)) = cli.map(|cli| cli.verb) else {
        return Err(Failure::usage(format!(
            "{shown}: this run was not made by `likewise fit`, so there are no data to fit again"
        )));
    };
    if own.several.separator().is_some() {
        return Err(Failure::usage(format!(
            "{shown}: its items have several labels each, and {with} goes by one; fit its data anew with \
             all labels in one file: likewise fit DATA --labels FILE --multi-label"
        )));
    }
    if !own.data.path().exists() {
        return Err(Failure::failed(format!(
            "{}: the data of the run {shown} are not here; work in the folder in which it was \
             fitted",
            own.data.path().display()
        )));
    }
    if own.data.labels.as_ref().is_some_and(|file| !file.exists()) {
        // All that it said stands in the run.
        own.data.labels = None;
    }
    let mut command = record.arguments;
    for file in &args.add_labels {
        command.extend(["--add-labels".to_owned(), file.display().to_string()]);
    }
    let learned = own.triplets.len();
    if args.goes_on {
        if learned == 0 {
            return Err(Failure::usage(format!(
                "{shown}: this run has not learned from triplets that were given, so there are none to \
                 go on from; fit its data with --triplets first"
            )));
        }
        for file in &args.triplets {
            command.extend(["--triplets".to_owned(), file.display().to_string()]);
        }
        own.triplets.extend_from_slice(&args.triplets);
    }
    own.out = Some(args.out.clone().unwrap_or_else(|| path.to_owned()));
    own.overwrite = args.overwrite;
    own.resume = args.resume;
    own.dry_run = args.dry_run;
    own.gate.clone_from(&args.gate);
    if !args.goes_on {
        own.add_labels.clone_from(&args.add_labels);
    }
    Ok(Some(Again {
        args: own,
        config,
        compared: compared(path)?,
        items,
        data: record.data_sha256,
        command,
        model,
        learned: if args.goes_on { learned } else { 0 },
        renews: args.out.is_none(),
    }))
}

/// Whether recipes were compared for a run.
fn compared(run: &Path) -> Result<bool, Failure> {
    let metrics = RunFolder::read_by(run, RunFolder::metrics)?;
    Ok(!metrics.tried.is_empty())
}

/// The items with the labels that were given on the page of the run since it was fitted.
pub(super) fn with_those_of_its_page(
    run: &Path,
    items: Vec<ItemRow>,
    at: &Context,
) -> Result<Vec<ItemRow>, Failure> {
    // What is labeled while this fits would be missing from it.
    journal::check_free(run)?;
    let (items, given) = live::since(run, items, at.env.monitor)?;
    if given > 0 {
        let labels = if given == 1 { "label" } else { "labels" };
        let said = format!("{given} {labels} given on its page since it was fitted: counted");
        aside!("{}", plain::message(&said));
    }
    Ok(items)
}

fn no_effect(flag: &str, with: &str) -> Failure {
    Failure::usage(format!(
        "{flag} has no effect with {with} and a run, which keeps its data, recipe and seed; \
         leave it out, or fit the data anew"
    ))
}

/// A flag that was given and that the run has decided.
fn refused(args: &Fit) -> Option<&'static str> {
    let given = [
        ("--labels", args.data.labels.is_some()),
        ("--view", !args.data.view.is_empty()),
        ("--recipe", args.recipe.is_some()),
        ("--pairs", args.pairs.is_some()),
        ("--triplets", !args.triplets.is_empty() && !args.goes_on),
        ("--labels-per-class", args.labels_per_class.is_some()),
        ("--split", args.split.is_some()),
        ("--draws", args.draws.is_some()),
        ("--epochs", args.epochs.is_some()),
        ("-k", args.k.is_some()),
        ("--map", args.map.is_some()),
        ("a flag of tables", args.data.table != Table::default()),
    ];
    let flag = given.into_iter().find(|(_, given)| *given);
    flag.map(|(flag, _)| flag).or(args.data.images.first())
}
