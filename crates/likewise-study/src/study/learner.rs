//! The learner that a recipe names, and how its rounds run.

use std::sync::{Mutex, PoisonError};

use likewise::Monitor;
use likewise::arrays::Arrays;
use likewise::learn::{Evidence, First, Fit, Learn, Learning, Need, Round, Start, Targets};
use likewise::model::Model as ClosedModel;
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

/// The last fit of a learner that looks at the items alone. Whichever labels are kept back, it is the same one: a
/// study asks for it ten times and more.
///
/// It goes by the start, the seed and the number of classes. All else that it may look at is of the study or follows
/// from the start: the items and their views, their rows, the graph.
#[derive(Default)]
pub(super) struct LastFit(Mutex<Option<(Asked, ClosedModel)>>);

/// What a fit goes by.
type Asked = (Start, u64, usize);

impl LastFit {
    /// What `learner` makes of the items of a study; only one that nothing else can teach is remembered.
    fn of(
        &self,
        learner: &dyn Fit,
        evidence: &Evidence,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<ClosedModel> {
        if !learner.needs().iter().all(Need::is_met_by_items) || learner.goes_on() {
            return learner.fit(evidence, seed, monitor);
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = (evidence.start.clone(), seed, evidence.classes());
        if let Some((known, model)) = &*last
            && *known == of
        {
            return Ok(model.clone());
        }
        let model = learner.fit(evidence, seed, monitor)?;
        *last = Some((of, model.clone()));
        Ok(model)
    }

    /// Another learner, or other items, are fitted from here on.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// A learner in closed form as one that goes by rounds: a round is a fit, unless it has rounds of its own.
pub(super) struct Refits<'a> {
    pub(super) learner: &'a dyn Fit,
    /// What may be taken from an earlier training.
    pub(super) last: &'a LastFit,
}

impl Learn for Refits<'_> {
    type Model = Model;

    fn needs(&self) -> &'static [Need] {
        self.learner.needs()
    }

    fn first(&self, _: &Evidence, _: u64) -> Result<First<Model>> {
        Ok(First::Start)
    }

    fn begin<'a>(
        &'a self,
        _: &Evidence,
        seed: u64,
    ) -> Result<Box<dyn Learning<Model = Model> + 'a>> {
        if let Some(learning) = self.learner.rounds(seed) {
            return Ok(Box::new(InRounds {
                learning,
                begun: false,
            }));
        }
        Ok(Box::new(Refitting {
            of: self,
            seed,
            fitted: None,
        }))
    }
}

struct Refitting<'a> {
    of: &'a Refits<'a>,
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
        let Refits { learner, last } = *self.of;
        let model = last.of(learner, evidence, self.seed, monitor)?;
        self.fitted = Some((Some(evidence.targets.clone()), model.into()));
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

/// Rounds of its own of a learner whose models need no network.
struct InRounds<'a> {
    learning: Box<dyn Learning<Model = ClosedModel> + 'a>,
    /// Whether there is a model of its own yet.
    begun: bool,
}

impl Learning for InRounds<'_> {
    type Model = Model;

    fn round(&mut self, round: usize, evidence: &Evidence, monitor: &Monitor) -> Result<Round> {
        let done = self.learning.round(round, evidence, monitor)?;
        self.begun = true;
        Ok(done)
    }

    fn model(&self, evidence: &Evidence) -> Result<Model> {
        Ok(if self.begun {
            self.learning.model(evidence)?.into()
        } else {
            evidence.start.model()?.into()
        })
    }

    fn save(&self) -> Result<Arrays> {
        self.learning.save()
    }

    fn resume(&mut self, saved: &Arrays, model: &Model) -> Result<()> {
        let Model::Closed(model) = model else {
            return Err(Error::data("it is of another learner"));
        };
        self.learning.resume(saved, model)?;
        self.begun = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ndarray::{Array2, array};

    use super::*;

    /// Halves its second column in every round.
    struct Halving;

    struct Halved(f64);

    impl Fit for Halving {
        fn needs(&self) -> &'static [Need] {
            &[]
        }

        fn gives_distance(&self) -> bool {
            true
        }

        fn validate(&self) -> Result<()> {
            Ok(())
        }

        fn fit(&self, _: &Evidence, _: u64, _: &Monitor) -> Result<ClosedModel> {
            Err(Error::data("its rounds are asked for"))
        }

        fn rounds<'a>(&'a self, _: u64) -> Option<Box<dyn Learning<Model = ClosedModel> + 'a>> {
            Some(Box::new(Halved(1.0)))
        }
    }

    impl Learning for Halved {
        type Model = ClosedModel;

        fn round(&mut self, _: usize, _: &Evidence, _: &Monitor) -> Result<Round> {
            self.0 /= 2.0;
            Ok(Round::default())
        }

        fn model(&self, evidence: &Evidence) -> Result<ClosedModel> {
            evidence.start.transform(array![[1.0, 0.0], [0.0, self.0]])
        }

        fn save(&self) -> Result<Arrays> {
            let mut arrays = Arrays::default();
            arrays.put_matrix("share", &array![[self.0]]);
            Ok(arrays)
        }

        fn resume(&mut self, saved: &Arrays, _: &ClosedModel) -> Result<()> {
            self.0 = saved.matrix64("share")?[[0, 0]];
            Ok(())
        }
    }

    /// Counts its fits.
    struct Counted(&'static [Need], AtomicUsize);

    impl Fit for Counted {
        fn needs(&self) -> &'static [Need] {
            self.0
        }

        fn gives_distance(&self) -> bool {
            true
        }

        fn validate(&self) -> Result<()> {
            Ok(())
        }

        fn fit(&self, evidence: &Evidence, seed: u64, _: &Monitor) -> Result<ClosedModel> {
            self.1.fetch_add(1, Ordering::Relaxed);
            evidence
                .start
                .transform(array![[seed as f64, 0.0], [0.0, 1.0]])
        }
    }

    #[test]
    fn what_no_label_teaches_is_fitted_once_for_a_start_and_a_seed() {
        let features = array![[0.0_f32, 1.0], [2.0, 3.0], [4.0, 9.0]];
        let (one, rotated) = (Start::as_given(2), OnceLock::new());
        let mut other = one.clone();
        other.as_given = false;
        let labels = |class| Targets {
            class,
            weight: vec![1.0; 3],
            labeled: vec![true; 3],
            passes: 0,
            triplets: None,
            since: 0,
        };
        let [first, second] = [vec![0, 1, 0], vec![1, 1, 0]].map(labels);
        for (needs, fits) in [(&[Need::Graph][..], 3), (&[Need::Classes], 4)] {
            let (learner, mut last) = (Counted(needs, AtomicUsize::new(0)), LastFit::default());
            let fit = |start: &Start, targets: &Targets, seed| {
                let evidence = Evidence {
                    features: features.view(),
                    views: &[],
                    images: None,
                    items: &[0, 1, 2],
                    start,
                    rows: features.view(),
                    rotated: &rotated,
                    scaled: &OnceLock::new(),
                    targets,
                    groups: &[0, 1],
                    tags: None,
                    pairs: None,
                    graph: None,
                    before: None,
                };
                let model = last.of(&learner, &evidence, seed, &Monitor::silent());
                assert_eq!(
                    model.unwrap(),
                    learner.fit(&evidence, seed, &Monitor::silent()).unwrap()
                );
                learner.1.fetch_sub(1, Ordering::Relaxed);
            };
            fit(&one, &first, 1);
            fit(&one, &second, 1);
            fit(&one, &first, 2);
            fit(&other, &first, 2);
            assert_eq!(learner.1.load(Ordering::Relaxed), fits, "{needs:?}");
            last.forget();
            assert!(last.0.get_mut().unwrap().is_none());
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "halves are exact")]
    fn a_learner_with_rounds_of_its_own_goes_on_from_where_it_stands() {
        let features = array![[0.0, 1.0], [2.0, 3.0], [4.0, 9.0]];
        let features: Array2<f32> = features.mapv(|x: f64| x as f32);
        let (start, rotated) = (Start::as_given(2), OnceLock::new());
        let targets = Targets {
            class: vec![0, 1, 0],
            weight: vec![1.0; 3],
            labeled: vec![true; 3],
            passes: 0,
            triplets: None,
            since: 0,
        };
        let evidence = Evidence {
            features: features.view(),
            views: &[],
            images: None,
            items: &[0, 1, 2],
            start: &start,
            rows: features.view(),
            rotated: &rotated,
            scaled: &OnceLock::new(),
            targets: &targets,
            groups: &[0, 1],
            tags: None,
            pairs: None,
            graph: None,
            before: None,
        };
        let last = LastFit::default();
        let refits = Refits {
            learner: &Halving,
            last: &last,
        };
        let silent = Monitor::silent();
        let mut learning = refits.begin(&evidence, 0).unwrap();
        let device = likewise_nn::device("cpu").unwrap();
        let second = |learning: &dyn Learning<Model = Model>| {
            let model = learning.model(&evidence).unwrap();
            model.embed(features.view(), &device).unwrap()[[2, 1]]
        };
        assert_eq!(second(learning.as_ref()), 9.0);
        learning.round(1, &evidence, &silent).unwrap();
        learning.round(2, &evidence, &silent).unwrap();
        assert_eq!(second(learning.as_ref()), 2.25);

        let (saved, model) = (learning.save().unwrap(), learning.model(&evidence).unwrap());
        let mut resumed = refits.begin(&evidence, 0).unwrap();
        resumed.resume(&saved, &model).unwrap();
        resumed.round(3, &evidence, &silent).unwrap();
        assert_eq!(second(resumed.as_ref()), 1.125);
    }
}
