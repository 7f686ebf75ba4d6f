//! Files: tables of vectors, an index of faiss, and the model as ONNX.

use std::io::Write;
use std::path::Path;
use std::slice::from_ref;

use likewise::cross::Encoder;
use likewise_io::embeddings::{self, Unknown};
use likewise_io::faiss::Compared as Metric;
use likewise_io::{ReadOptions, atomic};
use likewise_nn::Model;
use likewise_nn::model::view_to_onnx;

use super::columns::Columns;
use super::contents::{Compared, Contents, Vectors, place};
use super::milvus;
use super::report::{Report, lines};
use super::views::{SideBySide, text_of_python};
use crate::run_folder::{AcrossFolder, RunFolder};
use crate::{Result, failed, usage};

/// Who reads a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Whoever reads Parquet.
    Parquet,
    /// The bulk import of Milvus, which knows no null.
    Milvus,
    /// `LanceDB`, by way of pyarrow.
    Lancedb,
}

impl Table {
    fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Milvus => "milvus",
            Self::Lancedb => "lancedb",
        }
    }
}

/// Bits of an ONNX file, 1 and -1, as the bytes of codes; what the last byte has too many is 0.
const PACKED: &str = "np.packbits(embedding >= 0, axis=1, bitorder=\"little\")";

/// Writes a Parquet table with `id`, `vector` (a list of `f32`, or of `u8` where they are bits),
/// `label`, `pseudo_label`, `confidence` and `split`, and counts what it holds.
///
/// Fails where it cannot be written, and for texts that Milvus cannot hold.
pub fn table(contents: Contents, of: Table, out: &Path) -> Result<Report> {
    let unknown = if of == Table::Milvus {
        milvus::check(&contents)?;
        Unknown::Empty
    } else {
        Unknown::Null
    };
    let Contents {
        items,
        vectors,
        compared,
        ..
    } = contents;
    let dimensions = vectors.dimensions();
    let vectors = match vectors {
        Vectors::Rows(rows) => embeddings::Vectors::Numbers(rows),
        Vectors::Codes(codes) => embeddings::Vectors::Bytes(Contents::bytes(&codes)),
    };
    embeddings::write_as(out, &items, vectors, unknown)?;
    let counted = counted(out, items.len(), || {
        Ok(likewise_io::inspect(out, &ReadOptions::default())?.items)
    })?;
    Ok(Report {
        target: of.name(),
        to: out.display().to_string(),
        items: Some(items.len()),
        written: Some(items.len()),
        counted,
        dimensions,
        compared: compared.name(),
        recall: None,
        usage: in_python(of, out, dimensions, compared),
    })
}

/// What a regular file is found to hold, which must be `items`; a [stream](atomic::is_stream) is not asked.
fn counted(
    out: &Path,
    items: usize,
    count: impl FnOnce() -> Result<usize>,
) -> Result<Option<usize>> {
    if atomic::is_stream(out) {
        return Ok(None);
    }
    let counted = count()?;
    if counted != items {
        return Err(failed(format!(
            "{}: {counted} items arrived of {items}; export again",
            out.display()
        )));
    }
    Ok(Some(counted))
}

/// A path as a text of Python.
fn quoted(path: &Path) -> String {
    text_of_python(&path.display().to_string())
}

fn in_python(of: Table, out: &Path, dimensions: usize, compared: Compared) -> Vec<String> {
    let path = quoted(out);
    let query = if compared == Compared::Hamming {
        "queries[0]"
    } else {
        "query"
    };
    let metric = match compared {
        Compared::Euclidean => "l2",
        Compared::Cosine => "cosine",
        Compared::InnerProduct => "dot",
        Compared::Hamming => "hamming",
    };
    let text = match of {
        Table::Parquet => format!("import pyarrow.parquet as pq\ntable = pq.read_table({path})"),
        Table::Lancedb => format!(
            "import lancedb, pyarrow.parquet as pq\n\
             table = lancedb.connect(\"lance\").create_table(\"items\", pq.read_table({path}))\n\
             table.search({query}).distance_type(\"{metric}\").limit(10).to_list()"
        ),
        Table::Milvus => milvus::in_python(&path, dimensions, compared),
    };
    lines(&format!("{}{text}", asking(compared)))
}

/// Lines that make the queries of codes; rows ask as they are.
fn asking(compared: Compared) -> String {
    if compared != Compared::Hamming {
        return String::new();
    }
    format!(
        "import numpy as np\n\
         queries = {PACKED}     # embedding: by the ONNX file of the view that asks\n"
    )
}

/// Writes an index file of faiss, flat and exact, which answers with rows of the run's
/// `items.parquet`; and counts what it holds.
pub fn faiss(contents: &Contents, out: &Path) -> Result<Report> {
    let rows = contents.rows.as_deref();
    let read = match (&contents.vectors, contents.compared) {
        (Vectors::Codes(codes), _) => {
            likewise_io::faiss::write_binary(out, Contents::bytes(codes).view(), rows)?;
            "read_index_binary"
        }
        (Vectors::Rows(x), compared) => {
            let metric = match compared {
                Compared::Euclidean => Metric::Euclidean,
                _ => Metric::InnerProduct,
            };
            likewise_io::faiss::write_flat(out, x.view(), metric, rows)?;
            "read_index"
        }
    };
    let items = contents.items.len();
    let counted = counted(out, items, || Ok(likewise_io::faiss::count(out)?))?;
    Ok(Report {
        target: "faiss",
        to: out.display().to_string(),
        items: Some(items),
        written: Some(items),
        counted,
        dimensions: contents.vectors.dimensions(),
        compared: contents.compared.name(),
        recall: None,
        usage: lines(&format!(
            "{}import faiss\nindex = faiss.{read}({})\n\
             values, rows = index.search(queries, 10)     # rows of the run's items.parquet",
            asking(contents.compared),
            quoted(out)
        )),
    })
}

/// Writes the model of a run as ONNX; of a run across views that of `view`.
///
/// Fails for models that no such file can hold.
pub fn onnx(run: &Path, view: Option<&str>, out: &Path) -> Result<Report> {
    let model = if AcrossFolder::is_one(run) {
        AcrossFolder::read_by(run, |folder| Onnx::of_view(folder, view, run))?
    } else {
        if view.is_some() {
            return Err(usage(format!(
                "`view` goes with a run across views, and {} is none; leave it out",
                run.display()
            )));
        }
        RunFolder::read_by(run, |folder| Onnx::of_run(folder, run))?
    };
    atomic::write(out, |file| Ok(file.write_all(&model.bytes)?))?;
    Ok(Report {
        target: "onnx",
        to: out.display().to_string(),
        items: None,
        written: None,
        counted: None,
        dimensions: model.dimensions,
        compared: model.compared,
        recall: None,
        usage: model.in_python(out),
    })
}

/// A model as an ONNX file, and what has to be known to use it.
struct Onnx {
    bytes: Vec<u8>,
    dimensions: usize,
    compared: &'static str,
    /// What its input is made of, where that is several views.
    views: Option<SideBySide>,
    /// The columns of the table that its input is made of.
    columns: Option<Columns>,
    /// Whether it gives bits, as 1 and -1.
    bits: bool,
}

impl Onnx {
    fn of_view(folder: &AcrossFolder, view: Option<&str>, run: &Path) -> Result<Self> {
        let model = folder.model()?;
        let view = &model.views()[place(folder, view)?];
        let table = folder.config()?.table;
        let columns = Columns::of(table.as_ref(), from_ref(&view.name), run)?;
        let scaled = columns.as_ref().and_then(|columns| columns.scaled.as_ref());
        Ok(Self {
            bytes: view_to_onnx(view, scaled).map_err(|e| e.within(run.display()))?,
            dimensions: view.encoder.output_dim(),
            compared: "cosine",
            views: None,
            columns,
            bits: !matches!(view.encoder, Encoder::Real(_) | Encoder::Network(_)),
        })
    }

    fn of_run(folder: &RunFolder, run: &Path) -> Result<Self> {
        let model = folder.model()?;
        let columns = Columns::of_run(folder, run)?;
        let scaled = columns.as_ref().and_then(|columns| columns.scaled.as_ref());
        Ok(Self {
            bytes: model.to_onnx(scaled).map_err(|e| e.within(run.display()))?,
            dimensions: model.output_dim(),
            compared: compared(&model),
            views: SideBySide::of(folder, &model)?,
            columns,
            bits: false,
        })
    }

    fn in_python(&self, out: &Path) -> Vec<String> {
        let mut text = String::new();
        if self.bits || self.views.is_some() {
            text.push_str("import numpy as np\n");
        }
        text.push_str("import onnxruntime\n");
        if let Some(columns) = &self.columns {
            text.push_str(&columns.comment("features"));
        }
        if let Some(views) = &self.views {
            text.push_str(&views.in_python("features"));
        }
        text.extend([
            "model = onnxruntime.InferenceSession(",
            &quoted(out),
            ")\nembedding = model.run([\"embedding\"], {\"input\": features})[0]     # float32",
        ]);
        if self.bits {
            text.extend(["\ncodes = ", PACKED, "     # as tables and faiss have them"]);
        }
        lines(&text)
    }
}

/// How the embeddings of a model compare.
pub(super) fn compared(model: &Model) -> &'static str {
    use likewise::Similarity;
    match model.similarity() {
        Similarity::Cosine => Compared::Cosine.name(),
        Similarity::Euclidean => Compared::Euclidean.name(),
        Similarity::Bilinear(_) => Compared::InnerProduct.name(),
        Similarity::Scored(_) => "by the model",
    }
}
