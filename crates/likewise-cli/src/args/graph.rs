//! Flags of `likewise graph`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use likewise::Monitor;
use likewise::graph::{KnnGraph, Symmetrize};
use likewise::neighbor::Precision;
use likewise_study::fit::fewer_neighbors;
use likewise_study::graph::Settings;

use super::data::Data;

/// Neighbours of an item where nobody says how many.
pub(crate) const NEIGHBORS: usize = 50;

/// Neighbours of each of so many items of `data`, before anything is made of them: what was asked for, which
/// must be there, else the usual number, or fewer of few items, as in a fit.
pub(crate) fn neighbors(
    asked: Option<usize>,
    items: f64,
    data: &Path,
    monitor: &Monitor,
) -> likewise::Result<usize> {
    match asked {
        Some(k) => {
            check_neighbors(k, items, data)?;
            Ok(k)
        }
        None if NEIGHBORS as f64 >= items => Ok(fewer_neighbors(NEIGHBORS, items, monitor)),
        None => Ok(NEIGHBORS),
    }
}

/// Fails where there are no `k` other items.
pub(crate) fn check_neighbors(k: usize, items: f64, data: &Path) -> likewise::Result<()> {
    if (k as f64) < items {
        return Ok(());
    }
    let rule = format!("an item has at most {} neighbours", (items - 1.0).max(0.0));
    Err(likewise::Error::parameter("k", k, &rule).within(data.display()))
}

/// Share of the true neighbours that an approximate search finds, unless another is asked for.
const RECALL: f64 = 0.95;

/// How the graph is built.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct GraphFlags {
    /// Neighbours an item. Default: 50, or a tenth of the items where there are no 50 others.
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
    /// First pass of the exact search.
    #[arg(long, value_enum, default_value = "auto", conflicts_with = "approx")]
    pub(crate) precision: PrecisionName,
    /// What an edge weighs that both, or only one, of its ends list: sum (once for each end), mutual
    /// (only edges that both list), max, mean, or one-sided=SHARE (edges of one end weigh this share of
    /// it, 0 to 1).
    ///
    /// Default: one-sided=0.1; mutual for --method dssml. Papers print sum.
    #[arg(long, value_name = "RULE", value_parser = symmetrize)]
    pub(crate) symmetrize: Option<Symmetrize>,
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
            center: self.center,
            approximate: (self.approx).then_some(self.recall.unwrap_or(RECALL)),
            precision: match self.precision {
                PrecisionName::Auto => Precision::Auto,
                PrecisionName::F32 => Precision::F32,
                PrecisionName::I16 => Precision::I16,
            },
            seed,
        }
    }
}

/// First pass of the exact search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionName {
    /// Sixteen bits where that is faster; the neighbours are the same.
    Auto,
    /// Full precision at once.
    F32,
    /// Sixteen bits, then full precision for all candidates that these cannot rule out.
    #[value(alias = "i8")]
    I16,
}

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
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}
