//! A toy propagation: `(L + U / strength) F = U Y / strength`, labels as springs.
//!
//! **Use it** to see what a propagation has to say of itself. **Not** to label data: it is
//! fitted on labeled items with a weight that nobody chose.
//!
//! Cost: O(iterations x entries x C), memory O(n C).
//!
//! Source: none.

use serde::{Deserialize, Serialize};

use super::harmonic::deviation;
use super::parts::known::Known;
use super::parts::parameter::{positive, setters};
use super::{Given, Mass, Propagate, Spread};
use crate::solve::ConjugateGradient;
use crate::{Monitor, Result};

/// Parameters of the toy propagation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyPropagation {
    strength: f64,
    mass: Mass,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for ToyPropagation {
    fn default() -> Self {
        let solver = ConjugateGradient::default();
        Self {
            strength: 20.0,
            mass: Mass::None,
            tolerance: solver.tolerance,
            max_iterations: solver.max_iterations,
        }
    }
}

impl ToyPropagation {
    setters!(mass solver);
}

impl Propagate for ToyPropagation {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        positive("strength", self.strength)?;
        let known = Known::new(given.graph, given.labels, monitor)?;
        monitor.start("toy propagation", None);
        let mut solution = deviation(&known, self.strength.recip(), &self.solver(), monitor)?;
        monitor.end();
        let convergence = known.convergence(&[&solution], monitor);
        let scores = known.with_proportions(std::mem::take(&mut solution.x));
        Ok(known.beliefs(scores, self.mass, convergence).into())
    }
}
