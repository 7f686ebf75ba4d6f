//! Several views of the same items, and their neighbour lists.

use ndarray::{Array2, ArrayView2};

use super::super::KnnGraph;
use crate::neighbor::Neighbors;
use crate::{Error, Result, matrix, parallel};

/// One view among several.
#[derive(Debug, Clone)]
pub struct OfView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its rows, one an item (`n x d`); they need not have unit length.
    pub rows: ArrayView2<'a, f32>,
    /// Which items have it; `None`: all.
    pub present: Option<Vec<bool>>,
}

/// Several views of the same `n` items.
#[derive(Debug, Clone)]
pub struct Views<'a> {
    /// The rows side by side (`n x d`), each view of a length that says how much it counts.
    pub side_by_side: ArrayView2<'a, f32>,
    /// Each view by itself.
    pub apart: Vec<OfView<'a>>,
}

impl<'a> OfView<'a> {
    /// A view that all items have, but those whose row is all zeros: they have nothing in it.
    pub fn new(name: &'a str, rows: ArrayView2<'a, f32>) -> Self {
        Self {
            name,
            rows,
            present: present(rows),
        }
    }

    /// Items that have it, ascending; `None` where all do.
    pub(super) fn items(&self) -> Option<Vec<usize>> {
        let present = self.present.as_ref()?;
        let items: Vec<usize> = (0..present.len()).filter(|&i| present[i]).collect();
        (items.len() < present.len()).then_some(items)
    }
}

/// Which rows are not all zeros; `None` where none is.
pub fn present(rows: ArrayView2<f32>) -> Option<Vec<bool>> {
    let present = parallel::map_rows(rows.nrows(), |i| rows.row(i).iter().any(|&x| x != 0.0));
    present.contains(&false).then_some(present)
}

/// A search for so many neighbours among these rows.
pub(super) type Searching<'s> = dyn FnMut(ArrayView2<f32>, usize) -> Result<Neighbors> + 's;

impl Views<'_> {
    pub(super) fn n(&self) -> usize {
        self.side_by_side.nrows()
    }

    pub(super) fn check(&self, settings: &KnnGraph) -> Result<()> {
        settings.validate()?;
        let n = self.n();
        let k = settings.n_neighbors();
        if k >= n {
            let rule = format!("must be below the number of items, n = {n}");
            return Err(Error::parameter("k", k, &rule));
        }
        if self.apart.is_empty() {
            return Err(Error::data("no views to fuse; give one at least"));
        }
        for view in &self.apart {
            let rows = view.rows.nrows();
            let present = view.present.as_ref().map_or(n, Vec::len);
            if rows != n || present != n {
                return Err(Error::data(format!(
                    "view {}: {rows} rows, and {present} items of which it is said whether they have it, but \
                     there are {n} items",
                    view.name
                )));
            }
            matrix::check_finite(view.rows, &format!("view {}", view.name))?;
        }
        Ok(())
    }
}

/// Some of the items, ascending; `None`: all.
pub(super) struct Items(pub(super) Option<Vec<u32>>);

impl Items {
    /// The place of item `i` among them.
    pub(super) fn place(&self, i: usize) -> Option<usize> {
        match &self.0 {
            None => Some(i),
            Some(items) => items.binary_search(&(i as u32)).ok(),
        }
    }

    /// The item at a place.
    pub(super) fn item(&self, place: u32) -> u32 {
        (self.0.as_ref()).map_or(place, |items| items[place as usize])
    }
}

/// The lists of the items that have a view, among these.
pub(super) struct Lists {
    pub(super) neighbors: Neighbors,
    pub(super) items: Items,
}

impl Lists {
    pub(super) fn of(view: &OfView, k: usize, search: &mut Searching) -> Result<Self> {
        let Some(items) = view.items() else {
            return Ok(Self {
                neighbors: search(view.rows, k)?,
                items: Items(None),
            });
        };
        let neighbors = if items.len() < 2 {
            Neighbors {
                k: 0,
                indices: Array2::zeros((items.len(), 0)),
                similarities: Array2::zeros((items.len(), 0)),
            }
        } else {
            let rows = matrix::select_rows(view.rows, &items);
            search(rows.view(), k.min(items.len() - 1))?
        };
        let items = items.into_iter().map(|i| i as u32).collect();
        Ok(Self {
            neighbors,
            items: Items(Some(items)),
        })
    }
}
