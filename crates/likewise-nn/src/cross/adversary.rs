//! The steps of [`Acmr`]: losses of a batch, what gradients move, and the pairs that teach.

use burn::module::{Module, ParamId};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Tensor, TensorData};
use likewise::cross::{Encoder, Model, Views};
use likewise::{Monitor, matrix, seed};
use ndarray::{Array1, Array2};

use super::acmr::{Acmr, Variant};
use super::layers::{Between, Layers};
use super::parts::{
    EPSILON, batches, centered, check_loss, check_rows, check_two, column, numbered,
};
use crate::net::{matrix_tensor, value_of};
use crate::train::gradient;
use crate::{Error, Result};

impl Acmr {
    /// Encoders of both modalities, from the labeled pairs.
    ///
    /// Fails on a parameter out of its range, unless there are two modalities, without labeled pairs of two
    /// classes, where all rows of a modality are the same, where the loss is no number any more, and when
    /// cancelled.
    pub fn fit(
        &self,
        views: &Views,
        seed: u64,
        device: &Device,
        monitor: &Monitor,
    ) -> Result<Model> {
        self.validate()?;
        check_two(views, "acmr")?;
        check_rows(views)?;
        let pairs = Pairs::of(views)?;
        let device = device.clone().autodiff();
        let mut nets = Nets::new(self, &pairs, seed, &device);
        let moved = nets.moved(self.published);
        let mut optimizer = AdamConfig::new()
            .with_beta_1(0.5)
            .with_epsilon(EPSILON)
            .init();
        let mut rng = seed::stream(seed, "batches of acmr");
        let n = pairs.class.len();
        let a_pass = n.div_ceil(self.batch);
        let epochs = self.epochs.max(self.least_steps.div_ceil(a_pass));
        monitor.start("adversarial retrieval", epochs as u64);
        for epoch in 0..epochs {
            let share = epoch as f64 / epochs as f64;
            let reversal = match (self.adversary, self.published) {
                (true, false) => 2.0 / (1.0 + (-10.0 * share).exp()) - 1.0,
                _ => 0.0,
            };
            for places in batches(n, self.batch, &mut rng) {
                monitor.check()?;
                let loss = self.loss(&nets, &pairs, &places, reversal, &device);
                check_loss("acmr", value_of(&loss), self.rate)?;
                let mut gradients = loss.backward();
                let mut gradients = GradientsParams::from_module(&mut gradients, &nets);
                let part = gradient::take(&nets, &mut gradients, &moved, 1.0);
                nets = optimizer.step(self.rate, nets, part);
            }
            monitor.step(epoch as u64 + 1)?;
        }
        monitor.end();
        let encoders = nets.projectors.iter().zip(pairs.mean);
        let encoders = encoders.map(|(layers, mean)| Encoder::Network(layers.network(mean)));
        Ok(Model {
            encoders: encoders.collect(),
        })
    }

    fn loss(
        &self,
        nets: &Nets,
        pairs: &Pairs,
        places: &[usize],
        reversal: f64,
        device: &Device,
    ) -> Tensor<1> {
        let rows = [0, 1].map(|t| matrix::select_rows(pairs.rows[t].view(), places));
        let class: Vec<usize> = places.iter().map(|&p| pairs.class[p]).collect();
        let weight: Vec<f32> = places.iter().map(|&p| pairs.weight[p]).collect();
        let weight = column(&weight, device);
        let [v, w] = [0, 1].map(|t| {
            let x = matrix_tensor(&rows[t], device);
            nets.projectors[t].forward(x, Between::Tanh, None)
        });
        let own = one_of(&class, pairs.classes, device);
        let of_labels = [&v, &w].map(|rows| {
            let z = nets.labels.forward(rows.clone(), Between::Nothing, None);
            cross_entropy(z, own.clone(), weight.clone())
        });
        let [a, b] = of_labels;
        let mut loss = (a + b).mul_scalar(self.labels);
        let pull = weight.clone();
        loss = loss
            + match self.variant {
                Variant::Simple => {
                    let unlike = unlike(&class, device);
                    let near = root((v.clone() - w.clone()).square() * pull);
                    let apart = hinge_apart(&v, &w, unlike, self.published);
                    near + apart.mul_scalar(0.02)
                }
                Variant::Triplet => {
                    let [by_first, by_second] = [0, 1].map(|t| most_alike(&rows[t], &class));
                    triplet(&v, &w, &by_first, device) + triplet(&w, &v, &by_second, device)
                }
            };
        if self.adversary {
            let told = |rows: &Tensor<2>, modality: usize| {
                let z = nets
                    .modality
                    .forward(reversed(rows, reversal), Between::Nothing, None);
                let own = one_of(&vec![modality; class.len()], 2, device);
                cross_entropy(z, own, weight.clone())
            };
            loss = loss + told(&v, 1) + told(&w, 0);
        }
        loss
    }
}

/// All that gradients move.
#[derive(Module, Debug)]
struct Nets {
    projectors: Vec<Layers>,
    labels: Layers,
    modality: Layers,
}

/// Identities of the parts begin above these.
const FIRST: [u64; 4] = [0, 100, 200, 300];

impl Nets {
    fn new(acmr: &Acmr, pairs: &Pairs, seed: u64, device: &Device) -> Self {
        let new = |widths: &[usize], between, id: u64, name: &str| {
            Layers::new(widths, between, (id, seed, name), device)
        };
        let projector = |t: usize| {
            let d = pairs.rows[t].ncols();
            let [first, second] = acmr.hidden[t];
            let first = if acmr.published {
                first
            } else {
                first.min(4 * d)
            };
            let widths = [d, first, second, acmr.dim];
            new(
                &widths,
                Between::Tanh,
                FIRST[t],
                &format!("projector of modality {t}"),
            )
        };
        Self {
            projectors: vec![projector(0), projector(1)],
            labels: new(
                &[acmr.dim, pairs.classes],
                Between::Nothing,
                FIRST[2],
                "classifier of labels",
            ),
            modality: new(
                &[acmr.dim, 20, 10, 2],
                Between::Nothing,
                FIRST[3],
                "classifier of modalities",
            ),
        }
    }

    /// The parameters that learn.
    fn moved(&self, published: bool) -> Vec<ParamId> {
        let ids = |first: u64, layers: &Layers| {
            let n = 2 * layers.each.len() as u64;
            (first + 1..=first + n)
                .map(ParamId::from)
                .collect::<Vec<_>>()
        };
        let mut moved = ids(FIRST[0], &self.projectors[0]);
        moved.extend(ids(FIRST[1], &self.projectors[1]));
        if !published {
            moved.extend(ids(FIRST[2], &self.labels));
        }
        moved.extend(ids(FIRST[3], &self.modality));
        moved
    }
}

/// Labeled pairs: rows of both modalities less their means, class and weight of each.
struct Pairs {
    rows: [Array2<f32>; 2],
    mean: [Array1<f64>; 2],
    class: Vec<usize>,
    weight: Vec<f32>,
    classes: usize,
}

impl Pairs {
    fn of(views: &Views) -> Result<Self> {
        let object = |row: usize| views.object(0)[row];
        let mut pairs = views.pairs(0, 1);
        pairs.retain(|&(row, _)| views.weight()[object(row)] > 0.0);
        let classes = numbered(views);
        let number = |&(row, _): &(usize, usize)| {
            classes.partition_point(|&c| c < views.class()[object(row)])
        };
        let class: Vec<usize> = pairs.iter().map(number).collect();
        if class.iter().all(|c| Some(c) == class.first()) {
            return Err(Error::data(
                "acmr needs labeled objects of two classes that both modalities show; label more, or take a \
                 learner that needs no pairs",
            ));
        }
        let (first, second): (Vec<usize>, Vec<usize>) = pairs.iter().copied().unzip();
        let ((x, x_mean), (y, y_mean)) = (centered(views, 0, &first), centered(views, 1, &second));
        Ok(Self {
            rows: [x, y],
            mean: [x_mean, y_mean],
            weight: first
                .iter()
                .map(|&row| views.weight()[object(row)])
                .collect(),
            class,
            classes: classes.len(),
        })
    }
}

/// The rows themselves, whose gradient comes back `factor` times and with the other sign.
fn reversed(rows: &Tensor<2>, factor: f64) -> Tensor<2> {
    let still = rows.clone().detach();
    if factor == 0.0 {
        return still;
    }
    still.mul_scalar(1.0 + factor) - rows.clone().mul_scalar(factor)
}

/// The weighted mean of `-log p(y)`.
fn cross_entropy(logits: Tensor<2>, own: Tensor<2>, weight: Tensor<2>) -> Tensor<1> {
    let each = (log_softmax(logits, 1) * own).sum_dim(1).neg();
    (each * weight.clone()).sum() / weight.sum()
}

/// The root of the sum, whose gradient is finite at 0.
fn root(squares: Tensor<2>) -> Tensor<1> {
    squares.sum().add_scalar(1e-12).sqrt()
}

/// The mean over all pairs of rows of `max(0, .1 - m |v_i - w_j|^2)`; as published, of sums of entries in
/// place of squares.
fn hinge_apart(v: &Tensor<2>, w: &Tensor<2>, unlike: Tensor<2>, published: bool) -> Tensor<1> {
    let product = v.clone().matmul(w.clone().transpose());
    let sum = |rows: &Tensor<2>| {
        if published {
            rows.clone().sum_dim(1)
        } else {
            rows.clone().square().sum_dim(1)
        }
    };
    let product = if published {
        product
    } else {
        product.mul_scalar(2.0)
    };
    let distance = sum(v) + sum(w).transpose() - product;
    (unlike * distance)
        .neg()
        .add_scalar(0.1)
        .clamp_min(0.0)
        .mean()
}

/// `max(0, .1 + 5/2 |V - W|^2 - 1/2 |V - W'|^2)` over the rows that have another class in the batch.
fn triplet(v: &Tensor<2>, w: &Tensor<2>, other: &[Option<usize>], device: &Device) -> Tensor<1> {
    let n = other.len();
    let mut pick = vec![0.0_f32; n * n];
    for (i, j) in other.iter().enumerate() {
        if let Some(j) = j {
            pick[i * n + j] = 1.0;
        }
    }
    let has: Vec<f32> = other
        .iter()
        .map(|j| f32::from(u8::from(j.is_some())))
        .collect();
    let has = column(&has, device);
    let pick = Tensor::<2>::from_data(TensorData::new(pick, [n, n]), device);
    let square = |a: Tensor<2>| (a.square() * has.clone()).sum().mul_scalar(0.5);
    let near = square(v.clone() - w.clone()).mul_scalar(5.0);
    let far = square(v.clone() - pick.matmul(w.clone()));
    (near - far).add_scalar(0.1).clamp_min(0.0)
}

/// For each row the one of another class whose features have the largest cosine with its own.
fn most_alike(rows: &Array2<f32>, class: &[usize]) -> Vec<Option<usize>> {
    let unit = matrix::l2_normalize(rows.clone());
    let cosines = unit.dot(&unit.t());
    let of = |i: usize| {
        let others = (0..class.len()).filter(|&j| class[j] != class[i]);
        others.reduce(|a, b| {
            if cosines[[i, b]] > cosines[[i, a]] {
                b
            } else {
                a
            }
        })
    };
    (0..class.len()).map(of).collect()
}

fn one_of(class: &[usize], classes: usize, device: &Device) -> Tensor<2> {
    let mut values = vec![0.0_f32; class.len() * classes];
    for (row, &k) in class.iter().enumerate() {
        values[row * classes + k] = 1.0;
    }
    Tensor::from_data(TensorData::new(values, [class.len(), classes]), device)
}

/// 1 where classes differ.
fn unlike(class: &[usize], device: &Device) -> Tensor<2> {
    let n = class.len();
    let values: Vec<f32> = (0..n * n)
        .map(|at| f32::from(u8::from(class[at / n] != class[at % n])))
        .collect();
    Tensor::from_data(TensorData::new(values, [n, n]), device)
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;
    use likewise::cross::Embedding;
    use ndarray::array;

    use super::*;
    use crate::cross::parts::tests::two_modalities;

    fn tensor(rows: &[f64], shape: [usize; 2]) -> Tensor<2> {
        let device = Device::flex().autodiff();
        Tensor::from_data(TensorData::new(rows.to_vec(), shape), (&device, DType::F64))
    }

    fn value(t: Tensor<1>) -> f64 {
        t.try_into_vec_as::<f64>().unwrap()[0]
    }

    const V: [f64; 6] = [0.3, -0.2, 0.5, 0.9, -0.4, 0.1];
    const W: [f64; 6] = [0.1, -0.3, 0.7, 0.8, -0.5, 0.6];

    /// The classes 0, 0, 1.
    const UNLIKE: [f64; 9] = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0];

    #[test]
    fn losses_are_those_of_plain_loops_and_gradients_the_slopes() {
        let distance = |i: usize, j: usize| -> f64 {
            (0..2).map(|k| (V[2 * i + k] - W[2 * j + k]).powi(2)).sum()
        };
        let quirk = |i: usize, j: usize| -> f64 {
            (0..2)
                .map(|k| V[2 * i + k] - V[2 * i + k] * W[2 * j + k] + W[2 * j + k])
                .sum()
        };
        let hinge = |of: &dyn Fn(usize, usize) -> f64| -> f64 {
            let each = (0..9).map(|at| (0.1 - UNLIKE[at] * of(at / 3, at % 3)).max(0.0));
            each.sum::<f64>() / 9.0
        };
        let (v, w) = (tensor(&V, [3, 2]), tensor(&W, [3, 2]));
        let found = |published| value(hinge_apart(&v, &w, tensor(&UNLIKE, [3, 3]), published));
        assert!((found(false) - hinge(&distance)).abs() < 1e-12);
        assert!((found(true) - hinge(&quirk)).abs() < 1e-12);
        let near: f64 = (0..3).map(|i| distance(i, i)).sum();
        assert!((value(root((v.clone() - w.clone()).square())) - near.sqrt()).abs() < 1e-9);

        let losses: [&dyn Fn(Tensor<2>) -> Tensor<1>; 3] = [
            &|v| hinge_apart(&v, &tensor(&W, [3, 2]), tensor(&UNLIKE, [3, 3]), false),
            &|v| root((v - tensor(&W, [3, 2])).square()),
            &|v| {
                cross_entropy(
                    v,
                    tensor(&[1.0, 0.0, 1.0, 0.0, 0.0, 1.0], [3, 2]),
                    tensor(&[1.0, 0.5, 0.0], [3, 1]),
                )
            },
        ];
        for loss in losses {
            let v = tensor(&V, [3, 2]).require_grad();
            let gradient = v.grad(&loss(v.clone()).backward()).unwrap();
            let gradient = gradient.try_into_vec_as::<f64>().unwrap();
            for i in 0..6 {
                let at = |by: f64| {
                    let mut moved = V;
                    moved[i] += by;
                    value(loss(tensor(&moved, [3, 2])))
                };
                let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!(
                    (slope - gradient[i]).abs() < 1e-6,
                    "{slope} {}",
                    gradient[i]
                );
            }
        }
    }

    #[test]
    fn triplets_by_hand() {
        let device = Device::flex();
        let f32s = |rows: &[f64], shape: [usize; 2]| {
            let rows: Vec<f32> = rows.iter().map(|&v| v as f32).collect();
            Tensor::<2>::from_data(TensorData::new(rows, shape), &device)
        };
        let (v, w) = (f32s(&V, [3, 2]), f32s(&W, [3, 2]));
        let found = triplet(&v, &w, &[Some(2), None, Some(0)], &device);
        let d = |i: usize, j: usize| -> f64 {
            (0..2).map(|k| (V[2 * i + k] - W[2 * j + k]).powi(2)).sum()
        };
        let expected = 0.1 + 2.5 * (d(0, 0) + d(2, 2)) - 0.5 * (d(0, 2) + d(2, 0));
        assert!((value_of(&found) - expected.max(0.0)).abs() < 1e-6);
        assert!(expected > 0.0);
        // The second is nearer to the first, but of its class.
        let rows = array![[1.0, 0.0], [0.9, 0.1], [0.5, 0.5], [-1.0, 0.0]];
        assert_eq!(
            most_alike(&rows, &[0, 0, 1, 1]),
            [Some(2), Some(2), Some(1), Some(1)]
        );
        assert_eq!(most_alike(&rows, &[0; 4]), [None; 4]);
    }

    #[test]
    fn the_gradient_comes_back_reversed() {
        let v = tensor(&V, [3, 2]).require_grad();
        for (factor, expected) in [(0.5, -0.5), (1.0, -1.0)] {
            let turned = reversed(&v, factor);
            let values = turned.clone().try_into_vec_as::<f64>().unwrap();
            assert!(values.iter().zip(V).all(|(a, b)| (a - b).abs() < 1e-12));
            let gradient = v.grad(&turned.sum().backward()).unwrap();
            let gradient = gradient.try_into_vec_as::<f64>().unwrap();
            assert!(gradient.iter().all(|g| (g - expected).abs() < 1e-12));
        }
    }

    #[test]
    fn pairs_find_each_other_by_class_in_every_variant() {
        let (x, y, class) = two_modalities(3, 20, 2);
        // The second object has no label: what it is called does not matter.
        let mut weight = vec![1.0; 60];
        weight[1] = 0.0;
        let views = Views::paired(&[x.view(), y.view()], &class, &weight).unwrap();
        let mut other = class.clone();
        other[1] = 2;
        let otherwise = Views::paired(&[x.view(), y.view()], &other, &weight).unwrap();
        let device = Device::flex();
        for (variant, published, adversary) in [
            (Variant::Simple, false, true),
            (Variant::Simple, true, true),
            (Variant::Triplet, false, false),
        ] {
            let acmr = Acmr {
                variant,
                published,
                adversary,
                dim: 8,
                hidden: [[16, 12], [16, 12]],
                epochs: 40,
                least_steps: 1,
                batch: 16,
                rate: 5e-3,
                ..Acmr::new()
            };
            let fit = |views: &Views| acmr.fit(views, 1, &device, &Monitor::silent()).unwrap();
            let model = fit(&views);
            assert_eq!(model, fit(&otherwise));
            let [v, w] =
                [(0, &x), (1, &y)].map(|(t, rows)| match model.encode(t, rows.view()).unwrap() {
                    Embedding::Real(rows) => matrix::l2_normalize(rows),
                    Embedding::Bits(_) => panic!("numbers"),
                });
            let cosines = v.dot(&w.t());
            let right = (0..60).filter(|&i| {
                let nearest = (0..60).max_by(|&a, &b| cosines[[i, a]].total_cmp(&cosines[[i, b]]));
                nearest.map(|j| class[j]) == Some(class[i])
            });
            let right = right.count();
            assert!(right >= 57, "{right} of 60: {variant:?}");
            let (kinds, arrays) = (model.kinds(), model.arrays());
            assert_eq!(Model::from_arrays(&kinds, &arrays).unwrap(), model);
        }
    }

    #[test]
    fn what_it_cannot_learn_from_is_refused() {
        let (x, y, class) = two_modalities(2, 3, 1);
        let both = [x.view(), y.view()];
        let said = |views: &Views| {
            let fitted = Acmr::new().fit(views, 1, &Device::flex(), &Monitor::silent());
            fitted.unwrap_err().to_string()
        };
        let none = Views::paired(&both, &class, &[0.0; 6]).unwrap();
        assert!(said(&none).contains("two classes"));
        let one = Views::paired(&both, &[3; 6], &[1.0; 6]).unwrap();
        assert!(said(&one).contains("two classes"));
        let single = Views::paired(&both[..1], &class, &[1.0; 6]).unwrap();
        assert!(said(&single).contains("two modalities"));
        for acmr in [
            Acmr {
                dim: 0,
                ..Acmr::new()
            },
            Acmr {
                rate: 0.0,
                ..Acmr::new()
            },
            Acmr {
                hidden: [[0, 1], [1, 1]],
                ..Acmr::new()
            },
        ] {
            assert!(acmr.validate().is_err());
        }
        Acmr::as_published().validate().unwrap();
    }
}
