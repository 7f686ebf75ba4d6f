//! Images as what their encoders make of them: pixels, descriptors and frozen networks, a view each.

use std::path::PathBuf;
use std::sync::Arc;

use likewise::error::Hint;
use likewise::{Collection, Part, View};
use likewise_image::descriptor::{Descriptor, Hist, Kind};
use likewise_image::{
    Describer, ErrorKind, ImageFolder, Vocabulary, Words, collection, describe, describers,
};
use likewise_io::Shape;
use ndarray::Array2;

use super::cache::cache_folder;
use super::images::Square;
use super::{Maker, Making, Source, images};
use crate::environment::Environment;
use crate::{Error, Result, failed, usage};

impl Source {
    /// The same images, whose words of points are learned now, from the items that `training`
    /// names of all of them, and from no others; nothing to do where there are no descriptors of
    /// points, or where their words are known.
    ///
    /// `training` is given ids, labels and split, without features. Fails as it does, at the first
    /// image that cannot be read (unless such are left out), where no training image has a point,
    /// and when cancelled.
    pub fn with_words_from(
        &self,
        training: impl FnOnce(Collection) -> Result<Vec<usize>>,
        at: &Environment,
    ) -> Result<Self> {
        if !self.images || self.points().is_empty() {
            return Ok(self.clone());
        }
        let folder = self.open_folder(self.read.labels.as_deref())?;
        let items = self.readable(&folder, at)?;
        let none = View {
            name: "none".into(),
            matrix: Array2::zeros((items.len(), 0)),
            present: None,
        };
        let chosen = training(of_folder(&folder, &items, vec![none])?)?;
        let chosen: Vec<usize> = chosen.into_iter().map(|item| items[item]).collect();
        self.with_words_of_places(&folder, &chosen, at)
    }

    /// The same images, in the words of `other`, so that rows of both compare.
    #[must_use]
    pub fn with_words_of(&self, other: &Self) -> Self {
        let mut source = self.clone();
        source
            .read
            .vocabularies
            .clone_from(&other.read.vocabularies);
        source
    }

    /// The same images, whose words are learned from the training part, where items have parts, and
    /// else from all of them.
    pub fn with_own_words(&self, at: &Environment) -> Result<Self> {
        if !self.images || self.points().is_empty() {
            return Ok(self.clone());
        }
        let folder = self.open_folder(self.read.labels.as_deref())?;
        self.with_words_of_folder(&folder, at)
    }

    fn with_words_of_folder(&self, folder: &ImageFolder, at: &Environment) -> Result<Self> {
        if self.points().is_empty() {
            return Ok(self.clone());
        }
        let all = 0..folder.len();
        let training: Vec<usize> = if let Some(split) = folder.split() {
            all.filter(|&item| split[item] == Part::Train).collect()
        } else {
            at.monitor.note(
                "words are learned from all images: no training part is named (a column split in \
                 metadata.csv beside the images does so)",
            );
            all.collect()
        };
        self.with_words_of_places(folder, &training, at)
    }

    fn with_words_of_places(
        &self,
        folder: &ImageFolder,
        training: &[usize],
        at: &Environment,
    ) -> Result<Self> {
        let (points, skip) = (self.points(), self.read.skip_bad);
        let learned = describers(folder, &points, &self.words(), training, skip, at.monitor);
        let learned = learned.map_err(|e| self.wrong(e))?;
        let learned = learned.into_iter().filter_map(|describer| match describer {
            Describer::Words(words) => Some(Arc::new(words)),
            Describer::Whole(_) => None,
        });
        let mut source = self.clone();
        source.read.vocabularies.extend(learned);
        Ok(source)
    }

    /// Words that are known of the descriptors of points.
    pub fn vocabularies(&self) -> &[Arc<Vocabulary>] {
        &self.read.vocabularies
    }

    /// How words are learned.
    pub(super) fn words(&self) -> Words {
        let words = Words::default().seed(self.read.seed);
        self.read.words.map_or(words, |size| words.size(size))
    }

    /// The words of a descriptor of points, where they are known.
    pub(super) fn words_of(&self, descriptor: &Descriptor) -> Option<&Arc<Vocabulary>> {
        let mut all = self.read.vocabularies.iter();
        all.find(|words| words.descriptor() == descriptor)
    }

    /// Descriptors of points whose words are still to be learned.
    pub(crate) fn points(&self) -> Vec<Descriptor> {
        let points = self.read.encoder.iter().filter_map(Maker::of_points);
        points
            .filter(|descriptor| self.words_of(descriptor).is_none())
            .cloned()
            .collect()
    }

    /// The images as features, a view of each encoder, and their places in the folder.
    pub(super) fn features(
        &self,
        folder: &ImageFolder,
        square: Square,
        at: &Environment,
    ) -> Result<(Collection, Vec<usize>)> {
        let source = &self.with_words_of_folder(folder, at)?;
        let mut parts = Vec::new();
        let ready: Vec<Describer> = source.describers().collect();
        let (cache, skip) = (cache_folder(), self.read.skip_bad);
        if !ready.is_empty() {
            let made = describe(folder, &ready, cache.as_deref(), skip, at.monitor);
            let made = made.map_err(|e| self.wrong(e))?;
            let described = of_folder(folder, &made.items, made.views)?;
            parts.push((described, made.items));
        }
        let networks = self.read.encoder.iter().filter_map(Maker::network);
        let mut networks: Vec<_> = networks.map(Some).collect();
        if self.read.encoder.is_empty() {
            networks.push(None);
        }
        for path in networks {
            let (encoder, _) = images::chosen(path, square, at.device)?;
            // Pixels are as quickly made as found again.
            let cache = cache.as_deref().filter(|_| path.is_some());
            let made = collection(folder, &encoder, cache, skip, at.monitor);
            parts.push(made.map_err(|e| self.wrong(e))?);
        }
        together(parts)
    }

    /// Sizes of the features of these images, and what making them holds for a while.
    pub(super) fn shape_of_images(&self, at: &Environment) -> Result<(Shape, Making)> {
        let folder = self.open_folder(None)?;
        let (mut views, mut network, mut beside) = (Vec::new(), 0.0_f64, 0);
        for descriptor in self.read.encoder.iter().filter_map(Maker::descriptor) {
            beside = beside.max(descriptor.held_per_pixel());
            let columns = match descriptor.kind() {
                Kind::Whole(whole) => whole.dimensions(),
                Kind::Local(local) => {
                    if let Some(words) = self.words_of(descriptor) {
                        words.words().nrows()
                    } else {
                        network += self.words().memory_to_learn(local.dimensions()) as f64;
                        self.words().columns()
                    }
                }
            };
            views.push((descriptor.name().to_owned(), columns));
        }
        let networks = self.read.encoder.iter().filter_map(Maker::network);
        let mut networks: Vec<_> = networks.map(Some).collect();
        if self.read.encoder.is_empty() {
            networks.push(None);
        }
        for path in networks {
            let (encoder, held) = images::chosen(path, self.square(), at.device)?;
            let batches = images::batches(encoder.batch, encoder.preprocess.size);
            // One works at a time.
            network = network.max(held + batches);
            views.push((encoder.name, encoder.dimensions));
        }
        let files = files(&folder);
        let shape = Shape {
            items: folder.len(),
            bytes_on_disk: files.iter().map(|(length, _)| length).sum(),
            views,
        };
        let making = Making {
            decoding: images::decoding(files, beside, at.max_memory),
            network,
        };
        Ok((shape, making))
    }

    /// Warns of photos that are to be learned from by their pixels, for want of an encoder.
    pub fn warn_of_pixels(&self, at: &Environment) -> Result<()> {
        if self.images && self.read.encoder.is_empty() {
            let folder = self.open_folder(None)?;
            let said = images::remark_on_pixels(files(&folder));
            if let Some(said) = said {
                at.monitor.warn(said);
            }
        }
        Ok(())
    }

    /// What makes rows of descriptors, in their order; without those whose words are not known.
    fn describers(&self) -> impl Iterator<Item = Describer> {
        let descriptors = (self.read.encoder.iter()).filter_map(Maker::descriptor);
        descriptors.filter_map(|descriptor| match descriptor.kind() {
            Kind::Whole(_) => Some(Describer::Whole(descriptor.clone())),
            Kind::Local(_) => {
                let words = self.words_of(descriptor)?;
                Some(Describer::Words(Vocabulary::clone(words)))
            }
        })
    }

    /// The images that can be read: all of them, unless others are left out.
    fn readable(&self, folder: &ImageFolder, at: &Environment) -> Result<Vec<usize>> {
        if !self.read.skip_bad {
            return Ok((0..folder.len()).collect());
        }
        // What cannot be read is told of when the features are made.
        let (quiet, cache) = (at.monitor.quiet(), cache_folder());
        let colors = [Describer::Whole(Descriptor::Hist(Hist::default()))];
        let made = describe(folder, &colors, cache.as_deref(), true, &quiet);
        Ok(made.map_err(|e| self.wrong(e))?.items)
    }

    /// What is wrong with an image, and what to do about it.
    fn wrong(&self, e: likewise_image::Error) -> Error {
        match e.kind() {
            ErrorKind::Cancelled => Error::cancelled(),
            ErrorKind::Format if !self.read.skip_bad => {
                images::of_image(e).hint(Hint::SkipBadImages)
            }
            _ => images::of_image(e),
        }
    }
}

/// The images of a folder, with their lengths.
fn files(folder: &ImageFolder) -> Vec<(u64, PathBuf)> {
    let paths = (0..folder.len()).map(|item| folder.path(item));
    paths
        .map(|path| (path.metadata().map_or(0, |m| m.len()), path))
        .collect()
}

/// The images at `places` with these views, and what the folder says of them.
fn of_folder(folder: &ImageFolder, places: &[usize], views: Vec<View>) -> Result<Collection> {
    let ids = places.iter().map(|&item| folder.ids()[item].clone());
    let mut items = Collection::new(ids.collect(), views)?;
    items.labels = folder.labels().map(|labels| labels.select(places));
    let split = folder.split();
    items.split = split.map(|split| places.iter().map(|&item| split[item]).collect());
    Ok(items)
}

/// The views of all parts, which are of the same items.
fn together(parts: Vec<(Collection, Vec<usize>)>) -> Result<(Collection, Vec<usize>)> {
    let mut parts = parts.into_iter();
    let Some((first, places)) = parts.next() else {
        return Err(usage("name an encoder at least"));
    };
    let rest: Vec<_> = parts.collect();
    if rest.is_empty() {
        return Ok((first, places));
    }
    let mut views: Vec<View> = first.views().to_vec();
    for (part, of_part) in rest {
        if of_part != places {
            return Err(failed(
                "some images were read for one encoder and not for another; run it again",
            ));
        }
        for view in part.views() {
            if views.iter().any(|other| other.name == view.name) {
                return Err(usage(format!(
                    "two networks give the view {}; name one of them",
                    view.name
                )));
            }
            views.push(view.clone());
        }
    }
    let mut whole = Collection::new(first.ids().to_vec(), views)?;
    whole.labels = first.labels;
    whole.split = first.split;
    Ok((whole, places))
}
