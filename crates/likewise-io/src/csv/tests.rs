//! What is read of texts, and what is refused.

use crate::{Form, ReadOptions, Result, read_bytes};
use likewise::{Collection, Part};
use ndarray::array;
use proptest::prelude::*;

fn read(text: &str) -> Result<Collection> {
    read_bytes(Form::Csv, text.as_bytes(), &ReadOptions::default())
}

fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn columns_are_told_apart_by_name() {
    let text = "\u{feff}a,ID,Label,b,split\r\n1,x,cat,\" 2.5\",train\r\n-1e-3,y,,4,test\r\n";
    let all = read(text).unwrap();
    assert_eq!(all.ids(), ["x", "y"]);
    assert_eq!(all.views()[0].matrix, array![[1.0, 2.5], [-0.001, 4.0]]);
    assert_eq!(all.labels.unwrap().n_known(), 1);
    assert_eq!(all.split.unwrap(), [Part::Train, Part::Test]);
    let bytes = "a\tb\n1\t2\n".as_bytes();
    let tab = read_bytes(Form::Tsv, bytes, &ReadOptions::default()).unwrap();
    assert_eq!(tab.views()[0].matrix, array![[1.0, 2.0]]);
}

#[test]
fn headers_are_optional_for_numbers_alone() {
    let bare = read("1,2\n3,4\n").unwrap();
    assert_eq!(bare.views()[0].matrix, array![[1.0, 2.0], [3.0, 4.0]]);
    // As data frames write a matrix: with and without their index.
    let frame = read("0,1\n3,4\n").unwrap();
    assert_eq!(frame.views()[0].matrix, array![[3.0, 4.0]]);
    let frame = read(",0,1\n7,3,4\n").unwrap();
    assert_eq!(frame.views()[0].matrix, array![[3.0, 4.0]]);
    assert_eq!(frame.ids(), ["7"]);
    assert_eq!(read("5\n6\n").unwrap().len(), 2);
    // Years as columns; and what holds a value twice is none of ids, nor of numbers of rows.
    let frame = read(",2019,2020\n7,3,4\n7,5,6\n").unwrap();
    let all = array![[7.0, 3.0, 4.0], [7.0, 5.0, 6.0]];
    assert_eq!(frame.views()[0].matrix, all);
    assert_eq!(frame.ids(), ["0", "1"]);
}

#[test]
fn a_first_line_of_numbers_with_a_gap_is_no_header() {
    for text in [",0.5,2\n1,2,3\n", ",3,3\n1,2,3\n", "1,,3\n1,2,3\n"] {
        assert_eq!(
            read(text).unwrap().views()[0].matrix.dim(),
            (2, 3),
            "{text}"
        );
    }
}

#[test]
fn another_separator_is_found() {
    for text in ["id;w\n1;2\n", "id\tw\n1\t2\n", "id|w\n1|2\n"] {
        let all = read(text).unwrap();
        assert_eq!(
            (all.ids(), &all.views()[0].matrix),
            (&["1".to_owned()][..], &array![[2.0]])
        );
    }
    // With decimal commas, with and without a header, and with groups of digits.
    let numbers = array![[1.5, 2.0, 3.0]];
    for text in ["a;b;c\n1,5;2;3\n", "1,5;2,0;3\n", "a\tb\tc\n1,5\t2,0\t3\n"] {
        assert_eq!(read(text).unwrap().views()[0].matrix, numbers, "{text}");
    }
    let grouped = read("a;b\n1.234,5;2\n\"2,5\";3\n").unwrap();
    assert_eq!(grouped.views()[0].matrix, array![[1234.5, 2.0], [2.5, 3.0]]);
    let grouped = read("a,b\n\"1,234\",2\n5,3\n").unwrap();
    assert_eq!(grouped.views()[0].matrix, array![[1234.0, 2.0], [5.0, 3.0]]);
    let ids = ["a".to_owned()];
    let labels = |text: &str| crate::read_labels_bytes(Form::Csv, text.as_bytes(), &ids);
    assert_eq!(labels("id;label\na;x\n").unwrap().classes(), ["x"]);
    assert_eq!(labels("label\nx;y\n").unwrap().classes(), ["x;y"]);
    assert_eq!(read("\"a;b\",c\n1,2\n").unwrap().len(), 1);
}

#[test]
fn letters_may_be_those_of_windows() {
    let latin = b"id;gr\xf6\xdfe\n\xfc;1\n".as_slice();
    let all = read_bytes(Form::Csv, latin, &ReadOptions::default()).unwrap();
    assert_eq!(all.ids(), ["\u{fc}"]);
    let wide: Vec<u8> = "\u{feff}id\tw\r\n\u{fc}\t1\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let all = read_bytes(Form::Csv, &wide, &ReadOptions::default()).unwrap();
    assert_eq!(all.ids(), ["\u{fc}"]);
}

#[test]
fn numbers_of_rows_and_categories_are_no_features() {
    let rows = "1,9,x,0.5\n0,8,y,0.25\n";
    for names in [
        "index,Unnamed: 0,class,w",
        "idx,__index_level_0__,category,w",
    ] {
        let all = read(&format!("{names}\n{rows}")).unwrap();
        assert_eq!(all.views()[0].matrix, array![[0.5], [0.25]]);
        assert_eq!(all.ids(), ["0", "1"]);
        assert_eq!(all.labels.unwrap().classes(), ["x", "y"]);
    }
    let both = read("class,label,w\n1,x,2\n1,y,3\n").unwrap();
    assert_eq!(both.views()[0].matrix, array![[2.0], [3.0]]);
    assert_eq!(both.labels.unwrap().classes(), ["x", "y"]);
}

#[test]
fn a_quote_that_swallows_the_rest_is_refused() {
    let ids: Vec<String> = (0..9).map(|i| i.to_string()).collect();
    let labels = |text: &str| crate::read_labels_bytes(Form::Csv, text.as_bytes(), &ids);
    let e = labels("id,label\n0,a\n1,\"b\n2,c\n3,d\n").unwrap_err();
    assert!(e.to_string().starts_with("line 3: a quote"), "{e}");
    // Also where the rest has more columns, and where there is no end of line.
    assert!(message("id,a\n\"x,1\ny,2\n").starts_with("line 2: a quote"));
    assert!(message("a,b\n1,\"2").starts_with("line 2: a quote"));
    assert!(message("\"a,b\n1,2\n").starts_with("line 1: a quote"));
    let fine = "id,label\n0,\"a \"\"b\"\"\"\n1,\"two\nlines\"\n2,6\"\n";
    assert_eq!(labels(fine).unwrap().n_classes(), 3);
}

#[test]
fn mistakes_are_named_with_their_place() {
    let said = message("w\n1\n1e99\n");
    assert!(
        said.contains("line 3") && said.contains("\"1e99\" is too large"),
        "{said}"
    );
    let said = message("w\n1\n2\n3\n4\nx\n");
    assert!(
        said.starts_with("column \"w\": line 6: \"x\" is not a number"),
        "{said}"
    );
    assert!(message("a,b\n1,2\n3\n").starts_with("line 3 has 1 fields"));
    assert!(message("id,a\nx,1\nx,2\n").contains("lines 2 and 3"));
    assert!(message("id,a\n,2\n").contains("id is empty"));
    assert!(message("id,label\nx,1\n").contains("no columns of numbers or categories"));
    assert!(message("label,y,a\n1,1,1\n").contains("mean the same"));
    assert!(message("a,split\n1,here\n").contains("row 0: split \"here\""));
    assert!(message("a,b\n").contains("empty"));
    assert!(message("").contains("empty"));
    let bad = read_bytes(Form::Csv, b"\xff\x00\n1\n", &ReadOptions::default());
    assert!(bad.unwrap_err().to_string().contains("UTF-8"));
}

#[test]
fn memory_is_limited_while_reading() {
    let mut text = String::from("a,b\n");
    for i in 0..100_000 {
        text.extend([i.to_string().as_str(), ",0\n"]);
    }
    let options = ReadOptions {
        max_memory: Some(13_000_000),
        ..ReadOptions::default()
    };
    let e = read_bytes(Form::Csv, text.as_bytes(), &options).unwrap_err();
    assert_eq!(e.kind(), crate::ErrorKind::Memory);
    let options = ReadOptions {
        max_memory: Some(14_000_000),
        ..ReadOptions::default()
    };
    assert!(read_bytes(Form::Csv, text.as_bytes(), &options).is_ok());
}

proptest! {
    #[test]
    fn numbers_survive_being_written(
        rows in prop::collection::vec(prop::collection::vec(-1e30_f32..1e30, 3), 1..20)
    ) {
        let mut text = String::from("a,b,c\n");
        for row in &rows {
            text.extend([format!("{},{:e},{}\n", row[0], row[1], row[2])]);
        }
        let all = read(&text).unwrap();
        let flat: Vec<f32> = rows.concat();
        prop_assert_eq!(all.views()[0].matrix.as_slice().unwrap(), flat);
    }
}
