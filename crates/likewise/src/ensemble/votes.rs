//! Votes: many classifiers of each view say what an item is; how many agree is how sure that is.
//!
//! ```text
//! each view     the `columns` that tell groups apart (MCFS), where there are more
//! training      every classifier of the list, on each view, by the known labels
//! pruning       those are kept that vote best together, on items of known class kept back
//! votes         v_c of B for class c; pseudo-label: the most votes
//! confidence    share v_1 / B + (1 - share) (v_1 - v_2) / B       the two largest counts
//! reliable      the first N Accv of N items by confidence         Accv: how often the vote is right
//! ```
//!
//! Items that are kept back are those of a validation part. Where there is none, the labels are cut into
//! `folds`, and each fold is voted on by classifiers that learned from the others. A class with one
//! label is never kept back; where all have one, nothing is pruned, and all items are taken for
//! reliable.
//! Of classes with as many votes that wins whose voters weigh more in the pruning, then one that is drawn by
//! the seed. Items that are equally sure, as all are where pruning keeps a single classifier, are taken by
//! the weight of their voters, then drawn too: the first of data that are sorted by class are one class.
//!
//! For triplets (see [`triplets`](super::triplets)) three more votes are held among the classifiers that
//! compare by a metric, each pruned by itself: the class of the farthest labeled item, the nearest
//! unlabeled item, and the farthest. Judges name each other, since what they should name has to be of a known
//! class; where no two of them are of one class, they name labeled items too.
//!
//! **Use it** with few labels of several views that are worth different things, and where neighbours
//! are too often of other classes for labels to spread along them. **Not** for very many items: the
//! metrics of each view are learned `folds` + 1 times, and triplets compare all items with all others.
//!
//! Cost: that of the classifiers, `folds` + 1 times for each view; a vote O(n l d) a metric for `n` items
//! and `l` labeled ones, O(n^2 d) for triplets; memory O(n m) for `m` classifiers, O(n d).
//!
//! Source: Liang, Hu, Wang and Han, "Semi-supervised online multi-kernel similarity learning for image
//! retrieval", IEEE Transactions on Multimedia 2017, section III. It has nine classifiers a view, 50
//! columns, and a validation part. Votes are of equal weight. Ours, where nothing is printed: `share` 1/2
//! of max + margin; that columns are chosen on all rows, labeled or not; what is right of the farthest
//! class (any but the own) and of items (of the same class, of another); folds. SERAPH scales the rows of a
//! view, where the recipe `seraph` takes them as published: unscaled, it learns nothing of large numbers.

use std::collections::{BTreeMap, BTreeSet};

use ndarray::{Array2, ArrayView2, Axis, s};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::base::Base;
use super::classify::{Classifier, Classify as _, Lesson};
use super::pruning::{Pruned, Pruning};
use super::voted::{Election, Member, Others, Voted};
use crate::matrix::{check_finite, select_rows};
use crate::select::Mcfs;
use crate::{Error, Label, Labels, Monitor, Result, parallel, seed};

/// Parameters of votes; see [`votes`](self).
///
/// ```
/// use likewise::ensemble::{Votes, Wanted};
/// use likewise::{Labels, Monitor};
/// let x = ndarray::Array2::from_shape_fn((12, 2), |(i, j)| (i % 2 * 9 + (i * 5 + j) % 3) as f32);
/// let labels = Labels::from_integers((0..12).map(|i| if i < 6 { i % 2 } else { -1 }));
/// let monitor = Monitor::silent();
/// let voted = Votes::new().vote(&[x.view()], &labels, None, Wanted::Classes, 1, &monitor)?;
/// let beliefs = voted.beliefs();
/// assert_eq!(beliefs.pseudo_label[6..8], [Some(0), Some(1)]);
/// assert_eq!(beliefs.confidence[6], 1.0);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Votes {
    #[serde(with = "super::base::written")]
    classifiers: Vec<Base>,
    columns: usize,
    lambda: f64,
    share: f64,
    folds: usize,
}

impl Default for Votes {
    fn default() -> Self {
        Self {
            classifiers: Base::nine(),
            columns: 50,
            lambda: 1e4,
            share: 0.5,
            folds: 5,
        }
    }
}

/// Items of known class that judge the classifiers and were kept back from them.
#[derive(Clone, Copy)]
pub struct Judges<'a> {
    /// Their rows in each view.
    pub views: &'a [ArrayView2<'a, f32>],
    /// Their labels, by the same classes.
    pub labels: &'a Labels,
}

/// What is voted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The class of each item.
    Classes,
    /// Also what triplets need: the farthest class, and the nearest and the farthest item.
    Triplets,
}

impl Votes {
    /// The nine classifiers of a view, fifty columns, `lambda` 10,000, `share` 1/2, five folds.
    pub fn new() -> Self {
        Self::default()
    }

    /// The classifiers that each view has, at least one.
    #[must_use]
    pub fn classifiers(mut self, classifiers: Vec<Base>) -> Self {
        self.classifiers = classifiers;
        self
    }

    /// Columns of a view that are kept, by [`Mcfs`]; 0: all.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns;
        self
    }

    /// What large weights cost in the [pruning](super::pruning), above 0.
    #[must_use]
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.lambda = lambda;
        self
    }

    /// Share of the winner's votes in the confidence, from 0 to 1; the rest is by how much it
    /// leads.
    #[must_use]
    pub fn share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    /// Parts that labels are cut into where nothing else judges, at least 2.
    #[must_use]
    pub fn folds(mut self, folds: usize) -> Self {
        self.folds = folds;
        self
    }

    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        if self.classifiers.is_empty() {
            let rule = "must name at least one classifier";
            return Err(Error::parameter("votes.classifiers", "[]", rule));
        }
        for base in &self.classifiers {
            base.validate()?;
        }
        Pruning::new().lambda(self.lambda).validate()?;
        if !(0.0..=1.0).contains(&self.share) {
            let rule = "must be from 0 to 1";
            return Err(Error::parameter("votes.share", self.share, rule));
        }
        if self.folds < 2 {
            return Err(Error::parameter(
                "votes.folds",
                self.folds,
                "must be at least 2",
            ));
        }
        Ok(())
    }

    /// Whether some classifier compares by a metric, without which there are no triplets.
    pub fn has_metric(&self) -> bool {
        self.classifiers.iter().any(Base::has_metric)
    }

    /// Votes on all rows without a label; `labels` are of the rows of every view. Rows that are
    /// known to be none of the classes are not voted on.
    ///
    /// Warns where no class has two labels and nothing judges, and where a view is of too few rows to
    /// choose columns by. Fails on a parameter out of its
    /// range, on NaN, where views differ in rows, without labels of two classes, without a metric
    /// where triplets are wanted, and when cancelled.
    pub fn vote(
        &self,
        views: &[ArrayView2<f32>],
        labels: &Labels,
        judges: Option<Judges>,
        wanted: Wanted,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Voted> {
        self.validate()?;
        check(views, labels)?;
        if wanted == Wanted::Triplets && !self.has_metric() {
            return Err(Error::parameter(
                "votes.classifiers",
                "none by a metric",
                "triplets need a classifier that compares by a metric, such as euclid or rca",
            ));
        }
        let judges = judges.filter(|judges| judges.labels.n_known() > 0);
        if let Some(judges) = &judges {
            check_judges(judges, views, labels)?;
        }
        let chosen = self.choose_columns(views, labels.n_classes(), monitor)?;
        let rows = chosen.of(views);
        let hall = Hall {
            votes: self,
            wanted,
            seed,
            monitor,
        };
        let all = hall.train(&rows, labels, "votes")?;
        let judged = match judges {
            Some(judges) => {
                let kept_back = chosen.of(judges.views);
                Some(hall.judged_by(&all, (&kept_back, judges.labels), (&rows, labels))?)
            }
            None => hall.judged_in_folds(&rows, labels)?,
        };
        let open: Vec<usize> = (0..labels.len())
            .filter(|&i| labels[i] == Label::Unknown)
            .collect();
        let asking = select(&rows, &open);
        let own: Vec<usize> = (0..open.len()).collect();
        let said = hall.cast(&all, &asking, &asking, &own)?;
        hall.elect(said, judged, labels, open)
    }

    fn choose_columns(
        &self,
        views: &[ArrayView2<f32>],
        groups: usize,
        monitor: &Monitor,
    ) -> Result<Columns> {
        let most = self.columns;
        let is_wide = |view: &ArrayView2<f32>| most > 0 && view.ncols() > most;
        // All views are of the same rows.
        let wide = views.iter().filter(|view| is_wide(view)).count();
        let rows = views.first().map_or(0, ArrayView2::nrows);
        if wide > 0 && rows <= groups {
            monitor.warn(format!(
                "votes keep all columns of {wide} of {} views: to choose {most} of them takes more rows \
                 than classes, but there are {rows} rows and {groups} classes",
                views.len()
            ));
        }
        let choose = |view: &ArrayView2<f32>| -> Result<Option<Vec<usize>>> {
            if !is_wide(view) || rows <= groups {
                return Ok(None);
            }
            let by = Mcfs::new().features(most).groups(groups);
            Ok(Some(by.fit(*view, &monitor.quiet())?.chosen))
        };
        Ok(Columns(views.iter().map(choose).collect::<Result<_>>()?))
    }
}

/// Columns of each view that are looked at; all where there is no list.
struct Columns(Vec<Option<Vec<usize>>>);

impl Columns {
    fn of(&self, views: &[ArrayView2<f32>]) -> Vec<Array2<f32>> {
        let own = |(view, columns): (&ArrayView2<f32>, &Option<Vec<usize>>)| match columns {
            Some(columns) => view.select(Axis(1), columns),
            None => view.as_standard_layout().into_owned(),
        };
        views.iter().zip(&self.0).map(own).collect()
    }
}

fn select(views: &[Array2<f32>], rows: &[usize]) -> Vec<Array2<f32>> {
    let of = |view: &Array2<f32>| select_rows(view.view(), rows);
    views.iter().map(of).collect()
}

/// The rows with a class in each view, and their classes.
fn of_known((views, labels): (&[Array2<f32>], &Labels)) -> (Vec<Array2<f32>>, Vec<u32>) {
    let (known, classes): (Vec<usize>, Vec<u32>) = (labels.items().iter().enumerate())
        .filter_map(|(item, label)| Some((item, label.class()?)))
        .unzip();
    (select(views, &known), classes)
}

/// The rows of one matrix, and below them those of another with as many columns.
fn below((upper, lower): (&Array2<f32>, &Array2<f32>)) -> Array2<f32> {
    let n = upper.nrows();
    let mut all = Array2::<f32>::zeros((n + lower.nrows(), upper.ncols()));
    all.slice_mut(s![..n, ..]).assign(upper);
    all.slice_mut(s![n.., ..]).assign(lower);
    all
}

/// Whether no two items are of one class.
fn all_differ(classes: &[u32]) -> bool {
    let distinct: BTreeSet<u32> = classes.iter().copied().collect();
    distinct.len() == classes.len()
}

fn check(views: &[ArrayView2<f32>], labels: &Labels) -> Result<()> {
    for (at, view) in views.iter().enumerate() {
        check_finite(*view, "votes")?;
        if view.nrows() != labels.len() || view.ncols() == 0 {
            return Err(Error::data(format!(
                "votes: view {at} is {} x {}, but there are {} labels; a view needs columns, and \
                 a row an item",
                view.nrows(),
                view.ncols(),
                labels.len()
            )));
        }
    }
    let with_label = labels.by_class().into_iter().filter(|own| !own.is_empty());
    if views.is_empty() || with_label.count() < 2 {
        return Err(Error::data(
            "votes need a view and labels of two classes; label some items of another class",
        ));
    }
    Ok(())
}

fn check_judges(judges: &Judges, views: &[ArrayView2<f32>], labels: &Labels) -> Result<()> {
    let shapes = judges.views.iter().map(ArrayView2::dim);
    let fit = shapes.clone().all(|(n, _)| n == judges.labels.len())
        && judges.views.len() == views.len()
        && shapes.zip(views).all(|((_, d), view)| d == view.ncols());
    if !fit || judges.labels.classes() != labels.classes() {
        return Err(Error::data(
            "votes: the items that judge must have the views and the classes of those that vote",
        ));
    }
    judges
        .views
        .iter()
        .try_for_each(|v| check_finite(*v, "votes"))
}

/// Where votes are held.
struct Hall<'a> {
    votes: &'a Votes,
    wanted: Wanted,
    seed: u64,
    monitor: &'a Monitor,
}

/// A trained classifier of a view.
struct Trained {
    view: usize,
    classifier: Box<dyn Classifier>,
}

/// What is said of some items, a row each: classes by all classifiers, and by those with a metric
/// the farthest class, the nearest item and the farthest.
struct Said {
    class: Array2<u32>,
    others: Option<[Array2<u32>; 3]>,
}

/// What was said of items of known class, and whether it is right.
struct Judged {
    said: Said,
    class: Vec<u32>,
    /// The class of each item that may be named.
    peers: Vec<u32>,
}

impl Hall<'_> {
    fn train(&self, rows: &[Array2<f32>], labels: &Labels, stage: &str) -> Result<Vec<Trained>> {
        let bases = &self.votes.classifiers;
        let jobs: Vec<(usize, usize)> = (0..rows.len())
            .flat_map(|view| (0..bases.len()).map(move |base| (view, base)))
            .collect();
        // What a metric warns of is said once a view and fold; nobody can act on it here.
        let quiet = self.monitor.quiet();
        self.monitor.start(stage, None);
        let train = |&(view, base): &(usize, usize)| -> Result<Trained> {
            let lesson = Lesson {
                rows: rows[view].view(),
                labels,
            };
            let fitted = bases[base].fit(&lesson, self.seed, &quiet);
            Ok(Trained {
                view,
                classifier: fitted.map_err(|e| e.within(format!("votes, view {view}")))?,
            })
        };
        let trained = parallel::try_map(jobs.iter(), train)?;
        self.monitor.end();
        Ok(trained)
    }

    /// What all say of the rows of `asking`, which name items of `peers` but those at `own`.
    fn cast(
        &self,
        trained: &[Trained],
        asking: &[Array2<f32>],
        peers: &[Array2<f32>],
        own: &[usize],
    ) -> Result<Said> {
        let n = own.len();
        let of = |trained: &Trained| trained.classifier.classes(asking[trained.view].view());
        let class = parallel::try_map(trained.iter(), of)?;
        self.monitor.check()?;
        let class = columns(n, &class);
        if self.wanted == Wanted::Classes || n == 0 || peers[0].nrows() < 2 {
            return Ok(Said {
                class,
                others: None,
            });
        }
        let (mut far, mut nearest, mut farthest) = (vec![], vec![], vec![]);
        for own_metric in trained {
            let Some(metric) = own_metric.classifier.metric() else {
                continue;
            };
            let (rows, others) = (&asking[own_metric.view], &peers[own_metric.view]);
            far.push(metric.far_classes(rows.view())?);
            let found = metric.peers(rows.view(), others.view(), own)?;
            let (near_ones, far_ones): (Vec<u32>, Vec<u32>) = found.into_iter().unzip();
            nearest.push(near_ones);
            farthest.push(far_ones);
            self.monitor.check()?;
        }
        Ok(Said {
            class,
            others: Some([&far, &nearest, &farthest].map(|said| columns(n, said))),
        })
    }

    /// By items that were kept back, of which each names others of them; where no two of these are of
    /// one class, whatever is nearest would be wrong, and the labeled rows are named too.
    fn judged_by(
        &self,
        trained: &[Trained],
        kept_back: (&[Array2<f32>], &Labels),
        fitted: (&[Array2<f32>], &Labels),
    ) -> Result<Judged> {
        let (asking, class) = of_known(kept_back);
        let own: Vec<usize> = (0..class.len()).collect();
        let (mut rows, mut peers) = (asking.clone(), class.clone());
        if all_differ(&class) {
            let (labeled, classes) = of_known(fitted);
            rows = rows.iter().zip(&labeled).map(below).collect();
            peers.extend(classes);
        }
        Ok(Judged {
            said: self.cast(trained, &asking, &rows, &own)?,
            class,
            peers,
        })
    }

    fn judged_in_folds(&self, rows: &[Array2<f32>], labels: &Labels) -> Result<Option<Judged>> {
        let fold = folds(labels, self.votes.folds, self.seed);
        let count = fold.iter().flatten().max().map_or(0, |&last| last + 1);
        if count == 0 {
            self.monitor.warn(
                "no class has two labels, so nothing tells which classifiers are good: all of them \
                 vote, and all items are taken for reliable",
            );
            return Ok(None);
        }
        let known: Vec<usize> = (0..labels.len())
            .filter(|&i| labels[i].class().is_some())
            .collect();
        let (peers, classes) = of_known((rows, labels));
        let mut all = Vec::with_capacity(count);
        for part in 0..count {
            let seen = labels.masked(|i| fold[i] != Some(part));
            let stage = format!("votes, fold {} of {count}", part + 1);
            let trained = self.train(rows, &seen, &stage)?;
            let own: Vec<usize> = (0..known.len())
                .filter(|&place| fold[known[place]] == Some(part))
                .collect();
            let said = self.cast(&trained, &select(&peers, &own), &peers, &own)?;
            all.push((own, said));
        }
        let asked: Vec<usize> = all.iter().flat_map(|(own, _)| own.clone()).collect();
        Ok(Some(Judged {
            class: asked.iter().map(|&place| classes[place]).collect(),
            said: Said::joined(all.into_iter().map(|(_, said)| said).collect()),
            peers: classes,
        }))
    }

    /// Prunes each vote by what was right, and counts the rest.
    fn elect(
        &self,
        said: Said,
        judged: Option<Judged>,
        labels: &Labels,
        open: Vec<usize>,
    ) -> Result<Voted> {
        let pruning = Pruning::new().lambda(self.votes.lambda);
        let share = self.votes.share;
        let judged = judged.as_ref();
        let elect = |said: &Array2<u32>,
                     judges: Option<&Array2<u32>>,
                     is_right: &dyn Fn(&Judged, usize, u32) -> bool| {
            let pruned = match (judged, judges) {
                (Some(judged), Some(votes)) => {
                    pruning.prune(votes, |i, said| is_right(judged, i, said))?
                }
                _ => Pruned::unjudged(said.ncols()),
            };
            Ok::<_, Error>(Election::hold(said, pruned, share, self.seed))
        };
        // An item whose class no peer has cannot name a right one.
        let near = judged.map(Judged::with_peers).unwrap_or_default();
        let of_judges = |which: usize| judged.and_then(|j| Some(&j.said.others.as_ref()?[which]));
        let of_near = of_judges(1).map(|votes| votes.select(Axis(0), &near));
        let of_near = of_near.filter(|votes| votes.nrows() > 0);
        let class = elect(&said.class, judged.map(|j| &j.said.class), &|j, i, said| {
            j.class[i] == said
        })?;
        let others = match &said.others {
            None => None,
            Some([far, nearest, farthest]) => Some(Others {
                far_class: elect(far, of_judges(0), &|j, i, said| j.class[i] != said)?,
                nearest: elect(nearest, of_near.as_ref(), &|j, i, said| {
                    j.class[near[i]] == j.peers[said as usize]
                })?,
                farthest: elect(farthest, of_judges(2), &|j, i, said| {
                    j.class[i] != j.peers[said as usize]
                })?,
            }),
        };
        let bases = &self.votes.classifiers;
        let members = (0..said.class.ncols()).map(|at| Member {
            view: at / bases.len(),
            classifier: bases[at % bases.len()].name(),
            weight: class.pruned.weights[at],
            accuracy: class.pruned.accuracies[at],
            kept: class.pruned.kept.contains(&at),
        });
        Ok(Voted {
            labels: labels.clone(),
            members: members.collect(),
            votes: said.class,
            items: open,
            class,
            others,
        })
    }
}

impl Judged {
    /// The items of whose class there is a peer beside themselves.
    fn with_peers(&self) -> Vec<usize> {
        // Each item is a peer of the others, so that one of its class is itself.
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for &class in &self.peers {
            *counts.entry(class).or_default() += 1;
        }
        let several = |item: &usize| counts.get(&self.class[*item]).is_some_and(|&n| n > 1);
        (0..self.class.len()).filter(several).collect()
    }
}

impl Said {
    fn joined(parts: Vec<Self>) -> Self {
        let stack = |of: &dyn Fn(&Self) -> Option<&Array2<u32>>| {
            let views: Vec<_> = parts.iter().filter_map(|p| Some(of(p)?.view())).collect();
            ndarray::concatenate(Axis(0), &views).ok()
        };
        let class = stack(&|said| Some(&said.class)).unwrap_or_default();
        let whole = parts.iter().all(|said| said.others.is_some());
        let other =
            |which: usize| stack(&|said| Some(&said.others.as_ref()?[which])).unwrap_or_default();
        Self {
            class,
            others: whole.then(|| [other(0), other(1), other(2)]),
        }
    }
}

/// What each classifier says, as columns of `n` rows.
fn columns(n: usize, said: &[Vec<u32>]) -> Array2<u32> {
    Array2::from_shape_fn((n, said.len()), |(i, j)| said[j][i])
}

/// The fold that each labeled row is kept back in: those of a class take turns, in a drawn order. A
/// class of one row is never kept back.
fn folds(labels: &Labels, folds: usize, seed: u64) -> Vec<Option<usize>> {
    let mut rng = seed::stream(seed, "votes folds");
    let mut fold = vec![None; labels.len()];
    for mut own in labels.by_class() {
        own.shuffle(&mut rng);
        if own.len() < 2 {
            continue;
        }
        for (place, &item) in own.iter().enumerate() {
            fold[item] = Some(place % folds.min(own.len()));
        }
    }
    fold
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::super::Forest;
    use super::*;
    use crate::Event;
    use crate::linear::check_values::iris;
    use crate::reference::in_one_and_two_threads;

    fn fast() -> Votes {
        let names = ["discriminant", "subspace", "euclid", "rca", "dca"];
        Votes::new().classifiers(names.iter().filter_map(|n| Base::named(n)).collect())
    }

    fn irises(every: usize) -> (Array2<f32>, Labels, Labels) {
        let (x, class) = iris();
        let truth = Labels::from_integers(class.iter().map(|&c| i64::from(c)));
        let known = truth.masked(|i| i % every == 0);
        (x.mapv(|v| v as f32), known, truth)
    }

    #[test]
    fn irises_in_two_views_on_any_number_of_threads() {
        let (x, known, truth) = irises(10);
        let views = [x.slice(s![.., ..2]), x.slice(s![.., 2..])];
        let run = || {
            let monitor = Monitor::silent();
            fast().vote(&views, &known, None, Wanted::Triplets, 3, &monitor)
        };
        let (one, two) = in_one_and_two_threads(|| run().unwrap());
        assert_eq!(one, two);
        assert_eq!((one.items.len(), one.members.len()), (135, 10));
        let beliefs = one.beliefs();
        let right = |of: &[usize]| {
            let right = of
                .iter()
                .filter(|&&i| beliefs.pseudo_label[i] == truth[i].class());
            right.count() as f64 / of.len() as f64
        };
        assert!(right(&one.items) > 0.85, "{}", right(&one.items));
        let reliable = one.reliable();
        // No other item is surer.
        let least = reliable
            .iter()
            .map(|&i| beliefs.confidence[i])
            .fold(1.0, f32::min);
        let others = one
            .items
            .iter()
            .filter(|i| reliable.binary_search(i).is_err());
        assert!(others.into_iter().all(|&i| beliefs.confidence[i] <= least));
        // As many as the vote was right on the labels.
        let expected = (135.0 * one.class.pruned.accuracy + 0.5).floor() as usize;
        assert_eq!(reliable.len(), expected);
        // Labeled items are what they are.
        assert_eq!(
            (beliefs.pseudo_label[0], beliefs.confidence[0]),
            (Some(0), 1.0)
        );
        assert!(beliefs.labeled[0] && !beliefs.labeled[1]);
        let others = one.others.as_ref().unwrap();
        assert_eq!(others.nearest.ballots.len(), 135);
        // Only those with a metric take part.
        assert_eq!(others.nearest.pruned.weights.len(), 6);
        let own = |i: usize| truth[one.items[i]].class();
        let near = (0..135).filter(|&i| own(others.nearest.ballots[i].winner as usize) == own(i));
        let far = (0..135).filter(|&i| own(others.farthest.ballots[i].winner as usize) != own(i));
        let (near, far) = (near.count(), far.count());
        assert!(near > 110 && far > 125, "{near} {far}");
    }

    #[test]
    fn kept_back_items_prune_a_view_of_noise() {
        let (x, known, truth) = irises(5);
        let noise = Array2::from_shape_fn(x.dim(), |(i, j)| ((i * 37 + j * 11) % 23) as f32);
        let rows: Vec<usize> = (0..150).step_by(3).collect();
        let (own, wrong) = (
            select_rows(x.view(), &rows),
            select_rows(noise.view(), &rows),
        );
        let judges = Judges {
            views: &[own.view(), wrong.view()],
            labels: &truth.select(&rows),
        };
        let votes = fast();
        let views = [x.view(), noise.view()];
        let monitor = Monitor::silent();
        let voted = votes.vote(&views, &known, Some(judges), Wanted::Classes, 3, &monitor);
        let voted = voted.unwrap();
        let kept = |view: usize| {
            let of_view = voted.members.iter().filter(|member| member.view == view);
            of_view.filter(|member| member.kept).count()
        };
        assert!(kept(0) > 0 && kept(1) == 0, "{:?}", voted.members);
        assert!(voted.others.is_none());
    }

    /// How often the nearest of `pool` is of the class of the item, for these rows of irises.
    fn nearest_is_right(x: &Array2<f32>, truth: &Labels, asking: &[usize], pool: &[usize]) -> f64 {
        let square = |a: usize, b: usize| -> f64 {
            let pairs = x.row(a).into_iter().zip(x.row(b));
            pairs.map(|(&a, &b)| f64::from(a - b).powi(2)).sum()
        };
        let nearest = |item: usize| {
            let others = pool.iter().copied().filter(|&other| other != item);
            others.min_by(|&a, &b| square(item, a).total_cmp(&square(item, b)))
        };
        let is_right = |item: usize| nearest(item).map(|n| truth[n]) == Some(truth[item]);
        let right = asking.iter().filter(|&&item| is_right(item)).count();
        right as f64 / asking.len() as f64
    }

    #[test]
    fn nearest_items_are_judged_where_a_class_has_one_judge() {
        let (x, known, truth) = irises(10);
        let votes = Votes::new().classifiers(vec![Base::named("euclid").unwrap()]);
        let accuracy = |rows: &[usize]| {
            let own = select_rows(x.view(), rows);
            let judges = Judges {
                views: &[own.view()],
                labels: &truth.select(rows),
            };
            let monitor = Monitor::silent();
            let voted = votes.vote(
                &[x.view()],
                &known,
                Some(judges),
                Wanted::Triplets,
                3,
                &monitor,
            );
            voted.unwrap().others.unwrap().nearest.pruned.accuracy
        };
        let by_hand = |asking: &[usize], pool: &[usize]| nearest_is_right(&x, &truth, asking, pool);
        let same = |a: f64, b: f64| (a - b).abs() < 1e-12;
        // Two or more of each class: they name each other, as ever.
        let many = [1, 2, 3, 51, 52, 53, 101, 102, 103];
        assert!(same(accuracy(&many), by_hand(&many, &many)));
        // One of each: they name labeled rows too, without which none could be right.
        let one = [1, 51, 101];
        assert!(same(by_hand(&one, &one), 0.0));
        let labeled = (0..150).step_by(10);
        let with_labeled: Vec<usize> = one.into_iter().chain(labeled).collect();
        let expected = by_hand(&one, &with_labeled);
        assert!(expected > 0.0 && same(accuracy(&one), expected));
        // One class of two: those two alone are asked.
        let some = [1, 2, 51, 101];
        assert!(same(accuracy(&some), by_hand(&some[..2], &some)));
    }

    #[test]
    fn folds_keep_every_class_and_never_a_single_label() {
        let labels = Labels::from_integers((0..23).map(|i| if i < 20 { i % 2 } else { 7 - i }));
        let fold = folds(&labels, 4, 9);
        for part in 0..4 {
            for (class, own) in labels.by_class().iter().enumerate() {
                let kept = own.iter().filter(|&&i| fold[i] == Some(part)).count();
                assert!(kept < own.len(), "{class}");
                assert!(class < labels.n_classes() && (own.len() < 2 || kept > 0));
            }
        }
        let single: Vec<usize> = (0..23).filter(|&i| fold[i].is_none()).collect();
        let of_one = labels.by_class().into_iter().filter(|own| own.len() == 1);
        assert_eq!(
            single.len(),
            of_one.count() + labels.len() - labels.n_known()
        );
    }

    #[test]
    fn one_label_a_class_outsiders_and_what_is_refused() {
        let (x, _, truth) = irises(1);
        let monitor = Monitor::silent();
        let one = truth.draw(1, 4);
        let vote = |votes: &Votes, labels: &Labels| {
            votes.vote(&[x.view()], labels, None, Wanted::Triplets, 1, &monitor)
        };
        let voted = vote(&fast(), &one).unwrap();
        assert_eq!(
            (voted.reliable().len(), voted.class.pruned.kept.len()),
            (147, 5)
        );
        let names: Vec<String> = (0..150)
            .map(|i| match i {
                0 | 1 => "a",
                50 | 51 => "b",
                2 => "-2",
                _ => "",
            })
            .map(str::to_owned)
            .collect();
        let outside = Labels::parse(&names);
        let beliefs = vote(&fast(), &outside).unwrap().beliefs();
        assert_eq!(
            (beliefs.pseudo_label[2], beliefs.confidence[2]),
            (None, 0.0)
        );
        let said = |votes: &Votes, labels: &Labels| vote(votes, labels).unwrap_err().to_string();
        let single = truth.masked(|i| i < 5);
        assert!(said(&fast(), &single).contains("two classes"));
        let blind = fast().classifiers(vec![Base::named("forest").unwrap()]);
        assert!(said(&blind, &outside).contains("metric"));
        assert!(said(&fast().classifiers(vec![]), &one).contains("votes.classifiers"));
        assert!(said(&fast().share(1.5), &one).starts_with("votes.share = 1.5"));
        assert!(said(&fast().folds(1), &one).starts_with("votes.folds = 1"));
        let short = Labels::unknown(3);
        assert!(said(&fast(), &short).contains("3 labels"));
        monitor.cancel();
        assert!(vote(&fast(), &outside).is_err());
    }

    #[test]
    fn files_name_classifiers_and_say_what_differs() {
        let read = |text: &str| serde_json::from_str::<Votes>(text);
        let own = read(r#"{"classifiers": ["rca", {"kind": "forest", "trees": 9}]}"#).unwrap();
        let nine = Forest::new().trees(9);
        let expected = vec![Base::named("rca").unwrap(), Base::Forest(nine)];
        assert_eq!(own, Votes::new().classifiers(expected));
        let text = serde_json::to_string(&own).unwrap();
        assert!(
            text.contains(r#"["rca",{"kind":"forest","trees":9}]"#),
            "{text}"
        );
        assert_eq!(read(&text).unwrap(), own);
        let usual = serde_json::to_string(&Votes::new()).unwrap();
        assert!(
            usual.contains(r#""adaboost","discriminant","forest""#),
            "{usual}"
        );
        let said = |text| read(text).unwrap_err().to_string();
        assert!(said(r#"{"classifiers": ["nosuch"]}"#).contains("no classifier"));
        assert!(said(r#"{"classifiers": [{"kind": "forest", "tres": 9}]}"#).contains("tres"));
        assert!(said(r#"{"classifiers": [3]}"#).contains("the name of a classifier"));
    }

    #[test]
    fn that_no_columns_are_chosen_of_few_rows_is_said_once() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let sent = heard.clone();
        let monitor = Monitor::new(move |event| {
            if let Event::Warning(message) = event {
                sent.lock().unwrap().push(message.clone());
            }
        });
        let (x, _, _) = irises(1);
        let few = x.slice(s![..3, ..]);
        let views = [few, x.slice(s![..3, ..2]), few];
        let own = Votes::new().columns(2);
        let kept = own.choose_columns(&views, 3, &monitor).unwrap();
        assert!(kept.0.iter().all(Option::is_none));
        let said = heard.lock().unwrap().clone();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("2 of 3 views") && said[0].contains("3 rows and 3 classes"));
        // Neither where there are rows enough, nor where all columns are wanted.
        let chosen = own.choose_columns(&[x.view()], 3, &monitor).unwrap();
        assert_eq!(chosen.0[0].as_ref().map(Vec::len), Some(2));
        own.columns(0).choose_columns(&views, 3, &monitor).unwrap();
        assert_eq!(heard.lock().unwrap().len(), 1);
    }

    #[test]
    fn nothing_to_vote_on_is_no_failure() {
        let (x, _, truth) = irises(1);
        let monitor = Monitor::silent();
        let voted = fast().vote(&[x.view()], &truth, None, Wanted::Triplets, 1, &monitor);
        let voted = voted.unwrap();
        assert!(voted.items.is_empty() && voted.reliable().is_empty());
        assert!(voted.beliefs().labeled.iter().all(|&labeled| labeled));
    }
}
