//! Anybody's encoder from an ONNX file.

use std::path::Path;

use ndarray::{Array2, ArrayView4, Axis};
use rayon::prelude::*;
use tract_onnx::prelude::{
    Arc, DatumExt, Framework, InferenceFact, InferenceModelExt, IntoRunnable, IntoTValue, Tensor,
    TractResult, TypedRunnableModel, tvec,
};

use crate::{Error, Result};

/// An encoder of an ONNX file, frozen.
///
/// **When not to use it.** To train it: only our own
/// [`EncoderConfig`](crate::net::EncoderConfig)s learn. On a GPU: it runs on CPUs.
///
/// **Cost.** Reading optimises the network once, for one size of image; each image is one
/// task, so that all threads work on a batch.
///
/// Pure Rust (tract), so that a program with it needs no library at run time. It knows most
/// operators of ONNX; the message says which one it does not.
#[derive(Debug, Clone)]
pub struct OnnxEncoder {
    plan: Arc<TypedRunnableModel>,
    shape: [usize; 3],
}

impl OnnxEncoder {
    /// Reads a model of one input, `[batch, channels, height, width]`, for images of `shape`
    /// (channels, height, width).
    ///
    /// `output` names the result that is the embedding; none: the first. It must have the
    /// shape `[batch, d]`, or `[batch, d, 1, 1]`.
    pub fn read(path: impl AsRef<Path>, shape: [usize; 3], output: Option<&str>) -> Result<Self> {
        let path = path.as_ref();
        let in_file = |e: String| Error::data(format!("{}: {e}", path.display()));
        // The file holds the weights; they are held some times over while they are optimised.
        let limit = likewise_io::memory::allowed(None) / 4;
        let bytes = likewise_io::read_file(path, limit).map_err(|e| Error::data(e.to_string()))?;
        Self::from_bytes(&bytes, shape, output).map_err(|e| in_file(e.to_string()))
    }

    /// As [`read`](Self::read), from the bytes of a file.
    pub fn from_bytes(bytes: &[u8], shape: [usize; 3], output: Option<&str>) -> Result<Self> {
        let [channels, height, width] = shape;
        let plan = |mut bytes: &[u8]| -> TractResult<Arc<TypedRunnableModel>> {
            let mut model = tract_onnx::onnx().model_for_read(&mut bytes)?;
            if let Some(name) = output {
                model.select_outputs_by_name([name])?;
            }
            let image = f32::fact([1, channels, height, width]);
            model.set_input_fact(0, InferenceFact::from(image))?;
            model.into_optimized()?.into_runnable()
        };
        // An empty file is an empty model, which has no inputs.
        if bytes.is_empty() {
            return Err(Error::data("the file is empty"));
        }
        let plan = plan(bytes)
            .map_err(|e| Error::data(format!("not an ONNX encoder of such images: {e:#}")))?;
        Ok(Self { plan, shape })
    }

    /// Embeds preprocessed images, `[images, channels, height, width]`.
    pub fn embed(&self, pixels: ArrayView4<f32>) -> Result<Array2<f32>> {
        if pixels.shape()[1..] != self.shape {
            return Err(Error::data(format!(
                "the images are {:?} (channels, height, width), the encoder was read for {:?}",
                &pixels.shape()[1..],
                self.shape
            )));
        }
        let rows = pixels
            .axis_iter(Axis(0))
            .into_par_iter()
            .map(|image| {
                let values: Vec<f32> = image.iter().copied().collect();
                self.row(&values)
                    .map_err(|e| Error::data(format!("the ONNX encoder failed on an image: {e:#}")))
            })
            .collect::<Result<Vec<Vec<f32>>>>()?;
        let dim = rows.first().map_or(0, Vec::len);
        let shape = (rows.len(), dim);
        Array2::from_shape_vec(shape, rows.concat())
            .map_err(|_| Error::data("the ONNX encoder gives rows of several lengths"))
    }

    fn row(&self, image: &[f32]) -> TractResult<Vec<f32>> {
        let [channels, height, width] = self.shape;
        let input = Tensor::from_shape(&[1, channels, height, width], image)?;
        let output = self.plan.run(tvec!(input.into_tvalue()))?;
        let row = output[0].to_plain_array_view::<f32>()?;
        Ok(row.iter().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array4;

    use super::*;
    use crate::Device;
    use crate::net::{Architecture, EmbeddingConfig, EncoderConfig, Pool};

    fn images(n: usize, channels: usize, side: usize) -> Array4<f32> {
        Array4::from_shape_fn((n, channels, side, side), |(i, c, h, w)| {
            ((3 * i + 2 * c + h * w) % 11) as f32 / 5.0 - 1.0
        })
    }

    fn error(found: &Array2<f32>, expected: &Array2<f32>) -> f32 {
        assert_eq!(found.dim(), expected.dim());
        let largest = expected.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        let differences = (found - expected).mapv(f32::abs);
        differences.iter().fold(0.0_f32, |m, &v| m.max(v)) / largest
    }

    #[test]
    fn what_is_written_reads_back_as_the_same_function() {
        let reads_back = |name: Architecture| {
            for (pool, head, unit) in [
                (Pool::Average, EmbeddingConfig::None, false),
                (
                    Pool::Both,
                    EmbeddingConfig::Mlp {
                        hidden: 9,
                        dim: 5,
                        layer_norm: true,
                    },
                    true,
                ),
            ] {
                let config = EncoderConfig {
                    pool,
                    head,
                    ..EncoderConfig::of(name)
                };
                let encoder = config.init(1, &Device::flex()).unwrap();
                // Small images for speed, where the network takes any size.
                let side = match name {
                    Architecture::Mnist => 28,
                    Architecture::Cifar => 32,
                    _ => 64,
                };
                let input = images(2, config.input().channels, side);
                let mut expected = encoder.embed(input.view()).unwrap();
                if unit {
                    expected = likewise::matrix::l2_normalize(expected);
                }
                let bytes = encoder.to_onnx(unit).unwrap();
                let shape = [config.input().channels, side, side];
                let read = OnnxEncoder::from_bytes(&bytes, shape, Some("embedding")).unwrap();
                let off = error(&read.embed(input.view()).unwrap(), &expected);
                assert!(off < 1e-3, "{}: {off}", name.name());
            }
        };
        std::thread::scope(|threads| {
            for name in Architecture::all() {
                threads.spawn(move || reads_back(name));
            }
        });
    }

    #[test]
    fn what_is_no_encoder_is_refused() {
        let config = EncoderConfig::of(Architecture::Mnist);
        let encoder = config.init(1, &Device::flex()).unwrap();
        let bytes = encoder.to_onnx(false).unwrap();
        let shape = [1, 28, 28];
        for end in [0, 1, 10, bytes.len() / 2, bytes.len() - 1] {
            assert!(
                OnnxEncoder::from_bytes(&bytes[..end], shape, None).is_err(),
                "{end}"
            );
        }
        assert!(OnnxEncoder::from_bytes(&bytes, [3, 28, 28], None).is_err());
        assert!(OnnxEncoder::from_bytes(&bytes, shape, Some("none")).is_err());
        let read = OnnxEncoder::from_bytes(&bytes, shape, None).unwrap();
        let message = read.embed(images(1, 1, 27).view()).unwrap_err().to_string();
        assert!(message.contains("was read for [1, 28, 28]"), "{message}");
        let rmac = EncoderConfig {
            pool: Pool::Rmac,
            ..config
        };
        let message = rmac
            .init(1, &Device::flex())
            .unwrap()
            .to_onnx(true)
            .unwrap_err();
        assert!(message.to_string().contains("encoder.pool"), "{message}");
    }
}
