//! How many wrong labels are found, beside as many items at random and beside a vote of the neighbours.

use std::collections::BTreeSet;
use std::io::Write;

use likewise::advise::suspects::Suspects;
use likewise::{Graph, Label, Labels, Monitor, seed};
use rand::RngExt;
use rand::seq::SliceRandom;

use super::Failed;
use super::sets::{self, MOST, Set};

/// Labels at hand; the last is as many as there are.
const LABELED: [usize; 2] = [200, usize::MAX];
/// Of so many labels one is wrong.
const ONE_IN: usize = 10;

/// Writes the table.
pub(crate) fn write(out: &mut impl Write, draws: u64) -> Result<(), Failed> {
    writeln!(
        out,
        "# Which labels are wrong: found and true\n\n\
         Written by `cargo run --release -p likewise-cli --no-default-features --example advise suspects {draws}`. Labels at \
         random, of which one in {ONE_IN} is made another class at random. *Found* is the share of these among the items \
         that are named, beside as many items at random (one in {ONE_IN} of them is wrong) and beside a vote: the same number \
         of items whose labeled neighbours on the graph speak most against their label. *Of all* is the share of the \
         wrong labels that are named. Means over {draws} draws; sets of more than {MOST} items are thinned evenly.\n\n\
         | set | labels | named | found | at random | by a vote | of all | by a vote |\n\
         |---|---|---|---|---|---|---|---|"
    )?;
    let (mut rows, mut above_random, mut above_vote, mut below_vote) = (0, 0, 0, 0);
    for set in sets::all()? {
        for most in LABELED {
            let mut sums = [0.0; 6];
            let mut gains = [Vec::new(), Vec::new()];
            let count = most.min(set.truth.len());
            for draw in 0..draws {
                let (labels, wrong) = spoiled(&set, count, draw)?;
                let checked = Suspects::new().seed(draw);
                let found = checked.find(&set.graph, &labels, &Monitor::silent())?;
                let named: Vec<usize> = found.suspects.iter().map(|one| one.item).collect();
                let vote = by_vote(&set.graph, &labels, named.len());
                let right = |items: &[usize]| {
                    items.iter().filter(|item| wrong.contains(item)).count() as f64
                };
                let random = wrong.len() as f64 / count as f64;
                let share =
                    |right: f64, of: usize| if of == 0 { random } else { right / of as f64 };
                let (ours, theirs) = (right(&named), right(&vote));
                let precision = [share(ours, named.len()), random, share(theirs, named.len())];
                gains[0].push(precision[0] - random);
                gains[1].push(precision[0] - precision[2]);
                let all = wrong.len() as f64;
                let own = [
                    named.len() as f64,
                    precision[0],
                    random,
                    precision[2],
                    ours / all,
                    theirs / all,
                ];
                sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            let [named, found, random, vote, of_all, vote_of_all] =
                sums.map(|sum| sum / draws as f64);
            writeln!(
                out,
                "| {} | {count} | {named:.0} | {found:.3} | {random:.3} | {vote:.3} | {of_all:.3} | {vote_of_all:.3} |",
                set.name
            )?;
            let clearly = |gains: &[f64]| likewise::eval::bootstrap::t_interval(gains);
            let gains = gains.map(|gains| clearly(&gains).ok_or("an interval needs two draws"));
            let [of_random, of_vote] = gains;
            let (of_random, of_vote) = (of_random?, of_vote?);
            rows += 1;
            above_random += usize::from(of_random.low > 0.0);
            above_vote += usize::from(of_vote.low > 0.0);
            below_vote += usize::from(of_vote.high < 0.0);
        }
    }
    writeln!(
        out,
        "\nOf {rows} cases what is named holds clearly more wrong labels than as many at random in {above_random}; than those \
         by a vote clearly more in {above_vote} and clearly fewer in {below_vote}."
    )?;
    Ok(())
}

/// Labels of so many items, and those that are wrong.
fn spoiled(set: &Set, count: usize, draw: u64) -> Result<(Labels, BTreeSet<usize>), Failed> {
    let mut order: Vec<usize> = (0..set.truth.len()).collect();
    let mut rng = seed::stream(draw, "wrong labels");
    order.shuffle(&mut rng);
    let labeled = &order[..count];
    // A class that nobody has met is not known either.
    let (labels, _) = set.labels(labeled).compact();
    let mut items = labels.items().to_vec();
    let wrong: BTreeSet<usize> = labeled
        .iter()
        .copied()
        .take(count.div_ceil(ONE_IN))
        .collect();
    let classes = u32::try_from(labels.n_classes())?;
    for &item in &wrong {
        let own = labels[item].class().ok_or("a label is not known")?;
        let other = rng.random_range(0..classes - 1);
        items[item] = Label::Known(other + u32::from(other >= own));
    }
    Ok((Labels::new(labels.classes().to_vec(), items)?, wrong))
}

/// The labeled items whose labeled neighbours speak most against their label.
fn by_vote(graph: &Graph, labels: &Labels, most: usize) -> Vec<usize> {
    let mut doubted: Vec<(f64, usize)> = Vec::new();
    for item in 0..graph.n() {
        let Some(own) = labels[item].class() else {
            continue;
        };
        let (neighbors, weights) = graph.row(item);
        let (mut with, mut all) = (0.0, 0.0);
        for (&neighbor, &weight) in neighbors.iter().zip(weights) {
            if let Some(class) = labels[neighbor as usize].class() {
                with += f64::from(weight) * f64::from(u8::from(class == own));
                all += f64::from(weight);
            }
        }
        if all > 0.0 {
            doubted.push((1.0 - with / all, item));
        }
    }
    doubted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    doubted
        .into_iter()
        .take(most)
        .map(|(_, item)| item)
        .collect()
}
