//! Recipes that have a name: all are valid, and those of papers hold what is printed.

use likewise::linear::Behind;
use likewise_nn::net::EmbeddingConfig;

use super::*;

#[test]
fn every_name_is_a_valid_recipe_that_survives_its_file() {
    for name in Recipe::names() {
        let recipe = Recipe::named(&name).unwrap();
        assert_eq!(recipe.name, name);
        recipe.validate().unwrap();
        let text = toml::to_string(&recipe).unwrap();
        assert_eq!(Recipe::from_toml(&text).unwrap(), recipe, "{text}");
    }
}

#[test]
fn every_preset_has_one_name_and_those_behind_a_network_come_from_the_list_of_learners() {
    let mut seen = std::collections::BTreeSet::new();
    for preset in Preset::all() {
        let name = &preset.name;
        assert!(seen.insert(name), "{name}: twice");
        assert_eq!(Recipe::named(name).unwrap().name, *name);
        assert!(preset.what.starts_with("the recipe "), "{name}");
    }
    for learner in Behind::NAMES {
        let recipe = Recipe::named(&format!("deep-{learner}")).unwrap();
        assert_eq!(
            recipe,
            Recipe {
                name: recipe.name.clone(),
                ..Recipe::deep(Behind::named(learner).unwrap())
            }
        );
    }
}

/// Settings as their papers print them, on features and behind a network.
#[test]
fn recipes_of_papers_on_losses_are_as_printed() {
    use likewise_nn::net::Pool;
    use likewise_nn::train::{Optimizer, ProxyStart, Schedule};

    let step = |every, factor| Schedule::Step { every, factor };
    let adam = |epsilon| Optimizer::Adam { epsilon };
    for (name, batch, optimizer, rates, schedule, decays, start, epochs) in [
        (
            "proxy-anchor-paper",
            180,
            Optimizer::AdamW { epsilon: 1e-8 },
            [1e-4, 1e-2],
            step(10, 0.5),
            [1e-4, 1e-4],
            ProxyStart::KaimingNormal,
            60,
        ),
        (
            "proxy-nca-plus-plus-paper",
            32,
            adam(1.0),
            [4e-3, 4e2],
            Schedule::Constant,
            [0.0, 0.0],
            ProxyStart::Normal { scale: 0.125 },
            40,
        ),
        (
            "soft-triple-paper",
            32,
            adam(0.01),
            [1e-4, 1e-2],
            step(20, 0.1),
            [1e-4, 1e-4],
            ProxyStart::KaimingUniform,
            50,
        ),
    ] {
        let recipe = Recipe::named(name).unwrap();
        let train = &gradient(&recipe).train;
        assert_eq!((train.batch, train.optimizer), (batch, optimizer), "{name}");
        assert_eq!((train.schedule, recipe.rounds.epochs), (schedule, epochs));
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs(), "{name}: {a} {b}");
        close(train.learning_rate, rates[0]);
        close(train.learning_rate * train.proxy_factor, rates[1]);
        close(train.weight_decay, decays[0]);
        close(train.proxy_decay.unwrap_or(0.0), decays[1]);
        assert_eq!(train.proxy_start, Some(start));
    }
    let network = |name: &str, more: &str| {
        let text = format!(
            "base = '{name}'\nlearner.model = {{ kind = 'network',              encoder = {{ name = 'bn-inception'{more} }} }}"
        );
        let recipe = Recipe::from_toml(&text).unwrap();
        recipe.learner.network().unwrap().clone()
    };
    for (name, pool, dim, layer_norm, warm_up) in [
        ("proxy-anchor-paper", Pool::Both, 512, false, 1),
        ("proxy-nca-plus-plus-paper", Pool::Max, 2048, true, 0),
        ("soft-triple-paper", Pool::Average, 64, false, 0),
    ] {
        let NetworkConfig {
            encoder, tuning, ..
        } = network(name, "");
        assert_eq!(encoder.head, EmbeddingConfig::Linear { dim, layer_norm });
        assert_eq!((encoder.pool, encoder.frozen_norm), (pool, true), "{name}");
        assert_eq!((tuning.warm_up, tuning.augment), (warm_up, true), "{name}");
    }
    let own = network(
        "proxy-anchor-paper",
        ", pool = 'max', head = { kind = 'none' }",
    );
    assert_eq!(
        (own.encoder.pool, own.encoder.head),
        (Pool::Max, EmbeddingConfig::None)
    );
    let said = |text: &str| Recipe::from_toml(text).unwrap_err().to_string();
    for field in [
        "proxy_start = { name = 'kaiming-normal' }",
        "proxy_decay = 0.1",
    ] {
        let text = format!("base = 'triplet'\nlearner.train.{field}");
        assert!(said(&text).contains("has no effect: the loss has no proxies"));
    }
    let wrong = "learner.train.proxy_start = { name = 'kaiming-normal', scale = 2 }";
    assert!(said(wrong).contains("scale"), "{}", said(wrong));
}

#[test]
fn presets_of_papers_hold_what_is_printed() {
    let holds = |name: &str, printed: &[&str]| {
        let text = toml::to_string(&Recipe::named(name).unwrap()).unwrap();
        for line in printed {
            assert!(text.lines().any(|l| l == *line), "{name}: {line}\n{text}");
        }
    };
    // Zhuang and Moulin, CVPR 2023, 4.1.
    let zhuang = [
        "k = 50",
        "gamma = 3.0",
        "lambda = 4.0",
        "beta = 1.0",
        "scale = 32.0",
        "margin = 0.1",
        "batch = 32",
        "steps = 0",
        "labeled_passes = 1",
        "learning_rate = 0.0001",
        "width = 64",
        "rank = 64",
        "labeled_epochs = 5",
        "epochs = 25",
        "keep = \"best\"",
        "mu = 0.010101010101010102",
        "scale = \"probability\"",
        "name = \"adamw\"",
        "weight_decay = 0.0001",
        "proxy_factor = 100.0",
        "confidence = \"plain\"",
        "confidence_power = 1.0",
    ];
    holds("mixed-lp-paper", &zhuang);
    // Dutta, Harandi and Sekhar, AAAI 2021.
    let dutta = [
        "k = 10",
        "gamma = 0.99",
        "alpha = 40.0",
        "normalize = false",
        "dim = 64",
        "keep = \"best\"",
        "partition = 9000",
        "every = 10",
        "batch = 100",
        "steps = 0",
        "momentum = 0.9",
        "learning_rate = 0.0001",
        "weight_decay = 0.0005",
        "epochs = 50",
    ];
    holds("affinity-triplet", &dutta);
    // Behind a network the first neighbours are those of its rows, unless a recipe says another.
    let behind = |more: &str| {
        let text = format!(
            "base = \"affinity-triplet\"\nlearner.model = {{ kind = \"network\", encoder = {{ name = \"mnist\" }} }}\n{more}"
        );
        let recipe = Recipe::from_toml(&text).unwrap();
        match recipe.pseudo_labels {
            PseudoLabels::Affinity(affinity) => affinity.on,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(behind(""), On::Model);
    assert_eq!(behind("pseudo_labels.on = \"embedding\""), On::Embedding);
}
