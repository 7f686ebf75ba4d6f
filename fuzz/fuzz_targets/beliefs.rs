#![no_main]
//! Any bytes as a file of beliefs.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = likewise_io::beliefs::read_bytes(bytes);
});
