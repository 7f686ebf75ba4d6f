//! Images as what descriptors, and frozen networks, make of them: a view each.

use std::path::PathBuf;

use likewise::error::Hint;
use likewise::{Collection, Part, View};
use likewise_image::descriptor::{Descriptor, Kind};
use likewise_image::{ErrorKind, Words, describe, describers};

use super::{ReadAs, Source, archive, images};
use crate::environment::Environment;
use crate::{Error, Result, failed, usage};

/// What makes a view of images.
#[derive(Debug, Clone, PartialEq)]
pub enum Maker {
    /// A descriptor; one of points gives how often its words occur.
    Descriptor(Descriptor),
    /// The network of a file of weights, frozen.
    Network(PathBuf),
}

/// What a file of weights stands behind.
const NETWORK: &str = "net:";

impl Maker {
    /// The makers of a list with commas between: names of descriptors, and `net:WEIGHTS`.
    ///
    /// Fails on an unknown name, on one that is there twice, and on an empty list.
    pub fn list(text: &str) -> Result<Vec<Self>> {
        let mut makers: Vec<Self> = Vec::new();
        for name in text.split(',').map(str::trim) {
            let maker = match (name.strip_prefix(NETWORK), Descriptor::named(name)) {
                (Some(path), _) if !path.is_empty() => Self::Network(path.into()),
                (_, Some(descriptor)) => Self::Descriptor(descriptor),
                _ => {
                    let names = Descriptor::NAMES.join(", ");
                    return Err(usage(format!(
                        "no descriptor \"{name}\"; there are: {names}, and {NETWORK}FILE for a network"
                    )));
                }
            };
            if makers.contains(&maker) {
                return Err(usage(format!("{name} is named twice; name it once")));
            }
            makers.push(maker);
        }
        Ok(makers)
    }
}

impl Source {
    /// The images with a view of each maker: those of descriptors first.
    ///
    /// Words of points are learned from the training part, where items have parts, and else from
    /// all images. Fails on data that are no images, at the first one that cannot be read (unless
    /// such are left out), and when cancelled.
    pub fn described(
        &self,
        makers: &[Maker],
        words: &Words,
        at: &Environment,
    ) -> Result<Collection> {
        if !self.images {
            return Err(usage(format!(
                "{}: descriptors are of images; give a folder, or a .tar, of them",
                self.path.display()
            )));
        }
        let folder = self.open_folder(self.read.labels.as_deref())?;
        self.remark(&folder, at);
        let mut parts: Vec<Collection> = Vec::new();
        let skip = self.read.skip_bad;
        let wrong = |e: likewise_image::Error| match e.kind() {
            ErrorKind::Cancelled => Error::cancelled(),
            ErrorKind::Format if !skip => images::of_image(e).hint(Hint::SkipBadImages),
            _ => images::of_image(e),
        };
        let descriptors: Vec<Descriptor> = (makers.iter())
            .filter_map(|maker| match maker {
                Maker::Descriptor(descriptor) => Some(descriptor.clone()),
                Maker::Network(_) => None,
            })
            .collect();
        if !descriptors.is_empty() {
            let training: Vec<usize> = match folder.split() {
                Some(split) => (0..folder.len())
                    .filter(|&item| split[item] == Part::Train)
                    .collect(),
                None => (0..folder.len()).collect(),
            };
            let points = |descriptor: &Descriptor| matches!(descriptor.kind(), Kind::Local(_));
            if folder.split().is_none() && descriptors.iter().any(points) {
                at.monitor.note(
                    "words are learned from all images: no training part is named (a column split \
                     in metadata.csv beside the images does so)",
                );
            }
            let ready = describers(&folder, &descriptors, words, &training, skip, at.monitor);
            let ready = ready.map_err(wrong)?;
            let cache = archive::cache_folder();
            let made = describe(&folder, &ready, cache.as_deref(), skip, at.monitor);
            let made = made.map_err(wrong)?;
            let ids = made.items.iter().map(|&item| folder.ids()[item].clone());
            let mut collection = Collection::new(ids.collect(), made.views)?;
            collection.labels = folder.labels().map(|labels| labels.select(&made.items));
            collection.split =
                (folder.split()).map(|split| made.items.iter().map(|&item| split[item]).collect());
            parts.push(collection);
        }
        for maker in makers {
            let Maker::Network(weights) = maker else {
                continue;
            };
            let read = ReadAs {
                encoder: Some(weights.clone()),
                ..self.read.clone()
            };
            let encoded = Self::open(&self.path, read)?;
            let (features, _) = encoded.features(&folder, encoded.square(), at)?;
            parts.push(features);
        }
        together(&parts)
    }
}

/// The views of all parts, which are of the same items.
fn together(parts: &[Collection]) -> Result<Collection> {
    let mut views: Vec<View> = Vec::new();
    let Some(first) = parts.first() else {
        return Err(usage("name a descriptor at least"));
    };
    for part in parts {
        if part.ids() != first.ids() {
            return Err(failed(
                "some images were read for one descriptor and not for another; run it again",
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
    whole.labels.clone_from(&first.labels);
    whole.split.clone_from(&first.split);
    Ok(whole)
}
