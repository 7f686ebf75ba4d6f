//! `cargo xtask attack`: damaged and forged input to the program, under limits.
//!
//! Every kind of input has a file here that makes valid ones, from `testdata/` and by the
//! program itself. They are mutated by the thousand and given to the program, which may refuse
//! them with a message or answer; it may not panic, run out of memory, be killed by a signal, or hang.

mod annotations;
mod ask;
mod data;
mod evaluation;
mod images;
mod kept;
mod kind;
mod mutate;
mod numbers;
mod place;
mod process;
mod readers;
mod run_folder;
mod served;
mod settings;
mod text;
mod weights;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng as Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::cargo::{FEATURES, cargo};
use crate::data::Result;
pub(crate) use data::npy_head;
use kind::{Attack, Kind};
use place::Place;
use process::{Limits, Outcome, Verdict};

const HELP: &str = "\
Usage: cargo xtask attack [--seconds N] [--seed S] [--binary PATH] [--only KIND] [--limit SECONDS]

Feeds damaged input to the program for N seconds (60). The same seed makes the same inputs.
--binary   what is attacked. Default: target/debug/likewise, built first
--only     only the kinds whose name holds this
--limit    seconds after which an execution counts as hanging (20)

What made it panic, run out of memory, end by a signal or hang is kept in target/attack, with the command.";

/// Where valid input for the attacks is taken from, and what once broke the program.
const OLD: &str = "testdata/attack";
const KEPT: &str = "target/attack";
/// How many inputs of a kind and a verdict are kept.
const EXAMPLES: usize = 20;

struct Options {
    seconds: u64,
    seed: u64,
    binary: PathBuf,
    only: String,
    limits: Limits,
}

/// Whether nothing was found. Fails where the harness itself cannot work.
pub(crate) fn attack(arguments: &[String]) -> Result<bool> {
    let Some(options) = options(arguments)? else {
        eprintln!("{HELP}");
        return Ok(false);
    };
    let folder = tempfile::tempdir()?;
    let place = Place::new(
        &options.binary,
        &folder.path().join("seeds"),
        options.limits,
    )?;
    let kinds: Vec<Box<dyn Kind>> = kinds(&place)?
        .into_iter()
        .filter(|kind| kind.name().contains(&options.only))
        .collect();
    if Path::new(KEPT).is_dir() {
        std::fs::remove_dir_all(KEPT)?;
    }
    let found = Mutex::new(Found::default());
    let work = |scene: &str, kind: &str, attack: &Attack| -> Result<()> {
        let scene = folder.path().join(scene);
        let outcome = process::execute(&options.binary, attack, &scene, options.limits)?;
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.add(kind, attack, &outcome)
    };
    let old: Vec<(String, Attack)> = kept::kept(Path::new(OLD))?
        .into_iter()
        .filter(|(name, _)| name.contains(&options.only))
        .collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let began = Instant::now();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let worker = |number: usize| {
            let scene = format!("scene-{number}");
            while !failed.load(Relaxed) {
                let i = next.fetch_add(1, Relaxed);
                let done = if let Some((name, attack)) = old.get(i) {
                    work(&scene, name, attack)
                } else if began.elapsed() > Duration::from_secs(options.seconds) || kinds.is_empty()
                {
                    return Ok(());
                } else {
                    let i = i - old.len();
                    let kind = &kinds[i % kinds.len()];
                    // An input depends on the seed and its number, not on the thread.
                    let mut rng = Rng::seed_from_u64(options.seed);
                    rng.set_stream(i as u64);
                    work(&scene, kind.name(), &kind.attack(&mut rng))
                };
                done.inspect_err(|_| failed.store(true, Relaxed))
                    .map_err(|e| e.to_string())?;
            }
            Ok(())
        };
        let threads = (0..workers).map(|number| scope.spawn(move || worker(number)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().try_for_each(|thread| {
            let ended = thread
                .join()
                .map_err(|_| "a thread of the harness panicked")?;
            ended.map_err(|e: String| e)
        })
    })
    .map_err(|e: String| e)?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    print!("{}", found.table());
    println!("seed {}, {} old ones first", options.seed, old.len());
    Ok(found.is_clean())
}

/// All kinds; their valid files are made here.
fn kinds(place: &Place) -> Result<Vec<Box<dyn Kind>>> {
    Ok(vec![
        Box::new(readers::kind(place)?),
        Box::new(annotations::kind(place)?),
        Box::new(images::kind()?),
        Box::new(weights::kind()?),
        Box::new(settings::recipes(place)?),
        Box::new(settings::files_of_flags()),
        Box::new(settings::experiments()),
        Box::new(evaluation::kind()?),
        Box::new(run_folder::kind(place)?),
        Box::new(run_folder::index(place)?),
        Box::new(served::requests(place)?),
        Box::new(served::folder(place)?),
        Box::new(numbers::Numbers),
    ])
}

fn options(arguments: &[String]) -> Result<Option<Options>> {
    let mut options = Options {
        seconds: 60,
        seed: 0,
        binary: PathBuf::new(),
        only: String::new(),
        limits: Limits::default(),
    };
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        let Some(value) = arguments.next() else {
            return Ok(None);
        };
        match name.as_str() {
            "--seconds" => options.seconds = value.parse()?,
            "--seed" => options.seed = value.parse()?,
            "--binary" => options.binary = value.into(),
            "--only" => options.only.clone_from(value),
            "--limit" => options.limits.time = Duration::from_secs(value.parse()?),
            _ => return Ok(None),
        }
    }
    if options.binary.as_os_str().is_empty() {
        // Of the whole workspace, as the check builds it: else half of it is built anew.
        let build = ["build", "--workspace", "--bin", "likewise"];
        if !cargo(&[&build[..], &["--features", FEATURES]].concat()) {
            return Err("the program does not build".into());
        }
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let name = format!("debug/likewise{}", std::env::consts::EXE_SUFFIX);
        options.binary = Path::new(&target).join(name);
    }
    options.binary = std::fs::canonicalize(&options.binary)
        .map_err(|e| format!("{}: {e}", options.binary.display()))?;
    Ok(Some(options))
}

/// How often each kind ended how.
#[derive(Default)]
struct Found(BTreeMap<String, [usize; Verdict::ALL.len()]>);

impl Found {
    /// Counts, and keeps the input if the program did wrong.
    fn add(&mut self, kind: &str, attack: &Attack, outcome: &Outcome) -> Result<()> {
        let counts = self.0.entry(kind.to_owned()).or_default();
        let verdict = outcome.verdict;
        counts[verdict as usize] += 1;
        let nth = counts[verdict as usize];
        if verdict != Verdict::Fine && nth <= EXAMPLES {
            let name = format!("{}-{}-{nth}", kind.replace(' ', "-"), verdict.name());
            kept::keep(attack, &Path::new(KEPT).join(name), kind, outcome)?;
        }
        Ok(())
    }

    fn is_clean(&self) -> bool {
        let bad = Verdict::ALL.iter().filter(|verdict| verdict.is_wrong());
        let mut counts = bad.flat_map(|&bad| self.0.values().map(move |c| c[bad as usize]));
        counts.all(|count| count == 0)
    }

    fn table(&self) -> String {
        let line = |name: &str, cells: [String; 6]| {
            let cells = cells.map(|cell| format!("{cell:>10}"));
            format!("{name:<24}{}\n", cells.concat())
        };
        let head = ["executions", "panic", "memory", "signal", "hang", "unnamed"];
        let mut text = line("", head.map(str::to_owned));
        let mut sums = [0; Verdict::ALL.len()];
        let row = |counts: &[usize]| {
            let count = |verdict: Verdict| counts[verdict as usize].to_string();
            let all: usize = counts.iter().sum();
            let [panic, memory, signal, hang, unnamed] = [
                Verdict::Panic,
                Verdict::Memory,
                Verdict::Signal,
                Verdict::Hang,
                Verdict::Unnamed,
            ]
            .map(count);
            [all.to_string(), panic, memory, signal, hang, unnamed]
        };
        for (name, counts) in &self.0 {
            text += &line(name, row(counts));
            sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
        }
        text + &line("all", row(&sums))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_what_was_found() {
        let mut found = Found::default();
        assert!(found.is_clean());
        found.0.insert("images".into(), [7, 1, 0, 0, 0, 0]);
        assert!(found.is_clean());
        found.0.insert("labels".into(), [1, 0, 0, 3, 2, 0]);
        assert!(!found.is_clean());
        let table = found.table();
        let words = |line: usize| -> Vec<&str> {
            let line = table.lines().nth(line).unwrap_or("");
            line.split_whitespace().collect()
        };
        assert_eq!(words(1), ["images", "8", "0", "0", "0", "0", "1"]);
        assert_eq!(words(3), ["all", "14", "0", "3", "2", "0", "1"]);
    }
}
