//! Tables as people make them: what is read of each form, and what is refused.

use std::fmt::Write as _;
use std::io::{Cursor, Read as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex};

use likewise::{Collection, Event, Label, Monitor};
use likewise_io::{
    Decimal, ErrorKind, Form, Layout, Missing, ReadOptions, TableOptions, inspect, read_bytes,
    read_with_layout,
};
use likewise_testdata::sheet::{self, Cell};
use ndarray::array;
use proptest::prelude::*;

fn file(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name)
}

/// What is read of a file, how, and what is said.
fn told(
    path: &Path,
    options: &ReadOptions,
) -> likewise_io::Result<(Collection, Layout, Vec<String>)> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listens = heard.clone();
    let monitor = Monitor::new(move |event| {
        if let Event::Remark(text) | Event::Warning(text) = event {
            listens.lock().unwrap().push(text.clone());
        }
    });
    let (all, layout) = read_with_layout(path, options, &monitor)?;
    let heard = heard.lock().unwrap().clone();
    Ok((all, layout.unwrap(), heard))
}

fn text(text: &str, table: TableOptions) -> likewise_io::Result<Collection> {
    let options = ReadOptions {
        table,
        ..ReadOptions::default()
    };
    read_bytes(Form::Csv, text.as_bytes(), &options)
}

fn message(bytes: &str, table: TableOptions) -> String {
    text(bytes, table).unwrap_err().to_string()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn a_table_of_many_kinds_is_read_and_told_in_three_lines() {
    let asked = ReadOptions {
        table: TableOptions {
            id_column: Some("sku".into()),
            label_column: Some("Klasse".into()),
            ..TableOptions::default()
        },
        ..ReadOptions::default()
    };
    let (all, layout, said) = told(&file("messy.csv"), &asked).unwrap();
    assert_eq!(all.ids(), ["A1", "A2", "A3", "A4", "A5", "A6"]);
    assert_eq!(all.labels.as_ref().unwrap().n_known(), 5);
    let features = [
        "Gr\u{f6}\u{df}e = L",
        "Gr\u{f6}\u{df}e = S",
        "Preis",
        "Anteil",
    ];
    assert_eq!(layout.features(), features);
    let x = &all.views()[0].matrix;
    assert_eq!((x[[0, 0]], x[[0, 1]]), (0.0, 1.0));
    // The third price is missing: it is that of the fourth, the median of the others.
    assert_eq!(x[[2, 2]].to_bits(), x[[3, 2]].to_bits());
    assert_eq!(said.len(), 3, "{said:?}");
    assert_eq!(
        said[0],
        "6 items (\";\" between columns, letters as in Latin-1, decimal comma); ids: \
         \"sku\"; labels: \"Klasse\""
    );
    assert_eq!(
        said[1],
        "taken: 2 numbers, standardised: \"Preis\", \"Anteil\"; 1 category, one-hot: \
         \"Gr\u{f6}\u{df}e\" (2); 2 missing values are the median"
    );
    assert!(
        said[2].contains("\"Datum\" (dates") && said[2].contains("\"Name\" (text"),
        "{said:?}"
    );
    let shape = inspect(file("messy.csv"), &asked).unwrap();
    assert_eq!((shape.items, shape.views[0].1), (6, 4));
    // With what was left out.
    let more = ReadOptions {
        table: TableOptions {
            columns: names(&["Datum", "Name"]),
            text: true,
            ..asked.table.clone()
        },
        ..asked.clone()
    };
    let (all, layout, said) = told(&file("messy.csv"), &more).unwrap();
    assert_eq!(
        (all.views()[0].matrix.ncols(), layout.columns.len()),
        (257, 2)
    );
    assert!(said[1].contains("dates, as days"), "{said:?}");
    // Lines with gaps may go.
    let fewer = ReadOptions {
        table: TableOptions {
            missing: Some(Missing::Drop),
            ..asked.table.clone()
        },
        ..asked.clone()
    };
    let (all, _, said) = told(&file("messy.csv"), &fewer).unwrap();
    assert_eq!(all.ids(), ["A1", "A2", "A5", "A6"]);
    assert_eq!(all.labels.unwrap().len(), 4);
    assert!(
        said[1].contains("2 lines with missing values left out"),
        "{said:?}"
    );
}

#[test]
fn another_table_is_read_as_the_fitted_one_was() {
    let asked = ReadOptions {
        table: TableOptions {
            id_column: Some("sku".into()),
            label_column: Some("Klasse".into()),
            ..TableOptions::default()
        },
        ..ReadOptions::default()
    };
    let (fitted, layout, _) = told(&file("messy.csv"), &asked).unwrap();
    let layout = Some(Arc::new(layout));
    let again = ReadOptions {
        layout: layout.clone(),
        ..ReadOptions::default()
    };
    // One line of other writing, with its columns in another order, one more, and no label.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.csv");
    std::fs::write(
        &path,
        "more,Anteil,sku,Preis,Gr\u{f6}\u{df}e\nx,0.12,n,1234.50,S\n",
    )
    .unwrap();
    let (new, _, said) = told(&path, &again).unwrap();
    assert_eq!(new.ids(), ["n"]);
    assert_eq!(
        new.views()[0].matrix.row(0),
        fitted.views()[0].matrix.row(0)
    );
    assert!(said.is_empty(), "{said:?}");
    let shape = inspect(&path, &again).unwrap();
    assert_eq!((shape.items, shape.views[0].1), (1, 4));
    // A decimal comma without any other evidence is that of the fitted table.
    std::fs::write(&path, "Anteil;Preis;Gr\u{f6}\u{df}e\n0,12;1234,50;S\n").unwrap();
    let (new, ..) = told(&path, &again).unwrap();
    assert_eq!(
        new.views()[0].matrix.row(0),
        fitted.views()[0].matrix.row(0)
    );
    // A word that is new, and a number that is missing.
    std::fs::write(&path, "Anteil,Preis,Gr\u{f6}\u{df}e\n,20,XL\n").unwrap();
    let (new, _, said) = told(&path, &again).unwrap();
    let x = &new.views()[0].matrix;
    assert_eq!((x[[0, 0]], x[[0, 1]]), (0.0, 0.0));
    assert_eq!(
        x[[0, 2]].to_bits(),
        fitted.views()[0].matrix[[3, 2]].to_bits()
    );
    assert!(said.iter().any(|s| s.contains("\"XL\"")), "{said:?}");
    std::fs::write(&path, "Preis,Gr\u{f6}\u{df}e\n20,S\n").unwrap();
    let e = told(&path, &again).unwrap_err().to_string();
    assert!(e.contains("no column \"Anteil\""), "{e}");
    std::fs::write(&path, "Preis,Anteil,Gr\u{f6}\u{df}e\nlow,1,S\n").unwrap();
    let e = told(&path, &again).unwrap_err().to_string();
    assert!(e.contains("line 2, column \"Preis\": \"low\""), "{e}");
}

#[test]
fn numbers_alone_are_read_by_their_names_and_may_not_be_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "a,b\n1,2\n3,5\n").unwrap();
    let (_, layout, said) = told(&path, &ReadOptions::default()).unwrap();
    assert!(said.is_empty());
    let again = ReadOptions {
        layout: Some(Arc::new(layout)),
        ..ReadOptions::default()
    };
    for same in ["b,note,a\n2,x,1\n", "a;b\n1;2\n", "a,b\n1,2\n", "1,2\n"] {
        std::fs::write(&path, same).unwrap();
        let (new, ..) = told(&path, &again).unwrap();
        assert_eq!(new.views()[0].matrix, array![[1.0, 2.0]], "{same}");
    }
    for (wrong, what) in [
        ("a,b\n1,\n", "column \"b\" is empty"),
        ("a,c\n1,2\n", "no column \"b\""),
    ] {
        std::fs::write(&path, wrong).unwrap();
        let e = told(&path, &again).unwrap_err().to_string();
        assert!(e.contains(what), "{e}");
    }
}

#[test]
fn a_spreadsheet_is_read_as_people_keep_it() {
    let (all, layout, said) = told(&file("stock.xlsx"), &ReadOptions::default()).unwrap();
    assert_eq!(all.ids()[..2], ["\u{fc}0", "\u{fc}1"]);
    assert_eq!(all.labels.as_ref().unwrap().classes(), ["a & b", "c"]);
    let features = [
        "price",
        "colour = blue",
        "colour = red",
        "new = false",
        "new = true",
    ];
    assert_eq!(layout.features(), features);
    assert!(
        said[0].contains("sheet \"Stock\" of 2") && said[0].contains("names in row 3"),
        "{said:?}"
    );
    assert!(said[1].contains("2 missing values"), "{said:?}");
    assert!(said[2].contains("\"since\" (dates"), "{said:?}");
    let days = ReadOptions {
        table: TableOptions {
            columns: names(&["since"]),
            ..TableOptions::default()
        },
        ..ReadOptions::default()
    };
    let (all, layout, _) = told(&file("stock.xlsx"), &days).unwrap();
    assert!(all.views()[0].matrix[[0, 0]] < all.views()[0].matrix[[5, 0]]);
    let likewise_io::Taken::Number { median, .. } = layout.columns[0].taken else {
        panic!("{layout:?}");
    };
    // 2024-02-01 and -02, in days from 2000-01-01.
    assert_eq!(median, Some(8797.5));
}

#[test]
fn lines_of_objects_are_a_table() {
    let (all, layout, said) = told(&file("rows.jsonl"), &ReadOptions::default()).unwrap();
    assert_eq!(all.ids(), ["a", "b", "c", "d", "e", "\u{fc}"]);
    assert_eq!(all.labels.as_ref().unwrap()[3], Label::Unknown);
    let features = ["w", "size = L", "size = S", "new = false", "new = true"];
    assert_eq!(layout.features(), features);
    assert!(
        said[2].contains("\"tags\", \"more\" (lists or records)"),
        "{said:?}"
    );
    let ids = ["a", "b", "c", "d", "e", "\u{fc}"].map(str::to_owned);
    let labels = likewise_io::read_labels(file("rows.jsonl"), &ids).unwrap();
    assert_eq!(labels.classes(), ["x", "y"]);
}

#[test]
fn parquet_with_words_is_a_table_too() {
    let options = ReadOptions::default();
    let (all, layout, _) = told(&file("null.parquet"), &options).unwrap();
    assert_eq!(layout.features(), ["x"]);
    assert_eq!(all.len(), 3);
    let sep = ReadOptions {
        table: TableOptions {
            sep: Some(';'),
            ..TableOptions::default()
        },
        ..ReadOptions::default()
    };
    for name in ["null.parquet", "x_le_f4.npy", "stock.xlsx", "rows.jsonl"] {
        let e = told(&file(name), &sep).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Parameter, "{name}: {e}");
        assert!(e.to_string().contains("`sep` has no effect"), "{e}");
        assert_eq!(
            inspect(file(name), &sep).unwrap_err().kind(),
            ErrorKind::Parameter
        );
    }
}

#[test]
fn settings_say_what_columns_mean() {
    let data = "sku,species,w,h,label\na,x,1,2,9\nb,y,3,4,9\n";
    let all = text(
        data,
        TableOptions {
            id_column: Some("sku".into()),
            label_column: Some("species".into()),
            drop: names(&["h"]),
            ..TableOptions::default()
        },
    )
    .unwrap();
    assert_eq!(all.ids(), ["a", "b"]);
    assert_eq!(all.labels.as_ref().unwrap().classes(), ["x", "y"]);
    assert_eq!(all.views()[0].matrix, array![[1.0], [3.0]]);
    let unknown = TableOptions {
        columns: names(&["w", "width"]),
        ..TableOptions::default()
    };
    let e = text(data, unknown).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Parameter);
    assert!(
        e.to_string()
            .contains("no column \"width\"; the columns are: \"sku\""),
        "{e}"
    );
    let comma = TableOptions {
        sep: Some(';'),
        decimal: Some(Decimal::Comma),
        ..TableOptions::default()
    };
    let all = text("a;b\n1.234;5\n2;6\n", comma).unwrap();
    assert_eq!(all.views()[0].matrix, array![[1234.0, 5.0], [2.0, 6.0]]);
    let one = TableOptions {
        columns: names(&["name"]),
        ..TableOptions::default()
    };
    assert!(message("name,w\nanna,1\nbert,2\n", one).contains("column \"name\": text"));
}

#[test]
fn what_cannot_be_read_is_named() {
    let usual = |data: &str| message(data, TableOptions::default());
    assert!(usual("a;b\n1;2\n3\n").contains("line 3 has 1 fields"));
    assert!(
        usual("a,b,a\n1,x,2\n2,x,3\n3,y,4\n,x,4\n1,y,5\n1,y,5\n")
            .contains("two columns are called \"a\"")
    );
    assert!(usual("name,note\nanna,\nbert,\n").contains("\"note\" (empty)"));
    assert!(usual("a,b\n").contains("empty"));
    assert!(usual("a;b\n").contains("empty"));
    let odd = "w\n1\n2\n3\n4\nsold out\n5\n";
    assert!(usual(odd).contains("\"sold out\" is not a number, as 5 of 6"));
    let filled = TableOptions {
        missing: Some(Missing::Median),
        ..TableOptions::default()
    };
    assert_eq!(text(odd, filled).unwrap().len(), 6);
    let none = TableOptions {
        missing: Some(Missing::Drop),
        ..TableOptions::default()
    };
    assert!(message("a,b\n1,\n,2\n", none).contains("every line has a missing value"));
    // An empty column is no reason to fail.
    let all = text("a,b\n1,\n2,\n", TableOptions::default()).unwrap();
    assert_eq!(all.views()[0].matrix, array![[1.0], [2.0]]);
}

#[test]
fn spreadsheets_that_are_none_are_refused() {
    let read = |bytes: &[u8]| read_bytes(Form::Xlsx, bytes, &ReadOptions::default());
    let said = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert!(said(&sheet::xlsx(&[])).contains("the spreadsheet is empty"));
    assert!(said(&sheet::parts("", "")).contains("ends early"));
    let name = |name: &str| Cell::Text(name.to_owned());
    assert!(said(&sheet::xlsx(&[vec![name("a"), name("b")]])).contains("empty"));
    let lost = "<sheetData><row><c t=\"s\"><v>7</v></c><c><v>1</v></c></row>\
                <row><c t=\"s\"><v>7</v></c></row></sheetData>";
    assert!(said(&sheet::parts(lost, "")).contains("damaged"));
    let far = "<sheetData><row><c r=\"ZZZZZZZZ1\"><v>7</v></c></row></sheetData>";
    assert!(said(&sheet::parts(far, "")).contains("beyond the last column"));
    // A few thousand bytes that unpack to a hundred million.
    let long = " ".repeat(100_000_000);
    let bomb = sheet::parts(&format!("<sheetData>{long}</sheetData>"), "");
    assert!(bomb.len() < 200_000, "{}", bomb.len());
    assert!(said(&bomb).contains("far more than a spreadsheet holds"));
    let mut shared = "<si><t>x</t></si>".repeat(2_000_000);
    shared.truncate(shared.len() / 17 * 17);
    let bomb = sheet::parts("<sheetData/>", &shared);
    let options = ReadOptions {
        max_memory: Some(20_000_000),
        ..ReadOptions::default()
    };
    let e = read_bytes(Form::Xlsx, &bomb, &options).unwrap_err();
    assert!(
        matches!(e.kind(), ErrorKind::Memory | ErrorKind::Format),
        "{e}"
    );
    // The numbers of a matrix have no names.
    let bare = sheet::xlsx(&[
        vec![Cell::Number(1.5), Cell::Number(2.0)],
        vec![Cell::Number(3.0), Cell::Number(4.0)],
    ]);
    assert_eq!(
        read(&bare).unwrap().views()[0].matrix,
        array![[1.5, 2.0], [3.0, 4.0]]
    );
}

#[test]
fn a_sheet_takes_no_more_than_its_cells_are_worth() {
    let said = |sheet: &str| {
        let read = read_bytes(
            Form::Xlsx,
            &sheet::parts(&format!("<sheetData>{sheet}</sheetData>"), ""),
            &ReadOptions::default(),
        );
        read.unwrap_err().to_string()
    };
    // As many columns as there can be, and a cell in the last one of each row.
    let far = "<row><c r=\"XFD1\"><v>1</v></c></row>".repeat(40_000);
    let e = said(&far);
    assert!(e.contains("cells up to here hold something"), "{e}");
    assert!(
        e.contains("delete the columns that are empty (there are 16384)"),
        "{e}"
    );
    let cell = "<c><v>1</v></c>";
    let same = "<c r=\"A1\"><v>1</v></c>".repeat(16_385);
    let e = said(&format!("<row>{same}</row>"));
    assert!(e.contains("more cells than a sheet has columns"), "{e}");
    let beyond = format!("<row>{cell}{cell}</row><row r=\"1048577\">{cell}{cell}</row>");
    let e = said(&beyond);
    assert!(e.contains("more than 1048576 rows"), "{e}");
    // That they all have one number does not help.
    let e = said(&"<row r=\"1\"/>".repeat((1 << 20) + 1));
    assert!(e.contains("more than 1048576 rows"), "{e}");
    // What lies far to the right of the names is a note, and not waited for.
    let noted = "<sheetData><row><c><v>1.5</v></c><c><v>2</v></c></row>\
                 <row><c><v>3</v></c><c><v>4</v></c><c r=\"XFD2\"><v>7</v></c></row></sheetData>";
    let book = sheet::parts(noted, "");
    let read = read_bytes(Form::Xlsx, &book, &ReadOptions::default()).unwrap();
    assert_eq!(read.views()[0].matrix, array![[1.5, 2.0], [3.0, 4.0]]);
}

/// A workbook of one sheet, and another one behind it, called Data, with the same cells.
fn with_second_sheet(book: &[u8]) -> Vec<u8> {
    let mut old = zip::ZipArchive::new(Cursor::new(book)).unwrap();
    let mut new = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for place in 0..old.len() {
        let mut part = old.by_index(place).unwrap();
        let name = part.name().unwrap().to_string();
        let mut text = String::new();
        part.read_to_string(&mut text).unwrap();
        let kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet";
        text = match name.as_str() {
            "xl/workbook.xml" => text.replace(
                "</sheets>",
                "<sheet name=\"Data\" sheetId=\"2\" r:id=\"second\"/></sheets>",
            ),
            "xl/_rels/workbook.xml.rels" => text.replace(
                "</Relationships>",
                &format!(
                    "<Relationship Id=\"second\" Type=\"{kind}\" \
                     Target=\"worksheets/sheet1.xml\"/></Relationships>"
                ),
            ),
            _ => text,
        };
        let options = zip::write::SimpleFileOptions::default();
        new.start_file(name, options).unwrap();
        new.write_all(text.as_bytes()).unwrap();
    }
    new.finish().unwrap().into_inner()
}

#[test]
fn a_sheet_without_a_table_is_named_beside_the_others() {
    let cell = |text: &str| Cell::Text(text.to_owned());
    let notes = [
        vec![cell("note")],
        vec![cell("see below")],
        vec![cell("and there")],
    ];
    let one = sheet::xlsx(&notes);
    let two = with_second_sheet(&one);
    let said = |book: &[u8], table: TableOptions| {
        let options = ReadOptions {
            table,
            ..ReadOptions::default()
        };
        let e = read_bytes(Form::Xlsx, book, &options).unwrap_err();
        e.to_string()
    };
    let none = "no columns of numbers or categories; the columns are: note";
    let usual = said(&one, TableOptions::default());
    assert!(
        usual.starts_with(none) && !usual.contains("sheet"),
        "{usual}"
    );
    let advice = "only sheet \"Sheet1\" was read, the first that holds something; if the table is \
                  in another one (\"Data\"), make that the first, or save it as a file of its own";
    let usual = said(&two, TableOptions::default());
    assert!(
        usual.starts_with(none) && usual.ends_with(advice),
        "{usual}"
    );
    let asked = TableOptions {
        columns: names(&["w"]),
        ..TableOptions::default()
    };
    let asked = said(&two, asked);
    assert!(
        asked.starts_with("no column \"w\"") && asked.ends_with(advice),
        "{asked}"
    );
    let labels = likewise_io::read_labels_bytes(Form::Xlsx, &two, &[]).unwrap_err();
    assert!(labels.to_string().ends_with(advice), "{labels}");
}

#[test]
fn columns_of_one_name_are_named_with_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "id,w,w,label\na,1,2,x\nb,3,5,y\n").unwrap();
    let (all, layout, said) = told(&path, &ReadOptions::default()).unwrap();
    assert_eq!(all.views()[0].matrix, array![[1.0, 2.0], [3.0, 5.0]]);
    let words = "two columns are called \"w\" (columns 2 and 3)";
    assert_eq!(
        said,
        [format!(
            "{words}, and all of them are taken; rename them, or remove those that are no features"
        )]
    );
    let named = |table: TableOptions| ReadOptions {
        table,
        ..ReadOptions::default()
    };
    for table in [
        TableOptions {
            columns: names(&["w"]),
            ..TableOptions::default()
        },
        TableOptions {
            drop: names(&["W"]),
            ..TableOptions::default()
        },
        TableOptions {
            label_column: Some("w".into()),
            ..TableOptions::default()
        },
    ] {
        let e = told(&path, &named(table)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Parameter);
        let places = "(columns 2 and 3); rename one of them";
        assert!(e.to_string().ends_with(places), "{e}");
    }
    // Among other columns no new table could tell them apart, nor could this one.
    let again = ReadOptions {
        layout: Some(Arc::new(layout)),
        ..ReadOptions::default()
    };
    assert_eq!(told(&path, &again).unwrap().2, names(&[]));
    for (data, options) in [
        ("id,note,w,w\na,x,1,2\nb,y,3,5\n", &again),
        ("w,w\n1,x\n2,y\n4,z\n", &ReadOptions::default()),
    ] {
        std::fs::write(&path, data).unwrap();
        let e = told(&path, options).unwrap_err().to_string();
        assert!(e.contains("two columns are called \"w\" (columns "), "{e}");
    }
}

#[test]
fn points_that_may_stand_between_thousands_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let said = |data: &str, table: TableOptions| {
        std::fs::write(&path, data).unwrap();
        let options = ReadOptions {
            table,
            ..ReadOptions::default()
        };
        let (all, _, said) = told(&path, &options).unwrap();
        let heard = said.iter().filter(|line| line.contains("thousands"));
        (all, heard.cloned().collect::<Vec<_>>())
    };
    let usual = |data: &str| said(data, TableOptions::default()).1;
    let numbers = "id;price;n\na;38.234;1\nb;112.234;2\nc;500;4\n";
    let words = "\"price\": numbers such as \"38.234\" are read with a decimal point; if it stands \
                 between thousands, `decimal ,` reads them so";
    assert_eq!(usual(numbers), [words]);
    // Beside words, too.
    let mixed = "id;price;s\na;38.234;L\nb;112.234;L\nc;500;S\nd;1;S\ne;2;L\nf;3;S\n";
    assert_eq!(usual(mixed), [words]);
    let comma = TableOptions {
        decimal: Some(Decimal::Comma),
        ..TableOptions::default()
    };
    let (all, none) = said(numbers, comma);
    assert!(none.is_empty() && all.views()[0].matrix[[0, 0]].to_bits() == 38_234_f32.to_bits());
    for clear in [
        // Commas between columns, a fraction of another length, three decimals everywhere, a
        // leading zero, and a decimal comma elsewhere.
        "id,price,n\na,38.234,1\nb,112.234,2\nc,500,4\n",
        "id;price;n\na;38.234;1\nb;112.2;2\nc;500;4\n",
        "id;price;n\na;38.234;1\nb;112.234;2\nc;500.125;4\n",
        "id;price;n\na;38.234;1\nb;0.234;2\nc;500;4\n",
        "id;price;n\na;38.234;1,5\nb;112.234;2\nc;500;4\n",
    ] {
        assert_eq!(usual(clear), names(&[]), "{clear}");
    }
}

#[test]
fn commas_between_thousands_are_told_from_those_before_decimals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let read = |data: &str, separator: &str| {
        std::fs::write(&path, data.replace('\t', separator)).unwrap();
        let (all, _, said) = told(&path, &ReadOptions::default()).unwrap();
        let heard = said.iter().filter(|line| line.contains("thousands"));
        let first = all.views()[0].matrix.column(0).to_vec();
        (first, heard.cloned().collect::<Vec<_>>())
    };
    let grouped = "id\tpop\tn\na\t2,140\t4\nb\t-254\t5\nc\t552\t6\n";
    for separator in ["\t", "|", ";"] {
        let (values, said) = read(grouped, separator);
        assert_eq!(values, [2140.0, -254.0, 552.0], "{separator}");
        assert!(
            said.len() == 1
                && said[0].ends_with("stands before decimals, `decimal ,` reads them so"),
            "{said:?}"
        );
    }
    // A fraction of another length, a leading zero, a whole number too long for it, and decimals in
    // another column.
    for (data, first) in [
        ("id\tpop\na\t2,140\nb\t552\nc\t12,5\n", 2.14),
        ("id\tpop\na\t2,140\nb\t552\nc\t0,125\n", 2.14),
        ("id\tpop\na\t2,140\nb\t552\nc\t1327\n", 2.14),
        ("id\tpop\tn\na\t2,140\t1,5\nb\t552\t3\nc\t554\t4\n", 2.14),
    ] {
        let (values, _) = read(data, ";");
        assert_eq!(values[0].to_bits(), f32::to_bits(first), "{data}");
    }
    // Nothing tells: as it was, and said.
    let (values, said) = read("id\tpop\na\t2,140\nb\t1,327\n", "\t");
    assert_eq!(values, [2.14, 1.327]);
    let words = "\"pop\": numbers such as \"2,140\" are read with a decimal comma; if it stands \
                 between thousands, `decimal .` reads them so";
    assert_eq!(said, [words]);
    let (values, said) = read("id\tpop\na\t2.140\nb\t327\n", "\t");
    assert_eq!(values, [2.14, 327.0]);
    assert!(said[0].contains("decimal point"), "{said:?}");
}

#[test]
fn lines_are_counted_as_they_stand_however_they_end() {
    let twice = "id,a\n\nx,1\n\"y\nz\",2\n\n\nx,3\n";
    for end in ["\n", "\r\n"] {
        let said = message(&twice.replace('\n', end), TableOptions::default());
        assert_eq!(said, "id \"x\" stands in lines 3 and 8; ids must be unique");
        let labels = "id,label\n5,c1\n7,c2\n5,c3\n".replace('\n', end);
        let ids = names(&["5", "7"]);
        let e = likewise_io::read_labels_bytes(Form::Csv, labels.as_bytes(), &ids).unwrap_err();
        let e = e.to_string();
        assert!(e.contains("line 4") && e.contains("line 2"), "{e}");
    }
    let said = message("a,b\r\n1,2\r\n3\r\n", TableOptions::default());
    assert!(said.starts_with("line 3 has 1 fields"), "{said}");
    // Of an old Mac.
    let said = message("w\r1\r2\r3\r4\rx\r", TableOptions::default());
    assert!(said.starts_with("column \"w\": line 6: \"x\""), "{said}");
}

#[test]
fn what_stands_above_the_names_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    for (data, line) in [
        ("Report,,\r\n,,\r\nid,w,label\r\nx,1.5,a\r\ny,2,b\r\n", 3),
        ("Report of May\n\nid;w;label\nx;1,5;a\ny;2;b\n", 3),
        ("sep=;\r\nid;w;label\r\nx;1.5;a\r\ny;2;b\r\n", 2),
    ] {
        std::fs::write(&path, data).unwrap();
        let (all, _, said) = told(&path, &ReadOptions::default()).unwrap();
        assert_eq!(all.ids(), ["x", "y"]);
        assert_eq!(all.views()[0].matrix, array![[1.5], [2.0]]);
        assert!(
            said[0].contains(&format!("names in line {line}")),
            "{said:?}"
        );
    }
    // Lines are those of the file.
    let said = message("sep=;\r\nid;w\r\nx;1\r\nx;2\r\n", TableOptions::default());
    assert!(said.contains("lines 3 and 4"), "{said}");
    let names = ",size,size\n,w,h\nsku,,\na,1,2\nb,3,4\nc,5,6\nd,7,8\ne,9,9\nf,1,1\ng,1,2\nh,2,3\n";
    let said = message(&format!("{names}i,4,4\n"), TableOptions::default());
    assert!(
        said.starts_with("lines 1 to 3 all hold words above the numbers"),
        "{said}"
    );
    let drawn = "| id | w |\n|----|---|\n| x  | 1 |\n";
    assert!(message(drawn, TableOptions::default()).contains("as in Markdown"));
}

#[test]
fn a_first_line_of_data_is_not_taken_for_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "x0,10.5,49.5,fox\nx1,5.5,31,dog\nx2,8,37,fox\n").unwrap();
    let asked = ReadOptions {
        table: TableOptions {
            id_column: Some("column 1".into()),
            label_column: Some("column 4".into()),
            ..TableOptions::default()
        },
        ..ReadOptions::default()
    };
    let (all, layout, said) = told(&path, &asked).unwrap();
    assert_eq!(all.ids(), ["x0", "x1", "x2"]);
    assert_eq!(
        all.views()[0].matrix,
        array![[10.5, 49.5], [5.5, 31.0], [8.0, 37.0]]
    );
    assert_eq!(layout.features(), ["column 2", "column 3"]);
    assert!(said[0].contains("no names in the first line"), "{said:?}");
    let (all, ..) = told(&path, &ReadOptions::default()).unwrap();
    assert_eq!(all.len(), 3);
    // Names that are numbers stay names.
    let years = "land,2019,2020\na,1,2\nb,3,4\n";
    assert_eq!(text(years, TableOptions::default()).unwrap().len(), 2);
}

#[test]
fn sums_below_a_table_and_features_that_may_be_ids_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let said = |data: &str, columns: &[&str]| {
        std::fs::write(&path, data).unwrap();
        let options = ReadOptions {
            table: TableOptions {
                columns: names(columns),
                ..TableOptions::default()
            },
            ..ReadOptions::default()
        };
        let (_, _, said) = told(&path, &options).unwrap();
        let doubts = |line: &&String| line.contains("may be an id") || line.contains("if so");
        said.iter().filter(doubts).cloned().collect::<Vec<_>>()
    };
    // Numbers alone, and beside words.
    for (word, more) in [("", ""), (",size", ",L")] {
        let line = |id: &str, w: usize| format!("{id},{w}.5{more}\n");
        let items: String = (0..6).map(|i| line(&format!("x{i}"), i * i)).collect();
        let found = said(&format!("id,w{word}\n{items}{}", line("Total", 55)), &[]);
        let words = "line 8 (\"Total\") is read as an item";
        assert!(found.len() == 1 && found[0].starts_with(words), "{found:?}");
        assert!(said(&format!("id,w{word}\n{items}"), &[]).is_empty());
        let items: String = (0..6)
            .map(|i| line(&(700 + 13 * i).to_string(), i * i))
            .collect();
        let table = format!("customer_id,w{word}\n{items}");
        let found = said(&table, &[]);
        let words = "name it with `id_column customer_id`, or leave it out with `drop customer_id`";
        assert!(found.len() == 1 && found[0].ends_with(words), "{found:?}");
        assert!(said(&table, &["customer_id", "w"]).is_empty());
    }
    let large = "w,v\n16777219,1\n16777220,2\n";
    assert!(said(large, &[])[0].contains("cannot tell apart, such as 16777219 and 16777220"));
}

#[test]
fn a_point_here_and_a_comma_there_are_refused_where_nothing_tells() {
    let data = "id;w\na;10,564\nb;5.830\nc;8,739\n";
    let said = message(data, TableOptions::default());
    let words = "column \"w\": line 3: \"5.830\" has a point before three digits, and \"10,564\" in \
                 line 2 a comma, so which of the two stands before decimals is not clear";
    assert!(said.starts_with(words), "{said}");
    let by = |decimal| TableOptions {
        decimal: Some(decimal),
        ..TableOptions::default()
    };
    let first = |table| {
        text(data, table).unwrap().views()[0]
            .matrix
            .column(0)
            .to_vec()
    };
    assert_eq!(first(by(Decimal::Point)), [10_564.0, 5.83, 8739.0]);
    assert_eq!(first(by(Decimal::Comma)), [10.564, 5830.0, 8.739]);
}

/// A table of two columns of numbers and labels, as each form writes it.
fn indexed(index: [f64; 4]) -> [(&'static str, Vec<u8>); 3] {
    let rows: Vec<(f64, f64, &str)> = [1.0, 20.0, 4.0, 8.0]
        .into_iter()
        .zip(index)
        .zip(["a", "b", "a", "b"])
        .map(|((price, index), label)| (price, index, label))
        .collect();
    let mut csv = "price,index,label\n".to_owned();
    let mut jsonl = String::new();
    let mut cells = vec![
        ["price", "index", "label"]
            .map(|name| Cell::Text(name.into()))
            .to_vec(),
    ];
    for (price, index, label) in rows {
        writeln!(csv, "{price},{index},{label}").unwrap();
        let object = format!("\"price\": {price}, \"index\": {index}, \"label\": \"{label}\"");
        writeln!(jsonl, "{{{object}}}").unwrap();
        cells.push(vec![
            Cell::Number(price),
            Cell::Number(index),
            Cell::Text(label.into()),
        ]);
    }
    [
        ("a.csv", csv.into_bytes()),
        ("a.jsonl", jsonl.into_bytes()),
        ("a.xlsx", sheet::xlsx(&cells)),
    ]
}

#[test]
fn an_index_is_one_only_where_its_values_number_rows() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let options = ReadOptions::default();
        let (all, _, said) = told(&path, &options).unwrap();
        let shape = inspect(&path, &options).unwrap();
        assert_eq!(shape.views[0].1, all.views()[0].matrix.ncols(), "{name}");
        (all.views()[0].matrix.clone(), said)
    };
    // Values that stand twice name no rows, nor do fractions and what is below 0.
    for index in [
        [100.0, 110.0, 120.0, 100.0],
        [0.5, 1.0, 2.0, 3.0],
        [-1.0, 0.0, 1.0, 2.0],
    ] {
        for (name, bytes) in indexed(index) {
            let (x, said) = read(name, &bytes);
            let column: Vec<f64> = x.column(1).iter().map(|v| f64::from(*v)).collect();
            assert_eq!(column, index, "{name}");
            let left = |line: &String| line.starts_with("left out");
            assert!(!said.iter().any(left), "{name}: {said:?}");
        }
    }
    // In any order, and with gaps: rows of a part of a table.
    for (name, bytes) in indexed([7.0, 3.0, 120.0, 0.0]) {
        let (x, said) = read(name, &bytes);
        assert_eq!(x, array![[1.0], [20.0], [4.0], [8.0]], "{name}");
        assert_eq!(said[0], "4 items; labels: \"label\"", "{name}");
        let last = said.last().unwrap();
        assert_eq!(last, "left out: \"index\" (numbers of rows)", "{name}");
    }
    // Where others are asked for, it is no feature either.
    let asked = TableOptions {
        columns: names(&["price"]),
        ..TableOptions::default()
    };
    let csv = "price,index\n1,5\n20,5\n4,6\n";
    let all = text(csv, asked).unwrap();
    assert_eq!(all.views()[0].matrix, array![[1.0], [20.0], [4.0]]);
}

#[test]
fn what_an_index_is_another_table_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let read = |text: &str, layout: Option<&Layout>| {
        std::fs::write(&path, text).unwrap();
        let options = ReadOptions {
            layout: layout.cloned().map(Arc::new),
            ..ReadOptions::default()
        };
        let (all, layout, _) = told(&path, &options).unwrap();
        assert_eq!(
            inspect(&path, &options).unwrap().views[0].1,
            layout.dimensions()
        );
        (all, layout)
    };
    // Taken there, and here, where the values alone would not say so.
    let (_, taken) = read("index,w\n9,1\n9,2\n", None);
    assert_eq!(taken.features(), ["index", "w"]);
    let (all, _) = read("w,index\n3,0\n4,1\n", Some(&taken));
    assert_eq!(all.views()[0].matrix, array![[0.0, 3.0], [1.0, 4.0]]);
    // And the other way round.
    let (_, left) = read("index,w\n0,1\n1,2\n", None);
    assert_eq!(left.features(), ["w"]);
    let (all, _) = read("index,w\n9,3\n9,4\n", Some(&left));
    assert_eq!(all.views()[0].matrix, array![[3.0], [4.0]]);
}

#[test]
fn a_first_column_without_a_name_holds_ids_or_is_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let read = |text: &str, layout: Option<Layout>| {
        std::fs::write(&path, text).unwrap();
        let options = ReadOptions {
            layout: layout.map(Arc::new),
            ..ReadOptions::default()
        };
        told(&path, &options).unwrap()
    };
    let (all, layout, _) = read(",a\n0.5,1\n1.5,2\n", None);
    assert_eq!(all.views()[0].matrix, array![[0.5, 1.0], [1.5, 2.0]]);
    assert_eq!(all.ids(), ["0", "1"]);
    assert_eq!(layout.features(), ["column 1", "a"]);
    let (all, ..) = read(",a\n2.5,9\n", Some(layout));
    assert_eq!(all.views()[0].matrix, array![[2.5, 9.0]]);
    // Words that come again are a category.
    let (_, layout, said) = read(",a\nx,1\nx,2\ny,3\ny,1\nx,2\ny,3\n", None);
    assert_eq!(layout.features(), ["column 1 = x", "column 1 = y", "a"]);
    assert!(said[1].contains("\"column 1\" (2)"), "{said:?}");
    let (all, ..) = read(",a\ny,2\n", Some(layout));
    assert_eq!(all.views()[0].matrix, array![[0.0, 1.0, 0.0]]);
    // It can be asked for as it is called then.
    let asked = TableOptions {
        label_column: Some("column 1".into()),
        ..TableOptions::default()
    };
    let labeled = text(",a\nx,1\nx,2\ny,3\n", asked).unwrap();
    assert_eq!(labeled.labels.unwrap().classes(), ["x", "y"]);
    // Tables below each other, each with numbers of its own.
    let mut joined = ",a\n".to_owned();
    for i in 0..40 {
        writeln!(joined, "{},{}.5", i % 20, i * i).unwrap();
    }
    let (all, layout, said) = read(&joined, None);
    assert_eq!(
        (layout.features(), all.ids()[39].as_str()),
        (names(&["a"]), "39")
    );
    let left = "left out: the first column, which has no name (numbers of rows)";
    assert_eq!(said, ["40 items", left]);
}

#[test]
fn of_numbers_alone_is_said_what_their_names_do_not_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let said = |text: &str, table: TableOptions| {
        std::fs::write(&path, text).unwrap();
        let options = ReadOptions {
            table,
            ..ReadOptions::default()
        };
        told(&path, &options).unwrap().2
    };
    let usual = |text: &str| said(text, TableOptions::default());
    for plain in [
        "a,b\n1,7\n5,2\n",
        "id,label,split,a,b\nx,u,train,1,7\ny,v,test,5,2\n",
        "ids,target,a,b\nx,u,1,7\ny,v,5,2\n",
    ] {
        assert_eq!(usual(plain), names(&[]), "{plain}");
    }
    for (text, lines) in [
        (
            ",a\n7,1\n3,5\n",
            &["2 items; ids: the first column, which has no name"][..],
        ),
        (
            ",id,a\n0,x,1\n1,y,5\n",
            &[
                "2 items; ids: \"id\"",
                "left out: the first column, which has no name (numbers of rows)",
            ],
        ),
        ("class,a\nx,1\ny,5\n", &["2 items; labels: \"class\""]),
        (
            "id;a\nx;1\ny;5\n",
            &["2 items (\";\" between columns); ids: \"id\""],
        ),
        (
            "Unnamed: 0,a,label\n0,1,x\n1,5,y\n",
            &[
                "2 items; labels: \"label\"",
                "left out: \"Unnamed: 0\" (numbers of rows)",
            ],
        ),
    ] {
        assert_eq!(usual(text), names(lines), "{text}");
    }
    // What was asked for is no surprise, but what had to give way to it is.
    let ids = TableOptions {
        id_column: Some("sku".into()),
        drop: names(&["b"]),
        ..TableOptions::default()
    };
    assert_eq!(said("sku,a,b\nx,1,2\ny,5,7\n", ids.clone()), names(&[]));
    assert_eq!(
        said("id,sku,a,b\nu,x,1,2\nv,y,5,7\n", ids),
        [
            "2 items; ids: \"sku\"",
            "left out: \"id\" (ids, by the name), \"b\" (as asked for)"
        ]
    );
    let (_, _, said) = told(&file("frame.parquet"), &ReadOptions::default()).unwrap();
    let left = "left out: \"__index_level_0__\" (numbers of rows)";
    assert_eq!(said, ["5 items; labels: \"class\"", left]);
}

#[test]
fn an_id_that_stands_twice_is_named_with_its_lines() {
    let said = |form: Form, bytes: &[u8]| {
        let e = read_bytes(form, bytes, &ReadOptions::default()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Value);
        e.to_string()
    };
    let csv = said(Form::Csv, b"id,a\nx,1\n\"y\nz\",2\nx,3\n");
    assert_eq!(csv, "id \"x\" stands in lines 2 and 5; ids must be unique");
    // Beside words, too, and below lines of nothing.
    let mixed = said(Form::Csv, b"id,a,s\nx,1,L\n,,\nx,2,L\ny,3,L\nz,,L\n");
    assert!(mixed.contains("lines 2 and 4"), "{mixed}");
    let jsonl = b"{\"id\": \"x\", \"w\": 1}\n\n{\"id\": \"x\", \"w\": 2}\n";
    assert!(said(Form::Jsonl, jsonl).contains("lines 1 and 3"));
    let word = |text: &str| Cell::Text(text.to_owned());
    let row = |id: &str, w: f64| vec![word(id), Cell::Number(w)];
    let book = sheet::xlsx(&[vec![word("id"), word("w")], row("x", 1.0), row("x", 2.0)]);
    assert!(said(Form::Xlsx, &book).contains("rows 2 and 3;"));
}

#[test]
fn a_separator_that_the_text_speaks_against_is_doubted() {
    let by = |sep: char| TableOptions {
        sep: Some(sep),
        ..TableOptions::default()
    };
    let doubt =
        "; the file looks as if \";\" stands between columns, but `sep` says \",\"; leave it out";
    let ragged = "a;b;c\n1,5;2;3\n2,5;3;4\n";
    let said = message(ragged, by(','));
    assert!(
        said.starts_with("line 2 has 2 fields, but the first line has 1"),
        "{said}"
    );
    assert!(said.ends_with(doubt), "{said}");
    // Also where every line is one field, and where a column is asked for.
    let one = "sku;w\na;1\nb;2\n";
    let said = message(one, by(','));
    assert!(
        said.starts_with("no columns of numbers") && said.ends_with(doubt),
        "{said}"
    );
    let asked = TableOptions {
        id_column: Some("sku".into()),
        ..by(',')
    };
    let said = message(one, asked);
    assert!(
        said.starts_with("no column \"sku\"") && said.ends_with(doubt),
        "{said}"
    );
    assert!(message("a\tb\nx\t2\ny\t3\n", by(';')).contains("as if a tab stands"));
    // A separator that is right is not doubted, whatever else is wrong.
    let said = message("a;b\n1;2\n3\n", by(';'));
    assert!(
        said.contains("line 3 has 1 fields") && !said.contains("looks"),
        "{said}"
    );
}

#[test]
fn text_that_no_column_holds_cannot_be_asked_for() {
    let data = "weight,price\n1,2\n3,5\n4,9\n";
    let asked = TableOptions {
        columns: names(&["weight", "price"]),
        text: true,
        ..TableOptions::default()
    };
    let e = text(data, asked).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Parameter);
    assert!(e.to_string().starts_with("`text` has no effect"), "{e}");
    // Of a whole table it is said.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, data).unwrap();
    let options = ReadOptions {
        table: TableOptions {
            text: true,
            ..TableOptions::default()
        },
        ..ReadOptions::default()
    };
    let (all, _, said) = told(&path, &options).unwrap();
    assert_eq!(
        all.views()[0].matrix,
        array![[1.0, 2.0], [3.0, 5.0], [4.0, 9.0]]
    );
    assert!(
        said[1].ends_with("; `text` has no effect, as no column holds text"),
        "{said:?}"
    );
}

#[test]
fn columns_that_could_be_labels_are_all_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let said = |columns: usize| {
        let head: Vec<String> = (0..columns).map(|c| format!("c{c},")).collect();
        let mut text = head.concat() + "w\n";
        for i in 0..12 {
            text.extend((0..columns).map(|c| ["x,", "y,"][(i >> (c % 3)) % 2]));
            writeln!(text, "{}.5", i * i).unwrap();
        }
        std::fs::write(&path, text).unwrap();
        told(&path, &ReadOptions::default()).unwrap().2[0].clone()
    };
    let begins = "12 items; no labels (if a column holds them, `label_column` names it: ";
    assert_eq!(said(2), format!("{begins}\"c0\", \"c1\")"));
    let five = "\"c0\", \"c1\", \"c2\", \"c3\", \"c4\"";
    assert_eq!(said(5), format!("{begins}{five})"));
    assert_eq!(said(7), format!("{begins}{five} or 2 more)"));
}

/// A value of a table, before it is written in one of the forms.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Missing,
    Number(f32),
    Word(&'static str),
}

fn table() -> impl Strategy<Value = Vec<Vec<Value>>> {
    let number = prop_oneof![
        1 => Just(Value::Missing),
        5 => (-99_999_i32..99_999).prop_map(|v| Value::Number(v as f32 / 1000.0)),
        5 => (-50_i32..5000).prop_map(|v| Value::Number(v as f32)),
    ];
    let word = prop_oneof![
        1 => Just(Value::Missing),
        4 => prop::sample::select(vec!["rot", "gr\u{fc}n", "Gr\u{f6}\u{df}e 5; \"M\"", "a,b"])
            .prop_map(Value::Word),
    ];
    let row = (prop::collection::vec(number, 2), word, Just(()));
    let row = row.prop_map(|(mut row, word, ())| {
        row.push(word);
        row
    });
    // The first line tells by itself what stands before decimals.
    let clear = vec![Value::Number(0.5), Value::Number(0.5), Value::Word("rot")];
    prop::collection::vec(row, 1..30).prop_map(move |mut rows| {
        rows.insert(0, clear.clone());
        rows
    })
}

/// The table as text.
fn written(rows: &[Vec<Value>], separator: char, comma: bool) -> String {
    let field = |value: &Value| match value {
        Value::Missing => String::new(),
        Value::Number(v) if comma => v.to_string().replace('.', ","),
        Value::Number(v) => v.to_string(),
        Value::Word(word) => format!("\"{}\"", word.replace('"', "\"\"")),
    };
    let mut text = ["id", "n", "m", "word"].join(&separator.to_string()) + "\r\n";
    for (i, row) in rows.iter().enumerate() {
        let id = format!("i{i}");
        text.push_str(&id);
        for value in row {
            text.push(separator);
            text += &field(value);
        }
        text += "\r\n";
    }
    text
}

fn spreadsheet(rows: &[Vec<Value>]) -> Vec<u8> {
    let head = ["id", "n", "m", "word"].map(|name| Cell::Text(name.to_owned()));
    let mut cells = vec![head.to_vec()];
    for (i, row) in rows.iter().enumerate() {
        let mut line = vec![Cell::Text(format!("i{i}"))];
        line.extend(row.iter().map(|value| match value {
            Value::Missing => Cell::Nothing,
            Value::Number(v) => Cell::Number(v.to_string().parse().unwrap()),
            Value::Word(word) => Cell::Text((*word).to_owned()),
        }));
        cells.push(line);
    }
    sheet::xlsx(&cells)
}

fn objects(rows: &[Vec<Value>]) -> String {
    let field = |value: &Value| match value {
        Value::Missing => "null".to_owned(),
        Value::Number(v) => v.to_string(),
        Value::Word(word) => serde_json::to_string(word).unwrap(),
    };
    let line = |(i, row): (usize, &Vec<Value>)| {
        let [n, m, word] = [0, 1, 2].map(|c| field(&row[c]));
        format!("{{\"id\": \"i{i}\", \"n\": {n}, \"m\": {m}, \"word\": {word}}}\n")
    };
    rows.iter().enumerate().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_table_is_the_same_in_every_dialect(rows in table()) {
        let latin = |text: &str| -> Vec<u8> { text.chars().map(|c| c as u8).collect() };
        let wide = |text: &str| -> Vec<u8> {
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
        };
        let german = written(&rows, ';', true);
        let dialects = [
            ("comma", Form::Csv, written(&rows, ',', false).into_bytes()),
            ("german", Form::Csv, latin(&german)),
            ("mark", Form::Csv, format!("\u{feff}{german}").into_bytes()),
            ("tabs", Form::Tsv, wide(&written(&rows, '\t', false))),
            ("bars", Form::Csv, written(&rows, '|', false).into_bytes()),
            ("sheet", Form::Xlsx, spreadsheet(&rows)),
            ("objects", Form::Jsonl, objects(&rows).into_bytes()),
        ];
        let mut first = None;
        for (name, form, bytes) in dialects {
            let read = read_bytes(form, &bytes, &ReadOptions::default()).ok();
            let read = read.map(|all| (all.ids().to_vec(), all.views()[0].matrix.clone()));
            match &first {
                None => first = Some(read),
                Some(first) => prop_assert_eq!(&read, first, "{}", name),
            }
        }
    }

    #[test]
    fn numbers_alone_stay_as_they_are(rows in prop::collection::vec(
        prop::collection::vec(-1e6_f32..1e6, 3), 2..12,
    )) {
        let flat: Vec<f32> = rows.concat();
        let text = |separator: &str, comma: bool| -> String {
            let mut text = ["a", "b", "c"].join(separator) + "\n";
            for row in &rows {
                let fields: Vec<String> = row.iter().map(ToString::to_string).collect();
                let line = fields.join(separator) + "\n";
                text += &if comma { line.replace('.', ",") } else { line };
            }
            text
        };
        for text in [text(",", false), text(";", false), text(";", true), text("\t", true)] {
            let all = read_bytes(Form::Csv, text.as_bytes(), &ReadOptions::default()).unwrap();
            prop_assert_eq!(all.views()[0].matrix.as_slice().unwrap(), &flat[..], "{}", text);
        }
    }
}
