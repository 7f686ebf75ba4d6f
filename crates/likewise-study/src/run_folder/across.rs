//! The run of a search across views: how it is written, opened and read.

use std::collections::BTreeMap;
use std::path::Path;

use likewise::code::Codes;
use likewise::cross::{Embedding, NamedKind, NamedModel};
use likewise::{Collection, Label};
use likewise_io::items::ItemRow;
use likewise_nn::cross::Learner;
use ndarray::{Array2, Axis, concatenate, s};

use super::record::{CODES, EMBEDDINGS};
use super::work::Work;
use super::{Config, OUTSIDE, Record, RunFolder, read_with};
use crate::study::{CrossResults, CrossStudy, Embedded};
use crate::{Result, failed};

/// Under which the kind stands in the metadata of the file.
const KEY: &str = "model";

/// Writes everything that a study across views leaves, but for `run.json`, which comes last; gives
/// the names of the files that are read again.
pub fn save_across(
    to: &Work,
    study: &CrossStudy,
    collection: &Collection,
) -> Result<Vec<&'static str>> {
    to.write("model.safetensors", &to_safetensors(&study.kept.model)?)?;
    likewise_io::items::write(to.file("items.parquet"), &rows(study, collection))?;
    let all = collection.len();
    let name = match &study.kept.embedded.rows[0] {
        Embedding::Bits(codes) => {
            let bytes = codes.bits().div_ceil(8);
            let of_view = |(items, rows): (&Vec<usize>, &Embedding)| {
                let mut out = Array2::<u8>::zeros((all, bytes));
                if let Embedding::Bits(codes) = rows {
                    for (row, &item) in items.iter().enumerate() {
                        let words = codes.row(row).iter().flat_map(|word| word.to_le_bytes());
                        out.row_mut(item)
                            .iter_mut()
                            .zip(words)
                            .for_each(|(b, w)| *b = w);
                    }
                }
                out
            };
            let stacked = stack(
                study
                    .kept
                    .embedded
                    .items
                    .iter()
                    .zip(&study.kept.embedded.rows)
                    .map(of_view),
            )?;
            likewise_io::write_npy_bytes(to.file(CODES), stacked.view())?;
            CODES
        }
        Embedding::Real(rows) => {
            let columns = rows.ncols();
            let of_view = |(items, rows): (&Vec<usize>, &Embedding)| {
                let mut out = Array2::<f32>::zeros((all, columns));
                if let Embedding::Real(rows) = rows {
                    for (row, &item) in items.iter().enumerate() {
                        out.row_mut(item).assign(&rows.row(row));
                    }
                }
                out
            };
            let stacked = stack(
                study
                    .kept
                    .embedded
                    .items
                    .iter()
                    .zip(&study.kept.embedded.rows)
                    .map(of_view),
            )?;
            likewise_io::write_npy(to.file(EMBEDDINGS), stacked.view())?;
            EMBEDDINGS
        }
    };
    to.write_json("metrics.json", &study.results)?;
    Ok(vec![
        "config.json",
        "model.safetensors",
        "items.parquet",
        name,
        "metrics.json",
    ])
}

/// The views one below the other.
fn stack<T: Clone>(views: impl Iterator<Item = Array2<T>>) -> Result<Array2<T>> {
    let views: Vec<Array2<T>> = views.collect();
    let views: Vec<_> = views.iter().map(|view| view.view()).collect();
    concatenate(Axis(0), &views).map_err(|e| failed(format!("views one below the other: {e}")))
}

fn rows(study: &CrossStudy, collection: &Collection) -> Vec<ItemRow> {
    let labels = collection.labels.as_ref();
    let views = study.kept.embedded.items.len();
    let some_lack = (study.kept.embedded.items.iter()).any(|items| items.len() < collection.len());
    let of_item = |item: usize| {
        let label = labels.and_then(|labels| match labels[item] {
            Label::Known(class) => Some(labels.classes()[class as usize].clone()),
            Label::Outside => Some(OUTSIDE.to_owned()),
            Label::Unknown => None,
        });
        let has = |t: &usize| study.kept.embedded.items[*t].binary_search(&item).is_ok();
        let own: Vec<String> = (0..views).filter(has).map(|t| t.to_string()).collect();
        let draws: Vec<String> = study.drawn[item].iter().map(usize::to_string).collect();
        let believed = study.kept.believed[item].clone();
        ItemRow {
            id: collection.ids()[item].clone(),
            label,
            split: Some(study.parts[item]),
            confidence: believed.as_ref().map(|believed| believed.1),
            pseudo_label: believed.map(|believed| believed.0),
            drawn: (!draws.is_empty()).then(|| draws.join(" ")),
            views: some_lack.then(|| own.join(" ")),
        }
    };
    (0..collection.len()).map(of_item).collect()
}

fn to_safetensors(model: &NamedModel) -> Result<Vec<u8>> {
    let kind = serde_json::to_string(&model.kind()).map_err(crate::no_json)?;
    let metadata = BTreeMap::from([(KEY.to_owned(), kind)]);
    Ok(likewise_io::arrays::to_safetensors(
        &model.arrays(),
        &metadata,
    )?)
}

/// The model of the bytes of its file. Fails on broken bytes, and on a model of another kind.
pub fn open_across(bytes: &[u8]) -> Result<NamedModel> {
    let broken = |e: &dyn std::fmt::Display| failed(format!("broken model file: {e}"));
    let read = likewise_io::arrays::from_safetensors(bytes);
    let (arrays, metadata) = read.map_err(|e| broken(&e))?;
    let none = "it does not say that it is a model across views";
    let kind = metadata.get(KEY).ok_or_else(|| broken(&none))?;
    let kind: NamedKind = serde_json::from_str(kind).map_err(|e| broken(&e))?;
    NamedModel::from_arrays(&kind, &arrays).map_err(|e| broken(&e))
}

/// The folder of a finished run across views.
#[derive(Debug, Clone)]
pub struct AcrossFolder {
    run: RunFolder,
    views: Vec<String>,
}

impl AcrossFolder {
    /// Whether a folder holds a finished run across views.
    pub fn is_one(path: &Path) -> bool {
        super::record(path).is_ok_and(|record| !record.views.is_empty())
    }

    /// The folder of such a run.
    pub fn open(path: &Path) -> Result<Self> {
        let run = RunFolder::open_any(path)?;
        let views = run.record()?.views;
        if views.is_empty() {
            return Err(failed(format!(
                "{}: a run within one view, which has none to search from or to",
                path.display()
            )));
        }
        Ok(Self { run, views })
    }

    /// What `work` makes of the run in a folder. Where another run takes its place meanwhile, the
    /// work begins anew, on that one.
    pub fn read_by<T>(path: &Path, work: impl Fn(&Self) -> Result<T>) -> Result<T> {
        read_with(path, || Self::open(path).and_then(|run| work(&run)))
    }

    /// The files that it has in common with a run within one view.
    pub(crate) fn folder(&self) -> &RunFolder {
        &self.run
    }

    /// Names of the views, in the order of the files.
    pub fn views(&self) -> &[String] {
        &self.views
    }

    /// `config.json`. Fails where it is damaged or of another run.
    pub fn config(&self) -> Result<Config> {
        self.run.config()
    }

    /// `run.json`. Fails where it is damaged.
    pub fn record(&self) -> Result<Record> {
        self.run.record()
    }

    /// Fails where a file that the record tells of is missing, damaged or of another run.
    pub fn check(&self) -> Result<()> {
        self.run.check()
    }

    /// `metrics.json`. Fails where it is damaged or of another run.
    pub fn metrics(&self) -> Result<CrossResults> {
        self.run.read_json("metrics.json")
    }

    /// The model. Fails where it is damaged or of another run.
    pub fn model(&self) -> Result<NamedModel> {
        let name = "model.safetensors";
        open_across(&self.run.read(name)?).map_err(|e| e.within(self.run.file(name).display()))
    }

    /// Ids, labels and beliefs of the items. Fails where they are damaged or of another run.
    pub fn items(&self) -> Result<Vec<ItemRow>> {
        self.run.items()
    }

    /// The model, and of each view the items that have it with their rows or codes. Fails where these are damaged.
    pub fn space(&self) -> Result<(NamedModel, Embedded)> {
        let (model, items, config) = (self.model()?, self.items()?, self.config()?);
        let learner = config.recipe.learner.cross();
        let bits = learner.is_some_and(Learner::gives_bits);
        let bits = bits.then(|| model.views()[0].encoder.output_dim());
        let each = (0..self.views.len()).map(|t| self.view(t, &items, bits));
        let each = each.collect::<Result<Vec<_>>>()?;
        let (items, rows) = each.into_iter().unzip();
        Ok((model, Embedded { items, rows }))
    }

    /// The items that have view `t`, and their rows or codes. Fails where these are damaged.
    pub fn view(
        &self,
        t: usize,
        items: &[ItemRow],
        bits: Option<usize>,
    ) -> Result<(Vec<usize>, Embedding)> {
        let name = if bits.is_some() { CODES } else { EMBEDDINGS };
        let stacked = likewise_io::read_matrix(self.run.part(name)?, None)?;
        let (n, views) = (items.len(), self.views.len());
        let broken = || {
            failed(format!(
                "{}: not of this run; fit again",
                self.run.file(name).display()
            ))
        };
        if stacked.nrows() != n * views {
            return Err(broken());
        }
        let of_view = stacked.slice_move(s![t * n..(t + 1) * n, ..]);
        let number = t.to_string();
        let has = |item: &usize| {
            let views = items[*item].views.as_ref();
            views.is_none_or(|views| views.split(' ').any(|view| *view == number))
        };
        let own: Vec<usize> = (0..n).filter(has).collect();
        let rows = of_view.select(Axis(0), &own);
        let Some(bits) = bits else {
            return Ok((own, Embedding::Real(rows)));
        };
        if rows.ncols() != bits.div_ceil(8) {
            return Err(broken());
        }
        let width = bits.div_ceil(64);
        let mut words = vec![0_u64; own.len() * width];
        for (row, bytes) in rows.rows().into_iter().enumerate() {
            for (place, &byte) in bytes.iter().enumerate() {
                // A byte was read as a number of this size.
                words[row * width + place / 8] |= u64::from(byte as u8) << (place % 8 * 8);
            }
        }
        Ok((own, Embedding::Bits(Codes::from_words(bits, words)?)))
    }
}
