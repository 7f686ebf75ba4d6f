//! What the trainings of a draw start from: features, their whitening and the graph on it.

use likewise::eval::whitening::{Spectrum, Whitening};
use likewise::{Graph, Labels, Monitor, matrix};
use ndarray::Array2;

use super::{Ground, Whiten};
use crate::net::{EmbeddingConfig, Residual};
use crate::train::Validation;
use crate::{Error, Result};

/// Shrinkages that are tried, the mildest first: ties go to it.
const SHRINKAGES: [f64; 7] = [f64::INFINITY, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03];

/// What the trainings of one draw share.
pub(super) struct Start<'a> {
    pub(super) whitening: Whitening,
    /// Its directions as they are, for a head that weighs them itself.
    pub(super) rotation: Option<Whitening>,
    /// Unit rows of the start, of the training items.
    pub(super) rows: Array2<f32>,
    /// The graph on them, where something spreads over it.
    pub(super) graph: Option<&'a Graph>,
    /// The validation part, if there is one.
    pub(super) validation: Option<Judge>,
    pub(super) name: String,
    pub(super) seed: u64,
}

impl Start<'_> {
    pub(super) fn graph(&self) -> Result<&Graph> {
        self.graph
            .ok_or_else(|| Error::data("no graph on this start"))
    }
}

/// The items of the validation part: unit rows of the start, and labels.
pub(super) struct Judge {
    pub(super) rows: Array2<f32>,
    pub(super) validation: Validation,
}

impl Ground<'_> {
    /// The features of these items, as the recipe's head reads them.
    fn features(&self, items: &[usize]) -> Array2<f32> {
        let features = matrix::select_rows(self.plan.features, items);
        self.recipe.head.powered(features)
    }

    /// Finds the directions of the training items' features, where the recipe reads them in a
    /// way that none before it did.
    pub(super) fn analyse(&mut self) -> Result<()> {
        let power = self.recipe.head.power;
        if self.analysed(power).is_none() {
            let fitted = self.features(&self.train);
            let plain = Spectrum::fit(fitted.view())?;
            let standardized = Spectrum::fit_standardized(fitted.view())?;
            self.spectra.push((power, [plain, standardized]));
        }
        Ok(())
    }

    fn analysed(&self, power: f64) -> Option<&[Spectrum; 2]> {
        let mut spectra = self.spectra.iter();
        let found = spectra.find(|(known, _)| known.total_cmp(&power).is_eq());
        found.map(|(_, spectra)| spectra)
    }

    pub(super) fn spectrum(&self, whiten: Whiten) -> Result<&Spectrum> {
        let spectra = (self.analysed(whiten.power))
            .ok_or_else(|| Error::data("no directions of these features"))?;
        Ok(&spectra[usize::from(whiten.standardize)])
    }

    /// The whitening that does best on the labels that may be seen.
    pub(super) fn whiten(&self, known: &Labels) -> Result<Whiten> {
        let recipe = self.recipe;
        let (rows, labels) = if self.validation.is_empty() {
            let is_known = |&i: &usize| known[i].class().is_some();
            let rows: Vec<usize> = (0..known.len()).filter(is_known).collect();
            let labels = known.select(&rows);
            (rows.iter().map(|&i| self.train[i]).collect(), labels)
        } else {
            let labels = self.labels.select(&self.validation);
            (self.validation.clone(), labels)
        };
        let features = self.features(&rows);
        let power = recipe.head.power;
        let judge = Validation::within((0..rows.len()).collect(), &labels);
        let mut best = None;
        for standardize in [false, true] {
            let standardize = recipe.standardize.unwrap_or(standardize);
            let tried = recipe
                .whitening
                .map_or(SHRINKAGES.to_vec(), |eps| vec![eps]);
            let of = |eps| Whiten {
                eps,
                standardize,
                power,
            };
            let spectrum = self.spectrum(of(f64::INFINITY))?;
            let rotated = spectrum.rotated(features.view(), &tried)?;
            for (eps, whitened) in tried.into_iter().zip(rotated) {
                let whitened = matrix::l2_normalize(whitened);
                let value = judge.score(&whitened)?.map_or(0.0, |s| s.precision.value);
                if best.is_none_or(|(highest, _)| value > highest) {
                    best = Some((value, of(eps)));
                }
            }
        }
        best.map(|(_, whiten)| whiten)
            .ok_or_else(|| Error::data("no whitening to choose from"))
    }

    fn whitening(&self, whiten: Whiten) -> Result<Whitening> {
        let rank = self.rank();
        Ok(self.spectrum(whiten)?.truncated(whiten.eps, rank)?)
    }

    /// Directions of the start.
    fn rank(&self) -> usize {
        let rank = match self.recipe.encoder.as_ref().map(|encoder| encoder.head) {
            Some(EmbeddingConfig::Whitened { dim }) => dim,
            _ => self.recipe.head.rank,
        };
        rank.min(self.plan.features.ncols())
    }

    pub(super) fn start_rows(&self, whitening: &Whitening, rows: &[usize]) -> Result<Array2<f32>> {
        let features = self.features(rows);
        Ok(matrix::l2_normalize(whitening.transform(features.view())?))
    }

    pub(super) fn build_graph(&mut self, whiten: Whiten, monitor: &Monitor) -> Result<()> {
        if self.graph(whiten).is_none() {
            let rows = self.start_rows(&self.whitening(whiten)?, &self.train)?;
            let settings = &self.recipe.graph;
            let graph = settings.build(rows.view(), monitor)?;
            self.graphs
                .push(((whiten, self.rank(), settings.clone()), graph));
        }
        Ok(())
    }

    /// The graph on a start, if it was built.
    fn graph(&self, whiten: Whiten) -> Option<&Graph> {
        let wanted = (whiten, self.rank(), self.recipe.graph.clone());
        let built = self.graphs.iter().find(|(built, _)| *built == wanted);
        built.map(|(_, graph)| graph)
    }

    pub(super) fn start(&self, whiten: Whiten, name: String, seed: u64) -> Result<Start<'_>> {
        let whitening = self.whitening(whiten)?;
        let validation = if self.validation.is_empty() {
            None
        } else {
            let labels = self.labels.select(&self.validation);
            Some(Judge {
                rows: self.start_rows(&whitening, &self.validation)?,
                validation: Validation::within((0..labels.len()).collect(), &labels),
            })
        };
        Ok(Start {
            rows: self.start_rows(&whitening, &self.train)?,
            graph: self.graph(whiten),
            rotation: match self.recipe.head.residual {
                Residual::Rca(_) => {
                    let spectrum = self.spectrum(whiten)?;
                    Some(spectrum.truncated(f64::INFINITY, self.rank())?)
                }
                _ => None,
            },
            whitening,
            validation,
            name,
            seed,
        })
    }
}
