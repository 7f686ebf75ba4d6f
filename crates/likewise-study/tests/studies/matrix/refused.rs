//! Items that look like none of the known classes, with every source that can refuse them.

use likewise::graph::KnnGraph;
use likewise::learn::Closed;
use likewise_study::Recipe;
use likewise_study::recipe::{
    Affinity, Keep, Learner, On, Propagation, PseudoLabels, Refusing, RoundsConfig, Unlike, Voting,
};

use super::{digits, run, votes};

/// Half of the items are refused: whatever the score, what is learned of the others is not what is learned of
/// all.
fn half(by: Unlike) -> Refusing {
    Refusing { by, quantile: 0.5 }
}

fn with(pseudo_labels: PseudoLabels, learner: &str) -> Recipe {
    Recipe {
        name: format!("{} x {learner}, refusing", pseudo_labels.kind()),
        pseudo_labels,
        learner: Learner::Closed(toml::from_str::<Closed>(&format!("kind = '{learner}'")).unwrap()),
        rounds: RoundsConfig {
            epochs: 1,
            keep: Keep::Last,
            ..RoundsConfig::default()
        },
        ..Recipe::mixed_rca()
    }
}

#[test]
fn refused_items_teach_nothing_whatever_the_source() {
    let collection = digits();
    let of = |source: &str, outside: Option<Refusing>| -> PseudoLabels {
        match source {
            "propagation" => Propagation {
                graph: KnnGraph::new().k(6),
                outside,
                ..Propagation::default()
            }
            .into(),
            "affinity" => PseudoLabels::Affinity(Affinity {
                on: On::Start,
                k: 6,
                outside,
                ..Affinity::default()
            }),
            _ => Voting {
                outside,
                ..votes(None)
            }
            .into(),
        }
    };
    let energy = Unlike::Energy { temperature: 1.0 };
    let by_distance = Unlike::Mahalanobis { relative: false };
    for source in ["propagation", "affinity", "votes"] {
        let all = run(&collection, &with(of(source, None), "rca"));
        for by in [energy, by_distance] {
            let some = run(&collection, &with(of(source, Some(half(by))), "rca"));
            assert_ne!(some.embeddings, all.embeddings, "{source} {by:?}");
            assert!(some.embeddings.iter().all(|v| v.is_finite()));
            // What the source says is written as it is: the learner is what believes less of it.
            assert_eq!(some.beliefs, all.beliefs, "{source} {by:?}");
        }
    }
}
