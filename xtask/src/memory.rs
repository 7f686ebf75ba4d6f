//! `cargo xtask memory`: what the program says that it needs, and what it takes.
//!
//! Every verb that reads much runs on generated data under the very limit that it estimates
//! for itself. The page `results/memory.md` shows the estimate, the limit and the peak.

mod process;
mod sets;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::cargo;
use crate::data::Result;
use process::{Ended, run};
use sets::Rows;

const HELP: &str = "\
Usage: cargo xtask memory [--binary PATH] [--only WORD] [--weights FILE]

Runs the verbs on generated data under the limit that they estimate, and writes
results/memory.md: estimate, limit, measured peak. Linux only; takes half an hour.
--binary   what is measured. Default: target/release/likewise, built first
--only     only the sets whose name holds this; prints the page and writes nothing
--weights  the network that the photos are embedded by. Default:
           data/weights/lite0/efficientnet_lite0.pth, which `cargo xtask weights` fetches";

const PAGE: &str = "results/memory.md";
const WEIGHTS: &str = "data/weights/lite0/efficientnet_lite0.pth";
/// Less than the program says that it needs for whatever it is, and more than it takes to say so.
const LEAST: u64 = 63 << 20;
/// A peak above the limit by more than this is a fault.
const SLACK: f64 = 1.2;

struct Options {
    binary: PathBuf,
    only: String,
    weights: Option<PathBuf>,
}

/// Data of some shape, and what is done with them.
struct Set {
    name: String,
    /// Commands one after the other, each a verb and its arguments: the later ones use what the
    /// earlier ones wrote.
    commands: Vec<String>,
    write: Box<Write>,
}

/// Writes the data into a folder.
type Write = dyn Fn(&Path) -> Result<()>;

/// What was measured of one command.
struct Row {
    command: String,
    estimate: u64,
    limit: u64,
    /// Under the limit.
    ended: Ended,
    /// Without one, where the limit stopped the work.
    free: Option<Ended>,
}

/// Whether every peak kept its limit. Fails where a command does for another reason.
pub(crate) fn memory(arguments: &[String]) -> Result<bool> {
    let Some(options) = options(arguments)? else {
        eprintln!("{HELP}");
        return Ok(false);
    };
    if options.weights.is_none() && options.only.is_empty() {
        return Err(format!(
            "{WEIGHTS} is not there, and the page is of it too: cargo xtask weights"
        )
        .into());
    }
    let mut page = head()?;
    let mut kept = true;
    for set in sets(options.weights.as_deref()) {
        if !set.name.contains(&options.only) {
            continue;
        }
        println!("{}", set.name);
        let folder = tempfile::tempdir()?;
        (set.write)(folder.path())?;
        let mut rows = Vec::new();
        for command in &set.commands {
            let row = measure(&options.binary, command, folder.path())?;
            println!("{}", row.line());
            kept &= row.is_within();
            rows.push(row);
        }
        write!(page, "\n## {}\n\n{}", set.name, table(&rows))?;
    }
    if options.only.is_empty() {
        fs::write(PAGE, page)?;
    }
    Ok(kept)
}

fn options(arguments: &[String]) -> Result<Option<Options>> {
    let mut options = Options {
        binary: PathBuf::new(),
        only: String::new(),
        weights: Some(PathBuf::from(WEIGHTS)).filter(|path| path.exists()),
    };
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        let Some(value) = arguments.next() else {
            return Ok(None);
        };
        match name.as_str() {
            "--binary" => options.binary = value.into(),
            "--only" => options.only.clone_from(value),
            "--weights" => options.weights = Some(value.into()),
            _ => return Ok(None),
        }
    }
    if options.binary.as_os_str().is_empty() {
        if !cargo(&["build", "--release", "-p", "likewise-cli"]) {
            return Err("the program does not build".into());
        }
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        options.binary = Path::new(&target).join("release/likewise");
    }
    let whole =
        |path: &Path| fs::canonicalize(path).map_err(|e| format!("{}: {e}", path.display()));
    options.binary = whole(&options.binary)?;
    options.weights = options.weights.as_deref().map(whole).transpose()?;
    Ok(Some(options))
}

/// What is measured, from small to large.
fn sets(weights: Option<&Path>) -> Vec<Set> {
    let rows = |name: &str, rows: Rows, fit: &str, k: usize| Set {
        name: name.to_owned(),
        // So many queries of so many items take minutes.
        commands: of_rows(fit, k, if rows.items > 50_000 { "q" } else { "x" }),
        write: Box::new(move |folder| rows.write(folder)),
    };
    let of = |items, columns, classes| Rows {
        items,
        columns,
        classes,
    };
    let networks = weights.map(|weights| {
        let weights = weights.to_owned();
        Set {
            name: "60 photos and EfficientNet-Lite0".to_owned(),
            commands: of_networks(),
            write: Box::new(move |folder| {
                fs::copy(&weights, folder.join(NETWORK))?;
                fs::write(folder.join("tuned.toml"), TUNED)?;
                sets::photos(&folder.join("photos"), 60, [320, 240])
            }),
        }
    });
    let sets = vec![
        rows("40 items of 20,000 columns", of(40, 20_000, 4), "", 5),
        rows(
            "20,000 items of 256 columns",
            of(20_000, 256, 100),
            "--epochs 2 --draws 1",
            50,
        ),
        rows(
            "20,000 items of 64 columns, 5,000 classes",
            of(20_000, 64, 5000),
            "--recipe label-rca --draws 1",
            10,
        ),
        Set {
            name: "16 photos of 10 megapixels, 8 threads".to_owned(),
            commands: of_photos(),
            write: Box::new(|folder| sets::photos(&folder.join("photos"), 16, [3872, 2584])),
        },
        rows(
            "100,000 items of 256 columns",
            of(100_000, 256, 100),
            "--recipe label-rca --draws 1",
            10,
        ),
    ];
    sets.into_iter().chain(networks).collect()
}

fn of_rows(fit: &str, k: usize, queries: &str) -> Vec<String> {
    [
        "doctor x.npy --labels y.npy".to_owned(),
        format!("graph x.npy -k {k} -o g.npz"),
        format!("graph x.npy -k {k} --approx -o a.npz"),
        format!("propagate x.npy --labels y.npy --labels-per-class 1 -k {k} -o b.npz"),
        format!(
            "propagate x.npy --labels y.npy --labels-per-class 1 -k {k} --method mixed -o m.npz"
        ),
        "mine x.npy --labels y.npy --from labels --kind triplets -o t.parquet".to_owned(),
        format!("fit x.npy --labels y.npy --labels-per-class 3 {fit} -o run"),
        "embed run x.npy -o e.npy".to_owned(),
        "index run --kind hnsw".to_owned(),
        "search run --id 1".to_owned(),
        format!("search run --query {queries}.npy"),
        "eval e.npy --labels y.npy".to_owned(),
        "suspects run -o s.csv".to_owned(),
        "advise run -o n.csv".to_owned(),
        "fit x.npy --labels y.npy --labels-per-class 3 --recipe start --draws 1 -o other"
            .to_owned(),
        "compare run other".to_owned(),
        // From here on the run has items that the other has not.
        "add run q.npy --prefix new-".to_owned(),
        "duplicates x.npy -o d.csv".to_owned(),
        "features x.npy -o f.parquet".to_owned(),
        "export run --to parquet -o e.parquet".to_owned(),
        "export run --to faiss -o e.faiss".to_owned(),
    ]
    .into()
}

fn of_photos() -> Vec<String> {
    [
        "doctor photos --threads 8",
        "fit photos --threads 8 --labels-per-class 2 --draws 1 -o run",
        "embed run photos --threads 8 -o e.npy",
        "search run --query photos --threads 8",
        "eval photos --threads 8",
        "describe photos --with hist,gist,phog --threads 8 -o d.npz",
    ]
    .map(str::to_owned)
    .into()
}

/// A frozen network, and one that goes on learning.
fn of_networks() -> Vec<String> {
    let encoder = format!("--encoder {NETWORK}");
    let few = "--labels-per-class 5 --draws 1 --split item";
    vec![
        // Features are kept in a cache; the first command makes them.
        format!("doctor photos {encoder}"),
        format!("fit photos {encoder} {few} -o run"),
        format!("embed run photos {encoder} -o e.npy"),
        format!("fit photos {encoder} {few} --recipe tuned.toml -o tuned"),
        "embed tuned photos -o t.npy".to_owned(),
    ]
}

/// Name of the weights beside the photos: by their content they are known whatever it is.
const NETWORK: &str = "lite0.pth";

const TUNED: &str = r#"base = "mixed-lp"
[learner.model]
kind = "network"
encoder = { name = "lite0", frozen_layers = 0, head = { kind = "whitened", dim = 32 } }
[learner.train]
batch = 32
[rounds]
epochs = 1
folds = 2
"#;

/// Runs a command under the limit that it asks for.
fn measure(binary: &Path, command: &str, folder: &Path) -> Result<Row> {
    let words = |more: &[&str]| -> Vec<String> {
        let own = command.split_whitespace();
        own.chain(more.iter().copied()).map(str::to_owned).collect()
    };
    let mut estimate = estimate(binary, &words, folder).map_err(|e| format!("{command}: {e}"))?;
    let (limit, ended) = loop {
        let limit = estimate.next_multiple_of(1 << 20);
        let may = ["-q", "--max-memory", &limit.to_string()];
        let ended = run(binary, &words(&may), folder)?;
        match about(&ended.said) {
            // A later step of the work knows more.
            Some(more) if more > limit => estimate = more,
            _ => break (limit, ended),
        }
    };
    let free = if ended.well {
        None
    } else if ended.said.contains("the work was stopped") {
        // What an interrupted fit left is not gone on with.
        let _ = fs::remove_dir_all(folder.join("run/unfinished"));
        Some(run(binary, &words(&["-q"]), folder)?)
    } else {
        return Err(format!("{command}: {}", ended.said.trim()).into());
    };
    if let Some(free) = &free
        && !free.well
    {
        return Err(format!("{command}: {}", free.said.trim()).into());
    }
    Ok(Row {
        command: command.to_owned(),
        estimate,
        limit,
        ended,
        free,
    })
}

/// What the program thinks that a command needs: by `--dry-run`, or by what it says where less
/// is allowed than any command needs.
fn estimate(binary: &Path, words: &impl Fn(&[&str]) -> Vec<String>, folder: &Path) -> Result<u64> {
    let asked = run(binary, &words(&["-q", "--dry-run", "--json"]), folder)?;
    if asked.well {
        let answer: serde_json::Value = serde_json::from_str(&asked.answer)?;
        let bytes = answer["memory_bytes"].as_u64();
        return bytes.ok_or_else(|| "the estimate has no memory_bytes".into());
    }
    let mut may = LEAST;
    loop {
        let refused = run(
            binary,
            &words(&["-q", "--max-memory", &may.to_string()]),
            folder,
        )?;
        if let Some(bytes) = about(&refused.said) {
            return Ok(bytes);
        }
        // What it reads before it can tell takes more than that.
        if !refused.said.contains("the work was stopped") {
            return Err(format!("no estimate: {}", refused.said.trim()).into());
        }
        may *= 2;
    }
}

/// The size in `this needs about 1.5 GiB, but`.
fn about(said: &str) -> Option<u64> {
    let mut words = said.split("needs about ").nth(1)?.split([' ', ',']);
    let number: f64 = words.next()?.parse().ok()?;
    let unit: u64 = match words.next()? {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    // It was rounded, perhaps down.
    Some(((number + 0.05) * unit as f64) as u64)
}

impl Row {
    /// The most that was resident: without the limit, where this stopped the work.
    fn peak(&self) -> &Ended {
        self.free.as_ref().unwrap_or(&self.ended)
    }

    fn is_within(&self) -> bool {
        self.peak().peak as f64 <= SLACK * self.limit as f64
    }

    fn line(&self) -> String {
        let peak = self.peak();
        let verdict = match (self.is_within(), &self.free) {
            (true, None) => "yes",
            (true, Some(_)) => "stopped, though within",
            (false, None) => "**no**",
            (false, Some(_)) => "**no**, stopped",
        };
        format!(
            "| `{}` | {} | {} | {} | {} | {:.2} | {verdict} | {:.0} |",
            self.command,
            mib(self.estimate),
            mib(self.limit),
            mib(peak.peak),
            mib(peak.own),
            peak.peak as f64 / self.limit as f64,
            peak.seconds
        )
    }
}

fn mib(bytes: u64) -> String {
    format!("{:.0}", bytes as f64 / f64::from(1 << 20))
}

fn table(rows: &[Row]) -> String {
    let mut text = "| command | estimate | limit | peak | its own | peak / limit | within | s |\n\
                    |---|---:|---:|---:|---:|---:|---|---:|\n"
        .to_owned();
    for row in rows {
        text += &(row.line() + "\n");
    }
    text
}

fn head() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    Ok(format!(
        "# Memory: what was estimated and what was taken\n\n\
         `cargo xtask memory` runs the release program on generated data, each command under the \
         limit that it\nestimates for itself: by `--dry-run`, or, where a verb has none, by what \
         it says when it is refused.\nAll sizes in MiB. *Peak* is the most that was resident at \
         once, with the pages of files that are mapped and can be\nread again; *its own* is the \
         rest, which `--max-memory` holds. *Within*: the peak is at most the limit and a fifth. \
         A\ncommand that its limit stopped ran again without one. Linux, {cores} cores.\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_read_out_of_a_refusal() {
        let said = "error: this needs about 1.5 GiB, but 1.0 B may be used; use fewer items";
        assert_eq!(about(said), Some((1.55 * f64::from(1 << 30)) as u64));
        assert_eq!(about("error: something else"), None);
    }

    #[test]
    fn a_peak_far_above_the_limit_is_told() {
        let row = |peak| Row {
            command: "graph x.npy".into(),
            estimate: 90 << 20,
            limit: 100 << 20,
            ended: Ended {
                well: true,
                answer: String::new(),
                said: String::new(),
                peak,
                own: peak,
                seconds: 1.0,
            },
            free: None,
        };
        assert!(row(119 << 20).is_within() && !row(121 << 20).is_within());
        assert!(table(&[row(121 << 20)]).contains("| 1.21 | **no** | 1 |"));
    }
}
