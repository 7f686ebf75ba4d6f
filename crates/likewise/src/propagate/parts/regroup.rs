//! Other classes for the same labels: what is linear in the labels follows by its columns.

use ndarray::Array2;

use super::known::for_each_row;
use super::sizes::Sizes;
use crate::{Error, Label, Labels, Result};

/// Where the classes of before stand among others: `None` for one that goes.
#[derive(Debug, Clone, Copy)]
pub(in crate::propagate) struct Places<'a>(&'a [Option<u32>]);

impl<'a> Places<'a> {
    /// The labels in other classes, and the places of these.
    ///
    /// Fails where there is not a place for each class, or none of that number, and where a class that goes has a
    /// label.
    pub(in crate::propagate) fn of(
        places: &'a [Option<u32>],
        labels: &Labels,
        classes: Vec<String>,
    ) -> Result<(Self, Labels)> {
        if places.len() != labels.n_classes() {
            let rule = format!("must be one for each of {} classes", labels.n_classes());
            return Err(Error::parameter("places", places.len(), &rule));
        }
        let n = classes.len();
        if let Some(place) = places.iter().flatten().find(|&&place| place as usize >= n) {
            let rule = format!("must be below the number of classes, {n}");
            return Err(Error::parameter("places", place, &rule));
        }
        let moved = |label: &Label| match label.class() {
            None => Ok(*label),
            Some(class) => places[class as usize].map(Label::Known).ok_or_else(|| {
                let class = &labels.classes()[class as usize];
                Error::data(format!("class \"{class}\" has labels, and cannot go"))
            }),
        };
        let items = labels.items().iter().map(moved).collect::<Result<_>>()?;
        Ok((Self(places), Labels::new(classes, items)?))
    }

    /// The place of a class.
    pub(in crate::propagate) fn place(self, class: usize) -> Option<usize> {
        self.0[class].map(|place| place as usize)
    }

    /// What is known of the sizes of the classes, of those at their places: sizes at one place are added up, and there is
    /// 0 at a place of none.
    pub(in crate::propagate) fn sizes(self, sizes: &Sizes, classes: usize) -> Sizes {
        let Sizes::Known(known) = sizes else {
            return sizes.clone();
        };
        let mut moved = vec![0.0; classes];
        for (place, size) in self.0.iter().zip(known) {
            if let Some(place) = *place {
                moved[place as usize] += size;
            }
        }
        Sizes::Known(moved)
    }

    /// Columns (`n x C`) at their places among `classes`; those at one place are added up, and there are zeros at a place
    /// of none.
    pub(in crate::propagate) fn columns(
        self,
        columns: &Array2<f64>,
        classes: usize,
    ) -> Array2<f64> {
        let mut moved = Array2::zeros((columns.nrows(), classes));
        for_each_row(&mut moved, |i, mut row| {
            for (place, value) in self.0.iter().zip(columns.row(i)) {
                if let Some(place) = *place {
                    row[place as usize] += value;
                }
            }
        });
        moved
    }
}
