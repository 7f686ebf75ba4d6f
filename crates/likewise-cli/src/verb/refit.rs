//! `likewise fit RUN --add-labels FILE`: the same fit with more labels; and `likewise fit --continue RUN
//! --triplets FILE`: the same learning, with more triplets.

use likewise_study::fit::{More, Request};
use likewise_study::run_folder::RunFolder;
use likewise_terminal::{Context, Failure, config};

use crate::args::{Fit, Table};

/// The fit of the run that stands in the place of the data; none where these are data, or nothing is added.
pub(super) fn request(args: &Fit, at: &Context) -> Result<Option<Request>, Failure> {
    let run = args.data.path();
    let is_run = RunFolder::is_meant(run);
    if args.goes_on && !is_run {
        return Err(Failure::usage(format!(
            "{}: not a run; --continue goes on with the learning of one",
            run.display()
        )));
    }
    let (with, files, more) = match (args.goes_on, args.add_labels.as_slice()) {
        (true, _) => (
            "--continue",
            ("--triplets", &args.triplets),
            More::Triplets(&args.triplets),
        ),
        (false, labels) if is_run && !labels.is_empty() => (
            "--add-labels",
            ("--add-labels", &args.add_labels),
            More::Labels(labels),
        ),
        _ => return Ok(None),
    };
    if let Some(flag) = refused(args) {
        return Err(no_effect(flag, with));
    }
    if has_recipe_table(at)? {
        return Err(no_effect("the recipe table of --config", with));
    }
    let mut request = Request::again(run, more, None, at.env.monitor)?;
    if at.common.seed != 0 && at.common.seed != request.asked.seed {
        return Err(no_effect("--seed", with));
    }
    // The command that does the same from the data alone.
    let (flag, files) = files;
    for file in files {
        let words = [flag.to_owned(), file.display().to_string()];
        request.command.extend(words);
    }
    request.rights.resume = args.resume;
    request.rights.overwrite = args.overwrite;
    request.gates.clone_from(&args.gate);
    Ok(Some(match &args.out {
        Some(out) => request.into_folder(out.clone()),
        None => request,
    }))
}

fn has_recipe_table(at: &Context) -> Result<bool, Failure> {
    let path = at.common.config.as_ref();
    let table = path.map(|path| config::recipe(path)).transpose()?;
    Ok(table.flatten().is_some())
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
        ("--set", !args.set.is_empty()),
        ("--pairs", args.pairs.is_some()),
        ("--triplets", !args.triplets.is_empty() && !args.goes_on),
        ("--labels-per-class", args.labels_per_class.is_some()),
        ("--label-fraction", args.label_fraction.is_some()),
        ("--multi-label", args.several.separator().is_some()),
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
