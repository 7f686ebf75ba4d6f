//! Recipes as files: a base and what differs from it, fields that are unknown, and the last layer that stays.

use likewise_nn::net::EmbeddingConfig;

use super::*;

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
    for (setting, rule) in [
        ("k = 0", "k = 0: must be at least 1"),
        ("gamma = -1", "gamma = -1: must be finite and above 0"),
        (
            "symmetrize = { one_sided = 7 }",
            "symmetrize.one_sided = 7: must be from 0 to 1",
        ),
    ] {
        let said = said(&format!("pseudo_labels.graph = {{ {setting} }}"));
        assert_eq!(said, format!("pseudo_labels.graph.{rule}"));
    }
    let few = "learner.sampler = { name = 'per-class', per_class = 1 }";
    assert!(said(few).contains("learner.sampler.per_class = 1"));
    assert!(said("learner = { kind = 'nosuch' }").contains("gradient, apit, apllr, cfs"));
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
fn a_table_takes_the_place_of_no_list_of_losses() {
    let two = "base = 'contextual'\nlearner.loss = [{ name = 'contextual' }, { name = 'center', weight = 0.1 }]";
    let two = Recipe::from_toml(two).unwrap();
    let with = |text: &str| two.with(text.parse().unwrap());
    let said = with("learner.loss.name = 'triplet'")
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("learner.loss: is a list of 2 here; write the whole list"),
        "{said}"
    );
    let one = with("learner.loss = [{ name = 'triplet' }]").unwrap();
    assert_ne!(one, two);
}

#[test]
fn a_word_that_names_no_pseudo_labels_is_told_those_that_do() {
    let said = |text: &str| Recipe::from_toml(text).unwrap_err().to_string();
    let cluster = said("pseudo_labels = 'cluster'");
    assert!(
        cluster.contains("pseudo_labels = \"cluster\": there are votes")
            && cluster.contains("clusters"),
        "{cluster}"
    );
}

#[test]
fn a_name_that_ends_in_two_plus_signs_is_no_learner_across_views() {
    let said = Recipe::named("proxynca++").unwrap_err().to_string();
    assert!(
        said.contains("recipe = proxynca++") && !said.contains("views"),
        "{said}"
    );
    assert!(Recipe::named("lpf+gsph").is_ok());
}
