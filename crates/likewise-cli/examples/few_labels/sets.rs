//! Public sets whose labels are all known, treated as users treat theirs.

use likewise::eval::ranking::{self, Measure};
use likewise::{Collection, Labels, Monitor, View};
use likewise_io::ReadOptions;
use likewise_study::Recipe;
use likewise_study::study::{Plan, Protocol, SplitKind, Study};
use ndarray::ArrayView2;

use super::Failed;

/// Name, file and view of each set.
pub(crate) const SETS: [(&str, &str, &str); 8] = [
    ("digits kar", "", "kar"),
    ("digits zer", "", "zer"),
    ("optdigits", "classical/optdigits.npz", "X"),
    ("satimage", "classical/satimage.npz", "X"),
    ("segment", "classical/segment.npz", "X"),
    ("semeion", "classical/semeion.npz", "X"),
    ("pendigits", "classical/pendigits.npz", "X"),
    ("isolet", "classical/isolet1560.npz", "X"),
];
/// Items of a set that take part, so that all runs take minutes.
pub(crate) const MOST: usize = 2400;

/// R@1, MAP@R and R-precision of the items that ask among all.
pub(crate) struct Truth {
    pub(crate) recall: f64,
    pub(crate) map_at_r: f64,
    pub(crate) r_precision: f64,
}

pub(crate) fn truth(
    embeddings: ArrayView2<f32>,
    all: &Labels,
    asks: impl Fn(usize) -> bool,
) -> Result<Truth, Failed> {
    let gallery: Vec<usize> = (0..all.len()).collect();
    let queries: Vec<usize> = gallery.iter().copied().filter(|&i| asks(i)).collect();
    let protocol = ranking::Protocol::new(embeddings, all, &queries, &gallery);
    let ranking = ranking::evaluate(&protocol, &[1], &Monitor::silent())?;
    let of = |measure| ranking.mean(measure).unwrap_or(f64::NAN);
    Ok(Truth {
        recall: of(Measure::Recall(1)),
        map_at_r: of(Measure::MapAtR),
        r_precision: of(Measure::RPrecision),
    })
}

/// The items of a set without their labels, and the labels; `None` where it is not there.
pub(crate) fn read(file: &str, view: &str) -> Result<Option<(Collection, Labels)>, Failed> {
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

/// The items of the first classes alone.
pub(crate) fn of_first(
    collection: &Collection,
    all: &Labels,
    classes: usize,
) -> (Collection, Labels) {
    let class = |item: usize| all[item].class().unwrap_or(u32::MAX) as usize;
    let kept: Vec<usize> = (0..all.len()).filter(|&i| class(i) < classes).collect();
    let labels = Labels::from_integers(kept.iter().map(|&item| class(item) as i64));
    (collection.select(&kept), labels)
}

/// Items so thinned that the first class has ten times as many as the last.
pub(crate) fn unequal(collection: &Collection, all: &Labels) -> (Collection, Labels) {
    let classes = all.by_class();
    let last = classes.len().saturating_sub(1).max(1) as f64;
    let mut kept: Vec<usize> = Vec::new();
    for (number, members) in classes.iter().enumerate() {
        let share = 10_f64.powf(-(number as f64) / last);
        let size = (members.len() as f64 * share).round() as usize;
        kept.extend(&members[..size]);
    }
    kept.sort_unstable();
    (collection.select(&kept), all.select(&kept))
}

/// So many labels, of whichever items.
pub(crate) fn at_random(all: &Labels, labels: usize, seed: u64) -> Labels {
    let mut rng = likewise::seed::stream(seed, "labels of all");
    let drawn = rand::seq::index::sample(&mut rng, all.len(), labels.min(all.len()));
    let mut shown = vec![false; all.len()];
    for item in drawn {
        shown[item] = true;
    }
    all.masked(|item| shown[item])
}

/// A fit of all labels that the collection shows, by the recipe that they choose, as `fit` does.
pub(crate) fn fit(collection: &Collection, seed: u64) -> Result<Study, Failed> {
    let protocol = Protocol {
        split: SplitKind::Folds,
        seed,
        ..Protocol::default()
    };
    let features = collection.views()[0].matrix.view();
    let device = likewise_nn::device("cpu")?;
    let any = Recipe::default();
    let plan = Plan::of(collection, features, &any, &protocol, device.clone());
    let chosen = plan.choose_recipe(None, &Monitor::silent())?;
    let plan = Plan::of(collection, features, &chosen.recipe, &protocol, device);
    Ok(plan.run(&Monitor::silent())?)
}
