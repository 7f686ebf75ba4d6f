//! `likewise eval`

use std::collections::BTreeMap;

use likewise::eval::bootstrap::Bootstrap;
use likewise::eval::nmi;
use likewise::eval::ranking::{self, Protocol};
use likewise::eval::summary::{Run, Summary};
use likewise::{Label, Labels, distance::Metric};
use likewise_nn::loss::{MOST_ITEMS, WholeSet};
use ndarray::{Array2, Axis, concatenate};
use serde::Serialize;

use super::Context;
use crate::args::{Eval, MetricName};
use crate::data;
use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::output;
use crate::run_folder::RunFolder;

pub(crate) fn run(args: &Eval, at: &Context) -> Result<(), Failure> {
    if args.source.is_dir() && args.source.join("config.json").exists() {
        return of_run(args, at);
    }
    let losses = WholeSet::named(&args.loss)?;
    let ks: Vec<usize> = args.at.iter().map(|k| k.get()).collect();
    for gate in &args.gate {
        gate.measured(&ks, !args.no_nmi, &args.loss)?;
    }
    let estimate = estimate(args, at)?;
    if args.dry_run {
        return estimate.print(at);
    }
    estimate.check(at)?;
    let (embeddings, labels, queries, gallery) = read(args, at)?;
    let loss = measure(&losses, &embeddings, &labels)?;
    let metric = match args.metric {
        MetricName::Cosine => Metric::Cosine,
        MetricName::Euclidean => Metric::Euclidean,
        MetricName::InnerProduct => Metric::InnerProduct,
    };
    let protocol = Protocol::new(embeddings.view(), &labels, &queries, &gallery).metric(metric);
    let measured = Run {
        ranking: ranking::evaluate(&protocol, &ks, at.monitor)?,
        nmi: if args.no_nmi {
            None
        } else {
            Some(nmi::evaluate(&protocol, at.common.seed, at.monitor)?)
        },
    };
    let skipped = measured.ranking.skipped_queries + measured.ranking.skipped_gallery;
    if skipped > 0 {
        at.monitor.warn(format!(
            "{skipped} items without a known label were left out"
        ));
    }
    let bootstrap = Bootstrap::new().seed(at.common.seed);
    let summary = Summary::of(&[measured], &bootstrap)?;
    let measured = Measured {
        summary: &summary,
        loss,
    };
    if at.common.json {
        output::json(&measured)?;
    } else {
        output::line(output::table(&[("embeddings", &summary)]))?;
        output::line(format!(
            "{} queries ({} without a relevant item), gallery of {}",
            summary.n_queries, summary.n_lone, summary.n_gallery
        ))?;
        for (name, value) in &measured.loss {
            output::line(format!("loss {name:18}{value:.8}"))?;
        }
    }
    gates(args, &serde_json::to_value(&measured)?)
}

/// The metrics, and the losses that were asked for.
#[derive(Serialize)]
struct Measured<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    loss: BTreeMap<&'static str, f64>,
}

/// The losses over all items with a known label.
fn measure(
    losses: &WholeSet,
    embeddings: &Array2<f32>,
    labels: &Labels,
) -> Result<BTreeMap<&'static str, f64>, Failure> {
    if losses.is_empty() {
        return Ok(BTreeMap::new());
    }
    let known = labels.items().iter().enumerate();
    let (items, classes): (Vec<usize>, Vec<u32>) = known
        .filter_map(|(item, label)| match label {
            Label::Known(class) => Some((item, *class)),
            Label::Outside | Label::Unknown => None,
        })
        .unzip();
    let rows = embeddings.select(Axis(0), &items);
    Ok(losses.measure(rows.view(), &classes)?)
}

fn gates(args: &Eval, summary: &serde_json::Value) -> Result<(), Failure> {
    args.gate.iter().try_for_each(|gate| gate.check(summary))
}

/// A run was measured when it was fitted: before its hidden labels could be looked at.
fn of_run(args: &Eval, at: &Context) -> Result<(), Failure> {
    let given = [
        ("--labels", args.labels.is_some()),
        ("--gallery", args.gallery.is_some()),
        ("--view", args.view.is_some()),
        ("--loss", !args.loss.is_empty()),
    ];
    if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "{flag} goes with embeddings, not with a run; for other data: likewise embed {} \
             DATA -o e.npy, then likewise eval e.npy --labels FILE",
            args.source.display()
        )));
    }
    let metrics = RunFolder::open(&args.source)?.metrics()?;
    for gate in &args.gate {
        gate.value(&metrics)?;
    }
    if at.common.json {
        output::json(&metrics)?;
    } else {
        let summary = |value: &serde_json::Value| {
            serde_json::from_str::<Summary>(&value.to_string()).map_err(|e| {
                let file = args.source.join("metrics.json");
                Failure::failed(format!("{}: broken: {e}", file.display()))
            })
        };
        let recipe = metrics["recipe"].as_str().unwrap_or("recipe");
        let mut rows = Vec::new();
        for key in ["raw", "whitened", "labels_only"] {
            if let Some(row) = metrics["baselines"].get(key) {
                rows.push((likewise_nn::study::row_title(key), summary(row)?));
            }
        }
        rows.push((recipe, summary(&metrics)?));
        if let Some(row) = metrics["baselines"].get("all_labels") {
            rows.push((likewise_nn::study::row_title("all_labels"), summary(row)?));
        }
        let rows: Vec<(&str, &Summary)> = rows.iter().map(|(n, s)| (*n, s)).collect();
        output::line(output::table(&rows))?;
        for line in metrics["verdict"].as_array().into_iter().flatten() {
            output::line(line.as_str().unwrap_or_default())?;
        }
    }
    gates(args, &metrics)
}

fn estimate(args: &Eval, at: &Context) -> Result<Estimate, Failure> {
    let size = |path| -> Result<(f64, f64), Failure> {
        let shape = data::inspect(path, args.view.as_deref(), &args.images, at)?;
        let columns = shape.views.iter().map(|&(_, d)| d).max().unwrap_or(0);
        Ok((shape.items as f64, columns as f64))
    };
    let (queries, d) = size(args.source.as_path())?;
    let gallery = match &args.gallery {
        Some(path) => size(path.as_path())?.0,
        None => 0.0,
    };
    let searched = if gallery > 0.0 { gallery } else { queries };
    // The losses hold about eight matrices of all with all, in f64.
    let of_losses = if args.loss.is_empty() {
        0.0
    } else {
        64.0 * queries.min(MOST_ITEMS as f64).powi(2)
    };
    Ok(Estimate::new()
        .resident(8.0 * (queries + gallery) * d + of_losses)
        .evaluation(queries, searched, d, 100.0, !args.no_nmi))
}

type Asked = (Array2<f32>, Labels, Vec<usize>, Vec<usize>);

/// All rows and labels, and which of them ask and are searched.
fn read(args: &Eval, at: &Context) -> Result<Asked, Failure> {
    let one = |path: &std::path::Path, labels: Option<&std::path::Path>| {
        let collection = data::load_path(path, labels, args.view.as_deref(), &args.images, at)?;
        let (collection, name) = data::with_view(collection, args.view.as_deref(), at)?;
        let labels = data::labels(&collection)?.clone();
        let split = collection.split.clone();
        Ok::<_, Failure>((collection.into_view(Some(&name))?.matrix, labels, split))
    };
    let (queries, labels, split) = one(&args.source, args.labels.as_deref())?;
    let n = queries.nrows();
    let Some(gallery) = &args.gallery else {
        // Data that say who asks and who is searched are taken at their word.
        let (asked, searched) = match &split {
            Some(parts) => likewise::eval::split::roles(parts),
            None => ((0..n).collect(), (0..n).collect()),
        };
        if asked.is_empty() || searched.is_empty() {
            return Ok((queries, labels, (0..n).collect(), (0..n).collect()));
        }
        return Ok((queries, labels, asked, searched));
    };
    let (gallery, gallery_labels, _) = one(gallery, args.gallery_labels.as_deref())?;
    if gallery.ncols() != queries.ncols() {
        return Err(Failure::failed(format!(
            "the queries have {} columns, the gallery {}",
            queries.ncols(),
            gallery.ncols()
        )));
    }
    let names = |labels: &Labels| -> Vec<String> {
        let name = |label: &likewise::Label| match label {
            likewise::Label::Known(c) => labels.classes()[*c as usize].clone(),
            likewise::Label::Outside => "-2".into(),
            likewise::Label::Unknown => String::new(),
        };
        labels.items().iter().map(name).collect()
    };
    let all = Labels::parse(names(&labels).into_iter().chain(names(&gallery_labels)));
    let m = gallery.nrows();
    let rows = concatenate![Axis(0), queries, gallery];
    Ok((rows, all, (0..n).collect(), (n..n + m).collect()))
}
