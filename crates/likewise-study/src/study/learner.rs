//! The learner that a recipe names, and how its rounds run.

use likewise::Monitor;
use likewise::arrays::Arrays;
use likewise::learn::{Closed, Evidence, First, Fit, Learn, Learning, Need, Round, Targets};
use likewise_nn::net::{HeadConfig as NetHead, Weights};
use likewise_nn::train::Gradient;
use likewise_nn::{Device, Model};

use super::rounds::{Rounds, Wanted};
use crate::recipe::{GradientConfig, Learner, On, Recipe};
use crate::{Error, Result};

impl Recipe {
    /// The rounds of this recipe, of which `warm_up` go by the known labels alone.
    pub(super) fn rounds<'a>(
        &self,
        wanted: Wanted,
        warm_up: usize,
        seed: u64,
        device: &'a Device,
    ) -> Rounds<'a> {
        let rounds = &self.rounds;
        Rounds {
            name: match self.learner {
                Learner::Closed(_) | Learner::Cross(_) => "fitting",
                Learner::Gradient(_) => "training",
            },
            epochs: rounds.epochs,
            patience: rounds.patience,
            collapse: rounds.collapse,
            warm_up,
            wanted,
            every: self.pseudo_labels.every(),
            seed,
            device,
        }
    }

    /// The learner by gradients with this head; `pretrained` are the weights that an encoder
    /// starts from, `taught` whether labels have taught these.
    pub(super) fn gradient<'a>(
        &'a self,
        gradient: &'a GradientConfig,
        head: &'a NetHead,
        pretrained: Option<&'a Weights>,
        taught: bool,
        device: &'a Device,
    ) -> Gradient<'a> {
        let network = self.learner.network();
        // Where it is all that there will be, it is the model as it begins.
        let as_it_begins = self.rounds.epochs == 0 || self.pseudo_labels.on() == Some(On::Model);
        Gradient {
            head,
            encoder: network.map(|network| &network.encoder),
            tuning: network.map(|network| network.tuning).unwrap_or_default(),
            map: gradient.map().map(|map| map.fit).unwrap_or_default(),
            loss: &gradient.loss,
            metric: gradient.metric.as_ref(),
            sampler: &gradient.sampler,
            miner: gradient.miner.as_ref(),
            train: &gradient.train,
            epochs: self.rounds.epochs,
            pretrained,
            taught: taught || network.is_some() && as_it_begins,
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
            None => evidence.start.model()?.into(),
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
