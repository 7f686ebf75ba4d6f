//! Starts: their words and tables, and those that a recipe begins with.

use super::*;

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
        ("start = 'centred'", StartConfig::centered()),
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
