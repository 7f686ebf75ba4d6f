//! Networks that go on from other weights.

use likewise::{Collection, Labels, Monitor, View};
use likewise_nn::net::{Architecture, EmbeddingConfig, EncoderConfig};
use likewise_nn::study::{Plan, Protocol};
use likewise_nn::{Device, GraphOn, Model, PixelRows, Recipe, TrainConfig};
use ndarray::{Array2, Array4};

const SIDE: usize = 28;

/// Images of two classes: bright above, or bright below.
fn images(n: usize) -> Array2<f32> {
    Array2::from_shape_fn((n, SIDE * SIDE), |(i, at)| {
        let bright = (at / SIDE < SIDE / 2) == (i % 2 == 0);
        let noise = (i * 31 + at * 17) % 97;
        (if bright { 120.0 } else { 40.0 }) + noise as f32
    })
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
    let device = Device::flex();
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
            encoder: Some(network(EmbeddingConfig::Whitened { dim })),
            whitening: Some(0.5),
            standardize: Some(true),
            graph_on: GraphOn::Embedding,
            train: TrainConfig {
                epochs,
                folds: 0,
                batch: 16,
                learning_rate: 1e-3,
                ..TrainConfig::default()
            },
            ..Recipe::default()
        };
        recipe.graph = recipe.graph.k(5);
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
        collection: &collection,
        features: collection.views()[0].matrix.view(),
        images,
        recipe,
        protocol: &protocol,
        pretrained: Some(weights.clone()),
        checkpoints: None,
        events: None,
        data_digest: String::new(),
        device: Device::flex(),
    };
    let silent = Monitor::silent();

    // Before a step it is the whitening, up to a rotation; all directions are kept.
    let still = recipe(128, 0);
    let whole = plan(&still, Some(&rows));
    let study = whole.run(&silent).unwrap();
    let (start, raw) = (&study.results.summary, &study.results.baselines["whitened"]);
    assert_eq!(start.recall, raw.recall);
    assert!((start.map.unwrap() - raw.map.unwrap()).abs() < 1e-4);
    assert!(matches!(study.model, Model::Deep(_)));

    let trained = recipe(16, 3);
    let whole = plan(&trained, Some(&rows));
    let study = whole.run(&silent).unwrap();
    let log = &study.results.per_draw[0].training;
    assert!(log[3].loss < log[1].loss, "{log:?}");
    let Model::Deep(deep) = &study.model else {
        panic!("a network");
    };
    let again = deep.embed(pixels.view()).unwrap();
    assert_eq!(again, study.embeddings);
    assert!(deep.start.is_some() && again.ncols() == 32);

    // Frozen layers stay to the bit, the others do not.
    let mut part = recipe(16, 1);
    part.encoder.as_mut().unwrap().frozen_layers = 2;
    part.train.augment = true;
    let whole = plan(&part, Some(&rows));
    let study = whole.run(&silent).unwrap();
    let Model::Deep(deep) = &study.model else {
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
