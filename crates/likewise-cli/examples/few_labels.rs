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
use likewise_nn::study::{Delivered, Found, Plan, Protocol, SplitKind};
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

fn main() -> Result<(), Failed> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "# What a fit of a handful of labels says of itself, beside the truth\n\n\
         Written by `cargo run --release -p likewise-cli --example few_labels`. Default recipe, no \
         split: all labels are fitted, and rounds that keep some back measure the R-precision \
         against all items. Truth: every unlabeled item asks, all items are searched. Sets of more \
         than {MOST} items are thinned evenly. Gains are over the better of raw and whitened \
         features, as the fit itself chose it; *kept* is what the delivered model gains over it in \
         truth.\n\n\
         | set | labels a class | said | printed gain | true gain | inside | MAP@R, true | R@1, true | delivered |\n\
         |---|---|---|---|---|---|---|---|---|"
    )?;
    let (mut runs, mut right, mut measured, mut inside, mut harmed) = (0, 0, 0, 0, 0);
    for (name, file, view) in SETS {
        let Some((mut collection, all)) = read(file, view)? else {
            continue;
        };
        for m in BUDGETS {
            for draw in 0..DRAWS {
                let shown = all.draw(m, 100 + draw);
                collection.labels = Some(shown.clone());
                let features = collection.views()[0].matrix.view();
                let recipe = Recipe::default();
                let protocol = Protocol {
                    split: SplitKind::Folds,
                    seed: draw,
                    ..Protocol::default()
                };
                let plan = Plan {
                    collection: &collection,
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
                let answers = &study.results.answers;
                let after = truth(study.embeddings.view(), &all, &shown)?;
                let raw = truth(features, &all, &shown)?;
                // The baseline of the study: shrinkage 10.
                let whitened = Spectrum::fit(features)?
                    .rotated(features, &[10.0])?
                    .remove(0);
                let whitened = truth(whitened.view(), &all, &shown)?;
                let (said, printed, start) = match &answers.labels {
                    Some(answer) => {
                        let start = if answer.against == "raw" {
                            &raw
                        } else {
                            &whitened
                        };
                        (answer.finding, Some(answer.difference), start)
                    }
                    None if raw.r_precision >= whitened.r_precision => (Found::TooFew, None, &raw),
                    None => (Found::TooFew, None, &whitened),
                };
                let gain = after.r_precision - start.r_precision;
                runs += 1;
                right += usize::from(match said {
                    Found::Better => gain > 0.0,
                    Found::Worse => gain < 0.0 || answers.delivered != Delivered::Learned,
                    Found::Same => gain.abs() < 0.01,
                    Found::Unclear | Found::TooFew => true,
                });
                let mut hit = "";
                if let Some(printed) = printed {
                    // What the interval speaks of is what was learned.
                    if answers.delivered == Delivered::Learned {
                        measured += 1;
                        let holds = printed.low <= gain && gain <= printed.high;
                        inside += usize::from(holds);
                        hit = if holds { "yes" } else { "no" };
                    }
                }
                let half = printed.map_or(0.02, |p| (p.high - p.low) / 2.0);
                harmed += usize::from(gain < -half.max(0.01));
                let printed = printed.map_or("-".to_owned(), |p| {
                    format!("{:+.3} [{:+.3}, {:+.3}]", p.value, p.low, p.high)
                });
                writeln!(
                    out,
                    "| {name} | {m} | {} | {printed} | {gain:+.3} | {hit} | {:.3} -> {:.3} | {:.3} -> {:.3} | {} |",
                    answers
                        .labels
                        .as_ref()
                        .map_or("not measured", |a| a.finding.in_words()),
                    start.map_at_r,
                    after.map_at_r,
                    start.recall,
                    after.recall,
                    match answers.delivered {
                        Delivered::Learned => "learned",
                        Delivered::Start => "start",
                        Delivered::RawFeatures => "raw",
                    }
                )?;
                out.flush()?;
            }
        }
    }
    writeln!(
        out,
        "\nOf {runs} runs the verdict was right, or said that it cannot tell, in {right}. Of \
         {measured} printed gains the interval held the true one in {inside}. The delivered model \
         was below the start beyond the interval in {harmed}."
    )?;
    Ok(())
}
