//! Whether beliefs that are said to be sure by so much are right as often.

use std::io::Write;

use likewise::advise::curve::Measure;
use likewise::advise::shares::shares;
use likewise::advise::temperature::Temperature;
use likewise::eval::calibration::Calibration;
use likewise::{Graph, Labels, Monitor};
use ndarray::ArrayView1;

use super::Failed;
use super::sets::{self, MOST, Set};

/// Labels at hand.
const LABELED: [usize; 3] = [50, 100, 200];
/// What counts as very sure.
const VERY: f32 = 0.9;

/// A belief of an item without a label.
struct Belief {
    share: f32,
    sure: f32,
    right: bool,
}

/// Writes the table.
pub(crate) fn write(out: &mut impl Write, draws: u64) -> Result<(), Failed> {
    writeln!(
        out,
        "# How sure a belief is: said and true\n\n\
         Written by `cargo run --release -p likewise-cli --no-default-features --example advise sure {draws}`. Labels at random; what \
         the beliefs of all other items are said to be sure by, fitted on the labels at hand alone, each kept back in turn, beside \
         the share of them that is right. *By the share* is what spreads from the labels, as it is. *Error* is the expected error \
         of calibration in ten bins. *Very* are those that are said to be sure by {VERY} or more. Means over {draws} draws, by the \
         graph of the whitened features as in a run; sets of more than {MOST} items are thinned evenly. A set is left out where the labels would be half \
         of it.\n\n\
         | set | labels | right | said | by the share | error | by the share | very | right of these |\n\
         |---|---|---|---|---|---|---|---|---|"
    )?;
    let (mut rows, mut near, mut better, mut very, mut very_right) = (0, 0, 0, 0, 0);
    let mut errors = [0.0; 2];
    for set in sets::all()? {
        let graph = set.start()?;
        for count in LABELED {
            if 2 * count > set.truth.len() {
                continue;
            }
            let (mut sums, mut measured) = ([0.0; 6], 0);
            let (mut sure, mut sure_right) = (0, 0);
            for draw in 0..draws {
                let Some(beliefs) = of_draw(&set, &graph, count, draw)? else {
                    continue;
                };
                measured += 1;
                let values = means(&beliefs)?;
                (sums.iter_mut().zip(values)).for_each(|(sum, value)| *sum += value);
                sure += beliefs.iter().filter(|b| b.sure >= VERY).count();
                sure_right += (beliefs.iter())
                    .filter(|b| b.sure >= VERY && b.right)
                    .count();
            }
            if measured == 0 {
                writeln!(out, "| {} | {count} | too few | | | | | | |", set.name)?;
                continue;
            }
            let [right, said, by_share, error, error_by_share, part] =
                sums.map(|sum| sum / f64::from(measured));
            let of_these = match sure {
                0 => "-".to_owned(),
                _ => format!("{:.3}", sure_right as f64 / sure as f64),
            };
            writeln!(
                out,
                "| {} | {count} | {right:.3} | {said:.3} | {by_share:.3} | {error:.3} | {error_by_share:.3} | {part:.3} | \
                 {of_these} |",
                set.name
            )?;
            rows += 1;
            near += usize::from((said - right).abs() <= 0.05);
            better += usize::from(error < error_by_share);
            (errors.iter_mut().zip([error, error_by_share])).for_each(|(sum, error)| *sum += error);
            very += sure;
            very_right += sure_right;
        }
        out.flush()?;
    }
    writeln!(
        out,
        "\nOf {rows} cases what is said is within .05 of the share that is right in {near}. The error is {:.3} in the mean, that \
         of the share as it is {:.3}; it is the smaller one in {better}. Of all beliefs that are said to be very sure {:.3} \
         are right.",
        errors[0] / f64::from(rows.max(1)),
        errors[1] / f64::from(rows.max(1)),
        very_right as f64 / very.max(1) as f64
    )?;
    Ok(())
}

/// The beliefs of the items without a label; `None` where the labels are too few to say how sure they are.
fn of_draw(
    set: &Set,
    graph: &Graph,
    count: usize,
    draw: u64,
) -> Result<Option<Vec<Belief>>, Failed> {
    let silent = Monitor::silent();
    let nobody = vec![false; set.truth.len()];
    let labeled = set.labeled(None, &nobody, &[count], draw)?.remove(0);
    let labels = set.labels(&labeled);
    let measure = Measure::new().seed(draw);
    let Some(curve) = measure.measure(graph, &labels, &silent)? else {
        return Ok(None);
    };
    let Some(temperature) = Temperature::fit(&curve.held_out)? else {
        return Ok(None);
    };
    let shares = shares(graph, &labels, &silent)?;
    let open = (0..labels.len()).filter(|&item| labels[item].class().is_none());
    let believed =
        open.filter_map(|item| of_item(shares.row(item), item, &set.truth, &temperature));
    Ok(Some(believed.collect()))
}

/// The first class of an item; `None` where no label reaches it.
fn of_item(
    shares: ArrayView1<f64>,
    item: usize,
    truth: &Labels,
    temperature: &Temperature,
) -> Option<Belief> {
    let (class, share) = sets::first(shares);
    let share = share.min(1.0) as f32;
    (share > 0.0).then(|| Belief {
        share,
        sure: temperature.apply(share),
        right: truth[item].class() == u32::try_from(class).ok(),
    })
}

/// The share that is right, what is said with and without the temperature, the two errors of calibration, and the
/// share that is very sure.
fn means(beliefs: &[Belief]) -> Result<[f64; 6], Failed> {
    let mean = |value: &dyn Fn(&Belief) -> f64| {
        beliefs.iter().map(value).sum::<f64>() / beliefs.len() as f64
    };
    let error = |of: &dyn Fn(&Belief) -> f32| -> Result<f64, Failed> {
        let pairs: Vec<(f32, bool)> = beliefs.iter().map(|b| (of(b), b.right)).collect();
        let error = Calibration::of(&pairs)?.expected_error;
        error.ok_or_else(|| "nothing to measure".into())
    };
    Ok([
        mean(&|b| f64::from(u8::from(b.right))),
        mean(&|b| f64::from(b.sure)),
        mean(&|b| f64::from(b.share)),
        error(&|b| b.sure)?,
        error(&|b| b.share)?,
        mean(&|b| f64::from(u8::from(b.sure >= VERY))),
    ])
}
