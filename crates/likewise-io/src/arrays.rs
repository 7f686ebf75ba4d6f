//! Named arrays as a safetensors file: how models and checkpoints are kept.

use std::collections::{BTreeMap, HashMap};

use likewise::arrays::{Arrays, Values};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use crate::{Error, ErrorKind, Result};

/// The bytes of a file of these arrays, with `metadata` in its head.
///
/// Fails where an array has another number of values than its shape says.
pub fn to_safetensors(arrays: &Arrays, metadata: &BTreeMap<String, String>) -> Result<Vec<u8>> {
    let failed = |e: safetensors::SafeTensorError| Error::new(ErrorKind::Value, e.to_string());
    let bytes: Vec<(&str, Dtype, &[usize], Vec<u8>)> = arrays
        .iter()
        .map(|(name, shape, values)| {
            let dtype = match values {
                Values::F32(_) => Dtype::F32,
                Values::F64(_) => Dtype::F64,
                Values::Bytes(_) => Dtype::U8,
            };
            (name, dtype, shape, values.to_le_bytes())
        })
        .collect();
    let views = bytes
        .iter()
        .map(|(name, dtype, shape, bytes)| {
            let view = TensorView::new(*dtype, shape.to_vec(), bytes);
            Ok((*name, view.map_err(failed)?))
        })
        .collect::<Result<Vec<_>>>()?;
    let metadata: HashMap<String, String> = metadata.clone().into_iter().collect();
    let metadata = (!metadata.is_empty()).then_some(metadata);
    safetensors::serialize(views, metadata).map_err(failed)
}

/// The arrays of such bytes, and the metadata.
///
/// Fails on broken bytes, and on types other than f32, f64 and bytes.
pub fn from_safetensors(bytes: &[u8]) -> Result<(Arrays, BTreeMap<String, String>)> {
    let broken = |e: safetensors::SafeTensorError| Error::new(ErrorKind::Format, e.to_string());
    let file = SafeTensors::deserialize(bytes).map_err(broken)?;
    let (_, head) = SafeTensors::read_metadata(bytes).map_err(broken)?;
    let mut arrays = Arrays::default();
    for (name, view) in file.tensors() {
        let data = view.data();
        let values = match view.dtype() {
            Dtype::F32 => {
                let values = data.as_chunks::<4>().0.iter().copied();
                Values::F32(values.map(f32::from_le_bytes).collect())
            }
            Dtype::F64 => {
                let values = data.as_chunks::<8>().0.iter().copied();
                Values::F64(values.map(f64::from_le_bytes).collect())
            }
            Dtype::U8 => Values::Bytes(data.to_vec()),
            other => {
                let message = format!("{name} is {other:?}; only f32, f64 and bytes are read");
                return Err(Error::new(ErrorKind::Format, message));
            }
        };
        arrays.put(name, view.shape(), values);
    }
    let metadata = head.metadata().clone().unwrap_or_default();
    Ok((arrays, metadata.into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_and_metadata_come_back_and_lies_are_refused() {
        let mut arrays = Arrays::default();
        arrays.put("w", &[2, 2], Values::F32(vec![1.0, -2.0, 3.5, 0.0]));
        arrays.put("mean", &[1], Values::F64(vec![1e-300]));
        arrays.put("state", &[3], Values::Bytes(vec![1, 2, 255]));
        arrays.put("none", &[0], Values::F64(vec![]));
        let metadata = BTreeMap::from([("kind".to_owned(), "a \"test\"".to_owned())]);
        let bytes = to_safetensors(&arrays, &metadata).unwrap();
        assert_eq!(
            from_safetensors(&bytes).unwrap(),
            (arrays.clone(), metadata)
        );
        for end in 0..bytes.len() {
            assert!(from_safetensors(&bytes[..end]).is_err(), "{end}");
        }
        arrays.put("w", &[3, 2], Values::F32(vec![1.0]));
        assert!(to_safetensors(&arrays, &BTreeMap::new()).is_err());
    }
}
