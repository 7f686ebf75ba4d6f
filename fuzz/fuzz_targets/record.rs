#![no_main]
//! Any bytes as the files of a run folder that are JSON: its record, its settings, what a fit was begun with, its
//! numbers and the card of its index.

use libfuzzer_sys::fuzz_target;
use likewise_study::run_folder::{Config, IndexCard, Origin, Record, data_alone};
use likewise_study::study::Results;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(record) = serde_json::from_slice::<Record>(bytes) {
        let _ = data_alone(&record.data_sha256);
    }
    if let Ok(config) = serde_json::from_slice::<Config>(bytes) {
        let _ = config.recipe.validate();
    }
    let _ = serde_json::from_slice::<Origin>(bytes);
    let _ = serde_json::from_slice::<Results>(bytes);
    let _ = serde_json::from_slice::<IndexCard>(bytes);
});
