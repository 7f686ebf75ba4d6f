//! How many wrong labels are found, beside as many items at random and beside a vote of the neighbours.

use std::collections::BTreeSet;
use std::io::Write;

use likewise::advise::suspects::Suspects;
use likewise::distance::Metric;
use likewise::{Graph, Label, Labels, Monitor, seed};
use likewise_study::advise;
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
         random, of which one in {ONE_IN} is made another class at random, and a fit by the recipe `mild-probabilities` that has \
         learned from all of them, right and wrong: the graph of its embedding is what `suspects` goes by. *Found* is the share of these among the items \
         that are named, beside as many items at random (one in {ONE_IN} of them is wrong) and beside a vote: the same number \
         of items whose labeled neighbours on the same graph speak most against their label. *Of all* is the share of the \
         wrong labels that are named. *By the start* is the same as ours on the graph of the whitened features, which have learned \
         from no label. Means over {draws} draws; sets of more than {MOST} items are thinned evenly.\n\n\
         | set | labels | named | found | at random | by a vote | by the start | of all | by a vote | by the start |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    )?;
    let (mut rows, mut above_random) = (0, 0);
    let (mut above, mut below) = ([0; 2], [0; 2]);
    for set in sets::all()? {
        let start = set.start()?;
        for most in LABELED {
            let mut sums = [0.0; 8];
            let mut gains = [Vec::new(), Vec::new(), Vec::new()];
            let count = most.min(set.truth.len());
            for draw in 0..draws {
                let (labels, wrong) = spoiled(&set, count, draw)?;
                let checked = Suspects::new().seed(draw);
                let rows = set.learned(&labels, draw)?;
                let graph = advise::graph(rows.view(), Metric::Cosine, draw, &Monitor::silent())?;
                let named = |graph: &Graph| -> Result<Vec<usize>, Failed> {
                    let found = checked.find(graph, &labels, &Monitor::silent())?;
                    Ok(found.suspects.iter().map(|one| one.item).collect())
                };
                let (named, by_start) = (named(&graph)?, named(&start)?);
                let vote = by_vote(&graph, &labels, named.len());
                let right = |items: &[usize]| {
                    items.iter().filter(|item| wrong.contains(item)).count() as f64
                };
                let random = wrong.len() as f64 / count as f64;
                let share =
                    |right: f64, of: usize| if of == 0 { random } else { right / of as f64 };
                let (ours, theirs, before) = (right(&named), right(&vote), right(&by_start));
                let found = share(ours, named.len());
                let of_vote = share(theirs, named.len());
                let of_start = share(before, by_start.len());
                let all = wrong.len() as f64;
                gains[0].push(found - random);
                gains[1].push(found - of_vote);
                // The start may name more or fewer: both count as right names less wrong ones, over the wrong labels.
                let worth = |right: f64, of: usize| (2.0 * right - of as f64) / all;
                gains[2].push(worth(ours, named.len()) - worth(before, by_start.len()));
                let own = [
                    named.len() as f64,
                    found,
                    random,
                    of_vote,
                    of_start,
                    ours / all,
                    theirs / all,
                    before / all,
                ];
                sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            let [
                named,
                found,
                random,
                vote,
                start,
                of_all,
                vote_of_all,
                start_of_all,
            ] = sums.map(|sum| sum / draws as f64);
            writeln!(
                out,
                "| {} | {count} | {named:.0} | {found:.3} | {random:.3} | {vote:.3} | {start:.3} | {of_all:.3} | {vote_of_all:.3} | \
                 {start_of_all:.3} |",
                set.name
            )?;
            let clearly = |gains: &[f64]| likewise::eval::bootstrap::t_interval(gains);
            let gains = gains.map(|gains| clearly(&gains).ok_or("an interval needs two draws"));
            let [of_random, of_vote, of_start] = gains;
            rows += 1;
            above_random += usize::from(of_random?.low > 0.0);
            for (place, gain) in [of_vote?, of_start?].iter().enumerate() {
                above[place] += usize::from(gain.low > 0.0);
                below[place] += usize::from(gain.high < 0.0);
            }
        }
        out.flush()?;
    }
    writeln!(
        out,
        "\nOf {rows} cases what is named holds clearly more wrong labels than as many at random in {above_random}; than those \
         by a vote clearly more in {} and clearly fewer in {}. By right names less wrong ones, the embedding is clearly better \
         than the start in {} and clearly worse in {}.",
        above[0], below[0], above[1], below[1]
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
