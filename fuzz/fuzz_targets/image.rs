#![no_main]
//! Any bytes as an image.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = likewise_image::decode::decode(bytes, 1 << 20);
});
