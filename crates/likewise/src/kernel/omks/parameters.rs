//! The parameters of OMKS.

use serde::{Deserialize, Serialize};

use crate::kernel::Kernel;
use crate::{Error, Result};

/// Triplets that [`Theta::Rate`] counts mistakes among.
const RATE: f64 = 100.0;
/// Most passes over the triplets.
const EPOCHS: usize = 1_000_000;

/// A kernel, and the view whose rows it compares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Which of the views, from 0.
    pub view: usize,
    /// How its rows are compared.
    pub kernel: Kernel,
}

/// In which order triplets are learned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As they come.
    Given,
    /// Drawn anew in every epoch.
    Shuffled,
}

/// How mistakes become weights of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Theta {
    /// `beta^mistakes`, as published: with very many triplets nearly all goes to the best kernel.
    Mistakes,
    /// `beta^(mistakes in a hundred)`: mixes kernels however many triplets there are.
    Rate,
}

impl Theta {
    /// Weights that add up to 1.
    pub(crate) fn weights(self, mistakes: &[u64], seen: u64, beta: f64) -> Vec<f64> {
        let least = mistakes.iter().copied().min().unwrap_or(0);
        let unit = match self {
            Self::Mistakes => 1.0,
            Self::Rate => RATE / seen.max(1) as f64,
        };
        let each = mistakes.iter().map(|&count| (count - least) as f64 * unit);
        let raw: Vec<f64> = each.map(|count| (count * beta.ln()).exp()).collect();
        let sum: f64 = raw.iter().sum();
        raw.into_iter().map(|weight| weight / sum).collect()
    }
}

/// Parameters of OMKS; see [`omks`](super).
///
/// ```
/// use likewise::kernel::{Kernel, Omks, Source};
/// use likewise::{Monitor, Triplets};
/// let x = ndarray::array![[0.0, 1.0], [0.2, 0.8], [2.0, 1.0], [2.2, 0.9_f32]];
/// let mut triplets = Triplets::default();
/// triplets.push(0, 1, 2, 1.0);
/// triplets.push(2, 3, 1, 1.0);
/// let all = Kernel::ALL_FOUR.map(|kernel| Source { view: 0, kernel });
/// let found = Omks::new().fit(&[x.view()], &all, &triplets, 1, &Monitor::silent())?;
/// let f = found.scores(&[x.view()], &[x.view()])?;
/// assert!(f[(0, 1)] > f[(0, 2)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Omks {
    pub(super) aggressiveness: f64,
    pub(super) beta: f64,
    pub(super) epochs: usize,
    pub(super) order: Order,
    pub(super) minibatch: usize,
    pub(super) theta: Theta,
}

impl Default for Omks {
    fn default() -> Self {
        Self {
            aggressiveness: 0.1,
            beta: 0.9,
            epochs: 1,
            order: Order::Shuffled,
            minibatch: 1,
            theta: Theta::Mistakes,
        }
    }
}

impl Omks {
    /// C = .1, beta = .9, one pass in a drawn order. All are ours: the source prints ranges alone, C in
    /// [0, 1] and beta in (0, 1), and tunes both; of the order it says nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// `C`, the longest step, above 0.
    #[must_use]
    pub fn aggressiveness(mut self, aggressiveness: f64) -> Self {
        self.aggressiveness = aggressiveness;
        self
    }

    /// What a mistake leaves of a kernel's weight, between 0 and 1.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> Self {
        self.beta = beta;
        self
    }

    /// Passes over the triplets, at least 1 and at most a million.
    #[must_use]
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.epochs = epochs;
        self
    }

    /// The order of the triplets.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Triplets that are judged by the same state, and whose steps are then averaged; 1 is the
    /// rule as published.
    #[must_use]
    pub fn minibatch(mut self, minibatch: usize) -> Self {
        self.minibatch = minibatch;
        self
    }

    /// How mistakes become weights.
    #[must_use]
    pub fn theta(mut self, theta: Theta) -> Self {
        self.theta = theta;
        self
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<()> {
        if !(self.aggressiveness.is_finite() && self.aggressiveness > 0.0) {
            let rule = "must be above 0";
            return Err(Error::parameter(
                "omks.aggressiveness",
                self.aggressiveness,
                rule,
            ));
        }
        if !(self.beta > 0.0 && self.beta < 1.0) {
            let rule = "must be between 0 and 1, both excluded";
            return Err(Error::parameter("omks.beta", self.beta, rule));
        }
        if self.epochs == 0 {
            return Err(Error::parameter("omks.epochs", 0, "must be at least 1"));
        }
        if self.epochs > EPOCHS {
            let rule = format!("must be at most {EPOCHS}");
            return Err(Error::parameter("omks.epochs", self.epochs, &rule));
        }
        if self.minibatch == 0 {
            return Err(Error::parameter("omks.minibatch", 0, "must be at least 1"));
        }
        Ok(())
    }
}
