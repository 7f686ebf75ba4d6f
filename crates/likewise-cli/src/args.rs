//! The command line: one definition for parsing, help, completions and the man page.

mod table;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use likewise::advise::next::Strategy;
use likewise::graph::{KnnGraph, Symmetrize};
use likewise::index;
use likewise::neighbor::Precision;
use likewise::propagate::Method;
use likewise_study::fit::Asked;
use likewise_study::graph::Settings;
use likewise_study::size::Bytes;
use likewise_study::source::{Maker, ReadAs, Source};
use likewise_study::study::SplitKind;

pub(crate) use self::table::Table;

/// From a pile of items and a handful of labels to a search that shares your idea of
/// similar, with an honest number on it.
#[derive(Debug, Parser)]
#[command(
    name = "likewise",
    version,
    args_override_self = true,
    arg_required_else_help = true,
    after_help = "First steps:\n  likewise demo                      the whole journey on built-in digits\n  likewise doctor items.npz          look at your data\n  likewise fit items.npz --labels forty-labels.csv -o run/\n  likewise fit photos/ --labels forty-labels.csv --encoder gist,phog -o run/\n  likewise search run/ --id 42        what is most like it\n\nA csv of labels has the columns id and label; items that it does not name are unlabeled.\n\nDATA is a .npy, .npz, .csv, .xlsx, .jsonl, .parquet or .safetensors file, MNIST idx files (a file or their folder), or a folder of images (sub-folder = class; unlabeled/ or the top = unlabeled)."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Flags of every verb.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Of every verb")]
pub(crate) struct Common {
    /// Print the result as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Seed of every random step.
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Threads; the result does not depend on them. Default: all cores.
    #[arg(long, global = true, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Where networks run: cpu, vulkan (the fastest card) or vulkan:N (card N).
    #[arg(long, global = true, default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: String,
    /// No progress, no remarks; errors still show.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// More remarks.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Flags from a TOML file; the command line overrides them.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Refuse work that needs more memory than this, e.g. 4GiB, and stop what takes more.
    ///
    /// Default: most of what is free.
    #[arg(long, global = true, value_name = "SIZE")]
    pub(crate) max_memory: Option<Bytes>,
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
    #[command(after_help = "Example:\n  likewise graph items.npy -k 50 -o graph.npz")]
    Graph(Graph),
    /// Spreads labels over the graph: beliefs about every item.
    #[command(
        after_help = "Example:\n  likewise propagate items.npz --method mixed -k 50 --labels-per-class 5 -o beliefs.npz"
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

/// Where items come from.
#[derive(Debug, Clone, Args)]
pub(crate) struct Data {
    /// The data: .npy, .npz, .csv, .xlsx, .jsonl, .parquet, .safetensors, MNIST idx, or images in
    /// a folder.
    #[arg(value_name = "DATA", required_unless_present = "data_flag")]
    positional: Option<PathBuf>,
    /// The data, from a config file.
    #[arg(long = "data", id = "data_flag", hide = true, value_name = "DATA")]
    flag: Option<PathBuf>,
    /// Labels: a csv with id and label, or an .npy with one label an item; -1, empty or
    /// null mean unlabeled.
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// The feature matrix to use, if the data hold several; given again, these side by side, but for
    /// fit with a recipe across views (gsph, cca ...), which searches from one to another.
    #[arg(long, value_name = "NAME")]
    pub(crate) view: Vec<String>,
    #[command(flatten)]
    pub(crate) table: Table,
    #[command(flatten)]
    pub(crate) images: Images,
}

/// How images are read.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Images")]
pub(crate) struct Images {
    /// Turn images into features by a file of a network, or by descriptors, with commas between:
    /// hist, glcm, lbp, gist, phog; sift, dsift, surf, gb as visual words; net:FILE for a network
    /// among them. Each is a view of its name. Default: their pixels.
    #[arg(long, value_name = "FILE|LIST")]
    pub(crate) encoder: Option<PathBuf>,
    /// Visual words to learn of each descriptor of points. Default: 200.
    #[arg(long, value_name = "N")]
    pub(crate) words: Option<usize>,
    /// Squeeze the whole image into the square that the network reads, instead of cutting out
    /// its middle.
    #[arg(long)]
    pub(crate) squeeze: bool,
    /// Side of the square that the encoder reads, where not that of its training. Half of it is
    /// four times as fast, and coarser.
    #[arg(long, value_name = "PIXELS", requires = "encoder")]
    pub(crate) side: Option<usize>,
    /// Leave out images that cannot be read, with a warning, instead of failing.
    #[arg(long)]
    pub(crate) skip_bad: bool,
}

/// The name of one view, or of several side by side.
pub(crate) fn joined(views: &[String]) -> Option<String> {
    (!views.is_empty()).then(|| views.join("+"))
}

impl Images {
    /// The first of these flags that was given.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let given = [
            ("--encoder", self.encoder.is_some()),
            ("--words", self.words.is_some()),
            ("--side", self.side.is_some()),
            ("--squeeze", self.squeeze),
            ("--skip-bad", self.skip_bad),
        ];
        given
            .into_iter()
            .find(|(_, given)| *given)
            .map(|(flag, _)| flag)
    }
}

/// How data are read with these flags; `seed` is of what is learned of images.
pub(crate) fn read_as(
    labels: Option<&Path>,
    views: &[String],
    table: &Table,
    images: &Images,
    seed: u64,
) -> likewise::Result<ReadAs> {
    let encoder = images.encoder.as_deref().map(Maker::list_or_file);
    Ok(ReadAs {
        labels: labels.map(Path::to_owned),
        view: joined(views),
        apart: false,
        encoder: encoder.transpose()?.unwrap_or_default(),
        words: images.words,
        seed,
        vocabularies: Vec::new(),
        side: images.side,
        squeeze: images.squeeze,
        skip_bad: images.skip_bad,
        table: table.options(),
        layout: None,
    })
}

impl Data {
    /// What is there, and how it is read.
    pub(crate) fn source(&self, seed: u64) -> likewise::Result<Source> {
        Source::open(self.path(), self.read_as(seed)?)
    }

    /// How it is read.
    pub(crate) fn read_as(&self, seed: u64) -> likewise::Result<ReadAs> {
        let labels = self.labels.as_deref();
        read_as(labels, &self.view, &self.table, &self.images, seed)
    }

    /// The path of the data, wherever it was given.
    pub(crate) fn path(&self) -> &Path {
        let path = self.positional.as_deref().or(self.flag.as_deref());
        path.unwrap_or_else(|| Path::new(""))
    }
}

/// `likewise demo`
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Folder to write the run into.
    #[arg(short, long, default_value = "likewise-demo", value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// Which of the six feature sets of the digits.
    #[arg(long, default_value = "fac", value_name = "NAME")]
    pub(crate) view: String,
    /// Labels a class.
    #[arg(long, default_value_t = NonZeroUsize::new(5).expect("5 is not 0"), value_name = "M")]
    pub(crate) labels_per_class: NonZeroUsize,
    /// Label draws.
    #[arg(long, default_value_t = NonZeroUsize::new(5).expect("5 is not 0"), value_name = "N")]
    pub(crate) draws: NonZeroUsize,
}

/// `likewise doctor`
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Neighbours for the look at isolated items. Default: 10.
    #[arg(short, value_name = "K")]
    pub(crate) k: Option<NonZeroUsize>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// `likewise duplicates`
#[derive(Debug, Args)]
pub(crate) struct Duplicates {
    /// Cosine from which two items are nearly the same; 1 finds little but copies.
    #[arg(long, default_value_t = likewise_study::duplicates::THRESHOLD, value_name = "S")]
    pub(crate) threshold: f32,
    /// Where the groups go: .csv, or .html as a page, with pictures where the data are images.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// `likewise suspects`
#[derive(Debug, Args)]
pub(crate) struct Suspects {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Where they go: .csv, or .html as a page, with pictures where the data of the run are images.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `likewise advise`
#[derive(Debug, Args)]
pub(crate) struct Advise {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Items to label next.
    #[arg(long, default_value_t = NonZeroUsize::new(50).expect("50 is not 0"), value_name = "N")]
    pub(crate) budget: NonZeroUsize,
    /// How they are chosen; `likewise explain advise` tells when to use which.
    #[arg(long, default_value = "auto", value_parser = strategies(), value_name = "NAME")]
    pub(crate) strategy: String,
    /// Share of the items that are taken for the same that must be, above 0 and below 1.
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    pub(crate) precision: f64,
    /// Where what to label goes: .csv with `id` and an empty `label` to be filled in, for
    /// `fit RUN --add-labels`.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn strategies() -> PossibleValuesParser {
    PossibleValuesParser::new(Strategy::ALL.map(Strategy::name))
}

/// `likewise compare`
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Folder of a run.
    #[arg(value_name = "RUN1")]
    pub(crate) first: PathBuf,
    /// Folder of another, on the same items and with the same split.
    #[arg(value_name = "RUN2")]
    pub(crate) second: PathBuf,
    /// Where a page with the queries that changed most goes: .html, with pictures where the data of
    /// the runs are images.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Share of the true neighbours that an approximate search finds, unless another is asked for.
const RECALL: f64 = 0.95;

/// How the graph is built.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct GraphFlags {
    /// Neighbours an item.
    #[arg(short, long, default_value_t = 50, value_name = "K")]
    pub(crate) k: usize,
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

    /// How the graph is built.
    pub(crate) fn settings(&self, seed: u64) -> Settings {
        Settings {
            graph: KnnGraph::new()
                .k(self.k)
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
fn symmetrize(written: &str) -> Result<Symmetrize, String> {
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
    Standardised,
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
    /// The method. Default: mixed, as in fit. `likewise explain NAME` says what each is for.
    #[arg(long, value_parser = methods())]
    method: Option<String>,
    #[command(flatten)]
    pub(crate) flags: GraphFlags,
    /// A graph written by `likewise graph` (or scipy), instead of building one.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["k", "gamma", "approx", "recall", "center", "precision", "symmetrize"]
    )]
    pub(crate) graph: Option<PathBuf>,
    /// Keep this many labels a class and hide the others (they only measure accuracy).
    #[arg(long, value_name = "M")]
    pub(crate) labels_per_class: Option<NonZeroUsize>,
    /// Scale of mixed propagation.
    #[arg(long, value_enum)]
    pub(crate) scale: Option<ScaleName>,
    /// Weight of negative edges (mixed, control, manifold, goldberg).
    #[arg(long, value_name = "B")]
    pub(crate) beta: Option<f64>,
    /// Temperature factor of the edge removal (mixed).
    #[arg(long, value_name = "L")]
    pub(crate) lambda: Option<f64>,
    /// Weight of the labels.
    #[arg(long, value_name = "MU")]
    pub(crate) mu: Option<f64>,
    /// 2 counts each pair twice as printed, 1 once (mixed).
    #[arg(long, value_name = "F")]
    pub(crate) pair_factor: Option<f64>,
    /// Class-mass normalisation. Default: estimated with mixed, uniform with lgc, none with all
    /// others; lgc as published is --mass none.
    #[arg(long, value_enum)]
    pub(crate) mass: Option<MassName>,
    /// Sizes of the classes (poisson, poisson-mbo): balanced, labeled (their share of the labels),
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
    /// Ask the labels whether the propagation helps: cross-validation on the labeled items.
    #[arg(long)]
    pub(crate) diagnose: bool,
    /// Calibrate the confidences on labels that are hidden in turn (as --diagnose does).
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
}

impl Propagate {
    /// The name of the method that was asked for.
    pub(crate) fn method(&self) -> &str {
        let default = || Method::default().name();
        self.method.as_deref().unwrap_or_else(default)
    }
}

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

/// The kind of tuples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TupleKind {
    /// Two items, alike (y = 1) or unlike (y = -1).
    Pairs,
    /// An anchor, an item like it and an item unlike it.
    Triplets,
}

/// `likewise mine`
#[derive(Debug, Args)]
pub(crate) struct Mine {
    /// What they are made of: labels, the beliefs.npz of `likewise propagate`, affinity
    /// (neighbours by propagated affinity), or votes (of classifiers of the view, or of all views
    /// where none is named).
    #[arg(long, value_name = "labels|FILE|affinity|votes")]
    pub(crate) from: PathBuf,
    /// The kind of tuples.
    #[arg(long, value_enum)]
    pub(crate) kind: TupleKind,
    /// Most pairs of each sort, or most triplets, that an item draws (from labels and beliefs).
    /// Default: 10.
    #[arg(long, value_name = "N")]
    pub(crate) per_item: Option<NonZeroUsize>,
    /// Keep this many labels a class and use no others (from labels, affinity and votes).
    #[arg(long, value_name = "M")]
    pub(crate) labels_per_class: Option<NonZeroUsize>,
    /// Neighbours an item (from affinity). Default: 50.
    #[arg(short, long, value_name = "K")]
    pub(crate) k: Option<usize>,
    /// Where they go: .csv or .parquet.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// `likewise fit`
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Fit {
    /// The recipe: `auto`, which chooses by labels that it keeps back; a name (mixed-lp, probabilities, mixed-lp-paper,
    /// mixed-rca, rca, logistic, dssml, affinity-triplet, contextual, or a loss; across views gsph, mixed+gsph, cca ...; `likewise explain NAME` shows it), or a .toml file that says what differs from one; a recipe table in --config changes single choices.
    /// Default: auto; with --pairs label-rca, with --triplets triplet, with --epochs or a recipe table mixed-lp.
    #[arg(long, value_name = "NAME")]
    pub(crate) recipe: Option<String>,
    /// Learn from these pairs as well: a csv or parquet with a, b, y (1 alike, -1 unlike) and
    /// perhaps weight, as `likewise mine` writes them. For the recipes rca and mixed-rca.
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
    /// the place of DATA, it is fitted again on its own data, recipe and seed, and replaced unless
    /// -o names another folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) add_labels: Vec<PathBuf>,
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
}

impl Fit {
    /// What is taken of the data, and how.
    pub(crate) fn read_as(&self, view: &str, of_tuples: &str) -> String {
        let images = &self.data.images;
        format!(
            "view {view}; side {:?}; squeeze {}{of_tuples}{}",
            images.side,
            images.squeeze,
            self.data.table.record()
        )
    }

    /// What was asked of the protocol.
    pub(crate) fn asked(&self, seed: u64) -> Asked {
        Asked {
            split: self.split.map(|split| match split {
                SplitName::Item => SplitKind::Item,
                SplitName::ZeroShot => SplitKind::ZeroShot,
                SplitName::Given => SplitKind::Given,
                SplitName::Folds => SplitKind::Folds,
            }),
            labels_per_class: self.labels_per_class,
            draws: self.draws,
            seed,
        }
    }
}

/// `likewise add`
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// What stands before each id of the new items, where the data number them, as .npy does.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// `likewise embed`
#[derive(Debug, Args)]
pub(crate) struct Embed {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Where the embeddings go: .npy; or .parquet, with ids, labels and what is believed.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// `likewise features`
#[derive(Debug, Args)]
pub(crate) struct Features {
    /// Where the features go: .npy; or .parquet, with ids and labels.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// `likewise describe`
#[derive(Debug, Args)]
pub(crate) struct Describe {
    /// Descriptors, with commas between: hist, glcm, lbp, gist, phog; sift, dsift, surf, gb as
    /// visual words; net:FILE for a network. `likewise explain hist` tells of one.
    #[arg(long, value_name = "LIST")]
    pub(crate) with: String,
    /// Where the features go: .npz, with ids, labels and split.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// Kinds of index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IndexName {
    /// Exact: compares with every item.
    Flat,
    /// Approximate, fast on large collections.
    Hnsw,
}

impl From<IndexName> for index::Kind {
    fn from(name: IndexName) -> Self {
        match name {
            IndexName::Flat => Self::Flat,
            IndexName::Hnsw => Self::Hnsw,
        }
    }
}

/// `likewise index`
#[derive(Debug, Args)]
pub(crate) struct Index {
    /// Folder of a run, or a file of embeddings: .npy, .parquet or another form of DATA.
    #[arg(value_name = "RUN|EMB")]
    pub(crate) source: PathBuf,
    /// Kind of index.
    #[arg(long, value_enum, default_value = "hnsw")]
    pub(crate) kind: IndexName,
    /// Where the index goes, with a copy of the embeddings and the ids, so that it can be searched
    /// by itself. Default: index/ in the run's folder.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Neighbours at which recall against exact search is measured. Default: 10, or all of
    /// fewer items.
    #[arg(short, value_name = "K")]
    pub(crate) k: Option<usize>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `likewise search`
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("asked").required(true))]
pub(crate) struct Search {
    /// Folder of a run, or of an index that `likewise index EMB -o INDEX` made.
    #[arg(value_name = "RUN|INDEX")]
    pub(crate) run: PathBuf,
    /// Search for each item of this data (same view as the run was fitted on; for an index,
    /// embeddings by the same model).
    #[arg(long, value_name = "DATA", group = "asked")]
    pub(crate) query: Option<PathBuf>,
    /// Search for the item of the run with this id (it is left out of the answer).
    #[arg(long, value_name = "ID", group = "asked")]
    pub(crate) id: Option<String>,
    /// The feature matrix of --query to use; given again, these side by side. Default: the run's.
    #[arg(long, value_name = "NAME")]
    pub(crate) view: Vec<String>,
    /// In a run across views: search for this text, in a view of texts.
    #[arg(long, value_name = "TEXT", group = "asked")]
    pub(crate) query_text: Option<String>,
    /// In a run across views: the view that the query is of. A file of --query may hold that view
    /// alone.
    #[arg(long, value_name = "VIEW")]
    pub(crate) from: Option<String>,
    /// In a run across views: the view that is searched. Of two, the other one.
    #[arg(long, value_name = "VIEW")]
    pub(crate) to: Option<String>,
    /// Answers a query.
    #[arg(short, default_value_t = 10, value_name = "K")]
    pub(crate) k: usize,
    /// Compare with every item instead of using the index.
    #[arg(long)]
    pub(crate) exact: bool,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) table: Table,
    #[command(flatten)]
    pub(crate) images: Images,
}

/// `likewise serve`
#[cfg(feature = "serve")]
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Port to listen at; 0: any that is free.
    #[arg(long, default_value_t = 7007, value_name = "N")]
    pub(crate) port: u16,
    /// Address to listen at; any but this machine's own needs --token.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDR")]
    pub(crate) host: std::net::IpAddr,
    /// What a request has to know, 8 letters or more: as `Authorization: Bearer T`, or by opening /?token=T once.
    #[arg(long, value_name = "T")]
    pub(crate) token: Option<String>,
}

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
    #[arg(long, value_enum, default_value = "cosine")]
    pub(crate) metric: MetricName,
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
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) table: Table,
    #[command(flatten)]
    pub(crate) images: Images,
}

/// Similarities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricName {
    /// Cosine of the angle.
    Cosine,
    /// Euclidean distance.
    Euclidean,
    /// Inner product.
    InnerProduct,
}

/// What a run is exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetName {
    /// A table of Postgres with pgvector.
    Pgvector,
    /// A collection of Qdrant.
    Qdrant,
    /// A table that lancedb takes in.
    Lancedb,
    /// A table that Milvus imports.
    Milvus,
    /// An index file of faiss, exact.
    Faiss,
    /// A table of vectors, labels and beliefs.
    Parquet,
    /// The model as ONNX: a network, or what embeds features.
    Onnx,
    /// A folder with the model and its card, as Hugging Face has it.
    Huggingface,
}

/// `likewise export`
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// What it is exported to.
    #[arg(long, value_enum, value_name = "TARGET")]
    pub(crate) to: TargetName,
    /// The file; a folder for huggingface.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Address of the database: postgres://USER@HOST:PORT/DATABASE, http://HOST:6333.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The table, or collection, of the database. Default: likewise.
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// Of a run across views, the one whose side is exported.
    #[arg(long, value_name = "NAME")]
    pub(crate) view: Option<String>,
    /// The index that pgvector builds; flat is none, and compares with every item. Default: hnsw.
    #[arg(long, value_enum)]
    pub(crate) index: Option<IndexName>,
    /// Drop what an older export left in the table or the folder.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `likewise reproduce`
#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// The experiment: a TOML file.
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: PathBuf,
    /// Folder of the results. Default: results/ and the name of the experiment.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Folder of the data. Also looked in: `$LIKEWISE_DATA`, the experiment's folder,
    /// and data/ beside it.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,
    /// Draws of the labels, instead of as many as the experiment says.
    #[arg(long, value_name = "N")]
    pub(crate) draws: Option<NonZeroUsize>,
    /// Only the data set or the group of this name; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
}

/// `likewise explain`
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Name of a method; without it, all names.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// `likewise cache`
#[derive(Debug, Args)]
pub(crate) struct Cache {
    /// Remove it: features and unpacked archives are made again when they are needed.
    #[arg(long)]
    pub(crate) clear: bool,
}

/// `likewise completions`
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// `likewise man`
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Folder for the pages.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
}
