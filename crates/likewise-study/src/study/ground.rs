//! What all draws of a study share: the items, cut into parts, and what is computed once.

use std::borrow::Cow;
use std::sync::OnceLock;

use likewise::error::Hint;
use likewise::eval::bootstrap::Bootstrap;
use likewise::eval::ranking::{self, Protocol as Ask};
use likewise::eval::summary::Run;
use likewise::eval::{leak, nmi, split};
use likewise::graph::{Fusion, KnnGraph};
use likewise::images::{Images, PixelRows};
use likewise::linear::Affine;
use likewise::linear::whitening::Spectrum;
use likewise::matrix::Reading;
use likewise::{Embedding, Graph, Labels, Monitor, Part, matrix};
use likewise_nn::net::EmbeddingConfig;
use ndarray::Array2;

use super::finding::{Finding, findings};
use super::learner::LastFit;
use super::plan::Plan;
use super::protocol::SplitKind;
use super::several::Answers;
use crate::recipe::{Propagation, Recipe, keeps_all};
use crate::{Error, Result};

/// Which whitening the head starts from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Whiten {
    pub(super) eps: f64,
    pub(super) standardize: bool,
    /// How features are read before.
    pub(super) reading: Reading,
    /// Share of the mean that is taken off.
    pub(super) center: f64,
}

/// What all draws of a study share.
pub(super) struct Ground<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) recipe: &'a Recipe,
    /// How the beliefs of the run spread: as the recipe's or, where it spreads no labels, as
    /// those of `mixed-lp`.
    pub(super) spreading: Propagation,
    pub(super) labels: Cow<'a, Labels>,
    /// What the recipe's encoder reads, if there is one.
    pub(super) images: Option<Box<dyn Images + 'a>>,
    pub(super) train: Vec<usize>,
    /// Items of known class in the split's validation part.
    pub(super) validation: Vec<usize>,
    /// Whether the classes that ask have no label to fit on.
    pub(super) disjoint: bool,
    /// Whether the start keeps all columns ([`StartConfig::directions`](crate::recipe::StartConfig)).
    pub(super) all_columns: bool,
    /// Items that would ask, but have nothing to find.
    pub(super) lone: usize,
    /// The items that ask or are searched, their features and labels: no other row needs to
    /// be embedded to measure.
    pub(super) tested_items: Vec<usize>,
    pub(super) tested: Array2<f32>,
    pub(super) tested_labels: Labels,
    /// Rows of `tested`.
    pub(super) queries: Vec<usize>,
    pub(super) gallery: Vec<usize>,
    /// By how features are read: of these as they are, and with standardized columns.
    pub(super) spectra: Vec<(Reading, [Spectrum; 2])>,
    /// Graphs on the start, its rank, their settings and how views are fused: draws and recipes that agree
    /// on these share the graph.
    pub(super) graphs: Vec<((Whiten, usize, KnnGraph, Fusion), Graph)>,
    /// What the recipe has learned already, where labels teach it nothing.
    pub(super) last_fit: LastFit,
    /// Directions of scaled columns, where the recipe's learner asked for them.
    pub(super) scaled: OnceLock<Affine>,
}

impl<'a> Ground<'a> {
    /// Takes another recipe, and with it how its labels spread and what features it reads.
    pub(super) fn read_as(&mut self, recipe: &'a Recipe) -> Result<()> {
        self.recipe = recipe;
        self.last_fit.forget();
        self.scaled = OnceLock::new();
        self.spreading = recipe.spreading(self.train.len());
        self.analyse()
    }
}

impl<'p> Plan<'p> {
    /// The labels and the part of every item, all checked.
    pub(super) fn divide(&self) -> Result<(&Labels, Vec<Part>)> {
        self.recipe.validate()?;
        let labels = self.collection.labels.as_ref().ok_or_else(|| {
            let message = "the data hold no labels; this split needs some";
            Error::data(message).hint(Hint::GiveLabels)
        })?;
        self.check_features()?;
        Ok((labels, self.protocol.parts(self.collection, labels)?))
    }

    /// Fails on NaN, and where nothing tells one item from another.
    pub(super) fn check_features(&self) -> Result<()> {
        matrix::check_finite(self.features, "features")?;
        let rows = self.features.rows();
        let mut others = rows.into_iter().skip(1);
        if self.features.nrows() > 1 && others.all(|row| row == self.features.row(0)) {
            return Err(Error::data(format!(
                "all {} items have the same features, so that nothing tells them apart; give columns that differ",
                self.features.nrows()
            )));
        }
        Ok(())
    }

    /// What the recipe's encoder reads, if there is one.
    ///
    /// Fails where that are other images than the rows hold, and where an encoder that would
    /// begin as the whitening of its features cannot.
    pub(super) fn images(&'p self, recipe: &Recipe) -> Result<Option<Box<dyn Images + 'p>>> {
        let Some(encoder) = recipe.encoder() else {
            return Ok(None);
        };
        let columns = self.features.ncols();
        if let EmbeddingConfig::Whitened { .. } = encoder.head {
            let wanted = encoder.name.features();
            if self.pretrained.is_none() || self.images.is_none() || columns != wanted {
                let name = encoder.name();
                let message = format!(
                    "encoder.head is whitened, which goes on from a pretrained network, but the \
                     view is not the {wanted} features of {name} by its own weights"
                );
                return Err(Error::data(message).hint(Hint::GiveEncoder));
            }
        }
        if let Some(images) = self.images {
            return Ok(Some(Box::new(images)));
        }
        let input = encoder.input();
        let shape = [input.channels, input.height, input.width];
        let rows = PixelRows::new(self.features, shape).map_err(|e| {
            let name = encoder.name();
            Error::data(format!("the encoder {name} reads {e}"))
        })?;
        Ok(Some(Box::new(rows)))
    }

    pub(super) fn ground(&'p self, labels: &'p Labels, parts: &[Part]) -> Result<Ground<'p>> {
        let places = Places::of(labels, parts);
        if places.train.is_empty() {
            return Err(Error::data("the split leaves nothing to fit on"));
        }
        if places.queries.is_empty() {
            // Of items with several labels each there are no folds.
            let (shared, or) = match labels.tags() {
                None => (
                    "of one class",
                    ", or let all labels be fitted and measured by folds",
                ),
                Some(_) => ("that share a label", ""),
            };
            return Err(Error::data(format!(
                "the split leaves no two labeled items {shared} to test on; label more items{or}"
            )));
        }
        self.ground_on(Cow::Borrowed(labels), places)
    }

    pub(super) fn ground_on(&'p self, labels: Cow<'p, Labels>, at: Places) -> Result<Ground<'p>> {
        let mut tested: Vec<usize> = at.queries.iter().chain(&at.gallery).copied().collect();
        tested.sort_unstable();
        tested.dedup();
        let rows = |items: &[usize]| -> Vec<usize> {
            let row = |item: &usize| tested.binary_search(item).ok();
            items.iter().filter_map(row).collect()
        };
        let (queries, gallery) = (rows(&at.queries), rows(&at.gallery));
        let fitted = Answers::of(&labels, &at.train);
        let asks = |&i: &usize| labels[i].class().is_some_and(|c| fitted.most(c, 0) > 0);
        let disjoint = !at.queries.is_empty() && !at.queries.iter().any(asks);
        let all_columns = disjoint && keeps_all(at.train.len(), self.features.ncols());
        let mut ground = Ground {
            plan: self,
            all_columns,
            recipe: self.recipe,
            spreading: self.recipe.spreading(self.collection.len()),
            images: self.images(self.recipe)?,
            train: at.train,
            validation: at.validation,
            lone: at.lone,
            disjoint,
            tested: matrix::select_rows(self.features, &tested),
            tested_labels: labels.select(&tested),
            tested_items: tested,
            labels,
            queries,
            gallery,
            spectra: Vec::new(),
            graphs: Vec::new(),
            last_fit: LastFit::default(),
            scaled: OnceLock::new(),
        };
        ground.analyse()?;
        Ok(ground)
    }

    /// All items fitted, with as many columns as those that were measured.
    pub(super) fn ground_again(
        &'p self,
        labels: &'p Labels,
        measured: &Ground,
    ) -> Result<Ground<'p>> {
        let mut ground = self.ground_on(Cow::Borrowed(labels), Places::all(labels))?;
        ground.all_columns = measured.all_columns;
        if ground.all_columns {
            for (_, spectra) in &mut ground.spectra {
                *spectra = spectra.clone().map(Spectrum::completed);
            }
        }
        Ok(ground)
    }

    pub(super) fn leaks(
        &self,
        labels: Option<&Labels>,
        parts: &[Part],
        monitor: &Monitor,
    ) -> Result<Vec<Finding>> {
        let options = leak::Options {
            class_disjoint: self.protocol.split == SplitKind::ZeroShot,
            ..leak::Options::default()
        };
        let report = leak::check(self.features, parts, labels, None, options, monitor)?;
        let mut findings = findings(&report, self.collection);
        if self.features.ncols() == 1 {
            monitor.warn(
                "the features are one column, of which a cosine sees nothing but the sign: all items \
                 on one side are the same; give more columns",
            );
        }
        let outsized = matrix::outsized(self.features);
        if let Some(&first) = outsized.first() {
            let id = self.collection.ids()[first].clone();
            findings.push(Finding {
                what: "items over 1,000 times as long as others (check them; mean and whitening \
                       leave them out)"
                    .into(),
                count: outsized.len(),
                examples: vec![(id.clone(), id)],
            });
        }
        for finding in &findings {
            monitor.warn(finding.to_string());
        }
        Ok(findings)
    }

    /// The metrics of embeddings of the tested items.
    pub(super) fn ask(
        &self,
        ground: &Ground,
        tested: &Embedding,
        monitor: &Monitor,
    ) -> Result<Run> {
        let labels = &ground.tested_labels;
        let ask = Ask::of(tested, labels, &ground.queries, &ground.gallery);
        Ok(Run {
            ranking: ranking::evaluate(&ask, &self.protocol.ks, monitor)?,
            nmi: if self.protocol.nmi && labels.tags().is_none() && tested.has_distances() {
                Some(nmi::evaluate(&ask, self.protocol.seed, monitor)?)
            } else {
                None
            },
        })
    }

    pub(super) fn bootstrap(&self) -> Bootstrap {
        Bootstrap::new().seed(self.protocol.seed)
    }
}

/// The items of each part that are of use there.
pub(super) struct Places {
    pub(super) train: Vec<usize>,
    pub(super) validation: Vec<usize>,
    pub(super) queries: Vec<usize>,
    pub(super) gallery: Vec<usize>,
    /// Items of known class that would ask, but have no other one of it to find.
    pub(super) lone: usize,
}

impl Places {
    /// Queries are of known class, and have another item of it to find.
    pub(super) fn of(labels: &Labels, parts: &[Part]) -> Self {
        let of =
            |part: Part| -> Vec<usize> { (0..parts.len()).filter(|&i| parts[i] == part).collect() };
        let known = |&i: &usize| labels[i].class().is_some();
        let (mut queries, mut gallery) = split::roles(parts);
        // Items known to be none of the classes do not ask, but are wrong answers.
        gallery.retain(|&i| labels[i] != likewise::Label::Unknown);
        let answers = Answers::of(labels, &gallery);
        queries.retain(known);
        let asking = queries.len();
        queries.retain(|&i| {
            let own = usize::from(gallery.binary_search(&i).is_ok());
            (labels[i].class()).is_some_and(|class| answers.most(class, own) > 0)
        });
        let mut validation = of(Part::Validation);
        validation.retain(known);
        Self {
            train: of(Part::Train),
            validation,
            lone: asking - queries.len(),
            queries,
            gallery,
        }
    }

    /// Everything is fitted, and everything is searched.
    pub(super) fn all(labels: &Labels) -> Self {
        Self {
            train: (0..labels.len()).collect(),
            validation: vec![],
            queries: vec![],
            gallery: (0..labels.len()).collect(),
            lone: 0,
        }
    }
}
