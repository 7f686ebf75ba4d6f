//! A model that compares rows itself: kernels, or a ranking along a manifold.

use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};

use super::learned_metric::{mean_of, put_mean};
use crate::arrays::Arrays;
use crate::kernel::{self, Mapped, explicit, omks};
use crate::linear::Affine;
use crate::matrix::Reading;
use crate::rank::{Emr, Landmarks};
use crate::similarity::{Scorer, Scores};
use crate::{Error, Monitor, Result, Similarity};

/// A model whose similarity no metric of rows can stand for.
///
/// Its rows are the views side by side, as its kernels or its landmarks read them: the features, or
/// their directions of largest variance. Alone they do not tell how alike two items are; the model is
/// asked for that, with the rows of a query and those of all that is searched.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    reading: Reading,
    views: Vec<Seen>,
    own: Arc<Own>,
}

/// How one view is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Its columns among the features.
    pub columns: Range<usize>,
    /// What they become; none: they stay as they are.
    pub map: Option<Affine>,
}

impl Seen {
    /// Columns that it has in a row of the model.
    pub fn width(&self) -> usize {
        let own = self.columns.len();
        self.map.as_ref().map_or(own, |map| map.matrix.ncols())
    }

    /// The view (`n x width`) in features that were read (`n x d`).
    pub fn rows(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        let own = x.slice(s![.., self.columns.clone()]);
        match &self.map {
            Some(map) => map.transform(own),
            None => Ok(own.to_owned()),
        }
    }
}

/// What compares the rows.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// Kernels with coefficients of all pairs of rows: OMKS.
    Kernels(kernel::Similarity),
    /// Kernels in coordinates.
    Coordinates(Mapped),
    /// Nearness along a manifold, through landmarks.
    Manifold(Landmarks),
}

/// What compares, and the columns of each view in a row.
#[derive(Debug, PartialEq)]
struct Own {
    by: By,
    widths: Vec<usize>,
}

impl Own {
    fn apart<'a>(&self, rows: ArrayView2<'a, f32>) -> Vec<ArrayView2<'a, f32>> {
        let mut first = 0;
        let each = self.widths.iter().map(|width| {
            let own = first..first + width;
            first = own.end;
            rows.slice_move(s![.., own])
        });
        each.collect()
    }
}

impl Scores for Own {
    fn columns(&self) -> usize {
        self.widths.iter().sum()
    }

    fn scores(
        &self,
        queries: ArrayView2<f32>,
        gallery: ArrayView2<f32>,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        for rows in [queries, gallery] {
            if rows.ncols() != self.columns() {
                return Err(Error::data(format!(
                    "the model compares rows of {} columns, but these have {}",
                    self.columns(),
                    rows.ncols()
                )));
            }
        }
        match &self.by {
            By::Kernels(own) => own.scores(&self.apart(queries), &self.apart(gallery)),
            By::Coordinates(own) => own.scores(&self.apart(queries), &self.apart(gallery)),
            By::Manifold(own) => own.scores(queries, gallery, monitor),
        }
    }
}

/// What the arrays of a [`Scored`] model do not tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// How features are read.
    #[serde(flatten)]
    reading: Reading,
    /// Columns of each view among the features.
    views: Vec<Range<usize>>,
    /// What compares.
    by: DescribedBy,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DescribedBy {
    Kernels(omks::Described),
    Coordinates(explicit::Described),
    Manifold(Emr),
}

impl Scored {
    /// A model of views that lie one after the other in the features.
    ///
    /// Fails where they do not.
    pub fn new(reading: Reading, views: Vec<Seen>, by: By) -> Result<Self> {
        let mut end = 0;
        for view in &views {
            let fits = |map: &Affine| {
                map.matrix.nrows() == view.columns.len() && map.mean.len() == view.columns.len()
            };
            if view.columns.start != end
                || view.columns.is_empty()
                || !view.map.as_ref().is_none_or(fits)
                || view.width() == 0
            {
                return Err(Error::data("the views of the model do not fit together"));
            }
            end = view.columns.end;
        }
        let widths: Vec<usize> = views.iter().map(Seen::width).collect();
        let fits = match &by {
            By::Kernels(own) => own
                .rows()
                .iter()
                .map(Array2::ncols)
                .eq(widths.iter().copied()),
            By::Coordinates(_) => !widths.is_empty(),
            By::Manifold(own) => own.at().ncols() == widths.iter().sum::<usize>(),
        };
        if !fits {
            let message = "what compares and the views that it reads do not fit each other";
            return Err(Error::data(message));
        }
        Ok(Self {
            reading,
            views,
            own: Arc::new(Own { by, widths }),
        })
    }

    /// How each view is read.
    pub fn views(&self) -> &[Seen] {
        &self.views
    }

    /// What compares.
    pub fn by(&self) -> &By {
        &self.own.by
    }

    /// How features are read.
    pub fn reading(&self) -> Reading {
        self.reading
    }

    pub(super) fn similarity(&self) -> Similarity {
        Similarity::Scored(Scorer::new(self.own.clone()))
    }

    pub(super) fn input_dim(&self) -> usize {
        self.views.last().map_or(0, |view| view.columns.end)
    }

    pub(super) fn output_dim(&self) -> usize {
        self.own.widths.iter().sum()
    }

    pub(super) fn rows(&self, x: Array2<f32>) -> Result<Array2<f32>> {
        let read = self.reading.rows(x);
        let mut rows = Array2::zeros((read.nrows(), self.output_dim()));
        let mut first = 0;
        for view in &self.views {
            let end = first + view.width();
            rows.slice_mut(s![.., first..end])
                .assign(&view.rows(read.view())?);
            first = end;
        }
        Ok(rows)
    }

    pub(super) fn described(&self) -> Described {
        Described {
            reading: self.reading,
            views: self.views.iter().map(|view| view.columns.clone()).collect(),
            by: match &self.own.by {
                By::Kernels(own) => DescribedBy::Kernels(own.described()),
                By::Coordinates(own) => DescribedBy::Coordinates(own.described()),
                By::Manifold(own) => DescribedBy::Manifold(own.parameters()),
            },
        }
    }

    /// `view.v.matrix` (`d x r`) and `view.v.mean` (`d`) of a view `v` that is mapped, and what the
    /// kernels have: of those with coefficients `view.v.rows`, `kernel.i.weights` and
    /// `kernel.i.carried`; of those in coordinates `kernel.i.change` and their coordinates; of a
    /// manifold its `landmarks` (`p x d`).
    pub(super) fn put(&self, arrays: &mut Arrays) {
        for (v, view) in self.views.iter().enumerate() {
            if let Some(map) = &view.map {
                let mut own = Arrays::default();
                put_mean(&mut own, &map.mean);
                own.put_matrix("matrix", &map.matrix);
                arrays.put_all(&format!("view.{v}."), own);
            }
        }
        match &self.own.by {
            By::Kernels(own) => own.put(arrays),
            By::Coordinates(own) => own.put(arrays),
            By::Manifold(own) => arrays.put_matrix("landmarks", own.at()),
        }
    }

    pub(super) fn of(described: &Described, arrays: &Arrays) -> Result<Self> {
        let mut views = Vec::with_capacity(described.views.len());
        for (v, columns) in described.views.iter().enumerate() {
            let own = arrays.under(&format!("view.{v}."));
            let map = match own.matrix64("matrix") {
                Ok(matrix) => Some(Affine {
                    mean: mean_of(&own, matrix.nrows())?,
                    matrix,
                }),
                Err(_) => None,
            };
            views.push(Seen {
                columns: columns.clone(),
                map,
            });
        }
        let by = match &described.by {
            DescribedBy::Kernels(of) => {
                By::Kernels(kernel::Similarity::of(of, views.len(), arrays)?)
            }
            DescribedBy::Coordinates(of) => {
                let widths: Vec<usize> = views.iter().map(Seen::width).collect();
                By::Coordinates(Mapped::of(of, &widths, arrays)?)
            }
            DescribedBy::Manifold(emr) => {
                By::Manifold(Landmarks::new(*emr, arrays.matrix64("landmarks")?)?)
            }
        };
        Self::new(described.reading, views, by)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::Triplets;
    use crate::kernel::{Explicit, Kernel, Omks, Source};
    use crate::model::Model;

    fn features() -> Array2<f32> {
        Array2::from_shape_fn((12, 5), |(i, j)| ((i * i + 3 * j) as f32).sin())
    }

    /// The first two columns turned to one, the others as they are.
    fn views() -> Vec<Seen> {
        vec![
            Seen {
                columns: 0..2,
                map: Some(Affine {
                    mean: array![1.0, 0.0],
                    matrix: array![[2.0], [1.0]],
                }),
            },
            Seen {
                columns: 2..5,
                map: None,
            },
        ]
    }

    fn triplets() -> Triplets {
        let mut triplets = Triplets::default();
        for i in 0..9 {
            triplets.push(i, i + 1, (i + 3) % 12, 1.0);
        }
        triplets
    }

    fn models() -> Vec<Model> {
        let x = features();
        let silent = Monitor::silent();
        let rows: Vec<Array2<f32>> = (views().iter())
            .map(|view| view.rows(x.view()).unwrap())
            .collect();
        let each: Vec<_> = rows.iter().map(|rows| rows.view()).collect();
        let sources: Vec<Source> = [0, 1, 1]
            .into_iter()
            .zip([Kernel::ALL_FOUR[1], Kernel::ALL_FOUR[0], Kernel::Cosine])
            .map(|(view, kernel)| Source { view, kernel })
            .collect();
        let exact = Omks::new().fit(&each, &sources, &triplets(), 1, &silent);
        let with = |fourier: bool| {
            let own = Explicit::new().coordinates(6).fourier(fourier);
            own.fit(&each, &sources, &triplets(), 1, &silent).unwrap()
        };
        let all = ndarray::concatenate(ndarray::Axis(1), &each).unwrap();
        let manifold = Emr::new().landmarks(6).landmarks_of(all.view(), 1, &silent);
        [
            By::Kernels(exact.unwrap()),
            By::Coordinates(with(false)),
            By::Coordinates(with(true)),
            By::Manifold(manifold.unwrap()),
        ]
        .map(|by| Model::Scored(Scored::new(Reading::default(), views(), by).unwrap()))
        .into()
    }

    #[test]
    fn rows_are_the_views_side_by_side_and_scores_those_of_what_was_learned() {
        let x = features();
        let silent = Monitor::silent();
        for model in models() {
            assert_eq!((model.input_dim(), model.output_dim()), (5, 4));
            let rows = model.embed(x.view()).unwrap();
            let first = 2.0 * (x[(3, 0)] - 1.0) + x[(3, 1)];
            assert!((rows[(3, 0)] - first).abs() < 1e-6 && (rows[(3, 3)] - x[(3, 4)]).abs() < 1e-9);
            let similarity = model.similarity();
            let scorer = similarity.scorer().unwrap().model();
            assert_eq!(scorer.columns(), 4);
            let scores = scorer.scores(rows.view(), rows.view(), &silent).unwrap();
            let parts = [rows.slice(s![.., ..1]), rows.slice(s![.., 1..])];
            let Model::Scored(own) = &model else {
                panic!("it scores");
            };
            let expected = match own.by() {
                By::Kernels(own) => own.scores(&parts, &parts).unwrap(),
                By::Coordinates(own) => own.scores(&parts, &parts).unwrap(),
                By::Manifold(own) => own.scores(rows.view(), rows.view(), &silent).unwrap(),
            };
            assert_eq!(scores, expected);
            assert!(scorer.scores(x.view(), rows.view(), &silent).is_err());
        }
    }

    #[test]
    fn every_kind_comes_back_from_its_arrays_and_broken_ones_are_refused() {
        for model in models() {
            let again = Model::from_arrays(model.kind(), &model.arrays()).unwrap();
            assert_eq!(again, model);
            let json = serde_json::to_string(&model.kind()).unwrap();
            let kind: crate::model::Kind = serde_json::from_str(&json).unwrap();
            assert_eq!(kind, model.kind());
            let names: Vec<String> = model.arrays().iter().map(|a| a.0.to_owned()).collect();
            for name in names.iter().filter(|name| !name.ends_with("mean")) {
                let mut wrong = model.arrays();
                wrong.put_matrix(name.as_str(), &array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
                assert!(Model::from_arrays(model.kind(), &wrong).is_err(), "{name}");
            }
            assert!(Model::from_arrays(model.kind(), &Arrays::default()).is_err());
        }
        let Model::Scored(own) = models().remove(0) else {
            panic!("it scores");
        };
        let turned = views().into_iter().rev().collect();
        assert!(Scored::new(Reading::default(), turned, own.by().clone()).is_err());
        let one = views()[..1].to_vec();
        assert!(Scored::new(Reading::default(), one, own.by().clone()).is_err());
    }
}
