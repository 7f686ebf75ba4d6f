#![no_main]
//! Any bytes as a graph.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = likewise_io::graph::read_bytes(bytes);
});
