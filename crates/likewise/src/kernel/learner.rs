//! OMKS as a learner: kernels of every view, from triplets or classes.

use std::borrow::Cow;

use ndarray::{ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::compared::compared;
use super::seen::Views;
use super::{Explicit, Kernel, Omks, Order, Theta};
use crate::learn::{Evidence, Fit, Need, Size};
use crate::model::{By, Model, Scored};
use crate::{Error, Monitor, Result, Triplets};

/// Rows whose square is kept, at most.
const MOST_ROWS: usize = 4096;
/// Squares of rows that a kernel takes at the peak.
const SQUARES: f64 = 8.0;
/// Why a bound on the triplets of classes changes nothing.
const GIVEN: &str = "the triplets are given, so none are made of classes";

/// [OMKS](super::omks) of several kernels a view; sees views apart.
///
/// Given triplets are learned in their order, those of classes in a drawn one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OmksLearner {
    /// The kernels of every view. Their widths follow from all fitted items.
    pub kernels: Vec<Kernel>,
    /// Directions of largest variance that are kept of each view; none: its columns as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// Most triplets that are made of classes; where there are more, so many are drawn, each at most once where all
    /// items weigh the same.
    pub triplets: usize,
    /// `C`, the longest step, above 0.
    pub aggressiveness: f64,
    /// What a mistake leaves of a kernel's weight, between 0 and 1.
    pub beta: f64,
    /// Passes over the triplets, at least 1.
    pub epochs: usize,
    /// The order of the triplets.
    pub order: Order,
    /// Triplets that are judged by the same state, and whose steps are then averaged.
    pub minibatch: usize,
    /// How mistakes become weights.
    pub theta: Theta,
}

impl Default for OmksLearner {
    fn default() -> Self {
        Self {
            kernels: Kernel::ALL_FOUR.to_vec(),
            rank: None,
            triplets: 100_000,
            aggressiveness: 0.1,
            beta: 0.9,
            epochs: 1,
            order: Order::Given,
            minibatch: 1,
            theta: Theta::Mistakes,
        }
    }
}

impl OmksLearner {
    /// As published, but for the widths of its kernels, which scale with the features: of each view
    /// the fifty directions of largest variance, and all triplets of the labels. Of more than 500,000, which the
    /// paper never has, so many are drawn.
    pub fn published() -> Self {
        Self {
            rank: Some(50),
            triplets: 500_000,
            ..Self::default()
        }
    }

    /// Parameters that change nothing beside the others, each with the reason, where the triplets are `given` or
    /// are not.
    pub fn idle(&self, given: bool) -> Vec<(&'static str, &'static str)> {
        given.then_some(("triplets", GIVEN)).into_iter().collect()
    }

    fn omks(&self) -> Omks {
        Omks::new()
            .aggressiveness(self.aggressiveness)
            .beta(self.beta)
            .epochs(self.epochs)
            .order(self.order)
            .minibatch(self.minibatch)
            .theta(self.theta)
    }
}

impl Fit for OmksLearner {
    fn needs(&self) -> &'static [Need] {
        &[Need::Ranked]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn sees_views(&self) -> bool {
        true
    }

    fn goes_on(&self) -> bool {
        true
    }

    /// A product of rows a triplet and kernel, after the kernels themselves.
    fn operations(&self, of: &Size) -> f64 {
        let rows = of.labeled.min(MOST_ROWS as f64);
        let kernels = self.kernels.len() as f64 * of.views;
        let width = of.columns / of.views;
        kernels
            * (self.triplets as f64 * self.epochs as f64 * 12.0 * rows + rows * rows * 4.0 * width)
    }

    /// The squares of each kernel: itself, what was learned and their product, some of them twice for a moment.
    fn memory(&self, of: &Size) -> f64 {
        let rows = of.labeled.min(MOST_ROWS as f64);
        self.kernels.len() as f64 * of.views * 8.0 * SQUARES * rows * rows
    }

    fn validate(&self) -> Result<()> {
        check("omks", &self.kernels, self.rank, self.triplets)?;
        self.omks().validate()
    }

    /// Goes on from a model [before](Evidence::before) where it holds all rows that triplets name, and has
    /// learned from whole minibatches: the steps of one that was not full would be others with more
    /// triplets in it. Else learns from all triplets anew.
    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        self.validate()?;
        let views = Views::of(evidence, self.rank)?;
        let triplets = compared(evidence, self.triplets, seed)?;
        let n = evidence.items.len();
        triplets.check(n)?;
        let named = named(&triplets, n)?;
        let sources = views.sources(&self.kernels, monitor)?;
        let own = views.rows.iter().map(|rows| rows.select(Axis(0), &named));
        let rows: Vec<_> = own.collect();
        if let Some((Model::Scored(before), learned)) = evidence.before
            && let By::Kernels(own) = before.by()
            && own.parameters() == self.omks()
            && own.sources() == sources
            && own.rows() == rows
            && own.fills_minibatches()
            && before.views() == views.seen
        {
            let more = among(&triplets.skip(learned), &named);
            let own = own.clone().taught(&more, seed, monitor)?;
            let model = Scored::new(views.reading, views.seen, By::Kernels(own))?;
            return Ok(Model::Scored(model));
        }
        let each: Vec<ArrayView2<f32>> = rows.iter().map(|rows| rows.view()).collect();
        let triplets = among(&triplets, &named);
        let found = self.omks().fit(&each, &sources, &triplets, seed, monitor)?;
        let model = Scored::new(views.reading, views.seen, By::Kernels(found))?;
        Ok(Model::Scored(model))
    }
}

/// The items that triplets of some weight name, ascending. Fails without any, and where they are too
/// many.
fn named(triplets: &Triplets, n: usize) -> Result<Vec<usize>> {
    let mut is_named = vec![false; n];
    for (a, p, q, _) in triplets.iter().filter(|triplet| triplet.3 > 0.0) {
        for item in [a, p, q] {
            is_named[item as usize] = true;
        }
    }
    let named: Vec<usize> = (0..n).filter(|&item| is_named[item]).collect();
    if named.is_empty() {
        return Err(Error::data(
            "OMKS learns from triplets, two items of one class and one of another, and there is none of \
             some weight; label more items, or give triplets",
        ));
    }
    if named.len() > MOST_ROWS {
        return Err(Error::data(format!(
            "OMKS keeps a square of the {} items that are compared for every kernel, and takes at \
             most {MOST_ROWS}; give triplets of fewer items, or learn in coordinates, by \
             explicit-omks",
            named.len()
        )));
    }
    Ok(named)
}

/// The triplets of some weight, by the places of their items among those that are named.
fn among(triplets: &Triplets, named: &[usize]) -> Triplets {
    // All of them are there.
    let place = |item: u32| named.partition_point(|&own| own < item as usize) as u32;
    let mut placed = Triplets::default();
    for (a, p, q, w) in triplets.iter().filter(|triplet| triplet.3 > 0.0) {
        placed.push(place(a), place(p), place(q), w);
    }
    placed
}

/// How many of the first triplets have some weight.
fn counted(triplets: &Triplets, first: usize) -> u64 {
    let some = triplets.iter().take(first);
    some.filter(|triplet| triplet.3 > 0.0).count() as u64
}

/// [OMKS in coordinates](super::explicit) of several kernels a view; sees views apart.
///
/// Given triplets are learned in their order, those of classes in a drawn one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExplicitOmksLearner {
    /// The kernels of every view. Their widths follow from all fitted items.
    pub kernels: Vec<Kernel>,
    /// Directions of largest variance that are kept of each view; none: its columns as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// Most triplets that are made of classes; where there are more, so many are drawn, each at most once where all
    /// items weigh the same.
    pub triplets: usize,
    /// Coordinates of a kernel, at least 1.
    pub coordinates: usize,
    /// Whether RBF kernels take random Fourier features in place of Nyström.
    pub fourier: bool,
    /// `C`, the longest step, above 0.
    pub aggressiveness: f64,
    /// What a mistake leaves of a kernel's weight, between 0 and 1.
    pub beta: f64,
    /// The order of the triplets.
    pub order: Order,
    /// How mistakes become weights.
    pub theta: Theta,
}

impl Default for ExplicitOmksLearner {
    fn default() -> Self {
        let exact = OmksLearner::default();
        Self {
            kernels: exact.kernels,
            rank: exact.rank,
            triplets: exact.triplets,
            coordinates: 256,
            fourier: false,
            aggressiveness: exact.aggressiveness,
            beta: exact.beta,
            order: exact.order,
            theta: exact.theta,
        }
    }
}

impl ExplicitOmksLearner {
    /// As [`OmksLearner::published`].
    pub fn published() -> Self {
        Self {
            rank: Some(50),
            triplets: OmksLearner::published().triplets,
            ..Self::default()
        }
    }

    /// As [`OmksLearner::idle`].
    pub fn idle(&self, given: bool) -> Vec<(&'static str, &'static str)> {
        let kernels = || self.kernels.iter();
        let mut idle = Vec::new();
        if kernels().all(|kernel| *kernel == Kernel::Cosine) {
            let why = "the cosine, the only kernel, has coordinates of its own";
            idle.push(("coordinates", why));
        }
        if !kernels().any(|kernel| matches!(kernel, Kernel::Rbf { .. })) {
            idle.push(("fourier", "none of the kernels is an RBF"));
        }
        if given {
            idle.push(("triplets", GIVEN));
        }
        idle
    }

    fn explicit(&self) -> Explicit {
        Explicit::new()
            .coordinates(self.coordinates)
            .fourier(self.fourier)
            .aggressiveness(self.aggressiveness)
            .beta(self.beta)
            .order(self.order)
            .theta(self.theta)
    }
}

impl Fit for ExplicitOmksLearner {
    fn needs(&self) -> &'static [Need] {
        &[Need::Ranked]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn sees_views(&self) -> bool {
        true
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn operations(&self, of: &Size) -> f64 {
        let kernels = self.kernels.len() as f64 * of.views;
        let square = (self.coordinates * self.coordinates) as f64;
        kernels * (self.triplets as f64 * 4.0 * square + of.items * 2.0 * square)
    }

    /// The coordinates of all rows in two kernels at a time, and of every kernel what was learned.
    fn memory(&self, of: &Size) -> f64 {
        let kernels = self.kernels.len() as f64 * of.views;
        let each = self.coordinates as f64;
        8.0 * (2.0 * of.items * each + kernels * 3.0 * each * each)
    }

    fn validate(&self) -> Result<()> {
        check("explicit-omks", &self.kernels, self.rank, self.triplets)?;
        self.explicit().validate()
    }

    /// Goes on from a model [before](Evidence::before) that has learned in the coordinates that the
    /// items have now.
    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        self.validate()?;
        let views = Views::of(evidence, self.rank)?;
        let mut triplets = compared(evidence, self.triplets, seed)?;
        let sources = views.sources(&self.kernels, monitor)?;
        let each: Vec<ArrayView2<f32>> = views.rows.iter().map(|rows| rows.view()).collect();
        let mut found = self.explicit().begin(&each, &sources, seed, monitor)?;
        if let Some((Model::Scored(before), learned)) = evidence.before
            && let By::Coordinates(own) = before.by()
            && own.learns_as(&found)
            && own.seen() == counted(&triplets, learned)
            && before.views() == views.seen
        {
            found = own.clone();
            triplets = Cow::Owned(triplets.skip(learned));
        }
        found.learn(&each, &triplets, seed, monitor)?;
        let model = Scored::new(views.reading, views.seen, By::Coordinates(found))?;
        Ok(Model::Scored(model))
    }
}

fn check(name: &str, kernels: &[Kernel], rank: Option<usize>, triplets: usize) -> Result<()> {
    let field = |field: &str| format!("{name}.{field}");
    if kernels.is_empty() {
        let rule = "must name at least one";
        return Err(Error::parameter(&field("kernels"), "[]", rule));
    }
    for kernel in kernels {
        kernel.validate()?;
    }
    for (what, value) in [("rank", rank.unwrap_or(1)), ("triplets", triplets)] {
        if value == 0 {
            return Err(Error::parameter(&field(what), 0, "must be at least 1"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use ndarray::Array2;
    use rand::RngExt;

    use super::*;
    use crate::learn::{Start, Targets};
    use crate::seed;
    use crate::{Columns, Similarity};

    struct Scene {
        x: Array2<f32>,
        views: Vec<Columns>,
        items: Vec<usize>,
        start: Start,
        targets: Targets,
        rotated: OnceLock<Array2<f32>>,
        scaled: OnceLock<crate::linear::Affine>,
    }

    impl Scene {
        /// Three classes of ten; the second view is a hundred times as large as the first.
        fn new() -> Self {
            let mut rng = seed::stream(3, "learner of kernels");
            let x = Array2::from_shape_fn((30, 7), |(i, j)| {
                let own = f32::from(u8::from(i % 3 == j % 3)) + rng.random_range(-0.6_f32..0.6);
                if j < 3 { own } else { 100.0 * own }
            });
            let view = |name: &str, range| Columns {
                name: name.into(),
                range,
            };
            Self {
                views: vec![view("a", 0..3), view("b", 3..7)],
                items: (0..30).collect(),
                start: Start::as_given(7),
                targets: Targets {
                    class: (0..30).map(|i| i % 3).collect(),
                    weight: vec![1.0; 30],
                    labeled: vec![true; 30],
                    passes: 1,
                    triplets: None,
                    since: 0,
                },
                x,
                rotated: OnceLock::new(),
                scaled: OnceLock::new(),
            }
        }

        fn with(triplets: Triplets) -> Self {
            let mut scene = Self::new();
            scene.targets.triplets = Some(triplets);
            scene
        }

        fn evidence(&self) -> Evidence<'_> {
            Evidence {
                features: self.x.view(),
                views: &self.views,
                images: None,
                items: &self.items,
                start: &self.start,
                rows: self.x.view(),
                rotated: &self.rotated,
                scaled: &self.scaled,
                targets: &self.targets,
                groups: &[0, 1, 2],
                tags: None,
                pairs: None,
                graph: None,
                before: None,
            }
        }

        fn fit(&self, learner: &dyn Fit) -> Model {
            learner
                .fit(&self.evidence(), 5, &Monitor::silent())
                .unwrap()
        }
    }

    fn some(range: std::ops::Range<u32>) -> Triplets {
        let mut triplets = Triplets::default();
        for i in range {
            let a = i % 30;
            triplets.push(
                a,
                (a + 3 * (1 + i % 7)) % 30,
                (a + 1 + 3 * (i % 5)) % 30,
                1.0,
            );
        }
        triplets
    }

    fn own(model: &Model) -> &crate::kernel::Similarity {
        match model {
            Model::Scored(scored) => match scored.by() {
                By::Kernels(own) => own,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn views_are_seen_apart_with_the_widths_of_all_items() {
        let scene = Scene::with(some(0..5));
        let model = scene.fit(&OmksLearner::default());
        let found = own(&model);
        assert_eq!(found.sources().len(), 8);
        assert_eq!(found.rows().len(), 2);
        let triplets = some(0..5);
        let none = named(&Triplets::default(), 30).unwrap_err();
        assert!(none.to_string().contains("label more items"), "{none}");
        let named = named(&triplets, 30).unwrap();
        assert!(named.len() < 30);
        let view = |range: std::ops::Range<usize>| scene.x.slice(ndarray::s![.., range]);
        for (source, expected) in found.sources()[4..].iter().zip(Kernel::ALL_FOUR) {
            let wide = expected.fitted(view(3..7), &Monitor::silent()).unwrap();
            assert_eq!((source.view, source.kernel), (1, wide));
        }
        assert_eq!(found.rows()[0], view(0..3).select(Axis(0), &named));
        // It is what the kernels give by themselves.
        let rows = [0..3, 3..7].map(|range| view(range).select(Axis(0), &named));
        let omks = Omks::new().order(Order::Given);
        let each = [rows[0].view(), rows[1].view()];
        let placed = among(&triplets, &named);
        let silent = Monitor::silent();
        let expected = omks
            .fit(&each, found.sources(), &placed, 5, &silent)
            .unwrap();
        assert_eq!(*found, expected);
        // Directions, of a view that has more of them.
        let few = OmksLearner {
            rank: Some(3),
            ..OmksLearner::default()
        };
        let model = scene.fit(&few);
        assert_eq!(model.output_dim(), 6);
        let Model::Scored(scored) = &model else {
            panic!("it scores")
        };
        assert!(scored.views()[0].map.is_none() && scored.views()[1].map.is_some());
    }

    #[test]
    fn going_on_is_learning_everything_at_once() {
        let learner = OmksLearner::default();
        let first = Scene::with(some(0..60)).fit(&learner);
        let whole = Scene::with(some(0..97));
        let at_once = whole.fit(&learner);
        let mut evidence = whole.evidence();
        evidence.before = Some((&first, 60));
        let silent = Monitor::silent();
        let went_on = learner.fit(&evidence, 5, &silent).unwrap();
        assert_eq!(went_on, at_once);
        assert_ne!(went_on, first);
        // That it went on shows where the model before was another.
        let (mut other, mut third) = (some(0..60), some(60..97));
        other.weights[0] = 0.5;
        let other = Scene::with(other).fit(&learner);
        evidence.before = Some((&other, 60));
        assert_ne!(learner.fit(&evidence, 5, &silent).unwrap(), at_once);
        // Rows that it does not hold: everything anew.
        let small = Scene::with(some(0..3)).fit(&learner);
        evidence.before = Some((&small, 3));
        assert_eq!(learner.fit(&evidence, 5, &silent).unwrap(), at_once);
        // Without any weight, triplets change nothing, wherever they stand.
        third.weights.fill(0.0);
        let mut more = some(0..60);
        for (a, p, n, w) in third.iter() {
            more.push(a, p, n, w);
        }
        assert_eq!(Scene::with(more).fit(&learner), first);
    }

    #[test]
    fn minibatches_go_on_where_they_are_full_and_else_are_learned_anew() {
        let learner = OmksLearner {
            minibatch: 8,
            ..OmksLearner::default()
        };
        let silent = Monitor::silent();
        let whole = Scene::with(some(0..97));
        let at_once = whole.fit(&learner);
        let go_on = |before: &Model, learned: usize| {
            let mut evidence = whole.evidence();
            evidence.before = Some((before, learned));
            learner.fit(&evidence, 5, &silent).unwrap()
        };
        // Seven minibatches and half of one.
        let first = Scene::with(some(0..60)).fit(&learner);
        assert_eq!(go_on(&first, 60), at_once);
        // Eight. That it went on shows where the model before was another.
        let first = Scene::with(some(0..64)).fit(&learner);
        assert_eq!(go_on(&first, 64), at_once);
        let mut other = some(0..64);
        other.weights[0] = 0.5;
        let other = Scene::with(other).fit(&learner);
        assert_ne!(go_on(&other, 64), at_once);
    }

    #[test]
    fn coordinates_go_on_too_where_they_are_the_same() {
        let learner = ExplicitOmksLearner {
            coordinates: 12,
            theta: Theta::Rate,
            ..ExplicitOmksLearner::default()
        };
        let first = Scene::with(some(0..60)).fit(&learner);
        let whole = Scene::with(some(0..97));
        let at_once = whole.fit(&learner);
        let silent = Monitor::silent();
        let go_on = |before: &Model, learned: usize| {
            let mut evidence = whole.evidence();
            evidence.before = Some((before, learned));
            learner.fit(&evidence, 5, &silent).unwrap()
        };
        let scores = |model: &Model| {
            let rows = model.embed(whole.x.view()).unwrap();
            let Similarity::Scored(scorer) = model.similarity() else {
                panic!("it scores")
            };
            let scores = scorer.model().scores(rows.view(), rows.view(), &silent);
            scores.unwrap()
        };
        let far = |a: &Model, b: &Model| {
            let apart = scores(a) - scores(b);
            apart.iter().fold(0.0_f64, |most, e| most.max(e.abs()))
        };
        assert!(far(&go_on(&first, 60), &at_once) < 1e-6);
        assert!(far(&first, &at_once) > 1e-4);
        // That it went on shows where the model before was another.
        let mut other = some(0..60);
        other.weights[..30].fill(0.5);
        let other = Scene::with(other).fit(&learner);
        assert!(far(&go_on(&other, 60), &at_once) > 1e-5);
        // Of another number of triplets, or in other coordinates: everything anew.
        assert_eq!(go_on(&first, 59), at_once);
        let few = ExplicitOmksLearner {
            coordinates: 9,
            ..learner.clone()
        };
        assert_eq!(go_on(&Scene::with(some(0..60)).fit(&few), 60), at_once);
    }

    #[test]
    fn classes_give_all_triplets_or_as_many_as_asked_for() {
        let scene = Scene::new();
        let evidence = scene.evidence();
        let all = compared(&evidence, 10_000, 1).unwrap();
        assert_eq!(all.len(), 30 * 9 * 20);
        all.check(30).unwrap();
        for (a, p, n, w) in all.iter() {
            assert!(a % 3 == p % 3 && a % 3 != n % 3 && (w - 1.0).abs() < 1e-6);
        }
        let mut sorted: Vec<_> = all.iter().map(|t| (t.0, t.1, t.2)).collect();
        let drawn = sorted.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), all.len());
        assert_ne!(sorted, drawn);
        // None stands twice among those that are drawn, in whatever order.
        let most = compared(&evidence, 5000, 1).unwrap();
        let mut drawn: Vec<_> = most.iter().map(|t| (t.0, t.1, t.2)).collect();
        let order = drawn.clone();
        drawn.sort_unstable();
        assert_ne!(drawn, order);
        drawn.dedup();
        assert_eq!(drawn.len(), 5000);
        assert!(drawn.iter().all(|t| sorted.binary_search(t).is_ok()));
        assert!(OmksLearner::published().triplets >= 283_500, "the paper's");
        // An item of weight 0 is as if it were absent.
        let mut less = Scene::new();
        less.targets.weight[4] = 0.0;
        let evidence = less.evidence();
        let without = compared(&evidence, 10_000, 1).unwrap();
        assert!(without.iter().all(|t| ![t.0, t.1, t.2].contains(&4)));
        // By uneven weights, in proportion to them: one of next to none is hardly ever drawn.
        less.targets.weight[7] = 1e-6;
        let evidence = less.evidence();
        let drawn = compared(&evidence, 1000, 1).unwrap();
        assert_eq!(drawn.len(), 1000);
        assert!(drawn.iter().all(|t| ![t.0, t.1, t.2].contains(&7)));
        less.targets.class.fill(1);
        let learner = OmksLearner::default();
        let refused = learner.fit(&less.evidence(), 1, &Monitor::silent());
        assert!(refused.unwrap_err().to_string().contains("another class"));
    }

    #[test]
    fn a_learned_similarity_finds_classes_and_both_forms_agree() {
        let scene = Scene::new();
        let explicit = ExplicitOmksLearner {
            order: Order::Given,
            ..ExplicitOmksLearner::default()
        };
        let (exact, mapped) = (scene.fit(&OmksLearner::default()), scene.fit(&explicit));
        let scores = |model: &Model| {
            let rows = model.embed(scene.x.view()).unwrap();
            let Similarity::Scored(scorer) = model.similarity() else {
                panic!("it scores")
            };
            let silent = Monitor::silent();
            let scores = scorer.model().scores(rows.view(), rows.view(), &silent);
            scores.unwrap()
        };
        let (exact, mapped) = (scores(&exact), scores(&mapped));
        assert!((&exact - &mapped).iter().all(|e| e.abs() < 1e-4));
        let best = |i: usize| {
            let others = (0..30).filter(|&j| j != i);
            others.max_by(|&a, &b| exact[(i, a)].total_cmp(&exact[(i, b)]))
        };
        let right = (0..30).filter(|&i| best(i).unwrap() % 3 == i % 3).count();
        assert!(right >= 27, "{right} of 30");
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let own = OmksLearner::default;
        for (wrong, field) in [
            (
                OmksLearner {
                    kernels: vec![],
                    ..own()
                },
                "omks.kernels",
            ),
            (
                OmksLearner {
                    rank: Some(0),
                    ..own()
                },
                "omks.rank",
            ),
            (
                OmksLearner {
                    triplets: 0,
                    ..own()
                },
                "omks.triplets",
            ),
            (OmksLearner { beta: 1.0, ..own() }, "omks.beta"),
            (OmksLearner { epochs: 0, ..own() }, "omks.epochs"),
        ] {
            let said = wrong.validate().unwrap_err().to_string();
            assert!(said.contains(field), "{said}");
        }
        let wrong = ExplicitOmksLearner {
            coordinates: 0,
            ..ExplicitOmksLearner::default()
        };
        assert!(wrong.validate().is_err());
    }

    #[test]
    fn a_start_of_other_coordinates_is_one_view() {
        let mut scene = Scene::new();
        scene.start.as_given = false;
        scene.start.whitening.mean.fill(0.5);
        let model = scene.fit(&OmksLearner::default());
        assert_eq!(own(&model).sources().len(), 4);
        let rows = model.embed(scene.x.view()).unwrap();
        assert!((rows[(4, 6)] - (scene.x[(4, 6)] - 0.5)).abs() < 1e-4);
        let few = OmksLearner {
            rank: Some(2),
            ..OmksLearner::default()
        };
        assert_eq!(scene.fit(&few).output_dim(), 2);
    }
}
