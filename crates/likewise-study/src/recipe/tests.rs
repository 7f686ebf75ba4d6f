use likewise_nn::loss::Loss;
use likewise_nn::lpf::{CenterRule, Check};
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
fn what_a_learner_does_not_read_is_refused() {
    for (text, field) in [
        ("rounds = { epochs = 0, keep = 'best' }", "rounds.keep"),
        ("rounds = { keep = 'last', folds = 5 }", "rounds.folds"),
        (
            "rounds.epochs = 0\nlearner.train.batch = 9",
            "learner.train",
        ),
        (
            "pseudo_labels.spread = { method = 'lpdr', search = { beta = 2 } }",
            "pseudo_labels.spread.search.beta",
        ),
        (
            "pseudo_labels.spread = { method = 'lpdr', search = { mass = 'uniform' } }",
            "pseudo_labels.spread.search.mass",
        ),
        (
            "base = \"label-probabilities\"\nstart = { shrinkage = 0.1 }",
            "start.shrinkage",
        ),
        (
            "base = \"label-probabilities\"\nstart = { center = 0.3 }",
            "start.center",
        ),
        (
            "base = \"label-probabilities\"\nstart = { rank = 5 }",
            "start.rank",
        ),
        (
            "base = \"lda\"\nstart = { shrinkage = 0.1 }",
            "start.shrinkage",
        ),
        (
            "base = \"logistic\"\nlearner = { share = 0.0, strength = 3.0 }",
            "learner.logistic.strength",
        ),
        (
            "base = \"mixed-lp\"\npseudo_labels = { confidence = \"plain\", confidence_power = 0 }",
            "pseudo_labels.confidence",
        ),
    ] {
        let refused = Recipe::from_toml(text).and_then(|recipe| recipe.validate());
        let said = refused.unwrap_err().to_string();
        assert!(
            said.starts_with(field) && said.contains("no effect"),
            "{said}"
        );
    }
    for text in [
        "pseudo_labels.spread = { method = 'lpdr', search = { lambda = 2 } }",
        "base = \"probabilities\"\nstart = { shrinkage = 0.1, rank = 5 }",
        "base = \"lda\"\nstart = { rank = 5, center = 0.8 }",
        "base = \"label-rca\"\nstart = { shrinkage = 0.1 }",
    ] {
        Recipe::from_toml(text).unwrap().validate().unwrap();
    }
}

#[test]
fn votes_are_named_by_one_word_or_by_a_table() {
    let short = Recipe::from_toml("base = 'rca'\npseudo_labels = 'votes'").unwrap();
    let long = "base = 'rca'\npseudo_labels = { kind = 'votes' }";
    assert_eq!(Recipe::from_toml(long).unwrap(), short);
    assert_eq!(short.pseudo_labels, Voting::default().into());
    let text = "base = 'oasis'\n[pseudo_labels]\nkind = 'votes'\ntriplets = {}\n\
                votes = { classifiers = ['forest', { kind = 'nearest-neighbor', metric = { kind = 'itml' } }] }";
    let recipe = Recipe::from_toml(text).unwrap();
    let PseudoLabels::Votes(voting) = &recipe.pseudo_labels else {
        panic!("{:?}", recipe.pseudo_labels)
    };
    assert!(voting.triplets.is_some());
    let written = toml::to_string(&recipe).unwrap();
    assert_eq!(Recipe::from_toml(&written).unwrap(), recipe, "{written}");
    let wrong = [
        (
            "base = 'rca'\npseudo_labels = { kind = 'votes', triplets = {} }",
            "pseudo_labels.triplets",
        ),
        (
            "base = 'proxy-anchor'\npseudo_labels = { kind = 'votes', triplets = {} }",
            "pseudo_labels.triplets",
        ),
        (
            "base = 'triplet'\npseudo_labels = { kind = 'votes', triplets = { most = 0 } }",
            "pseudo_labels.triplets.most",
        ),
        (
            "base = 'triplet'\npseudo_labels = { kind = 'votes', triplets = {} }\nlearner.sampler = { name = 'plain' }",
            "learner.sampler",
        ),
        (
            "base = 'triplet'\npseudo_labels = { kind = 'votes', triplets = {} }\nlearner.miner = { name = 'hard' }",
            "miner",
        ),
        (
            "base = 'oasis'\npseudo_labels = { kind = 'votes', triplets = {}, reliable = false }",
            "pseudo_labels.reliable",
        ),
        (
            "base = 'rca'\npseudo_labels = { kind = 'votes', votes = { share = 2.0 } }",
            "pseudo_labels.votes.share",
        ),
        (
            "base = 'oasis'\npseudo_labels = { kind = 'votes', triplets = {}, votes = { classifiers = ['forest'] } }",
            "pseudo_labels.votes.classifiers",
        ),
        (
            "base = 'rca'\npseudo_labels = { kind = 'votes', votes = { classifiers = ['nosuch'] } }",
            "no classifier",
        ),
        (
            "base = 'rca'\npseudo_labels = { kind = 'votes', confidence = 'plain', confidence_power = 0 }",
            "pseudo_labels.confidence",
        ),
        (
            "base = 'rca'\npseudo_labels = { kind = 'votes' }\nrounds.epochs = 3",
            "rounds.epochs",
        ),
    ];
    for (text, part) in wrong {
        let said = Recipe::from_toml(text).and_then(|recipe| recipe.validate());
        let said = said.expect_err(text).to_string();
        assert!(said.contains(part), "{text}: {said}");
    }
    assert!(short.clone().set_neighbors(3).is_err());
}

#[test]
fn predicted_labels_in_one_word_and_with_their_settings() {
    let short = Recipe::from_toml("base = 'itml'\npseudo_labels = 'lpf'").unwrap();
    let PseudoLabels::Lpf(prediction) = &short.pseudo_labels else {
        panic!("it predicts");
    };
    assert_eq!(**prediction, Prediction::default());
    let text = toml::to_string(&short).unwrap();
    assert_eq!(Recipe::from_toml(&text).unwrap(), short, "{text}");
    let json = serde_json::to_string(&short).unwrap();
    assert_eq!(serde_json::from_str::<Recipe>(&json).unwrap(), short);
    let with = |fields: &str| {
        let text = format!("pseudo_labels = {{ kind = 'lpf', {fields} }}");
        Recipe::from_toml(&text)
    };
    let all = "check = 'all', threshold = 0.8, centers = { name = 'wen', alpha = 1 }, \
               first = { epochs = 9 }, max_per_class = 7, confidence_power = 2";
    let recipe = with(all).unwrap();
    let PseudoLabels::Lpf(prediction) = recipe.pseudo_labels else {
        panic!("it predicts");
    };
    let lpf = &prediction.lpf;
    assert_eq!((lpf.first.epochs, lpf.max_per_class), (9, Some(7)));
    assert_eq!(lpf.centers, CenterRule::Wen { alpha: 1.0 });
    assert_eq!((lpf.check, lpf.threshold), (Check::All, 0.8));
    for (fields, field) in [
        ("hidden = 0", "pseudo_labels.hidden = 0"),
        ("first = { rate = 0 }", "pseudo_labels.first.rate = 0"),
        (
            "iterations = 1, update_means = true",
            "pseudo_labels.update_means",
        ),
        (
            "confidence_power = -1",
            "pseudo_labels.confidence_power = -1",
        ),
        ("labeled_epochs = 99999", "rounds.epochs"),
        ("graph = { k = 3 }", "pseudo_labels.graph: unknown field"),
        ("first = { steps = 3 }", "unknown field `steps`"),
        ("check = 'some'", "some"),
    ] {
        let said = with(fields).unwrap_err().to_string();
        assert!(said.contains(field), "{fields}: {said}");
    }
    assert!(short.clone().set_neighbors(3).is_err());
}

#[test]
fn clusters_in_one_word_and_with_their_settings() {
    let short = Recipe::from_toml("base = 'rca'\npseudo_labels = 'clusters'").unwrap();
    assert_eq!(
        short.pseudo_labels,
        PseudoLabels::Clusters(Clusters::default())
    );
    assert!(short.needs_no_label() && short.clone().set_neighbors(3).is_err());
    let written = toml::to_string(&short).unwrap();
    assert_eq!(Recipe::from_toml(&written).unwrap(), short, "{written}");
    let with = |base: &str, fields: &str| {
        let text = format!("base = '{base}'\npseudo_labels = {{ kind = 'clusters', {fields} }}");
        Recipe::from_toml(&text)
    };
    let all = "clusters = 9, on = 'embedding', every = 3, dim = 8, iterations = 5, labels = 'name'";
    let recipe = with("triplet", all).unwrap();
    assert_eq!(recipe.pseudo_labels.since(7), 7);
    assert_eq!(recipe.pseudo_labels.since(6), 4);
    assert_eq!(recipe.pseudo_labels.own_classes(100, 10), Some(19));
    for (base, fields, field) in [
        ("triplet", "clusters = 0", "pseudo_labels.clusters = 0"),
        ("triplet", "per_class = 0", "pseudo_labels.per_class = 0"),
        ("triplet", "every = 0", "pseudo_labels.every = 0"),
        ("triplet", "dim = 0", "pseudo_labels.dim = 0"),
        ("triplet", "iterations = 0", "pseudo_labels.iterations = 0"),
        ("triplet", "labels = 'learn'", "learn"),
        ("triplet", "on = 'model'", "pseudo_labels.on"),
        ("triplet", "on = 'start', every = 2", "pseudo_labels.every"),
        (
            "triplet",
            "clusters = 9, per_class = 2",
            "pseudo_labels.per_class",
        ),
        ("gsph", "on = 'start'", "pseudo_labels.labels = judge"),
        ("gsph", "labels = 'name'", "on = \"start\""),
        ("triplet", "k = 3", "unknown field `k`"),
    ] {
        let said = with(base, fields).unwrap_err().to_string();
        assert!(said.contains(field), "{fields}: {said}");
    }
    with("gsph", "on = 'start', labels = 'name'").unwrap();
}

#[test]
fn items_and_turns_as_classes_ask_for_a_learner_that_can() {
    let with = |base: &str, word: &str, more: &str| {
        let text = format!("base = '{base}'\npseudo_labels = '{word}'\n{more}");
        Recipe::from_toml(&text).map(|recipe| recipe.pseudo_labels.kind())
    };
    let network = "learner.model = { kind = 'network', encoder = { name = 'mnist' } }";
    let augmented = "learner.model = { kind = 'network', encoder = { name = 'mnist' }, \
                     tuning = { augment = true } }";
    for (base, word, more) in [
        ("proxy-anchor", "instances", ""),
        ("nce", "clusters", ""),
        ("dec", "instances", ""),
        ("nt-xent", "instances", augmented),
        ("nt-xent", "rotations", network),
        ("rotnet", "rotations", ""),
    ] {
        assert_eq!(with(base, word, more).unwrap(), word);
    }
    for (base, word, more, part) in [
        ("triplet", "instances", "", "no two items that are alike"),
        (
            "nt-xent",
            "instances",
            network,
            "no two items that are alike",
        ),
        ("rca", "instances", "", "nothing to learn"),
        ("rca", "rotations", "", "features have no turns"),
        ("proxy-anchor", "rotations", "", "features have no turns"),
        ("gsph", "instances", "", "take another source"),
    ] {
        let said = with(base, word, more).unwrap_err().to_string();
        assert!(
            said.starts_with("pseudo_labels.kind") && said.contains(part),
            "{base}, {word}: {said}"
        );
    }
    let text = "base = 'nce'\npseudo_labels = { kind = 'instances', k = 3 }";
    let said = Recipe::from_toml(text).unwrap_err().to_string();
    assert!(said.contains("unknown field"), "{said}");
}

#[test]
fn pseudo_labels_of_one_word_are_a_propagation() {
    let short = Recipe::from_toml("base = 'itml'\npseudo_labels = 'lgc'").unwrap();
    let long =
        "base = 'itml'\npseudo_labels = { kind = 'propagation', spread = { method = 'lgc' } }";
    assert_eq!(short, Recipe::from_toml(long).unwrap());
    let propagation = short.pseudo_labels.propagation().unwrap();
    assert_eq!(propagation.spread.name(), "lgc");
    let said = Recipe::from_toml("pseudo_labels = 'nosuch'").unwrap_err();
    assert!(said.to_string().contains("kind = \"nosuch\""), "{said}");
}

#[test]
fn a_start_is_a_word_or_a_table() {
    let start = |text: &str| Recipe::from_toml(text).map(|recipe| recipe.start);
    let given = start("base = 'rca'").unwrap();
    assert!(given.as_given);
    assert_eq!(start("start = 'as-given'").unwrap(), given);
    let base = "base = 'rca'\n";
    for (text, expected) in [
        ("start = 'whitened'", StartConfig::default()),
        ("start = 'unit'", StartConfig::unit_rows()),
        ("start = 'centred'", StartConfig::centred()),
        (
            "start = { rank = 9 }",
            StartConfig {
                rank: 9,
                ..StartConfig::default()
            },
        ),
    ] {
        assert_eq!(start(&format!("{base}{text}")).unwrap(), expected);
    }
    let said = start("start = 'nosuch'").unwrap_err().to_string();
    assert!(said.contains("as-given, unit, centred, whitened"), "{said}");
    assert!(start("start = 3").is_err() && start("start = { nosuch = 1 }").is_err());
}

#[test]
fn a_file_changes_what_it_says_and_nothing_else() {
    let text = r#"
        base = "affinity-triplet"
        pseudo_labels = { kind = "propagation", spread = { method = "lgc" } }
        [learner]
        loss = { name = "triplet", margin = 0.2 }
        model = { keep = 0.25 }
    "#;
    let recipe = Recipe::from_toml(text).unwrap();
    let base = Recipe::affinity_triplet();
    let (own, before) = (gradient(&recipe), gradient(&base));
    assert_eq!(
        own.model,
        ModelConfig::Orthogonal(Orthogonal {
            keep: 0.25,
            ..Orthogonal::default()
        })
    );
    assert_eq!((&own.train, &recipe.rounds), (&before.train, &base.rounds));
    let propagation = recipe.pseudo_labels.propagation().unwrap();
    assert_eq!(
        (own.loss.title().as_str(), propagation.spread.name()),
        ("triplet", "lgc")
    );
    let encoder = "learner.model = { kind = 'network', \
                   encoder = { name = 'mnist', head = { kind = 'linear', dim = 32 } } }";
    let recipe = Recipe::from_toml(encoder).unwrap();
    assert_eq!(recipe.encoder().unwrap().output_dim(), 32);
    // What gradients move is another; what they follow stays.
    assert_eq!(gradient(&recipe).loss, gradient(&Recipe::default()).loss);
    let said = |text: &str| Recipe::from_toml(text).unwrap_err().to_string();
    assert!(said("base = 'nosuch'").contains("there are: mixed-lp"));
    assert!(said("learner.loss = { name = 'triplet', marginn = 1 }").contains("marginn"));
    let few = "learner.sampler = { name = 'per-class', per_class = 1 }";
    assert!(said(few).contains("learner.sampler.per_class = 1"));
    assert!(said("learner = { kind = 'nosuch' }").contains("gradient, apit, apllr, cfs"));
}

#[test]
fn one_loss_is_a_table_and_several_are_a_list() {
    let list = "[[learner.loss]]\nname = 'proxy-anchor'\nscale = 16.0\n\
                [[learner.loss]]\nname = 'triplet'\n\
                [[learner.loss]]\nname = 'similarity-regularizer'\nweight = 0.1\n";
    let recipe = Recipe::from_toml(list).unwrap();
    let title = "proxy-anchor + triplet + 0.1 similarity-regularizer";
    assert_eq!(gradient(&recipe).loss.title(), title);
    // Written down, it reads as the same.
    let written = toml::to_string(&recipe).unwrap();
    assert_eq!(Recipe::from_toml(&written).unwrap(), recipe, "{written}");
    let json = serde_json::to_string(&recipe).unwrap();
    assert_eq!(serde_json::from_str::<Recipe>(&json).unwrap(), recipe);
    // A list of one is that one, and is written as ever.
    let one = |text: &str| Recipe::from_toml(text).unwrap();
    let table = one("[learner.loss]\nname = 'proxy-anchor'\nscale = 16.0");
    let of_one = one("[[learner.loss]]\nname = 'proxy-anchor'\nscale = 16.0\nweight = 1");
    assert_eq!(of_one, table);
    let json = serde_json::to_value(&of_one).unwrap();
    let expected = serde_json::json!({"name": "proxy-anchor", "scale": 16.0, "margin": 0.1});
    assert_eq!(json["learner"]["loss"], expected);
    // A list takes the place of a table, and a table of a list.
    let over = recipe.with("learner.loss = { name = 'center' }".parse().unwrap());
    assert_eq!(
        gradient(&over.unwrap()).loss,
        Loss::named("center").unwrap().into()
    );
    let said = |text: &str| Recipe::from_toml(text).unwrap_err().to_string();
    let term = |fields: &str| format!("[[learner.loss]]\n{fields}\n");
    for (text, expected) in [
        (
            "learner.loss = []".to_owned(),
            "learner.loss = []: must name",
        ),
        (
            term("name = 'triplet'").repeat(2),
            "stands in the list already",
        ),
        (
            term("name = 'triplet'\nweight = 0"),
            "learner.loss.weight = 0: must be above 0",
        ),
        (term("name = 'triplet'\nweight = nan"), "loss.weight"),
        (term("name = 'triplet'\nmarginn = 1"), "marginn"),
        (term("name = 'center'\nwidth = 1"), "width"),
        (
            "learner.loss = { name = 'similarity-regularizer' }".into(),
            "learner.loss = similarity-regularizer: learns nothing alone",
        ),
        (
            "base = 'similarity-regularizer'".into(),
            "stands beside another loss",
        ),
        (
            term("name = 'center'") + "[learner.miner]\nname = 'hard'",
            "learner.miner = hard: the loss center compares with proxies",
        ),
        (
            term("name = 'center'") + "[learner.train]\nmemory = 9",
            "learner.train.memory = 9: must be 0 for the loss center",
        ),
        (
            format!("{list}[learner]\nminer = {{ name = 'hard' }}\ntrain = {{ memory = 9 }}"),
            "learner.train.memory = 9: must be 0 beside a miner",
        ),
        (
            format!("base = 'affinity-triplet'\n{list}[learner.miner]\nname = 'hard'"),
            "learner.miner = hard: has no effect beside the triplets",
        ),
    ] {
        let said = said(&text);
        assert!(said.contains(expected), "{text}: {said}");
    }
    // Beside one of pairs, miner and memory have what they are for.
    for more in [
        "[learner.miner]\nname = 'hard'",
        "[learner.train]\nmemory = 9",
    ] {
        assert!(Recipe::from_toml(&format!("{list}{more}")).is_ok());
    }
}

#[test]
fn a_metric_stands_in_the_place_of_a_loss() {
    let recipe = Recipe::named("deep-lrml").unwrap();
    assert_eq!(gradient(&recipe).title(), "of lrml behind the embedding");
    let own = "base = 'deep-lrml'\nlearner.metric = { every = 3, k = 5 }";
    let own = Recipe::from_toml(own).unwrap();
    let metric = gradient(&own).metric.unwrap();
    assert_eq!((metric.every, metric.partition, metric.dim), (3, 9000, 64));
    let beside = "base = 'mixed-lp'\nlearner.metric = { kind = 'seraph', entropy = 2.0 }";
    assert!(Recipe::from_toml(beside).is_ok());
    let said = |text: &str| Recipe::from_toml(text).unwrap_err().to_string();
    for (text, expected) in [
        ("loss = { name = 'triplet' }", "learner.loss: has no effect"),
        (
            "train.proxy_factor = 2.0",
            "learner.train.proxy_factor: has no effect",
        ),
        (
            "train.memory = 9",
            "learner.train.memory = 9: has no effect beside the metric",
        ),
        (
            "miner = { name = 'hard' }",
            "learner.miner = hard: has no effect beside the metric",
        ),
        (
            "metric = { every = 0 }",
            "learner.metric.every = 0: must be at least 1",
        ),
        ("metric = { k = 0 }", "learner.metric.lrml.k = 0"),
        ("metric = { kk = 3 }", "kk"),
        ("metric = { kind = 'rca' }", "rca"),
        (
            "model = { kind = 'orthogonal' }",
            "learner.metric.kind = lrml: stands behind",
        ),
    ] {
        let said = said(&format!("base = 'deep-lrml'\nlearner.{text}"));
        assert!(said.contains(expected), "{text}: {said}");
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
fn a_network_in_the_place_of_a_map_has_it_behind() {
    let with = |encoder: &str, more: &str| {
        let text = format!(
            "base = 'affinity-triplet'\n\
             learner.model = {{ kind = 'network', encoder = {{ {encoder} }}{more} }}"
        );
        let recipe = Recipe::from_toml(&text).unwrap();
        recipe.learner.network().unwrap().map
    };
    let dim = |map: Option<Orthogonal>| map.map(|map| map.dim);
    assert_eq!(dim(with("name = 'mnist'", "")), Some(64));
    assert_eq!(
        dim(with("name = 'mnist'", ", map = { dim = 32 }")),
        Some(32)
    );
    let whitened = "name = 'mnist', head = { kind = 'whitened', dim = 8 }";
    assert_eq!(with(whitened, ""), None);
    let plain = "learner.model = { kind = 'network', encoder = { name = 'mnist' } }";
    let recipe = Recipe::from_toml(plain).unwrap();
    assert_eq!(recipe.learner.network().unwrap().map, None);
}

fn gradient(recipe: &Recipe) -> &GradientConfig {
    recipe.learner.gradient().unwrap()
}

#[test]
fn a_stage_is_written_in_one_way() {
    let said = |text: &str| Recipe::from_toml(text).unwrap_err().to_string();
    for (text, right) in [
        ("learner.loss = 'triplet'", "{ name = \"triplet\" }"),
        ("learner = 'rca'", "{ kind = \"rca\" }"),
        ("pseudo_labels = 'none'", "{ kind = \"none\" }"),
        ("learner.model = 'mlp'", "{ kind = \"mlp\" }"),
        ("pseudo_labels.spread = 'lgc'", "{ method = \"lgc\" }"),
    ] {
        let (path, _) = text.split_once(" = ").unwrap();
        let message = said(text);
        assert!(
            message.ends_with(&format!("write {path} = {right}")),
            "{message}"
        );
    }
    for method in likewise::propagate::Method::NAMES {
        let text = format!("pseudo_labels.spread = {{ method = '{method}' }}");
        let recipe = Recipe::from_toml(&text).unwrap();
        let propagation = recipe.pseudo_labels.propagation().unwrap();
        assert_eq!(propagation.spread.name(), *method);
    }
    // The kind that is there already keeps its other settings.
    let same = "base = 'mixed-lp-paper'\npseudo_labels = { kind = 'propagation' }";
    let paper = Recipe::from_toml("base = 'mixed-lp-paper'").unwrap();
    assert_eq!(Recipe::from_toml(same).unwrap(), paper);
}

#[test]
fn fields_that_a_kind_does_not_have_are_refused_also_where_it_has_none() {
    for (text, field) in [
        (
            "pseudo_labels = { kind = 'none', graph = { k = 3 } }",
            "pseudo_labels.graph",
        ),
        (
            "learner.sampler = { name = 'plain', per_class = 8 }",
            "learner.sampler.per_class",
        ),
        (
            "learner.train.schedule = { name = 'cosine', every = 3 }",
            "learner.train.schedule.every",
        ),
    ] {
        let said = Recipe::from_toml(text).unwrap_err().to_string();
        assert!(said.starts_with(&format!("{field}: unknown")), "{said}");
    }
    for (text, field) in [
        ("pseudo_labels.every = 5", "every"),
        (
            "base = 'triplet'\npseudo_labels.labeled_epochs = 2",
            "labeled_epochs",
        ),
        ("base = 'triplet'\npseudo_labels.on = 'embedding'", "on"),
        (
            "pseudo_labels = { kind = 'oracle', confidence_power = 1 }",
            "confidence_power",
        ),
        ("learner.model.tuning = { augment = true }", "tuning"),
        ("learner.model.fit = { max_iterations = 0 }", "fit"),
        ("learner.model = { kind = 'linear', hidden = 12 }", "hidden"),
        (
            "base = 'mixed-rca'\nlearner.loss = { name = 'triplet' }",
            "loss",
        ),
        (
            "learner.train.optimizer = { name = 'sgd', momentum = 0, epsilon = 1.0 }",
            "epsilon",
        ),
        (
            "learner.model = { kind = 'network', encoder = { name = 'mnist', \
             head = { kind = 'none', dim = 64 } } }",
            "dim",
        ),
    ] {
        let said = Recipe::from_toml(text).unwrap_err().to_string();
        assert!(
            said.contains(field) && said.contains("unknown"),
            "{text}: {said}"
        );
    }
}

#[test]
fn stages_that_leave_a_setting_without_effect_are_refused() {
    let tuned = |rest: &str, more: &str| {
        format!(
            "learner.model = {{ kind = 'network', encoder = {{ name = 'mnist', \
             head = {{ kind = 'linear', dim = 8 }} }}{rest} }}{more}"
        )
    };
    for (text, field) in [
        (
            "learner.train.memory = 64".into(),
            "learner.train.memory = 64",
        ),
        (
            "learner.miner = { name = 'semihard' }".into(),
            "learner.miner",
        ),
        (
            "base = 'affinity-triplet'\nlearner.miner = { name = 'semihard' }".into(),
            "learner.miner",
        ),
        (
            "base = 'affinity-triplet'\nlearner.train.memory = 9".into(),
            "learner.train.memory",
        ),
        (tuned(", keep = 0.5", ""), "learner.model.keep"),
        (
            tuned(", map = { keep = 0.5 }", ""),
            "learner.model.map.keep",
        ),
        (tuned("", "\nstart.power = 0.5"), "start.power"),
        ("pseudo_labels.on = 'model'".into(), "pseudo_labels.on"),
        (
            "start.rank = 9\nlearner.model = { kind = 'network', encoder = { name = 'mnist', \
             head = { kind = 'whitened', dim = 8 } } }"
                .into(),
            "start.rank",
        ),
    ] {
        let said = Recipe::from_toml(&text).unwrap_err().to_string();
        assert!(said.starts_with(field), "{text}: {said}");
    }
    let first = tuned("", "\npseudo_labels.on = 'model'");
    assert!(Recipe::from_toml(&first).is_ok());
}

#[test]
fn what_is_given_to_several_recipes_need_not_suit_each() {
    let shared = toml::toml! {
        pseudo_labels = { every = 5 }
        rounds = { epochs = 3 }
    };
    let (recipe, passed) = Recipe::default().with_shared(&shared).unwrap();
    assert_eq!(recipe.rounds.epochs, 3);
    assert_eq!(passed.len(), 1);
    assert_eq!(passed[0].0, "pseudo_labels.every");
    let (recipe, passed) = Recipe::affinity_triplet().with_shared(&shared).unwrap();
    assert!(passed.is_empty());
    let PseudoLabels::Affinity(affinity) = recipe.pseudo_labels else {
        panic!("it has affinities");
    };
    assert_eq!(affinity.every, 5);
}

#[test]
fn a_setting_that_changes_nothing_is_refused() {
    let lone = "base = 'affinity-triplet'\n";
    let network = "learner.model = { kind = 'network', encoder = { name = 'mnist' } }\n";
    for (text, field) in [
        (
            "learner.train.learning_rate = 0.1",
            "learner.train.learning_rate",
        ),
        (
            "learner.train.proxy_factor = 2",
            "learner.train.proxy_factor",
        ),
        (
            "pseudo_labels.confidence_power = 1",
            "pseudo_labels.confidence_power",
        ),
        ("learner.sampler = { name = 'plain' }", "learner.sampler"),
    ] {
        let said = Recipe::from_toml(&format!("{lone}{text}")).unwrap_err();
        let begins = format!("{field}: has no effect");
        assert!(said.to_string().starts_with(&begins), "{said}");
        let (same, passed) = (Recipe::affinity_triplet())
            .with_shared(&text.parse().unwrap())
            .unwrap();
        assert_eq!((same, passed.len()), (Recipe::affinity_triplet(), 1));
    }
    let spread = "pseudo_labels.spread = { method = 'manifold', lambda = 3 }";
    let said = Recipe::from_toml(spread).unwrap_err().to_string();
    assert!(
        said.starts_with("pseudo_labels.spread.lambda: has no effect"),
        "{said}"
    );
    let moved = "learner.train.learning_rate = 0.1";
    assert!(Recipe::from_toml(&format!("{lone}{network}{moved}")).is_ok());
    let proxies = "learner.loss = { name = 'proxy-anchor' }\nlearner.train.proxy_factor = 2";
    assert!(Recipe::from_toml(&format!("{lone}{proxies}")).is_ok());
}

#[test]
fn a_network_embeds_in_as_many_dimensions_as_the_head_it_replaces() {
    let network = |base: &str, more: &str| {
        let text = format!(
            "base = '{base}'\nlearner.model = {{ kind = 'network', encoder = {{ name = \
             'mnist'{more} }} }}"
        );
        Recipe::from_toml(&text).unwrap().encoder().unwrap().head
    };
    let dim = |dim| EmbeddingConfig::Linear {
        dim,
        layer_norm: false,
    };
    assert_eq!(network("mixed-lp-paper", ""), dim(64));
    let own = ", head = { kind = 'linear', dim = 9 }";
    assert_eq!(network("mixed-lp-paper", own), dim(9));
    assert_eq!(network("mixed-lp", ""), EmbeddingConfig::None);
}

#[test]
fn pseudo_labels_that_would_come_after_the_last_epoch_are_refused() {
    let said = |text: &str| Recipe::from_toml(text).unwrap_err().to_string();
    let short = "base = 'mixed-lp-paper'\nrounds = { epochs = 5 }";
    assert!(said(short).starts_with("rounds.epochs = 5: must be above"));
    // As a command does that takes the epochs alone.
    let mut paper = Recipe::paper();
    paper.rounds.epochs = 4;
    assert!(paper.validate().is_err());
    paper.rounds.epochs = 6;
    assert!(paper.validate().is_ok());
    let labels = "base = 'mixed-lp-paper'\npseudo_labels = { kind = 'none' }\n\
                  rounds = { epochs = 4 }";
    assert!(Recipe::from_toml(labels).is_ok());
}

#[test]
fn labels_go_along_mutual_neighbours_where_the_method_asks_for_them() {
    let symmetrize = |text: &str| {
        let recipe = Recipe::from_toml(text).unwrap();
        let graph = &recipe.pseudo_labels.propagation().unwrap().graph;
        let json = serde_json::to_value(graph).unwrap();
        json["symmetrize"].to_string()
    };
    for text in [
        "base = 'dssml'",
        "pseudo_labels = { spread = { method = 'dssml' } }",
        "base = 'contextual'\n\
         pseudo_labels = { kind = 'propagation', spread = { method = 'dssml' }, graph = { k = 7 } }",
    ] {
        assert_eq!(symmetrize(text), "\"mutual\"", "{text}");
    }
    assert_eq!(
        symmetrize("pseudo_labels = { spread = { method = 'lgc' } }"),
        r#"{"one_sided":0.1}"#
    );
    let own = "pseudo_labels = { spread = { method = 'dssml' }, graph = { symmetrize = 'sum' } }";
    assert_eq!(symmetrize(own), "\"sum\"");
}

#[test]
fn affinity_triplets_begin_on_unit_rows_and_behind_networks_as_others_do() {
    let unit = StartConfig::unit_rows();
    assert_eq!(Recipe::affinity_triplet().start, unit);
    let read = |text: &str| Recipe::from_toml(&format!("base = 'affinity-triplet'\n{text}"));
    assert_eq!(read("start.rank = 30").unwrap().start.rank, 30);
    assert_eq!(read("start = 'unit'").unwrap().start, unit);
    assert_eq!(
        read("start = 'whitened'").unwrap().start,
        StartConfig::default()
    );
    let network = "learner.model = { kind = 'network', encoder = { name = 'mnist' } }\n";
    assert_eq!(read(network).unwrap().start, StartConfig::default());
    let said = read(&format!("{network}start.rank = 30")).unwrap().start;
    assert_eq!((said.rank, said.unit), (30, false));
    let refused = read(&format!("{network}start.unit = true")).unwrap_err();
    assert!(refused.to_string().contains("start.unit"), "{refused}");
    // One that an experiment gives to all of its recipes stays.
    let shared = "start.rank = 30".parse().unwrap();
    let (shared, _) = Recipe::affinity_triplet().with_shared(&shared).unwrap();
    let behind = shared.with(network.parse().unwrap()).unwrap();
    assert_eq!((behind.start.rank, behind.start.unit), (30, false));
}

#[test]
fn a_map_that_could_only_turn_the_start_is_told_of() {
    let recipe = Recipe::affinity_triplet();
    assert!(recipe.idle(64).unwrap().contains("only turns"));
    assert!(recipe.idle(65).is_none());
    assert!(Recipe::default().idle(10).is_none());
}

#[test]
fn neighbours_are_those_of_the_graph_or_of_the_affinities() {
    let mut recipe = Recipe::default();
    recipe.set_neighbors(7).unwrap();
    assert_eq!(recipe.spreading(10).graph.n_neighbors(), 7);
    let mut recipe = Recipe::label_rca();
    let said = recipe.set_neighbors(7).unwrap_err().to_string();
    assert!(
        said.contains("the recipe label-rca has no neighbours"),
        "{said}"
    );
    // What a run believes is told all the same, over a graph that suits so few items.
    assert_eq!(recipe.spreading(60).graph.n_neighbors(), 6);
}

#[test]
fn a_file_gives_its_name_unless_it_says_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Recipe::read(&path)
    };
    assert_eq!(read("base = 'triplet'").unwrap().name, "mine");
    assert_eq!(read("name = 'other'").unwrap().name, "other");
    let said = read("learner.loss = 3").unwrap_err().to_string();
    assert!(said.contains("mine.toml: "), "{said}");
    let missing = Recipe::read(&folder.path().join("no.toml")).unwrap_err();
    assert!(missing.to_string().contains("no.toml"));
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
