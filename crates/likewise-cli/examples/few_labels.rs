//! What a fit of a handful of labels says of itself, beside the truth.
//!
//! ```text
//! cargo run --release -p likewise-cli --example few_labels > results/few-labels/README.md
//! ```
//!
//! Public sets whose labels are all known are treated as users treat theirs: 1, 5, 10, 20 and
//! 50 labels a class are shown to the study and nothing else; it fits all of them and says by
//! its own rounds what they are worth. The truth is then measured by all other labels: each
//! unlabeled item asks, and all items are searched.

use std::io::Write;

use likewise::eval::ranking::{self, Measure};
use likewise::eval::whitening::Spectrum;
use likewise::{Collection, Labels, Monitor, View};
use likewise_io::ReadOptions;
use likewise_nn::Recipe;
use likewise_nn::study::{Answer, Delivered, Found, Plan, Protocol, SplitKind};
use ndarray::ArrayView2;

type Failed = Box<dyn std::error::Error>;

/// File and view of each set.
const SETS: [(&str, &str, &str); 6] = [
    ("digits kar", "", "kar"),
    ("digits zer", "", "zer"),
    ("optdigits", "classical/optdigits.npz", "X"),
    ("satimage", "classical/satimage.npz", "X"),
    ("segment", "classical/segment.npz", "X"),
    ("semeion", "classical/semeion.npz", "X"),
];
const BUDGETS: [usize; 5] = [1, 5, 10, 20, 50];
const DRAWS: u64 = 2;
/// Items of a set that take part, so that all runs take minutes.
const MOST: usize = 2400;

/// R@1, MAP@R and R-precision of the unlabeled items among all.
struct Truth {
    recall: f64,
    map_at_r: f64,
    r_precision: f64,
}

fn truth(embeddings: ArrayView2<f32>, all: &Labels, shown: &Labels) -> Result<Truth, Failed> {
    let gallery: Vec<usize> = (0..all.len()).collect();
    let asks = |&i: &usize| shown[i].class().is_none();
    let queries: Vec<usize> = gallery.iter().copied().filter(asks).collect();
    let protocol = ranking::Protocol::new(embeddings, all, &queries, &gallery);
    let ranking = ranking::evaluate(&protocol, &[1], &Monitor::silent())?;
    let of = |measure| ranking.mean(measure).unwrap_or(f64::NAN);
    Ok(Truth {
        recall: of(Measure::Recall(1)),
        map_at_r: of(Measure::MapAtR),
        r_precision: of(Measure::RPrecision),
    })
}

fn read(file: &str, view: &str) -> Result<Option<(Collection, Labels)>, Failed> {
    let path = match file {
        "" => Some(likewise_testdata::digits()),
        file => likewise_testdata::large(file),
    };
    let Some(path) = path else { return Ok(None) };
    let whole = likewise_io::read(&path, &ReadOptions::default(), &Monitor::silent())?;
    let step = whole.len().div_ceil(MOST);
    let rows: Vec<usize> = (0..whole.len()).step_by(step).collect();
    let part = whole.select(&rows);
    let labels = part.labels.clone().ok_or("no labels")?;
    let matrix = part.view(Some(view))?.matrix.clone();
    let only = View {
        name: view.into(),
        matrix,
        present: None,
    };
    Ok(Some((
        Collection::new(part.ids().to_vec(), vec![only])?,
        labels,
    )))
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
        let recipe = Recipe::default();
        let protocol = Protocol {
            split: SplitKind::Folds,
            seed,
            ..Protocol::default()
        };
        let plan = Plan {
            collection,
            features,
            images: None,
            recipe: &recipe,
            protocol: &protocol,
            pretrained: None,
            checkpoints: None,
            events: None,
            data_digest: String::new(),
            device: likewise_nn::device("cpu")?,
        };
        let study = plan.run(&Monitor::silent())?;
        let answers = study.results.answers;
        let after = truth(study.embeddings.view(), all, shown)?;
        let raw = truth(features, all, shown)?;
        // The baseline of the study: shrinkage 10.
        let whitened = Spectrum::fit(features)?
            .rotated(features, &[10.0])?
            .remove(0);
        let whitened = truth(whitened.view(), all, shown)?;
        let raw_is_start = match &answers.labels {
            Some(answer) => answer.against == "raw",
            None => raw.r_precision >= whitened.r_precision,
        };
        Ok(Self {
            said: answers.labels,
            delivered: answers.delivered,
            start: if raw_is_start { raw } else { whitened },
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

    fn line(&self, name: &str, m: usize) -> String {
        let printed = self.said.as_ref().map(|answer| answer.difference);
        let printed = printed.map_or("-".to_owned(), |e| {
            format!("{:+.3} [{:+.3}, {:+.3}]", e.value, e.low, e.high)
        });
        format!(
            "| {name} | {m} | {} | {printed} | {:+.3} | {} | {:.3} -> {:.3} | {:.3} -> {:.3} | {} |",
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

fn main() -> Result<(), Failed> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "# What a fit of a handful of labels says of itself, beside the truth\n\n\
         Written by `cargo run --release -p likewise-cli --example few_labels`. Default recipe, no \
         split: all labels are fitted, and rounds that keep some back measure the R-precision \
         against all items. Truth: every unlabeled item asks, all items are searched. Sets of more \
         than {MOST} items are thinned evenly. Gains are in R-precision over the better of raw and \
         whitened features, as the fit itself chose it.\n\n\
         | set | labels a class | said | printed gain | true gain | inside | MAP@R, true | R@1, true | delivered |\n\
         |---|---|---|---|---|---|---|---|---|"
    )?;
    let mut runs = Vec::new();
    for (name, file, view) in SETS {
        let Some((mut collection, all)) = read(file, view)? else {
            continue;
        };
        for m in BUDGETS {
            for draw in 0..DRAWS {
                let shown = all.draw(m, 100 + draw);
                collection.labels = Some(shown.clone());
                let ran = Ran::new(&collection, &all, &shown, draw)?;
                writeln!(out, "{}", ran.line(name, m))?;
                out.flush()?;
                runs.push(ran);
            }
        }
    }
    let count = |holds: &dyn Fn(&Ran) -> bool| runs.iter().filter(|ran| holds(ran)).count();
    writeln!(
        out,
        "\nOf {} runs the verdict was right, or said that it cannot tell, in {}. Of {} printed gains \
         the interval held the true one in {}. The delivered model was below the start beyond the \
         interval in {}.",
        runs.len(),
        count(&Ran::is_right),
        count(&|ran| ran.holds().is_some()),
        count(&|ran| ran.holds() == Some(true)),
        count(&Ran::harmed),
    )?;
    Ok(())
}
