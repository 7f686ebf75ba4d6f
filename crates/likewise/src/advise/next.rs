//! What to label next: a batch of items whose labels are likely to help most.
//!
//! | strategy | asks for | file |
//! |---|---|---|
//! | `vopt` | what leaves least unknown on the whole graph (sigma-optimality) | [`vopt`] |
//! | `density` | what stands for many items that are unsure and near no label | [`density`] |
//! | `coverage` | what stands for many items that are near no label | [`coverage`] |
//! | `uncertain` | the items between two classes | [`uncertain`] |
//! | `auto` | `density`, which without labels is `coverage` | |
//!
//! A batch is chosen one by one, each in sight of those before it, and no two items of it are nearly the
//! same (cosine of their rows .995 or more) while others are left. Labeled items are never asked
//! for. Items of equal worth come in their order.
//!
//! **Use it** for the next labels of a pool like that of the labels so far. **Not** to measure with: labels
//! that were asked for so are no fair sample, and shares measured on them are too low or too high.
//! `results/advise` has what each strategy gains on labels drawn at random, and where it gains nothing.
//!
//! Cost: see the strategies; all but `vopt` take O(entries) and O(n) for each item of the batch, `vopt`
//! one solve each. Memory O(n).
//!
//! Source: see the strategies; which of them is `auto` was chosen on development sets, and once more after
//! the sets of `results/advise` were seen.

pub mod coverage;
pub mod density;
mod pool;
pub mod uncertain;
pub mod vopt;

use serde::{Deserialize, Serialize};

use self::coverage::Cover;
use self::pool::{Chooser, Copies};
pub use self::pool::{Pool, Suggestion};
use self::uncertain::Uncertain;
use self::vopt::Vopt;
use crate::error::Hint;
use crate::{Error, Label, Monitor, Result};

/// How the next items are chosen; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// What gained most on development sets, on the mean of all sizes, by little: `density`.
    #[default]
    Auto,
    /// The smallest margin between two classes.
    Uncertain,
    /// What leaves least unknown on the graph: sigma-optimality.
    Vopt,
    /// Uncertainty of all that an item stands for.
    Density,
    /// How many items without a label near it an item stands for.
    Coverage,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::Uncertain,
        Self::Vopt,
        Self::Density,
        Self::Coverage,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Uncertain => "uncertain",
            Self::Vopt => "vopt",
            Self::Density => "density",
            Self::Coverage => "coverage",
        }
    }

    /// The strategy of this name. Fails on another, with all names.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|own| own.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::parameter("strategy", name, &format!("must be one of {names}"))
                .hint(Hint::ListNames)
        })
    }

    /// What `auto` stands for; any other is itself.
    pub fn resolved(self) -> Self {
        match self {
            Self::Auto => Self::Density,
            other => other,
        }
    }
}

/// Asks for the next items.
///
/// ```
/// use likewise::advise::{next::{Ask, Pool, Strategy}, shares::shares};
/// use likewise::{Labels, Monitor, graph::KnnGraph};
/// let x = ndarray::array![[1.0, 0.0], [1.0, 0.1], [0.7, 0.7], [0.1, 1.0], [0.0, 1.0]];
/// let labels = Labels::parse(["a", "", "", "", "b"]);
/// let monitor = Monitor::silent();
/// let graph = KnnGraph::new().k(2).build(x.view(), &monitor)?;
/// let shares = shares(&graph, &labels, &monitor)?;
/// let pool = Pool {
///     graph: &graph,
///     labels: &labels,
///     shares: shares.view(),
///     askable: &[true; 5],
///     rows: Some(x.view()),
/// };
/// let next = Ask::new(1).strategy(Strategy::Uncertain).next(&pool, &monitor)?;
/// assert_eq!(next[0].item, 2);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    budget: usize,
    strategy: Strategy,
}

impl Ask {
    /// For so many items, by `auto`.
    pub fn new(budget: usize) -> Self {
        Self {
            budget,
            strategy: Strategy::Auto,
        }
    }

    /// How they are chosen.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The next items of a pool, the first to be labeled first; fewer than were asked for where
    /// there are no more.
    ///
    /// Fails for a budget of 0, where lengths differ, on NaN, and when cancelled.
    pub fn next(&self, pool: &Pool, monitor: &Monitor) -> Result<Vec<Suggestion>> {
        if self.budget == 0 {
            return Err(Error::parameter("budget", 0, "must be at least 1"));
        }
        pool.check()?;
        let open = (0..pool.graph.n())
            .filter(|&item| pool.askable[item] && pool.labels[item] == Label::Unknown);
        let open: Vec<usize> = open.collect();
        let budget = self.budget.min(open.len());
        if budget == 0 {
            return Ok(Vec::new());
        }
        let mut chooser: Box<dyn Chooser> = match self.strategy.resolved() {
            Strategy::Uncertain if pool.is_unsure() => Box::new(Uncertain::of(pool)),
            Strategy::Density | Strategy::Auto => Box::new(density::cover(pool)),
            Strategy::Coverage | Strategy::Uncertain => {
                Box::new(Cover::new(pool.graph, pool.labels, None))
            }
            Strategy::Vopt => Box::new(Vopt::of(pool, monitor)?),
        };
        monitor.start("what to label next", budget as u64);
        let copies = Copies::of(pool);
        let mut batch: Vec<Suggestion> = Vec::with_capacity(budget);
        // Open items, copies of what is in the batch apart.
        let (mut left, mut apart) = (open, Vec::new());
        let mut only_copies = false;
        while batch.len() < budget {
            if left.is_empty() {
                left = std::mem::take(&mut apart);
                left.sort_unstable();
                only_copies = true;
            }
            let worth = chooser.worth();
            // The first of the largest.
            let best = (0..left.len()).reduce(|best, place| {
                let (own, most) = (worth[left[place]], worth[left[best]]);
                if own > most { place } else { best }
            });
            let Some(place) = best else { break };
            let item = left.remove(place);
            let is_last = left.is_empty() && apart.is_empty();
            let looks = !only_copies && !is_last;
            if looks && batch.iter().any(|taken| copies.are(item, taken.item)) {
                apart.push(item);
                continue;
            }
            batch.push(pool.suggestion(item, worth[item]));
            chooser.take(item, monitor)?;
            monitor.step(batch.len() as u64)?;
        }
        monitor.end();
        Ok(batch)
    }
}

#[cfg(test)]
mod tests;
