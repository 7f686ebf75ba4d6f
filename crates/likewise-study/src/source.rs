//! Where items come from: what a path is, asked once, and everything that is read from it.

mod archive;
mod described;
mod images;
mod photos;
mod telltale;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use likewise::error::Hint;
use likewise::{Collection, ErrorKind, Labels, Monitor, Part};
use likewise_image::ImageFolder;
use likewise_io::{Layout, ReadOptions, Shape, TableOptions};
use likewise_nn::net::{EncoderConfig, Weights};

pub(crate) use self::archive::folder;
pub use self::described::Maker;
use self::images::Square;
pub use self::images::Trained;
pub use self::photos::Photos;
use self::telltale::telltales;
use crate::environment::Environment;
use crate::run_folder::{Config, Encoded};
use crate::{Error, Result};

/// How a path is read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadAs {
    /// File of labels beside the data.
    pub labels: Option<PathBuf>,
    /// The feature matrix to use, where there are several.
    pub view: Option<String>,
    /// File of the network that turns images into features; none: their pixels.
    pub encoder: Option<PathBuf>,
    /// Side of the square that the encoder reads, where not that of its training.
    pub side: Option<usize>,
    /// Whether the whole image is squeezed into the square, instead of its middle cut out.
    pub squeeze: bool,
    /// Whether images that cannot be read are left out with a warning.
    pub skip_bad: bool,
    /// What the columns of a table mean, where they do not say so themselves.
    pub table: TableOptions,
    /// How another table was read: this one is read in the same way.
    pub layout: Option<Arc<Layout>>,
}

/// A path and what is there.
#[derive(Debug, Clone)]
pub struct Source {
    path: PathBuf,
    read: ReadAs,
    images: bool,
}

/// Bytes that are held for a while as features are made of images.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Making {
    /// Images as they are decoded.
    pub(crate) decoding: f64,
    /// The maps of the network, and the images that wait for it.
    pub(crate) network: f64,
}

/// Features up to which an estimate alone reads the data to count the classes, bytes.
const READ: f64 = 1e9;

impl Source {
    /// What is at `path`: tables, or images.
    ///
    /// Fails where settings of images are given for other data.
    pub fn open(path: &Path, read: ReadAs) -> Result<Self> {
        let images = ImageFolder::suits(path).map_err(images::of_image)?;
        let given = [
            ("encoder", read.encoder.is_some()),
            ("skip_bad", read.skip_bad),
            ("squeeze", read.squeeze),
            ("side", read.side.is_some()),
        ];
        if let Some((what, _)) = given.iter().find(|(_, given)| *given)
            && !images
        {
            let shown = path.display();
            let message =
                format!("{what} goes with images, and {shown} is none, nor a folder of them");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
        if images {
            // With a table of labels beside the images, these are columns of that.
            let mut table = read.table.clone();
            if read.labels.is_some() {
                (table.id_column, table.label_column) = (None, None);
            } else if path.is_dir() {
                // A table of labels may lie in the folder.
                table.label_column = None;
            }
            table.check_none("images")?;
        }
        Ok(Self {
            path: path.to_owned(),
            read,
            images,
        })
    }

    /// The same data, read as those of a run were: a table by the same columns, images through the
    /// same network, unless another is given.
    ///
    /// Fails on settings that the fitted table has decided, and where the network has gone.
    pub fn as_fitted(&self, run: &Config) -> Result<Self> {
        let mut read = self.read.clone();
        if let Some(layout) = &run.table {
            self.read.table.check_fitted()?;
            read.layout = Some(Arc::new(layout.clone()));
        }
        if let (true, None, Some(encoded)) = (self.images, &read.encoder, &run.encoder) {
            if read.squeeze || read.side.is_some() {
                let message = "side and squeeze are those that the run was fitted with; leave them \
                               out";
                return Err(Error::new(ErrorKind::Parameter, message));
            }
            if !encoded.file.exists() {
                let file = encoded.file.display();
                let message =
                    format!("{file}: the network that the run was fitted with is not there");
                return Err(Error::data(message).hint(Hint::NameEncoder));
            }
            read.encoder = Some(encoded.file.clone());
            read.side = encoded.side;
            read.squeeze = encoded.squeeze;
        }
        Ok(Self {
            read,
            ..self.clone()
        })
    }

    /// The network that makes features of these images, to be found again; none for other data and
    /// for pixels.
    pub fn encoded(&self) -> Result<Option<Encoded>> {
        let Some(file) = self.read.encoder.as_deref().filter(|_| self.images) else {
            return Ok(None);
        };
        let absolute = std::fs::canonicalize(file);
        Ok(Some(Encoded {
            file: absolute.map_err(|e| Error::data(format!("{}: {e}", file.display())))?,
            side: self.read.side,
            squeeze: self.read.squeeze,
        }))
    }

    /// The same data, of which this view is used.
    #[must_use]
    pub fn with_view(&self, view: Option<String>) -> Self {
        Self {
            read: ReadAs {
                view,
                ..self.read.clone()
            },
            ..self.clone()
        }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How it is read.
    pub fn read_as(&self) -> &ReadAs {
        &self.read
    }

    /// Whether there are images.
    pub fn is_images(&self) -> bool {
        self.images
    }

    /// Sizes of what [`load`](Self::load) will give, from headers where the format allows.
    pub fn shape(&self, at: &Environment) -> Result<Shape> {
        Ok(self.shape_and_making(at)?.0)
    }

    /// The same, and what making the features holds for a while.
    pub(crate) fn shape_and_making(&self, at: &Environment) -> Result<(Shape, Making)> {
        if !self.images {
            let mut shape = likewise_io::inspect(&self.path, &self.options(at))?;
            if let Some(name) = self.several(|name| shape.views.iter().any(|view| view.0 == name)) {
                let columns = shape.views.iter().map(|view| view.1).sum();
                shape.views = vec![(name.to_owned(), columns)];
            }
            return Ok((shape, Making::default()));
        }
        let folder = self.open_folder(None)?;
        let path = self.read.encoder.as_deref();
        let (encoder, network) = images::chosen(path, self.square(), at.device)?;
        let paths = (0..folder.len()).map(|item| folder.path(item));
        let files: Vec<(u64, PathBuf)> = paths
            .map(|path| (path.metadata().map_or(0, |m| m.len()), path))
            .collect();
        let shape = Shape {
            items: folder.len(),
            bytes_on_disk: files.iter().map(|(length, _)| length).sum(),
            views: vec![(encoder.name, encoder.dimensions)],
        };
        let making = Making {
            decoding: images::decoding(files, at.max_memory),
            network: network + images::batches(encoder.batch, encoder.preprocess.size),
        };
        Ok((shape, making))
    }

    /// The items, with the features of images where these are the data. Warns of what could
    /// not be used.
    pub fn load(&self, at: &Environment) -> Result<Collection> {
        Ok(self.load_with_layout(at)?.0)
    }

    /// The same, and how they were read where they are a table.
    pub fn load_with_layout(&self, at: &Environment) -> Result<(Collection, Option<Layout>)> {
        if self.images {
            let folder = self.open_folder(self.read.labels.as_deref())?;
            self.remark(&folder, at);
            let (collection, _) = self.features(&folder, self.square(), at)?;
            return Ok((collection, None));
        }
        let options = self.options(at);
        let (collection, layout) = likewise_io::read_with_layout(&self.path, &options, at.monitor)?;
        // Of a table that a run has read nothing is new.
        let of_table = layout.as_ref().filter(|_| self.read.layout.is_none());
        for (column, items) in of_table.map_or_else(Vec::new, |of| telltales(&collection, of)) {
            at.monitor.warn(format!(
                "the column \"{column}\" says the label of all {items} labeled items that have it, so \
                 what is measured is its own answer; leave it out, unless new items have it too"
            ));
        }
        Ok(
            match self.several(|name| collection.view(Some(name)).is_ok()) {
                Some(name) => (
                    collection.joined(&name.split('+').collect::<Vec<_>>())?,
                    layout,
                ),
                None => (collection, layout),
            },
        )
    }

    /// The names of several views with `+` between, where that is no view's own name.
    fn several(&self, is_view: impl Fn(&str) -> bool) -> Option<&str> {
        let name = self.read.view.as_deref()?;
        (name.contains('+') && !is_view(name)).then_some(name)
    }

    /// The items, and the images themselves as the network of `config` reads them.
    pub fn load_trained(
        &self,
        config: &EncoderConfig,
        at: &Environment,
    ) -> Result<(Collection, Trained)> {
        let folder = self.open_folder(self.read.labels.as_deref())?;
        let square = Square {
            side: config.side,
            squeeze: config.squeeze,
        };
        self.remark(&folder, at);
        let (collection, places) = self.features(&folder, square, at)?;
        let trained = Trained::new(&folder, &places, config, at.max_memory)?;
        Ok((collection, trained))
    }

    /// The weights that the network of `config` starts from: those of the encoder, if one was
    /// given. Fails where they are of another network.
    pub fn pretrained(&self, config: &EncoderConfig) -> Result<Option<Weights>> {
        let path = self.read.encoder.as_deref();
        path.map(|path| images::pretrained(path, config))
            .transpose()
    }

    /// The features in their file, where it can be mapped: an .npy of `f32` without labels of
    /// its own.
    pub fn mapped(&self) -> Result<Option<likewise_io::Mapped>> {
        let npy = (self.path.extension()).is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        if !npy || self.read.labels.is_some() || self.read.view.is_some() {
            return Ok(None);
        }
        Ok(likewise_io::Mapped::npy(&self.path)?)
    }

    /// The images as people look at them.
    pub fn photos(&self) -> Option<Photos> {
        self.images.then(|| Photos::new(&self.path))
    }

    /// What tells these data from others: the digest of a file; of a folder of images that over
    /// the names and digests of its images, whatever else lies there; and those of the files
    /// of labels and of the encoder.
    pub fn digest(&self) -> Result<String> {
        let mut digest = if self.images && self.path.is_dir() {
            let folder = self.open_folder(None)?;
            let all: Vec<usize> = (0..folder.len()).collect();
            folder.digest(&all).map_err(images::of_image)?
        } else {
            likewise_io::digest(&self.path)?
        };
        for file in [&self.read.labels, &self.read.encoder]
            .into_iter()
            .flatten()
        {
            digest = format!("{digest}+{}", likewise_io::digest(file)?);
        }
        Ok(digest)
    }

    /// Number of classes, for an estimate that reads nothing else: `None` where reading would
    /// itself take long, or fails (the work will say why).
    pub fn classes(&self, items: f64, columns: f64, at: &Environment) -> Option<usize> {
        if self.images || 4.0 * items * columns > READ {
            return None;
        }
        let monitor = &Monitor::silent();
        let read = self.load(&Environment { monitor, ..*at }).ok()?;
        Some(read.labels?.n_classes()).filter(|&classes| classes > 0)
    }

    fn open_folder(&self, labels: Option<&Path>) -> Result<ImageFolder> {
        let (skip, asked) = (self.read.skip_bad, &self.read.table);
        ImageFolder::open_as(&self.path, labels, skip, asked).map_err(|e| match e.kind() {
            likewise_image::ErrorKind::Format if !skip && self.path.is_dir() => {
                images::of_image(e).hint(Hint::SkipBadImages)
            }
            _ => images::of_image(e),
        })
    }

    fn square(&self) -> Square {
        Square {
            side: self.read.side,
            squeeze: self.read.squeeze,
        }
    }

    fn options(&self, at: &Environment) -> ReadOptions {
        ReadOptions {
            labels: self.read.labels.clone(),
            view: self.read.view.clone(),
            max_memory: at.max_memory,
            table: self.read.table.clone(),
            layout: self.read.layout.clone(),
        }
    }

    /// The images as features, and their places in the folder.
    /// Says what the folder holds beside images, and what was made of it.
    fn remark(&self, folder: &ImageFolder, at: &Environment) {
        if folder.hidden() > 0 {
            at.monitor.note(format!(
                "{}: {} hidden files are left out",
                self.path.display(),
                folder.hidden()
            ));
        }
        for told in folder.told() {
            at.monitor.remark(told);
        }
        for remark in folder.remarks() {
            at.monitor.warn(remark);
        }
    }

    fn features(
        &self,
        folder: &ImageFolder,
        square: Square,
        at: &Environment,
    ) -> Result<(Collection, Vec<usize>)> {
        let path = self.read.encoder.as_deref();
        let (encoder, _) = images::chosen(path, square, at.device)?;
        // Pixels are as quickly made as found again.
        let cache = path.and_then(|_| archive::cache_folder());
        let (cache, skip) = (cache.as_deref(), self.read.skip_bad);
        let made = likewise_image::collection(folder, &encoder, cache, skip, at.monitor);
        made.map_err(|e| match e.kind() {
            likewise_image::ErrorKind::Cancelled => Error::cancelled(),
            likewise_image::ErrorKind::Format if !skip => {
                images::of_image(e).hint(Hint::SkipBadImages)
            }
            _ => images::of_image(e),
        })
    }
}

/// The items that have the view, and its name; says how many had to be left out.
pub fn with_view(
    collection: Collection,
    name: Option<&str>,
    monitor: &Monitor,
) -> Result<(Collection, String)> {
    let (part, name) = part_with_view(&collection, name, monitor)?;
    let part = match part {
        Cow::Owned(part) => Some(part),
        Cow::Borrowed(_) => None,
    };
    Ok((part.unwrap_or(collection), name))
}

/// The same, without a copy where all items have the view.
pub fn part_with_view<'a>(
    collection: &'a Collection,
    name: Option<&str>,
    monitor: &Monitor,
) -> Result<(Cow<'a, Collection>, String)> {
    let view = collection.view(name)?;
    let name = view.name.clone();
    let present = view.present.as_deref().unwrap_or_default();
    let missing = present.iter().filter(|present| !**present).count();
    if missing == 0 {
        return Ok((Cow::Borrowed(collection), name));
    }
    let rows: Vec<usize> = (0..present.len()).filter(|&i| present[i]).collect();
    monitor.warn(format!(
        "{missing} items have no view {name} and are left out"
    ));
    Ok((Cow::Owned(collection.select(&rows)), name))
}

/// The labels. Fails without any.
pub fn labels(collection: &Collection) -> Result<&Labels> {
    let none = || Error::data("the data hold no labels").hint(Hint::GiveLabels);
    let labels = collection.labels.as_ref().ok_or_else(none)?;
    if labels.n_known() == 0 {
        return Err(none());
    }
    Ok(labels)
}

/// The labels that may be used: of the training part if there is a split, and `per_class`
/// of each class if others are to be hidden.
pub fn visible(collection: &Collection, per_class: Option<usize>, seed: u64) -> Labels {
    let Some(labels) = &collection.labels else {
        return Labels::unknown(collection.len());
    };
    let tests = |part: Part| matches!(part, Part::Test | Part::Query | Part::Gallery);
    match (&collection.split, per_class) {
        (Some(parts), Some(m)) => labels.masked(|i| parts[i] == Part::Train).draw(m, seed),
        // The labels of a test part only measure.
        (Some(parts), None) => labels.masked(|i| !tests(parts[i])),
        (None, Some(m)) => labels.draw(m, seed),
        (None, None) => labels.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_a_test_part_are_not_spread() {
        let view = likewise::View {
            name: "x".into(),
            matrix: ndarray::Array2::zeros((5, 1)),
            present: None,
        };
        let ids = (0..5).map(|i| i.to_string()).collect();
        let mut data = Collection::new(ids, vec![view]).unwrap();
        data.labels = Some(Labels::from_integers([0, 0, 1, 1, 0]));
        let known = |data: &Collection, m: Option<usize>| -> Vec<usize> {
            let shown = visible(data, m, 0);
            (0..5).filter(|&i| shown[i].class().is_some()).collect()
        };
        assert_eq!(known(&data, None), [0, 1, 2, 3, 4]);
        data.split = Some(vec![
            Part::Train,
            Part::Validation,
            Part::Test,
            Part::Query,
            Part::Gallery,
        ]);
        assert_eq!(known(&data, None), [0, 1]);
        assert_eq!(known(&data, Some(1)), [0]);
    }

    #[test]
    fn settings_of_images_are_refused_for_tables() {
        let read = ReadAs {
            squeeze: true,
            ..ReadAs::default()
        };
        let error = Source::open(Path::new("items.npy"), read).unwrap_err();
        assert!(error.to_string().contains("squeeze goes with images"));
    }
}
