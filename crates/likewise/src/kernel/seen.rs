//! The views of some evidence as kernels read them.

use std::ops::Range;

use ndarray::{Array2, s};

use super::{Kernel, Source};
use crate::learn::Evidence;
use crate::linear::whitening::Spectrum;
use crate::matrix::{Reading, select_rows};
use crate::model::Seen;
use crate::{Error, Monitor, Result};

/// The views as kernels read them.
pub(super) struct Views {
    pub(super) reading: Reading,
    pub(super) seen: Vec<Seen>,
    /// Of each view the rows of the fitted items.
    pub(super) rows: Vec<Array2<f32>>,
}

impl Views {
    /// The views of the features as given, or the start, which is one view; of each at most `rank`
    /// directions of the largest variance.
    pub(super) fn of(evidence: &Evidence, rank: Option<usize>) -> Result<Self> {
        let start = evidence.start;
        let features = select_rows(evidence.features, evidence.items);
        let columns = features.ncols();
        if !start.as_given {
            // Its directions stand by their variance.
            let mut map = start.whitening.clone();
            let kept = rank.unwrap_or(usize::MAX).min(map.matrix.ncols());
            map.matrix = map.matrix.slice(s![.., ..kept]).to_owned();
            let read = start.reading.rows(features);
            return Ok(Self {
                reading: start.reading,
                rows: vec![map.transform(read.view())?],
                seen: vec![Seen {
                    columns: 0..columns,
                    map: Some(map),
                }],
            });
        }
        let ranges: Vec<Range<usize>> = match evidence.views {
            [] => std::iter::once(0..columns).collect(),
            views => views.iter().map(|view| view.range.clone()).collect(),
        };
        let (mut seen, mut rows) = (Vec::new(), Vec::new());
        for range in ranges {
            if range.end > columns || range.is_empty() {
                let message = "the views do not fit the features that they stand in";
                return Err(Error::data(message));
            }
            let mut view = Seen {
                columns: range.clone(),
                map: None,
            };
            if let Some(rank) = rank.filter(|&rank| rank < range.len()) {
                let (spectrum, _) = Spectrum::fit_sound(view.rows(features.view())?.view(), false)?;
                view.map = Some(spectrum.truncated(f64::INFINITY, rank)?);
            }
            rows.push(view.rows(features.view())?);
            seen.push(view);
        }
        Ok(Self {
            reading: Reading::default(),
            seen,
            rows,
        })
    }

    /// Every kernel of every view, with the widths that all fitted items give.
    pub(super) fn sources(&self, kernels: &[Kernel], monitor: &Monitor) -> Result<Vec<Source>> {
        let mut sources = Vec::with_capacity(self.rows.len() * kernels.len());
        for (view, rows) in self.rows.iter().enumerate() {
            for kernel in kernels {
                let kernel = kernel.fitted(rows.view(), monitor)?;
                sources.push(Source { view, kernel });
            }
        }
        Ok(sources)
    }
}
