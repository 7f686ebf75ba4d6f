#![no_main]
//! Any bytes as the model of a run folder, fitted by one of three recipes.

use libfuzzer_sys::fuzz_target;
use likewise_nn::{Model, Recipe};

fuzz_target!(|bytes: &[u8]| {
    for recipe in [Recipe::mixed_lp(), Recipe::rca(), Recipe::affinity_triplet()] {
        let _ = Model::from_safetensors(&recipe, bytes);
    }
});
