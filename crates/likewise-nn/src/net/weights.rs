//! Weights by name: read from safetensors and `PyTorch` files, written to safetensors.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use likewise::arrays::{Arrays, Values};
use ndarray::Array2;
use safetensors::tensor::TensorView;

use crate::{Error, ErrorKind, Result};
#[cfg(feature = "networks")]
use {
    burn::module::Param,
    burn::tensor::{Tensor, TensorData},
};

/// Names of an error message; more are counted.
const SHOWN: usize = 6;

/// Under what trainers put the weights of the network, beside the state of their optimizers.
const CONTAINERS: [&str; 2] = ["state_dict.", "model_state_dict."];

/// What wrappers of networks put before the names of their weights.
const WRAPPERS: [&str; 3] = ["model.", "module.", "net."];

#[derive(Debug, Clone, PartialEq)]
struct Weight {
    shape: Vec<usize>,
    values: Vec<f32>,
}

/// A convolution of a network whose batch norms are folded, as published weights have it.
pub(super) struct Folded {
    /// Our name of it.
    pub(super) name: String,
    /// The published name of the convolution.
    pub(super) conv: String,
    /// The published name of the batch norm behind it.
    pub(super) norm: String,
}

/// Named tensors of f32, as a checkpoint holds them.
///
/// **When not to use it.** For the state of an optimizer: integers and whatever is not a
/// tensor are left out.
///
/// Half, brain and double floats become f32. A wrapper that trainers put around all names
/// (`state_dict.`, `model.`, `module.` ...) is taken off; what stands beside `state_dict.`, which
/// is not of the network, is left out. Convolutions that numpy wrote to
/// safetensors in the order height, width, in, out, under another shape, are put in order: their
/// filters are noise as declared and smooth in that order. A number that is not finite, and a
/// file that is cut short, are refused.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Weights {
    tensors: BTreeMap<String, Weight>,
}

impl Weights {
    /// Adds a tensor, its values in row-major order; another of this name is replaced.
    pub fn insert(&mut self, name: &str, shape: Vec<usize>, values: Vec<f32>) -> Result<()> {
        if shape.iter().product::<usize>() != values.len() {
            let found = values.len();
            return Err(Error::data(format!(
                "the weight {name} of shape {shape:?} has {found} values"
            )));
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::data(format!(
                "value {at} of the weight {name} is {}; take another checkpoint",
                values[at]
            )));
        }
        self.tensors
            .insert(name.to_owned(), Weight { shape, values });
        Ok(())
    }

    /// Names and shapes, sorted by name.
    pub fn shapes(&self) -> impl Iterator<Item = (&str, &[usize])> {
        let tensors = self.tensors.iter();
        tensors.map(|(name, weight)| (name.as_str(), weight.shape.as_slice()))
    }

    /// Shape and values of one tensor.
    pub fn get(&self, name: &str) -> Option<(&[usize], &[f32])> {
        let weight = self.tensors.get(name)?;
        Some((&weight.shape, &weight.values))
    }

    /// The same as named arrays.
    pub fn to_arrays(&self) -> Arrays {
        let mut arrays = Arrays::default();
        for (name, weight) in &self.tensors {
            let values = Values::F32(weight.values.clone());
            arrays.put(name, &weight.shape, values);
        }
        arrays
    }

    /// The weights of such arrays. Fails on arrays that are not in f32, or are not as long as
    /// their shape says.
    pub fn from_arrays(arrays: &Arrays) -> Result<Self> {
        let mut weights = Self::default();
        for (name, shape, values) in arrays.iter() {
            let Values::F32(values) = values else {
                return Err(Error::data(format!("{name} is not f32")));
            };
            weights.insert(name, shape.to_vec(), values.clone())?;
        }
        Ok(weights)
    }

    /// Takes one tensor out: its shape and values.
    pub(crate) fn remove(&mut self, name: &str) -> Option<(Vec<usize>, Vec<f32>)> {
        let weight = self.tensors.remove(name)?;
        Some((weight.shape, weight.values))
    }

    /// Its matrices by name; what has another number of dimensions is left out.
    pub(crate) fn matrices(self) -> BTreeMap<String, Array2<f32>> {
        let matrix = |weight: Weight| match *weight.shape {
            [rows, columns] => Array2::from_shape_vec((rows, columns), weight.values).ok(),
            _ => None,
        };
        let tensors = self.tensors.into_iter();
        tensors
            .filter_map(|(name, weight)| Some((name, matrix(weight)?)))
            .collect()
    }

    /// `keep` times these plus the rest times `other`, tensor by tensor: a moving average.
    pub(crate) fn averaged(mut self, other: &Self, keep: f32) -> Self {
        for (name, weight) in &mut self.tensors {
            if let Some(new) = other.tensors.get(name) {
                for (old, new) in weight.values.iter_mut().zip(&new.values) {
                    *old = keep * *old + (1.0 - keep) * new;
                }
            }
        }
        self
    }

    /// Replaces the beginnings of names: the first pair `(old, new)` that fits counts.
    pub fn rename<'a>(self, pairs: impl IntoIterator<Item = (&'a str, &'a str)> + Clone) -> Self {
        let rename = |name: String| {
            let mut pairs = pairs.clone().into_iter();
            let new =
                pairs.find_map(|(old, new)| Some(format!("{new}{}", name.strip_prefix(old)?)));
            new.unwrap_or(name)
        };
        let tensors = self.tensors.into_iter();
        Self {
            tensors: tensors
                .map(|(name, weight)| (rename(name), weight))
                .collect(),
        }
    }

    /// With every batch norm of `layers` in the convolution before it, under our name for that.
    ///
    /// `w' = w s`, `b' = (b - mean) s + beta`, `s = gamma / sqrt(var + epsilon)`. A layer that
    /// lacks a tensor, or has one of another length, stays as it is.
    pub(super) fn folded(mut self, layers: &[Folded], epsilon: f64) -> Self {
        for layer in layers {
            if let Some((weight, bias)) = self.fold(layer, epsilon) {
                let (conv, norm) = (format!("{}.", layer.conv), format!("{}.", layer.norm));
                let done = |name: &str| name.starts_with(&conv) || name.starts_with(&norm);
                self.tensors.retain(|name, _| !done(name));
                let (name, shape) = (&layer.name, vec![bias.len()]);
                let bias = Weight {
                    shape,
                    values: bias,
                };
                self.tensors.insert(format!("{name}.weight"), weight);
                self.tensors.insert(format!("{name}.bias"), bias);
            }
        }
        self
    }

    /// Weight and bias of one layer.
    fn fold(&self, layer: &Folded, epsilon: f64) -> Option<(Weight, Vec<f32>)> {
        let mut weight = self.tensors.get(&format!("{}.weight", layer.conv))?.clone();
        let out = *weight.shape.first().filter(|&&out| out > 0)?;
        let vector = |of: &str, part: &str| {
            let weight = self.tensors.get(&format!("{of}.{part}"))?;
            (weight.values.len() == out).then_some(&weight.values)
        };
        let norm = |part| vector(&layer.norm, part);
        let (gamma, beta) = (norm("weight")?, norm("bias")?);
        let (mean, var) = (norm("running_mean")?, norm("running_var")?);
        let old = vector(&layer.conv, "bias");
        let per_filter = weight.values.len() / out;
        let mut bias = Vec::with_capacity(out);
        for i in 0..out {
            let scale = f64::from(gamma[i]) / (f64::from(var[i]) + epsilon).sqrt();
            let filter = &mut weight.values[i * per_filter..][..per_filter];
            for w in filter {
                *w = (f64::from(*w) * scale) as f32;
            }
            let centered = old.map_or(0.0, |b| f64::from(b[i])) - f64::from(mean[i]);
            bias.push((centered * scale + f64::from(beta[i])) as f32);
        }
        Some((weight, bias))
    }

    /// Without the containers and wrappers around the names. What stands beside a container is
    /// no weight and goes; what stands beside a wrapper may be one, and stays. Where both have
    /// the same name nothing is taken off.
    pub(super) fn unwrapped(mut self) -> Self {
        for container in CONTAINERS {
            if self.tensors.keys().any(|name| name.starts_with(container)) {
                self.tensors.retain(|name, _| name.starts_with(container));
                self = self.rename([(container, "")]);
            }
        }
        for wrapper in WRAPPERS {
            let mut inner = (self.tensors.keys()).filter_map(|name| name.strip_prefix(wrapper));
            if !inner.any(|name| self.tensors.contains_key(name)) {
                self = self.rename([(wrapper, "")]);
            }
        }
        self
    }

    /// The bytes of a safetensors file.
    pub fn to_safetensors(&self) -> Result<Vec<u8>> {
        let failed = |e: safetensors::SafeTensorError| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot write the weights: {e}"),
            )
        };
        let bytes: Vec<(&String, &Weight, Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, weight)| {
                let bytes = weight.values.iter().flat_map(|v| v.to_le_bytes());
                (name, weight, bytes.collect())
            })
            .collect();
        let views = bytes
            .iter()
            .map(|(name, weight, bytes)| {
                let shape = weight.shape.clone();
                let view = TensorView::new(safetensors::Dtype::F32, shape, bytes);
                Ok((*name, view.map_err(failed)?))
            })
            .collect::<Result<Vec<_>>>()?;
        safetensors::serialize(views, None).map_err(failed)
    }
}

/// Collects the tensors of a network.
pub(super) struct Sink {
    /// Stands before every name.
    pub(super) prefix: &'static str,
    weights: Weights,
}

impl Sink {
    pub(super) fn new() -> Self {
        Self {
            prefix: "",
            weights: Weights::default(),
        }
    }

    #[cfg(feature = "networks")]
    pub(super) fn put<const D: usize>(&mut self, name: String, tensor: Tensor<D>) {
        let shape = tensor.dims().to_vec();
        let values = tensor
            .try_into_vec_as::<f32>()
            .expect("a float tensor reads as f32");
        let name = format!("{}{name}", self.prefix);
        self.weights.tensors.insert(name, Weight { shape, values });
    }

    pub(super) fn finish(self) -> Weights {
        self.weights
    }
}

/// Hands weights out to a network and notes what does not fit.
pub(super) struct Source {
    /// Stands before every name.
    pub(super) prefix: &'static str,
    weights: Weights,
    missing: Vec<String>,
    misshaped: Vec<String>,
}

impl Source {
    pub(super) fn new(weights: Weights) -> Self {
        Self {
            prefix: "",
            weights,
            missing: Vec::new(),
            misshaped: Vec::new(),
        }
    }

    /// Gives a parameter its value; it keeps its identity, which optimizers know it by.
    #[cfg(feature = "networks")]
    pub(super) fn fill<const D: usize>(&mut self, name: &str, parameter: &mut Param<Tensor<D>>) {
        let trained = parameter.val().is_require_grad();
        let value = self.take(name, parameter.val());
        let loaded = parameter.clone();
        *parameter = loaded.map(|_| value.set_require_grad(trained));
    }

    /// The tensor of this name; `like` itself where it is missing or of another shape.
    #[cfg(feature = "networks")]
    pub(super) fn take<const D: usize>(&mut self, name: &str, like: Tensor<D>) -> Tensor<D> {
        let name = format!("{}{name}", self.prefix);
        let Some(weight) = self.weights.tensors.remove(&name) else {
            self.missing.push(name);
            return like.detach();
        };
        if weight.shape != like.dims() {
            let (found, wanted) = (weight.shape, like.dims());
            self.misshaped
                .push(format!("{name} is {found:?}, must be {wanted:?}"));
            return like.detach();
        }
        Tensor::from_data(TensorData::new(weight.values, weight.shape), &like.device())
    }

    /// Fails where a tensor was missing, misshaped, or left over and not in `ignored`.
    pub(super) fn finish(self, network: &str, ignored: &[&str]) -> Result<()> {
        let left = self.weights.tensors.into_keys();
        let unexpected: Vec<String> = left
            .filter(|name| !ignored.iter().any(|prefix| name.starts_with(prefix)))
            .collect();
        let mut message = format!("the weights do not fit the network {network}");
        for (what, names) in [
            ("missing", &self.missing),
            ("unexpected", &unexpected),
            ("of another shape", &self.misshaped),
        ] {
            if names.is_empty() {
                continue;
            }
            let shown = names[..names.len().min(SHOWN)].join(", ");
            let _ = write!(message, "; {} {what}: {shown}", names.len());
            if names.len() > SHOWN {
                message.push_str(", ...");
            }
        }
        if self.missing.is_empty() && unexpected.is_empty() && self.misshaped.is_empty() {
            return Ok(());
        }
        Err(Error::data(message))
    }
}
