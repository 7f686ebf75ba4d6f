//! Rows without the columns in which all of them are the same.

use ndarray::{Array2, ArrayView2, Axis, CowArray, Ix2};

use crate::Monitor;

/// Rows to learn a metric from. Of a column that does not vary nothing is learned: whatever asks how little items differ
/// would give it a huge weight, by which new items that do differ in it are far from all.
pub(crate) struct Varying<'a> {
    rows: CowArray<'a, f32, Ix2>,
    /// The columns that vary, where others do not.
    kept: Option<Vec<usize>>,
    /// How many there are of either.
    columns: usize,
}

impl<'a> Varying<'a> {
    /// Warns of columns that are left out. All stay where none varies, and where some number is none, so that whoever
    /// checks the rows names the column.
    pub(crate) fn of(rows: impl Into<CowArray<'a, f32, Ix2>>, monitor: &Monitor) -> Self {
        let rows: CowArray<'a, f32, Ix2> = rows.into();
        let columns = rows.ncols();
        let varies = |&j: &usize| {
            let column = rows.column(j);
            column.iter().any(|v| (v - column[0]).abs() > 0.0)
        };
        let kept: Vec<usize> = (0..columns).filter(varies).collect();
        let all = kept.is_empty() || kept.len() == columns;
        if all || !rows.iter().all(|v| v.is_finite()) {
            return Self {
                rows,
                kept: None,
                columns,
            };
        }
        monitor.warn(format!(
            "{} of {columns} columns do not vary among the fitted items and are left out",
            columns - kept.len()
        ));
        Self {
            // A selection of columns lies column by column.
            rows: (rows.select(Axis(1), &kept).as_standard_layout())
                .into_owned()
                .into(),
            kept: Some(kept),
            columns,
        }
    }

    /// What to learn from.
    pub(crate) fn rows(&self) -> ArrayView2<'_, f32> {
        self.rows.view()
    }

    /// A map `L` (`k x` the columns that are left) as one of all columns (`k x d`), by which the others count for nothing.
    pub(crate) fn map(&self, l: Array2<f64>) -> Array2<f64> {
        let Some(kept) = &self.kept else { return l };
        let mut whole = Array2::zeros((l.nrows(), self.columns));
        for (from, &to) in kept.iter().enumerate() {
            whole.column_mut(to).assign(&l.column(from));
        }
        whole
    }

    /// As [`map`](Self::map), of a metric `M`: rows and columns.
    pub(crate) fn metric(&self, m: Array2<f64>) -> Array2<f64> {
        let Some(kept) = &self.kept else { return m };
        let mut whole = Array2::zeros((self.columns, self.columns));
        for ((i, j), &value) in m.indexed_iter() {
            whole[(kept[i], kept[j])] = value;
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use ndarray::array;

    use super::*;
    use crate::Event;

    #[test]
    fn columns_that_do_not_vary_count_for_nothing() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let to = heard.clone();
        let monitor = Monitor::new(move |event: &Event| {
            if let Event::Warning(said) = event {
                to.lock().unwrap().push(said.clone());
            }
        });
        let x = array![[1.0, 2.0, 5.0, 7.0], [1.0, 3.0, 5.0, 6.0_f32]];
        let some = Varying::of(x.view(), &monitor);
        assert_eq!(some.rows(), array![[2.0, 7.0], [3.0, 6.0_f32]]);
        assert_eq!(
            some.map(array![[1.0, 2.0]]),
            array![[0.0, 1.0, 0.0, 2.0_f64]]
        );
        let m = some.metric(array![[1.0, 2.0], [3.0, 4.0]]);
        let mut expected = Array2::<f64>::zeros((4, 4));
        expected[(1, 1)] = 1.0;
        expected[(1, 3)] = 2.0;
        expected[(3, 1)] = 3.0;
        expected[(3, 3)] = 4.0;
        assert_eq!(m, expected);
        let said = "2 of 4 columns do not vary among the fitted items and are left out";
        assert_eq!(*heard.lock().unwrap(), [said]);
        // Where all vary, none does, or a number is none, all stay as they are.
        let nan = array![[1.0, f32::NAN, 3.0], [1.0, 2.0, 4.0]];
        for same in [x.select(Axis(1), &[1, 3]), Array2::ones((3, 2)), nan] {
            let all = Varying::of(same.view(), &monitor);
            assert_eq!(all.rows().dim(), same.dim());
            let l = Array2::from_shape_fn((1, same.ncols()), |(_, j)| j as f64);
            assert_eq!(all.map(l.clone()), l);
        }
        assert_eq!(heard.lock().unwrap().len(), 1);
    }
}
