//! What the flags of a fit ask for.

use likewise_study::fit::{Asked, Changes, Request, Which};
use likewise_study::given::Given;
use likewise_study::report::Map;
use likewise_study::run_folder::Rights;
use likewise_study::study::{SplitKind, TupleKind};
use likewise_terminal::{Context, Failure, config};

use crate::args::Fit;

/// What is asked for.
pub(super) fn of(args: &Fit, at: &Context) -> Result<Request, Failure> {
    let tuples = match (&args.pairs, args.triplets.is_empty()) {
        (Some(file), _) => Some(Given {
            kind: TupleKind::Pairs,
            files: vec![file.clone()],
        }),
        (None, true) => None,
        (None, false) => Some(Given {
            kind: TupleKind::Triplets,
            files: args.triplets.clone(),
        }),
    };
    Ok(Request {
        data: args.data.path().to_owned(),
        read: args.data.read_as(at.common.seed)?,
        views: args.data.view.clone(),
        several_labels: args.several.separator(),
        recipe: Which {
            name: args.recipe.clone(),
            changes: changes(args, at)?,
            epochs: args.epochs,
            k: args.k,
            ..Which::default()
        },
        tuples,
        add_labels: args.add_labels.clone(),
        asked: Asked {
            split: args.split.map(SplitKind::from),
            labels_per_class: args.labels_per_class,
            draws: args.draws,
            seed: at.common.seed,
        },
        label_fraction: args.label_fraction,
        gates: args.gate.clone(),
        map: args.map.map(Map::from),
        out: args.out.clone(),
        rights: Rights {
            resume: args.resume,
            overwrite: args.overwrite,
            renew: false,
        },
        command: at.command(),
        ..Request::default()
    })
}

/// The `[recipe]` table of the config file, and over it what is set one by one.
fn changes(args: &Fit, at: &Context) -> Result<Vec<Changes>, Failure> {
    let table = (at.common.config.as_ref())
        .map(|path| {
            let fields = config::recipe(path)?;
            Ok::<_, Failure>(fields.map(|fields| Changes {
                place: format!("{}: [recipe]", path.display()),
                fields,
            }))
        })
        .transpose()?;
    let set = Changes::written("--set", &args.set)?;
    Ok(table.flatten().into_iter().chain(set).collect())
}
