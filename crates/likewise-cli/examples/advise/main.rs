//! What labels that are asked for are worth, beside labels drawn at random.
//!
//! ```text
//! cargo run --release -p likewise-cli --no-default-features --example advise beliefs > results/advise/README.md
//! cargo run --release -p likewise-cli --no-default-features --example advise curve > results/advise/curve.md
//! cargo run --release -p likewise-cli --no-default-features --example advise search > results/advise/search.md
//! cargo run --release -p likewise-cli --no-default-features --example advise suspects > results/advise/suspects.md
//! cargo run --release -p likewise-cli --no-default-features --example advise sure > results/advise/sure.md
//! cargo run --release -p likewise-cli --no-default-features --example advise threshold > results/advise/threshold.md
//! ```
//!
//! Public sets whose labels are all known stand for a person who labels what is asked for. A number behind
//! the name of the table is that of the draws.

mod beliefs;
mod curve;
mod search;
mod sets;
mod sure;
mod suspects;
mod threshold;

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let mut out = std::io::stdout().lock();
    let draws = std::env::args().nth(2);
    let draws = |usual: u64| draws.as_ref().map_or(Ok(usual), |d| d.parse());
    match std::env::args().nth(1).as_deref() {
        Some("beliefs") => beliefs::write(&mut out, draws(10)?),
        Some("curve") => curve::write(&mut out, draws(5)?),
        Some("search") => search::write(&mut out, draws(10)?),
        Some("suspects") => suspects::write(&mut out, draws(10)?),
        Some("sure") => sure::write(&mut out, draws(10)?),
        Some("threshold") => threshold::write(&mut out, draws(10)?),
        _ => Err("say which table: beliefs, curve, search, suspects, sure or threshold".into()),
    }
}
