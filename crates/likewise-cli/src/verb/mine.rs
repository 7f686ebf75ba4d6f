//! `likewise mine`

use std::num::NonZeroUsize;
use std::time::Instant;

use likewise::ensemble::FromVotes;
use likewise::graph::KnnGraph;
use likewise::neighbor::Precision;
use likewise::tuple::Tuples;
use likewise_io::tuples::{form_to_write, write_pairs, write_triplets};
use likewise_study::graph::{DataShape, Settings};
use likewise_study::mine::{From, Job, Kind, PER_ITEM};
use likewise_study::run_folder::check_output;
use serde::Serialize;

use crate::args::{Mine, TupleKind, joined, neighbors};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Answer {
    kind: &'static str,
    from: String,
    items: usize,
    tuples: usize,
    /// Pairs of each sort; absent for triplets.
    #[serde(skip_serializing_if = "Option::is_none")]
    alike: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unlike: Option<usize>,
    mean_weight: f64,
    seconds: f64,
}

pub(crate) fn run(args: &Mine, at: &Context) -> Result<(), Failure> {
    let mut job = job(args, at)?;
    let beliefs = match &job.from {
        From::Beliefs { path, .. } => Some(path.as_path()),
        _ => None,
    };
    let inputs = [Some(args.data.path()), args.data.labels.as_deref(), beliefs];
    check_output(args.out.as_deref(), &inputs)?;
    if let Some(out) = &args.out {
        form_to_write(out)?;
    }
    output::beside(args.out.as_deref());
    let source = args.data.source(at.common.seed)?;
    let shape = DataShape::of(&source, &at.env)?;
    if let From::Affinity(settings) = &mut job.from {
        let k = neighbors(args.k, shape.items, args.data.path(), at.env.monitor)?;
        settings.graph = settings.graph.clone().k(k);
    }
    let estimate = job.estimate(&shape);
    if args.dry_run {
        return at.print(estimate);
    }
    estimate.check(at.env.max_memory)?;
    let start = Instant::now();
    let collection = source.load(&at.env)?;
    let tuples = job.run(
        &collection,
        joined(&args.data.view).as_deref(),
        at.env.monitor,
    )?;
    if let Some(out) = &args.out {
        match &tuples {
            Tuples::Pairs(pairs) => write_pairs(out, pairs, collection.ids())?,
            Tuples::Triplets(triplets) => write_triplets(out, triplets, collection.ids())?,
        }
    }
    let answer = Answer {
        from: args.from.display().to_string(),
        items: collection.len(),
        seconds: start.elapsed().as_secs_f64(),
        ..Answer::of(&tuples)
    };
    if at.common.json {
        return output::json(&answer);
    }
    let sorts = match (answer.alike, answer.unlike) {
        (Some(alike), Some(unlike)) => format!(" ({alike} alike, {unlike} unlike)"),
        _ => String::new(),
    };
    output::line(format!(
        "{} {}{sorts} of {} items, mean weight {:.3}, {:.1} s",
        answer.tuples, answer.kind, answer.items, answer.mean_weight, answer.seconds
    ))
}

impl Answer {
    fn of(tuples: &Tuples) -> Self {
        let (kind, alike, weights) = match tuples {
            Tuples::Pairs(pairs) => {
                let alike = pairs.alike.iter().filter(|&&y| y).count();
                ("pairs", Some(alike), &pairs.weights)
            }
            Tuples::Triplets(triplets) => ("triplets", None, &triplets.weights),
        };
        let sum: f64 = weights.iter().map(|&w| f64::from(w)).sum();
        Self {
            kind,
            from: String::new(),
            items: 0,
            tuples: tuples.len(),
            alike,
            unlike: alike.map(|alike| tuples.len() - alike),
            mean_weight: sum / tuples.len() as f64,
            seconds: 0.0,
        }
    }
}

/// What was asked for. Fails on flags that what the tuples are made of has no use for.
fn job(args: &Mine, at: &Context) -> Result<Job, Failure> {
    let per_item = args.per_item.map_or(PER_ITEM, NonZeroUsize::get);
    let no_use = |flag: &str, goes: &str| {
        let from = args.from.display();
        Err(Failure::usage(format!(
            "{flag} goes with --from {goes}, not with {from}"
        )))
    };
    let from = match args.from.to_str() {
        Some("labels") => From::Labels { per_item },
        Some("affinity") => From::Affinity(Settings {
            graph: KnnGraph::new(),
            center: false,
            approximate: None,
            precision: Precision::Auto,
            seed: at.common.seed,
        }),
        Some("votes") => From::Votes(Box::default(), FromVotes::new()),
        _ => From::Beliefs {
            path: args.from.clone(),
            per_item,
        },
    };
    match &from {
        From::Affinity(_) | From::Votes(..) if args.per_item.is_some() => {
            return no_use("--per-item", "labels or a file of beliefs");
        }
        From::Labels { .. } | From::Beliefs { .. } | From::Votes(..) if args.k.is_some() => {
            return no_use("-k", "affinity");
        }
        From::Beliefs { .. } if args.labels_per_class.is_some() => {
            return no_use("--labels-per-class", "labels, affinity or votes");
        }
        From::Beliefs { path, .. } if path.extension().is_none_or(|e| e != "npz") => {
            return Err(Failure::usage(format!(
                "--from {}: it is labels, affinity, votes, or the .npz that propagate writes",
                path.display()
            )));
        }
        _ => {}
    }
    Ok(Job {
        from,
        kind: match args.kind {
            TupleKind::Pairs => Kind::Pairs,
            TupleKind::Triplets => Kind::Triplets,
        },
        labels_per_class: args.labels_per_class.map(NonZeroUsize::get),
        seed: at.common.seed,
    })
}
