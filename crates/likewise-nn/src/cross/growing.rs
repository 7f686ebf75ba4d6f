//! The steps of [`DeepGrowBit`]: the codes of the classes, and networks that imitate them.

use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::log_sigmoid;
use burn::tensor::{Device, Tensor};
use likewise::cross::{Encoder, GrowBit, Model, Network, Views};
use likewise::{Monitor, matrix, seed};
use ndarray::{Array1, Array2, Axis, concatenate, s};

use super::growbit::{DeepGrowBit, Grown};
use super::layers::{Between, Layers};
use super::parts::{
    EPSILON, batches, centered, check_classes, check_loss, check_rows, check_two, column, factors,
    numbered,
};
use crate::net::{matrix_tensor, value_of};
use crate::train::gradient;
use crate::{Error, Result};

impl DeepGrowBit {
    /// Codes of the classes and networks that find them, from the labeled rows of two modalities, which need
    /// not be pairs. `earlier` ones, if there are, are kept: their bits are the first of the new ones.
    ///
    /// Fails on a parameter out of its range, unless there are two modalities with labeled rows, of two
    /// classes, where all rows of a modality are the same, where `earlier` are of other classes or columns
    /// or have no fewer bits, where the loss is no number any more, and when cancelled.
    pub fn fit(
        &self,
        views: &Views,
        earlier: Option<&Grown>,
        seed: u64,
        device: &Device,
        monitor: &Monitor,
    ) -> Result<Grown> {
        self.validate()?;
        check_two(views, "deep-growbit")?;
        check_rows(views)?;
        check_classes(views, "deep-growbit")?;
        let classes = numbered(views);
        if let Some(earlier) = earlier
            && (earlier.classes != classes || earlier.codes[0].bits() >= self.bits)
        {
            return Err(Error::data(format!(
                "codes of {} classes and {} bits do not grow to {} classes and {} bits: classes must be the \
                 same, and bits more",
                earlier.classes.len(),
                earlier.codes[0].bits(),
                classes.len(),
                self.bits
            )));
        }
        let sides = [0, 1].map(|t| Side::of(views, t, &classes));
        let [one, two] = sides;
        let sides = [one?, two?];
        let sizes = |side: &Side| {
            let mut sizes = vec![0.0; classes.len()];
            for (&class, &weight) in side.class.iter().zip(&side.weight) {
                sizes[class] += f64::from(weight);
            }
            sizes
        };
        let codes = GrowBit::new().bits(self.bits).class_codes(
            &sizes(&sides[0]),
            &sizes(&sides[1]),
            earlier.map(|earlier| &earlier.codes),
            seed,
        )?;
        monitor.start("growing codes", 2 * self.epochs as u64);
        let mut encoders = Vec::new();
        for (t, side) in sides.iter().enumerate() {
            let before = match earlier {
                Some(earlier) => match earlier.model.encoder(t)? {
                    Encoder::NetworkBits(network) => Some(network),
                    _ => return Err(Error::data("the earlier encoders are not networks of bits")),
                },
                None => None,
            };
            let signs = codes[t].select(&side.class).to_signs();
            let done = (t * self.epochs) as u64;
            let network = self.imitate(side, &signs, before, (t, seed, done), device, monitor)?;
            encoders.push(Encoder::NetworkBits(network));
        }
        monitor.end();
        Ok(Grown {
            model: Model { encoders },
            classes,
            codes,
        })
    }

    /// A network whose signs are those of the rows of one modality.
    fn imitate(
        &self,
        side: &Side,
        signs: &Array2<f32>,
        before: Option<&Network>,
        (t, seed, done): (usize, u64, u64),
        device: &Device,
        monitor: &Monitor,
    ) -> Result<Network> {
        let device = device.clone().autodiff();
        let (x, mean) = match before {
            // What stands still must see the rows as it did.
            Some(network) => (side.less(&network.mean)?, network.mean.clone()),
            None => (side.x.clone(), side.mean.clone()),
        };
        let kept = before.map_or(0, Network::output_dim);
        let [first, second] = self.hidden;
        let name = format!("layers of modality {t} from bit {kept}");
        let key = (0, seed, name.as_str());
        let mut layers = match before {
            None => {
                let widths = [x.ncols(), first, second, signs.ncols()];
                Layers::new(&widths, Between::Rectifier, key, &device)
            }
            Some(network) => {
                let mut layers = Layers::of(network, 0, &device);
                let width = network
                    .layers
                    .last()
                    .map_or(0, |(weight, _)| weight.nrows());
                let new = [width, signs.ncols() - kept];
                let last = layers.each.len() - 1;
                let at = (2 * last as u64, seed, name.as_str());
                let new = Layers::new(&new, Between::Rectifier, at, &device);
                layers.each.truncate(last);
                layers.each.extend(new.each);
                layers
            }
        };
        let last = layers.each.len() as u64;
        let moved: Vec<burn::module::ParamId> = match before {
            None => (1..=2 * last).map(Into::into).collect(),
            Some(_) => (2 * last - 1..=2 * last).map(Into::into).collect(),
        };
        let wanted = signs.slice(s![.., kept..]).to_owned();
        let mut optimizer = AdamConfig::new().with_epsilon(EPSILON).init();
        let mut rng = seed::stream(seed, &format!("batches of modality {t} from bit {kept}"));
        for epoch in 0..self.epochs {
            for places in batches(x.nrows(), self.batch, &mut rng) {
                monitor.check()?;
                let rows = matrix_tensor(&matrix::select_rows(x.view(), &places), &device);
                let drop: Option<Vec<Tensor<2>>> = (self.dropout > 0.0).then(|| {
                    let hidden = &layers.each[..layers.each.len() - 1];
                    let width = hidden.iter().map(|layer| layer.weight.dims()[1]);
                    let n = places.len();
                    width
                        .map(|w| factors(n, w, self.dropout, &mut rng, &device))
                        .collect()
                });
                let z = layers.forward(rows, Between::Rectifier, drop.as_deref());
                let target = matrix_tensor(&matrix::select_rows(wanted.view(), &places), &device);
                let weight: Vec<f32> = places.iter().map(|&p| side.weight[p]).collect();
                let loss = logistic(z, target, column(&weight, &device));
                check_loss("growbit", value_of(&loss), self.rate)?;
                let mut gradients = loss.backward();
                let mut gradients = GradientsParams::from_module(&mut gradients, &layers);
                let part = gradient::take(&layers, &mut gradients, &moved, 1.0);
                layers = optimizer.step(self.rate, layers, part);
            }
            monitor.step(done + epoch as u64 + 1)?;
        }
        let mut network = layers.network(mean);
        if let (Some(before), Some((weight, bias))) = (before, network.layers.last_mut())
            && let Some((old, old_bias)) = before.layers.last()
        {
            *weight = concatenate![Axis(1), *old, *weight];
            *bias = concatenate![Axis(0), *old_bias, *bias];
            // To the bit, not to the rounding of f32.
            let still = before.layers.len() - 1;
            network.layers[..still].clone_from_slice(&before.layers[..still]);
        }
        Ok(network)
    }
}

/// The weighted mean over rows of the mean over bits of `log(1 + exp(-t z))`.
fn logistic(z: Tensor<2>, target: Tensor<2>, weight: Tensor<2>) -> Tensor<1> {
    let each = log_sigmoid(z * target).neg().mean_dim(1);
    (each * weight.clone()).sum() / weight.sum()
}

/// The labeled rows of a modality.
struct Side {
    raw: Array2<f32>,
    x: Array2<f32>,
    mean: Array1<f64>,
    class: Vec<usize>,
    weight: Vec<f32>,
}

impl Side {
    fn of(views: &Views, t: usize, classes: &[u32]) -> Result<Self> {
        let object = views.object(t);
        let labeled = |row: &usize| views.weight()[object[*row]] > 0.0;
        let rows: Vec<usize> = (0..object.len()).filter(labeled).collect();
        if rows.is_empty() {
            return Err(Error::data(format!(
                "no row of modality {t} has a class of a weight above 0; label some of them"
            )));
        }
        let number = |&row: &usize| classes.partition_point(|&c| c < views.class()[object[row]]);
        let (x, mean) = centered(views, t, &rows);
        Ok(Self {
            raw: matrix::select_rows(views.rows(t), &rows),
            x,
            mean,
            class: rows.iter().map(number).collect(),
            weight: rows
                .iter()
                .map(|&row| views.weight()[object[row]])
                .collect(),
        })
    }

    fn less(&self, mean: &Array1<f64>) -> Result<Array2<f32>> {
        if mean.len() != self.raw.ncols() {
            return Err(Error::data(format!(
                "the earlier network reads {} columns, these rows have {}",
                mean.len(),
                self.raw.ncols()
            )));
        }
        Ok(Array2::from_shape_fn(self.raw.dim(), |(i, j)| {
            (f64::from(self.raw[[i, j]]) - mean[j]) as f32
        }))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};
    use likewise::code::Codes;
    use likewise::cross::Embedding;
    use ndarray::ArrayView2;

    use super::*;
    use crate::cross::parts::tests::two_modalities;

    fn settings(bits: usize) -> DeepGrowBit {
        DeepGrowBit {
            hidden: [24, 16],
            epochs: 25,
            batch: 16,
            rate: 5e-3,
            ..DeepGrowBit::new().bits(bits)
        }
    }

    fn codes(grown: &Grown, t: usize, x: ArrayView2<f32>) -> Codes {
        match grown.model.encode(t, x).unwrap() {
            Embedding::Bits(codes) => codes,
            Embedding::Real(_) => panic!("bits"),
        }
    }

    #[test]
    fn classes_are_found_and_grown_codes_begin_with_the_old_ones() {
        let (x, y, class) = two_modalities(3, 20, 1);
        let views = Views::paired(&[x.view(), y.view()], &class, &[1.0; 60]).unwrap();
        let device = Device::flex();
        let fit = |bits, earlier: Option<&Grown>| {
            settings(bits)
                .fit(&views, earlier, 1, &device, &Monitor::silent())
                .unwrap()
        };
        let few = fit(8, None);
        assert_eq!(few, fit(8, None));
        let more = fit(16, Some(&few));
        for (t, rows) in [(0, &x), (1, &y)] {
            let of = |grown: &Grown| codes(grown, t, rows.view()).to_signs();
            let (old, new) = (of(&few), of(&more));
            assert_eq!(old, new.slice(s![.., ..8]));
            let wanted = more.codes[t].to_signs();
            let right = (0..60).filter(|&i| {
                let unlike = |&c: &usize| {
                    (0..16)
                        .filter(|&k| wanted[[c, k]] * new[[i, k]] < 0.0)
                        .count()
                };
                (0..3).min_by_key(unlike) == Some(class[i] as usize)
            });
            let right = right.count();
            assert!(right >= 57, "{right} of 60 in modality {t}");
        }
        let (kinds, arrays) = (more.model.kinds(), more.model.arrays());
        assert_eq!(Model::from_arrays(&kinds, &arrays).unwrap(), more.model);
        let silent = Monitor::silent();
        assert!(
            settings(8)
                .fit(&views, Some(&more), 1, &device, &silent)
                .is_err()
        );
        let one = Views::paired(&[x.view()], &class, &[1.0; 60]).unwrap();
        assert!(settings(8).fit(&one, None, 1, &device, &silent).is_err());
        let none = Views::paired(&[x.view(), y.view()], &class, &[0.0; 60]).unwrap();
        assert!(settings(8).fit(&none, None, 1, &device, &silent).is_err());
        assert!(settings(0).validate().is_err());
    }

    #[test]
    fn rows_without_weight_teach_nothing() {
        let tensor = |rows: Vec<f64>, shape: [usize; 2]| {
            let device = Device::flex().autodiff();
            Tensor::<2>::from_data(TensorData::new(rows, shape), (&device, DType::F64))
        };
        let z = tensor(vec![0.0, 2.0, 5.0, 5.0], [2, 2]).require_grad();
        let target = tensor(vec![1.0, -1.0, -1.0, 1.0], [2, 2]);
        let loss = logistic(z.clone(), target, tensor(vec![1.0, 0.0], [2, 1]));
        let gradient = z.grad(&loss.clone().backward()).unwrap();
        let gradient = gradient.try_into_vec_as::<f64>().unwrap();
        // By hand: (log 2 + log(1 + e^2)) / 2, and half of -sigma(-t z) t.
        let value = loss.try_into_vec_as::<f64>().unwrap()[0];
        let expected = f64::midpoint(2.0_f64.ln(), (1.0 + 2.0_f64.exp()).ln());
        assert!((value - expected).abs() < 1e-9, "{value}");
        let sigma = 1.0 / (1.0 + (-2.0_f64).exp());
        let expected = [-0.25, 0.5 * sigma, 0.0, 0.0];
        assert!(
            gradient
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-9),
            "{gradient:?}"
        );
    }
}
