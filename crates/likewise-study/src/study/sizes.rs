//! How many items each class has, where only some of them are labeled.

use likewise::{Label, Labels, Monitor, matrix, seed};
use rand::seq::index;

use super::believe::spread;
use super::ground::Ground;
use crate::Result;
use crate::recipe::Propagation;

/// Most items without a label that are looked at: shares of more are as good.
const MOST: usize = 20_000;

impl Ground<'_> {
    /// Items of each class among the fitted ones: the labeled, and of all others the share that
    /// the labels reach. Items known to be none of the classes are in none.
    ///
    /// It is one estimate for all recipes, by the default propagation on the whitened baseline, so
    /// that rows which no recipe touches have one number, whichever recipe stands beside them.
    pub(super) fn class_sizes(&mut self, known: &Labels, monitor: &Monitor) -> Result<Vec<f64>> {
        let mut sizes = vec![0.0; known.n_classes()];
        let is_open = |&place: &usize| known[place] == Label::Unknown;
        let (open, mut places): (Vec<usize>, Vec<usize>) = (0..known.len()).partition(is_open);
        for class in places.iter().filter_map(|&place| known[place].class()) {
            sizes[class as usize] += 1.0;
        }
        if open.is_empty() {
            return Ok(sizes);
        }
        let mut rng = seed::stream(self.plan.protocol.seed, "items to count classes by");
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
        for (place, believed) in beliefs.pseudo_label.iter().enumerate() {
            if let (Label::Unknown, Some(class)) = (seen[place], believed) {
                sizes[*class as usize] += each;
            }
        }
        Ok(sizes)
    }
}
