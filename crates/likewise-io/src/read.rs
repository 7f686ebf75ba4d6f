//! Reading DATA: one path, whatever its form.

use std::path::{Path, PathBuf};

use likewise::{Collection, Monitor};
use ndarray::Array2;

use crate::assemble::{Parts, Shape};
use crate::form::{Form, supported};
use crate::input::Input;
use crate::layout::Layout;
use crate::options::{ALL, ReadOptions, TableOptions};
use crate::{Error, ErrorKind, Result, columns, idx, labels, npz, texts};

fn load_path(path: &Path, options: &ReadOptions, monitor: &Monitor) -> Result<Parts> {
    let name = path.file_name().unwrap_or(path.as_os_str()).display();
    if path.is_dir() {
        let holds = Holds::of(path)?;
        check_settings(None, options)?;
        let shape = holds.shape(path)?;
        let bytes = match holds {
            Holds::Idx => shape.memory(),
            Holds::Texts => shape.bytes_on_disk,
        };
        monitor.start(format!("read {name}"), bytes);
        return match holds {
            Holds::Idx => idx::read_folder(path, options, monitor),
            Holds::Texts => texts::read_folder(path, options, monitor),
        };
    }
    // A missing file is a better message than an unknown ending.
    std::fs::metadata(path)?;
    let form = Form::parse(path)?;
    check_settings(Some(form), options)?;
    let input = Input::open(path)?;
    monitor.start(format!("read {name}"), input.len);
    let mut parts = form.read(input, options, monitor)?;
    if matches!(form, Form::Idx | Form::IdxGz) && options.labels.is_none() {
        idx::add_labels_beside(path, &mut parts)?;
    }
    Ok(parts)
}

/// Fails on settings of tables that have no effect on this form. Those of a table of labels beside
/// the data are not among them any more.
fn check_settings(form: Option<Form>, options: &ReadOptions) -> Result<()> {
    if form.is_some_and(Form::is_table) {
        return Ok(());
    }
    options.table.refuse(&ALL, "data that are no table")
}

/// The settings of the data, and those of the table of labels beside them.
fn divided(form: Option<Form>, options: &ReadOptions) -> (ReadOptions, TableOptions) {
    let mut own = options.clone();
    let mut beside = TableOptions::default();
    if options.labels.is_some() {
        beside.label_column = own.table.label_column.take();
        beside.label_separator = own.table.label_separator.take();
        if !form.is_some_and(Form::is_table) {
            beside.id_column = own.table.id_column.take();
        }
    }
    (own, beside)
}

/// Whether a folder holds idx files with the names of MNIST, so that [`read`] reads it.
pub fn is_idx_folder(folder: impl AsRef<Path>) -> Result<bool> {
    let folder = folder.as_ref();
    idx::is_folder(folder).map_err(|e| e.within(folder.display()))
}

/// What [`read`] reads beside this path itself: the labels that go with an idx file of pictures, and the
/// idx files in a folder of them. To refuse an output that would replace one of them.
///
/// Nothing where the path cannot be read.
pub fn read_beside(path: impl AsRef<Path>) -> Vec<PathBuf> {
    idx::beside(path.as_ref())
}

/// What the items of a folder are.
#[derive(Clone, Copy)]
enum Holds {
    Idx,
    Texts,
}

impl Holds {
    fn of(path: &Path) -> Result<Self> {
        if idx::is_folder(path)? {
            return Ok(Self::Idx);
        }
        if texts::is_text_folder(path)? {
            return Ok(Self::Texts);
        }
        Err(Error::parameter(format!(
            "a folder without idx files, nor one of texts (.txt); images are read by likewise-image, here {}",
            supported()
        )))
    }

    fn shape(self, path: &Path) -> Result<Shape> {
        match self {
            Self::Idx => idx::folder_shape(path),
            Self::Texts => texts::folder_shape(path),
        }
    }
}

/// Reads a data file, or a folder of idx files or of texts, into a collection.
///
/// The form is told from the name, see [`Form`]. Views, labels, ids and split are found by
/// the names of arrays or columns: every matrix of the common row count is a view;
/// `label`, `labels`, `y` or `target` are labels, else `class` or `category`, which are
/// never features (how words are read:
/// [`Labels::parse`](likewise::Labels::parse); with an array `classes`, numbers
/// are indices into it); `id` or `ids` are ids, row numbers by default;
/// `split` is the split. Columns of row numbers (`index`, `idx`, `Unnamed: 0`,
/// `__index_level_0__`, if their values look like it) are left out. Arrays named in parts (`x_train`, `x_test`) are
/// stacked, and the parts become the split; a part without labels is unlabeled.
/// Features become `f32` (integers beyond 2^24 are rounded).
///
/// Of a folder of texts each `.txt` file is an item, its path below the folder the id, and the folder that it lies in
/// the class, as [`Places`](crate::Places) says; its features are hashed triples of letters.
///
/// Warns through `monitor` of labels that may mean something else, and of columns of a
/// table that look like an index, like the label, or outweigh all others; a note says which
/// columns were taken for what.
///
/// Fails with a message that names file, row and column where the file does not exist, is
/// not what it claims, holds NaN, infinite or huge features, duplicate ids or bad labels,
/// where an array is named as labels, ids or split but cannot be read as such, where a
/// view is missing, or where the features exceed `options.max_memory`; see
/// [`ErrorKind`]. Reports bytes through `monitor` and stops when it is cancelled.
///
/// Streams: memory is the `f32` matrices, ids and labels, plus about 1 MiB (16 columns for
/// arrays in Fortran order and for Parquet). While a compressed member is read, growth may
/// take up to twice its matrix for a moment. Not for data larger than memory.
///
/// ```
/// use likewise::Monitor;
/// use likewise_io::{ReadOptions, read};
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("flowers.csv");
/// std::fs::write(&path, "id,label,width,height\na,iris,1,2\nb,,3,4\n")?;
/// let flowers = read(&path, &ReadOptions::default(), &Monitor::silent())?;
/// assert_eq!(flowers.ids(), ["a", "b"]);
/// assert_eq!(flowers.view(None)?.matrix[[1, 0]], 3.0);
/// assert_eq!(flowers.labels.as_ref().map(|l| l.n_known()), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(
    path: impl AsRef<Path>,
    options: &ReadOptions,
    monitor: &Monitor,
) -> Result<Collection> {
    Ok(read_with_layout(path, options, monitor)?.0)
}

/// As [`read`]; also how a table was read, with which others can be read in the same way
/// ([`ReadOptions::layout`]).
///
/// ```
/// use likewise::Monitor;
/// use likewise_io::{ReadOptions, read_with_layout};
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("shirts.csv");
/// std::fs::write(&path, "size;price;note\nS;9,5;a\nL;;b\nS;7,5;c\nL;8;d\nS;6;e\nL;5;f\n")?;
/// let (shirts, layout) = read_with_layout(&path, &ReadOptions::default(), &Monitor::silent())?;
/// assert_eq!(layout.unwrap().features(), ["size = L", "size = S", "price"]);
/// assert_eq!(shirts.view(None)?.matrix.dim(), (6, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_with_layout(
    path: impl AsRef<Path>,
    options: &ReadOptions,
    monitor: &Monitor,
) -> Result<(Collection, Option<Layout>)> {
    let path = path.as_ref();
    let within = |e: Error| e.within(path.display());
    let (own, beside) = divided(Form::parse(path).ok(), options);
    let mut parts = load_path(path, &own, monitor).map_err(within)?;
    let columns = std::mem::take(&mut parts.columns);
    let layout = parts.layout.take();
    let mut collection = parts.into_collection().map_err(within)?;
    if let Some(file) = &options.labels {
        let own_id = own.table.id_column.as_deref();
        let labels = labels::read_labels_beside(file, collection.ids(), &beside, own_id, monitor)?;
        collection.labels = Some(labels);
    } else if let Some(labels) = &collection.labels {
        labels::remark_on_ids(labels, monitor);
    }
    if let Some(view) = collection.views().iter().find(|v| v.name == "features")
        && view.matrix.ncols() == columns.len()
    {
        let labels = collection.labels.as_ref();
        let (x, from) = (view.matrix.view(), options.scaled_from);
        columns::check(&columns, x, labels, from, monitor);
    }
    monitor.end();
    Ok((collection, layout))
}

/// Reads a collection from bytes in memory, for tests and for data that come from elsewhere.
///
/// As [`read`], but messages do not name a file, `options.labels` is not used, and no
/// labels are looked for beside the data.
pub fn read_bytes(form: Form, bytes: &[u8], options: &ReadOptions) -> Result<Collection> {
    let parts = form.read(Input::memory(bytes), options, &Monitor::silent())?;
    parts.into_collection()
}

/// What [`read`] would read: number of items, views and their dimensions.
///
/// From headers alone, except that text is scanned to count its lines and a column of
/// vectors is opened to its first one. With `options.view` only that view is listed.
/// Values are not checked. For estimates of time and memory before the work begins.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.npy");
/// likewise_io::write_npy(&path, ndarray::Array2::zeros((10, 4)).view())?;
/// let shape = likewise_io::inspect(&path, &Default::default())?;
/// assert_eq!((shape.items, shape.memory()), (10, 160));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn inspect(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Shape> {
    let path = path.as_ref();
    shape(path, options).map_err(|e| e.within(path.display()))
}

fn shape(path: &Path, options: &ReadOptions) -> Result<Shape> {
    let options = &divided(Form::parse(path).ok(), options).0;
    if path.is_dir() {
        let holds = Holds::of(path)?;
        check_settings(None, options)?;
        return check_shape(holds.shape(path)?, options);
    }
    std::fs::metadata(path)?;
    let form = Form::parse(path)?;
    check_settings(Some(form), options)?;
    let input = Input::open(path)?;
    let bytes_on_disk = input.len;
    let shape = check_shape(form.shape(input, options)?, options)?;
    Ok(Shape {
        bytes_on_disk,
        ..shape
    })
}

fn check_shape(shape: Shape, options: &ReadOptions) -> Result<Shape> {
    let names: Vec<&str> = shape.views.iter().map(|v| v.0.as_str()).collect();
    options.choose(&names)?;
    Ok(shape)
}

/// Reads one matrix (items x dimensions) of a data file; without a name, the only one.
///
/// As [`read`], without labels, ids and split. Fails with kind `Parameter` if there is no
/// such view, or several and no name.
pub fn read_matrix(path: impl AsRef<Path>, view: Option<&str>) -> Result<Array2<f32>> {
    let path = path.as_ref();
    let within = |e: Error| e.within(path.display());
    let options = ReadOptions {
        view: view.map(str::to_owned),
        ..ReadOptions::default()
    };
    if view.is_none() {
        let shape = inspect(path, &options)?;
        if shape.views.len() > 1 {
            let names: Vec<&str> = shape.views.iter().map(|v| v.0.as_str()).collect();
            return Err(within(Error::parameter(format!(
                "the file holds several matrices: {}; name one view",
                names.join(", ")
            ))));
        }
    }
    let parts = load_path(path, &options, &Monitor::silent()).map_err(within)?;
    let view = parts.views.into_iter().next();
    view.map(|v| v.matrix)
        .ok_or_else(|| within(Error::new(ErrorKind::Value, "there is no matrix in it")))
}

/// Reads a list of whole numbers, one array of an `.npz`: row numbers of a published split, for one.
///
/// Fails on another form of file, on an array that is not there or has several axes, and on a number
/// that is not whole.
pub fn read_list(path: impl AsRef<Path>, name: &str) -> Result<Vec<i64>> {
    let path = path.as_ref();
    let read = || match Form::parse(path)? {
        Form::Npz => npz::list(Input::open(path)?, name),
        _ => Err(Error::parameter(format!(
            "no list {name}: lists stand in .npz archives"
        ))),
    };
    read().map_err(|e: Error| e.within(path.display()))
}

/// A monitor for tests, and the warnings it heard.
#[cfg(test)]
pub(crate) fn listening() -> (Monitor, std::sync::Arc<std::sync::Mutex<Vec<String>>>) {
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let listens = heard.clone();
    let monitor = Monitor::new(move |event| {
        if let likewise::Event::Warning(text) = event {
            listens.lock().unwrap().push(text.clone());
        }
    });
    (monitor, heard)
}
