//! Networks that go on from other weights.

use likewise::eval::ranking::Measure;
use likewise::eval::summary::Run;
use likewise::images::PixelRows;
use likewise::propagate::{Method, Mixed};
use likewise::{Collection, Labels, Monitor, View, seed};
use likewise_nn::net::{Architecture, EmbeddingConfig, EncoderConfig};
use likewise_nn::train::TrainConfig;
use likewise_study::recipe::{
    Affinity, GradientConfig, Keep, Learner, ModelConfig, NetworkConfig, On, Orthogonal,
    Pretraining, Propagation, PseudoLabels, RoundsConfig, StartConfig,
};
use likewise_study::study::{Plan, Protocol, Row};
use likewise_study::{Model, Recipe};
use ndarray::{Array2, Array4};
use rand::RngExt;

use crate::device;

const SIDE: usize = 28;

/// Images of two classes: bright above, or bright below.
fn images(n: usize) -> Array2<f32> {
    Array2::from_shape_fn((n, SIDE * SIDE), |(i, at)| {
        let bright = (at / SIDE < SIDE / 2) == (i % 2 == 0);
        let noise = (i * 31 + at * 17) % 97;
        (if bright { 120.0 } else { 40.0 }) + noise as f32
    })
}

fn start(standardize: bool) -> StartConfig {
    StartConfig {
        shrinkage: Some(0.5),
        standardize: Some(standardize),
        ..StartConfig::default()
    }
}

fn rounds(epochs: usize) -> RoundsConfig {
    RoundsConfig {
        epochs,
        folds: 0,
        ..RoundsConfig::default()
    }
}

fn mixed_on_the_embedding() -> PseudoLabels {
    Propagation {
        on: On::Embedding,
        spread: Method::Mixed(Mixed::default()),
        ..Propagation::default()
    }
    .into()
}

/// A network that begins as so many directions of its whitened features.
fn tuned(dim: usize) -> Learner {
    Learner::Gradient(Box::new(GradientConfig {
        model: ModelConfig::Network(Box::new(NetworkConfig {
            encoder: network(EmbeddingConfig::Whitened { dim }),
            ..NetworkConfig::default()
        })),
        train: TrainConfig {
            batch: 16,
            learning_rate: 1e-3,
            ..TrainConfig::default()
        },
        ..GradientConfig::default()
    }))
}

fn network(head: EmbeddingConfig) -> EncoderConfig {
    EncoderConfig {
        head,
        ..EncoderConfig::of(Architecture::Mnist)
    }
}

#[test]
fn training_goes_on_from_the_whitened_features_of_the_weights() {
    let pixels = images(300);
    let device = device::chosen();
    let frozen = network(EmbeddingConfig::None).init(5, &device).unwrap();
    let input = frozen.config().input();
    let shaped = Array4::from_shape_fn((300, 1, SIDE, SIDE), |(i, _, y, x)| {
        pixels[[i, y * SIDE + x]]
    });
    let shaped = input.preprocess.apply(shaped).unwrap();
    let features = frozen.embed(shaped.view()).unwrap();
    // As a published checkpoint has them: without the beginning that ours add.
    let weights = frozen.weights().rename([("backbone.", "")]);

    let view = View {
        name: "mnist".into(),
        matrix: features,
        present: None,
    };
    let ids = (0..300).map(|i| i.to_string()).collect();
    let mut collection = Collection::new(ids, vec![view]).unwrap();
    collection.labels = Some(Labels::from_integers((0..300).map(|i| i % 2)));
    let recipe = |dim, epochs| {
        let mut recipe = Recipe {
            start: start(true),
            pseudo_labels: mixed_on_the_embedding(),
            learner: tuned(dim),
            rounds: rounds(epochs),
            ..Recipe::default()
        };
        recipe.set_neighbors(5).unwrap();
        recipe
    };
    let protocol = Protocol {
        labels_per_class: Some(5),
        draws: 1,
        nmi: false,
        ..Protocol::default()
    };
    let rows = PixelRows::new(pixels.view(), [1, SIDE, SIDE]).unwrap();
    let plan = |recipe, images| Plan {
        tuples: None,
        chosen: false,
        asked_for: false,
        before: None,
        collection: &collection,
        features: collection.views()[0].matrix.view(),
        images,
        recipe,
        protocol: &protocol,
        pretrained: Some(weights.clone()),
        checkpoints: None,
        events: None,
        data_digest: String::new(),
        device: device::chosen(),
    };
    let silent = Monitor::silent();

    // Before a step it is the whitening, up to a rotation; all directions are kept.
    let mut still = recipe(128, 0);
    still.start = StartConfig {
        shrinkage: Some(10.0),
        standardize: Some(false),
        ..StartConfig::default()
    };
    let whole = plan(&still, Some(&rows));
    let study = whole.run(&silent).unwrap();
    let (start, raw) = (
        &study.results.summary,
        &study.results.baselines[&Row::Whitened],
    );
    assert_eq!(start.recall, raw.recall);
    assert!((start.map.unwrap() - raw.map.unwrap()).abs() < 1e-4);
    assert!(matches!(study.model, Model::Network(_)));

    let trained = recipe(16, 3);
    let whole = plan(&trained, Some(&rows));
    let study = whole.run(&silent).unwrap();
    let log = &study.results.per_draw[0].training;
    assert!(log[3].loss < log[1].loss, "{log:?}");
    let Model::Network(deep) = &study.model else {
        panic!("a network");
    };
    let again = deep.embed(pixels.view(), &device::chosen()).unwrap();
    assert_eq!(again, study.embeddings);
    assert!(deep.start.is_some() && again.ncols() == 32);

    // Frozen layers stay to the bit, the others do not.
    let mut part = recipe(16, 1);
    part.encoder_mut().unwrap().frozen_layers = 2;
    let moved = &mut part.learner.gradient_mut().unwrap().model;
    let ModelConfig::Network(tuned) = moved else {
        panic!("a network");
    };
    tuned.tuning.augment = true;
    let whole = plan(&part, Some(&rows));
    let study = whole.run(&silent).unwrap();
    let Model::Network(deep) = &study.model else {
        panic!("a network");
    };
    let same = weights.shapes().map(|(name, _)| {
        let mine = deep.weights.get(&format!("backbone.{name}")).unwrap();
        mine == weights.get(name).unwrap()
    });
    let same: Vec<bool> = same.collect();
    assert!(same.contains(&true) && same.contains(&false), "{same:?}");

    // Without images there is nothing to go on from.
    let refused = plan(&trained, None).run(&silent).unwrap_err().to_string();
    assert!(refused.contains("encoder.head is whitened"), "{refused}");
}

/// Images of two classes that differ by a little light above or below, under random blocks that
/// say nothing.
fn blocks(n: usize) -> Array2<f32> {
    let mut rng = seed::stream(1, "blocks");
    let block = SIDE / 7;
    let mut images = Array2::zeros((n, SIDE * SIDE));
    for (i, mut image) in images.rows_mut().into_iter().enumerate() {
        let noise: [[f32; 7]; 7] = std::array::from_fn(|_| std::array::from_fn(|_| rng.random()));
        for (at, pixel) in image.iter_mut().enumerate() {
            let (y, x) = (at / SIDE, at % SIDE);
            let light = (y < SIDE / 2) == (i % 2 == 0);
            *pixel = (if light { 44.0 } else { 20.0 }) + 120.0 * noise[y / block][x / block];
        }
    }
    images
}

#[test]
fn labels_teach_a_network_before_its_neighbours_are_looked_at() {
    let pixels = blocks(300);
    let view = View {
        name: "pixels".into(),
        matrix: pixels,
        present: None,
    };
    let ids = (0..300).map(|i| i.to_string()).collect();
    let mut collection = Collection::new(ids, vec![view]).unwrap();
    collection.labels = Some(Labels::from_integers((0..300).map(|i| i % 2)));
    let recipe = |first: Option<usize>, epochs, on| {
        let mut gradient = Recipe::affinity_triplet()
            .learner
            .gradient()
            .unwrap()
            .clone();
        gradient.train.steps = 10;
        gradient.model = ModelConfig::Network(Box::new(NetworkConfig {
            encoder: network(EmbeddingConfig::None),
            map: Some(Orthogonal {
                dim: 8,
                ..Orthogonal::default()
            }),
            pretraining: first.map(|epochs| Pretraining {
                epochs,
                ..Pretraining::default()
            }),
            ..NetworkConfig::default()
        }));
        Recipe {
            start: start(false),
            pseudo_labels: PseudoLabels::Affinity(Affinity {
                on,
                ..Affinity::default()
            }),
            learner: Learner::Gradient(Box::new(gradient)),
            rounds: RoundsConfig {
                keep: Keep::Best,
                ..rounds(epochs)
            },
            ..Recipe::affinity_triplet()
        }
    };
    let protocol = Protocol {
        labels_per_class: Some(10),
        draws: 1,
        nmi: false,
        ..Protocol::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let run = |recipe: &Recipe, checkpoints: bool| {
        let plan = Plan {
            tuples: None,
            chosen: false,
            asked_for: false,
            before: None,
            collection: &collection,
            features: collection.views()[0].matrix.view(),
            images: None,
            recipe,
            protocol: &protocol,
            pretrained: None,
            checkpoints: checkpoints.then(|| folder.path().to_owned()),
            events: None,
            data_digest: String::new(),
            device: device::chosen(),
        };
        let mut bench = plan.bench().unwrap();
        bench.run(recipe, 0, &Monitor::silent()).unwrap()
    };
    let recall = |run: &Run| run.ranking.mean(Measure::Recall(1)).unwrap();
    let embedding = On::Embedding;

    let random = run(&recipe(None, 0, embedding), false).kept;
    let taught = run(&recipe(Some(8), 0, embedding), false).kept;
    let gain = recall(&taught) - recall(&random);
    assert!(gain > 0.1, "{} after {}", recall(&taught), recall(&random));

    // The first triplets are those of the network that the labels gave.
    let own = recipe(Some(2), 1, embedding);
    let measured = run(&own, true);
    let loss = |recipe: &Recipe| run(recipe, false).log.training[1].loss;
    assert_ne!(
        measured.log.training[1].loss,
        loss(&recipe(Some(2), 1, On::Start))
    );
    // Without any that taught it, they are those of the features, unless asked for.
    let untaught = |on| loss(&recipe(None, 1, on));
    assert_eq!(untaught(embedding), untaught(On::Start));
    assert_ne!(untaught(embedding), untaught(On::Model));

    // Kept, like all of a training.
    let first = "draw-0-recipe-final-pretraining.safetensors";
    let first = folder.path().join(first);
    let changed = || std::fs::metadata(&first).unwrap().modified().unwrap();
    let before = changed();
    assert_eq!(run(&own, true), measured);
    assert_eq!(before, changed());
}

#[test]
fn pretraining_without_a_network_of_its_own_is_refused() {
    let said = |network: &str| {
        let text = format!("learner.model = {{ {network} }}");
        Recipe::from_toml(&text).unwrap_err().to_string()
    };
    let message = said("pretraining = { epochs = 3 }");
    assert!(message.contains("pretraining"), "{message}");
    for (network, words) in [
        (
            "encoder = { name = 'mnist', head = { kind = 'whitened', dim = 8 } }, \
             pretraining = { epochs = 3 }",
            "whitened",
        ),
        (
            "encoder = { name = 'mnist' }, pretraining = { epochs = 0 }",
            "learner.model.pretraining.epochs",
        ),
        (
            "encoder = { name = 'mnist' }, pretraining = { learning_rate = -1.0 }",
            "learner.model.pretraining.learning_rate",
        ),
    ] {
        let message = said(&format!("kind = 'network', {network}"));
        assert!(message.contains(words), "{message}");
    }
}
