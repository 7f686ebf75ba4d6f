//! Whether the interval of the label curve holds what more labels were worth.

use std::io::Write;

use likewise::advise::curve::Measure;
use likewise::{Graph, Monitor};

use super::Failed;
use super::sets::{self, Set};

/// Labels at hand, and with those to come.
const STEPS: [(usize, usize); 3] = [(50, 100), (100, 150), (100, 200)];

/// The same where each class has as many of them.
const A_CLASS: [(usize, usize); 3] = [(5, 10), (10, 15), (10, 20)];

/// Whether the labels at hand are drawn at random, or as many of each class.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Drawn {
    AtRandom,
    ByClass,
}

/// How often an interval held the truth.
#[derive(Debug, Default)]
struct Held {
    curves: usize,
    shares: usize,
    asked: usize,
    gains: usize,
}

/// What was said and true of one set and step, in the mean over the draws.
struct Row {
    sums: [f64; 4],
    inside: [usize; 2],
    measured: usize,
}

/// Writes the tables.
pub(crate) fn write(out: &mut impl Write, draws: u64) -> Result<(), Failed> {
    writeln!(
        out,
        "# What more labels are worth: said and true\n\n\
         Written by `cargo run --release -p likewise-cli --no-default-features --example advise curve {draws}`. Labels at random, or as \
         many of each class; what the curve says of the share of right beliefs, from the labels at hand alone, beside the share of \
         all other items, by the graph of the whitened features as in a run. Means over {draws} draws; *inside* counts draws whose interval of 95 % held \
         the truth. Two steps from as many labels are of one curve, whose share is counted once. *Few* marks fewer than three \
         labels a class, of which the curve itself says that more of them are likely worth more. On the development \
         sets, with labels at random, how the interval is made was chosen."
    )?;
    let all = sets::all()?;
    for (title, development, drawn) in [
        ("Development sets", true, Drawn::AtRandom),
        ("Other sets", false, Drawn::AtRandom),
        (
            "Other sets, as many labels of each class",
            false,
            Drawn::ByClass,
        ),
    ] {
        writeln!(
            out,
            "\n## {title}\n\n\
             | set | labels | share now, said | true | inside | gain, said | true | inside |\n\
             |---|---|---|---|---|---|---|---|"
        )?;
        let mut held = [Held::default(), Held::default()];
        for set in all.iter().filter(|set| set.development == development) {
            of_set(out, set, drawn, draws, &mut held)?;
        }
        writeln!(out)?;
        for (held, of) in held.iter().zip(["three labels a class or more", "few"]) {
            if held.asked > 0 {
                writeln!(
                    out,
                    "With {of}: of {} curves the interval held the true share in {}; of {} gains it held {}.",
                    held.curves, held.shares, held.asked, held.gains
                )?;
            }
        }
    }
    Ok(())
}

fn of_set(
    out: &mut impl Write,
    set: &Set,
    drawn: Drawn,
    draws: u64,
    held: &mut [Held; 2],
) -> Result<(), Failed> {
    let classes = set.truth.n_classes();
    let graph = set.start()?;
    let steps = match drawn {
        Drawn::AtRandom => STEPS,
        Drawn::ByClass => A_CLASS.map(|(now, then)| (now * classes, then * classes)),
    };
    let mut last = None;
    for (now, then) in steps {
        if 2 * then > set.truth.len() {
            continue;
        }
        let few = usize::from(now < 3 * classes);
        let Some(row) = of_step((set, &graph), drawn, (now, then), draws)? else {
            continue;
        };
        let [share, before, more, gain] = row.sums.map(|sum| sum / row.measured as f64);
        writeln!(
            out,
            "| {} | {now} to {then}{} | {share:.3} | {before:.3} | {} of {} | {more:+.3} | {gain:+.3} | {} of {} |",
            set.name,
            ["", ", few"][few],
            row.inside[0],
            row.measured,
            row.inside[1],
            row.measured
        )?;
        let held = &mut held[few];
        if last.replace(now) != Some(now) {
            held.curves += row.measured;
            held.shares += row.inside[0];
        }
        held.asked += row.measured;
        held.gains += row.inside[1];
    }
    Ok(())
}

fn of_step(
    (set, graph): (&Set, &Graph),
    drawn: Drawn,
    (now, then): (usize, usize),
    draws: u64,
) -> Result<Option<Row>, Failed> {
    let mut row = Row {
        sums: [0.0; 4],
        inside: [0; 2],
        measured: 0,
    };
    for draw in 0..draws {
        let nobody = vec![false; set.truth.len()];
        let states = match drawn {
            Drawn::AtRandom => set.labeled(None, &nobody, &[now, then], draw)?,
            Drawn::ByClass => [now, then].map(|count| set.by_class(count, draw)).into(),
        };
        let measure = Measure::new().seed(draw);
        let labels = set.labels(&states[0]);
        let Some(curve) = measure.measure(graph, &labels, &Monitor::silent())? else {
            continue;
        };
        let mut open = vec![true; set.truth.len()];
        states[1].iter().for_each(|&item| open[item] = false);
        let before = set.right_on(graph, &states[0], &open)?;
        let gain = set.right_on(graph, &states[1], &open)? - before;
        let (share, more) = (curve.at(now), curve.gain(now, then));
        let values = [share.value, before, more.value, gain];
        (row.sums.iter_mut().zip(values)).for_each(|(sum, value)| *sum += value);
        row.inside[0] += usize::from(share.low <= before && before <= share.high);
        row.inside[1] += usize::from(more.low <= gain && gain <= more.high);
        row.measured += 1;
    }
    Ok((row.measured > 0).then_some(row))
}
