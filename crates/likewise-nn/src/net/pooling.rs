//! From the map of a network to one row an image.

use serde::{Deserialize, Serialize};
#[cfg(feature = "networks")]
use {
    super::tensor::l2_normalize,
    burn::tensor::Tensor,
    burn::tensor::module::interpolate,
    burn::tensor::ops::{InterpolateMode, InterpolateOptions},
};

/// Levels of square regions of R-MAC.
const LEVELS: usize = 3;

/// Overlap of neighbouring regions that R-MAC comes as close to as it can.
const OVERLAP: f64 = 0.4;

/// How a map becomes a row.
///
/// | kind | row | use it for |
/// |---|---|---|
/// | `average` | mean over the places | what networks were trained with |
/// | `max` | largest over the places | fine details (birds, cars) |
/// | `both` | sum of the two | the same, from a small head |
/// | `rmac` | unit sum over regions and scales | whole scenes, frozen networks |
///
/// **R-MAC.** The input at 1, 1/sqrt(2) and 1/2 of its size goes through the network. Over
/// each map lie squares of side `2 min(H, W) / (level + 1)`, `level = 1, 2, 3`, that
/// overlap by about 40 %, and the whole map. The largest value in each, the row scaled to
/// length 1, the sum over regions scaled to length 1, the sum over scales scaled to length 1.
/// **When not**: it costs 1.75 passes, and its rows have no length that a head could use.
///
/// **Source.** Tolias et al., ICLR 2016, with the regions of its authors' code. For the
/// scales of the deep resurrection paper give images with a longer side of 512.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pool {
    /// Mean over the places.
    #[default]
    Average,
    /// Largest value over the places.
    Max,
    /// Sum of mean and largest value.
    Both,
    /// Regional maxima at three scales.
    Rmac,
}

impl Pool {
    /// Sizes at which the network sees an input of `size`.
    pub(super) fn scales(self, [height, width]: [usize; 2]) -> Vec<[usize; 2]> {
        let scaled = |factor: f64| {
            [height, width].map(|side| ((side as f64 * factor).round() as usize).max(1))
        };
        match self {
            Self::Rmac => vec![
                [height, width],
                scaled(std::f64::consts::FRAC_1_SQRT_2),
                scaled(0.5),
            ],
            _ => vec![[height, width]],
        }
    }

    /// `[batch, channels, height, width]` through `network`, to `[batch, its channels]`.
    #[cfg(feature = "networks")]
    pub(super) fn forward(
        self,
        input: Tensor<4>,
        network: impl Fn(Tensor<4>) -> Tensor<4>,
    ) -> Tensor<2> {
        match self {
            Self::Average => mean(network(input)),
            Self::Max => largest(network(input)),
            Self::Both => {
                let map = network(input);
                mean(map.clone()) + largest(map)
            }
            Self::Rmac => {
                let [_, _, height, width] = input.dims();
                let rows = self.scales([height, width]).into_iter().map(|size| {
                    let options = InterpolateOptions::new(InterpolateMode::Bilinear)
                        .with_align_corners(false)
                        .with_output_size(size);
                    let scaled = if size == [height, width] {
                        input.clone()
                    } else {
                        interpolate(input.clone(), options)
                    };
                    regional(network(scaled))
                });
                l2_normalize(sum(rows))
            }
        }
    }
}

#[cfg(feature = "networks")]
fn mean(map: Tensor<4>) -> Tensor<2> {
    map.flatten::<3>(2, 3).mean_dim(2).squeeze_dim(2)
}

#[cfg(feature = "networks")]
fn largest(map: Tensor<4>) -> Tensor<2> {
    map.flatten::<3>(2, 3).max_dim(2).squeeze_dim(2)
}

#[cfg(feature = "networks")]
fn sum(rows: impl Iterator<Item = Tensor<2>>) -> Tensor<2> {
    rows.reduce(|a, b| a + b)
        .expect("there is a whole map and a first scale")
}

/// R-MAC of one map.
#[cfg(feature = "networks")]
fn regional(map: Tensor<4>) -> Tensor<2> {
    let [batch, channels, height, width] = map.dims();
    let rows = regions(height, width).into_iter().map(|[top, left, h, w]| {
        let region = map
            .clone()
            .slice([0..batch, 0..channels, top..top + h, left..left + w]);
        l2_normalize(largest(region))
    });
    l2_normalize(sum(rows))
}

/// Top, left, height and width of the whole map and of the squares on it.
fn regions(height: usize, width: usize) -> Vec<[usize; 4]> {
    let side = height.min(width);
    let long = height.max(width);
    // More squares along the longer side: of 1 to 6 the number that overlaps best.
    let overlap = |more: usize| 1.0 - (long - side) as f64 / (more * side) as f64;
    let distance = |more: &usize| (overlap(*more) - OVERLAP).abs();
    let more = if long == side {
        0
    } else {
        (1..=6)
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .unwrap_or(1)
    };
    let mut regions = vec![[0, 0, height, width]];
    for level in 1..=LEVELS {
        let square = 2 * side / (level + 1);
        if square == 0 {
            continue;
        }
        let starts = |size: usize| {
            let count = level + if size > side { more } else { 0 };
            let step = (size - square) as f64 / (count - 1).max(1) as f64;
            (0..count).map(move |i| (i as f64 * step) as usize)
        };
        for top in starts(height) {
            regions.extend(starts(width).map(|left| [top, left, square, square]));
        }
    }
    regions
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::super::tensor::to_matrix;
    use super::*;

    fn map(values: [[[f32; 3]; 2]; 2]) -> Tensor<4> {
        Tensor::<3>::from_floats(values, &Device::flex()).unsqueeze()
    }

    #[test]
    fn the_squares_cover_the_map() {
        // 1 + 1 + 4 + 9 on a square map: the authors' code counts the whole one twice.
        assert_eq!(regions(6, 6).len(), 15);
        let of = |level_side| {
            regions(6, 6)
                .into_iter()
                .filter(move |r| r[2] == level_side)
        };
        assert_eq!(
            of(4).collect::<Vec<_>>(),
            [[0, 0, 4, 4], [0, 2, 4, 4], [2, 0, 4, 4], [2, 2, 4, 4]]
        );
        assert_eq!(of(3).map(|r| r[1]).max(), Some(3));
        // On 4 x 6 one more square in each row overlaps by .5, two more by .75: one more.
        let wide: Vec<_> = regions(4, 6)
            .into_iter()
            .filter(|r| r[2..] == [4, 4])
            .collect();
        assert_eq!(wide, [[0, 0, 4, 4], [0, 2, 4, 4]]);
        // A map of one place has only itself.
        assert_eq!(regions(1, 1), [[0, 0, 1, 1], [0, 0, 1, 1],]);
    }

    #[test]
    fn rows_by_hand() {
        let x = map([
            [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]],
            [[4.0, 0.0, 0.0], [0.0, 2.0, 0.0]],
        ]);
        let row = |pool: Pool| {
            to_matrix(pool.forward(x.clone(), |x| x))
                .into_raw_vec_and_offset()
                .0
        };
        assert_eq!(row(Pool::Average), [1.0, 1.0]);
        assert_eq!(row(Pool::Max), [3.0, 4.0]);
        assert_eq!(row(Pool::Both), [4.0, 5.0]);
        let rmac = row(Pool::Rmac);
        assert!((rmac[0].hypot(rmac[1]) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn regional_maxima_by_hand() {
        // 2 x 3: the whole map, two 2x2 squares, then 1x1 squares of levels 2 and 3.
        let x = map([
            [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
            [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]],
        ]);
        let (h, w) = (2, 3);
        let mut expected = [0.0_f32; 2];
        for [top, left, side_h, side_w] in regions(h, w) {
            let first = f32::from(top == 0 && left == 0);
            let last = f32::from(top == 0 && left + side_w == 3);
            assert!(top + side_h <= h);
            let length = first.hypot(last).max(1e-12);
            expected[0] += first / length;
            expected[1] += last / length;
        }
        let length = expected[0].hypot(expected[1]);
        let row = to_matrix(regional(x)).into_raw_vec_and_offset().0;
        for (a, b) in row.iter().zip(expected) {
            assert!((a - b / length).abs() < 1e-5, "{row:?} {expected:?}");
        }
    }
}
