//! Convolutions whose values lie in another order than their shapes say.
//!
//! numpy's writer of safetensors puts down the memory of an array as it lies, but the shape of
//! the array as it is seen. Weights of `TensorFlow` (height, width, in, out) that were only
//! transposed for the shape of `PyTorch` (out, in, height, width) come out scrambled, and such
//! files go round. They give no error and useless features.

use ndarray::{ArrayView4, Axis, Slice};

use super::weights::Weights;

/// Filters are taken for scrambled where neighbours in them differ like noise as they are
/// declared, and clearly less in the other order. Noise is at 1. All filters of a `ResNet-50`
/// and a `SqueezeNet` are at .44 and .54 in their own order, and above .97 in the other.
const NOISE: f64 = 0.95;
const SMOOTH: f64 = 0.85;

/// Values below which noise could look smooth.
const ENOUGH: usize = 10_000;

/// The weights with every convolution in the order that its shape says, whichever they were in.
pub(super) fn in_order(weights: Weights) -> Weights {
    let (mut values, mut declared, mut turned) = (0, 0.0, 0.0);
    for (name, shape) in weights.shapes() {
        let (Some((_, data)), &[_, inner, height, width]) = (weights.get(name), shape) else {
            continue;
        };
        if inner > 1 && height > 1 && width > 1 && data.len() > 1 {
            values += data.len();
            declared += data.len() as f64 * roughness(as_declared(shape, data));
            turned += data.len() as f64 * roughness(as_lying(shape, data));
        }
    }
    let of_noise = |sum: f64| sum / values as f64;
    if values < ENOUGH || of_noise(declared) <= NOISE || of_noise(turned) >= SMOOTH {
        return weights;
    }
    let mut ordered = Weights::default();
    for (name, shape) in weights.shapes() {
        let Some((_, data)) = weights.get(name) else {
            continue;
        };
        let data = match shape.len() {
            4 => as_lying(shape, data).iter().copied().collect(),
            _ => data.to_vec(),
        };
        ordered
            .insert(name, shape.to_vec(), data)
            .expect("the same values under the same shape");
    }
    ordered
}

fn as_declared<'a>(shape: &[usize], data: &'a [f32]) -> ArrayView4<'a, f32> {
    let shape = (shape[0], shape[1], shape[2], shape[3]);
    ArrayView4::from_shape(shape, data).expect("as many values as the shape says")
}

/// The same shape over values in the order height, width, in, out.
fn as_lying<'a>(shape: &[usize], data: &'a [f32]) -> ArrayView4<'a, f32> {
    let shape = [shape[2], shape[3], shape[1], shape[0]];
    as_declared(&shape, data).permuted_axes([3, 2, 0, 1])
}

/// Mean squared difference of values that are neighbours in a filter, as a share of that of any
/// two values.
fn roughness(filters: ArrayView4<f32>) -> f64 {
    let n = filters.len() as f64;
    let moment = |power: i32| {
        filters
            .iter()
            .map(|&v| f64::from(v).powi(power))
            .sum::<f64>()
            / n
    };
    let (mean, square) = (moment(1), moment(2));
    let variance = square - mean * mean;
    if variance <= 0.0 {
        return 1.0;
    }
    let along = |axis: Axis| {
        let first = filters.slice_axis(axis, Slice::from(..-1));
        let second = filters.slice_axis(axis, Slice::from(1..));
        let squares = first
            .iter()
            .zip(second)
            .map(|(&a, &b)| f64::from(a - b).powi(2));
        squares.sum::<f64>() / first.len() as f64
    };
    f64::midpoint(along(Axis(2)), along(Axis(3))) / (2.0 * variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 64 filters of 3 x 3 on 32 channels: a slope each where `smooth`, else noise.
    fn filters(smooth: bool) -> Vec<f32> {
        let mut state = 1_u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        let mut values = Vec::new();
        for _ in 0..64 * 32 {
            let level = noise();
            values.extend((0..9).map(|_| {
                if smooth {
                    level + 0.3 * noise()
                } else {
                    noise()
                }
            }));
        }
        values
    }

    fn weights(values: Vec<f32>) -> Weights {
        let mut weights = Weights::default();
        weights.insert("conv", vec![64, 32, 3, 3], values).unwrap();
        let one = (0..6).map(|v| v as f32).collect();
        weights.insert("one", vec![3, 2, 1, 1], one).unwrap();
        let matrix = vec![1.0, 2.0, 3.0, 4.0];
        weights.insert("matrix", vec![2, 2], matrix).unwrap();
        weights
    }

    /// The bytes of numpy's writer: memory in the order height, width, in, out.
    fn scrambled(of: &Weights) -> Weights {
        let mut scrambled = Weights::default();
        for (name, shape) in of.shapes() {
            let mut values = of.get(name).unwrap().1.to_vec();
            if shape.len() == 4 {
                let lying = as_declared(shape, &values).permuted_axes([2, 3, 1, 0]);
                values = lying.iter().copied().collect();
            }
            scrambled.insert(name, shape.to_vec(), values).unwrap();
        }
        scrambled
    }

    #[test]
    fn scrambled_filters_are_put_in_order() {
        let right = weights(filters(true));
        assert_ne!(scrambled(&right), right);
        assert_eq!(in_order(scrambled(&right)), right);
    }

    #[test]
    fn filters_in_order_and_noise_stay() {
        for weights in [weights(filters(true)), weights(filters(false))] {
            assert_eq!(in_order(weights.clone()), weights);
        }
        let noise = scrambled(&weights(filters(false)));
        assert_eq!(in_order(noise.clone()), noise);
    }

    #[test]
    fn what_has_no_filters_stays() {
        let mut flat = Weights::default();
        flat.insert("flat", vec![200, 10, 3, 3], vec![0.5; 18_000])
            .unwrap();
        flat.insert("none", vec![0, 2, 3, 3], Vec::new()).unwrap();
        assert_eq!(in_order(flat.clone()), flat);
        assert_eq!(in_order(Weights::default()), Weights::default());
    }
}
