//! Recipes that are measured one after the other on one split, as experiments do.

use likewise::{Collection, Labels, Monitor, View};
use likewise_study::study::{Plan, Protocol, SplitKind};
use likewise_study::{Device, Recipe};
use ndarray::Array2;
use rand::RngExt;

/// Items on either side of three corners, with noise.
fn collection() -> Collection {
    let mut rng = likewise::seed::stream(3, "bench");
    let x = Array2::from_shape_fn((240, 6), |(i, c)| {
        f32::from(u8::from(i % 3 == c)) + 0.9 * rng.random_range(-1.0_f32..1.0)
    });
    let ids = (0..240).map(|i| i.to_string()).collect();
    let view = View {
        name: "x".into(),
        matrix: x,
        present: None,
    };
    let mut collection = Collection::new(ids, vec![view]).unwrap();
    collection.labels = Some(Labels::from_integers((0..240).map(|i| i % 3)));
    collection
}

#[test]
fn each_recipe_spreads_labels_by_its_own_method_and_graph() {
    let collection = collection();
    let features = collection.views()[0].matrix.view();
    let protocol = Protocol {
        split: SplitKind::Item,
        labels_per_class: Some(3),
        ..Protocol::default()
    };
    let recipes = [
        "pseudo_labels = { graph = { k = 12 } }",
        "pseudo_labels = { graph = { k = 5 } }",
        "pseudo_labels = { graph = { k = 12 }, spread = { method = 'lgc' } }",
        "pseudo_labels = { graph = { k = 12, symmetrize = 'mutual' } }",
    ];
    let recipes =
        recipes.map(|text| Recipe::from_toml(&format!("{text}\nrounds.epochs = 1")).unwrap());
    let plan = |recipe| Plan::of(&collection, features, recipe, &protocol, Device::flex());
    let silent = Monitor::silent();
    let (first, alone) = (plan(&recipes[0]), recipes.each_ref().map(plan));
    let mut shared = first.bench().unwrap();
    let mut found = Vec::new();
    for (recipe, alone) in recipes.iter().zip(&alone) {
        let measured = shared.run(recipe, 0, &silent).unwrap();
        let own = alone.bench().unwrap().run(recipe, 0, &silent).unwrap();
        assert_eq!(measured, own, "{recipe:?}");
        found.push(measured.log.pseudo_label_accuracy.unwrap());
    }
    found.sort_by(f64::total_cmp);
    found.dedup();
    assert!(found.len() > 1, "the recipes do not differ: {found:?}");
}
