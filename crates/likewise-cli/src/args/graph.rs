//! Flags of `likewise graph`.

use std::path::PathBuf;

use clap::Args;
use likewise::graph::{Fusion, KnnGraph, Symmetrize};
use likewise::neighbor::Precision;
use likewise_study::graph::Settings;

use super::data::Data;
use super::dry_run::DryRun;
use super::named::{Named, named};

/// Share of the true neighbours that an approximate search finds, unless another is asked for.
const RECALL: f64 = 0.95;

/// How the graph is built.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct GraphFlags {
    /// Neighbours an item. Default: 20, or a tenth of fewer than 200 items. Papers print 50.
    #[arg(short, long, value_name = "K")]
    pub(crate) k: Option<usize>,
    /// Exponent of the cosine in an edge's weight.
    #[arg(long, default_value_t = 3.0, value_name = "G")]
    pub(crate) gamma: f64,
    /// Approximate neighbours instead of exact ones: faster from some 200,000 items on.
    #[arg(long)]
    pub(crate) approx: bool,
    /// Least share of the true neighbours to find (with --approx), measured on a sample.
    /// Default: 0.95.
    #[arg(long, value_name = "R")]
    pub(crate) recall: Option<f64>,
    /// Take the mean of the columns off first, as fit does: where all items point the same way
    /// (see doctor), their cosines tell little apart.
    #[arg(long)]
    pub(crate) center: bool,
    /// Bring the columns to one scale first, yes or no. Default: where one of them outweighs all others, as
    /// where they have different units, and as fit does. Numbers of a table that lacks some, or that holds
    /// more than numbers, are at one scale as they are read.
    #[arg(long, value_name = "YES|NO", value_parser = named(&STANDARDIZE))]
    pub(crate) standardize: Option<bool>,
    /// First pass of the exact search.
    #[arg(long, value_parser = named(&PRECISIONS), default_value = "auto", conflicts_with = "approx")]
    pub(crate) precision: Precision,
    /// What an edge weighs that both, or only one, of its ends list: sum (once for each end), mutual
    /// (only edges that both list), max, mean, or one-sided=SHARE (edges of one end weigh this share of
    /// it, 0 to 1).
    ///
    /// Default: one-sided=0.1; mutual for --method dssml. Papers print sum.
    #[arg(long, value_name = "RULE", value_parser = symmetrize)]
    pub(crate) symmetrize: Option<Symmetrize>,
    /// How several views (`--view a --view b`) become one graph. Default: ranks.
    #[arg(long, value_name = "FORM", value_parser = named(&FUSIONS))]
    pub(crate) fuse: Option<Fusion>,
}

impl GraphFlags {
    /// Fails on a flag that has no effect without another.
    pub(crate) fn check(&self) -> likewise::Result<()> {
        if self.recall.is_some() && !self.approx {
            return Err(likewise::Error::new(
                likewise::ErrorKind::Parameter,
                "--recall has no effect without --approx: the exact search finds all neighbours; \
                 add --approx, or leave it out",
            ));
        }
        Ok(())
    }

    /// How the graph is built, with `k` neighbours an item.
    pub(crate) fn settings(&self, k: usize, seed: u64) -> Settings {
        Settings {
            graph: KnnGraph::new()
                .k(k)
                .gamma(self.gamma)
                .symmetrize(self.symmetrize.unwrap_or_default()),
            fuse: self.fuse,
            center: self.center,
            standardize: self.standardize,
            approximate: (self.approx).then_some(self.recall.unwrap_or(RECALL)),
            precision: self.precision,
            seed,
        }
    }
}

const FUSIONS: [Named<Fusion>; 5] = [
    (
        "ranks",
        "By ranks in the neighbour lists of every view and of the rows side by side",
        Fusion::Ranks,
    ),
    ("rows", "The graph of the rows side by side", Fusion::Rows),
    ("mean", "The mean of the graphs of the views", Fusion::Mean),
    (
        "weighted",
        "The same, each view weighed by what the labels say of it (propagate alone, without --diagnose and --calibrate)",
        Fusion::Weighted,
    ),
    (
        "agreement",
        "The mean, times the share of the views that have the edge",
        Fusion::Agreement,
    ),
];

const STANDARDIZE: [Named<bool>; 2] = [
    (
        "yes",
        "All columns get mean 0 and standard deviation 1",
        true,
    ),
    ("no", "They stay as they are", false),
];

const PRECISIONS: [Named<Precision>; 4] = [
    (
        "auto",
        "Sixteen bits where that is faster; the neighbours are the same",
        Precision::Auto,
    ),
    ("f32", "Full precision at once", Precision::F32),
    (
        "i16",
        "Sixteen bits, then full precision for all candidates that these cannot rule out",
        Precision::I16,
    ),
    // The name of it in an earlier version.
    ("i8", "", Precision::I16),
];

/// The rule of this name.
pub(super) fn symmetrize(written: &str) -> Result<Symmetrize, String> {
    if let Some(share) = written.strip_prefix("one-sided=") {
        let share: f64 = share
            .parse()
            .map_err(|_| "write one-sided=0.1".to_owned())?;
        return match share {
            0.0..=1.0 => Ok(Symmetrize::OneSided(share)),
            _ => Err("the share of one-sided edges is from 0 to 1".into()),
        };
    }
    match written {
        "sum" => Ok(Symmetrize::Sum),
        "mutual" => Ok(Symmetrize::Mutual),
        "max" => Ok(Symmetrize::Max),
        "mean" => Ok(Symmetrize::Mean),
        _ => Err("there are: sum, mutual, max, mean, one-sided=SHARE".into()),
    }
}

/// `likewise graph`
#[derive(Debug, Args)]
pub(crate) struct Graph {
    #[command(flatten)]
    pub(crate) flags: GraphFlags,
    /// Where the graph goes: a scipy CSR .npz.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) only: DryRun,
    #[command(flatten)]
    pub(crate) data: Data,
}
