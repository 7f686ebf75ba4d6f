//! The graph on the start of several views: fused of the start of each.

use likewise::graph::fused::present;
use likewise::graph::{Fusion, OfView, Views};
use likewise::learn::Start;
use likewise::linear::whitening::Spectrum;
use likewise::{Columns, Graph, Monitor, matrix};
use ndarray::{Array2, s};

use super::ground::{Ground, Whiten};
use crate::Result;

impl Ground<'_> {
    /// How the views that are used become one graph.
    pub(super) fn fusion(&self) -> Fusion {
        self.spreading.fusion(self.plan.collection.columns().len())
    }

    /// The graph of the training items by the start of each view, fitted on its columns alone, and by these `rows`
    /// of the start of all columns.
    pub(super) fn fused(
        &self,
        fusion: Fusion,
        whiten: Whiten,
        rows: &Array2<f32>,
        monitor: &Monitor,
    ) -> Result<Graph> {
        let columns = self.plan.collection.columns();
        let starts: Vec<(Array2<f32>, Option<Vec<bool>>)> = (columns.iter())
            .map(|of| self.start_of_view(of, whiten))
            .collect::<Result<_>>()?;
        let each = columns.iter().zip(&starts);
        let apart = each.map(|(of, (rows, present))| OfView {
            name: &of.name,
            rows: rows.view(),
            present: present.clone(),
        });
        let views = Views {
            side_by_side: rows.view(),
            apart: apart.collect(),
        };
        // No labels: the graph is one for all draws of them.
        let fused = fusion.build(&self.spreading.graph, &views, None, monitor)?;
        Ok(fused.graph)
    }

    /// Unit rows of the start of one view, and which training items have it.
    fn start_of_view(
        &self,
        of: &Columns,
        whiten: Whiten,
    ) -> Result<(Array2<f32>, Option<Vec<bool>>)> {
        let own = self.plan.features.slice(s![.., of.range.clone()]);
        let features = matrix::select_rows(own, &self.train);
        let present = present(features.view());
        let start = if self.recipe.start.as_given {
            Start::as_given(features.ncols())
        } else {
            let read = whiten.reading.rows(features.clone());
            let (spectrum, _) = Spectrum::fit_sound(read.view(), whiten.standardize)?;
            let rank = self.rank().min(features.ncols());
            self.start_in(&spectrum, whiten, rank)?
        };
        Ok((start.rows(features)?, present))
    }
}
