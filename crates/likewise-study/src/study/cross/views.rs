//! The views of a study, item by item: their rows, and which items have them.

use std::borrow::Cow;

use likewise::linear::even_or;
use likewise::matrix::{check_finite, l2_normalize, select_rows};
use likewise::text::{TextReader, TfIdf};
use likewise::{Collection, Monitor};
use ndarray::{Array1, Array2, Axis, CowArray, Ix2, concatenate};

use crate::{Error, Result, usage};

/// One view of all items.
pub(super) struct Side<'a> {
    pub(super) name: &'a str,
    pub(super) rows: CowArray<'a, f32, Ix2>,
    present: Option<Cow<'a, [bool]>>,
    /// What made the rows, of texts.
    pub(super) text: Option<TextReader>,
}

/// A view of texts, which become rows by what is learned of those to fit on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    /// Its name.
    pub name: String,
    /// The text of each item; an item without one lacks the view.
    pub texts: Vec<Option<String>>,
}

impl Texts {
    fn side(&self, train: &[usize], seed: u64, monitor: &Monitor) -> Result<Side<'_>> {
        let text = |item: usize| self.texts[item].as_deref();
        let fitted: Vec<&str> = train.iter().filter_map(|&item| text(item)).collect();
        let reader = TfIdf::new().fit(&fitted, seed, monitor);
        let reader = reader.map_err(|e| e.within(format!("view {}", self.name)))?;
        let all: Vec<&str> = (0..self.texts.len())
            .map(|i| text(i).unwrap_or(""))
            .collect();
        let present: Vec<bool> = self.texts.iter().map(Option::is_some).collect();
        let some_lack = present.contains(&false);
        Ok(Side {
            name: &self.name,
            rows: reader.rows(&all).into(),
            present: some_lack.then_some(Cow::Owned(present)),
            text: Some(reader),
        })
    }
}

/// The views of some items, listed.
pub(super) fn view_names(collection: &Collection) -> String {
    let names = collection.views().iter().map(|view| view.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// The views of a study.
pub(super) struct Sides<'a>(pub(super) Vec<Side<'a>>);

impl Side<'_> {
    /// Whether an item has this view.
    pub(super) fn has(&self, item: usize) -> bool {
        self.present.as_ref().is_none_or(|present| present[item])
    }

    /// Of some items those that have this view.
    pub(super) fn of(&self, items: &[usize]) -> Vec<usize> {
        items
            .iter()
            .copied()
            .filter(|&item| self.has(item))
            .collect()
    }
}

/// The mean of the columns of a view, and what they are multiplied by.
pub(super) struct Reading {
    mean: Array1<f64>,
    /// Where columns are scaled.
    pub(super) scale: Option<Array1<f64>>,
}

impl<'a> Sides<'a> {
    /// The views of these names; texts are read by those of the items to fit on. Fails on one that is
    /// not there or stands twice, and on NaN.
    pub(super) fn of(
        collection: &'a Collection,
        names: &[String],
        (texts, seed): (&'a [Texts], u64),
        train: &[usize],
        monitor: &Monitor,
    ) -> Result<Self> {
        let mut sides: Vec<Side> = Vec::new();
        for name in names {
            if sides.iter().any(|side| side.name == name) {
                return Err(usage(format!(
                    "the view {name} is named twice; there are: {}",
                    view_names(collection)
                )));
            }
            if let Some(texts) = texts.iter().find(|texts| texts.name == *name) {
                if texts.texts.len() != collection.len() {
                    return Err(Error::data(format!(
                        "view {name}: {} texts for {} items; leave no lines out",
                        texts.texts.len(),
                        collection.len()
                    )));
                }
                sides.push(texts.side(train, seed, monitor)?);
                continue;
            }
            let view = collection.view(Some(name))?;
            check_finite(view.matrix.view(), &format!("view {name}"))?;
            sides.push(Side {
                name: &view.name,
                rows: view.matrix.view().into(),
                present: view.present.as_deref().map(Cow::Borrowed),
                text: None,
            });
        }
        Ok(Self(sides))
    }

    /// How the columns of each view are read: by the items to fit on.
    ///
    /// Fails where none of these has the view, and where all have the same row.
    pub(super) fn readings(&self, train: &[usize], scaled: Option<bool>) -> Result<Vec<Reading>> {
        let reading = |side: &Side| {
            let rows = select_rows(side.rows.view(), &side.of(train));
            if rows.is_empty() {
                return Err(Error::data(format!(
                    "view {}: no item to fit on has it",
                    side.name
                )));
            }
            if rows.rows().into_iter().all(|row| row == rows.row(0)) {
                return Err(Error::data(format!(
                    "view {}: all {} items to fit on have the same row, so it tells nothing; leave \
                     it out",
                    side.name,
                    rows.nrows()
                )));
            }
            let (mean, scale) = even_or(rows.view(), scaled);
            let plain = scale.iter().all(|s| s.to_bits() == 1.0_f64.to_bits());
            Ok(Reading {
                mean,
                scale: (!plain).then_some(scale),
            })
        };
        self.0.iter().map(reading).collect()
    }

    /// All views of these items side by side, each less its mean and of unit rows: the cosine of
    /// joined rows is the mean of the cosines in the views. Zeros where an item lacks a view.
    pub(super) fn joined(&self, readings: &[Reading], items: &[usize]) -> Result<Array2<f32>> {
        let part = |(side, reading): (&Side, &Reading)| {
            let mut rows = select_rows(side.rows.view(), items).mapv(f64::from) - &reading.mean;
            if let Some(scale) = &reading.scale {
                rows *= scale;
            }
            for (place, &item) in items.iter().enumerate() {
                if !side.has(item) {
                    rows.row_mut(place).fill(0.0);
                }
            }
            l2_normalize(rows.mapv(|v| v as f32))
        };
        let parts: Vec<Array2<f32>> = self.0.iter().zip(readings).map(part).collect();
        let parts: Vec<_> = parts.iter().map(|part| part.view()).collect();
        let joined = concatenate(Axis(1), &parts);
        Ok(l2_normalize(joined.map_err(|e| {
            Error::new(
                crate::ErrorKind::Internal,
                format!("views side by side: {e}"),
            )
        })?))
    }
}
