//! Sources of pseudo-labels: their words and settings, and the learners and epochs that they go with.

use likewise::graph::Fusion;
use likewise::learn::Need;
use likewise_nn::lpf::{CenterRule, Check};

use super::*;

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
fn what_refuses_items_is_named_by_one_word_or_by_a_table() {
    let of = |text: &str| Recipe::from_toml(text);
    let energy = Refusing {
        by: Unlike::Energy { temperature: 1.0 },
        quantile: 0.95,
    };
    for head in [
        "pseudo_labels = { ",
        "base = 'mixed-rca'\npseudo_labels = { ",
        "base = 'affinity-triplet'\npseudo_labels = { ",
        "base = 'rca'\npseudo_labels = { kind = 'votes', ",
        "base = 'gsph'\npseudo_labels = { kind = 'affinity', on = 'start', ",
    ] {
        let short = of(&format!("{head}outside = 'energy' }}")).unwrap();
        assert_eq!(short.pseudo_labels.outside(), Some(&energy), "{head}");
        let long = "outside = { by = { name = 'energy', temperature = 1 }, quantile = 0.95 }";
        assert_eq!(of(&format!("{head}{long} }}")).unwrap(), short, "{head}");
        let text = toml::to_string(&short).unwrap();
        assert_eq!(of(&text).unwrap(), short, "{text}");
        let json = serde_json::to_string(&short).unwrap();
        assert_eq!(serde_json::from_str::<Recipe>(&json).unwrap(), short);
        // One word stands in the place of all that was said before.
        let fields = "pseudo_labels = { outside = { by = { name = 'lof' }, quantile = 0.9 } }";
        let by_density = short.with(fields.parse().unwrap()).unwrap();
        let by = by_density.pseudo_labels.outside().unwrap().by;
        assert_eq!(by, Unlike::Lof { k: 20 });
        let again = by_density.with("pseudo_labels = { outside = 'energy' }".parse().unwrap());
        assert_eq!(again.unwrap(), short, "{head}");
        for (fields, said) in [
            (
                "outside = 'nosuch'",
                "outside = \"nosuch\": unknown variant",
            ),
            (
                "outside = { by = { name = 'energy', temperature = 0 } }",
                "pseudo_labels.outside.by.temperature = 0",
            ),
            (
                "outside = { quantile = 1 }",
                "pseudo_labels.outside.quantile = 1",
            ),
        ] {
            let wrong = of(&format!("{head}{fields} }}")).unwrap_err().to_string();
            assert!(wrong.contains(said), "{head}{fields}: {wrong}");
        }
    }
    // Label prediction has scores of its own; what makes no class of a label refuses none.
    let recipe = of("base = 'gsph'\npseudo_labels = { kind = 'lpf', outside = 'energy' }").unwrap();
    let PseudoLabels::Lpf(prediction) = &recipe.pseudo_labels else {
        panic!("it predicts");
    };
    let by = prediction.lpf.outside.unwrap().by;
    let energy = likewise_nn::lpf::Unlike::Energy {
        temperature: 1.0,
        apart: true,
    };
    assert_eq!(by, energy);
    assert_eq!(recipe.pseudo_labels.outside(), None);
    let text = toml::to_string(&recipe).unwrap();
    assert_eq!(of(&text).unwrap(), recipe, "{text}");
    let clusters = of("base = 'rca'\npseudo_labels = { kind = 'clusters', outside = 'energy' }");
    assert!(clusters.unwrap_err().to_string().contains("outside"));
}

#[test]
fn what_labels_teach_nothing_is_known() {
    let of = |text: &str| Recipe::from_toml(text).unwrap();
    let alone = |recipe: &Recipe| recipe.learns_from_items_alone();
    for name in [
        "dec",
        "deep-cluster",
        "nce",
        "exemplar",
        "rotnet",
        "emr",
        "pca",
        "synthetic",
    ] {
        assert!(alone(&Recipe::named(name).unwrap()), "{name}");
    }
    // Links of labels; classes; alike items; ranks.
    for name in [
        "sdec",
        "mixed-lp",
        "triplet",
        "rca",
        "label-rca",
        "oasis",
        "gsph",
        "probabilities",
    ] {
        assert!(!alone(&Recipe::named(name).unwrap()), "{name}");
    }
    assert!(alone(&of("base = 'rca'\npseudo_labels = 'clusters'")));
    let named = "pseudo_labels = { kind = 'clusters', labels = 'name' }";
    assert!(!alone(&of(&format!("base = 'rca'\n{named}"))));
    // Whatever classes a source gives it, and these are no bound either.
    for source in ["'lgc'", "'votes'", "{ kind = 'oracle' }"] {
        let spread = of(&format!("base = 'rca'\npseudo_labels = {source}"));
        let recipe = Recipe {
            pseudo_labels: spread.pseudo_labels,
            ..Recipe::named("pca").unwrap()
        };
        assert!(
            alone(&recipe) && recipe.needs_no_label() && !recipe.is_bound(),
            "{source}"
        );
        let recipe = of(&format!("base = 'rca'\npseudo_labels = {source}"));
        assert!(!alone(&recipe) && !recipe.needs_no_label(), "{source}");
        assert_eq!(recipe.is_bound(), source.contains("oracle"));
    }
    // Only a learner that no class can teach has no row of the labels alone.
    let classes = |name: &str| Recipe::named(name).unwrap().learns_from_classes();
    assert!(classes("deep-cluster") && classes("rca") && !classes("emr") && !classes("pca"));
    let lists = [
        Need::Classes,
        Need::Alike,
        Need::Compared,
        Need::Ranked,
        Need::Pairs,
        Need::Triplets,
    ];
    assert!(lists.iter().all(|need| !need.is_met_by_items()));
    assert!(
        [Need::Graph, Need::Images]
            .iter()
            .all(Need::is_met_by_items)
    );
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
        ("triplet", "clusters = 1", "must be at least 2"),
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
    assert!(
        said.to_string().contains("\"nosuch\": there are votes"),
        "{said}"
    );
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
fn how_views_are_fused_is_a_word_and_absent_where_nobody_says_it() {
    let usual = Recipe::default();
    assert!(!toml::to_string(&usual).unwrap().contains("fuse"));
    let fusion = |recipe: &Recipe, views| recipe.spreading(90).fusion(views);
    assert_eq!(fusion(&usual, 3), Fusion::Ranks);
    assert_eq!(fusion(&usual, 1), Fusion::Rows);
    // A recipe without any graph of its own, whose beliefs have one.
    assert_eq!(fusion(&Recipe::label_rca(), 2), Fusion::Ranks);
    for (word, form) in [
        ("rows", Fusion::Rows),
        ("ranks", Fusion::Ranks),
        ("mean", Fusion::Mean),
        ("agreement", Fusion::Agreement),
    ] {
        let recipe = Recipe::from_toml(&format!("pseudo_labels.fuse = '{word}'")).unwrap();
        assert_eq!(fusion(&recipe, 2), form);
        let whole = toml::to_string(&recipe).unwrap();
        assert_eq!(Recipe::from_toml(&whole).unwrap(), recipe);
    }
    for (text, says) in [
        (
            "pseudo_labels.fuse = 'weighted'",
            "pseudo_labels.fuse = weighted: goes by the labels",
        ),
        (
            "pseudo_labels = { on = 'embedding', fuse = 'mean' }",
            "pseudo_labels.fuse: has no effect: the graph on the embedding",
        ),
        (
            "pseudo_labels = { spread = { method = 'manifold' }, fuse = 'ranks' }",
            "pseudo_labels.fuse: has no effect: the method goes by",
        ),
    ] {
        let said = Recipe::from_toml(text).unwrap_err().to_string();
        assert!(said.starts_with(says), "{said}");
    }
    let unknown = Recipe::from_toml("pseudo_labels.fuse = 'sum'").unwrap_err();
    assert!(unknown.to_string().contains("`ranks`"), "{unknown}");
    let anew = Recipe::from_toml("pseudo_labels.on = 'embedding'").unwrap();
    assert_eq!(fusion(&anew, 2), Fusion::Rows);
}
