//! What a fit says of itself, beside the truth over all unlabeled items.

use std::io::Write;

use likewise::linear::whitening::Spectrum;
use likewise::linear::{even, uneven};
use likewise::{Collection, Labels, matrix};
use likewise_study::study::{Answer, Delivered, Found, Row};
use ndarray::{Array2, ArrayView2};

use super::Failed;
use super::sets::{self, SETS, Truth, truth};

/// Sets that take part: the first of the list.
const FIRST: usize = 6;
const BUDGETS: [usize; 5] = [1, 5, 10, 20, 50];
const UNEQUAL_BUDGETS: [usize; 2] = [5, 20];
const DRAWS: u64 = 2;
/// Sets, and how many of their classes take part.
const OF_FEW_CLASSES: [(&str, &str, &str, usize); 4] = [
    ("digits kar, two classes", "", "kar", 2),
    ("digits zer, two classes", "", "zer", 2),
    ("digits zer, three classes", "", "zer", 3),
    ("satimage, three classes", "classical/satimage.npz", "X", 3),
];

/// Unit rows less four fifths of their mean, their columns brought to one scale where they have
/// different units.
fn centered(features: ArrayView2<f32>) -> Array2<f32> {
    let rows = matrix::l2_normalize(features.to_owned());
    let (mean, scale) = even(rows.view());
    (rows - &mean.mapv(|m| (0.8 * m) as f32)) * &scale.mapv(|s| s as f32)
}

/// The features less their mean, with scaled columns; none where the columns are of one unit.
fn scaled(features: ArrayView2<f32>) -> Option<Array2<f32>> {
    let (mean, scale) = uneven(features)?;
    Some((features.to_owned() - &mean.mapv(|m| m as f32)) * &scale.mapv(|s| s as f32))
}

/// The whitened features of the study: shrinkage 10, by standard deviations where columns have
/// different units.
fn whitened(features: ArrayView2<f32>) -> Result<Array2<f32>, Failed> {
    let (spectrum, _) = Spectrum::fit_sound(features, uneven(features).is_some())?;
    Ok(spectrum.rotated(features, &[10.0])?.remove(0))
}

/// One run: what the study said, and the truth of the start and of what it delivered.
struct Ran {
    said: Option<Answer>,
    delivered: Delivered,
    start: Truth,
    after: Truth,
}

impl Ran {
    fn new(
        collection: &Collection,
        all: &Labels,
        shown: &Labels,
        seed: u64,
    ) -> Result<Self, Failed> {
        let features = collection.views()[0].matrix.view();
        let ask = |embeddings| truth(embeddings, all, |i| shown[i].class().is_none());
        let study = sets::fit(collection, seed)?;
        let answers = study.results.answers;
        let after = ask(study.embeddings.view())?;
        let raw = ask(features)?;
        let (whitened, centered) = (whitened(features)?, centered(features));
        let (whitened, centered) = (ask(whitened.view())?, ask(centered.view())?);
        let scaled = scaled(features);
        let scaled = scaled.as_ref().map(|rows| ask(rows.view())).transpose()?;
        let start = match answers.labels.as_ref().map(|answer| answer.against) {
            Some(Row::Raw) => raw,
            Some(Row::Centered) => centered,
            Some(Row::Scaled) => scaled.unwrap_or(raw),
            Some(_) => whitened,
            None => [Some(whitened), Some(centered), scaled]
                .into_iter()
                .flatten()
                .fold(raw, |best, next| {
                    if next.r_precision > best.r_precision {
                        next
                    } else {
                        best
                    }
                }),
        };
        Ok(Self {
            said: answers.labels,
            delivered: answers.delivered,
            start,
            after,
        })
    }

    fn gain(&self) -> f64 {
        self.after.r_precision - self.start.r_precision
    }

    /// Whether the interval holds the true gain: it speaks of what was learned.
    fn holds(&self) -> Option<bool> {
        let said = self.said.as_ref()?.difference;
        let learned = self.delivered == Delivered::Learned;
        learned.then(|| said.low <= self.gain() && self.gain() <= said.high)
    }

    fn is_right(&self) -> bool {
        match self.said.as_ref().map(|answer| answer.finding) {
            Some(Found::Better) => self.gain() > 0.0,
            Some(Found::Worse) => self.gain() < 0.0 || self.delivered != Delivered::Learned,
            Some(Found::Same) => self.gain().abs() < 0.01,
            Some(Found::Unclear | Found::TooFew) | None => true,
        }
    }

    /// Whether what was delivered is below the start beyond the interval.
    fn harmed(&self) -> bool {
        let half = self.said.as_ref().map(|answer| answer.difference);
        let half = half.map_or(0.02, |e| (e.high - e.low) / 2.0);
        self.gain() < -half.max(0.01)
    }

    fn line(&self, name: &str, labels: &str) -> String {
        let printed = self.said.as_ref().map(|answer| answer.difference);
        let printed = printed.map_or("-".to_owned(), |e| {
            format!("{:+.3} [{:+.3}, {:+.3}]", e.value, e.low, e.high)
        });
        format!(
            "| {name} | {labels} | {} | {printed} | {:+.3} | {} | {:.3} -> {:.3} | {:.3} -> {:.3} | {} |",
            (self.said.as_ref()).map_or("not measured", |answer| answer.finding.in_words()),
            self.gain(),
            match self.holds() {
                Some(true) => "yes",
                Some(false) => "no",
                None => "",
            },
            self.start.map_at_r,
            self.after.map_at_r,
            self.start.recall,
            self.after.recall,
            match self.delivered {
                Delivered::Learned => "learned",
                Delivered::Start => "start",
                Delivered::RawFeatures => "raw",
            }
        )
    }
}

/// Writes the table of classes as large as they are.
pub(crate) fn write(out: &mut impl Write) -> Result<(), Failed> {
    let head = format!(
        "# What a fit of a handful of labels says of itself, beside the truth\n\n\
         Written by `cargo run --release -p likewise-cli --example few_labels truth`. {HOW}\n"
    );
    let mut table = Table::begin(out, &head)?;
    for (name, file, view) in &SETS[..FIRST] {
        let Some((mut collection, all)) = sets::read(file, view)? else {
            continue;
        };
        for m in BUDGETS {
            for draw in 0..DRAWS {
                let shown = all.draw(m, 100 + draw);
                table.run(&mut collection, &all, shown, (name, &m.to_string(), draw))?;
            }
        }
    }
    table.end()
}

/// Writes the table of classes that are ten times as large as others.
pub(crate) fn write_unequal(out: &mut impl Write) -> Result<(), Failed> {
    let head = format!(
        "# The same, of unequal classes\n\n\
         Written by `cargo run --release -p likewise-cli --example few_labels unequal`. {HOW} \
         The first class has ten times as many items as the last, the others lie between; of the last sets two \
         or three classes alone take part. Labels \
         are the same number of each class, or (*of all*) as many on average, drawn from all items: \
         then some classes may have none.\n"
    );
    let mut table = Table::begin(out, &head)?;
    let whole = SETS[..FIRST]
        .iter()
        .map(|&(name, file, view)| (name, file, view, usize::MAX));
    for (name, file, view, classes) in whole.chain(OF_FEW_CLASSES) {
        let Some((collection, all)) = sets::read(file, view)? else {
            continue;
        };
        let (collection, all) = sets::of_first(&collection, &all, classes);
        let (mut collection, all) = sets::unequal(&collection, &all);
        for m in UNEQUAL_BUDGETS {
            for draw in 0..DRAWS {
                let each = all.draw(m, 100 + draw);
                table.run(&mut collection, &all, each, (name, &m.to_string(), draw))?;
                let some = sets::at_random(&all, m * all.n_classes(), 100 + draw);
                let label = format!("{m} of all");
                table.run(&mut collection, &all, some, (name, &label, draw))?;
            }
        }
    }
    table.end()
}

/// What all tables share.
const HOW: &str = "The recipe that the labels choose, no split: all labels are fitted, and rounds \
    that keep some back measure the R-precision against all items. Truth: every unlabeled item \
    asks, all items are searched. Gains are in R-precision over the best of raw, centred, scaled \
    (where columns are of different units) and whitened features, as the fit itself chose it. Large sets are thinned evenly.";

struct Table<'a, W: Write> {
    out: &'a mut W,
    runs: Vec<Ran>,
}

impl<'a, W: Write> Table<'a, W> {
    fn begin(out: &'a mut W, head: &str) -> Result<Self, Failed> {
        writeln!(
            out,
            "{head}\n\
             | set | labels a class | said | printed gain | true gain | inside | MAP@R, true | R@1, true | delivered |\n\
             |---|---|---|---|---|---|---|---|---|"
        )?;
        Ok(Self { out, runs: vec![] })
    }

    fn run(
        &mut self,
        collection: &mut Collection,
        all: &Labels,
        shown: Labels,
        (name, labels, draw): (&str, &str, u64),
    ) -> Result<(), Failed> {
        collection.labels = Some(shown.clone());
        let ran = Ran::new(collection, all, &shown, draw)?;
        writeln!(self.out, "{}", ran.line(name, labels))?;
        self.out.flush()?;
        self.runs.push(ran);
        Ok(())
    }

    fn end(self) -> Result<(), Failed> {
        let count =
            |holds: &dyn Fn(&Ran) -> bool| self.runs.iter().filter(|ran| holds(ran)).count();
        let better = self.runs.iter().filter(|ran| {
            let said = ran.said.as_ref().map(|answer| answer.finding);
            said == Some(Found::Better)
        });
        let first: Vec<f64> = (better.map(|ran| ran.after.recall - ran.start.recall)).collect();
        let fell = first.iter().filter(|&&gain| gain < 0.0).count();
        let most = first.iter().copied().fold(0.0, f64::min);
        writeln!(
            self.out,
            "\nOf {} runs the verdict was right, or said that it cannot tell, in {}. Of {} printed gains \
             the interval held the true one in {}. The delivered model was below the start beyond the \
             interval in {}. R@1, which is not measured so, truly fell in {fell} of the {} that said better, by up \
             to {:.3}.",
            self.runs.len(),
            count(&Ran::is_right),
            count(&|ran| ran.holds().is_some()),
            count(&|ran| ran.holds() == Some(true)),
            count(&Ran::harmed),
            first.len(),
            -most,
        )?;
        Ok(())
    }
}
