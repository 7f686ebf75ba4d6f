//! Flags of `likewise mine`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use likewise_study::study::TupleKind;

use super::data::Data;
use super::dry_run::DryRun;
use super::named::{Named, named};

const KINDS: [Named<TupleKind>; 2] = [
    (
        "pairs",
        "Two items, alike (y = 1) or unlike (y = -1)",
        TupleKind::Pairs,
    ),
    (
        "triplets",
        "An anchor, an item like it and an item unlike it",
        TupleKind::Triplets,
    ),
];

/// `likewise mine`
#[derive(Debug, Args)]
pub(crate) struct Mine {
    /// What they are made of: labels, the beliefs.npz of `likewise propagate`, affinity
    /// (neighbours by propagated affinity), or votes (of classifiers of the view, or of all views
    /// where none is named).
    #[arg(long, value_name = "labels|FILE|affinity|votes")]
    pub(crate) from: PathBuf,
    /// The kind of tuples.
    #[arg(long, value_parser = named(&KINDS))]
    pub(crate) kind: TupleKind,
    /// Most pairs of each sort, or most triplets, that an item draws (from labels and beliefs).
    /// Default: 10.
    #[arg(long, value_name = "N")]
    pub(crate) per_item: Option<NonZeroUsize>,
    /// Keep this many labels a class and use no others (from labels, affinity and votes).
    #[arg(long, value_name = "M")]
    pub(crate) labels_per_class: Option<NonZeroUsize>,
    /// Neighbours an item (from affinity). Default: 20, or a tenth of fewer than 200 items.
    #[arg(short, long, value_name = "K")]
    pub(crate) k: Option<usize>,
    /// Where they go: .csv or .parquet.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) only: DryRun,
    #[command(flatten)]
    pub(crate) data: Data,
}
