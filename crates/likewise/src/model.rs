//! Models: what learning leaves behind, and how it answers.

mod bilinear;
mod hashed;
mod joined;
mod learned_metric;
mod linear;
mod probabilities;
mod scored;

use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

pub use bilinear::Bilinear;
pub use hashed::Hashed;
pub use joined::{Joined, Parts};
pub use learned_metric::{Form, LearnedMetric};
pub use linear::Linear;
pub use probabilities::Probabilities;
pub(crate) use probabilities::softmax;
pub use scored::{By, Described, Scored, Seen};

use crate::arrays::{Arrays, Values};
use crate::linear::Affine;
use crate::matrix::{Reading, check_finite};
use crate::{Error, Result, Similarity, parallel};

/// Rows that are embedded at a time.
const BLOCK: usize = 2048;

/// A model of the learners in closed form.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// A linear map.
    Linear(Linear),
    /// Class probabilities beside the features.
    Probabilities(Probabilities),
    /// Several models side by side.
    Joined(Joined<Model>),
    /// A learned metric.
    Metric(LearnedMetric),
    /// A learned bilinear form.
    Bilinear(Bilinear),
    /// Binary codes, and features where codes are equally far.
    Hashed(Hashed),
    /// One that compares rows itself.
    Scored(Scored),
}

/// The kind of a [`Model`], and what its arrays do not tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// A [`Linear`] map.
    Linear(Reading),
    /// [`Probabilities`].
    Probabilities {
        /// How features are read.
        #[serde(flatten)]
        reading: Reading,
        /// Share of the probabilities in the cosine.
        share: f64,
        /// Whether the centred features are a part.
        #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
        features: bool,
    },
    /// [`Joined`] models.
    Joined(Parts<Kind>),
    /// A [`LearnedMetric`].
    Metric(Reading),
    /// A [`Bilinear`] form.
    Bilinear(Reading),
    /// [`Hashed`] features.
    Hashed(Reading),
    /// A [`Scored`] model.
    Scored(Described),
}

impl Model {
    /// A linear map of features that are read so.
    pub fn linear(reading: Reading, map: Affine) -> Self {
        Self::Linear(Linear { reading, map })
    }

    /// Of several models with their shares, above 0 and 1 together.
    ///
    /// Fails without any, where one reads another number of columns, where one is not compared by the cosine, and on
    /// other shares.
    ///
    /// ```
    /// use likewise::{linear::Affine, matrix::Reading, model::Model};
    /// let map = Affine { mean: ndarray::array![0.0, 0.0], matrix: ndarray::Array2::eye(2) };
    /// let one = Model::linear(Reading::default(), map);
    /// let both = Model::joined(vec![(one.clone(), 0.5), (one, 0.5)])?;
    /// assert_eq!(both.output_dim(), 4);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn joined(parts: Vec<(Self, f64)>) -> Result<Self> {
        let columns = parts.first().map_or(0, |(part, _)| part.input_dim());
        if parts.iter().any(|(part, _)| part.input_dim() != columns) {
            return Err(Error::data("models that are joined read the same columns"));
        }
        let is_cosine = |(part, _): &(Self, f64)| part.similarity() == Similarity::Cosine;
        if !parts.iter().all(is_cosine) {
            return Err(Error::data(
                "models that are joined are compared by the cosine",
            ));
        }
        Ok(Self::Joined(Joined::new(parts)?))
    }

    /// Columns that it reads.
    pub fn input_dim(&self) -> usize {
        match self {
            Self::Linear(linear) => linear.map.matrix.nrows(),
            Self::Probabilities(of) => of.mean.len(),
            Self::Joined(joined) => {
                (joined.parts().first()).map_or(0, |(part, _)| part.input_dim())
            }
            Self::Metric(metric) => metric.mean.len(),
            Self::Bilinear(form) => form.mean.len(),
            Self::Hashed(of) => of.mean.len(),
            Self::Scored(scored) => scored.input_dim(),
        }
    }

    /// Columns of an embedding.
    pub fn output_dim(&self) -> usize {
        match self {
            Self::Linear(linear) => linear.map.matrix.ncols(),
            Self::Probabilities(of) => of.output_dim(),
            Self::Joined(joined) => joined
                .parts()
                .iter()
                .map(|(part, _)| part.output_dim())
                .sum(),
            Self::Metric(metric) => metric.output_dim(),
            Self::Bilinear(form) => form.mean.len(),
            Self::Hashed(of) => of.output_dim(),
            Self::Scored(scored) => scored.output_dim(),
        }
    }

    /// How its rows compare.
    pub fn similarity(&self) -> Similarity {
        match self {
            Self::Linear(_) | Self::Probabilities(_) | Self::Joined(_) | Self::Hashed(_) => {
                Similarity::Cosine
            }
            Self::Metric(_) => Similarity::Euclidean,
            Self::Bilinear(form) => Similarity::Bilinear(form.matrix.clone()),
            Self::Scored(scored) => scored.similarity(),
        }
    }

    /// Embeds features (`n x input_dim`) into rows (`n x output_dim`), which compare by its
    /// [`similarity`](Self::similarity): those of the cosine have length 1.
    ///
    /// Works in blocks, so memory beyond the result stays small. Fails on a wrong number of
    /// columns and on NaN.
    pub fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        if x.ncols() != self.input_dim() {
            return Err(Error::data(format!(
                "the model reads {} columns, the data have {}; use the view it was fitted on",
                self.input_dim(),
                x.ncols()
            )));
        }
        check_finite(x, "rows to embed")?;
        let mut out = Array2::zeros((x.nrows(), self.output_dim()));
        let outs = out.axis_chunks_iter_mut(Axis(0), BLOCK);
        let blocks = outs.zip(x.axis_chunks_iter(Axis(0), BLOCK));
        parallel::try_map(blocks, |(mut out, x)| {
            out.assign(&self.rows(x)?);
            Ok(())
        })?;
        Ok(out)
    }

    /// The embedding of one block.
    fn rows(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        match self {
            Self::Linear(linear) => linear.rows(x.to_owned()),
            Self::Probabilities(of) => Ok(of.rows(x.to_owned())),
            Self::Joined(joined) => joined.rows(|part| part.rows(x)),
            Self::Metric(metric) => metric.rows(x.to_owned()),
            Self::Bilinear(form) => Ok(form.rows(x.to_owned())),
            Self::Hashed(of) => Ok(of.rows(x.to_owned())),
            Self::Scored(scored) => scored.rows(x.to_owned()),
        }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Linear(linear) => Kind::Linear(linear.reading),
            Self::Probabilities(of) => Kind::Probabilities {
                reading: of.reading,
                share: of.share,
                features: of.features,
            },
            Self::Joined(joined) => Kind::Joined(joined.kinds(Self::kind)),
            Self::Metric(metric) => Kind::Metric(metric.reading),
            Self::Bilinear(form) => Kind::Bilinear(form.reading),
            Self::Hashed(of) => Kind::Hashed(of.reading),
            Self::Scored(scored) => Kind::Scored(scored.described()),
        }
    }

    /// Its arrays, all `f64`: of a linear map `start.mean` (`d`) and `start.matrix` (`d x r`); of
    /// probabilities `start.mean` (`d`), `start.scale` (`d`) unless all are 1, `logits.matrix`
    /// (`d x C`), `logits.bias` (`C`) and, where there are some, `discriminants` (`d x r`); of joined models those of each, `0.` and
    /// so on before their names; of a metric `mahalanobis` (`d x d`) or `transform`
    /// (`r x d`), of a bilinear form `bilinear` (`d x d`), and of both `mean` (`d`) unless it is 0; of
    /// codes `start.mean`, `start.scale`, `latent.matrix` (`d x h`) and `latent.bias` (`h`); of a scored model its views and what its kernels learned.
    pub fn arrays(&self) -> Arrays {
        let mut arrays = Arrays::default();
        let mut vector = |name: &str, values: &Array1<f64>| {
            arrays.put(name, &[values.len()], Values::F64(values.to_vec()));
        };
        match self {
            Self::Linear(Linear { map, .. }) => {
                vector("start.mean", &map.mean);
                arrays.put_matrix("start.matrix", &map.matrix);
            }
            Self::Probabilities(of) => {
                vector("start.mean", &of.mean);
                if of.scale != Array1::<f64>::ones(of.scale.len()) {
                    vector("start.scale", &of.scale);
                }
                vector("logits.bias", &of.bias);
                arrays.put_matrix("logits.matrix", &of.matrix);
                if let Some(discriminants) = &of.discriminants {
                    arrays.put_matrix("discriminants", discriminants);
                }
            }
            Self::Joined(joined) => {
                for (place, (part, _)) in joined.parts().iter().enumerate() {
                    arrays.put_all(&joined::prefix(place), part.arrays());
                }
            }
            Self::Metric(metric) => metric.put(&mut arrays),
            Self::Bilinear(form) => form.put(&mut arrays),
            Self::Hashed(of) => of.put(&mut arrays),
            Self::Scored(scored) => scored.put(&mut arrays),
        }
        arrays
    }

    /// The model of such a kind and arrays. Fails where they do not fit each other.
    pub fn from_arrays(kind: Kind, arrays: &Arrays) -> Result<Self> {
        let fits = |mean: &Array1<f64>, (d, r): (usize, usize)| mean.len() == d && d > 0 && r > 0;
        match kind {
            Kind::Linear(reading) => {
                let mean = arrays.vector64("start.mean")?;
                let matrix = arrays.matrix64("start.matrix")?;
                if !fits(&mean, matrix.dim()) {
                    return Err(Error::data("start.mean and start.matrix do not fit"));
                }
                Ok(Self::linear(reading, Affine { mean, matrix }))
            }
            Kind::Probabilities {
                reading,
                share,
                features,
            } => {
                let mean = arrays.vector64("start.mean")?;
                let matrix = arrays.matrix64("logits.matrix")?;
                let bias = arrays.vector64("logits.bias")?;
                let scale = match arrays.get("start.scale") {
                    Ok(_) => arrays.vector64("start.scale")?,
                    Err(_) => Array1::ones(mean.len()),
                };
                let fits = fits(&mean, matrix.dim()) && scale.len() == mean.len();
                if !fits || bias.len() != matrix.ncols() {
                    let message = "start.mean, logits.matrix and logits.bias do not fit";
                    return Err(Error::data(message));
                }
                let discriminants = match arrays.get("discriminants") {
                    Ok(_) => Some(arrays.matrix64("discriminants")?),
                    Err(_) => None,
                };
                let beside = discriminants.as_ref().map(Array2::dim);
                if beside.is_some_and(|(d, r)| d != mean.len() || r == 0) {
                    return Err(Error::data("start.mean and discriminants do not fit"));
                }
                if !(0.0..=1.0).contains(&share) {
                    return Err(Error::data(format!("share = {share} is not from 0 to 1")));
                }
                if share < 1.0 && !features && discriminants.is_none() {
                    let message = format!("share = {share}, and nothing has the rest");
                    return Err(Error::data(message));
                }
                Ok(Self::Probabilities(Probabilities {
                    reading,
                    mean,
                    scale,
                    matrix,
                    bias,
                    discriminants,
                    features,
                    share,
                }))
            }
            Kind::Joined(Parts { parts, shares }) => {
                if parts.len() != shares.len() {
                    let (parts, shares) = (parts.len(), shares.len());
                    let message = format!("{parts} models that are joined have {shares} shares");
                    return Err(Error::data(message));
                }
                let each = parts.into_iter().zip(shares).enumerate();
                let part = |(place, (kind, share))| {
                    let own = arrays.under(&joined::prefix(place));
                    Ok((Self::from_arrays(kind, &own)?, share))
                };
                Self::joined(each.map(part).collect::<Result<_>>()?)
            }
            Kind::Metric(reading) => Ok(Self::Metric(LearnedMetric::of(reading, arrays)?)),
            Kind::Bilinear(reading) => Ok(Self::Bilinear(Bilinear::of(reading, arrays)?)),
            Kind::Hashed(reading) => Ok(Self::Hashed(Hashed::of(reading, arrays)?)),
            Kind::Scored(described) => Ok(Self::Scored(Scored::of(&described, arrays)?)),
        }
    }
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn a_map_by_hand_and_back_from_its_arrays() {
        let reading = Reading {
            power: 0.5,
            unit: false,
        };
        let map = Affine {
            mean: array![1.0, 0.0],
            matrix: array![[3.0, 0.0], [0.0, 2.0]],
        };
        let linear = Model::linear(reading, map);
        // Roots of (4, -4) are (2, -2); less the mean (1, -2); times the map (3, -4).
        let z = linear.embed(array![[4.0, -4.0_f32]].view()).unwrap();
        assert!((z[(0, 0)] - 0.6).abs() < 1e-6 && (z[(0, 1)] + 0.8).abs() < 1e-6);
        let message = linear.embed(array![[1.0_f32]].view()).unwrap_err();
        assert!(message.to_string().contains("reads 2 columns"), "{message}");
        back_from_its_arrays(&linear);
    }

    fn back_from_its_arrays(model: &Model) {
        let again = Model::from_arrays(model.kind(), &model.arrays()).unwrap();
        assert_eq!(again, *model);
        let json = serde_json::to_string(&model.kind()).unwrap();
        assert_eq!(serde_json::from_str::<Kind>(&json).unwrap(), model.kind());
        let mut wrong = model.arrays();
        for mean in ["start.mean", "mean"] {
            wrong.put(mean, &[1], Values::F64(vec![0.0]));
        }
        assert!(Model::from_arrays(model.kind(), &wrong).is_err());
    }

    #[test]
    fn a_metric_by_hand_in_both_forms() {
        let forms = [
            Form::Mahalanobis(array![[4.0, 0.0], [0.0, 1.0]]),
            Form::Transform(array![[2.0, 0.0], [0.0, 1.0]]),
        ];
        for form in forms {
            let metric = LearnedMetric::new(Reading::default(), array![1.0, 0.0], form.clone());
            let metric = Model::Metric(metric.unwrap());
            let z = metric
                .embed(array![[1.0, 0.0], [2.0, 3.0_f32]].view())
                .unwrap();
            // (1, 3) M (1, 3) = 4 + 9.
            let difference = &z.row(0) - &z.row(1);
            assert!((difference.dot(&difference) - 13.0).abs() < 1e-5, "{z}");
            assert_eq!(metric.similarity(), Similarity::Euclidean);
            back_from_its_arrays(&metric);
            assert!(LearnedMetric::new(Reading::default(), array![1.0], form).is_err());
        }
        // A metric of rank 1 gives one column.
        let flat = Form::Mahalanobis(array![[1.0, 1.0], [1.0, 1.0]]);
        let flat = LearnedMetric::new(Reading::default(), Array1::zeros(2), flat).unwrap();
        let flat = Model::Metric(flat);
        assert!(flat.arrays().get("mean").is_err());
        assert_eq!(flat.output_dim(), 1);
        let wide = Form::Mahalanobis(array![[1.0, 0.0]]);
        let said = LearnedMetric::new(Reading::default(), Array1::zeros(2), wide).unwrap_err();
        assert!(said.to_string().contains("square"), "{said}");
    }

    #[test]
    fn what_is_wrong_with_a_metric_is_said() {
        let said = |matrix: Array2<f64>, columns: usize, form: fn(Array2<f64>) -> Form| {
            let mean = Array1::zeros(columns);
            let refused = LearnedMetric::new(Reading::default(), mean, form(matrix));
            refused.unwrap_err().to_string()
        };
        for form in [Form::Mahalanobis, Form::Transform] {
            for wrong in [f64::NAN, f64::INFINITY] {
                let said = said(array![[wrong, 0.0], [0.0, 1.0]], 2, form);
                assert!(said.contains("features are too large"), "{said}");
            }
            let said = said(array![[1.0, 0.0], [0.0, 1.0]], 5, form);
            assert!(
                said.contains("2 columns does not fit a mean of 5"),
                "{said}"
            );
        }
        let said = said(Array2::zeros((5, 5)), 5, Form::Mahalanobis);
        assert!(said.contains("all items for the same"), "{said}");
    }

    #[test]
    fn a_bilinear_form_by_hand() {
        let w = array![[0.0, 1.0], [0.0, 0.0]];
        let form = Bilinear::new(Reading::default(), array![1.0, 0.0], w.clone()).unwrap();
        let model = Model::Bilinear(form);
        let z = model.embed(array![[3.0, 5.0_f32]].view()).unwrap();
        assert_eq!(z, array![[2.0, 5.0]]);
        assert_eq!(model.similarity(), Similarity::Bilinear(w.clone()));
        back_from_its_arrays(&model);
        assert!(Bilinear::new(Reading::default(), array![1.0], w).is_err());
    }

    #[test]
    fn codes_come_back_from_their_arrays() {
        for scale in [1.0, 2.0] {
            let of = Hashed::new(
                Reading::default(),
                (array![1.0, 0.0], array![scale, 1.0]),
                (array![[1.0], [0.5]], array![0.1]),
            );
            let model = Model::Hashed(of.unwrap());
            assert_eq!((model.input_dim(), model.output_dim()), (2, 3));
            back_from_its_arrays(&model);
        }
    }

    /// A row of length 1: logits (ln 3, 0), probabilities (3/4, 1/4).
    fn thirds(share: f64) -> Probabilities {
        Probabilities {
            reading: Reading {
                power: 1.0,
                unit: true,
            },
            mean: array![0.0, 0.0],
            scale: array![1.0, 1.0],
            matrix: array![[3.0_f64.ln(), 0.0], [0.0, 0.0]],
            bias: array![0.0, 0.0],
            discriminants: None,
            features: true,
            share,
        }
    }

    fn are_near(z: &Array2<f32>, expected: &[f32]) {
        let near = z.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near && z.len() == expected.len(), "{z} {expected:?}");
    }

    #[test]
    fn discriminants_by_hand() {
        let x = array![[5.0, 0.0_f32]];
        let mut of = thirds(0.5);
        of.discriminants = Some(array![[3.0, 4.0], [1.0, 2.0]]);
        let beside = Model::Probabilities(of.clone());
        let [p, q, half] = [0.375_f32.sqrt(), 0.125_f32.sqrt(), 0.5_f32.sqrt()];
        // They take half of what the features have, and without these all of it.
        let z = beside.embed(x.view()).unwrap();
        assert_eq!(z.ncols(), beside.output_dim());
        are_near(&z, &[p, q, 0.3, 0.4, 0.5, 0.0]);
        back_from_its_arrays(&beside);
        of.features = false;
        let without = Model::Probabilities(of.clone());
        let z = without.embed(x.view()).unwrap();
        assert_eq!(z.ncols(), without.output_dim());
        are_near(&z, &[p, q, half * 0.6, half * 0.8]);
        back_from_its_arrays(&without);

        let mut wrong = beside.arrays();
        wrong.put_matrix("discriminants", &array![[1.0, 0.0]]);
        assert!(Model::from_arrays(beside.kind(), &wrong).is_err());
        of.discriminants = None;
        let nothing = Model::Probabilities(of);
        assert!(Model::from_arrays(nothing.kind(), &nothing.arrays()).is_err());
    }

    #[test]
    fn joined_models_by_hand() {
        let of = |share| Model::Probabilities(thirds(share));
        let pair = Model::joined(vec![(of(1.0), 0.25), (of(0.5), 0.75)]).unwrap();
        let z = pair.embed(array![[5.0, 0.0_f32]].view()).unwrap();
        let [a, b] = [0.75_f32, 0.25].map(f32::sqrt);
        let [c, d, e] = [0.375_f32, 0.125, 0.5].map(|v| (0.75 * v).sqrt());
        are_near(&z, &[0.5 * a, 0.5 * b, c, d, e, 0.0]);
        let again = Model::from_arrays(pair.kind(), &pair.arrays()).unwrap();
        assert_eq!(again, pair);
        let json = serde_json::to_string(&pair.kind()).unwrap();
        assert_eq!(serde_json::from_str::<Kind>(&json).unwrap(), pair.kind());
        let Kind::Joined(mut kinds) = pair.kind() else {
            unreachable!("made above")
        };
        kinds.shares.pop();
        assert!(Model::from_arrays(Kind::Joined(kinds), &pair.arrays()).is_err());

        assert!(Model::joined(vec![]).is_err());
        let refused = |other: Model| Model::joined(vec![(of(1.0), 0.5), (other, 0.5)]).is_err();
        let form = Form::Transform(Array2::eye(2));
        let metric = LearnedMetric::new(Reading::default(), array![0.0, 0.0], form);
        assert!(refused(Model::Metric(metric.unwrap())));
        let map = Affine {
            mean: array![0.0],
            matrix: array![[1.0]],
        };
        assert!(refused(Model::linear(Reading::default(), map)));
        for wrong in [[0.5, 0.6], [1.5, -0.5], [f64::NAN, 0.5]] {
            let parts = wrong.map(|share| (of(1.0), share));
            assert!(Model::joined(parts.to_vec()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn probabilities_by_hand() {
        let of = |share| Model::Probabilities(thirds(share));
        let x = array![[5.0, 0.0_f32]];
        let z = of(0.5).embed(x.view()).unwrap();
        let expected = [0.375_f32.sqrt(), 0.125_f32.sqrt(), 0.5_f32.sqrt(), 0.0];
        assert_eq!(z.dim(), (1, 4));
        assert!(
            z.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6),
            "{z}"
        );
        assert_eq!(of(1.0).embed(x.view()).unwrap().dim(), (1, 2));
        assert_eq!(of(0.0).embed(x.view()).unwrap(), array![[1.0, 0.0]]);
        back_from_its_arrays(&of(0.5));
        // Columns of other units are brought to one scale.
        let mut scaled = thirds(0.0);
        scaled.scale = array![0.75, 1.0];
        let scaled = Model::Probabilities(scaled);
        let z = scaled.embed(array![[8.0, 8.0_f32]].view()).unwrap();
        assert!(
            (z[(0, 0)] - 0.6).abs() < 1e-6 && (z[(0, 1)] - 0.8).abs() < 1e-6,
            "{z}"
        );
        back_from_its_arrays(&scaled);
        // A row on the mean has no direction, and is still of length 1.
        let z = of(0.5).embed(array![[0.0, 0.0_f32]].view()).unwrap();
        assert!((z.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-6);
    }
}
