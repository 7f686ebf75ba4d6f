//! Experiments across views: learners with and without pseudo-labels, side by side, as the papers on
//! retrieval across modalities measure them.
//!
//! A method is a learner with a source of pseudo-labels. Each is measured by the same draws of labels,
//! and all learners of a draw and source learn from the same pseudo-labels.

mod cells;
mod definition;
mod page;
mod prepared;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::cells::{Cell, DataRecord, Row, Store};
pub(super) use self::definition::Experiment;
use self::definition::{Data, Method};
use self::prepared::Prepared;
use super::draws;
use super::engine::{Asked, Average, Found, Kind};
use super::page::Skipped;
use super::set::Set;
use super::store::{Kept, replace};
use super::written::Head;
use crate::Result;
use crate::recipe::Recipe;
use crate::study::{CrossPlan, Protocol, SplitKind};

impl Set for Data {
    fn name(&self) -> &str {
        &self.name
    }

    fn group(&self) -> Option<&str> {
        Some(&self.group)
    }

    fn files(&self) -> Vec<&PathBuf> {
        vec![&self.file]
    }

    fn check(&self) -> Result<(), String> {
        if self.views.len() < 2 {
            return Err("views: a search goes from one view to another; name two".into());
        }
        if let Some(share) = self.label_fraction
            && !(share > 0.0 && share < 1.0)
        {
            return Err(format!(
                "label_fraction = {share}: must be above 0 and below 1"
            ));
        }
        match self.outside {
            Some(held) if held.classes == 0 || !(held.share.is_finite() && held.share > 0.0) => {
                Err("outside: classes must be at least 1, and share above 0".into())
            }
            _ => Ok(()),
        }
    }
}

impl Kept for Experiment {
    type Record = DataRecord;
    type Run = Row;
    // Seconds are told, not compared.
    const TIMED: bool = false;

    fn head(&self) -> &Head {
        &self.head
    }

    fn keeps_data(&self, name: &str, record: &DataRecord) -> bool {
        let data = self.data.iter().find(|data| data.name == name);
        data.is_some_and(|data| record.definition == *data) && record.seed == self.head.seed
    }

    fn keeps_run(&self, run: &Row) -> bool {
        let method = self.methods.iter().find(|m| run.is_of(m));
        // Not as text: a field that recipes did not have then has its default.
        let kept: Option<Recipe> = run.recipe.read();
        method.is_some_and(|m| kept.is_some_and(|recipe| recipe == m.recipe))
    }

    fn place(&self, run: &Row) -> [Option<usize>; 3] {
        let data = self.data.iter().position(|d| d.name == run.data);
        let method = self.methods.iter().position(|m| run.is_of(m));
        [data, method, None]
    }
}

impl Kind for Experiment {
    type Data = Data;

    fn read(path: &Path) -> Result<Self> {
        Self::read(path)
    }

    fn sets(&self) -> &[Data] {
        &self.data
    }

    fn fill(&self, data: &Data, asked: &Asked, store: &mut Store) -> Result<()> {
        let at = asked.at;
        let file = asked.find(&data.file).unwrap_or_default();
        let sha256 = likewise_io::digest(&file)?;
        let known = store.data(&data.name).is_some_and(|r| r.sha256 == sha256);
        let wanted = self.wanted(data, asked.draws);
        let missing = |store: &Store, draw: u64, methods: &[&Method]| -> usize {
            let has = |m: &&&Method| known && store.has(&data.name, m, draw);
            methods.iter().filter(|m| !has(m)).count()
        };
        let all = wanted
            .iter()
            .map(|(draw, methods)| missing(store, *draw, methods));
        let all: usize = all.sum();
        if all == 0 {
            return Ok(());
        }
        let items = prepared::read(data, &file, self.head.seed, at)?;
        store.put_data(
            &data.name,
            DataRecord::new(data, (sha256, self.head.seed), &items)?,
        );
        at.monitor.start(data.name.clone(), all as u64);
        let mut done = 0;
        for (draw, methods) in wanted {
            let missing: Vec<&Method> = (methods.iter())
                .filter(|method| !store.has(&data.name, method, draw))
                .copied()
                .collect();
            let Some(first) = missing.first() else {
                continue;
            };
            let Prepared { items, hidden } = prepared::of_draw(data, &items, self.head.seed, draw)?;
            let protocol = Protocol {
                split: SplitKind::Given,
                label_fraction: data.label_fraction,
                seed: self.head.seed,
                ks: vec![1],
                ..Protocol::default()
            };
            let plan = CrossPlan {
                collection: &items,
                views: &data.views,
                texts: &[],
                recipe: &first.recipe,
                protocol: &protocol,
                device: at.device.clone(),
            };
            let learners: Vec<_> = missing.iter().map(|method| method.learner).collect();
            let put = |place: usize, found| {
                let cell = Cell::new(draw, hidden, found);
                store.put(&data.name, missing[place], cell, self)?;
                // Whoever stops here has a page of what there is.
                self.publish(store, &[])?;
                done += 1;
                at.monitor.step(done)
            };
            plan.side_by_side(draw, &learners, put, &at.monitor.quiet())?;
        }
        at.monitor.end();
        Ok(())
    }

    fn found(&self, store: &Store) -> Result<Found> {
        let mut found: BTreeMap<_, BTreeMap<_, BTreeMap<_, _>>> = BTreeMap::new();
        for row in &store.runs {
            let of_data = found.entry(row.data.clone()).or_default();
            let of_method = of_data.entry(row.name()).or_default();
            for metric in row.metrics() {
                let values = row.values(&metric);
                if let Some(mean) = draws::mean(&values) {
                    of_method.insert(metric, Average::of(&mean, values.len()));
                }
            }
        }
        Ok(Found::Metrics(found))
    }

    fn publish(&self, store: &Store, skipped: &[Skipped]) -> Result<()> {
        let page = page::document(self, store, skipped);
        replace(&store.folder().join("README.md"), &page)
    }
}
