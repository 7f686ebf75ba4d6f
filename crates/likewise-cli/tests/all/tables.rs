//! Tables as spreadsheets and data frames write them, with what people do to them: from the file
//! to an answer in one command each.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use likewise_testdata::sheet::{self, Cell};
use serde_json::Value;

use crate::program::{likewise, succeeds};

/// Items of three kinds, 20 each.
const N: usize = 60;

/// An item: weight, price, stock, share, and words.
struct Item {
    kind: &'static str,
    weight: f64,
    price: f64,
    count: u32,
    color: &'static str,
    day: usize,
}

fn items() -> Vec<Item> {
    let noise = |i: usize, of: usize| ((i * 7919 + of * 104_729) % 97) as f64 / 97.0;
    (0..N)
        .map(|i| {
            let kind = i % 3;
            Item {
                kind: ["shirt", "hat", "shoe"][kind],
                weight: (100.0 * (0.2 + kind as f64 + noise(i, 1))).round() / 100.0,
                price: (100.0 * (1500.0 * (3 - kind) as f64 + 900.0 * noise(i, 2))).round() / 100.0,
                count: (40 * kind + (i * 31) % 37) as u32,
                color: ["r\u{f6}t", "blau", "gr\u{fc}n"][(kind + usize::from(i % 5 == 0)) % 3],
                day: 1 + i % 28,
            }
        })
        .collect()
}

fn with_comma(value: f64) -> String {
    value.to_string().replace('.', ",")
}

/// 1,234.5 or, by other signs, 1.234,5.
fn grouped(value: f64, group: char, point: char) -> String {
    let text = format!("{value:.2}");
    let (whole, fraction) = text.split_once('.').unwrap();
    let mut out = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(group);
        }
        out.push(digit);
    }
    format!("{out}{point}{fraction}")
}

fn latin(text: &str) -> Vec<u8> {
    text.chars().map(|c| c as u8).collect()
}

/// What was said of a table: all but warnings, how far the work is, and how long it took.
fn said_of_table(said: &str) -> Vec<String> {
    let other = |line: &str| {
        let mut words = line.split(' ');
        let number = words.next().is_some_and(|word| word.parse::<f64>().is_ok());
        let time = number && matches!(words.next(), Some("s" | "s:"));
        let far = line.contains(" after ") && line.ends_with(" s");
        line.starts_with("warning: ") || time || far
    };
    let lines = said.lines().filter(|line| !other(line));
    lines.map(str::to_owned).collect()
}

/// Fits the table in one command, by the recipe that is found for it, and searches with it in another;
/// what was said of the table.
///
/// Every item asks, and is embedded as before: it was read in the same way.
#[track_caller]
fn journey(at: &Path, data: &str, more: &[&str]) -> Vec<String> {
    let fit = ["fit", data, "-o", "run", "--overwrite"];
    let out = likewise(at, &[&fit[..], more].concat());
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.success(), "{data}: {said}");
    let answers = succeeds(
        at,
        &["search", "run", "--query", data, "-k", "2", "--json", "-q"],
    );
    let answers: Value = serde_json::from_str(&answers).unwrap();
    let answers = answers.as_array().unwrap();
    assert!(answers.len() > N / 2, "{data}");
    let similarity = |answer: &Value| answer["hits"][0]["similarity"].as_f64().unwrap();
    assert!(
        answers.iter().all(|answer| similarity(answer) > 0.999),
        "{data}: {answers:?}"
    );
    // Read again, the table gives the embeddings that the run holds.
    succeeds(at, &["embed", "run", data, "-o", "again.npy", "-q"]);
    let matrix = |name: &str| likewise_io::read_matrix(at.join(name), None).unwrap();
    let (again, fitted) = (matrix("again.npy"), matrix("run/embeddings.npy"));
    assert_eq!(again.dim(), fitted.dim(), "{data}");
    let far = again
        .iter()
        .zip(&fitted)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(far < 1e-4, "{data}: {far}");
    let lines = said_of_table(&said);
    assert!((2..=3).contains(&lines.len()), "{said}");
    lines
}

#[test]
#[expect(clippy::too_many_lines, reason = "ten tables, one after the other")]
fn ten_messy_tables_go_from_file_to_search() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let write = |name: &str, bytes: &[u8]| fs::write(at.join(name), bytes).unwrap();
    let items = items();
    let all = || items.iter().enumerate();

    // 1. Excel in German: semicolons, commas, Latin-1, dates, a gap, and lines that were emptied.
    let mut text = "Artikel;Name;Gewicht;Preis;Farbe;Seit;Klasse\r\n".to_owned();
    for (i, item) in all() {
        let price = if i == 7 {
            String::new()
        } else {
            grouped(item.price, '.', ',')
        };
        let (weight, day) = (with_comma(item.weight), item.day);
        let (color, kind) = (item.color, item.kind);
        write!(
            text,
            "A{i};Ware {i};{weight};{price};{color};{day:02}.05.2024;{kind}\r\n"
        )
        .unwrap();
    }
    text += ";;;;;;\r\n;;;;;;\r\n";
    write("german.csv", &latin(&text));
    let names = ["--id-column", "Artikel", "--label-column", "Klasse"];
    let said = journey(at, "german.csv", &names);
    assert!(said[0].contains("\";\" between columns, letters as in Latin-1, decimal comma"));
    assert!(said[1].contains("\"Gewicht\", \"Preis\"") && said[1].contains("\"Farbe\" (3)"));
    assert!(
        said[1].contains("1 missing value is the median"),
        "{said:?}"
    );
    assert!(
        said[2].contains("\"Name\" (text") && said[2].contains("\"Seit\" (dates"),
        "{said:?}"
    );

    // 2. A data frame with its index, NaN, truth values and times.
    let mut text = ",weight,price,new,seen,target\n".to_owned();
    for (i, item) in all() {
        let weight = if i % 9 == 4 {
            String::new()
        } else {
            item.weight.to_string()
        };
        let new = if item.count > 40 { "True" } else { "False" };
        let (price, day, kind) = (item.price, item.day, item.kind);
        writeln!(
            text,
            "{i},{weight},{price},{new},2024-05-{day:02} 10:30:00,{kind}"
        )
        .unwrap();
    }
    write("frame.csv", text.as_bytes());
    let said = journey(at, "frame.csv", &[]);
    assert!(said[1].contains("\"new\" (2)"), "{said:?}");

    // 3. Excel in English: a mark, money, groups of digits, percent, errors, a quote with a line in it.
    let mut text = "\u{feff}id,Price,Share,Stock,Comment,label\r\n".to_owned();
    for (i, item) in all() {
        let stock = if i == 11 {
            "#N/A".to_owned()
        } else {
            item.count.to_string()
        };
        let (price, share) = (grouped(item.price, ',', '.'), (100.0 * item.weight).round());
        let kind = item.kind;
        write!(
            text,
            "s{i},\"${price}\",{share}%,{stock},\"see \"\"{i}\"\"\nbelow, please\",{kind}\r\n"
        )
        .unwrap();
    }
    write("english.csv", text.as_bytes());
    let said = journey(at, "english.csv", &[]);
    assert!(said[1].contains("3 numbers"), "{said:?}");

    // 4. "Unicode text" of Excel: UTF-16 with tabs and decimal commas.
    let mut text = "\u{feff}id\tweight\tprice\tcolour\tclass\r\n".to_owned();
    for (i, item) in all() {
        let (weight, price) = (with_comma(item.weight), with_comma(item.price));
        write!(
            text,
            "{i}\t{weight}\t{price}\t{}\t{}\r\n",
            item.color, item.kind
        )
        .unwrap();
    }
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    write("unicode.tsv", &wide);
    let said = journey(at, "unicode.tsv", &[]);
    assert!(said[0].contains("UTF-16, decimal comma)"), "{said:?}");

    // 5. A workbook: a title, names below it, dates, truth values, errors, a note, a column of numbers.
    let word = |text: &str| Cell::Text(text.to_owned());
    let mut rows = vec![vec![word("Stock 2024")], vec![]];
    let head = [
        "No", "SKU", "Weight", "Price", "Since", "New", "Colour", "Type",
    ];
    rows.push(head.map(word).to_vec());
    for (i, item) in all() {
        rows.push(vec![
            Cell::Number((i + 1) as f64),
            word(&format!("k{i}")),
            Cell::Number(item.weight),
            if i == 3 {
                Cell::Error
            } else {
                Cell::Number(item.price)
            },
            Cell::Date(45_000.0 + item.day as f64),
            Cell::Flag(item.count > 40),
            word(item.color),
            word(item.kind),
        ]);
    }
    rows[9].extend([Cell::Nothing, word("checked!")]);
    write("stock.xlsx", &sheet::xlsx(&rows));
    let said = journey(
        at,
        "stock.xlsx",
        &["--id-column", "SKU", "--label-column", "Type"],
    );
    assert!(said[0].contains("names in row 3"), "{said:?}");
    assert!(said[2].contains("\"No\" (numbers of rows)"), "{said:?}");

    // 6. Lines of objects, with null, keys that come and go, and lists.
    let mut text = String::new();
    for (i, item) in all() {
        let mut object = serde_json::json!({
            "id": format!("j{i}"), "label": item.kind, "price": item.price, "tags": [i, "x"],
            "weight": if i % 8 == 2 { Value::Null } else { item.weight.into() },
        });
        if i % 4 != 0 {
            object["colour"] = item.color.into();
        }
        writeln!(text, "{object}").unwrap();
    }
    write("lines.jsonl", text.as_bytes());
    journey(at, "lines.jsonl", &[]);

    // 7. Bars, blanks around everything, Swiss groups of digits, no ids.
    let mut text = "weight | price | colour | y\n".to_owned();
    for (_, item) in all() {
        let price = grouped(item.price, '\'', '.');
        writeln!(
            text,
            " {} | {price} |  {} | {} ",
            item.weight, item.color, item.kind
        )
        .unwrap();
    }
    write("bars.csv", text.as_bytes());
    let said = journey(at, "bars.csv", &[]);
    assert!(said[0].contains("\"|\" between columns"), "{said:?}");

    // 8. Words among numbers: said with the line, and taken as missing where that is asked for.
    let mut text = "id,weight,price,label\n".to_owned();
    for (i, item) in all() {
        let price = if i % 13 == 5 {
            "sold out".to_owned()
        } else {
            item.price.to_string()
        };
        writeln!(text, "w{i},{},{price},{}", item.weight, item.kind).unwrap();
    }
    write("words.csv", text.as_bytes());
    let refused = likewise(at, &["fit", "words.csv", "-o", "no"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("line 7: \"sold out\" is not a number, as 55 of 60"),
        "{said}"
    );
    assert!(said.contains("--missing median"), "{said}");
    journey(at, "words.csv", &["--missing", "median"]);

    // 9. Text that is wanted, a column that is not, and labels of a few items in a workbook.
    let mut text = "key;title;weight;leak\n".to_owned();
    let mut labels = vec![vec![word("id"), word("kind")]];
    for (i, item) in all() {
        writeln!(
            text,
            "t{i};{} {} no {i};{};{}",
            item.color,
            item.kind,
            item.weight,
            i % 3
        )
        .unwrap();
        if i < 18 {
            labels.push(vec![word(&format!("t{i}")), word(item.kind)]);
        }
    }
    write("titles.csv", text.as_bytes());
    write("labels.xlsx", &sheet::xlsx(&labels));
    let asked = ["--id-column", "key", "--drop", "leak", "--text"];
    let given = ["--labels", "labels.xlsx", "--label-column", "kind"];
    let said = journey(at, "titles.csv", &[&asked[..], &given].concat());
    assert!(said[1].contains("text, hashed: \"title\""), "{said:?}");
    assert!(said[2].contains("\"leak\" (as asked for)"), "{said:?}");

    // 10. No sign is as the name says, and all of it is told.
    let mut text = "ID\tw\tp\tgroup\n".to_owned();
    for (i, item) in all() {
        let (weight, price) = (with_comma(item.weight), with_comma(item.price));
        writeln!(text, "x{i}\t{weight}\t{price}\t{}", item.kind).unwrap();
    }
    write("told.csv", text.as_bytes());
    let told = [
        "--sep",
        "tab",
        "--decimal",
        ",",
        "--columns",
        "w,p",
        "--label-column",
        "group",
    ];
    journey(at, "told.csv", &told);
}

#[test]
fn what_is_left_out_of_numbers_alone_is_said_without_being_asked() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut texts = [
        "price,index,label\n",
        "price,index,label\n",
        "price,label\n",
    ]
    .map(str::to_owned);
    for (i, item) in items().iter().enumerate() {
        let (price, kind) = (item.price, item.kind);
        // What only is called an index, one, and none.
        writeln!(texts[0], "{price},{},{kind}", 100 + item.count % 7).unwrap();
        writeln!(texts[1], "{price},{},{kind}", 3 * i).unwrap();
        writeln!(texts[2], "{price},{kind}").unwrap();
    }
    let said = |text: &str| {
        fs::write(at.join("t.csv"), text).unwrap();
        let out = likewise(at, &["doctor", "t.csv", "--json"]);
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(out.status.success(), "{said}");
        let about: Value = serde_json::from_slice(&out.stdout).unwrap();
        let dimensions = about["views"][0]["dimensions"].as_u64().unwrap();
        (dimensions, said_of_table(&said))
    };
    let none: Vec<String> = Vec::new();
    assert_eq!(said(&texts[0]), (2, none.clone()));
    let left = [
        "60 items; labels: \"label\"",
        "left out: \"index\" (numbers of rows)",
    ];
    assert_eq!(said(&texts[1]), (1, left.map(str::to_owned).to_vec()));
    assert_eq!(said(&texts[2]), (1, none));
}

#[test]
fn what_could_be_labels_is_named_with_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut text = "weight,price,colour,klass\n".to_owned();
    for item in items() {
        let (weight, price) = (item.weight, item.price);
        writeln!(text, "{weight},{price},{},{}", item.color, item.kind).unwrap();
    }
    fs::write(at.join("nolab.csv"), text).unwrap();
    let out = likewise(at, &["doctor", "nolab.csv"]);
    let said = String::from_utf8(out.stderr).unwrap();
    let words =
        "no labels (if a column holds them, --label-column names it: \"colour\", \"klass\")";
    assert!(said.contains(words), "{said}");
}

#[test]
fn a_query_is_read_as_the_run_says() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut text = "sku;weight;price;colour;label\n".to_owned();
    for (i, item) in items().iter().enumerate() {
        let (weight, price) = (with_comma(item.weight), with_comma(item.price));
        writeln!(text, "a{i};{weight};{price};{};{}", item.color, item.kind).unwrap();
    }
    fs::write(at.join("all.csv"), &text).unwrap();
    succeeds(
        at,
        &[
            "fit",
            "all.csv",
            "--id-column",
            "sku",
            "--epochs",
            "1",
            "-q",
            "-o",
            "run",
        ],
    );
    let config: Value =
        serde_json::from_slice(&fs::read(at.join("run/config.json")).unwrap()).unwrap();
    assert_eq!(config["table"]["columns"][0]["name"], "weight");
    // Other columns, another order, another dialect, one line.
    let item = &items()[4];
    let line = format!(
        "colour,price,sku,x,weight\n{},{},q,1,{}\n",
        item.color, item.price, item.weight
    );
    fs::write(at.join("one.csv"), line).unwrap();
    let ask = |more: &[&str]| {
        likewise(
            at,
            &[
                &["search", "run", "--query", "one.csv", "-k", "1", "--json"],
                more,
            ]
            .concat(),
        )
    };
    let found = ask(&[]);
    let said = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(found.status.success() && said.is_empty(), "{said}");
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(
        (&found[0]["query"], &found[0]["hits"][0]["id"]),
        (&"q".into(), &"a4".into())
    );
    // What the run decided cannot be decided again.
    let refused = ask(&["--drop", "colour"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("--drop has no effect"), "{said}");
    // A column is missing, and a word is new.
    fs::write(at.join("one.csv"), "colour,price\nblau,3\n").unwrap();
    let refused = ask(&[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("one.csv: no column \"weight\""), "{said}");
    fs::write(at.join("one.csv"), "colour,price,weight\nlila,3,1\n").unwrap();
    let said = String::from_utf8_lossy(&ask(&[]).stderr).into_owned();
    assert!(said.contains("\"lila\" in column \"colour\""), "{said}");
    let out = ["embed", "run", "one.csv", "-o", "e.npy"];
    assert!(succeeds(at, &out).contains("1 items"));
    // Labels of a new table are where it is said, but not in what was fitted.
    fs::write(
        at.join("kind.csv"),
        "colour,price,weight,kind\nblau,3,1,k\n",
    )
    .unwrap();
    for (column, code) in [("kind", 0), ("price", 2), ("PRICE", 2)] {
        let words = [
            "embed",
            "run",
            "kind.csv",
            "--label-column",
            column,
            "-o",
            "e.npy",
        ];
        let done = likewise(at, &words);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(code), "{column}: {said}");
        let refused = "\"price\" is a feature of the fitted table";
        assert_eq!(said.contains(refused), code == 2, "{said}");
    }
}

/// A run whose labels had a column reads new tables with theirs in another one, or in a file.
#[test]
fn labels_of_new_tables_are_where_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = |i: usize| format!("{},{},k{}\n", i % 7, i % 3, i % 3);
    let lines: String = (0..60).map(line).collect();
    fs::write(at.join("x.csv"), format!("a,b,kind\n{lines}")).unwrap();
    let fit = [
        "fit",
        "x.csv",
        "--label-column",
        "kind",
        "--epochs",
        "1",
        "-q",
        "-o",
        "run",
    ];
    succeeds(at, &fit);
    fs::write(at.join("new.csv"), "id,a,b,species\nn1,1,2,k2\n").unwrap();
    fs::write(at.join("bare.csv"), "id,a,b\nn1,1,2\n").unwrap();
    fs::write(at.join("labels.csv"), "id,species\nn1,k1\n").unwrap();
    let asked = ["--label-column", "species", "-o", "e.parquet"];
    for (more, label) in [
        (&["new.csv"][..], "k2"),
        (&["bare.csv", "--labels", "labels.csv"], "k1"),
    ] {
        succeeds(at, &[&["embed", "run"], more, &asked].concat());
        let written = fs::read(at.join("e.parquet")).unwrap();
        let has = |word: &str| written.windows(2).any(|of| of == word.as_bytes());
        assert!(has(label) && has("n1"), "{more:?}");
    }
}

#[test]
fn settings_of_tables_are_refused_for_other_data() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let digits = likewise_testdata::digits().display().to_string();
    for flags in [
        &["--sep", ";"][..],
        &["--decimal", ","],
        &["--columns", "a"],
        &["--drop", "a"],
        &["--id-column", "a"],
        &["--label-column", "a"],
        &["--missing", "drop"],
        &["--text"],
    ] {
        let refused = likewise(at, &[&["doctor", &digits, "--view", "zer"], flags].concat());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{flags:?}: {said}");
        assert!(
            said.contains(&format!("{} has no effect", flags[0])),
            "{said}"
        );
    }
    fs::write(at.join("a.csv"), "a,b\n1,2\n3,4\n").unwrap();
    for flags in [
        ["--sep", ";;"],
        ["--decimal", "x"],
        ["--missing", "guess"],
        ["--drop", "c"],
    ] {
        let refused = likewise(at, &[&["doctor", "a.csv"][..], &flags].concat());
        assert_eq!(refused.status.code(), Some(2), "{flags:?}");
    }
}
