#![no_main]
//! Any text as the file of a recipe.

use libfuzzer_sys::fuzz_target;
use likewise_study::Recipe;

fuzz_target!(|text: &str| {
    if let Ok(recipe) = Recipe::from_toml(text) {
        let _ = recipe.validate();
        let _ = recipe.idle(4);
    }
});
