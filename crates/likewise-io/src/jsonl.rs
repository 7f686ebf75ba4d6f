//! One JSON object a line: its keys are the columns of a table.
//!
//! A key that a line does not have is missing there, as is null. A list of numbers is a column
//! a number where it is short, else a view of its own ([`vectors`]); other lists and objects below the
//! first level are left out. Never more than one line is held.

mod objects;
mod vectors;

use likewise::Monitor;

use crate::assemble::{Parts, Shape};
use crate::input::Input;
use crate::options::ReadOptions;
use crate::{Result, table};
pub(crate) use objects::Objects;
use vectors::Vectors;

pub(crate) fn shape(input: Input, options: &ReadOptions) -> Result<Shape> {
    options.table.refuse(&["sep", "decimal"], "JSON")?;
    let mut objects = Objects::open(&input, options)?;
    match Vectors::of(&objects, options)? {
        Some(vectors) => vectors.shape(&mut objects),
        None => table::shape(&mut objects, options),
    }
}

pub(crate) fn read(input: Input, options: &ReadOptions, monitor: &Monitor) -> Result<Parts> {
    options.table.refuse(&["sep", "decimal"], "JSON")?;
    let mut objects = Objects::open(&input, options)?;
    match Vectors::of(&objects, options)? {
        Some(vectors) => vectors.read(&mut objects, monitor),
        None => table::read(&mut objects, options, monitor),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Form, ReadOptions, read_bytes};
    use ndarray::array;

    #[test]
    fn keys_are_columns_and_may_be_missing() {
        let read = |text: &str| read_bytes(Form::Jsonl, text.as_bytes(), &ReadOptions::default());
        let text = "\u{feff}{\"id\": \"a\", \"w\": 1, \"label\": \"x\"}\n\n\
                    {\"h\": 2.5, \"w\": 3, \"id\": \"b\"}\n{\"id\": \"c\", \"w\": 2, \"h\": 3.5}\n";
        let all = read(text).unwrap();
        assert_eq!(all.ids(), ["a", "b", "c"]);
        assert_eq!(all.labels.as_ref().unwrap().n_known(), 1);
        // Standardised: the missing one is the median 3 of 2.5 and 3.5.
        let x = &all.views()[0].matrix;
        assert!((x[[0, 0]] + x[[1, 0]]).abs() < 1e-6 && x[[0, 1]].abs() < 1e-6);
        let plain = read("{\"a\": 1, \"b\": 2}\n{\"b\": 4, \"a\": 3}\n").unwrap();
        assert_eq!(plain.views()[0].matrix, array![[1.0, 2.0], [3.0, 4.0]]);
        for (text, said) in [
            ("[1, 2]\n", "line 1"),
            ("{\"a\": NaN}\n", "write null"),
            ("{\"a\":\n1}\n", "one object a line"),
            ("{\"a\": [1]}\n", "lists or records"),
            ("", "empty"),
        ] {
            let e = read(text).unwrap_err().to_string();
            assert!(e.contains(said), "{e}");
        }
    }
}
