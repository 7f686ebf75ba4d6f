//! Whether more labels ever make the delivered model worse.

use std::io::Write;

use likewise::eval::bootstrap::{Estimate, t_interval};

use super::Failed;
use super::sets::{self, MOST, SETS, truth};

const BUDGETS: [usize; 5] = [1, 2, 3, 5, 10];
const MOST_LABELS: usize = BUDGETS[BUDGETS.len() - 1];
const DRAWS: u64 = 5;

/// Writes the table.
pub(crate) fn write(out: &mut impl Write) -> Result<(), Failed> {
    writeln!(
        out,
        "# What each further label is worth\n\n\
         Written by `cargo run --release -p likewise-cli --example few_labels budgets`. Default \
         recipe, no split: all labels are fitted, and what the fit delivers is measured. Each \
         draw of labels holds those of the smaller ones. The same items ask at every budget: \
         those that {MOST_LABELS} labels a class leave unlabeled; all are searched. Mean \
         R-precision over {DRAWS} draws; in brackets the step from the column before, with half \
         its 95 % interval over the draws. Sets of more than {MOST} items are thinned evenly.\n\n\
         | set | raw | {} labels a class |\n|---|---|{}",
        BUDGETS.map(|m| m.to_string()).join(" | "),
        "---|".repeat(BUDGETS.len())
    )?;
    let (mut steps, mut falls) = (0, 0);
    for (name, file, view) in SETS {
        let Some((mut collection, all)) = sets::read(file, view)? else {
            continue;
        };
        let mut raw = 0.0;
        let mut by_budget = [const { Vec::new() }; BUDGETS.len()];
        for draw in 0..DRAWS {
            let most = all.draw(MOST_LABELS, 200 + draw);
            let asks = |i: usize| most[i].class().is_none();
            let features = collection.views()[0].matrix.view();
            raw += truth(features, &all, asks)?.r_precision / DRAWS as f64;
            for (values, m) in by_budget.iter_mut().zip(BUDGETS) {
                collection.labels = Some(all.draw(m, 200 + draw));
                let study = sets::fit(&collection, draw)?;
                values.push(truth(study.embeddings.view(), &all, asks)?.r_precision);
            }
        }
        let first = mean(&by_budget[0]);
        write!(out, "| {name} | {raw:.3} | {first:.3} |")?;
        for pair in by_budget.windows(2) {
            let step = step(&pair[0], &pair[1]).ok_or("no interval")?;
            steps += 1;
            falls += usize::from(step.high < 0.0);
            let half = (step.high - step.low) / 2.0;
            write!(
                out,
                " {:.3} ({:+.3} ±{half:.3}) |",
                mean(&pair[1]),
                step.value
            )?;
        }
        writeln!(out)?;
        out.flush()?;
    }
    writeln!(
        out,
        "\nOf {steps} steps, {falls} fall beyond their interval."
    )?;
    Ok(())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The step from one budget to the next, draw by draw.
fn step(before: &[f64], after: &[f64]) -> Option<Estimate> {
    let steps: Vec<f64> = before.iter().zip(after).map(|(b, a)| a - b).collect();
    t_interval(&steps)
}
