//! Named arrays: what models and unfinished trainings are saved as.
//!
//! A file of them is a safetensors file (`likewise-study` writes it); here they are values.

use std::collections::BTreeMap;

use ndarray::{Array1, Array2};

use crate::{Error, Result};

/// The values of an array, row by row.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Of parameters and features.
    F32(Vec<f32>),
    /// Of maps that were solved for.
    F64(Vec<f64>),
    /// Of anything that has a form of its own.
    Bytes(Vec<u8>),
}

impl Values {
    /// All values in little-endian bytes, as files hold them.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        match self {
            Self::F32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::F64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// Arrays by their names, in the order of the names.
///
/// ```
/// use likewise::arrays::Arrays;
/// let mut arrays = Arrays::default();
/// arrays.put_matrix("map", &ndarray::array![[1.0, 2.0_f64]]);
/// assert_eq!(arrays.matrix64("map")?, ndarray::array![[1.0, 2.0]]);
/// assert!(arrays.matrix64("nosuch").is_err());
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arrays(BTreeMap<String, (Vec<usize>, Values)>);

impl Arrays {
    /// Adds an array of this shape, in place of one of that name.
    pub fn put(&mut self, name: impl Into<String>, shape: &[usize], values: Values) {
        self.0.insert(name.into(), (shape.to_vec(), values));
    }

    /// Adds a matrix in f64.
    pub fn put_matrix(&mut self, name: impl Into<String>, matrix: &Array2<f64>) {
        let values = matrix.iter().copied().collect();
        self.put(name, matrix.shape(), Values::F64(values));
    }

    /// Adds a matrix in f32.
    pub fn put_matrix32(&mut self, name: impl Into<String>, matrix: &Array2<f32>) {
        let values = matrix.iter().copied().collect();
        self.put(name, matrix.shape(), Values::F32(values));
    }

    /// Adds all arrays of `others`, with `prefix` before their names.
    pub fn put_all(&mut self, prefix: &str, others: Self) {
        let named = others.0.into_iter();
        self.0
            .extend(named.map(|(name, array)| (format!("{prefix}{name}"), array)));
    }

    /// The arrays whose names begin with `prefix`, by the rest of their names.
    pub fn under(&self, prefix: &str) -> Self {
        let named = self.0.iter().filter_map(|(name, array)| {
            let rest = name.strip_prefix(prefix)?;
            Some((rest.to_owned(), array.clone()))
        });
        Self(named.collect())
    }

    /// Name, shape and values of every array, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[usize], &Values)> {
        let each = self.0.iter();
        each.map(|(name, (shape, values))| (name.as_str(), shape.as_slice(), values))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Shape and values of the array of this name. Fails without it.
    pub fn get(&self, name: &str) -> Result<(&[usize], &Values)> {
        let missing = || Error::data(format!("there is no array {name}"));
        let (shape, values) = self.0.get(name).ok_or_else(missing)?;
        Ok((shape, values))
    }

    /// The matrix of this name. Fails without it, and where it is no matrix in f64.
    pub fn matrix64(&self, name: &str) -> Result<Array2<f64>> {
        match self.get(name)? {
            (&[rows, columns], Values::F64(values)) => {
                let matrix = Array2::from_shape_vec((rows, columns), values.clone());
                matrix.map_err(|_| wrong(name, "a matrix in f64"))
            }
            _ => Err(wrong(name, "a matrix in f64")),
        }
    }

    /// The matrix of this name. Fails without it, and where it is no matrix in f32.
    pub fn matrix32(&self, name: &str) -> Result<Array2<f32>> {
        match self.get(name)? {
            (&[rows, columns], Values::F32(values)) => {
                let matrix = Array2::from_shape_vec((rows, columns), values.clone());
                matrix.map_err(|_| wrong(name, "a matrix in f32"))
            }
            _ => Err(wrong(name, "a matrix in f32")),
        }
    }

    /// The vector of this name. Fails without it, and where it is no vector in f64.
    pub fn vector64(&self, name: &str) -> Result<Array1<f64>> {
        match self.get(name)? {
            (&[length], Values::F64(values)) if values.len() == length => {
                Ok(Array1::from(values.clone()))
            }
            _ => Err(wrong(name, "a vector in f64")),
        }
    }

    /// The bytes of this name. Fails without them.
    pub fn bytes(&self, name: &str) -> Result<&[u8]> {
        match self.get(name)? {
            (_, Values::Bytes(bytes)) => Ok(bytes),
            _ => Err(wrong(name, "bytes")),
        }
    }
}

fn wrong(name: &str, what: &str) -> Error {
    Error::data(format!("{name} is not {what}"))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn arrays_come_back_and_nothing_is_taken_for_another_kind() {
        let mut inner = Arrays::default();
        inner.put_matrix32("w", &array![[1.0, 2.0], [3.0, 4.0]]);
        inner.put("mean", &[2], Values::F64(vec![0.5, 1.5]));
        inner.put("state", &[3], Values::Bytes(vec![1, 2, 3]));
        let mut all = Arrays::default();
        all.put_all("a/", inner.clone());
        assert_eq!(all.under("a/"), inner);
        assert!(all.under("b/").is_empty());
        assert_eq!(inner.matrix32("w").unwrap(), array![[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(inner.vector64("mean").unwrap(), array![0.5, 1.5]);
        assert_eq!(inner.bytes("state").unwrap(), [1, 2, 3]);
        for wrong in [inner.matrix64("w"), inner.matrix64("mean")] {
            assert!(wrong.unwrap_err().to_string().contains("matrix in f64"));
        }
        assert!(inner.bytes("w").is_err() && inner.vector64("state").is_err());
        inner.put("short", &[2, 2], Values::F32(vec![1.0]));
        assert!(inner.matrix32("short").is_err());
    }
}
