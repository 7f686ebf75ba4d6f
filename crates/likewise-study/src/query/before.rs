//! The items of a run before anything was learned: the features as they are, and whitened.

use std::collections::HashMap;
use std::path::Path;

use likewise::index::{Hit, nearest};
use likewise::linear::uneven;
use likewise::linear::whitening::Spectrum;
use likewise::{Collection, ErrorKind, Monitor, matrix};
use likewise_io::items::ItemRow;
use likewise_nn::Model;
use ndarray::{Array2, ArrayView2, Axis};

use super::{SAME, features, needed};
use crate::environment::Environment;
use crate::recipe::PLAIN_SHRINKAGE;
use crate::run_folder::RunFolder;
use crate::source::{ReadAs, Source};
use crate::{Result, failed};

/// Items whose embedding is compared with that of the run, to see that the data are still the same.
const LOOKED_AT: usize = 16;

/// In what items are compared before anything was learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// The features as they are.
    Raw,
    /// The features, whitened without any label: the baseline of a fit.
    Whitened,
}

/// The items of a run before anything was learned.
///
/// **Use it** to show what a fit has changed. It holds `8 n d` bytes beside the run. **Not** for a network
/// that was trained on images, whose features are its own, nor across views.
pub struct Before {
    raw: Array2<f32>,
    whitened: Array2<f32>,
    /// The item of the run in each row, and the row of each item, if the data hold it.
    items: Vec<usize>,
    rows: Vec<Option<usize>>,
}

impl Before {
    /// Reads the data of a run again.
    ///
    /// Fails where they have gone or changed, and where the run has no features of its own.
    pub fn of(run: &RunFolder, at: &Environment) -> Result<Self> {
        let (record, config) = (run.record()?, run.config()?);
        let model = run.model()?;
        if matches!(model, Model::Network(_)) {
            return Err(failed(
                "the run is of a network that was trained on images: before it there are pixels, which \
                 nobody searches",
            ));
        }
        let (n, d) = (record.items as f64, config.dimensions as f64);
        let read = || {
            let source = Source::open(Path::new(&record.data), ReadAs::default())?;
            let source = run.as_fitted(&source)?;
            let needed = needed(&model, &source, at)?;
            needed.resident(8.0 * n * d).check(at.max_memory)?;
            features(&source, &config, at)
        };
        // Who asks need not know where they lie.
        let (collection, view) = read().map_err(|e| match e.kind() {
            ErrorKind::Memory | ErrorKind::Cancelled => e,
            _ if !Path::new(&record.data).exists() => failed(
                "the data of the run are not here; work in the folder in which it was fitted",
            ),
            _ => failed("the data of the run cannot be read any more"),
        })?;
        let items = run.items()?;
        let found = Found::of(&collection, &items);
        let x = collection.view(Some(&view))?.matrix.view();
        found.check(x, run, &model, at)?;
        let x = matrix::select_rows(x, &found.of_data);
        // As the baseline reads them: of the recipe it has the power alone.
        let powered = matrix::powered(x.clone(), config.recipe.start.power);
        let fitted: Vec<usize> = (0..x.nrows())
            .filter(|&row| items[found.items[row]].split == Some(likewise::Part::Train))
            .collect();
        let whitened = whitened(&powered, &fitted)?;
        Ok(Self {
            raw: matrix::l2_normalize(x),
            whitened,
            rows: found.rows,
            items: found.items,
        })
    }

    /// The whitened rows of all items of the run, in their order.
    ///
    /// Fails where the data lack one.
    pub fn whitened_items(&self) -> Result<Array2<f32>> {
        let rows: Option<Vec<usize>> = self.rows.iter().copied().collect();
        let rows = rows.ok_or_else(|| failed("some items of the run are not in its data"))?;
        Ok(matrix::select_rows(self.whitened.view(), &rows))
    }

    /// The `k` items most similar to an item of the run, itself first; none for an item that the data do
    /// not hold.
    ///
    /// Fails for k = 0, and when cancelled.
    pub fn search(
        &self,
        space: Space,
        item: usize,
        k: usize,
        monitor: &Monitor,
    ) -> Result<Option<Vec<Hit>>> {
        let Some(row) = self.rows[item] else {
            return Ok(None);
        };
        let rows = match space {
            Space::Raw => &self.raw,
            Space::Whitened => &self.whitened,
        };
        let query = rows.select(Axis(0), &[row]);
        let mut hits = nearest(rows.view(), query.view(), k.min(rows.nrows()), monitor)?;
        let mut hits = hits.pop().unwrap_or_default();
        for hit in &mut hits {
            hit.item = self.items[hit.item];
        }
        Ok(Some(hits))
    }
}

/// Unit rows (n x d), whitened by the `fitted` ones of them, or by all where these are few: the baseline of a fit that has
/// learned from no label.
///
/// Fails where the rows have no spread. Costs O(n d^2).
pub fn whitened(x: &Array2<f32>, fitted: &[usize]) -> Result<Array2<f32>> {
    let part;
    let by = if fitted.len() < 2 {
        x
    } else {
        part = matrix::select_rows(x.view(), fitted);
        &part
    };
    let (spectrum, _) = Spectrum::fit_sound(by.view(), uneven(by.view()).is_some())?;
    let rows = spectrum.rotated(x.view(), &[PLAIN_SHRINKAGE])?.remove(0);
    Ok(matrix::l2_normalize(rows))
}

/// Items of a run in its data.
struct Found {
    /// Rows of the data that are items of the run, and which item each is.
    of_data: Vec<usize>,
    items: Vec<usize>,
    /// Of each item, its place in these lists.
    rows: Vec<Option<usize>>,
}

impl Found {
    fn of(collection: &Collection, items: &[ItemRow]) -> Self {
        let places = items.iter().enumerate();
        let places: HashMap<&str, usize> = places.map(|(i, item)| (item.id.as_str(), i)).collect();
        let mut found = Self {
            of_data: vec![],
            items: vec![],
            rows: vec![None; items.len()],
        };
        for (row, id) in collection.ids().iter().enumerate() {
            if let Some(&item) = places.get(id.as_str())
                && found.rows[item].is_none()
            {
                found.rows[item] = Some(found.items.len());
                found.of_data.push(row);
                found.items.push(item);
            }
        }
        found
    }

    /// Fails where the data do not give the embeddings of the run.
    fn check(
        &self,
        x: ArrayView2<f32>,
        run: &RunFolder,
        model: &Model,
        at: &Environment,
    ) -> Result<()> {
        let changed = || {
            failed(
                "the data of the run have changed since it was fitted, and show nothing of before",
            )
        };
        let step = self.items.len().div_ceil(LOOKED_AT).max(1);
        let places: Vec<usize> = (0..self.items.len()).step_by(step).collect();
        if places.is_empty() {
            return Err(changed());
        }
        let rows: Vec<usize> = places.iter().map(|&place| self.of_data[place]).collect();
        let embedded = model.embed(matrix::select_rows(x, &rows).view(), at.device)?;
        for (row, &place) in embedded.rows().into_iter().zip(&places) {
            let own = run.embedding(self.items[place])?;
            let length = row.iter().fold(1.0_f32, |most, v| most.max(v.abs()));
            let same = own.ncols() == row.len()
                && (own.iter().zip(row)).all(|(a, b)| (a - b).abs() < SAME * length);
            if !same {
                return Err(changed());
            }
        }
        Ok(())
    }
}
