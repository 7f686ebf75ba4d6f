//! Setters and rules of parameters that many methods share, so that each is described once.

/// Writes the setters of the named fields; of `solver` also what makes the solver of them.
macro_rules! setters {
    (@mu) => {
        /// Weight of the labels against the smoothness, above 0.
        #[must_use]
        pub fn mu(mut self, mu: f64) -> Self {
            self.mu = mu;
            self
        }
    };
    (@gamma) => {
        /// Weight of the labels against the smoothness, above 0.
        #[must_use]
        pub fn gamma(mut self, gamma: f64) -> Self {
            self.gamma = gamma;
            self
        }
    };
    (@alpha) => {
        /// Share of its score that a node takes from its neighbours, above 0 and below 1.
        #[must_use]
        pub fn alpha(mut self, alpha: f64) -> Self {
            self.alpha = alpha;
            self
        }
    };
    (@pair_factor) => {
        /// Times a negative pair counts in the sum over pairs, above 0: 2 where both
        /// orders are summed as printed, 1 where each pair counts once.
        #[must_use]
        pub fn pair_factor(mut self, pair_factor: f64) -> Self {
            self.pair_factor = pair_factor;
            self
        }
    };
    (@mass) => {
        /// Class-mass normalisation of the scores.
        #[must_use]
        pub fn mass(mut self, mass: $crate::propagate::Mass) -> Self {
            self.mass = mass;
            self
        }
    };
    (@solver) => {
        /// Relative residual at which the solver stops, between 0 and 1.
        #[must_use]
        pub fn tolerance(mut self, tolerance: f64) -> Self {
            self.tolerance = tolerance;
            self
        }

        /// Most iterations of the solver.
        #[must_use]
        pub fn max_iterations(mut self, max_iterations: usize) -> Self {
            self.max_iterations = max_iterations;
            self
        }

        pub(in crate::propagate) fn solver(&self) -> $crate::solve::ConjugateGradient {
            $crate::solve::ConjugateGradient {
                tolerance: self.tolerance,
                max_iterations: self.max_iterations,
            }
        }
    };
    ($($name:ident)*) => {
        $(setters!(@$name);)*
    };
}
pub(crate) use setters;

use crate::{Error, Result};

/// The largest weight. What it is weighed against is about 1, of which 16 digits are held: beyond
/// this nothing is left of it, and soon everything is 0 or infinite.
const LARGEST: f64 = 1e12;

/// Fails unless `value` is above 0, and at most [`LARGEST`].
pub(crate) fn positive(field: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        bounded(field, value)
    } else {
        Err(Error::parameter(field, value, "must be finite and above 0"))
    }
}

/// Fails unless `value` lies strictly between 0 and 1.
pub(crate) fn fraction(field: &str, value: f64) -> Result<()> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        let rule = "must be above 0 and below 1";
        Err(Error::parameter(field, value, rule))
    }
}

/// Fails unless `value` is at least 0, and at most [`LARGEST`].
pub(crate) fn not_negative(field: &str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        bounded(field, value)
    } else {
        let rule = "must be finite and at least 0";
        Err(Error::parameter(field, value, rule))
    }
}

fn bounded(field: &str, value: f64) -> Result<()> {
    if value <= LARGEST {
        return Ok(());
    }
    let rule = format!("must be at most {LARGEST:e}: beyond it all else is lost in rounding");
    Err(Error::parameter(field, format!("{value:e}"), &rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_that_drown_all_else_are_refused() {
        for rule in [positive, not_negative] {
            for fine in [1e-12, 1.0, 1e12] {
                rule("mu", fine).unwrap();
            }
            for odd in [-1.0, f64::NAN, f64::INFINITY] {
                let e = rule("mu", odd).unwrap_err().to_string();
                assert!(e.contains("must be finite"), "{e}");
            }
            for large in [1.1e12, 1e308] {
                let e = rule("mu", large).unwrap_err().to_string();
                assert!(e.starts_with("mu = 1"), "{e}");
                assert!(e.contains("must be at most 1e12"), "{e}");
            }
        }
    }
}
