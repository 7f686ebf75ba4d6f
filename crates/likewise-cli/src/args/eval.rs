//! Flags of `likewise eval`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use likewise::distance::Metric;

use super::data::Images;
use super::dry_run::DryRun;
use super::named::{Named, named};
use super::several::Several;
use super::table::Table;

const METRICS: [Named<Metric>; 3] = [
    ("cosine", "Cosine of the angle", Metric::Cosine),
    ("euclidean", "Euclidean distance", Metric::Euclidean),
    ("inner-product", "Inner product", Metric::InnerProduct),
];

/// `likewise eval`
#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// Folder of a run, or embeddings as DATA.
    #[arg(value_name = "RUN|EMB")]
    pub(crate) source: PathBuf,
    /// Labels of the embeddings.
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// The feature matrix to use, if the data hold several; given again, these side by side.
    #[arg(long, value_name = "NAME")]
    pub(crate) view: Vec<String>,
    /// Search these embeddings instead of the other queries.
    #[arg(long, value_name = "EMB")]
    pub(crate) gallery: Option<PathBuf>,
    /// Labels of the gallery.
    #[arg(long, value_name = "FILE", requires = "gallery")]
    pub(crate) gallery_labels: Option<PathBuf>,
    /// Similarity.
    #[arg(long, value_parser = named(&METRICS), default_value = "cosine")]
    pub(crate) metric: Metric,
    /// The k of R@k and P@k.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,2,4,8",
        value_name = "K,..."
    )]
    pub(crate) at: Vec<NonZeroUsize>,
    /// Leave NMI out (it clusters, which takes longer than all else).
    #[arg(long)]
    pub(crate) no_nmi: bool,
    /// Also print the value of these losses over all labeled items, e.g. triplet,nt-xent.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAME,...",
        conflicts_with = "gallery"
    )]
    pub(crate) loss: Vec<String>,
    /// Write what each class gets, and which one it is most often taken for, as csv.
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) classes: Option<PathBuf>,
    /// Write the class of each query beside that of its first answer, counted, as csv.
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) confusion: Option<PathBuf>,
    /// Exit with 3 unless a metric reaches a value, e.g. recall@1=0.8.
    #[arg(long, value_name = "METRIC=VALUE")]
    pub(crate) gate: Vec<likewise_study::gate::Gate>,
    #[command(flatten)]
    pub(crate) only: DryRun,
    #[command(flatten)]
    pub(crate) several: Several,
    #[command(flatten)]
    pub(crate) table: Table,
    #[command(flatten)]
    pub(crate) images: Images,
}
