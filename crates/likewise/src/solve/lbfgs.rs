//! Limited-memory BFGS: minimises a smooth function of many numbers from its gradients.
//!
//! Use it for convex functions and dense parameters. Not for functions with corners, nor where
//! the Hessian times a vector is cheap (conjugate gradients are better there).
//!
//! Cost: one or two evaluations a step, and `4 MEMORY` products of vectors; memory
//! `2 MEMORY + 4` vectors.
//!
//! Source: Nocedal and Wright, Numerical Optimization, 2006, algorithms 7.4 and 7.5, with a line
//! search that halves the step until the function falls enough (Armijo). Pairs of steps and
//! changes of the gradient that would not keep the matrix positive are left out, which takes the
//! place of the second Wolfe condition.

use std::collections::VecDeque;

use crate::Result;

/// Past steps that tell of the curvature.
const MEMORY: usize = 8;
/// Share of the fall that the slope promises with which a step is content.
const ENOUGH: f64 = 1e-4;
/// Halvings after which no step is short enough: the digits are at their end.
const HALVINGS: usize = 40;

/// When it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Until {
    /// Most steps.
    pub(crate) steps: usize,
    /// Length of the gradient.
    pub(crate) gradient: f64,
}

/// The lowest point that was reached from `point`, where `at` gives value and gradient.
///
/// Fails where `at` fails.
pub(crate) fn minimise(
    mut point: Vec<f64>,
    until: Until,
    mut at: impl FnMut(&[f64]) -> Result<(f64, Vec<f64>)>,
) -> Result<Vec<f64>> {
    let (mut value, mut gradient) = at(&point)?;
    let mut past: VecDeque<Pair> = VecDeque::new();
    for _ in 0..until.steps {
        if dot(&gradient, &gradient).sqrt() <= until.gradient {
            break;
        }
        let mut direction = downhill(&gradient, &past);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 || !slope.is_finite() {
            // What the past tells is no use here.
            past.clear();
            direction = gradient.iter().map(|g| -g).collect();
            slope = -dot(&gradient, &gradient);
        }
        let mut length = if past.is_empty() {
            (1.0 / (-slope).sqrt()).min(1.0)
        } else {
            1.0
        };
        let mut next = None;
        for _ in 0..HALVINGS {
            let tried: Vec<f64> = (point.iter().zip(&direction))
                .map(|(p, d)| p + length * d)
                .collect();
            let (new, slopes) = at(&tried)?;
            if new <= value + ENOUGH * length * slope {
                next = Some((tried, new, slopes));
                break;
            }
            length /= 2.0;
        }
        let Some((tried, new, slopes)) = next else {
            break;
        };
        let step: Vec<f64> = tried.iter().zip(&point).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = slopes.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let curvature = dot(&step, &change);
        if curvature > 1e-10 * dot(&change, &change).sqrt() * dot(&step, &step).sqrt() {
            if past.len() == MEMORY {
                past.pop_front();
            }
            past.push_back(Pair {
                step,
                change,
                curvature,
            });
        }
        (point, value, gradient) = (tried, new, slopes);
    }
    Ok(point)
}

/// A step, how the gradient changed along it, and their product.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    curvature: f64,
}

/// Minus the inverse Hessian, as the past tells it, times the gradient.
fn downhill(gradient: &[f64], past: &VecDeque<Pair>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut factors = Vec::with_capacity(past.len());
    for pair in past.iter().rev() {
        let factor = dot(&pair.step, &direction) / pair.curvature;
        add(&mut direction, -factor, &pair.change);
        factors.push(factor);
    }
    if let Some(last) = past.back() {
        let scale = last.curvature / dot(&last.change, &last.change);
        for d in &mut direction {
            *d *= scale;
        }
    }
    for (pair, factor) in past.iter().zip(factors.into_iter().rev()) {
        let back = dot(&pair.change, &direction) / pair.curvature;
        add(&mut direction, factor - back, &pair.step);
    }
    direction
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], factor: f64, of: &[f64]) {
    for (to, of) in to.iter_mut().zip(of) {
        *to += factor * of;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UNTIL: Until = Until {
        steps: 500,
        gradient: 1e-8,
    };

    proptest! {
        #[test]
        fn the_minimum_of_a_bowl_is_found(
            scales in prop::collection::vec(0.01_f64..100.0, 1..20),
            center in -10.0_f64..10.0,
        ) {
            let found = minimise(vec![0.0; scales.len()], UNTIL, |x| {
                let value = x.iter().zip(&scales).map(|(x, s)| s * (x - center).powi(2)).sum();
                let slopes = x.iter().zip(&scales).map(|(x, s)| 2.0 * s * (x - center)).collect();
                Ok((value, slopes))
            })
            .unwrap();
            prop_assert!(found.iter().all(|x| (x - center).abs() < 1e-5), "{found:?}");
        }
    }

    #[test]
    fn a_bent_valley_is_followed() {
        // Rosenbrock's: its minimum is at (1, 1).
        let found = minimise(vec![-1.2, 1.0], UNTIL, |x| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            let slopes = vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b];
            Ok((a * a + 100.0 * b * b, slopes))
        })
        .unwrap();
        assert!((found[0] - 1.0).abs() < 1e-6 && (found[1] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn what_is_flat_or_fails_ends_at_once() {
        let flat = minimise(vec![3.0], UNTIL, |_| Ok((0.0, vec![0.0]))).unwrap();
        assert!((flat[0] - 3.0).abs() < 1e-12);
        let failed = minimise(vec![3.0], UNTIL, |_| Err(crate::Error::data("no")));
        assert!(failed.is_err());
    }
}
