#![no_main]
//! Any bytes as the model of a run folder.

use libfuzzer_sys::fuzz_target;
use likewise_nn::Model;

fuzz_target!(|bytes: &[u8]| {
    let _ = Model::open(bytes);
});
