//! An export as it is asked for: what is written, and where.

use std::path::{Path, PathBuf};

use likewise::index::Kind as IndexKind;
use likewise_io::atomic;

use super::contents::{Contents, estimate};
use super::database;
use super::files::{self, Table};
use super::huggingface;
use super::report::Report;
use super::store::{Store, StoreKind, available};
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::run_folder::{check_apart, check_ending, check_output};
use crate::{Result, live, usage};

/// The table of a database, unless another one is named.
const TABLE: &str = "likewise";

/// What a run is exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A table of a database.
    Store(StoreKind),
    /// A table in a file.
    Table(Table),
    /// An index file of faiss.
    Faiss,
    /// The model as ONNX.
    Onnx,
    /// A folder with the model and its card.
    Huggingface,
}

/// An export that is asked for.
#[derive(Clone)]
pub struct Request {
    /// Folder of the run.
    pub run: PathBuf,
    /// Of a run across views, the one whose side is exported.
    pub view: Option<String>,
    /// What it is exported to.
    pub to: Target,
    /// The file; a folder for Hugging Face.
    pub out: Option<PathBuf>,
    /// Address of the database.
    pub url: Option<String>,
    /// Its table; `None`: `likewise`.
    pub table: Option<String>,
    /// A password that the address lacks, or a key.
    pub secret: Option<String>,
    /// The index that pgvector builds; `None`: hnsw.
    pub index: Option<IndexKind>,
    /// Whether what an older export left may be dropped.
    pub overwrite: bool,
    /// Seed of the sample that recall is measured on.
    pub seed: u64,
}

impl Request {
    /// What the export will cost.
    ///
    /// Fails on settings that the target knows nothing of, on an output that cannot be one, and where there is no
    /// run.
    pub fn estimate(&self) -> Result<Estimate> {
        self.check()?;
        estimate(&self.run, self.view.as_deref())
    }

    /// Writes the run to the target.
    ///
    /// Fails as [`estimate`](Self::estimate) does, where the target cannot be written, and in a build without
    /// the feature `export` for a database.
    pub fn run(&self, at: &Environment) -> Result<Report> {
        self.check()?;
        let (run, view) = (self.run.as_path(), self.view.as_deref());
        if !matches!(self.to, Target::Faiss | Target::Onnx) {
            live::remark_newer(run, at.monitor);
        }
        let contents = || Contents::read(run, view, at);
        match self.to {
            Target::Store(kind) => {
                let store = self.store(kind)?;
                database::write(kind, &store, &contents()?, at)
            }
            Target::Table(of) => files::table(contents()?, of, self.file()?),
            Target::Faiss => files::faiss(&contents()?, self.file()?),
            Target::Onnx => files::onnx(run, view, self.file()?),
            Target::Huggingface => huggingface::write(run, self.overwrite, self.file()?),
        }
    }

    /// Fails for settings that the target knows nothing of, and before any work for what it lacks.
    fn check(&self) -> Result<()> {
        let refused = |what: &str, goes_with: &str| {
            let message = format!("`{what}` goes with {goes_with}; leave it out");
            Err(usage(message))
        };
        let is_store = matches!(self.to, Target::Store(_));
        if is_store {
            if self.out.is_some() {
                return refused("out", "files; a database has its `url`");
            }
            available()?;
        } else {
            let given = [("url", &self.url), ("table", &self.table)];
            if let Some((what, _)) = given.into_iter().find(|(_, given)| given.is_some()) {
                return refused(what, "`to pgvector` and `to qdrant`");
            }
        }
        if self.index.is_some() && self.to != Target::Store(StoreKind::Pgvector) {
            return refused("index", "`to pgvector`");
        }
        if self.overwrite && !is_store && self.to != Target::Huggingface {
            return refused("overwrite", "databases and folders; files are replaced");
        }
        if is_store { Ok(()) } else { self.check_file() }
    }

    /// Fails for a file that cannot be what is written.
    fn check_file(&self) -> Result<()> {
        let out = self.file()?;
        check_output(Some(out), &[])?;
        check_apart(Some(out), &self.run)?;
        match self.to {
            // It is read again to be counted, and forms are known by their endings.
            Target::Table(_) if out.extension().is_none() && !atomic::is_stream(out) => {
                Err(usage(format!(
                    "{}: tables are written as .parquet; name the file so",
                    out.display()
                )))
            }
            Target::Table(_) => check_ending(Some(out), "tables are written", "parquet"),
            Target::Onnx => check_ending(Some(out), "models are written", "onnx"),
            Target::Faiss if out.extension().is_none_or(|e| e != "index") => {
                let what = "indexes of faiss are written (or .index)";
                check_ending(Some(out), what, "faiss")
            }
            Target::Faiss | Target::Huggingface | Target::Store(_) => Ok(()),
        }
    }

    fn file(&self) -> Result<&Path> {
        let none = || usage("say where it goes with `out`");
        self.out.as_deref().ok_or_else(none)
    }

    fn store(&self, kind: StoreKind) -> Result<Store> {
        let example = match kind {
            StoreKind::Qdrant => "http://localhost:6333",
            StoreKind::Pgvector => "postgres://me@localhost:5432/database",
        };
        let none = || {
            usage(format!(
                "say where the database is with `url`, such as {example}"
            ))
        };
        Ok(Store {
            url: self.url.clone().ok_or_else(none)?,
            secret: self.secret.clone(),
            table: self.table.clone().unwrap_or_else(|| TABLE.to_owned()),
            index: self.index.unwrap_or(IndexKind::Hnsw),
            overwrite: self.overwrite,
            seed: self.seed,
        })
    }
}
