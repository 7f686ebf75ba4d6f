//! A head as a safetensors file.

use std::collections::BTreeMap;

use likewise::eval::whitening::Whitening;
use ndarray::{Array1, Array2};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use super::head::{Head, HeadConfig};
use crate::{Error, ErrorKind, Result};

/// Part of the name of every trained matrix in the file.
const RESIDUAL: &str = "residual.";

impl Head {
    /// The head as the bytes of a safetensors file: `start.mean` (`d`) and `start.matrix`
    /// (`d x r`) in f64, and the trained matrices as `residual.*` in f32.
    pub fn to_safetensors(&self) -> Result<Vec<u8>> {
        let failed = |e: safetensors::SafeTensorError| {
            Error::new(ErrorKind::Internal, format!("cannot write the model: {e}"))
        };
        let wide = |values: &mut dyn Iterator<Item = &f64>| -> Vec<u8> {
            values.flat_map(|v| v.to_le_bytes()).collect()
        };
        let mean = wide(&mut self.start.mean.iter());
        let matrix = wide(&mut self.start.matrix.iter());
        let trained: BTreeMap<String, (Vec<usize>, Vec<u8>)> = self
            .residual
            .iter()
            .flatten()
            .map(|(name, m)| {
                let bytes = m.iter().flat_map(|v| v.to_le_bytes()).collect();
                (format!("{RESIDUAL}{name}"), (m.shape().to_vec(), bytes))
            })
            .collect();
        let (d, r) = self.start.matrix.dim();
        let mut views = vec![
            ("start.mean", TensorView::new(Dtype::F64, vec![d], &mean)),
            (
                "start.matrix",
                TensorView::new(Dtype::F64, vec![d, r], &matrix),
            ),
        ];
        for (name, (shape, bytes)) in &trained {
            views.push((name, TensorView::new(Dtype::F32, shape.clone(), bytes)));
        }
        let views = views
            .into_iter()
            .map(|(name, view)| Ok((name, view.map_err(failed)?)))
            .collect::<Result<Vec<_>>>()?;
        safetensors::serialize(views, None).map_err(failed)
    }

    /// The head of such bytes; `config` stands in the run's `config.json`.
    ///
    /// Fails on broken bytes, and on matrices that do not fit each other.
    pub fn from_safetensors(config: HeadConfig, bytes: &[u8]) -> Result<Self> {
        config.validate()?;
        let broken = |e: &dyn std::fmt::Display| Error::data(format!("broken model file: {e}"));
        let file = SafeTensors::deserialize(bytes).map_err(|e| broken(&e))?;
        let wide = |name: &str, rank: usize| -> Result<(Vec<usize>, Vec<f64>)> {
            let view = file.tensor(name).map_err(|e| broken(&e))?;
            if view.dtype() != Dtype::F64 || view.shape().len() != rank {
                return Err(broken(&format!(
                    "{name} is not a f64 tensor of rank {rank}"
                )));
            }
            let values = view.data().as_chunks::<8>().0.iter().copied();
            Ok((
                view.shape().to_vec(),
                values.map(f64::from_le_bytes).collect(),
            ))
        };
        let (_, mean) = wide("start.mean", 1)?;
        let (shape, matrix) = wide("start.matrix", 2)?;
        let matrix =
            Array2::from_shape_vec((shape[0], shape[1]), matrix).map_err(|e| broken(&e))?;
        let (d, r) = matrix.dim();
        if mean.len() != d || d == 0 || r == 0 {
            return Err(broken(&"start.mean and start.matrix do not fit"));
        }
        let mut residual = BTreeMap::new();
        for (name, view) in file.tensors() {
            let Some(name) = name.strip_prefix(RESIDUAL) else {
                continue;
            };
            let &[rows, columns] = view.shape() else {
                return Err(broken(&format!("{name} is not a matrix")));
            };
            if view.dtype() != Dtype::F32 {
                return Err(broken(&format!("{name} is not f32")));
            }
            let values = view.data().as_chunks::<4>().0.iter().copied();
            let values = values.map(f32::from_le_bytes).collect();
            let m = Array2::from_shape_vec((rows, columns), values).map_err(|e| broken(&e))?;
            residual.insert(name.to_owned(), m);
        }
        let dim = |name: &str| residual.get(name).map(Array2::dim);
        let fits = match (dim("input.weight"), dim("input.bias"), dim("output.weight")) {
            (None, None, None) => residual.is_empty(),
            (None, None, Some(output)) => output == (r, config.learned_dim(r)),
            (Some(input), Some(bias), Some(output)) => {
                input.0 == r && bias == (1, input.1) && output == (input.1, config.learned_dim(r))
            }
            _ => false,
        };
        if !fits {
            return Err(broken(&"the trained matrices do not fit each other"));
        }
        Ok(Self {
            config,
            start: Whitening {
                mean: Array1::from(mean),
                matrix,
            },
            residual: (!residual.is_empty()).then_some(residual),
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn head() -> Head {
        let part = |name: &str, m: Array2<f32>| (name.to_owned(), m);
        Head {
            config: HeadConfig {
                width: 3,
                ..HeadConfig::default()
            },
            start: Whitening {
                mean: array![0.5, -1.0, 0.0],
                matrix: array![[1.0, 0.0], [0.5, 2.0], [0.0, -1.0]],
            },
            residual: Some(BTreeMap::from([
                part("input.weight", array![[1.0, -1.0, 0.5], [0.0, 2.0, 1.0]]),
                part("input.bias", array![[0.1, 0.0, -0.1]]),
                part(
                    "output.weight",
                    array![[0.3, 0.0, 1.0], [0.0, 0.2, 0.0], [-0.4, 0.1, 0.5]],
                ),
            ])),
        }
    }

    #[test]
    fn a_saved_head_is_the_same_head() {
        let head = head();
        let again = Head::from_safetensors(head.config, &head.to_safetensors().unwrap()).unwrap();
        assert_eq!(again, head);
        let x = array![[1.0_f32, 2.0, 3.0], [0.0, 0.0, 0.0]];
        let z = head.embed(x.view()).unwrap();
        assert_eq!(z, again.embed(x.view()).unwrap());
        assert_eq!(z.dim(), (2, head.output_dim()));
        for row in z.rows() {
            assert!(
                (row.dot(&row) - 1.0).abs() < 1e-5,
                "embeddings have unit length"
            );
        }
    }

    #[test]
    fn broken_files_are_refused() {
        let good = head().to_safetensors().unwrap();
        let config = head().config;
        for end in [0, 7, 20, good.len() - 1] {
            assert!(Head::from_safetensors(config, &good[..end]).is_err());
        }
        let mut head = head();
        if let Some(residual) = &mut head.residual {
            residual.insert("output.weight".into(), array![[0.0_f32]]);
        }
        let wrong = head.to_safetensors().unwrap();
        let message = Head::from_safetensors(config, &wrong)
            .unwrap_err()
            .to_string();
        assert!(message.contains("do not fit"), "{message}");
    }

    #[test]
    fn an_untrained_residual_changes_nothing() {
        let mut trained = head();
        if let Some(residual) = &mut trained.residual {
            residual.insert("output.weight".into(), Array2::zeros((3, 3)));
        }
        let x = array![[1.0_f32, 2.0, 3.0], [-1.0, 0.5, 2.0]];
        let start = Head {
            residual: None,
            ..trained.clone()
        };
        let (a, b) = (
            trained.embed(x.view()).unwrap(),
            start.embed(x.view()).unwrap(),
        );
        let cosine = a.row(0).dot(&a.row(1)) - b.row(0).dot(&b.row(1));
        assert!(cosine.abs() < 1e-6);
    }
}
