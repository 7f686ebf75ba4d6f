#![no_main]
//! Any bytes as an HNSW index, with the checksum put right, and a search in what is accepted.

use libfuzzer_sys::fuzz_target;
use likewise::Monitor;
use likewise::index::{Hnsw, Index};
use ndarray::Array2;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 16 {
        // No fuzzer guesses it (FNV-1a), and a forger need not.
        let sum = bytes[16..]
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        bytes[8..16].copy_from_slice(&sum.to_le_bytes());
    }
    let Ok(index) = Hnsw::from_bytes(&bytes) else {
        return;
    };
    // A query must be as long as the index says; its length may be anything.
    if index.dimensions() > 1 << 16 {
        return;
    }
    let query = Array2::from_shape_fn((2, index.dimensions()), |(i, c)| (i * 7 + c) as f32 - 1.0);
    let hits = index.search(query.view(), 9, &Monitor::silent());
    for hit in hits.into_iter().flatten().flatten() {
        assert!(hit.item < index.len() && hit.similarity.is_finite());
    }
});
