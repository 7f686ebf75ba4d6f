//! An encoder: images in, one row each out.

use std::path::Path;

use likewise::linear::Affine;
use ndarray::{Array2, Array4, ArrayView4, Axis};
use serde::{Deserialize, Serialize};

use super::architecture::Architecture;
use super::embedding::EmbeddingConfig;
use super::pooling::Pool;
use super::preprocess::Preprocess;
use crate::{Error, ErrorKind, Result};
#[cfg(feature = "networks")]
use {
    super::embedding::Embedding,
    super::network::Network,
    super::tensor::to_matrix,
    super::weights::{Sink, Source, Weights},
    burn::module::{Module, ParamId, list_param_ids},
    burn::tensor::{Device, Tensor, TensorData},
};

/// Names of the parts in a saved encoder begin with these.
const BACKBONE: &str = "backbone.";
const HEAD: &str = "head.";

/// Images embedded at a time, where the caller does not say.
const BATCH: usize = 16;

/// A convolutional network, what pools its map, and a head.
///
/// ```
/// use likewise_nn::net::{Architecture, EncoderConfig};
///
/// let config: EncoderConfig = serde_json::from_str(
///     r#"{"name": "mnist", "head": {"kind": "linear", "dim": 64}}"#,
/// ).unwrap();
/// let encoder = config.init(7, &likewise_nn::Device::flex())?;
/// let images = ndarray::Array4::zeros((2, 1, 28, 28));
/// assert_eq!(encoder.embed(images.view())?.dim(), (2, 64));
/// # Ok::<(), likewise_nn::Error>(())
/// ```
///
/// **When not to use it.** With precomputed features: they need only a
/// [`Head`](crate::net::Head). From random weights with few images: start from published ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EncoderConfig {
    /// The network.
    pub name: Architecture,
    /// From its map to a row.
    pub pool: Pool,
    /// Layers behind the pooled features.
    pub head: EmbeddingConfig,
    /// Whether batch norms keep their statistics in training, as is usual when published
    /// weights are tuned on small batches. Their scale and shift are trained all the same.
    /// `false` for training from random weights.
    pub frozen_norm: bool,
    /// What the weights expect; none: what those of [`Architecture`]'s table do.
    pub preprocess: Option<Preprocess>,
    /// Whether the whole image is squeezed into the square that is read, in place of its middle
    /// being cut out: for things that fill their image from side to side.
    pub squeeze: bool,
    /// Convolutions, counted from the image, that training leaves as they are, with the norms
    /// between them. What they see is general; with few labels only the last ones have much to
    /// learn, and a step costs less than half. `lite0` has 49: 24 are its first half.
    pub frozen_layers: usize,
    /// Height and width of the images that are read; none: what the network was made for.
    /// Half the side costs a quarter of the time. `mnist` and `cifar` read one size alone.
    pub side: Option<usize>,
}

impl Default for EncoderConfig {
    fn default() -> Self {
        Self {
            name: Architecture::default(),
            pool: Pool::default(),
            head: EmbeddingConfig::default(),
            frozen_norm: true,
            preprocess: None,
            squeeze: false,
            frozen_layers: 0,
            side: None,
        }
    }
}

/// What an encoder reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Number of channels.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
    /// From pixels to values.
    pub preprocess: Preprocess,
    /// Whether whole images are squeezed into the square.
    pub squeeze: bool,
}

impl EncoderConfig {
    /// A network with average pooling and no head.
    pub fn of(name: Architecture) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// Every network with average pooling and no head.
    pub fn all() -> Vec<Self> {
        Architecture::all().into_iter().map(Self::of).collect()
    }

    /// Name of the network.
    pub fn name(&self) -> &'static str {
        self.name.name()
    }

    /// What it reads.
    pub fn input(&self) -> Input {
        let published = || self.name.preprocess();
        let preprocess = self.preprocess.clone().unwrap_or_else(published);
        let side = self.side.unwrap_or(self.name.side());
        Input {
            channels: preprocess.depth(),
            height: side,
            width: side,
            preprocess,
            squeeze: self.squeeze,
        }
    }

    /// Dimensions of its rows.
    pub fn output_dim(&self) -> usize {
        self.head.dim(self.name.features())
    }

    /// Fails on a head without units, and on a side or a preprocessing that does not fit the
    /// network.
    pub fn validate(&self) -> Result<()> {
        self.head.validate(self.name.features())?;
        if let Some(side) = self.side {
            let own = self.name.side();
            let (fits, rule) = if self.name.has_one_size() {
                (side == own, format!("must be {own} for {}", self.name()))
            } else {
                let sides = 64..=1024;
                (sides.contains(&side), "must be from 64 to 1024".into())
            };
            if !fits {
                return Err(Error::parameter("encoder.side", side, &rule));
            }
        }
        let Some(preprocess) = &self.preprocess else {
            return Ok(());
        };
        preprocess.validate()?;
        let wanted = self.name.preprocess().depth();
        if preprocess.depth() != wanted {
            return Err(Error::parameter(
                "encoder.preprocess.channels",
                format!("{:?}", preprocess.channels),
                &format!("must have {wanted} for {}", self.name()),
            ));
        }
        Ok(())
    }

    /// The encoder with random weights: the same for the same seed on every device.
    #[cfg(feature = "networks")]
    pub fn init(&self, seed: u64, device: &Device) -> Result<Encoder> {
        self.validate()?;
        // Drawn as a network that learns, so that `train` can bring it back from `valid`.
        let learning = if device.is_autodiff() {
            device.clone()
        } else {
            device.clone().autodiff()
        };
        let encoder = Encoder {
            backbone: self.name.build(seed, self.frozen_norm, &learning),
            head: self.head.init(self.name.features(), seed, &learning),
            config: self.clone(),
        };
        Ok(if device.is_autodiff() {
            encoder
        } else {
            encoder.valid()
        })
    }
}

/// A part of an encoder, to freeze it or to give it its own step size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// The convolutional network.
    Backbone,
    /// The layers behind the pooled features.
    Head,
}

/// The network of an [`EncoderConfig`].
///
/// On an autodiff device it can be trained; [`valid`](Module::valid) gives the one to
/// evaluate.
#[cfg(feature = "networks")]
#[derive(Module, Debug)]
pub struct Encoder {
    pub(super) backbone: Network,
    pub(super) head: Option<Embedding>,
    #[module(skip)]
    config: EncoderConfig,
}

#[cfg(feature = "networks")]
impl Encoder {
    /// The network, without a head, that the weights in a file are of: the first that they fit.
    ///
    /// Reads safetensors and `PyTorch` files. Fails on a file that cannot be read, and with
    /// what is wrong for `lite0` where no network fits.
    pub fn open(path: &Path, device: &Device) -> Result<Self> {
        Self::open_with(path, None, device)
    }

    /// As [`open`](Self::open); the weights may take at most `max_memory` bytes, see
    /// [`Weights::read_with`].
    pub fn open_with(path: &Path, max_memory: Option<u64>, device: &Device) -> Result<Self> {
        let weights = Weights::read_with(path, max_memory)?;
        let mut complaint = None;
        let usual = [Architecture::Lite0, Architecture::Squeezenet];
        for name in usual.into_iter().chain(Architecture::all()) {
            let encoder = EncoderConfig::of(name).init(0, device)?;
            match encoder.load(weights.clone()) {
                Ok(encoder) => return Ok(encoder),
                Err(e) => drop(complaint.get_or_insert(e)),
            }
        }
        let names = Architecture::all().map(Architecture::name).join(", ");
        let closest = complaint.map_or_else(String::new, |e| format!(": {e}"));
        Err(Error::data(format!(
            "{}: the weights fit none of the networks {names}{closest}",
            path.display()
        )))
    }

    /// Its choices.
    pub fn config(&self) -> &EncoderConfig {
        &self.config
    }

    /// `[batch, channels, height, width]`, preprocessed, to `[batch, output_dim]`.
    ///
    /// Rows are not scaled to length 1. Panics, as every layer of burn, on an input that
    /// [`check_input`](Self::check_input) refuses.
    pub fn forward(&self, input: Tensor<4>) -> Tensor<2> {
        let features = self
            .config
            .pool
            .forward(input, |x| self.backbone.forward(x));
        match &self.head {
            Some(head) => head.forward(features),
            None => features,
        }
    }

    /// Fails where an image of this many channels, rows and columns cannot be embedded.
    pub fn check_input(&self, [channels, height, width]: [usize; 3]) -> Result<()> {
        let name = self.config.name();
        let input = self.config.input();
        if channels != input.channels {
            return Err(Error::data(format!(
                "the images have {channels} channels, {name} reads {}; convert them first",
                input.channels
            )));
        }
        let sizes = self.config.pool.scales([height, width]);
        if sizes
            .iter()
            .any(|&size| self.backbone.map_size(size).is_none())
        {
            return Err(Error::data(format!(
                "images of {height} x {width} are too small for {name} with this pool; scale \
                 them to {} x {}",
                input.height, input.width
            )));
        }
        Ok(())
    }

    /// Bytes that embedding so many images of this height and width at a time takes beside the
    /// images: the maps that are held at once, and the weights, which are read, loaded and
    /// folded. With regional pooling it is that of the largest scale.
    pub fn memory_to_embed(&self, [height, width]: [usize; 2], images: usize) -> u64 {
        let maps = self.backbone.folded().most_at_once([height, width]);
        4 * (maps * images + 4 * self.n_parameters()) as u64
    }

    /// Bytes that a step of training on so many images takes beside the images: the maps of all
    /// layers that learn, those held at once of the others and of the way back, and the
    /// parameters with their gradients and moments.
    pub fn memory_to_train(&self, images: usize) -> u64 {
        let input = self.config.input();
        let size = [input.height, input.width];
        let kept = self
            .backbone
            .kept_in_training(size, self.config.frozen_layers);
        let passing = self.backbone.most_at_once(size);
        4 * ((kept + passing) * images + 4 * self.n_parameters()) as u64
    }

    /// The part's parameters as optimizers know them, for a step size of its own.
    pub fn parameters(&self, group: Group) -> Vec<ParamId> {
        match (group, &self.head) {
            (Group::Backbone, _) => list_param_ids(&self.backbone),
            (Group::Head, Some(head)) => list_param_ids(head),
            (Group::Head, None) => Vec::new(),
        }
    }

    /// This encoder with a part that gets no gradients and keeps its statistics.
    pub fn frozen(mut self, group: Group) -> Self {
        match group {
            Group::Backbone => self.backbone = self.backbone.freeze(),
            Group::Head => self.head = self.head.map(Module::freeze),
        }
        self
    }

    /// As its choices say: this encoder with its first layers frozen.
    pub(crate) fn frozen_layers(mut self) -> Self {
        self.backbone = self.backbone.frozen(self.config.frozen_layers);
        self
    }

    /// Number of trained values.
    pub fn n_parameters(&self) -> usize {
        let trained = |name: &str| !name.contains(".running_");
        let weights = self.weights();
        let shapes = weights.shapes().filter(|(name, _)| trained(name));
        shapes
            .map(|(_, shape)| shape.iter().product::<usize>())
            .sum()
    }

    /// All tensors: the network's under `backbone.` and their published names, the head's as
    /// `head.hidden` and `head.output` with a row an output.
    pub fn weights(&self) -> Weights {
        let mut sink = Sink::new();
        sink.prefix = BACKBONE;
        self.backbone.save(&mut sink);
        sink.prefix = HEAD;
        if let Some(head) = &self.head {
            head.save(&mut sink);
        }
        sink.finish()
    }

    /// This encoder with other weights: all of them from a saved encoder (names under
    /// `backbone.`), otherwise those of the network alone from a published checkpoint.
    ///
    /// A published classifier is left out. Fails with the names of all tensors that are
    /// missing, unexpected or of another shape.
    pub fn load(mut self, weights: Weights) -> Result<Self> {
        let name = self.config.name;
        let saved = weights.shapes().any(|(name, _)| name.starts_with(BACKBONE));
        if saved {
            let mut source = Source::new(weights);
            source.prefix = BACKBONE;
            self.backbone = self.backbone.load(&mut source);
            source.prefix = HEAD;
            self.head = self.head.map(|head| head.load(&mut source));
            source.finish(name.name(), &[])?;
        } else {
            let mut source = Source::new(name.adopt(weights));
            self.backbone = self.backbone.load(&mut source);
            source.finish(name.name(), name.ignored())?;
        }
        Ok(self)
    }

    /// The same function for evaluation only: no gradients, batch norms folded away.
    pub fn inference(&self) -> Self {
        let mut encoder = self.valid();
        encoder.backbone = encoder.backbone.folded();
        encoder
    }

    /// This encoder with an output that starts as `whitening` of its features; what they are
    /// is known only where the rest has its weights.
    pub(crate) fn whitened(mut self, whitening: &Affine) -> Self {
        self.head = self.head.map(|head| head.whitened(whitening));
        self
    }

    /// Embeds preprocessed images, `[images, channels, height, width]`, a few at a time.
    pub fn embed(&self, pixels: ArrayView4<f32>) -> Result<Array2<f32>> {
        let batches = pixels.axis_chunks_iter(Axis(0), BATCH);
        self.embed_batches(batches.map(|batch| Ok(batch.to_owned())))
    }

    /// Embeds preprocessed images batch by batch, in order: memory holds one batch and the
    /// rows.
    pub fn embed_batches(
        &self,
        batches: impl IntoIterator<Item = Result<Array4<f32>>>,
    ) -> Result<Array2<f32>> {
        let encoder = self.inference();
        let device = encoder.device();
        let mut rows = Array2::zeros((0, self.config.output_dim()));
        for batch in batches {
            let batch = batch?;
            let (n, channels, height, width) = batch.dim();
            encoder.check_input([channels, height, width])?;
            if n == 0 {
                continue;
            }
            let shape = [n, channels, height, width];
            let values: Vec<f32> = batch.iter().copied().collect();
            let pixels = Tensor::from_data(TensorData::new(values, shape), &device);
            let embedded = to_matrix(encoder.forward(pixels));
            rows.append(Axis(0), embedded.view())
                .map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?;
        }
        Ok(rows)
    }

    fn device(&self) -> Device {
        self.backbone.convs[0].weight.val().device()
    }
}
