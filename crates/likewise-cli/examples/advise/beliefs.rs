//! The share of beliefs that are right after so many labels, by strategy.

use std::fmt::Write as _;
use std::io::Write;

use likewise::advise::next::Strategy;
use likewise::eval::bootstrap::{Estimate, t_interval};

use super::Failed;
use super::sets::{self, MOST, Set};

const BUDGETS: [usize; 4] = [20, 50, 100, 200];

/// Writes the tables.
pub(crate) fn write(out: &mut impl Write, draws: u64) -> Result<(), Failed> {
    writeln!(
        out,
        "# What labels that are asked for are worth: beliefs\n\n\
         Written by `cargo run --release -p likewise-cli --no-default-features --example advise beliefs {draws}`. No label is \
         known at first; a person labels what is asked for, ten items at a time, from 50 on 25. A third of the \
         items is never asked for: of these the share is given whose class is believed rightly, by the labels near \
         them on a graph of 15 neighbours of the centred features. Means of {draws} draws of that third (and of the \
         labels at random); behind a strategy, what it gains on labels at random, with half its 95 % interval \
         over the draws. Sets of more than {MOST} items are thinned evenly. On the development sets it was \
         chosen what `auto` does, at first `vopt` up to five labels a class; the others were looked at after that, and \
         `auto` became `density` when they had been, on both: of `auto` and `density` they are not held out."
    )?;
    let sets = sets::all()?;
    for (development, title) in [(true, "Development sets"), (false, "Other sets")] {
        let mut tables = BUDGETS.map(|_| Table::default());
        for set in sets.iter().filter(|set| set.development == development) {
            let random = of(set, None, draws)?;
            for (table, random) in tables.iter_mut().zip(&random) {
                write!(table.text, "| {} | {:.3} |", set.name, mean(random))?;
            }
            for (place, strategy) in Strategy::ALL.into_iter().enumerate() {
                let own = of(set, Some(strategy), draws)?;
                for ((table, own), random) in tables.iter_mut().zip(&own).zip(&random) {
                    table.add(place, own, random)?;
                }
            }
            for table in &mut tables {
                table.text.push('\n');
            }
        }
        writeln!(out, "\n## {title}")?;
        for (budget, table) in BUDGETS.iter().zip(&tables) {
            table.write(out, *budget)?;
        }
    }
    Ok(())
}

/// The rows of a budget, and what each strategy gained on each set.
#[derive(Default)]
struct Table {
    text: String,
    gains: [Vec<Estimate>; Strategy::ALL.len()],
}

impl Table {
    fn add(&mut self, place: usize, own: &[f64], random: &[f64]) -> Result<(), Failed> {
        let gains: Vec<f64> = own
            .iter()
            .zip(random)
            .map(|(own, base)| own - base)
            .collect();
        let gain = t_interval(&gains).ok_or("an interval needs two draws")?;
        let half = (gain.high - gain.low) / 2.0;
        write!(self.text, " {:+.3} ±{half:.3} |", gain.value)?;
        self.gains[place].push(gain);
        Ok(())
    }

    fn write(&self, out: &mut impl Write, budget: usize) -> Result<(), Failed> {
        let names = Strategy::ALL.map(Strategy::name).join(" | ");
        let lines = "---|".repeat(Strategy::ALL.len());
        writeln!(
            out,
            "\n### {budget} labels\n\n| set | at random | {names} |\n|---|---|{lines}\n{}",
            self.text.trim_end()
        )?;
        write!(out, "| better, worse | |")?;
        for gains in &self.gains {
            let better = gains.iter().filter(|gain| gain.low > 0.0).count();
            let worse = gains.iter().filter(|gain| gain.high < 0.0).count();
            write!(out, " {better}, {worse} of {} |", gains.len())?;
        }
        write!(out, "\n| mean | |")?;
        for gains in &self.gains {
            let all: Vec<f64> = gains.iter().map(|gain| gain.value).collect();
            write!(out, " {:+.3} |", mean(&all))?;
        }
        Ok(writeln!(out)?)
    }
}

/// The share of each draw, by budget.
fn of(set: &Set, strategy: Option<Strategy>, draws: u64) -> Result<Vec<Vec<f64>>, Failed> {
    let mut values = vec![Vec::new(); BUDGETS.len()];
    for draw in 0..draws {
        let tested = set.tested(draw);
        let states = set.labeled(strategy, &tested, &BUDGETS, draw)?;
        for (values, labeled) in values.iter_mut().zip(&states) {
            values.push(set.right(labeled, &tested)?);
        }
    }
    Ok(values)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
