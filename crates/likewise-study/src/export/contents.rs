//! What is exported of a run: its items, and the vectors that stand for them.

use std::path::Path;

use likewise::code::{Codes, nearest};
use likewise::cross;
use likewise::index::{Exact, Index};
use likewise::{Monitor, Similarity};
use likewise_io::items::ItemRow;
use likewise_nn::cross::Learner;
use ndarray::{Array2, Axis};

use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::run_folder::{AcrossFolder, OUTSIDE, RunFolder};
use crate::{Result, failed, usage};

/// Items of a run, and one vector each.
#[derive(Debug, Clone)]
pub struct Contents {
    /// Ids, labels and beliefs.
    pub items: Vec<ItemRow>,
    /// Their vectors, in the same order.
    pub vectors: Vectors,
    /// How vectors compare.
    pub compared: Compared,
    /// Rows of the items among those of the run, where some lack the view.
    pub rows: Option<Vec<i64>>,
    /// What tells them from those of another run.
    pub mark: String,
    similarity: Similarity,
}

/// One vector an item.
#[derive(Debug, Clone, PartialEq)]
pub enum Vectors {
    /// Numbers, `n x d`.
    Rows(Array2<f32>),
    /// Bits.
    Codes(Codes),
}

/// How vectors compare: what a store must be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// By the cosine; the vectors have length 1.
    Cosine,
    /// By the Euclidean distance.
    Euclidean,
    /// By the inner product with queries that were multiplied by a matrix.
    InnerProduct,
    /// By the number of bits that differ.
    Hamming,
}

impl Compared {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Euclidean => "euclidean",
            Self::InnerProduct => "inner-product",
            Self::Hamming => "hamming",
        }
    }
}

impl Vectors {
    /// Numbers, or bits, of a vector.
    pub fn dimensions(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.ncols(),
            Self::Codes(codes) => codes.bits(),
        }
    }
}

impl Contents {
    /// What is exported of the run in a folder; of a run across views, the side of `view`.
    ///
    /// Fails where the run is damaged, for a model whose rows tell nothing without it, without a
    /// `view` across views and with one otherwise.
    pub fn read(run: &Path, view: Option<&str>, at: &Environment) -> Result<Self> {
        estimate(run, view)?.check(at.max_memory)?;
        let mut contents = if AcrossFolder::is_one(run) {
            AcrossFolder::read_by(run, |run| of_view(run, view))?
        } else {
            no_view(run, view)?;
            RunFolder::read_by(run, |folder| of_run(folder, run))?
        };
        for item in &mut contents.items {
            // What is known to be none of the classes is not believed to be one.
            if item.label.as_deref() == Some(OUTSIDE) {
                (item.pseudo_label, item.confidence) = (None, None);
            }
        }
        Ok(contents)
    }

    /// The `k` items nearest to each of those at `asking`, as places among the items, with how near
    /// they are; larger is nearer. Exact.
    pub fn nearest(
        &self,
        asking: &[usize],
        k: usize,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<(usize, f64)>>> {
        match &self.vectors {
            Vectors::Rows(rows) => {
                let queries = self.asking(asking)?;
                let index = Exact::new(rows.view(), &self.similarity)?;
                let found = index.search(queries.view(), k, monitor)?;
                let hits = found.into_iter().map(|hits| {
                    let hits = hits.into_iter();
                    hits.map(|hit| (hit.item, f64::from(hit.similarity)))
                        .collect()
                });
                Ok(hits.collect())
            }
            Vectors::Codes(codes) => {
                let found = nearest(&codes.select(asking), codes, k, monitor)?;
                let both = found.indices.rows().into_iter().zip(found.distances.rows());
                let hits = both.map(|(items, distances)| {
                    let pairs = items.into_iter().zip(distances);
                    pairs
                        .map(|(&item, &d)| (item as usize, -f64::from(d)))
                        .collect()
                });
                Ok(hits.collect())
            }
        }
    }

    /// The rows of items as they ask. Fails for codes, which ask as they are.
    pub(super) fn asking(&self, items: &[usize]) -> Result<Array2<f32>> {
        let Vectors::Rows(rows) = &self.vectors else {
            return Err(failed("codes ask as they are"));
        };
        let rows = rows.select(Axis(0), items);
        Ok(self.similarity.asking(rows.view()).unwrap_or(rows))
    }

    /// The bytes of codes (`n x bytes`): bit j is bit j % 8 of byte j / 8, lowest first.
    pub(super) fn bytes(codes: &Codes) -> Array2<u8> {
        let mut bytes = Array2::zeros((codes.n(), codes.bits().div_ceil(8)));
        for (i, mut row) in bytes.rows_mut().into_iter().enumerate() {
            let words = codes.row(i).iter().flat_map(|word| word.to_le_bytes());
            row.iter_mut().zip(words).for_each(|(b, w)| *b = w);
        }
        bytes
    }

    /// Vectors of some items as numbers, whatever they are: of bits 1 and -1 over the root of their
    /// number, whose cosine falls with every bit that differs.
    #[cfg(feature = "export")]
    pub(super) fn numbers(&self, items: std::ops::Range<usize>) -> Array2<f32> {
        match &self.vectors {
            Vectors::Rows(rows) => rows.slice(ndarray::s![items, ..]).to_owned(),
            Vectors::Codes(codes) => {
                let places: Vec<usize> = items.collect();
                codes.select(&places).to_signs() / (codes.bits() as f32).sqrt()
            }
        }
    }
}

/// What an export of a run costs: the items, the vectors, and a copy of them to compare with.
pub fn estimate(run: &Path, view: Option<&str>) -> Result<Estimate> {
    let items = |folder: &RunFolder| -> Result<f64> { Ok(folder.record()?.items as f64) };
    let (n, d) = if AcrossFolder::is_one(run) {
        AcrossFolder::read_by(run, |run| {
            place(run, view)?;
            Ok((
                items(run.folder())?,
                run.model()?.views()[0].encoder.output_dim() as f64,
            ))
        })?
    } else {
        no_view(run, view)?;
        RunFolder::read_by(run, |run| {
            Ok((items(run)?, run.model()?.output_dim() as f64))
        })?
    };
    Ok(Estimate::new().resident(n * (300.0 + 8.0 * d)))
}

fn no_view(run: &Path, view: Option<&str>) -> Result<()> {
    match view {
        Some(_) => Err(usage(format!(
            "`view` goes with a run across views, and {} is none; leave it out",
            run.display()
        ))),
        None => Ok(()),
    }
}

fn of_run(run: &RunFolder, path: &Path) -> Result<Contents> {
    let similarity = run.similarity()?;
    let compared = match &similarity {
        Similarity::Cosine => Compared::Cosine,
        Similarity::Euclidean => Compared::Euclidean,
        Similarity::Bilinear(_) => Compared::InnerProduct,
        Similarity::Scored(_) => {
            return Err(failed(format!(
                "{}: its model compares items itself, and vectors tell no store what it has learned; \
                 search in the run",
                path.display()
            )));
        }
    };
    let (items, rows) = (run.items()?, run.embeddings()?);
    if items.len() != rows.nrows() {
        return Err(failed(format!(
            "{}: {} items and {} embeddings; fit again",
            path.display(),
            items.len(),
            rows.nrows()
        )));
    }
    Ok(Contents {
        items,
        vectors: Vectors::Rows(rows),
        compared,
        rows: None,
        mark: run.mark_of_rows("")?,
        similarity,
    })
}

/// The place of a view; one has to be named.
pub(super) fn place(run: &AcrossFolder, view: Option<&str>) -> Result<usize> {
    let views = run.views();
    let found = view.and_then(|name| views.iter().position(|own| own == name));
    found.ok_or_else(|| {
        let what = match view {
            Some(name) => format!("the run has no view \"{name}\""),
            None => "the run is one across views, and each view is exported for itself".to_owned(),
        };
        usage(format!(
            "{what}; name one with `view`: {}",
            views.join(", ")
        ))
    })
}

fn of_view(run: &AcrossFolder, view: Option<&str>) -> Result<Contents> {
    let t = place(run, view)?;
    let model = run.model()?;
    let learner = run.config()?.recipe.learner;
    let bits = learner.cross().is_some_and(Learner::gives_bits);
    let bits = bits.then(|| model.views()[t].encoder.output_dim());
    let all = run.items()?;
    let (own, rows) = run.view(t, &all, bits)?;
    let (vectors, compared) = match rows {
        cross::Embedding::Real(rows) => {
            let rows = likewise::matrix::l2_normalize(rows);
            (Vectors::Rows(rows), Compared::Cosine)
        }
        cross::Embedding::Bits(codes) => (Vectors::Codes(codes), Compared::Hamming),
    };
    let some_lack = own.len() < all.len();
    Ok(Contents {
        items: own.iter().map(|&i| all[i].clone()).collect(),
        vectors,
        compared,
        rows: some_lack.then(|| own.iter().map(|&i| i as i64).collect()),
        mark: run.folder().mark_of_rows(&run.views()[t])?,
        similarity: Similarity::Cosine,
    })
}
