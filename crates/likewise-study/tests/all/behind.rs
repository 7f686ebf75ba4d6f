//! Metric learners behind a head that learns with them, on the digits.

use likewise::Monitor;
use likewise::linear::Behind;
use likewise_io::{Form, ReadOptions};
use likewise_study::Recipe;
use likewise_study::study::{Plan, Protocol, Row};

use crate::device;

/// Five labels a class, two parts of 600 items, four epochs.
#[test]
fn every_metric_learner_goes_behind_a_head() {
    let bytes = std::fs::read(likewise_testdata::digits()).unwrap();
    let digits = likewise_io::read_bytes(Form::Npz, &bytes, &ReadOptions::default()).unwrap();
    let features = digits.view(Some("kar")).unwrap().matrix.view();
    let protocol = Protocol {
        labels_per_class: Some(5),
        draws: 1,
        nmi: false,
        ..Protocol::default()
    };
    for name in Behind::NAMES {
        let text = format!(
            "base = 'deep-{name}'\n\
             learner.metric = {{ every = 2, partition = 600 }}\n\
             learner.train.learning_rate = 0.01\n\
             rounds = {{ epochs = 4, keep = 'last' }}"
        );
        let recipe = Recipe::from_toml(&text).unwrap();
        let plan = Plan::of(&digits, features, &recipe, &protocol, device::chosen());
        let study = plan.run(&Monitor::silent()).unwrap();
        let losses: Vec<f64> = (study.results.per_draw[0].training.iter())
            .filter_map(|epoch| epoch.loss)
            .collect();
        let map = |s: &likewise::eval::summary::Summary| s.map_at_r.unwrap();
        let own = map(&study.results.summary);
        let raw = map(&study.results.baselines[&Row::Raw]);
        eprintln!("{name}: {losses:?} {own} raw {raw}");
    }
}
