//! What holds for every loss of the registry, and the losses of pairs against plain loops.

mod contract;
mod naive;
mod weighted;

use burn::tensor::{DType, Device, Tensor, TensorData};
use likewise::seed;
use likewise_nn::loss::{Batch, Classes, Loss, Pairs};
use ndarray::{Array2, Axis};
use rand::RngExt;

/// A batch in plain numbers.
#[derive(Clone)]
struct Case {
    x: Array2<f64>,
    classes: Vec<u32>,
    weights: Vec<f32>,
    count: u32,
}

impl Case {
    /// Random rows of `count` classes in turn, weight 1.
    fn random(n: usize, d: usize, count: u32, seed: u64) -> Self {
        Self {
            x: random(n, d, seed),
            classes: (0..n as u32).map(|i| i % count).collect(),
            weights: vec![1.0; n],
            count,
        }
    }

    /// Only these items.
    fn select(&self, items: &[usize]) -> Self {
        Self {
            x: self.x.select(Axis(0), items),
            classes: items.iter().map(|&i| self.classes[i]).collect(),
            weights: items.iter().map(|&i| self.weights[i]).collect(),
            count: self.count,
        }
    }

    fn batch(&self, dtype: DType) -> Batch {
        let options = (&Device::flex().autodiff(), dtype);
        let (classes, weights) = (&self.classes, &self.weights);
        Batch {
            pairs: Pairs::from_classes(classes, weights, options).unwrap(),
            classes: Some(Classes::new(classes, self.count as usize, weights, options).unwrap()),
            triplets: None,
        }
    }

    /// Proxies that the loss needs.
    fn proxies(&self, loss: &Loss) -> Array2<f64> {
        let rows = self.count as usize * loss.proxies_per_class();
        random(rows, self.x.ncols(), 99)
    }

    fn measure(&self, loss: &Loss) -> Measured {
        measure(
            loss,
            &self.x,
            &self.proxies(loss),
            &self.batch(DType::F64),
            DType::F64,
        )
    }
}

fn random(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut rng = seed::stream(seed, "loss tests");
    Array2::from_shape_fn((rows, columns), |_| rng.random_range(-1.0..1.0))
}

/// A loss and its gradients.
#[derive(Debug)]
struct Measured {
    value: f64,
    dx: Array2<f64>,
    dp: Array2<f64>,
}

fn measure(loss: &Loss, x: &Array2<f64>, p: &Array2<f64>, batch: &Batch, dtype: DType) -> Measured {
    let device = Device::flex().autodiff();
    let tensor = |rows: &Array2<f64>| -> Tensor<2> {
        let data = TensorData::new(rows.iter().copied().collect(), [rows.nrows(), rows.ncols()]);
        Tensor::from_data(data, (&device, dtype)).require_grad()
    };
    let (x_tensor, proxies) = (tensor(x), (p.nrows() > 0).then(|| tensor(p)));
    let result = loss
        .forward(x_tensor.clone(), batch, proxies.clone())
        .unwrap();
    let gradients = result.backward();
    // A loss that does not depend on its input has no gradient there.
    let read = |t: Option<Tensor<2>>, like: &Array2<f64>| match t {
        Some(t) => {
            let values = t.try_into_vec_as::<f64>().unwrap();
            Array2::from_shape_vec(like.dim(), values).unwrap()
        }
        None => Array2::zeros(like.dim()),
    };
    Measured {
        value: result.try_into_vec_as::<f64>().unwrap()[0],
        dx: read(x_tensor.grad(&gradients), x),
        dp: read(proxies.and_then(|p| p.grad(&gradients)), p),
    }
}
