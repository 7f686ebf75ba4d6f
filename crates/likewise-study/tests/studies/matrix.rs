//! Every source of pseudo-labels with every loss and every head, on the digits: a few epochs,
//! all numbers finite, the own loss lower than at first. The list is made from the
//! registries, so that what is new is in it by existing.

use likewise::ensemble::{Base, FromVotes, Votes};
use likewise::graph::KnnGraph;
use likewise::learn::{Closed, Fit as _, Need};
use likewise::propagate::{Ability, Method};
use likewise::{Collection, Monitor, View};
use likewise_io::{Form, ReadOptions};
use likewise_nn::loss::{Loss, Losses};
use likewise_nn::lpf::Lpf;
use likewise_nn::mine::{Mine, Semihard};
use likewise_nn::sample::Sampler;
use likewise_nn::train::TrainConfig;
use likewise_study::Recipe;
use likewise_study::recipe::{
    Affinity, Clusters, GradientConfig, InClusters, Learner, Linear, Mlp, ModelConfig, On, Oracle,
    Orthogonal, Propagation, PseudoLabels, RoundsConfig, StartConfig, Voting,
};
use likewise_study::study::{CrossPlan, CrossRow, Plan, Protocol, Row, Study};
use ndarray::Axis;

use crate::device;

/// Every eleventh of the 2000 digits: all ten classes, and quick.
fn digits() -> Collection {
    digits_in(&["kar"])
}

/// The same in several views.
fn digits_in(names: &[&str]) -> Collection {
    let bytes = std::fs::read(likewise_testdata::digits()).unwrap();
    let all = likewise_io::read_bytes(Form::Npz, &bytes, &ReadOptions::default()).unwrap();
    let rows: Vec<usize> = (0..all.len()).step_by(11).collect();
    let view = |name: &&str| View {
        name: (*name).into(),
        matrix: all.view(Some(name)).unwrap().matrix.select(Axis(0), &rows),
        present: None,
    };
    let ids = rows.iter().map(usize::to_string).collect();
    let mut collection = Collection::new(ids, names.iter().map(view).collect()).unwrap();
    collection.labels = all.labels.map(|labels| labels.select(&rows));
    collection
}

fn run(collection: &Collection, recipe: &Recipe) -> Study {
    let protocol = Protocol {
        labels_per_class: Some(4),
        draws: 1,
        nmi: false,
        ..Protocol::default()
    };
    let plan = Plan {
        tuples: None,
        chosen: false,
        before: None,
        collection,
        features: collection.view(None).unwrap().matrix.view(),
        recipe,
        protocol: &protocol,
        images: None,
        pretrained: None,
        checkpoints: None,
        events: None,
        data_digest: String::new(),
        device: device::chosen(),
    };
    plan.run(&Monitor::silent())
        .unwrap_or_else(|e| panic!("{}: {e}", recipe.name))
}

/// The parts of names that are asked for, `LIKEWISE_MATRIX` split at commas: none where it is set to
/// nothing. Where it is not set, all of the matrix is meant, and some is left out for time.
fn asked() -> Option<Vec<String>> {
    let asked = std::env::var("LIKEWISE_MATRIX").ok()?;
    let parts = asked.split(',').map(str::trim);
    Some(
        parts
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

/// Whether a combination is asked for: all are, unless some parts of names are.
fn is_wanted(name: &str) -> bool {
    let asked = asked().unwrap_or_default();
    asked.is_empty() || asked.iter().any(|part| name.contains(part))
}

/// Whether what takes turns has its own here, each `turns`-th.
fn has_turn(place: usize, turns: usize) -> bool {
    place.is_multiple_of(turns) || asked().is_some()
}

/// Those that are asked for, by their names, and that are not refused.
fn wanted(recipes: impl IntoIterator<Item = Recipe>) -> Vec<Recipe> {
    let recipes = recipes.into_iter().filter(|recipe| is_wanted(&recipe.name));
    recipes.filter(|recipe| !is_refused(recipe)).collect()
}

/// A name that is in no combination would leave the tests below with nothing to do, and they would pass.
#[test]
fn what_is_asked_for_is_in_some_combination() {
    let all = [
        of_source_loss_and_head(),
        of_several_losses(),
        of_closed(),
        of_views(),
        of_voted_triplets(),
        of_voted_triplets_in_closed_form(),
        of_miners_and_samplers(),
    ]
    .concat();
    assert!(!all.is_empty());
    for part in asked().unwrap_or_default() {
        let found = all.iter().any(|recipe| recipe.name.contains(&part));
        assert!(
            found,
            "LIKEWISE_MATRIX: no combination has \"{part}\" in its name"
        );
    }
}

/// For time, sources that make classes of their own go with every fourth loss or learner.
fn turns(source: &str) -> usize {
    let own = source == "instances" || source.ends_with("judge");
    if own { 4 } else { 1 }
}

const EPOCHS: usize = 5;

fn base() -> Recipe {
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
fn learner(gradient: GradientConfig) -> Learner {
    let train = TrainConfig {
        batch: 1000,
        steps: 2,
        learning_rate: 3e-3,
        ..gradient.train
    };
    Learner::Gradient(Box::new(GradientConfig { train, ..gradient }))
}

/// The loss of the first and of the best later epoch.
fn check(study: &Study, name: &str) {
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

/// Some that are quick.
fn votes(triplets: Option<FromVotes>) -> Voting {
    let names = ["discriminant", "forest", "euclid", "rca"];
    let bases = names.iter().filter_map(|name| Base::named(name)).collect();
    Voting {
        votes: Votes::new().classifiers(bases).folds(2),
        triplets,
        ..Voting::default()
    }
}

fn sources() -> Vec<(String, PseudoLabels)> {
    let mut sources: Vec<(String, PseudoLabels)> = [
        PseudoLabels::None,
        PseudoLabels::Affinity(Affinity {
            on: On::Start,
            k: 6,
            ..Affinity::default()
        }),
        // A few labels and a threshold that a short learning reaches.
        Lpf::new()
            .hidden(32)
            .epochs(60)
            .tuning_epochs(2)
            .iterations(2)
            .threshold(0.5)
            .into(),
        PseudoLabels::Oracle(Oracle::default()),
        votes(None).into(),
        PseudoLabels::Instances,
    ]
    .map(|source| (source.kind().to_owned(), source))
    .to_vec();
    for labels in [InClusters::Judge, InClusters::Name] {
        let clusters = Clusters {
            on: On::Start,
            labels,
            ..Clusters::default()
        };
        let name = format!("clusters that labels {labels:?}").to_lowercase();
        sources.push((name, PseudoLabels::Clusters(clusters)));
    }
    for name in Method::NAMES {
        let method = Method::named(name).unwrap();
        // Those of two classes, and of all pairs, are for comparisons on small sets.
        if (method.abilities().iter()).any(|a| matches!(a, Ability::Dense { .. })) {
            continue;
        }
        let propagation = Propagation {
            graph: KnnGraph::new().k(6),
            spread: method,
            ..Propagation::default()
        };
        sources.push(((*name).into(), propagation.into()));
    }
    sources
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
fn of_source_loss_and_head() -> Vec<Recipe> {
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
fn of_several_losses() -> Vec<Recipe> {
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

/// Whether no two items are alike for a learner that needs such, or a learner takes nothing but given pairs
/// or triplets, of which there are none here.
fn is_refused(recipe: &Recipe) -> bool {
    if let Learner::Closed(learner) = &recipe.learner
        && (learner.needs().iter()).any(|need| matches!(need, Need::Pairs | Need::Triplets))
    {
        assert!(recipe.check_tuples(None).is_err(), "{}", recipe.name);
        return true;
    }
    let Err(e) = recipe.validate() else {
        return false;
    };
    let said = e.to_string();
    let instances = recipe.pseudo_labels == PseudoLabels::Instances;
    assert!(
        instances && said.starts_with("pseudo_labels.kind"),
        "{}: {said}",
        recipe.name
    );
    true
}

/// A learner in closed form with settings that take a moment; of few labels no cut of a column pays, so
/// that columns are cut evenly.
fn quick(name: &str) -> Closed {
    let settings = match name {
        "cfs" => "bins = 5",
        "itml" => "sweeps = 8",
        "apit" => "prior = { sweeps = 8 }",
        "seraph" => "steps = 20",
        "dml-eig" => "steps = 50",
        "lmnn" => "iterations = 40",
        "oasis" => "steps = 20000",
        "omks" | "explicit-omks" => "triplets = 3000",
        // Without shrinkage its optimum is of very low rank: half of what right labels give is lost.
        "mmc" => "shrinkage = 0.5",
        "hds" => "bits = 16",
        "synthetic" => "triplets = 200\ndraws = 5",
        _ => "",
    };
    toml::from_str(&format!("kind = \"{name}\"\n{settings}")).unwrap()
}

fn of_closed() -> Vec<Recipe> {
    let learners = Closed::NAMES.iter().map(|name| quick(name));
    // Each learner with a third of the sources and each source with a third of the learners.
    let pairs = learners.enumerate().flat_map(|(i, learner)| {
        let each = sources().into_iter().enumerate();
        let each = each.filter(move |(j, (source, _))| has_turn(i + j, 3 * turns(source)));
        each.map(move |(_, source)| (learner.clone(), source))
    });
    wanted(pairs.map(|(learner, (source, pseudo_labels))| Recipe {
        pseudo_labels,
        name: format!("{source} x {}", learner.name()),
        learner: Learner::Closed(learner),
        ..Recipe::mixed_rca()
    }))
}

/// Whether a source is of clusters of which labels say nothing.
fn is_blind(source: &PseudoLabels) -> bool {
    matches!(source, PseudoLabels::Clusters(clusters) if clusters.labels == InClusters::Judge)
}

#[test]
fn every_source_goes_with_every_learner_in_closed_form() {
    let collection = digits();
    for recipe in of_closed() {
        let Learner::Closed(learner) = &recipe.learner else {
            panic!("{}: no learner in closed form", recipe.name);
        };
        let name = &recipe.name;
        let published = learner.name() != "rca" && Closed::published(learner.name()).is_some();
        // They are not the classes: what learns them alone can lose some.
        let blind = is_blind(&recipe.pseudo_labels);
        let study = run(&collection, &recipe);
        // Those that others published may lose on wrong labels, but not the classes altogether: by
        // chance it is a twentieth of what whitened features give here, or less.
        let least = |whitened: f64| {
            if published {
                whitened / 4.0
            } else if blind {
                whitened * 0.8
            } else {
                whitened - 0.02
            }
        };
        let metrics = |s: &likewise::eval::summary::Summary| s.map_at_r.unwrap();
        let (own, whitened) = (
            metrics(&study.results.summary),
            metrics(&study.results.baselines[&Row::Whitened]),
        );
        assert!(own >= least(whitened), "{name}: {own} {whitened}");
        assert!(study.embeddings.iter().all(|v| v.is_finite()), "{name}");
    }
}

/// A learner across views with settings that take a moment.
fn quick_across(name: &str) -> likewise_nn::cross::Learner {
    let settings = match name {
        "acmr" => "hidden = [[32, 16], [32, 16]]\nepochs = 20\nleast_steps = 60\nrate = 5e-3",
        // Of about as many items as columns the published ridge, next to none, learns noise.
        "scm-orth" | "scm-seq" => "bits = 16\nridge = 10.0",
        "deep-growbit" => "bits = 16\nhidden = [32, 16]\nepochs = 20\nrate = 5e-3",
        _ if likewise_nn::cross::Learner::named(name)
            .unwrap()
            .gives_bits() =>
        {
            "bits = 16"
        }
        _ => "",
    };
    toml::from_str(&format!("kind = \"{name}\"\n{settings}")).unwrap()
}

fn of_views() -> Vec<Recipe> {
    let mut recipes = Vec::new();
    for name in likewise_nn::cross::Learner::names() {
        let learner = quick_across(name);
        if learner.need() == likewise::cross::Need::Pairs {
            continue;
        }
        recipes.extend(sources().into_iter().map(|(source, pseudo_labels)| Recipe {
            name: format!("{source} x {name} across views"),
            pseudo_labels,
            ..Recipe::across(learner)
        }));
    }
    let recipes = recipes.into_iter().filter(|recipe| is_wanted(&recipe.name));
    let valid = |recipe: &Recipe| {
        let Err(e) = recipe.validate() else {
            return true;
        };
        // Classes that no label names are none that a query of another view could ask for.
        let (said, name) = (e.to_string(), &recipe.name);
        assert!(said.starts_with("pseudo_labels."), "{name}: {said}");
        let unnamed = recipe.pseudo_labels == PseudoLabels::Instances;
        assert!(unnamed || is_blind(&recipe.pseudo_labels), "{name}");
        false
    };
    recipes.filter(valid).collect()
}

#[test]
fn every_source_goes_with_every_learner_across_views() {
    let collection = digits_in(&["fou", "kar"]);
    let views = ["fou".to_owned(), "kar".to_owned()];
    let protocol = Protocol {
        labels_per_class: Some(4),
        draws: 1,
        ..Protocol::default()
    };
    let recipes = of_views();
    for recipe in &recipes {
        let name = &recipe.name;
        let plan = CrossPlan {
            collection: &collection,
            views: &views,
            texts: &[],
            recipe,
            protocol: &protocol,
            device: device::chosen(),
        };
        let study = plan.run(&Monitor::silent());
        let study = study.unwrap_or_else(|e| panic!("{name}: {e}"));
        let results = &study.results;
        // Ten classes of even size: an order by chance has a MAP@50 of about a fifth, since the
        // divisor is what was found.
        let own = results.summary.map50["mean"];
        assert!(own > 0.22, "{name}: {own}");
        let log = &results.per_draw[0];
        let believes = recipe.pseudo_labels != PseudoLabels::None;
        assert_eq!(log.believed > 0, believes, "{name}: {log:?}");
        // Of what is believed far more than a tenth must be right, as by chance, else the source was not asked:
        // manifolds of four labels a class are right in about three of ten, all others in most.
        let least = if name.starts_with("manifold x ") {
            0.2
        } else {
            0.4
        };
        assert!(
            log.accuracy.is_none_or(|share| share > least),
            "{name}: {log:?}"
        );
        let rows = &results.baselines;
        assert_eq!(rows.contains_key(&CrossRow::LabelsOnly), believes, "{name}");
        assert!(rows.contains_key(&CrossRow::AllLabels), "{name}");
    }
    assert!(asked().is_some() || recipes.len() >= 12 * 10);
}

/// Triplets of what quick votes are sure of.
fn voted() -> PseudoLabels {
    votes(Some(FromVotes::new().most(2000).per_anchor(20))).into()
}

fn of_voted_triplets() -> Vec<Recipe> {
    wanted(["triplet", "angular", "contrastive"].map(|name| Recipe {
        name: format!("votes x triplets x {name}"),
        pseudo_labels: voted(),
        learner: learner(GradientConfig {
            loss: Loss::named(name).unwrap().into(),
            ..GradientConfig::default()
        }),
        ..base()
    }))
}

fn of_voted_triplets_in_closed_form() -> Vec<Recipe> {
    wanted([Recipe {
        name: "votes x triplets x oasis".into(),
        pseudo_labels: voted(),
        ..Recipe::named("oasis").unwrap()
    }])
}

#[test]
fn triplets_of_votes_go_with_whatever_learns_from_triplets() {
    let collection = digits();
    for recipe in of_voted_triplets() {
        check(&run(&collection, &recipe), &recipe.name);
    }
    for recipe in of_voted_triplets_in_closed_form() {
        let study = run(&collection, &recipe);
        let (voted, made) = (study.voted.unwrap(), study.triplets.unwrap());
        assert!(!made.is_empty() && made.check(study.train.len()).is_ok());
        // Those of labels alone are fewer than all.
        let anchors = made.anchors.iter();
        let unlabeled = anchors.filter(|&&a| voted.items.binary_search(&(a as usize)).is_ok());
        assert!(unlabeled.count() > 100);
        assert_eq!(study.beliefs, voted.beliefs());
        let map = |s: &likewise::eval::summary::Summary| s.map_at_r.unwrap();
        let own = map(&study.results.summary);
        assert!(
            own > map(&study.results.baselines[&Row::Raw]) / 2.0,
            "{own}"
        );
    }
}

fn of_miners_and_samplers() -> Vec<Recipe> {
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
