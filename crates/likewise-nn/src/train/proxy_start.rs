//! Where proxies begin.

use likewise::seed::Rng;
use ndarray::Array2;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Draws that proxies begin as, whatever the items are: those that authors of losses print.
///
/// | name | draw | whose |
/// |---|---|---|
/// | `kaiming-normal` | N(0, 2 / P) | Proxy-Anchor (fan out) |
/// | `kaiming-uniform` | U(-1, 1) / sqrt(P) | `SoftTriple` (a = sqrt 5) |
/// | `normal` | scale N(0, 1) | `ProxyNCA++` (scale 1/8) |
///
/// of P proxies in all. Losses look at directions alone, but the length of a proxy says how fast a
/// step of Adam turns it.
///
/// **When to use it.** To repeat a paper. **When not.** With few labels on features: proxies that
/// begin as the means of their classes, as they do where nothing is said, are near right at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ProxyStart {
    /// Normal numbers of variance 2 / P.
    KaimingNormal,
    /// Uniform numbers up to 1 / sqrt P.
    KaimingUniform,
    /// Normal numbers of this standard deviation.
    Normal {
        /// The standard deviation, above 0.
        scale: f64,
    },
}

impl ProxyStart {
    /// Fails on a parameter out of its range.
    pub(super) fn validate(self) -> Result<()> {
        match self {
            Self::Normal { scale } if !(scale.is_finite() && scale > 0.0) => {
                let rule = "must be above 0";
                Err(Error::parameter("proxy_start.scale", scale, rule))
            }
            _ => Ok(()),
        }
    }

    /// `count` proxies of `columns`, as they begin.
    pub(super) fn draw(self, count: usize, columns: usize, rng: &mut Rng) -> Array2<f32> {
        let of = count.max(1) as f64;
        let scale = match self {
            Self::KaimingNormal => (2.0 / of).sqrt(),
            Self::KaimingUniform => of.sqrt().recip(),
            Self::Normal { scale } => scale,
        };
        Array2::from_shape_simple_fn((count, columns), || {
            let (u, v): (f64, f64) = (rng.random(), rng.random());
            let drawn = match self {
                Self::KaimingUniform => 2.0 * u - 1.0,
                // By Box and Muller.
                Self::KaimingNormal | Self::Normal { .. } => {
                    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
                }
            };
            (scale * drawn) as f32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 40,000 numbers the standard error of their variance is .7 % of it.
    #[test]
    fn draws_have_the_printed_spread() {
        let spread = |start: ProxyStart| {
            let mut rng = likewise::seed::stream(3, "test");
            let rows = start.draw(50, 800, &mut rng).mapv(f64::from);
            let mean = rows.mean().unwrap();
            let largest = rows.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
            (mean, rows.mapv(|v| v * v).mean().unwrap(), largest)
        };
        for (start, variance) in [
            (ProxyStart::KaimingNormal, 2.0_f64 / 50.0),
            (ProxyStart::KaimingUniform, 1.0 / 50.0 / 3.0),
            (ProxyStart::Normal { scale: 0.125 }, 1.0 / 64.0),
        ] {
            let (mean, found, largest): (f64, f64, f64) = spread(start);
            assert!(
                mean.abs() < 4.0 * (variance / 40_000.0_f64).sqrt(),
                "{start:?}: {mean}"
            );
            assert!((found / variance - 1.0).abs() < 0.03, "{start:?}: {found}");
            if start == ProxyStart::KaimingUniform {
                assert!(largest <= 1.0 / 50.0_f64.sqrt());
            }
        }
    }

    #[test]
    fn a_scale_that_is_none_is_refused() {
        for scale in [0.0, -1.0, f64::NAN] {
            let said = ProxyStart::Normal { scale }.validate().unwrap_err();
            assert!(said.to_string().starts_with("proxy_start.scale"), "{said}");
        }
        assert!(ProxyStart::KaimingNormal.validate().is_ok());
    }
}
