//! Whether a threshold has the precision that it is said to have.

use std::io::Write;

use likewise::advise::threshold::Finder;
use likewise::{Embedding, Monitor};
use ndarray::Array2;

use super::Failed;
use super::sets::{self, MOST, Set};

/// Labels at hand.
const LABELED: [usize; 2] = [100, 200];
/// The precision that is wanted, as `advise` does where nothing is said.
const WANTED: f64 = 0.95;

/// Writes the table.
pub(crate) fn write(out: &mut impl Write, draws: u64) -> Result<(), Failed> {
    writeln!(
        out,
        "# Same or not: the threshold that was found, said and true\n\n\
         Written by `cargo run --release -p likewise-cli --no-default-features --example advise threshold {draws}`. A threshold \
         for a precision of {WANTED} by labels at random and the embedding of a fit by the recipe `mild-probabilities` that has \
         learned from as many others, beside what it has on all pairs of the items without a label. *Pairs at random* is the share of all those pairs that are of one class: what any two \
         items would give. Means over the draws of {draws} in which a threshold was found; *inside* counts draws whose \
         interval held the truth. Sets of more than {MOST} items are thinned evenly.\n\n\
         | set | labels | found in | pairs at random | precision, said | true | inside | recall, said | true | inside |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    )?;
    let (mut asked, mut found, mut precisions, mut recalls, mut kept) = (0, 0, 0, 0, 0);
    for set in sets::all()? {
        for count in LABELED {
            if 4 * count > set.truth.len() {
                continue;
            }
            let (mut sums, mut inside, mut own) = ([0.0; 5], [0; 2], 0);
            for draw in 0..draws {
                asked += 1;
                let nobody = vec![false; set.truth.len()];
                let labeled = set.labeled(None, &nobody, &[2 * count], draw)?.remove(0);
                let (taught, kept_back) = labeled.split_at(count);
                let rows = set.learned(&set.labels(taught), draw)?;
                let embedding: Embedding = rows.clone().into();
                let finder = Finder::new(WANTED).seed(draw);
                // Too few pairs of one class say nothing.
                let Ok(Some(said)) =
                    finder.find(&embedding, &set.truth, kept_back, &Monitor::silent())
                else {
                    continue;
                };
                let [precision, recall, share] =
                    on_the_others(&set, &rows, &labeled, said.similarity);
                own += 1;
                let values = [
                    share,
                    said.precision.value,
                    precision,
                    said.recall.value,
                    recall,
                ];
                sums.iter_mut()
                    .zip(values)
                    .for_each(|(sum, value)| *sum += value);
                inside[0] += usize::from(
                    said.precision.low <= precision && precision <= said.precision.high,
                );
                inside[1] += usize::from(said.recall.low <= recall && recall <= said.recall.high);
                kept += usize::from(precision >= WANTED);
            }
            found += own;
            precisions += inside[0];
            recalls += inside[1];
            if own == 0 {
                writeln!(
                    out,
                    "| {} | {count} | 0 of {draws} | | | | | | | |",
                    set.name
                )?;
                continue;
            }
            let [share, said, precision, said_recall, recall] =
                sums.map(|sum| sum / f64::from(own));
            writeln!(
                out,
                "| {} | {count} | {own} of {draws} | {share:.3} | {said:.3} | {precision:.3} | {} of {own} | {said_recall:.3} | \
                 {recall:.3} | {} of {own} |",
                set.name, inside[0], inside[1]
            )?;
        }
    }
    writeln!(
        out,
        "\nA threshold was found in {found} of {asked} draws. The interval held the true precision in {precisions} of these, the \
         true recall in {recalls}; the true precision was {WANTED} or more in {kept}."
    )?;
    Ok(())
}

/// Precision and recall of a threshold on all pairs of the items without a label, and the share of these that are
/// of one class.
fn on_the_others(set: &Set, rows: &Array2<f32>, labeled: &[usize], similarity: f64) -> [f64; 3] {
    let mut open = vec![true; set.truth.len()];
    for &item in labeled {
        open[item] = false;
    }
    let items: Vec<usize> = (0..open.len()).filter(|&item| open[item]).collect();
    let (mut above, mut right, mut same, mut all) = (0.0, 0.0, 0.0, 0.0);
    for (place, &a) in items.iter().enumerate() {
        for &b in &items[..place] {
            let of_one = f64::from(u8::from(set.truth[a] == set.truth[b]));
            all += 1.0;
            same += of_one;
            if f64::from(rows.row(a).dot(&rows.row(b))) >= similarity {
                above += 1.0;
                right += of_one;
            }
        }
    }
    let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 1.0 };
    [share(right, above), share(right, same), share(same, all)]
}
