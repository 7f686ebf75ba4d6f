#![no_main]
//! Any bytes as a table of labels.

use libfuzzer_sys::fuzz_target;
use likewise_io::{Form, read_labels_bytes};

fuzz_target!(|bytes: &[u8]| {
    let ids = ["0", "1", "a"].map(str::to_owned);
    let _ = read_labels_bytes(Form::Csv, bytes, &ids);
});
