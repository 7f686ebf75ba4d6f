//! How many items each class has, where only some of them are labeled.

use likewise::advise::central::Central;
use likewise::advise::outside::reach::Reached;
use likewise::advise::outside::share::Inside;
use likewise::{Label, Labels, Monitor, matrix, seed};
use rand::seq::index;

use super::believe::spread;
use super::ground::Ground;
use crate::Result;
use crate::recipe::Propagation;

/// Most items without a label that are looked at: shares of more are as good.
const MOST: usize = 20_000;

/// Labels of a class from which on it is told what looks like it.
const TOLD: usize = 3;

/// How many items are of the classes that have labels.
#[derive(Debug, Clone)]
pub(super) struct ClassSizes {
    /// Of each class, labeled or not.
    pub(super) of: Vec<f64>,
    /// Share of the unlabeled items that look like none of the classes, where it is clearly above 0.
    pub(super) outside: Option<f64>,
    /// The share of its class that is nearer to the middle than a labeled item is, where that is clearly less
    /// than a half.
    pub(super) central: Option<f64>,
}

impl ClassSizes {
    fn counted(of: Vec<f64>) -> Self {
        Self {
            of,
            outside: None,
            central: None,
        }
    }
}

impl Ground<'_> {
    /// Items of each class among the fitted ones: the labeled, and of all others the share that
    /// the labels reach. Items that are known to be none of the classes are in none, and so are as
    /// many of the others as look like none of them, those that the labels reach least: each
    /// would make its class larger than it is, and its items easier to find.
    ///
    /// How many of them are of each class is estimated by what the labels reach first, less the errors that
    /// this makes on labels that are left out in turn ([`likewise::advise::prevalence`]); with one label a class
    /// by the default propagation alone. It is one estimate for all recipes, on the whitened baseline, so that
    /// rows which no recipe touches have one number, whichever recipe stands beside them.
    pub(super) fn class_sizes(&mut self, known: &Labels, monitor: &Monitor) -> Result<ClassSizes> {
        let mut sizes = vec![0.0; known.n_classes()];
        let is_open = |&place: &usize| known[place] == Label::Unknown;
        let (open, mut places): (Vec<usize>, Vec<usize>) = (0..known.len()).partition(is_open);
        for class in places.iter().filter_map(|&place| known[place].class()) {
            sizes[class as usize] += 1.0;
        }
        if open.is_empty() {
            return Ok(ClassSizes::counted(sizes));
        }
        let seed = self.plan.protocol.seed;
        let mut rng = seed::stream(seed, "items to count classes by");
        let drawn = index::sample(&mut rng, open.len(), open.len().min(MOST));
        let each = open.len() as f64 / drawn.len() as f64;
        places.extend(drawn.iter().map(|i| open[i]));
        places.sort_unstable();
        let items: Vec<usize> = places.iter().map(|&place| self.train[place]).collect();
        let start = self.common_start()?;
        let features = matrix::select_rows(self.plan.features, &items);
        let rows = self.whitened(start, &start.reading.rows(features))?;
        let how = Propagation::among(places.len());
        let graph = how.graph.build(rows.view(), monitor)?;
        let seen = known.select(&places);
        let Some(reached) = Reached::by_folds(&graph, &seen, seed, monitor)? else {
            let beliefs = spread(&how, rows.view(), &graph, &seen, monitor)?;
            let open = (0..places.len()).filter(|&place| seen[place] == Label::Unknown);
            for class in open.filter_map(|place| beliefs.pseudo_label[place]) {
                sizes[class as usize] += each;
            }
            return Ok(ClassSizes::counted(sizes));
        };
        drop(rows);
        let central = self.central(&items, &seen, &reached)?;
        // Of the unlabeled items, and with the labeled ones.
        let added = |shares: Vec<f64>, items: f64| -> Vec<f64> {
            let each = sizes.iter().zip(shares);
            each.map(|(labeled, share)| labeled + share * items)
                .collect()
        };
        let unlabeled = each * reached.open.len() as f64;
        let all = added(reached.shares(|_| true)?, unlabeled);
        // Sizes that are estimated badly weigh the known items badly; so some are outside only where they are by
        // what known items are taken for as well.
        let weights = [reached.weight(&all)?, reached.weight_as_taken()];
        let mut told = Vec::with_capacity(weights.len());
        for weight in weights
            .iter()
            .filter(|weight| weight.iter().sum::<f64>() > 0.0)
        {
            told.push(Inside::of(&reached.known, weight, &reached.scores)?);
        }
        let most = told.iter().max_by(|a, b| a.share.total_cmp(&b.share));
        let inside = most.filter(|_| told.iter().all(|inside| inside.is_part()));
        // Of a class with a label or two, items are far from these, and look like those of no class.
        let all_told = reached.labeled.iter().all(|&labels| labels >= TOLD);
        let Some(inside) = inside.filter(|_| all_told) else {
            return Ok(ClassSizes {
                central,
                ..ClassSizes::counted(all)
            });
        };
        let mut order: Vec<usize> = (0..reached.open.len()).collect();
        let scores = &reached.scores;
        order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(a.cmp(&b)));
        let most = (inside.share * order.len() as f64).round() as usize;
        let mut within = vec![false; order.len()];
        for &i in &order[..most] {
            within[i] = true;
        }
        Ok(ClassSizes {
            of: added(reached.shares(|i| within[i])?, each * most as f64),
            outside: Some(1.0 - inside.share),
            central,
        })
    }

    /// Whether the labels are of easier items than most: the share of its class that is nearer to the middle than a
    /// labeled item, where that is clearly less than a half.
    fn central(&self, items: &[usize], seen: &Labels, reached: &Reached) -> Result<Option<f64>> {
        // Labeled items by what other labels take them for, as all others: wrong members of a class are far from its
        // middle, and items of a known class would look near beside them.
        let mut class = vec![None; items.len()];
        let taken_for = reached.taken_for.iter().map(|&(_, nearest)| nearest);
        let nearest = reached.nearest.iter().copied();
        let places = reached.asked.iter().chain(&reached.open);
        for (&place, nearest) in places.zip(taken_for.chain(nearest)) {
            class[place] = nearest;
        }
        let labeled: Vec<bool> = seen.items().iter().map(|l| l.class().is_some()).collect();
        // Whitened, all items are about as far from the middle of their class.
        let plain = self.scaled().unwrap_or_else(|| self.centered());
        let rows = plain.rows(&matrix::select_rows(self.plan.features, items));
        let central = Central::of(rows.view(), &class, &labeled)?;
        Ok(central.filter(Central::is_clear).map(|c| c.nearer))
    }
}
