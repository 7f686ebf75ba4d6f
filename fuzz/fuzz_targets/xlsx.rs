#![no_main]
//! Any bytes as a spreadsheet.

use libfuzzer_sys::fuzz_target;
use likewise_io::{Form, ReadOptions, read_bytes};

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions {
        max_memory: Some(64 << 20),
        ..ReadOptions::default()
    };
    let _ = read_bytes(Form::Xlsx, bytes, &options);
});
