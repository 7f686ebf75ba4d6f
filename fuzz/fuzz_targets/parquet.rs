#![no_main]
//! Any bytes as a Parquet table.

use libfuzzer_sys::fuzz_target;
use likewise_io::{Form, ReadOptions, read_bytes};

fuzz_target!(
    init: {
        // Panics of the parquet crate are caught at our border; all others must abort.
        std::panic::set_hook(Box::new(|panic| {
            let theirs = |file: &str| file.contains("/parquet-") || file.contains("/bytes-");
            if !panic.location().is_some_and(|l| theirs(l.file())) {
                eprintln!("{panic}");
                std::process::abort();
            }
        }));
    },
    |bytes: &[u8]| {
        let options = ReadOptions {
            max_memory: Some(64 << 20),
            ..ReadOptions::default()
        };
        let _ = read_bytes(Form::Parquet, bytes, &options);
    }
);
