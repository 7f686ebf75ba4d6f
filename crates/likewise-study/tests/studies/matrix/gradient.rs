//! Losses that a gradient follows: with every source and every head, several at once, and with miners,
//! samplers and a memory.

use likewise_nn::loss::{Loss, Losses};
use likewise_nn::mine::{Mine, Semihard};
use likewise_nn::sample::Sampler;
use likewise_nn::train::TrainConfig;
use likewise_study::Recipe;
use likewise_study::recipe::{
    GradientConfig, Learner, Linear, Mlp, ModelConfig, Orthogonal, PseudoLabels, RoundsConfig,
    StartConfig,
};
use likewise_study::study::Study;

use super::{digits, has_turn, run, sources, turns, wanted};

const EPOCHS: usize = 5;

pub(super) fn base() -> Recipe {
    let mut recipe = Recipe {
        start: StartConfig {
            shrinkage: Some(1.0),
            standardize: Some(false),
            rank: 32,
            ..StartConfig::default()
        },
        rounds: RoundsConfig {
            epochs: EPOCHS,
            folds: 0,
            ..RoundsConfig::default()
        },
        learner: learner(GradientConfig::default()),
        ..Recipe::default()
    };
    recipe.set_neighbors(6).unwrap();
    recipe
}

/// With all items in one batch: the loss of one epoch compares with that of another.
pub(super) fn learner(gradient: GradientConfig) -> Learner {
    let train = TrainConfig {
        batch: 1000,
        steps: 2,
        learning_rate: 3e-3,
        ..gradient.train
    };
    Learner::Gradient(Box::new(GradientConfig { train, ..gradient }))
}

/// The loss of the first and of the best later epoch.
pub(super) fn check(study: &Study, name: &str) {
    let log = &study.results.per_draw[0].training;
    let losses: Vec<f64> = log.iter().filter_map(|epoch| epoch.loss).collect();
    assert_eq!(losses.len(), EPOCHS, "{name}");
    assert!(
        losses.iter().all(|loss| loss.is_finite()),
        "{name}: {losses:?}"
    );
    let best = losses[1..].iter().copied().fold(f64::INFINITY, f64::min);
    // The targets of `dec` are its own guesses, found anew before each epoch: they move away as it learns.
    if !name.contains(" x dec x ") {
        assert!(best < losses[0], "{name}: {losses:?}");
    }
    assert!(study.embeddings.iter().all(|v| v.is_finite()), "{name}");
}

fn heads() -> [ModelConfig; 3] {
    let keep = 0.3;
    [
        ModelConfig::Linear(Linear { keep, width: 32 }),
        ModelConfig::Mlp(Mlp {
            hidden: 32,
            keep,
            width: 32,
        }),
        ModelConfig::Orthogonal(Orthogonal {
            dim: 16,
            keep,
            ..Orthogonal::default()
        }),
    ]
}

/// Every source with every loss, and each of both with every head: heads take turns.
pub(super) fn of_source_loss_and_head() -> Vec<Recipe> {
    let mut recipes = Vec::new();
    for (i, (source, pseudo_labels)) in sources().into_iter().enumerate() {
        let losses = Loss::all().into_iter().filter(Loss::stands_alone);
        for (j, loss) in losses.enumerate() {
            let heads = heads();
            let head = heads[(i + j) % heads.len()].clone();
            let name = format!("{source} x {} x {head:?}", loss.name());
            if !has_turn(j, turns(&source)) {
                continue;
            }
            recipes.push(Recipe {
                name,
                pseudo_labels: pseudo_labels.clone(),
                learner: learner(GradientConfig {
                    model: head,
                    loss: loss.into(),
                    ..GradientConfig::default()
                }),
                ..base()
            });
        }
    }
    wanted(recipes)
}

#[test]
fn every_two_of_source_loss_and_head_go_together() {
    let collection = digits();
    for recipe in of_source_loss_and_head() {
        check(&run(&collection, &recipe), &recipe.name);
    }
}

/// Losses of triplets, of pairs and of classes, and what stands beside them.
const SEVERAL: &str = "[[learner.loss]]
name = 'multi-similarity'
[[learner.loss]]
name = 'angular'
weight = 0.5
[[learner.loss]]
name = 'proxy-anchor'
weight = 0.2
[[learner.loss]]
name = 'soft-triple'
centers = 2
[[learner.loss]]
name = 'center'
weight = 0.01
[[learner.loss]]
name = 'similarity-regularizer'
weight = 0.1
";

/// A list of losses with every source, with a miner and with a memory: heads take turns.
pub(super) fn of_several_losses() -> Vec<Recipe> {
    let losses: Losses = Recipe::from_toml(SEVERAL)
        .unwrap()
        .learner
        .gradient()
        .unwrap()
        .loss
        .clone();
    assert_eq!(losses.iter().count(), 6);
    let beside = [
        (None, 0),
        (Some(Mine::Semihard(Semihard::default())), 0),
        (None, 100),
    ];
    let mut recipes = Vec::new();
    for (i, (source, pseudo_labels)) in sources().into_iter().enumerate() {
        let head = heads()[i % 3].clone();
        // Affinities bring triplets of their own, in place of what would be mined.
        let (miner, memory) = match pseudo_labels {
            PseudoLabels::Affinity(_) => (None, 0),
            _ => beside[i % 3].clone(),
        };
        let recipe = Recipe {
            name: format!("{source} x several losses x {head:?}"),
            pseudo_labels,
            learner: learner(GradientConfig {
                model: head,
                loss: losses.clone(),
                miner,
                train: TrainConfig {
                    memory,
                    ..TrainConfig::default()
                },
                ..GradientConfig::default()
            }),
            ..base()
        };
        recipe.validate().unwrap();
        recipes.push(recipe);
    }
    wanted(recipes)
}

#[test]
fn a_list_of_losses_goes_with_every_source() {
    let collection = digits();
    for recipe in of_several_losses() {
        check(&run(&collection, &recipe), &recipe.name);
    }
}

pub(super) fn of_miners_and_samplers() -> Vec<Recipe> {
    let loss = Loss::named("contrastive").unwrap();
    let mined = Mine::all().into_iter().map(|miner| Recipe {
        name: format!("{miner:?}"),
        learner: learner(GradientConfig {
            miner: Some(miner),
            sampler: Sampler::PerClass { per_class: 4 },
            loss: loss.clone().into(),
            ..GradientConfig::default()
        }),
        ..base()
    });
    let samplers = [
        Sampler::Plain,
        Sampler::Labeled { share: 0.5 },
        Sampler::Hierarchical {
            per_class: 4,
            groups: 3,
        },
    ];
    let sampled = samplers.into_iter().map(|sampler| Recipe {
        name: format!("{sampler:?}"),
        learner: learner(GradientConfig {
            sampler,
            loss: loss.clone().into(),
            train: TrainConfig {
                memory: 100,
                ..TrainConfig::default()
            },
            ..GradientConfig::default()
        }),
        ..base()
    });
    wanted(mined.chain(sampled))
}

#[test]
fn miners_samplers_and_memory_go_with_pair_losses() {
    let collection = digits();
    for recipe in of_miners_and_samplers() {
        check(&run(&collection, &recipe), &recipe.name);
    }
}
