//! The command line: one definition for parsing, help, completions and the man page; one file a verb.

mod add;
mod advise;
mod cache;
mod compare;
mod completions;
mod data;
mod demo;
mod describe;
mod doctor;
mod dry_run;
mod duplicates;
mod embed;
mod eval;
mod explain;
mod export;
mod features;
mod fit;
mod graph;
mod index;
mod man;
mod mine;
mod named;
mod propagate;
mod reproduce;
mod search;
#[cfg(feature = "serve")]
mod serve;
mod several;
mod suspects;
mod table;

use std::path::Path;

use clap::{Parser, Subcommand};
use likewise_terminal::Common;

pub(crate) use self::add::Add;
pub(crate) use self::advise::Advise;
pub(crate) use self::cache::Cache;
pub(crate) use self::compare::Compare;
pub(crate) use self::completions::Completions;
pub(crate) use self::data::{joined, read_as};
pub(crate) use self::demo::Demo;
pub(crate) use self::describe::Describe;
pub(crate) use self::doctor::Doctor;
pub(crate) use self::duplicates::Duplicates;
pub(crate) use self::embed::Embed;
pub(crate) use self::eval::Eval;
pub(crate) use self::explain::Explain;
pub(crate) use self::export::Export;
pub(crate) use self::features::Features;
pub(crate) use self::fit::Fit;
pub(crate) use self::graph::Graph;
pub(crate) use self::index::Index;
pub(crate) use self::man::Man;
pub(crate) use self::mine::Mine;
pub(crate) use self::propagate::{Propagate, ScaleName};
pub(crate) use self::reproduce::Reproduce;
pub(crate) use self::search::Search;
#[cfg(feature = "serve")]
pub(crate) use self::serve::Serve;
pub(crate) use self::suspects::Suspects;
pub(crate) use self::table::Table;
pub(crate) use likewise_study::neighbors::{NEIGHBORS, neighbors};

/// From a pile of items and a handful of labels to a search that shares your idea of
/// similar, with an honest number on it.
#[derive(Debug, Parser)]
#[command(
    name = "likewise",
    version,
    args_override_self = true,
    arg_required_else_help = true,
    after_help = "First steps:\n  likewise demo                      the whole journey on built-in digits\n  likewise doctor items.npz          look at your data\n  likewise fit items.npz --labels forty-labels.csv -o run/\n  likewise fit photos/ --labels forty-labels.csv --encoder gist,lbp --view gist --view lbp -o run/\n  likewise search run/ --id 42        what is most like it\n\nA csv of labels has the columns id and label; items that it does not name are unlabeled.\n\nDATA is a .npy, .npz, .csv, .xlsx, .jsonl, .parquet or .safetensors file, MNIST idx files (a file or their folder), or a folder of images (sub-folder = class; unlabeled/ or the top = unlabeled)."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// The whole journey on built-in handwritten digits, under a minute.
    #[command(after_help = "Example:\n  likewise demo -o digits-run/")]
    Demo(Demo),
    /// Looks at data: sizes, classes, duplicates, isolated items, leaks.
    #[command(
        after_help = "Examples:\n  likewise doctor items.npz --view fac\n  likewise doctor photos/ --skip-bad"
    )]
    Doctor(Doctor),
    /// Finds items that stand more than once, or nearly so.
    #[command(
        after_help = "Examples:\n  likewise duplicates items.npz -o duplicates.csv\n  likewise duplicates photos/ -o duplicates.html"
    )]
    Duplicates(Duplicates),
    /// Finds items of a run whose label is likely wrong.
    #[command(after_help = "Example:\n  likewise suspects run/ -o suspects.csv")]
    Suspects(Suspects),
    /// Says what to label next, what that is likely worth, and when two items are the same.
    #[command(
        after_help = "Examples:\n  likewise advise run/ --budget 50\n  likewise advise run/ -o next.csv\n  likewise fit run/ --add-labels next.csv"
    )]
    Advise(Advise),
    /// Compares two runs on the same items: which searches better, and for which queries.
    #[command(after_help = "Example:\n  likewise compare run1/ run2/ -o compare.html")]
    Compare(Compare),
    /// Builds the nearest-neighbour graph.
    #[command(after_help = "Example:\n  likewise graph items.npy -k 20 -o graph.npz")]
    Graph(Graph),
    /// Spreads labels over the graph: beliefs about every item.
    #[command(
        after_help = "Example:\n  likewise propagate items.npz --method mixed -k 20 --labels-per-class 5 -o beliefs.npz"
    )]
    Propagate(Propagate),
    /// Writes down pairs or triplets: of labels, of beliefs, or of affinities.
    #[command(
        after_help = "Examples:\n  likewise mine items.npz --from labels --kind pairs -o pairs.csv\n  likewise mine items.npz --from beliefs.npz --kind triplets -o triplets.parquet"
    )]
    Mine(Mine),
    /// Learns an embedding and measures it beside its baselines.
    #[command(
        after_help = "Examples:\n  likewise fit items.npz --labels forty-labels.csv -o run/\n  likewise fit photos/ --labels forty-labels.csv --encoder efficientnet_lite0.pth -o run/\n  likewise fit photos/ --encoder gist,dsift --view gist --view dsift -o run/\n  likewise fit items.npz --labels-per-class 5 --split zero-shot -o run/\n  likewise fit items.npz --view image --view text --recipe mixed+gsph --label-fraction 0.1 -o run/\n  likewise fit run/ --add-labels new.csv\n  likewise fit items.npz --view shape --view colour --recipe omks --triplets t.csv -o run/\n  likewise fit --continue run/ --triplets more.csv"
    )]
    Fit(Fit),
    /// Adds new items to a run, without fitting it again.
    #[command(
        after_help = "Example:\n  likewise add run/ new-items.npy --prefix new-\n\nThe new items are believed to be what their nearest neighbours are; the model, the numbers and the report stay those of the fit."
    )]
    Add(Add),
    /// Embeds data with a fitted model.
    #[command(
        after_help = "Examples:\n  likewise embed run/ new-items.npy -o embeddings.npy\n  likewise embed run/ items.npz -o embeddings.parquet"
    )]
    Embed(Embed),
    /// Writes features as they are read: of images by an encoder, of a table by its columns.
    #[command(
        after_help = "Examples:\n  likewise features photos/ --encoder efficientnet_lite0.pth -o features.npy\n  likewise features table.xlsx -o features.parquet"
    )]
    Features(Features),
    /// Describes images by descriptors and networks: a view of features each.
    #[command(
        after_help = "Examples:\n  likewise describe photos/ --with hist,glcm,lbp,gist,phog -o features.npz\n  likewise describe photos/ --with sift,net:efficientnet_lite0.pth -o features.npz\n  likewise fit features.npz --view gist -o run/"
    )]
    Describe(Describe),
    /// Builds a search index of a run or of embeddings.
    #[command(
        after_help = "Examples:\n  likewise index run/ --kind hnsw\n  likewise index embeddings.npy -o index/"
    )]
    Index(Index),
    /// Finds the most similar items.
    #[command(
        after_help = "Examples:\n  likewise search run/ --id 42 -k 10\n  likewise search run/ --query new-items.npy -k 10 --json\n  likewise search run/ --id 42 --from image --to text"
    )]
    Search(Search),
    /// Serves a run to a browser and to programs: search, labels that spread at once, review, refit.
    #[cfg(feature = "serve")]
    #[command(
        after_help = "Examples:\n  likewise serve run/\n  likewise serve run/ --port 9000\n  likewise serve run/ --host 0.0.0.0 --token 4f7c1e90ab\n\nLabels are kept in run/labels.jsonl, each on the disk before it is acknowledged."
    )]
    Serve(Serve),
    /// Measures retrieval: of a run, or of any embeddings with labels.
    #[command(
        after_help = "Examples:\n  likewise eval run/\n  likewise eval embeddings.npy --labels labels.npy --json\n  likewise eval run/ --classes classes.csv --confusion confusion.csv\n  likewise eval embeddings.npy --labels labels.npy --loss triplet,nt-xent,contextual"
    )]
    Eval(Eval),
    /// Writes a run for other programs: a database, an index, a table, or the model itself.
    #[command(
        after_help = "Examples:\n  likewise export run/ --to parquet -o items.parquet\n  likewise export run/ --to faiss -o items.faiss\n  likewise export run/ --to onnx -o model.onnx\n  likewise export run/ --to pgvector --url postgres://me@localhost/shop --table items\n  likewise export run/ --to qdrant --url http://localhost:6333 --table items\n\nInterrupted, the same export to a database goes on where it stopped. Passwords are best given as PGPASSWORD and QDRANT_API_KEY."
    )]
    Export(Export),
    /// Runs an experiment of a paper again, and writes its tables beside the printed ones.
    #[command(
        after_help = "Example:\n  likewise reproduce experiments/zhuang2023-table3.toml\n\nInterrupted, it goes on where it stopped. The file's own seed and draws count, not --seed."
    )]
    Reproduce(Reproduce),
    /// Tells what a method does, when not to use it, its formula, cost and source.
    #[command(after_help = "Example:\n  likewise explain mixed")]
    Explain(Explain),
    /// Shows what is kept of images between runs, and how large it is.
    #[command(after_help = "Examples:\n  likewise cache\n  likewise cache --clear")]
    Cache(Cache),
    /// Prints shell completions.
    #[command(
        after_help = "Example:\n  likewise completions bash > /etc/bash_completion.d/likewise"
    )]
    Completions(Completions),
    /// Writes the man pages.
    #[command(after_help = "Example:\n  likewise man -o man/")]
    Man(Man),
}

impl Verb {
    /// The data that the verb works on.
    pub(crate) fn data(&self) -> Option<&Path> {
        match self {
            Self::Doctor(args) => Some(args.data.path()),
            Self::Duplicates(args) => Some(args.data.path()),
            Self::Suspects(args) => Some(&args.run),
            Self::Advise(args) => Some(&args.run),
            Self::Graph(args) => Some(args.data.path()),
            Self::Propagate(args) => Some(args.data.path()),
            Self::Mine(args) => Some(args.data.path()),
            Self::Fit(args) => Some(args.data.path()),
            Self::Add(args) => Some(args.data.path()),
            Self::Embed(args) => Some(args.data.path()),
            Self::Features(args) => Some(args.data.path()),
            Self::Describe(args) => Some(args.data.path()),
            Self::Index(args) => Some(&args.source),
            Self::Eval(args) => Some(&args.source),
            Self::Search(args) => Some(&args.run),
            Self::Export(args) => Some(&args.run),
            #[cfg(feature = "serve")]
            Self::Serve(args) => Some(&args.run),
            // Two runs: what is wrong says of which.
            Self::Compare(_)
            | Self::Demo(_)
            | Self::Reproduce(_)
            | Self::Explain(_)
            | Self::Cache(_)
            | Self::Completions(_)
            | Self::Man(_) => None,
        }
    }
}
