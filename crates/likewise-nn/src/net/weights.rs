//! Weights by name: read from safetensors and `PyTorch` files, written to safetensors.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use burn::module::Param;
use burn::tensor::{Tensor, TensorData};
use half::{bf16, f16};
use likewise_io::memory;
use ndarray::Array2;
use pytorch_reader::PytorchReader;
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;

use super::layout::in_order;
use crate::{Error, ErrorKind, Result};

/// Names of an error message; more are counted.
const SHOWN: usize = 6;

/// Under what trainers put the weights of the network, beside the state of their optimizers.
const CONTAINERS: [&str; 2] = ["state_dict.", "model_state_dict."];

/// What wrappers of networks put before the names of their weights.
const WRAPPERS: [&str; 3] = ["model.", "module.", "net."];

/// Most bytes of the weights of one file: 8 GiB.
const MOST: u64 = 8 << 30;

/// Bytes of weights for a byte of file, beyond which they are not in it: tensors that share
/// their values, or repeat one value by a stride of 0.
const SHARED: u64 = 64;

/// Bytes of weights that any file may have.
const ALWAYS: u64 = 64 << 20;

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

#[derive(Clone, Copy)]
enum Float {
    Half,
    Brain,
    Single,
    Double,
}

impl Float {
    fn decode(self, bytes: &[u8]) -> Vec<f32> {
        let pairs = || bytes.as_chunks::<2>().0.iter().copied();
        match self {
            Self::Half => pairs().map(|b| f16::from_le_bytes(b).to_f32()).collect(),
            Self::Brain => pairs().map(|b| bf16::from_le_bytes(b).to_f32()).collect(),
            Self::Single => {
                let fours = bytes.as_chunks::<4>().0.iter().copied();
                fours.map(f32::from_le_bytes).collect()
            }
            Self::Double => {
                let eights = bytes.as_chunks::<8>().0.iter().copied();
                eights.map(|b| f64::from_le_bytes(b) as f32).collect()
            }
        }
    }
}

impl Weights {
    /// Reads a `.safetensors` file, or a `.pt` or `.pth` file of any age; the content tells which.
    ///
    /// Refuses what is no regular file, weights of more than 8 GiB or a third of the memory
    /// there is (a network is made of a copy of them), and such of which the file holds far less than it
    /// says.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Self::read_with(path, None)
    }

    /// As [`read`](Self::read); the weights may take at most `max_memory` bytes, if that is less.
    pub fn read_with(path: impl AsRef<Path>, max_memory: Option<u64>) -> Result<Self> {
        let path = path.as_ref();
        let (file, length) = likewise_io::open(path).map_err(|e| Error::data(e.to_string()))?;
        let limit = (memory::allowed(None) / 3).min(MOST);
        let limit = max_memory.map_or(limit, |most| most.min(limit));
        Self::from_file(file, length, path, limit)
            .map_err(|e| Error::new(e.kind(), format!("{}: {e}", path.display())))
    }

    fn from_file(file: File, length: u64, path: &Path, limit: u64) -> Result<Self> {
        // Eight bytes of length come before the JSON header of safetensors.
        let mut bytes = Vec::new();
        let mut file = file.take(9);
        let read = |e: std::io::Error| Error::data(e.to_string());
        file.read_to_end(&mut bytes).map_err(read)?;
        if bytes.get(8) != Some(&b'{') {
            return Self::from_pytorch(path, length, limit);
        }
        check_size(length, length, limit)?;
        file.set_limit(length);
        file.read_to_end(&mut bytes).map_err(read)?;
        Self::from_safetensors(&bytes)
    }

    /// The weights in the bytes of a safetensors file.
    pub fn from_safetensors(bytes: &[u8]) -> Result<Self> {
        use safetensors::Dtype;
        let file = SafeTensors::deserialize(bytes)
            .map_err(|e| Error::data(format!("not a whole safetensors file: {e}")))?;
        let mut weights = Self::default();
        for (name, view) in file.iter() {
            let float = match view.dtype() {
                Dtype::F16 => Float::Half,
                Dtype::BF16 => Float::Brain,
                Dtype::F32 => Float::Single,
                Dtype::F64 => Float::Double,
                _ => continue,
            };
            weights.insert(name, view.shape().to_vec(), float.decode(view.data()))?;
        }
        Ok(in_order(weights.unwrapped()))
    }

    fn from_pytorch(path: &Path, length: u64, limit: u64) -> Result<Self> {
        use pytorch_reader::DType;
        let broken =
            |e: &dyn std::fmt::Display| Error::data(format!("not a whole PyTorch file: {e}"));
        let reader = PytorchReader::new(path).map_err(|e| broken(&e))?;
        let float = |dtype| {
            Some(match dtype {
                DType::F16 => Float::Half,
                DType::BF16 => Float::Brain,
                DType::F32 => Float::Single,
                DType::F64 => Float::Double,
                _ => return None,
            })
        };
        let floats = (reader.tensors().values()).filter(|t| float(t.dtype()).is_some());
        let sizes = floats.map(|t| (t.num_elements() as u64).saturating_mul(4));
        check_size(sizes.fold(0, u64::saturating_add), length, limit)?;
        let mut weights = Self::default();
        for (name, tensor) in reader.into_tensors() {
            let Some(float) = float(tensor.dtype()) else {
                continue;
            };
            let values = float.decode(&tensor.read().map_err(|e| broken(&e))?);
            weights.insert(&name, tensor.shape().to_vec(), values)?;
        }
        Ok(weights.unwrapped())
    }

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
    fn unwrapped(mut self) -> Self {
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

/// Fails where weights of so many bytes are too many, or too many for a file of `length` bytes.
fn check_size(bytes: u64, length: u64, limit: u64) -> Result<()> {
    let need = memory::text(bytes);
    if bytes > length.saturating_mul(SHARED).saturating_add(ALWAYS) {
        return Err(Error::data(format!(
            "the weights would take {need}, far more than a file of {length} bytes holds; take \
             another checkpoint"
        )));
    }
    if bytes > limit {
        return Err(Error::new(
            ErrorKind::Memory,
            format!(
                "the weights take {need} of memory, but {} are allowed; take a smaller network, \
                 or a machine with more memory",
                memory::text(limit)
            ),
        ));
    }
    Ok(())
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
    pub(super) fn fill<const D: usize>(&mut self, name: &str, parameter: &mut Param<Tensor<D>>) {
        let trained = parameter.val().is_require_grad();
        let value = self.take(name, parameter.val());
        let loaded = parameter.clone();
        *parameter = loaded.map(|_| value.set_require_grad(trained));
    }

    /// The tensor of this name; `like` itself where it is missing or of another shape.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of the older form of one tensor per name, all of the same single value, as `torch`
    /// writes a value that was expanded.
    fn repeated(names: &[&str], count: i32) -> Vec<u8> {
        let text = |text: &str| {
            [
                b"X",
                &(text.len() as u32).to_le_bytes()[..],
                text.as_bytes(),
            ]
            .concat()
        };
        let mut file = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.".to_vec();
        file.extend(b"\x80\x02M\xe9\x03.");
        file.extend(b"\x80\x02}");
        file.extend([text("little_endian"), b"\x88s.".to_vec()].concat());
        file.extend(b"\x80\x02}");
        for name in names {
            file.extend(text(name));
            file.extend(b"ctorch._utils\n_rebuild_tensor_v2\n((");
            file.extend(text("storage"));
            file.extend(b"ctorch\nFloatStorage\n");
            file.extend([text("0"), text("cpu")].concat());
            // Of a storage of 1 value from 0 on: the shape, and a stride of 0.
            file.extend(b"K\x01NtQK\x00J");
            file.extend(count.to_le_bytes());
            file.extend(b"\x85K\x00\x85\x89ccollections\nOrderedDict\n)RtRs");
        }
        file.extend(b".\x80\x02]");
        file.extend([text("0"), b"a.".to_vec()].concat());
        file.extend(1_i64.to_le_bytes());
        file.extend(2.5_f32.to_le_bytes());
        file
    }

    #[test]
    fn values_that_are_not_in_the_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.pth");
        std::fs::write(&path, repeated(&["a", "b"], 5000)).unwrap();
        let weights = Weights::read(&path).unwrap();
        assert_eq!(weights.get("b").unwrap().1, vec![2.5; 5000]);
        let e = Weights::read_with(&path, Some(39_999)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Memory);
        assert!(
            e.to_string()
                .contains("w.pth: the weights take 40000 bytes"),
            "{e}"
        );
        std::fs::write(&path, repeated(&["a", "b", "c", "d"], 500_000_000)).unwrap();
        let e = Weights::read(&path).unwrap_err().to_string();
        assert!(e.contains("far more than a file of"), "{e}");
    }

    #[test]
    fn safetensors_beyond_the_limit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.safetensors");
        let mut weights = Weights::default();
        weights.insert("a", vec![1000], vec![1.0; 1000]).unwrap();
        std::fs::write(&path, weights.to_safetensors().unwrap()).unwrap();
        assert_eq!(Weights::read(&path).unwrap(), weights);
        let e = Weights::read_with(&path, Some(3999)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Memory, "{e}");
        let e = Weights::read(folder.path()).unwrap_err().to_string();
        assert!(e.contains("not a regular file"), "{e}");
    }

    fn names(written: &[&str]) -> Vec<String> {
        let mut weights = Weights::default();
        for name in written {
            weights.insert(name, vec![1], vec![1.0]).unwrap();
        }
        let read = Weights::from_safetensors(&weights.to_safetensors().unwrap()).unwrap();
        read.shapes().map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn what_stands_beside_a_wrapper_stays() {
        assert_eq!(
            names(&["model.conv.weight", "head.weight"]),
            ["conv.weight", "head.weight"]
        );
        assert_eq!(names(&["module.net.a", "module.b"]), ["a", "b"]);
        // What stands beside a container is of the optimizer.
        assert_eq!(names(&["state_dict.model.a", "moments.b"]), ["a"]);
        // Two of one name: none of them may be lost.
        assert_eq!(names(&["model.a", "a"]), ["a", "model.a"]);
    }
}
