//! The data of a cross-modal learner: objects, some of which are seen in some modalities.

use ndarray::ArrayView2;

use crate::matrix::check_finite;
use crate::{Error, Result};

/// Objects that are seen in one or several modalities: a matrix of rows for each modality, the
/// object that each row shows, and the class of each object with a weight.
///
/// A weight says how sure a class is (1 of a known label, the confidence of a predicted one), and
/// weight 0 is an object without a label. Where a learner is sums over rows, an object of weight 2 is
/// the same as two of weight 1: so it is of [`ClusterCca`](super::ClusterCca),
/// [`MeanCca`](super::MeanCca) and [`Scm`](super::Scm). Others draw rows, look for neighbours or
/// penalise each object, where one object is not two; [`Gssl`](super::Gssl) asks only whether there
/// is a weight, and [`Cca`](super::Cca) not even that.
///
/// ```
/// use likewise::cross::Views;
/// let images = ndarray::array![[0.1, 0.2], [0.3, 0.4], [0.5, 0.6_f32]];
/// let texts = ndarray::array![[1.0], [0.0], [1.0_f32]];
/// // Row i of both shows object i; the class of the last one is not known.
/// let views = Views::paired(&[images.view(), texts.view()], &[0, 1, 0], &[1.0, 1.0, 0.0])?;
/// assert_eq!(views.n_modalities(), 2);
/// assert_eq!(views.pairs(0, 1).len(), 3);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Views<'a> {
    rows: Vec<ArrayView2<'a, f32>>,
    /// The object of each row, for each modality.
    object: Vec<Vec<usize>>,
    class: Vec<u32>,
    weight: Vec<f32>,
}

impl<'a> Views<'a> {
    /// Rows of the same number, in all modalities, show the same object.
    ///
    /// Fails as [`new`](Self::new).
    pub fn paired(rows: &[ArrayView2<'a, f32>], class: &[u32], weight: &[f32]) -> Result<Self> {
        let object = vec![(0..class.len()).collect(); rows.len()];
        Self::new(rows, object, class, weight)
    }

    /// No two rows show the same object: for each modality its rows, their classes and weights.
    ///
    /// Fails as [`new`](Self::new).
    pub fn unpaired(sides: &[(ArrayView2<'a, f32>, &[u32], &[f32])]) -> Result<Self> {
        let rows: Vec<_> = sides.iter().map(|side| side.0).collect();
        let class: Vec<u32> = sides.iter().flat_map(|side| side.1).copied().collect();
        let weight: Vec<f32> = sides.iter().flat_map(|side| side.2).copied().collect();
        let mut next = 0;
        let object = (sides.iter())
            .map(|side| {
                let from = next;
                next += side.1.len();
                (from..next).collect()
            })
            .collect();
        Self::new(&rows, object, &class, &weight)
    }

    /// Rows of each modality, the object of each row, and class and weight of each object.
    ///
    /// Fails on NaN, without a modality, rows or columns, where numbers of rows and objects or of
    /// classes and weights differ, on an object that is not there or has two rows in a modality,
    /// and on a weight that is negative or not finite.
    pub fn new(
        rows: &[ArrayView2<'a, f32>],
        object: Vec<Vec<usize>>,
        class: &[u32],
        weight: &[f32],
    ) -> Result<Self> {
        if rows.is_empty() || object.len() != rows.len() {
            return Err(Error::data(format!(
                "{} modalities and the objects of {}; give at least one modality",
                rows.len(),
                object.len()
            )));
        }
        if class.len() != weight.len() {
            return Err(Error::data(format!(
                "{} classes and {} weights; give one of each for every object",
                class.len(),
                weight.len()
            )));
        }
        if let Some(wrong) = weight.iter().find(|w| !(0.0..f32::INFINITY).contains(*w)) {
            let rule = "must be finite and at least 0";
            return Err(Error::parameter("weight", wrong, rule));
        }
        for (t, (rows, object)) in rows.iter().zip(&object).enumerate() {
            check_finite(*rows, &format!("modality {t}"))?;
            if rows.is_empty() || rows.nrows() != object.len() {
                return Err(Error::data(format!(
                    "modality {t}: {} rows of {} columns, and the objects of {} rows; it needs \
                     rows and columns, and an object for each row",
                    rows.nrows(),
                    rows.ncols(),
                    object.len()
                )));
            }
            let mut seen = vec![false; class.len()];
            for (row, &o) in object.iter().enumerate() {
                if seen.get(o) != Some(&false) {
                    return Err(Error::data(format!(
                        "modality {t}, row {row} shows object {o}, which must be below {} and \
                         shown by one row of a modality",
                        class.len()
                    )));
                }
                seen[o] = true;
            }
        }
        Ok(Self {
            rows: rows.to_vec(),
            object,
            class: class.to_vec(),
            weight: weight.to_vec(),
        })
    }

    /// Number of modalities.
    pub fn n_modalities(&self) -> usize {
        self.rows.len()
    }

    /// Number of objects.
    pub fn n_objects(&self) -> usize {
        self.class.len()
    }

    /// The rows of modality `t`.
    ///
    /// # Panics
    /// If there is no modality `t`; so do the others that take one.
    pub fn rows(&self, t: usize) -> ArrayView2<'a, f32> {
        self.rows[t]
    }

    /// The object of each row of modality `t`.
    pub fn object(&self, t: usize) -> &[usize] {
        &self.object[t]
    }

    /// The class of each object.
    pub fn class(&self) -> &[u32] {
        &self.class
    }

    /// The weight of the class of each object.
    pub fn weight(&self) -> &[f32] {
        &self.weight
    }

    /// Rows of modalities `a` and `b` that show the same object, in the order of those of `a`.
    pub fn pairs(&self, a: usize, b: usize) -> Vec<(usize, usize)> {
        let mut row_of = vec![None; self.n_objects()];
        for (row, &object) in self.object[b].iter().enumerate() {
            row_of[object] = Some(row);
        }
        let pair = |(row, &object): (usize, &usize)| Some((row, row_of[object]?));
        self.object[a].iter().enumerate().filter_map(pair).collect()
    }

    /// Fails unless there are two modalities.
    pub(crate) fn check_two(&self, what: &str) -> Result<()> {
        let there = self.n_modalities();
        if there == 2 {
            return Ok(());
        }
        let fewer = if there > 2 { "; take 2 of them" } else { "" };
        Err(Error::data(format!(
            "{what} takes 2 modalities, but there are {there}{fewer}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    #[test]
    fn pairs_are_rows_of_one_object() {
        let (x, y) = (Array2::<f32>::zeros((3, 2)), Array2::<f32>::zeros((2, 1)));
        let both = [x.view(), y.view()];
        let views = Views::new(&both, vec![vec![2, 0, 3], vec![3, 2]], &[0; 4], &[1.0; 4]);
        assert_eq!(views.unwrap().pairs(0, 1), [(0, 1), (2, 0)]);
        let sides: [(ArrayView2<f32>, &[u32], &[f32]); 2] = [
            (x.view(), &[0, 1, 1], &[1.0; 3]),
            (y.view(), &[1, 0], &[1.0; 2]),
        ];
        let views = Views::unpaired(&sides).unwrap();
        assert_eq!((views.n_objects(), views.pairs(0, 1).len()), (5, 0));
        assert_eq!(views.object(1), [3, 4]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let x = Array2::<f32>::zeros((2, 2));
        let new = |object: Vec<usize>, class: &[u32], weight: &[f32]| {
            Views::new(&[x.view()], vec![object], class, weight)
        };
        assert!(new(vec![0, 1], &[0, 0], &[1.0, 0.0]).is_ok());
        assert!(new(vec![0, 0], &[0, 0], &[1.0, 0.0]).is_err());
        assert!(new(vec![0, 2], &[0, 0], &[1.0, 0.0]).is_err());
        assert!(new(vec![0], &[0, 0], &[1.0, 0.0]).is_err());
        assert!(new(vec![0, 1], &[0, 0], &[1.0]).is_err());
        assert!(new(vec![0, 1], &[0, 0], &[1.0, -1.0]).is_err());
        assert!(Views::paired(&[], &[], &[]).is_err());
        assert!(Views::paired(&[array![[f32::NAN]].view()], &[0], &[1.0]).is_err());
    }
}
