//! Files of weights: safetensors, and checkpoints of `PyTorch`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use half::{bf16, f16};
use likewise_io::memory;
use pytorch_reader::PytorchReader;
use safetensors::SafeTensors;

use super::layout::in_order;
use super::weights::Weights;
use crate::{Error, ErrorKind, Result};

/// Most bytes of the weights of one file: 8 GiB.
const MOST: u64 = 8 << 30;

/// Bytes of weights for a byte of file, beyond which they are not in it: tensors that share
/// their values, or repeat one value by a stride of 0.
const SHARED: u64 = 64;

/// Bytes of weights that any file may have.
const ALWAYS: u64 = 64 << 20;

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
        let reader = PytorchReader::new(path).map_err(|e| {
            if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("onnx")) {
                return Error::data(
                    "an ONNX file, which the library alone reads (feature onnx); give .safetensors or \
                     .pth",
                );
            }
            let message = format!("neither a safetensors file nor a whole PyTorch one (.pth): {e}");
            Error::data(message)
        })?;
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
