#![no_main]
//! Any bytes as a table of pairs or triplets: the first says of which kind and form.

use libfuzzer_sys::fuzz_target;
use likewise_io::{Form, tuples};

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, bytes)) = bytes.split_first() else {
        return;
    };
    let form = [Form::Csv, Form::Tsv, Form::Parquet][usize::from(first / 2 % 3)];
    let ids: Vec<String> = ["a", "b", "7", "2", "c d"].map(str::to_owned).into();
    if first % 2 == 0 {
        if let Ok(pairs) = tuples::read_pairs_bytes(form, bytes, &ids) {
            assert!(pairs.check(ids.len()).is_ok());
        }
    } else if let Ok(triplets) = tuples::read_triplets_bytes(form, bytes, &ids) {
        assert!(triplets.check(ids.len()).is_ok());
    }
});
