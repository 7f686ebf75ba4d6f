#![no_main]
//! Any bytes as a recipe in the JSON of a run folder.

use libfuzzer_sys::fuzz_target;
use likewise_study::Recipe;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(recipe) = serde_json::from_slice::<Recipe>(bytes) {
        let _ = recipe.validate();
    }
});
