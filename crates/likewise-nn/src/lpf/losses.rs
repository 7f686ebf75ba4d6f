//! The four losses of a batch, each a mean over the rows that it is about.

use burn::tensor::Tensor;
use burn::tensor::activation::{log_softmax, softmax};

/// `-log p(y)` of rows whose classes are `own` (one 1 a row, `[B, C]`).
pub(super) fn cross_entropy(logits: Tensor<2>, own: Tensor<2>) -> Tensor<1> {
    (log_softmax(logits, 1) * own).sum_dim(1).neg().mean()
}

/// `|f - c_y|^2`, where `centers` (`[B, d]`) has the centre of the class of each row.
pub(super) fn center(features: Tensor<2>, centers: Tensor<2>) -> Tensor<1> {
    (features - centers).square().sum_dim(1).mean()
}

/// `-sum_k p_k log p_k`.
pub(super) fn entropy(logits: Tensor<2>) -> Tensor<1> {
    let log = log_softmax(logits.clone(), 1);
    (softmax(logits, 1) * log).sum_dim(1).neg().mean()
}

/// `|x - x'|^2`.
pub(super) fn reconstruction(x: Tensor<2>, rebuilt: Tensor<2>) -> Tensor<1> {
    (x - rebuilt).square().sum_dim(1).mean()
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, TensorData};

    use super::*;

    const Z: [[f64; 3]; 4] = [
        [2.0, 0.5, -1.0],
        [0.0, 0.0, 0.0],
        [1.0, 3.0, 0.2],
        [-2.0, 4.0, 1.0],
    ];

    fn tensor<const N: usize, const D: usize>(rows: [[f64; D]; N]) -> Tensor<2> {
        let device = Device::flex().autodiff();
        Tensor::from_data(TensorData::from(rows), (&device, DType::F64))
    }

    fn own() -> Tensor<2> {
        tensor([
            [1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0],
            [0.0, 1.0, 0.0],
            [0.0, 1.0, 0.0],
        ])
    }

    fn value(t: Tensor<1>) -> f64 {
        t.try_into_vec_as::<f64>().unwrap()[0]
    }

    fn values(t: Tensor<2>) -> Vec<f64> {
        t.try_into_vec_as::<f64>().unwrap()
    }

    #[test]
    fn the_printed_losses_and_gradients() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
        near(
            4.0 * value(cross_entropy(tensor(Z), own())),
            1.569_973_523_633_267_8,
        );
        near(4.0 * value(entropy(tensor(Z))), 2.474_956_174_845_155_4);
        let gradient = |loss: fn(Tensor<2>) -> Tensor<1>| {
            let z = tensor(Z).require_grad();
            values(z.grad(&loss(z.clone()).backward()).unwrap())
        };
        let expected = [
            -0.214_402_965_410_724_2,
            0.175_290_392_140_036_67,
            0.039_112_573_270_687_45,
            1.0 / 3.0,
            1.0 / 3.0,
            -2.0 / 3.0,
        ];
        for (g, e) in gradient(|z| cross_entropy(z, own())).iter().zip(expected) {
            near(4.0 * g, e);
        }
        let expected = [
            -0.298_741_583_115_629_65,
            0.196_277_330_926_469_07,
            0.102_464_252_189_160_58,
            0.0,
            0.0,
            0.0,
            0.184_577_488_910_390_77,
            -0.308_184_185_404_254,
            0.123_606_696_493_863_19,
        ];
        for (g, e) in gradient(entropy).iter().zip(expected) {
            near(4.0 * g, e);
        }
        let f = [[1.0, 2.0], [3.0, 0.0], [0.0, 1.0], [2.0, 2.0], [-1.0, 1.0]];
        let c = [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]];
        near(value(center(tensor(f), tensor(c))), 3.4);
        near(value(reconstruction(tensor(f), tensor(c))), 3.4);
    }

    #[test]
    fn gradients_are_the_slopes() {
        let losses: [fn(Tensor<2>) -> Tensor<1>; 4] = [
            |z| cross_entropy(z, own()),
            entropy,
            |z| center(z, own()),
            |z| reconstruction(own(), z),
        ];
        for loss in losses {
            let z = tensor(Z).require_grad();
            let gradient = values(z.grad(&loss(z.clone()).backward()).unwrap());
            for i in 0..12 {
                let at = |by: f64| {
                    let mut moved = Z;
                    moved[i / 3][i % 3] += by;
                    value(loss(tensor(moved)))
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!(
                    (slope - gradient[i]).abs() < 1e-8,
                    "{slope} {}",
                    gradient[i]
                );
            }
        }
    }

    #[test]
    fn rows_of_certainty_have_no_entropy() {
        let z = tensor([[1e4, 0.0, -1e4]]).require_grad();
        let loss = entropy(z.clone());
        let gradient = values(z.grad(&loss.clone().backward()).unwrap());
        assert!(value(loss).abs() < 1e-12 && gradient.iter().all(|g| g.is_finite()));
    }
}
