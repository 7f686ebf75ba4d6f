//! Time of the nearest codes of every query, and of the same search by faiss.
//!
//!     cargo bench -p likewise --bench codes -- [N] [BITS] [QUERIES] [K] [PYTHON]
//!
//! With a Python that has `faiss-cpu` and `numpy`, `IndexBinaryFlat` answers the same queries on the
//! same codes (`peers/codes.py`), by one thread; distances must agree. Random codes are the hard case:
//! nothing is far from all queries. Times are CPU time, so other work on the machine disturbs them
//! less; codes a second are codes that were compared with a query by one core.

use std::io::Write as _;
use std::process::Command;

use likewise::code::{Codes, nearest};
use likewise::{Monitor, seed};
use rand::RngExt;

const SEED: u64 = 1;

/// A line of `/proc/self/status` in MiB, where the system tells.
fn memory(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(key))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

/// Processor seconds so far, where the system tells.
fn processor() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn main() -> likewise::Result<()> {
    // Cargo itself passes `--bench`.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let number = |place: usize, default: usize| -> usize {
        args.get(place)
            .and_then(|a| a.parse().ok())
            .unwrap_or(default)
    };
    let (n, bits) = (number(0, 10_000_000), number(1, 64));
    let (n_queries, k) = (number(2, 256), number(3, 50));
    println!(
        "{n} codes of {bits} bits, {n_queries} queries, k {k}, threads {}, seed {SEED}",
        rayon::current_num_threads()
    );
    let mut rng = seed::stream(SEED, "benchmark");
    let width = bits.div_ceil(64);
    let rest = bits % 64;
    let mask = if rest == 0 { u64::MAX } else { (1 << rest) - 1 };
    let mut random = |codes: usize| {
        let words = (0..codes * width).map(|place| {
            let word: u64 = rng.random();
            if place % width == width - 1 {
                word & mask
            } else {
                word
            }
        });
        Codes::from_words(bits, words.collect())
    };
    let (codes, queries) = (random(n)?, random(n_queries)?);
    let before = memory("VmRSS");
    let start = processor();
    let found = nearest(&queries, &codes, k, &Monitor::silent())?;
    let seconds = start.zip(processor()).map(|(then, now)| now - then);
    let own = seconds.map(|seconds| (n * n_queries) as f64 / seconds);
    let (mine, peak) = (codes.words().len() * 8 / (1 << 20), memory("VmHWM"));
    println!(
        "likewise nearest: {:.2} core-s, {:.2e} codes a second a core; codes {mine} MiB, before the \
         search {} MiB, peak {} MiB",
        seconds.unwrap_or(f64::NAN),
        own.unwrap_or(f64::NAN),
        before.unwrap_or(0),
        peak.unwrap_or(0)
    );
    let Some(python) = args.get(4) else {
        return Ok(());
    };
    let folder = std::env::temp_dir().join(format!("likewise-codes-{}", std::process::id()));
    let write = |name: &str, codes: &Codes| -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join(name))?);
        let words = codes.words().iter();
        words
            .map(|word| word.to_le_bytes())
            .try_for_each(|bytes| file.write_all(&bytes))?;
        file.flush()
    };
    std::fs::create_dir_all(&folder).expect("a folder for the codes");
    write("codes.u64", &codes).expect("codes on disk");
    write("queries.u64", &queries).expect("queries on disk");
    let distances = found.distances.iter().flat_map(|d| d.to_le_bytes());
    std::fs::write(folder.join("distances.u32"), distances.collect::<Vec<u8>>())
        .expect("distances on disk");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/codes.py");
    let answer = Command::new(python)
        .arg(script)
        .arg(&folder)
        .args([n, width * 64, n_queries, k].map(|v| v.to_string()))
        .output()
        .expect("python");
    let _ = std::fs::remove_dir_all(&folder);
    eprint!("{}", String::from_utf8_lossy(&answer.stderr));
    for line in String::from_utf8_lossy(&answer.stdout).lines() {
        println!("{line}");
        let seconds = line.split("core_seconds ").nth(1);
        let seconds = seconds.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
        if let (Some(peer), Some(own)) = (seconds, own) {
            let peer = (n * n_queries) as f64 / peer;
            println!(
                "  {peer:.2e} codes a second a core; likewise {:.2} times that",
                own / peer
            );
        }
    }
    Ok(())
}
