#![no_main]
//! Any bytes as a file of items.

use libfuzzer_sys::fuzz_target;

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
        let _ = likewise_io::items::read_bytes(bytes);
    }
);
