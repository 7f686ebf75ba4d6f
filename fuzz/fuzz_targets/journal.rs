#![no_main]
//! Any bytes as the journal of labels of a run with three items.

use libfuzzer_sys::fuzz_target;
use likewise::Monitor;
use likewise_io::items::ItemRow;
use likewise_study::{journal, live};

fuzz_target!(|bytes: &[u8]| {
    let Ok(run) = tempfile::tempdir() else {
        return;
    };
    if std::fs::write(run.path().join(journal::NAME), bytes).is_err() {
        return;
    }
    let items = ["a", "b", "c"].map(|id| ItemRow {
        id: id.into(),
        ..ItemRow::default()
    });
    if let Ok(now) = live::since(run.path(), items.to_vec(), &Monitor::silent()) {
        assert!(now.items.len() == 3 && now.changed <= 3);
    }
});
