//! The learner that a recipe names, and how its rounds run.

use likewise::Monitor;
use likewise::arrays::Arrays;
use likewise::learn::{Closed, Evidence, First, Fit, Learn, Learning, Need, Round, Targets};
use likewise_nn::net::{HeadConfig as NetHead, Weights};
use likewise_nn::train::Gradient;
use likewise_nn::{Device, Model};

use super::rounds::{Rounds, Wanted};
use crate::recipe::{PseudoLabels, Recipe, Residual};
use crate::{Error, Result};

impl Recipe {
    /// The rounds of this recipe.
    pub(super) fn rounds<'a>(&self, wanted: Wanted, seed: u64, device: &'a Device) -> Rounds<'a> {
        let train = &self.train;
        Rounds {
            name: match self.head.residual {
                Residual::Closed(_) => "fitting",
                _ => "training",
            },
            epochs: train.epochs,
            patience: train.patience,
            collapse: train.collapse,
            wanted,
            every: (self.pseudo_labels == PseudoLabels::Affinity).then_some(self.affinity.every),
            seed,
            device,
        }
    }

    /// The learner by gradients with this head; `pretrained` are the weights that an encoder
    /// starts from, `taught` whether labels have taught these.
    pub(super) fn gradient<'a>(
        &'a self,
        head: &'a NetHead,
        pretrained: Option<&'a Weights>,
        taught: bool,
        device: &'a Device,
    ) -> Gradient<'a> {
        Gradient {
            head,
            encoder: self.encoder.as_ref(),
            loss: &self.loss,
            sampler: &self.sampler,
            miner: self.miner.as_ref(),
            train: &self.train,
            pretrained,
            // Where it is all that there will be, it is the model as it begins.
            taught: taught || self.encoder.is_some() && self.train.epochs == 0,
            device,
        }
    }
}

/// A learner in closed form as one that goes by rounds: a round is a fit.
pub(super) struct Refits<'a>(pub(super) &'a Closed);

impl Learn for Refits<'_> {
    type Model = Model;

    fn needs(&self) -> &'static [Need] {
        self.0.needs()
    }

    fn first(&self, _: &Evidence, _: u64) -> Result<First<Model>> {
        Ok(First::Start)
    }

    fn begin<'a>(
        &'a self,
        _: &Evidence,
        seed: u64,
    ) -> Result<Box<dyn Learning<Model = Model> + 'a>> {
        Ok(Box::new(Refitting {
            learner: self.0,
            seed,
            fitted: None,
        }))
    }
}

struct Refitting<'a> {
    learner: &'a Closed,
    seed: u64,
    /// The last model, and what it was fitted on.
    fitted: Option<(Option<Targets>, Model)>,
}

impl Learning for Refitting<'_> {
    type Model = Model;

    fn round(&mut self, _: usize, evidence: &Evidence, monitor: &Monitor) -> Result<Round> {
        // The labels alone are the same in every round.
        if let Some((Some(before), _)) = &self.fitted
            && before == evidence.targets
        {
            return Ok(Round::default());
        }
        let model = self.learner.fit(evidence, self.seed, monitor)?.into();
        self.fitted = Some((Some(evidence.targets.clone()), model));
        Ok(Round::default())
    }

    fn model(&self, evidence: &Evidence) -> Result<Model> {
        Ok(match &self.fitted {
            Some((_, model)) => model.clone(),
            None => evidence.start.model().into(),
        })
    }

    fn save(&self) -> Result<Arrays> {
        Ok(Arrays::default())
    }

    fn resume(&mut self, _: &Arrays, model: &Model) -> Result<()> {
        if !matches!(model, Model::Closed(_)) {
            return Err(Error::data("it is of another learner"));
        }
        self.fitted = Some((None, model.clone()));
        Ok(())
    }
}
