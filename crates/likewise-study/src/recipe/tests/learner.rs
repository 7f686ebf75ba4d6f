//! Learners by gradients: one loss or several, and a metric in its place.

use likewise_nn::loss::Loss;

use super::*;

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
    // A list takes the place of a list.
    let over = recipe.with("learner.loss = [{ name = 'center' }]".parse().unwrap());
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
        ("metric = { k = 0 }", "learner.metric.k = 0"),
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

#[test]
fn what_is_wrong_with_a_learner_is_told_by_its_path_in_the_file() {
    for (text, expected) in [
        (
            "base = 'itml'\nlearner.gamma = -2.0",
            "learner.gamma = -2: ",
        ),
        (
            "base = 'dml-eig'\nlearner.smoothing = -1.0",
            "learner.smoothing = -1: ",
        ),
        ("base = 'omks'\nlearner.beta = 1.5", "learner.beta = 1.5: "),
        (
            "base = 'explicit-omks'\nlearner.beta = 3.0",
            "learner.beta = 3: ",
        ),
        (
            "base = 'apit'\nlearner.prior.gamma = -1.0",
            "learner.prior.gamma = -1: ",
        ),
        (
            "base = 'lcmf'\nlearner.max_sweeps = 0",
            "learner.max_sweeps = 0: ",
        ),
        (
            "base = 'omks'\nlearner.kernels = [{ kind = 'polynomial', degree = 2, offset = 1.0 }, \
             { kind = 'rbf', width = { fixed = -1.0 } }]",
            "learner.kernels[1].width = -1: ",
        ),
        (
            "base = 'itml'\nlearner.gamma = nan",
            "learner.gamma: is no finite number",
        ),
        (
            "base = 'oasis'\nlearner.aggressiveness = inf",
            "learner.aggressiveness: is no finite number",
        ),
    ] {
        let said = Recipe::from_toml(text).unwrap_err().to_string();
        assert!(said.starts_with(expected), "{text}: {said}");
    }
}

#[test]
fn warnings_call_settings_as_the_recipe_does() {
    use std::sync::{Arc, Mutex};

    use likewise::{Event, Monitor};

    let said = |recipe: &str, warning: &str| {
        let heard = Arc::new(Mutex::new(String::new()));
        let to = heard.clone();
        let outer = Monitor::new(move |event: &Event| {
            if let Event::Warning(text) = event {
                to.lock().unwrap().clone_from(text);
            }
        });
        let recipe = Recipe::named(recipe).unwrap();
        recipe.learner.monitor(&outer).warn(warning);
        let heard = heard.lock().unwrap();
        heard.clone()
    };
    let of_itml = "it still changed; lower itml.gamma, or raise itml.sweeps";
    for (recipe, warning, expected) in [
        ("lrml", "lrml.gamma_d = 1: 0.5", "learner.gamma_d = 1: 0.5"),
        (
            "deep-lrml",
            "lrml.gamma_d = 1: 0.5",
            "learner.metric.gamma_d = 1: 0.5",
        ),
        (
            "itml",
            of_itml,
            "it still changed; lower learner.gamma, or raise learner.sweeps",
        ),
        (
            "deep-apit",
            of_itml,
            "it still changed; lower learner.metric.prior.gamma, or raise learner.metric.prior.sweeps",
        ),
        ("affinity+seph", "seph.sample", "learner.sample"),
        ("mixed-lp", "lrml.gamma_d = 1", "lrml.gamma_d = 1"),
    ] {
        assert_eq!(said(recipe, warning), expected, "{recipe}");
    }
}
