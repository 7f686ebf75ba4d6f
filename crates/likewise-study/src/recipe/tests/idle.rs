//! Settings that change nothing beside the others: most are refused, and one is told of.

use super::*;

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
            "learner.strength",
        ),
        ("base = 'mcfs'\npseudo_labels = 'votes'", "pseudo_labels"),
        ("base = 'pca'\npseudo_labels = 'clusters'", "pseudo_labels"),
        ("base = 'emr'\npseudo_labels = 'lpf'", "pseudo_labels"),
        (
            "base = 'laplacian-score'\npseudo_labels = { kind = 'affinity' }",
            "pseudo_labels",
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
        "base = 'emr'\npseudo_labels = 'lgc'",
        "base = 'pca'\npseudo_labels = { kind = 'none' }",
    ] {
        Recipe::from_toml(text).unwrap().validate().unwrap();
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
    for of_memory in ["proxy_factor = 2", "proxy_decay = 0.5"] {
        let nce = format!("base = 'nce'\nlearner.train.{of_memory}");
        let said = Recipe::from_toml(&nce).unwrap_err().to_string();
        assert!(
            said.contains("has no effect: no gradient moves the memory"),
            "{said}"
        );
    }
    let moved = "learner.train.learning_rate = 0.1";
    assert!(Recipe::from_toml(&format!("{lone}{network}{moved}")).is_ok());
    let proxies = "learner.loss = { name = 'proxy-anchor' }\nlearner.train.proxy_factor = 2";
    assert!(Recipe::from_toml(&format!("{lone}{proxies}")).is_ok());
}

#[test]
fn a_parameter_that_its_loss_does_not_use_is_refused() {
    let contextual = "name = 'contextual', lambda = 1, gamma = 0";
    for (loss, path) in [
        (
            format!("{{ {contextual}, negative_margin = 0.5 }}"),
            "learner.loss.negative_margin",
        ),
        (
            format!("{{ {contextual}, mean_cosine = 0.3 }}"),
            "learner.loss.mean_cosine",
        ),
        (
            "{ name = 'contextual', lambda = 0, k = 5 }".into(),
            "learner.loss.k",
        ),
        (
            "{ name = 'roadmap', ranking = 0, tau = 0.1 }".into(),
            "learner.loss.tau",
        ),
        (
            "{ name = 'roadmap', calibration = 0, positive_margin = 0.8 }".into(),
            "learner.loss.positive_margin",
        ),
        (
            "{ name = 'soft-triple', centers = 1, tau = 0.1 }".into(),
            "learner.loss.tau",
        ),
        (
            format!("[{{ name = 'center' }}, {{ {contextual}, mean_cosine = 0.3 }}]"),
            "learner.loss.1.mean_cosine",
        ),
        (
            format!("[{{ {contextual}, mean_cosine = 0.3 }}]"),
            "learner.loss.mean_cosine",
        ),
    ] {
        let said = Recipe::from_toml(&format!("learner.loss = {loss}")).unwrap_err();
        let begins = format!("{path}: has no effect");
        assert!(said.to_string().starts_with(&begins), "{loss}: {said}");
    }
    for loss in [
        format!("{{ {contextual}, k = 5 }}"),
        "{ name = 'contextual', mean_cosine = 0.3 }".into(),
        "{ name = 'contextual', total = 'presented', lambda = 1, mean_cosine = 0.3 }".into(),
        "{ name = 'roadmap', ranking = 0, positive_margin = 0.8 }".into(),
        "{ name = 'soft-triple', centers = 2, tau = 0.1 }".into(),
        format!("[{{ name = 'center' }}, {{ {contextual}, k = 5 }}]"),
    ] {
        Recipe::from_toml(&format!("learner.loss = {loss}")).unwrap();
    }
    for (loss, field) in [
        ("{ name = 'contextual', lambda = 1 }", "learner.loss.gamma"),
        (
            "{ name = 'roadmap', ranking = 0, calibration = 0 }",
            "learner.loss.ranking",
        ),
    ] {
        let said = Recipe::from_toml(&format!("learner.loss = {loss}")).unwrap_err();
        assert!(said.to_string().starts_with(field), "{loss}: {said}");
    }
}

/// The list of methods knows them; recipes, the command and Python ask it.
#[test]
fn a_parameter_that_its_method_does_not_use_is_refused() {
    for (spread, parameter, why) in [
        (
            "method = 'manifold', lambda = 3",
            "lambda",
            "one-sided neighbours",
        ),
        ("beta = 0, lambda = 5", "lambda", "beta of 0"),
        (
            "method = 'mixed', beta = 0, scale = 'literal'",
            "scale",
            "beta of 0",
        ),
        ("beta = 0, pair_factor = 2", "pair_factor", "beta of 0"),
        (
            "method = 'lpdr', search = { fit = 'all' }",
            "search.fit",
            "search for negative edges alone",
        ),
    ] {
        let text = format!("pseudo_labels.spread = {{ {spread} }}");
        let said = Recipe::from_toml(&text).unwrap_err().to_string();
        let begins = format!("pseudo_labels.spread.{parameter}: has no effect: ");
        assert!(said.starts_with(&begins) && said.contains(why), "{said}");
    }
    for spread in [
        "beta = 0",
        "beta = 0, mu = 0.1",
        "lambda = 5",
        "method = 'lpdr', search = { lambda = 5 }",
    ] {
        let text = format!("pseudo_labels.spread = {{ {spread} }}");
        let recipe = Recipe::from_toml(&text).unwrap();
        // What says every setting is taken as it is.
        let whole = toml::to_string(&recipe).unwrap();
        assert_eq!(Recipe::from_toml(&whole).unwrap(), recipe);
    }
}

/// The learners know them. What says every setting is taken as it is, as a recipe of a run is.
#[test]
fn a_parameter_that_its_learner_does_not_use_is_refused() {
    let votes = "pseudo_labels.kind = 'votes'\npseudo_labels.triplets = {}";
    let affinity = "pseudo_labels.kind = 'affinity'\npseudo_labels.on = 'start'";
    let cosine = "learner.kernels = [{ kind = 'cosine' }]";
    let linear = "learner.kernels = [{ kind = 'linear' }]";
    let squared = "{ kind = 'squared', alike = 1.0, unlike = 4.0 }";
    let bounds = format!("learner.bounds = {squared}");
    let prior = format!("learner.prior.bounds = {squared}");
    let metric = format!("learner.metric.prior.bounds = {squared}");
    for (base, beside, parameter, value) in [
        ("multi-kernel", "", "learner.triplets", "5"),
        ("omks", votes, "learner.triplets", "5"),
        ("explicit-omks", affinity, "learner.triplets", "5"),
        ("oasis", votes, "learner.steps", "5"),
        ("oasis", votes, "pseudo_labels.reliable", "false"),
        ("oasis", affinity, "learner.steps", "5"),
        ("oasis", affinity, "pseudo_labels.confidence_power", "1.0"),
        ("oasis", "learner.psd = true", "learner.symmetric", "true"),
        ("explicit-omks", cosine, "learner.coordinates", "9"),
        ("explicit-omks", cosine, "learner.fourier", "true"),
        ("explicit-omks", linear, "learner.fourier", "true"),
        ("itml", bounds.as_str(), "learner.seed", "3"),
        ("apit", prior.as_str(), "learner.prior.seed", "3"),
        (
            "deep-apit",
            metric.as_str(),
            "learner.metric.prior.seed",
            "3",
        ),
    ] {
        let without = format!("base = '{base}'\n{beside}\n");
        let recipe = Recipe::from_toml(&without).unwrap();
        let text = format!("{without}{parameter} = {value}\n");
        let said = Recipe::from_toml(&text).unwrap_err().to_string();
        let begins = format!("{parameter}: has no effect: ");
        assert!(said.starts_with(&begins), "{text}: {said}");
        let whole = toml::Table::try_from(&recipe).unwrap().to_string();
        assert_eq!(Recipe::from_toml(&whole).unwrap(), recipe, "{whole}");
    }
    for text in [
        "base = 'omks'\nlearner.triplets = 5",
        "base = 'oasis'\nlearner = { steps = 5, symmetric = true }",
        "base = 'oasis'\nlearner.steps = 5\npseudo_labels = 'votes'",
        "base = 'explicit-omks'\nlearner = { coordinates = 9, fourier = true }",
        "base = 'explicit-omks'\nlearner = { coordinates = 9, kernels = [{ kind = 'linear' }] }",
        "base = 'itml'\nlearner.seed = 3",
        "base = 'apit'\nlearner.prior.seed = 3",
    ] {
        Recipe::from_toml(text).unwrap();
    }
}

#[test]
fn a_map_that_could_only_turn_the_start_is_told_of() {
    let recipe = Recipe::affinity_triplet();
    assert!(recipe.idle(64).unwrap().contains("only turns"));
    assert!(recipe.idle(65).is_none());
    assert!(Recipe::default().idle(10).is_none());
}
