//! Whether the interval of the label curve holds what more labels were worth.

use std::io::Write;

use likewise::Monitor;
use likewise::advise::curve::Measure;

use super::Failed;
use super::sets;

/// Labels at hand, and with those to come.
const STEPS: [(usize, usize); 3] = [(50, 100), (100, 150), (100, 200)];

/// Writes the table.
pub(crate) fn write(out: &mut impl Write, draws: u64) -> Result<(), Failed> {
    writeln!(
        out,
        "# What more labels are worth: said and true\n\n\
         Written by `cargo run --release -p likewise-cli --no-default-features --example advise curve {draws}`. Labels at random; \
         what the curve says of the share of right beliefs, from the labels at hand alone, beside the share of \
         all other items, by the centred features. Means over {draws} draws; *inside* counts draws whose interval held \
         the truth. Two steps from as many labels are of one curve, whose share is counted once.\n\n\
         | set | labels | share now, said | true | inside | gain, said | true | inside |\n\
         |---|---|---|---|---|---|---|---|"
    )?;
    let (mut curves, mut asked, mut shares, mut gains) = (0, 0, 0, 0);
    for set in sets::all()? {
        let mut last = None;
        for (now, then) in STEPS {
            if 2 * then > set.truth.len() {
                continue;
            }
            let (mut sums, mut inside, mut measured) = ([0.0; 4], [0; 2], 0);
            for draw in 0..draws {
                let nobody = vec![false; set.truth.len()];
                let states = set.labeled(None, &nobody, &[now, then], draw)?;
                let measure = Measure::new().seed(draw);
                let labels = set.labels(&states[0]);
                let curve = measure.measure(&set.graph, &labels, &Monitor::silent())?;
                let Some(curve) = curve else { continue };
                let mut open = vec![true; set.truth.len()];
                states[1].iter().for_each(|&item| open[item] = false);
                let before = set.right(&states[0], &open)?;
                let gain = set.right(&states[1], &open)? - before;
                let (share, more) = (curve.at(now), curve.gain(now, then));
                let values = [share.value, before, more.value, gain];
                sums.iter_mut()
                    .zip(values)
                    .for_each(|(sum, value)| *sum += value);
                inside[0] += usize::from(share.low <= before && before <= share.high);
                inside[1] += usize::from(more.low <= gain && gain <= more.high);
                measured += 1;
            }
            if measured == 0 {
                continue;
            }
            let [share, before, more, gain] = sums.map(|sum| sum / f64::from(measured as u32));
            writeln!(
                out,
                "| {} | {now} to {then} | {share:.3} | {before:.3} | {} of {measured} | {more:+.3} | {gain:+.3} | {} of \
                 {measured} |",
                set.name, inside[0], inside[1]
            )?;
            if last.replace(now) != Some(now) {
                curves += measured;
                shares += inside[0];
            }
            asked += measured;
            gains += inside[1];
        }
    }
    writeln!(
        out,
        "\nOf {curves} curves the interval held the true share in {shares}; of {asked} gains it held {gains}."
    )?;
    Ok(())
}
