//! What the trainings of a draw start from: features, their whitening and the graph on it.

use likewise::graph::Fusion;
use likewise::learn::Start;
use likewise::linear::whitening::Spectrum;
use likewise::linear::{Affine, is_uneven};
use likewise::matrix::Reading;
use likewise::{Graph, Labels, Monitor, matrix};
use likewise_nn::net::EmbeddingConfig;
use ndarray::Array2;

use super::ground::{Ground, Whiten};
use super::rounds::{ENOUGH, Mean, Validation};
use crate::recipe::{PLAIN_SHRINKAGE, StartConfig};
use crate::{Error, Result};

/// Names of what is fitted: the first draw, what is fitted again on everything, and what learns from
/// tuples alone.
pub(super) const FIRST_DRAW: &str = "draw-0";
pub(super) const REFIT: &str = "refit";
pub(super) const START: &str = "start";

/// Most columns of features for which a matrix of `columns x columns` is kept.
pub(super) const MOST_COLUMNS: usize = 4096;

/// Shrinkages that are tried, the mildest first: ties go to it.
const SHRINKAGES: [f64; 7] = [f64::INFINITY, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03];

/// What the trainings of one draw share.
pub(super) struct Setup<'a> {
    pub(super) start: Start,
    /// Its unit rows, of the training items.
    pub(super) rows: Array2<f32>,
    /// The graph on them, where something spreads over it.
    pub(super) graph: Option<&'a Graph>,
    /// The validation part, if there is one.
    pub(super) validation: Option<Judge>,
    pub(super) name: String,
    pub(super) seed: u64,
    /// Queries that validation needs to be believed.
    pub(super) enough: usize,
}

impl Setup<'_> {
    pub(super) fn graph(&self) -> Result<&Graph> {
        self.graph
            .ok_or_else(|| Error::data("no graph on this start"))
    }
}

/// The items that validate: unit rows of the start, and labels.
pub(super) struct Judge {
    pub(super) items: Vec<usize>,
    pub(super) rows: Array2<f32>,
    pub(super) validation: Validation,
}

impl Ground<'_> {
    /// The features of these items, as the recipe reads them.
    pub(super) fn features(&self, items: &[usize]) -> Array2<f32> {
        let features = matrix::select_rows(self.plan.features, items);
        self.recipe.start.reading().rows(features)
    }

    /// Finds the directions of the training items' features, where the recipe reads them in a
    /// way that none before it did.
    pub(super) fn analyse(&mut self) -> Result<()> {
        self.analyse_as(self.recipe.start.reading())
    }

    fn analyse_as(&mut self, reading: Reading) -> Result<()> {
        if self.analysed(reading).is_none() {
            let fitted = reading.rows(matrix::select_rows(self.plan.features, &self.train));
            // One row of enormous length would turn all directions to itself.
            let (plain, _) = Spectrum::fit_sound(fitted.view(), false)?;
            let (standardized, _) = Spectrum::fit_sound(fitted.view(), true)?;
            let mut spectra = [plain, standardized];
            if self.all_columns {
                spectra = spectra.map(Spectrum::completed);
            }
            self.spectra.push((reading, spectra));
        }
        Ok(())
    }

    fn analysed(&self, reading: Reading) -> Option<&[Spectrum; 2]> {
        let mut spectra = self.spectra.iter();
        let found = spectra.find(|(known, _)| *known == reading);
        found.map(|(_, spectra)| spectra)
    }

    pub(super) fn spectrum(&self, whiten: Whiten) -> Result<&Spectrum> {
        let spectra = (self.analysed(whiten.reading))
            .ok_or_else(|| Error::data("no directions of these features"))?;
        Ok(&spectra[usize::from(whiten.standardize)])
    }

    /// The start that no label chooses: mildly whitened features, by their standard deviations
    /// where one column alone holds much of what varies (columns of different units), which the
    /// cosine would otherwise see little but.
    pub(super) fn plain_start(&self) -> Result<Whiten> {
        self.mild(&self.recipe.start)
    }

    fn mild(&self, start: &StartConfig) -> Result<Whiten> {
        let plain = Whiten {
            eps: start.shrinkage.unwrap_or(PLAIN_SHRINKAGE),
            standardize: false,
            reading: start.reading(),
            center: start.center,
        };
        let [_, standardized] = (self.analysed(plain.reading))
            .ok_or_else(|| Error::data("no directions of these features"))?;
        // The scale of a column is one over its standard deviation; constant ones have 1.
        let variances = standardized.scale.iter().map(|s| {
            if (s - 1.0).abs() < f64::EPSILON {
                0.0
            } else {
                s.powi(-2)
            }
        });
        let variances: Vec<f64> = variances.collect();
        Ok(Whiten {
            standardize: start.standardize.unwrap_or(is_uneven(&variances)),
            ..plain
        })
    }

    /// The whitening that is a baseline: of the recipe it has the power of the features and nothing
    /// else, so that no setting makes it weaker.
    pub(super) fn whitened_start(&mut self) -> Result<Whiten> {
        self.analysed_start(&StartConfig {
            power: self.recipe.start.power,
            ..StartConfig::default()
        })
    }

    /// The whitening of features as they are, whatever the recipe.
    pub(super) fn common_start(&mut self) -> Result<Whiten> {
        self.analysed_start(&StartConfig::default())
    }

    fn analysed_start(&mut self, start: &StartConfig) -> Result<Whiten> {
        self.analyse_as(start.reading())?;
        self.mild(start)
    }

    /// Unit rows of the tested items, whitened as [`whitened_start`](Self::whitened_start) says.
    pub(super) fn whitened_rows(&self, start: Whiten) -> Result<Array2<f32>> {
        let tested = start.reading.rows(self.tested.clone());
        self.whitened(start, &tested)
    }

    /// Unit rows of features that are read already, whitened over all directions.
    pub(super) fn whitened(&self, start: Whiten, features: &Array2<f32>) -> Result<Array2<f32>> {
        let spectrum = self.spectrum(start)?;
        let mut rotated = if start.center < 1.0 {
            // Less a part of the mean is less all of it, with the rest added before.
            let rest = spectrum.mean.mapv(|m| (m * (1.0 - start.center)) as f32);
            spectrum.rotated((features + &rest).view(), &[start.eps])?
        } else {
            spectrum.rotated(features.view(), &[start.eps])?
        };
        Ok(matrix::l2_normalize(rotated.remove(0)))
    }

    /// The whitening to start from: the plain one, unless the labels that may be seen put
    /// another clearly above it.
    ///
    /// Clearly: by more than a standard error of the difference, query by query, over at
    /// least `enough` of them. Fewer have chosen heavy shrinkage on a handful of accidents.
    pub(super) fn whiten(
        &self,
        known: &Labels,
        validation: &[usize],
        enough: usize,
    ) -> Result<Whiten> {
        let recipe = self.recipe;
        let plain = self.plain_start()?;
        if recipe.start.as_given {
            return Ok(plain);
        }
        let (rows, labels) = if validation.is_empty() {
            let is_known = |&i: &usize| known[i].class().is_some();
            let rows: Vec<usize> = (0..known.len()).filter(is_known).collect();
            let labels = known.select(&rows);
            (rows.iter().map(|&i| self.train[i]).collect(), labels)
        } else {
            (validation.to_vec(), self.labels.select(validation))
        };
        let judge = Validation::within((0..rows.len()).collect(), &labels);
        let features = self.features(&rows);
        let scored = |start: Whiten| -> Result<Option<Vec<f64>>> {
            judge.precisions(&self.whitened(start, &features)?.into())
        };
        let Some(standard) = scored(plain)?.filter(|queries| queries.len() >= enough) else {
            return Ok(plain);
        };
        let mut best = (0.0, plain);
        for standardize in [false, true] {
            for eps in recipe
                .start
                .shrinkage
                .map_or(SHRINKAGES.to_vec(), |eps| vec![eps])
            {
                let tried = Whiten {
                    eps,
                    standardize: recipe.start.standardize.unwrap_or(standardize),
                    ..plain
                };
                let Some(values) = scored(tried)? else {
                    continue;
                };
                let gains: Vec<f64> = values.iter().zip(&standard).map(|(a, b)| a - b).collect();
                if let Some(gain) = Mean::of(&gains)
                    && gain.value > gain.error
                    && gain.value > best.0
                {
                    best = (gain.value, tried);
                }
            }
        }
        Ok(best.1)
    }

    /// The coordinates that learning starts from.
    pub(super) fn basis(&self, whiten: Whiten) -> Result<Start> {
        if self.recipe.start.as_given {
            return self.as_given();
        }
        self.start_in(self.spectrum(whiten)?, whiten, self.rank())
    }

    /// The start in the first directions of this spectrum.
    pub(super) fn start_in(
        &self,
        spectrum: &Spectrum,
        whiten: Whiten,
        rank: usize,
    ) -> Result<Start> {
        let map = |eps: f64| -> Result<Affine> {
            let mut map = spectrum.truncated(eps, rank)?;
            map.mean *= whiten.center;
            Ok(map)
        };
        Ok(Start {
            reading: whiten.reading,
            standardized: self.recipe.start.standardize,
            whitening: map(whiten.eps)?,
            rotation: map(f64::INFINITY)?,
            as_given: false,
        })
    }

    fn as_given(&self) -> Result<Start> {
        let columns = self.plan.features.ncols();
        if columns > MOST_COLUMNS {
            return Err(Error::data(format!(
                "start = \"as-given\": a matrix of {columns} x {columns} is learned, and at most \
                 {MOST_COLUMNS} columns are taken; write start = \"whitened\", which keeps 256 \
                 directions"
            )));
        }
        Ok(Start::as_given(columns))
    }

    /// Directions of the start.
    pub(super) fn rank(&self) -> usize {
        let columns = self.plan.features.ncols();
        match self.recipe.encoder().map(|encoder| encoder.head) {
            Some(EmbeddingConfig::Whitened { dim }) => dim.min(columns),
            _ => self.recipe.start.directions(columns, self.all_columns),
        }
    }

    /// Unit rows of the start of these items.
    pub(super) fn start_rows(&self, start: &Start, items: &[usize]) -> Result<Array2<f32>> {
        start.rows(matrix::select_rows(self.plan.features, items))
    }

    pub(super) fn build_graph(&mut self, whiten: Whiten, monitor: &Monitor) -> Result<()> {
        if self.graph(whiten).is_none() {
            let rows = self.start_rows(&self.basis(whiten)?, &self.train)?;
            let settings = &self.spreading.graph;
            let graph = match self.fusion() {
                Fusion::Rows => settings.build(rows.view(), monitor)?,
                fusion => self.fused(fusion, whiten, &rows, monitor)?,
            };
            let key = (whiten, self.rank(), settings.clone(), self.fusion());
            self.graphs.push((key, graph));
        }
        Ok(())
    }

    /// The graph on a start, if it was built.
    fn graph(&self, whiten: Whiten) -> Option<&Graph> {
        let settings = self.spreading.graph.clone();
        let wanted = (whiten, self.rank(), settings, self.fusion());
        let built = self.graphs.iter().find(|(built, _)| *built == wanted);
        built.map(|(_, graph)| graph)
    }

    pub(super) fn setup(
        &self,
        whiten: Whiten,
        name: String,
        seed: u64,
        validation: &[usize],
    ) -> Result<Setup<'_>> {
        let start = self.basis(whiten)?;
        let validation = if validation.is_empty() {
            None
        } else {
            let labels = self.labels.select(validation);
            Some(Judge {
                items: validation.to_vec(),
                rows: self.start_rows(&start, validation)?,
                validation: Validation::within((0..labels.len()).collect(), &labels),
            })
        };
        Ok(Setup {
            rows: self.start_rows(&start, &self.train)?,
            graph: self.graph(whiten),
            start,
            validation,
            name,
            seed,
            enough: ENOUGH,
        })
    }
}
