//! Flags of `likewise propagate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use likewise::propagate::Method;

use super::data::Data;
use super::graph::GraphFlags;
use super::several::Several;

/// The propagation methods of the library, with what each is.
fn methods() -> PossibleValuesParser {
    let named = Method::NAMES.iter().zip(Method::ABOUT);
    let values = named.map(|(name, about)| PossibleValue::new(*name).help(*about));
    PossibleValuesParser::new(values)
}

/// Scale of F in the softmax of mixed propagation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScaleName {
    /// As printed in the paper.
    Literal,
    /// Scores as probabilities: a reading of the paper.
    Probability,
    /// Divided by mu.
    Unscaled,
    /// z-score of each class.
    #[value(name = "standardised")]
    Standardized,
}

/// Class-mass normalisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MassName {
    /// None.
    None,
    /// All classes equally large.
    Uniform,
    /// Classes as large as their share of the labels.
    Labeled,
    /// Classes as large as the scores say, begun with the labels.
    Estimated,
}

/// `likewise propagate`
#[derive(Debug, Args)]
pub(crate) struct Propagate {
    /// The method. Default: poisson-mbo where all classes have one label or all have two, else mixed, as in fit.
    /// `likewise explain NAME` says what each is for.
    #[arg(long, value_parser = methods())]
    pub(crate) method: Option<String>,
    #[command(flatten)]
    pub(crate) flags: GraphFlags,
    /// A graph written by `likewise graph` (or scipy), instead of building one.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["k", "gamma", "approx", "recall", "center", "standardize", "precision", "symmetrize", "fuse"]
    )]
    pub(crate) graph: Option<PathBuf>,
    /// Keep this many labels a class and hide the others (they only measure accuracy).
    #[arg(long, value_name = "M")]
    pub(crate) labels_per_class: Option<NonZeroUsize>,
    /// Scale of mixed propagation.
    #[arg(long, value_enum)]
    pub(crate) scale: Option<ScaleName>,
    /// Weight of negative edges (mixed, control, manifold, goldberg, poisson-mbo).
    #[arg(long, value_name = "B")]
    pub(crate) beta: Option<f64>,
    /// Temperature factor of the edge removal (mixed, poisson-mbo).
    #[arg(long, value_name = "L")]
    pub(crate) lambda: Option<f64>,
    /// Weight of the labels.
    #[arg(long, value_name = "MU")]
    pub(crate) mu: Option<f64>,
    /// 2 counts each pair twice as printed, 1 once (mixed).
    #[arg(long, value_name = "F")]
    pub(crate) pair_factor: Option<f64>,
    /// Class-mass normalisation. Default: estimated with mixed, none with all others. lgc is as published
    /// without, and better with uniform where classes are about equally large.
    #[arg(long, value_enum)]
    pub(crate) mass: Option<MassName>,
    /// Sizes of the classes (lgc, mixed, poisson, poisson-mbo): balanced, labeled (their share of the labels),
    /// estimated, free, within=RATIO, or a csv with class and size.
    #[arg(long, value_name = "FILE|balanced")]
    pub(crate) class_sizes: Option<String>,
    /// Relative residual at which the solver stops.
    #[arg(long, value_name = "T")]
    pub(crate) tolerance: Option<f64>,
    /// Any parameter of the method by its name in recipes, e.g. --set gamma=100.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Pairs known to be unlike, instead of searching for them: a scipy CSR .npz whose
    /// entries are edges of the graph.
    #[arg(long, value_name = "FILE")]
    pub(crate) known_negatives: Option<PathBuf>,
    /// What items are not (negative-labels): a csv with id and label.
    #[arg(long = "not", value_name = "FILE")]
    pub(crate) excluded: Option<PathBuf>,
    /// Ask the labels whether the propagation helps, and whether another method or no class sizes would be better:
    /// cross-validation on the labeled items.
    #[arg(long)]
    pub(crate) diagnose: bool,
    /// Calibrate the confidences on labels that are hidden in turn (as --diagnose does), and say the error of calibration
    /// before and after.
    #[arg(long)]
    pub(crate) calibrate: bool,
    /// Where the beliefs go: .npz, .csv or .parquet.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    /// Where the negative edges go (mixed, control, manifold): a scipy CSR .npz.
    #[arg(long, value_name = "FILE")]
    pub(crate) negatives: Option<PathBuf>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: Data,
    // Behind the data, which would stand under its heading in the help.
    #[command(flatten)]
    pub(crate) several: Several,
}
