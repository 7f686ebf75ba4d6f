//! Flags of `likewise fit`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args, ValueEnum};
use likewise_study::report::Map;
use likewise_study::study::SplitKind;

use super::data::Data;
use super::several::Several;

/// How items are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SplitName {
    /// Within each class.
    Item,
    /// By class: the tested classes were never seen.
    ZeroShot,
    /// As the data say.
    Given,
    /// No test part: all labels are fitted, and rounds that keep some back measure.
    Folds,
}

/// How the map of a report places its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapName {
    /// Along the two directions that vary most: distances are true, what lies in others is not seen.
    Pca,
    /// By neighbourhoods: groups are seen, distances between them mean nothing. Some seconds more.
    Tsne,
}

impl From<MapName> for Map {
    fn from(name: MapName) -> Self {
        match name {
            MapName::Pca => Self::Directions,
            MapName::Tsne => Self::Neighborhoods,
        }
    }
}

/// What stands first in the help, since most fits need it.
const FIRST: [&str; 6] = ["positional", "labels", "out", "recipe", "view", "encoder"];

/// Puts a flag into the order of the help.
fn in_order(flag: Arg) -> Arg {
    match FIRST.iter().position(|id| flag.get_id() == *id) {
        Some(place) => flag.display_order(place).help_heading(None::<&'static str>),
        None => flag,
    }
}

/// `likewise fit`
#[derive(Debug, Args)]
#[command(next_display_order = FIRST.len(), mut_args(in_order))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Fit {
    /// The recipe: `auto`, which chooses by labels that it keeps back; a name (mixed-lp, probabilities, mixed-lp-paper,
    /// mixed-rca, rca, logistic, dssml, affinity-triplet, contextual, or a loss; across views gsph, mixed+gsph, cca ...; `likewise explain NAME` shows it), or a .toml file that says what differs from one; a recipe table in --config changes single choices.
    /// Default: auto; with --multi-label contextual, with --pairs label-rca, with --triplets oasis, with --epochs or a recipe table mixed-lp, or the base of that table.
    #[arg(long, value_name = "NAME")]
    pub(crate) recipe: Option<String>,
    /// Any setting of the recipe by its name in a recipe file, e.g. --set rounds.epochs=4; a name alone is a parameter of
    /// the learner, e.g. --set gamma=2. `likewise explain NAME` shows them.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Learn from these pairs as well: a csv or parquet with a, b, y (1 alike, -1 unlike) and
    /// perhaps weight, as `likewise mine` writes them. For label-rca, itml and others that learn from pairs.
    #[arg(long, value_name = "FILE", conflicts_with = "triplets")]
    pub(crate) pairs: Option<PathBuf>,
    /// Learn from these triplets as well: anchor, positive, negative and perhaps weight; given again,
    /// one file after the other. For omks, oasis, rca and the losses of pairs and triplets.
    #[arg(long, value_name = "FILE")]
    pub(crate) triplets: Vec<PathBuf>,
    /// Go on learning from more triplets with a run in the place of DATA, whose recipe is omks or
    /// oasis. The run is replaced unless -o names another folder.
    #[arg(
        long = "continue",
        requires = "triplets",
        conflicts_with = "add_labels"
    )]
    pub(crate) goes_on: bool,
    /// Keep this many labels a class for fitting and hide the others: they only measure, and
    /// are not used at all with --split folds.
    #[arg(long, value_name = "M")]
    pub(crate) labels_per_class: Option<NonZeroUsize>,
    /// Keep this share of the labels, of each class, and hide the others: for the recipes across views.
    #[arg(long, value_name = "SHARE", conflicts_with = "labels_per_class")]
    pub(crate) label_fraction: Option<f64>,
    /// How items are divided. Default: as the data say; within each class where labels are
    /// hidden by --labels-per-class or most items are labeled; else folds.
    #[arg(long, value_enum)]
    pub(crate) split: Option<SplitName>,
    /// Label draws that the numbers are a mean of (with --labels-per-class). Default: 5.
    #[arg(long, value_name = "N")]
    pub(crate) draws: Option<NonZeroUsize>,
    /// Most epochs.
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<usize>,
    /// Neighbours an item in the graph.
    #[arg(short, long, value_name = "K")]
    pub(crate) k: Option<usize>,
    /// Folder of the run.
    #[arg(
        short,
        long,
        value_name = "FOLDER",
        required_unless_present_any = ["dry_run", "add_labels", "goes_on"]
    )]
    pub(crate) out: Option<PathBuf>,
    /// Join these labels to those of the data; they win where both label an item. With a run in
    /// the place of DATA, it is fitted again on its own data, recipe and seed (where auto had too
    /// few labels to compare any, it chooses now), and replaced unless -o names another folder. An empty cell
    /// changes nothing.
    #[arg(long, value_name = "FILE")]
    pub(crate) add_labels: Vec<PathBuf>,
    /// How the map in the report places items. Default: pca.
    #[arg(long, value_enum)]
    pub(crate) map: Option<MapName>,
    /// Go on with an interrupted fit in the same folder.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Replace the finished run in the folder, once the new one is complete; drop an
    /// interrupted one.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Exit with 3 unless a metric reaches a value, e.g. recall@1=0.8.
    #[arg(long, value_name = "METRIC=VALUE")]
    pub(crate) gate: Vec<likewise_study::gate::Gate>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: Data,
    // Behind the data, which would stand under its heading in the help.
    #[command(flatten)]
    pub(crate) several: Several,
}

impl From<SplitName> for SplitKind {
    fn from(name: SplitName) -> Self {
        match name {
            SplitName::Item => Self::Item,
            SplitName::ZeroShot => Self::ZeroShot,
            SplitName::Given => Self::Given,
            SplitName::Folds => Self::Folds,
        }
    }
}
