//! How many items each class has, where only some of them are labeled.

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

/// How many items are of the classes that have labels.
#[derive(Debug, Clone)]
pub(super) struct ClassSizes {
    /// Of each class, labeled or not.
    pub(super) of: Vec<f64>,
    /// Share of the unlabeled items that look like none of the classes, where it is clearly above 0.
    pub(super) outside: Option<f64>,
}

impl Ground<'_> {
    /// Items of each class among the fitted ones: the labeled, and of all others the share that
    /// the labels reach. Items that are known to be none of the classes are in none, and so are as
    /// many of the others as look like none of them, those that the labels reach least: each
    /// would make its class larger than it is, and its items easier to find.
    ///
    /// It is one estimate for all recipes, by the default propagation on the whitened baseline, so
    /// that rows which no recipe touches have one number, whichever recipe stands beside them.
    pub(super) fn class_sizes(&mut self, known: &Labels, monitor: &Monitor) -> Result<ClassSizes> {
        let mut sizes = vec![0.0; known.n_classes()];
        let is_open = |&place: &usize| known[place] == Label::Unknown;
        let (open, mut places): (Vec<usize>, Vec<usize>) = (0..known.len()).partition(is_open);
        for class in places.iter().filter_map(|&place| known[place].class()) {
            sizes[class as usize] += 1.0;
        }
        if open.is_empty() {
            return Ok(ClassSizes {
                of: sizes,
                outside: None,
            });
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
        let beliefs = spread(&how, rows.view(), &graph, &seen, monitor)?;
        let mut believed = sizes.clone();
        let open =
            |place: usize| beliefs.pseudo_label[place].filter(|_| seen[place] == Label::Unknown);
        for class in (0..places.len()).filter_map(open) {
            believed[class as usize] += each;
        }
        let reached = Reached::by_folds(&graph, &seen, &believed, seed, monitor)?;
        let Some(reached) = reached else {
            return Ok(ClassSizes {
                of: believed,
                outside: None,
            });
        };
        let inside = Inside::of(&reached.known, &reached.weight, &reached.scores)?;
        if !inside.is_part() {
            return Ok(ClassSizes {
                of: believed,
                outside: None,
            });
        }
        let mut order: Vec<usize> = (0..reached.open.len()).collect();
        let scores = &reached.scores;
        order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(a.cmp(&b)));
        let most = (inside.share * order.len() as f64).round() as usize;
        for class in order[..most].iter().filter_map(|&i| open(reached.open[i])) {
            sizes[class as usize] += each;
        }
        Ok(ClassSizes {
            of: sizes,
            outside: Some(1.0 - inside.share),
        })
    }
}
