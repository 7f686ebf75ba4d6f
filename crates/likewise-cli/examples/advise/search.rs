//! What labels that are asked for are worth to the search of a fit.

use std::io::Write;

use likewise::Monitor;
use likewise::advise::next::Strategy;
use likewise::eval::bootstrap::t_interval;
use likewise::eval::ranking::{self, Measure};

use super::Failed;
use super::sets::{self, MOST, Set};

const BUDGETS: [usize; 4] = [20, 50, 100, 200];
const ASKED: [Option<Strategy>; 2] = [None, Some(Strategy::Auto)];
/// Sets that are fitted: hundreds of times each.
const FITTED: [&str; 4] = ["digits kar", "digits fou", "Fashion-MNIST", "Caltech-101"];

/// Writes the table.
pub(crate) fn write(out: &mut impl Write, draws: u64) -> Result<(), Failed> {
    writeln!(
        out,
        "# What labels that are asked for are worth: search\n\n\
         Written by `cargo run --release -p likewise-cli --no-default-features --example advise search {draws}`. As for \
         beliefs: a third of the items is never asked for. Here they are the queries of the recipe \
         `mild-probabilities`, fitted on the labels alone, and all other items are searched. Means of {draws} draws, \
         and what `auto` gains with half its 95 % interval. Sets of more than {MOST} items are thinned evenly.\n\n\
         | set | labels | R@1, at random | auto | MAP@R, at random | auto |\n|---|---|---|---|---|---|"
    )?;
    let (mut better, mut worse, mut rows) = ([0; 2], [0; 2], 0);
    let sets = sets::all()?;
    for set in sets.iter().filter(|set| FITTED.contains(&set.name)) {
        let mut values = Vec::new();
        for asked in ASKED {
            let mut own = vec![[Vec::new(), Vec::new()]; BUDGETS.len()];
            for draw in 0..draws {
                let tested = set.tested(draw);
                let states = set.labeled(asked, &tested, &BUDGETS, draw)?;
                for (own, labeled) in own.iter_mut().zip(&states) {
                    for (own, value) in own.iter_mut().zip(measure(set, labeled, &tested, draw)?) {
                        own.push(value);
                    }
                }
            }
            values.push(own);
        }
        for (b, budget) in BUDGETS.iter().enumerate() {
            write!(out, "| {} | {budget} |", set.name)?;
            for metric in 0..2 {
                let (random, auto) = (&values[0][b][metric], &values[1][b][metric]);
                let gains: Vec<f64> = auto.iter().zip(random).map(|(a, r)| a - r).collect();
                let gain = t_interval(&gains).ok_or("an interval needs two draws")?;
                let mean = random.iter().sum::<f64>() / random.len() as f64;
                let half = (gain.high - gain.low) / 2.0;
                write!(out, " {mean:.3} | {:+.3} ±{half:.3} |", gain.value)?;
                better[metric] += usize::from(gain.low > 0.0);
                worse[metric] += usize::from(gain.high < 0.0);
            }
            writeln!(out)?;
            rows += 1;
        }
        out.flush()?;
    }
    writeln!(
        out,
        "\nOf {rows} cases `auto` is clearly above labels at random in {} (R@1) and {} (MAP@R), clearly below in {} and \
         {}.",
        better[0], better[1], worse[0], worse[1]
    )?;
    Ok(())
}

/// R@1 and MAP@R of the tested items among all others.
fn measure(set: &Set, labeled: &[usize], tested: &[bool], draw: u64) -> Result<[f64; 2], Failed> {
    let embedding = set.learned(&set.labels(labeled), draw)?;
    let of = |wanted: bool| {
        let items = (0..tested.len()).filter(|&i| tested[i] == wanted);
        items.collect::<Vec<usize>>()
    };
    let (queries, gallery) = (of(true), of(false));
    let asked = ranking::Protocol::new(embedding.view(), &set.truth, &queries, &gallery);
    let ranking = ranking::evaluate(&asked, &[1], &Monitor::silent())?;
    let mean = |measure| ranking.mean(measure).unwrap_or(f64::NAN);
    Ok([mean(Measure::Recall(1)), mean(Measure::MapAtR)])
}
