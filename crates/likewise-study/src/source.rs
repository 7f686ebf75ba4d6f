//! Where items come from: what a path is, asked once, and everything that is read from it.

mod archive;
mod cache;
mod described;
pub(crate) mod encoded;
mod images;
mod maker;
mod photos;
mod telltale;
mod widths;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use likewise::error::Hint;
use likewise::graph::Fusion;
use likewise::{Collection, ErrorKind, Labels, Monitor, Part, View};
use likewise_image::{ImageFolder, Vocabulary};
use likewise_io::{Layout, ReadOptions, Shape, TableOptions};
use likewise_nn::net::{EncoderConfig, Weights};
use serde::{Deserialize, Serialize};

pub(crate) use self::archive::{Folder, folder};
pub use likewise_image::ENDINGS as IMAGE_ENDINGS;

pub use self::cache::{Cache, Kept};
pub use self::encoded::Encoded;
use self::images::Square;
pub use self::images::Trained;
pub use self::maker::Maker;
pub use self::photos::Photos;
use self::telltale::telltales;
use crate::environment::Environment;
use crate::recipe::Recipe;
use crate::{Error, Result, failed, usage};

/// How a path is read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadAs {
    /// File of labels beside the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    /// The feature matrix to use, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// Whether several views stand beside each other as they are, for a learner that sees them apart;
    /// else each is of length 1.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
    /// The views of a fit side by side, in its order, and how many columns each had, where that is known.
    #[serde(skip)]
    pub widths: Vec<(String, usize)>,
    /// What turns images into features, a view each; none: their pixels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub encoder: Vec<Maker>,
    /// Words to learn of each descriptor of points, where not the usual number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<usize>,
    /// Seed of what is learned of images.
    #[serde(skip)]
    pub seed: u64,
    /// Words that were learned before: those of their descriptors are not learned anew.
    #[serde(skip)]
    pub vocabularies: Vec<Arc<Vocabulary>>,
    /// Side of the square that the encoder reads, where not that of its training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<usize>,
    /// Whether the whole image is squeezed into the square, instead of its middle cut out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub squeeze: bool,
    /// Whether images that cannot be read are left out with a warning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_bad: bool,
    /// What the columns of a table mean, where they do not say so themselves.
    #[serde(skip_serializing_if = "TableOptions::is_empty")]
    pub table: TableOptions,
    /// How another table was read: this one is read in the same way.
    #[serde(skip)]
    pub layout: Option<Arc<Layout>>,
    /// The number of columns from which on these are brought to one scale after the reading where one of them
    /// outweighs the others: nothing is to be said of it then.
    #[serde(skip)]
    pub scaled_from: Option<usize>,
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

/// How much of some data is labeled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labeled {
    /// Classes.
    pub classes: usize,
    /// Items of a known class.
    pub known: usize,
}

impl Labeled {
    /// What these labels are, if there are any.
    pub fn of(labels: &Labels) -> Option<Self> {
        let (classes, known) = (labels.n_classes(), labels.n_known());
        (classes > 0).then_some(Self { classes, known })
    }
}

/// The column that texts beside images are.
const TEXT_BESIDE: &str = "text";

/// Features up to which an estimate alone reads the data to count the classes, bytes.
const READ: f64 = 1e9;

impl Source {
    /// What is at `path`: tables, or images.
    ///
    /// Fails where settings of images are given for other data.
    pub fn open(path: &Path, read: ReadAs) -> Result<Self> {
        let images = ImageFolder::suits(path).map_err(images::of_image)?;
        let given = [
            ("encoder", !read.encoder.is_empty()),
            ("words", read.words.is_some()),
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
            check_encoder(&read)?;
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

    /// The same data, read in this way.
    pub(crate) fn with_reading(&self, read: ReadAs) -> Self {
        Self {
            read,
            ..self.clone()
        }
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

    /// The same data as this recipe sees several views.
    #[must_use]
    pub fn seen_by(&self, recipe: &Recipe) -> Self {
        Self {
            read: ReadAs {
                apart: recipe.sees_views(),
                ..self.read.clone()
            },
            ..self.clone()
        }
    }

    /// The same data, whose items may have several labels, with this sign between those of a cell.
    #[must_use]
    pub fn with_several_labels(mut self, between: Option<char>) -> Self {
        self.read.table.label_separator = between;
        self
    }

    /// The same data, for work that brings their columns to one scale: always, never, or where one outweighs the
    /// others.
    #[must_use]
    pub fn scaled_by(mut self, standardize: Option<bool>) -> Self {
        self.read.scaled_from = match standardize {
            Some(true) => Some(0),
            Some(false) => None,
            // Of two columns neither does.
            None => Some(3),
        };
        self
    }

    /// The same table, where these columns are texts of their own: they are no features. Where
    /// there are `others`, columns that are not named stay what they are.
    #[must_use]
    pub fn beside_texts(&self, columns: &[String], others: bool) -> Self {
        let mut read = self.read.clone();
        if self.images || self.path.is_dir() {
            // They are no columns of the features.
        } else if others {
            read.table.drop.extend_from_slice(columns);
        } else {
            // A table of texts alone has to have some features to be read.
            read.table.text = true;
        }
        Self {
            read,
            ..self.clone()
        }
    }

    /// Id and text of each item, by a column of a table; of images, the texts that lie beside them
    /// (`tom.txt` beside `tom.jpg`) are the column `text`.
    ///
    /// Fails without such a column, and on images without such texts.
    pub fn texts(&self, column: &str) -> Result<Vec<(String, Option<String>)>> {
        if self.images {
            return self.texts_beside(column);
        }
        Ok(likewise_io::read_texts(
            &self.path,
            column,
            &self.read.table,
        )?)
    }

    fn texts_beside(&self, column: &str) -> Result<Vec<(String, Option<String>)>> {
        let folder = self.open_folder(self.read.labels.as_deref())?;
        let shown = self.path.display();
        let read = |item: usize| -> Result<(String, Option<String>)> {
            let id = folder.ids()[item].clone();
            Ok((id, likewise_io::text_beside(folder.path(item))?))
        };
        let texts = (0..folder.len()).map(read).collect::<Result<Vec<_>>>()?;
        match column {
            TEXT_BESIDE if texts.iter().any(|(_, text)| text.is_some()) => Ok(texts),
            TEXT_BESIDE => Err(failed(format!(
                "{shown}: no text lies beside an image; put one of the same name there, such as tom.txt beside \
                 tom.jpg"
            ))),
            _ => Err(failed(format!(
                "{shown}: images have no column of texts {column}; texts beside them are the column \
                 {TEXT_BESIDE}"
            ))),
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
        let (shape, ..) = self.shape_and_making(at)?;
        Ok(shape)
    }

    /// The same, what making the features holds for a while, and how many views stand side by side in
    /// one; 1 where none does.
    pub(crate) fn shape_and_making(&self, at: &Environment) -> Result<(Shape, Making, usize)> {
        let (mut shape, making) = if self.images {
            self.shape_of_images(at)?
        } else {
            let shape = likewise_io::inspect(&self.path, &self.options(at))?;
            (shape, Making::default())
        };
        if let Some(name) = self.several(|name| shape.views.iter().any(|view| view.0 == name)) {
            let names: Vec<&str> = name.split('+').collect();
            let stand = |view: &&(String, usize)| names.contains(&view.0.as_str());
            let columns = shape.views.iter().filter(stand).map(|view| view.1).sum();
            let views = names.len();
            shape.views = vec![(name.to_owned(), columns)];
            return Ok((shape, making, views));
        }
        Ok((shape, making, 1))
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
            return Ok((self.side_by_side(collection)?, None));
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
        Ok((self.side_by_side(collection)?, layout))
    }

    /// The items with several views as one, where that is what is used.
    fn side_by_side(&self, collection: Collection) -> Result<Collection> {
        let labels = collection.labels.as_ref();
        if self.read.table.label_separator.is_some()
            && labels.is_some_and(|labels| labels.tags().is_none())
        {
            return Err(usage(
                "multi_label: the labels are the names of folders, one an item; give several by \
                 `labels FILE`",
            ));
        }
        match self.several(|name| collection.view(Some(name)).is_ok()) {
            Some(name) => {
                let names: Vec<&str> = name.split('+').collect();
                widths::check(&collection, &names, &self.read.widths)
                    .map_err(|e| e.within(self.path.display()))?;
                if self.read.apart {
                    collection.beside(&names)
                } else {
                    collection.joined(&names)
                }
            }
            None => Ok(collection),
        }
    }

    /// The names of several views with `+` between, where that is no view's own name, or a run was fitted on several and
    /// all of these are there.
    fn several(&self, is_view: impl Fn(&str) -> bool) -> Option<&str> {
        let name = self.read.view.as_deref()?;
        let each = self.read.widths.len() > 1 && name.split('+').all(&is_view);
        (name.contains('+') && (each || !is_view(name))).then_some(name)
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
    /// given. Fails where they are of another network, and where it is not one network.
    pub fn pretrained(&self, config: &EncoderConfig) -> Result<Option<Weights>> {
        match self.read.encoder.as_slice() {
            [] => Ok(None),
            [Maker::Network(path)] => Ok(Some(images::pretrained(path, config)?)),
            _ => Err(usage(format!(
                "encoder: the recipe trains {} itself, which starts from one file of weights; \
                 give that alone, or nothing",
                config.name()
            ))),
        }
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
    /// the names and digests of its images, whatever else lies there; those of the files of labels
    /// and of networks; and the names of descriptors.
    pub fn digest(&self) -> Result<String> {
        let mut digest = if self.images && self.path.is_dir() {
            let folder = self.open_folder(None)?;
            let all: Vec<usize> = (0..folder.len()).collect();
            folder.digest(&all).map_err(images::of_image)?
        } else {
            likewise_io::digest(&self.path)?
        };
        if let Some(file) = &self.read.labels {
            digest = format!("{digest}+{}", likewise_io::digest(file)?);
        }
        for maker in &self.read.encoder {
            digest = match maker {
                Maker::Network(file) => format!("{digest}+{}", likewise_io::digest(file)?),
                Maker::Descriptor(own) => match (maker.of_points(), self.read.words) {
                    (Some(_), Some(words)) => format!("{digest}+{} {words}", own.name()),
                    _ => format!("{digest}+{}", own.name()),
                },
            };
        }
        Ok(digest)
    }

    /// What is labeled, for an estimate that reads nothing else: `None` where reading would
    /// itself take long, or fails (the work will say why).
    pub fn labeled(&self, items: f64, columns: f64, at: &Environment) -> Option<Labeled> {
        if self.images || 4.0 * items * columns > READ {
            return None;
        }
        let monitor = &Monitor::silent();
        let read = self.load(&Environment { monitor, ..*at }).ok()?;
        Labeled::of(&read.labels?)
    }

    fn open_folder(&self, labels: Option<&Path>) -> Result<ImageFolder> {
        let (skip, asked) = (self.read.skip_bad, &self.read.table);
        let open = |skip| ImageFolder::open_as(&self.path, labels, skip, asked);
        open(skip).map_err(|e| match e.kind() {
            // What is wrong with a table of labels stays so without any image.
            likewise_image::ErrorKind::Format
                if !skip && self.path.is_dir() && open(true).is_ok() =>
            {
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
            scaled_from: self.read.scaled_from,
        }
    }

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
}

/// Fails on settings that nothing of the encoder uses.
fn check_encoder(read: &ReadAs) -> Result<()> {
    let encoder = &read.encoder;
    if let Some(words) = read.words {
        if !encoder.iter().any(|maker| maker.of_points().is_some()) {
            return Err(usage(
                "words has no effect: no descriptor of points (sift, dsift, surf, gb) is named \
                 whose words would be learned",
            ));
        }
        if words == 0 {
            return Err(usage("words 0: must be at least 1"));
        }
    }
    let square = [("squeeze", read.squeeze), ("side", read.side.is_some())];
    let without = !encoder.is_empty() && !encoder.iter().any(|maker| maker.network().is_some());
    match square.iter().find(|(_, given)| *given && without) {
        Some((what, _)) => Err(usage(format!(
            "{what} has no effect: it goes with a network, and descriptors see the whole image"
        ))),
        None => Ok(()),
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

/// As [`with_view`], of several views that stand side by side and are fused: only items that have none of them
/// are left out.
pub fn with_views(
    collection: Collection,
    name: Option<&str>,
    fusion: Fusion,
    monitor: &Monitor,
) -> Result<(Collection, String)> {
    if fusion == Fusion::Rows {
        return with_view(collection, name, monitor);
    }
    let view = collection.view(name)?;
    let name = view.name.clone();
    let present = view.present.as_deref().unwrap_or_default();
    let has_any = |&i: &usize| present[i] || view.matrix.row(i).iter().any(|&x| x != 0.0);
    let rows: Vec<usize> = (0..present.len()).filter(has_any).collect();
    let none = present.len() - rows.len();
    let some = rows.iter().filter(|&&i| !present[i]).count();
    if some > 0 {
        monitor.note(format!(
            "{some} items have some of the views {name} alone: these say who is near them"
        ));
    }
    if none == 0 {
        return Ok((collection, name));
    }
    monitor.warn(format!(
        "{none} items have none of the views {name} and are left out"
    ));
    Ok((collection.select(&rows), name))
}

/// As [`with_view`], without a copy where all items have it.
pub fn part_with_view<'a>(
    collection: &'a Collection,
    name: Option<&str>,
    monitor: &Monitor,
) -> Result<(Cow<'a, Collection>, String)> {
    let view = collection.view(name)?;
    let name = view.name.clone();
    let part = match rows_with(view, monitor) {
        None => Cow::Borrowed(collection),
        Some(rows) => Cow::Owned(collection.select(&rows)),
    };
    Ok((part, name))
}

/// The items that have a view, where some lack it, which is said.
pub(crate) fn rows_with(view: &View, monitor: &Monitor) -> Option<Vec<usize>> {
    let present = view.present.as_deref().unwrap_or_default();
    let missing = present.iter().filter(|present| !**present).count();
    if missing == 0 {
        return None;
    }
    monitor.warn(format!(
        "{missing} items have no view {} and are left out",
        view.name
    ));
    Some((0..present.len()).filter(|&i| present[i]).collect())
}

/// The labels. Fails without any.
pub fn labels(collection: &Collection) -> Result<&Labels> {
    let none = || {
        let said = "there are no labels";
        Error::data(said).hint(Hint::GiveLabels)
    };
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
    fn items_that_have_one_of_several_views_are_kept_where_these_are_fused() {
        // Item 1 lacks one of the views, item 3 both.
        let view = |name: &str, present: [bool; 5]| View {
            name: name.into(),
            matrix: ndarray::Array2::from_shape_fn((5, 2), |(i, _)| {
                f32::from(u8::from(present[i]))
            }),
            present: Some(present.to_vec()),
        };
        let a = view("a", [true, true, true, false, true]);
        let b = view("b", [true, false, true, false, true]);
        let ids = (0..5).map(|i| i.to_string()).collect();
        let joined = Collection::new(ids, vec![a, b])
            .unwrap()
            .joined(&["a", "b"]);
        let joined = joined.unwrap();
        for (fusion, kept) in [
            (Fusion::Ranks, &["0", "1", "2", "4"][..]),
            (Fusion::Rows, &["0", "2", "4"]),
        ] {
            let found = with_views(joined.clone(), None, fusion, &Monitor::silent());
            let (items, name) = found.unwrap();
            assert_eq!(
                (items.ids(), name.as_str()),
                (
                    &kept.iter().map(ToString::to_string).collect::<Vec<_>>()[..],
                    "a+b"
                )
            );
            assert_eq!(items.columns().len(), 2);
        }
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
