//! Data frames as pandas writes them to Parquet: dates, numbers that may be missing, categories,
//! and embeddings beside them.

use std::path::Path;
use std::sync::{Arc, Mutex};

use likewise::{Collection, Event, Monitor};
use likewise_io::{ErrorKind, Layout, ReadOptions, TableOptions, inspect, read_with_layout};
use ndarray::array;
use parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int32Type, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// The values of one column; `None` is null.
enum Values {
    Words(Vec<Option<&'static str>>),
    Whole(Vec<Option<i64>>),
    Days(Vec<Option<i32>>),
    Floats(Vec<Option<f32>>),
    Vectors(Vec<[f32; 2]>),
}

fn gaps<T: Clone>(values: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let levels = values.iter().map(|v| i16::from(v.is_some()));
    (values.iter().flatten().cloned().collect(), levels.collect())
}

/// Writes a frame; every column of the `schema` may be null, as pandas has it.
fn write(path: &Path, schema: &str, columns: &[Values]) {
    let schema = Arc::new(parse_message_type(&format!("message frame {{ {schema} }}")).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for column in columns {
        let mut out = group.next_column().unwrap().unwrap();
        match column {
            Values::Words(words) => {
                let (words, levels) = gaps(words);
                let words: Vec<ByteArray> = words.into_iter().map(ByteArray::from).collect();
                // Without effect where the column is no list.
                let begins = vec![0; levels.len()];
                out.typed::<ByteArrayType>()
                    .write_batch(&words, Some(&levels), Some(&begins))
            }
            Values::Whole(numbers) => {
                let (numbers, levels) = gaps(numbers);
                out.typed::<Int64Type>()
                    .write_batch(&numbers, Some(&levels), None)
            }
            Values::Days(days) => {
                let (days, levels) = gaps(days);
                out.typed::<Int32Type>()
                    .write_batch(&days, Some(&levels), None)
            }
            Values::Floats(numbers) => {
                let (numbers, levels) = gaps(numbers);
                out.typed::<FloatType>()
                    .write_batch(&numbers, Some(&levels), None)
            }
            Values::Vectors(vectors) => {
                let there = vec![3; 2 * vectors.len()];
                let goes_on: Vec<i16> = vectors.iter().flat_map(|_| [0, 1]).collect();
                out.typed::<FloatType>().write_batch(
                    &vectors.concat(),
                    Some(&there),
                    Some(&goes_on),
                )
            }
        }
        .unwrap();
        out.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

type Told = (Collection, Option<Layout>, Vec<String>);

fn told(path: &Path, options: &ReadOptions) -> likewise_io::Result<Told> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listens = heard.clone();
    let monitor = Monitor::new(move |event| {
        if let Event::Remark(text) | Event::Warning(text) = event {
            listens.lock().unwrap().push(text.clone());
        }
    });
    let (all, layout) = read_with_layout(path, options, &monitor)?;
    let heard = heard.lock().unwrap().clone();
    // What is estimated is what is read.
    let shape = inspect(path, options)?;
    let views = all
        .views()
        .iter()
        .map(|v| (v.name.clone(), v.matrix.ncols()));
    assert_eq!(shape.views, views.collect::<Vec<_>>());
    Ok((all, layout, heard))
}

fn asking(table: TableOptions) -> ReadOptions {
    ReadOptions {
        table,
        ..ReadOptions::default()
    }
}

fn columns(names: &[&str]) -> ReadOptions {
    asking(TableOptions {
        columns: names.iter().map(|&name| name.to_owned()).collect(),
        ..TableOptions::default()
    })
}

fn drop(name: &str) -> ReadOptions {
    asking(TableOptions {
        drop: vec![name.to_owned()],
        ..TableOptions::default()
    })
}

const DAY: i64 = 86_400_000_000_000;

/// 2000-01-01 in days since 1970-01-01.
const NOW: i32 = 10_957;

/// Numbers, a time, a day, and a list of words.
fn dated(path: &Path) {
    let stamps = [0, 1, 2].map(|day| Some((i64::from(NOW) + day) * DAY + DAY / 2));
    write(
        path,
        "optional float f; optional int64 t (TIMESTAMP(NANOS,false)); optional int32 d (DATE);
         optional group tags (LIST) { repeated group list { optional binary element (STRING); } }",
        &[
            Values::Floats(vec![Some(1.0), Some(2.0), Some(6.0)]),
            Values::Whole(stamps.to_vec()),
            Values::Days(vec![Some(NOW), None, Some(NOW + 4)]),
            Values::Words(vec![None; 3]),
        ],
    );
}

#[test]
fn dates_are_days_where_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.parquet");
    dated(&path);
    let (all, _, said) = told(&path, &ReadOptions::default()).unwrap();
    assert_eq!(all.views()[0].matrix, array![[1.0], [2.0], [6.0]]);
    let all_said = said.join("\n");
    for words in [
        "column \"t\" is left out: it holds dates, which are days if named in `columns`",
        "column \"d\" is left out: it holds dates",
        "column \"tags\" is left out: it holds neither numbers",
    ] {
        assert!(all_said.contains(words), "{said:?}");
    }
    let (all, layout, said) = told(&path, &columns(&["f", "T"])).unwrap();
    let layout = layout.unwrap();
    assert_eq!(layout.features(), ["f", "t"]);
    let likewise_io::Taken::Number { median, .. } = layout.columns[1].taken else {
        panic!("{layout:?}");
    };
    assert_eq!(median, Some(1.5));
    assert!(
        said.iter().all(|line| !line.contains("\"tags\"")),
        "{said:?}"
    );
    // One after the other, a day apart.
    let x = &all.views()[0].matrix;
    assert!(x[[1, 1]].abs() < 1e-6 && (x[[0, 1]] + x[[2, 1]]).abs() < 1e-6 && x[[2, 1]] > 1.0);
    // Read as the fitted table was.
    let again = ReadOptions {
        layout: Some(Arc::new(layout)),
        ..ReadOptions::default()
    };
    assert_eq!(told(&path, &again).unwrap().0.views()[0].matrix, x);
    // A day that is missing is the median of the others.
    let (all, layout, _) = told(&path, &columns(&["d"])).unwrap();
    assert_eq!(layout.unwrap().features(), ["d"]);
    assert!(all.views()[0].matrix[[1, 0]].abs() < 1e-6);
}

#[test]
fn decimals_are_numbers_however_they_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.parquet");
    write(
        &path,
        "optional float f; optional int32 p (DECIMAL(9,2)); optional int64 q (DECIMAL(18,3));
         optional binary r (DECIMAL(4,2));",
        &[
            Values::Floats(vec![Some(1.0), Some(2.0)]),
            Values::Days(vec![Some(12_345), Some(-50)]),
            Values::Whole(vec![Some(1500), Some(0)]),
            // 258 and 10, in bytes.
            Values::Words(vec![Some("\u{1}\u{2}"), Some("\n")]),
        ],
    );
    let (all, layout, said) = told(&path, &ReadOptions::default()).unwrap();
    let rows = array![[1.0, 123.45, 1.5, 2.58], [2.0, -0.5, 0.0, 0.1]];
    assert_eq!(all.views()[0].matrix, rows);
    assert_eq!(layout.unwrap().features(), ["f", "p", "q", "r"]);
    assert!(
        said.iter().all(|line| !line.contains("left out")),
        "{said:?}"
    );
    let (all, ..) = told(&path, &columns(&["p"])).unwrap();
    assert_eq!(all.views()[0].matrix, array![[123.45], [-0.5]]);
}

#[test]
fn every_column_of_a_file_can_be_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.parquet");
    dated(&path);
    for name in ["t", "d", "tags", "Tags"] {
        let (all, _, said) = told(&path, &drop(name)).unwrap();
        assert_eq!(all.views()[0].matrix.ncols(), 1);
        let named = format!("\"{}\"", name.to_lowercase());
        assert!(said.iter().all(|line| !line.contains(&named)), "{said:?}");
        assert!(!said.is_empty());
    }
    let e = told(&path, &drop("u")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Parameter);
    let words = "no column \"u\"; the columns are: \"f\", \"t\", \"d\", \"tags\"";
    assert!(e.to_string().contains(words), "{e}");
    let e = told(&path, &columns(&["tags"])).unwrap_err().to_string();
    assert!(e.contains("column \"tags\" cannot be a feature"), "{e}");
    let ids = TableOptions {
        id_column: Some("t".into()),
        ..TableOptions::default()
    };
    let e = told(&path, &asking(ids)).unwrap_err().to_string();
    assert!(e.contains("column \"t\" cannot hold ids or labels"), "{e}");
}

/// Embeddings beside a number that may be missing, one that is not, a category and a time.
fn embedded(path: &Path, year: Option<i64>) {
    let sizes = ["L", "S", "L", "S", "L", "S"];
    write(
        path,
        "optional binary id (STRING);
         optional group emb (LIST) { repeated group list { optional float element; } }
         optional int64 year; optional float price; optional binary size (STRING);
         optional int64 t (TIMESTAMP(MICROS,true));",
        &[
            Values::Words(["a", "b", "c", "d", "e", "f"].map(Some).to_vec()),
            Values::Vectors((0..6_u8).map(|i| [f32::from(i), 1.0]).collect()),
            Values::Whole(vec![Some(1), year, Some(4), Some(3), Some(9), Some(5)]),
            Values::Floats((0..6_u8).map(|i| Some(f32::from(i * i))).collect()),
            Values::Words(sizes.map(Some).to_vec()),
            Values::Whole(vec![Some(0); 6]),
        ],
    );
}

#[test]
fn vectors_are_the_data_beside_columns_with_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.parquet");
    embedded(&path, None);
    let (all, layout, said) = told(&path, &ReadOptions::default()).unwrap();
    assert_eq!((all.views().len(), layout), (1, None));
    assert_eq!(all.view(None).unwrap().matrix.row(3), array![3.0, 1.0]);
    assert_eq!(all.ids()[5], "f");
    let left = "left out: \"year\", \"price\" (numbers beside the vectors of \"emb\"; `view features` \
                takes them), \"size\" (text), \"t\" (dates)";
    assert_eq!(said, [left]);
    // Also where none is missing: a price beside an embedding is no second view to choose from.
    let whole = folder.path().join("whole.parquet");
    embedded(&whole, Some(2));
    let names = |path: &Path, options: &ReadOptions| -> Vec<String> {
        let views = told(path, options).unwrap().0.views().to_vec();
        views.into_iter().map(|view| view.name).collect()
    };
    assert_eq!(names(&whole, &ReadOptions::default()), ["emb"]);
    assert_eq!(told(&whole, &ReadOptions::default()).unwrap().2, [left]);
    assert_eq!(names(&path, &drop("year")), ["emb"]);
    let asked = |view: &str| ReadOptions {
        view: Some(view.into()),
        ..ReadOptions::default()
    };
    assert_eq!(names(&whole, &asked("features")), ["features"]);
    assert_eq!(names(&whole, &asked("features+emb")), ["features", "emb"]);
}

#[test]
fn columns_beside_vectors_are_a_table_where_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.parquet");
    embedded(&path, None);
    let (all, layout, _) = told(&path, &columns(&["year", "size"])).unwrap();
    let layout = layout.unwrap();
    assert_eq!(layout.features(), ["year", "size = L", "size = S"]);
    let x = &all.views()[0].matrix;
    // The median of 1, 4, 3, 9 and 5.
    assert_eq!(x[[1, 0]].to_bits(), x[[2, 0]].to_bits());
    let again = ReadOptions {
        layout: Some(Arc::new(layout)),
        ..ReadOptions::default()
    };
    assert_eq!(told(&path, &again).unwrap().0.views()[0].matrix, x);
    let said = |names: &[&str]| told(&path, &columns(names)).unwrap_err().to_string();
    for (name, what) in [("size", "text"), ("t", "dates")] {
        let words = format!(
            "column \"{name}\" holds {what}, which cannot be a feature beside the vectors of \
             column \"emb\""
        );
        assert!(
            said(&["emb", name]).contains(&words),
            "{}",
            said(&["emb", name])
        );
    }
    let e = said(&["emb", "year"]);
    assert!(e.contains("row 1, column \"year\" is null"), "{e}");
    assert!(e.contains("beside columns of vectors no median"), "{e}");
    assert_eq!(
        told(&path, &columns(&["emb", "price"]))
            .unwrap()
            .0
            .views()
            .len(),
        2
    );
}

#[test]
fn an_index_that_numbers_no_rows_is_a_feature() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.parquet");
    let w = || Values::Floats(vec![Some(1.5), Some(3.0), Some(4.0)]);
    let schema = "optional float w; optional int64 index;";
    let of = |index: [i64; 3], options: &ReadOptions| {
        write(
            &path,
            schema,
            &[w(), Values::Whole(index.map(Some).to_vec())],
        );
        told(&path, options).unwrap()
    };
    let options = ReadOptions::default();
    let (all, taken, said) = of([7, 5, 7], &options);
    assert_eq!(
        all.views()[0].matrix,
        array![[1.5, 7.0], [3.0, 5.0], [4.0, 7.0]]
    );
    assert!(said.is_empty(), "{said:?}");
    // Beyond what a feature can tell apart.
    let (all, left, said) = of([1 << 24, (1 << 24) + 1, 3], &options);
    assert_eq!(all.views()[0].matrix, array![[1.5], [3.0], [4.0]]);
    assert_eq!(said, ["3 items", "left out: \"index\" (numbers of rows)"]);
    // As the fitted table says.
    let by = |layout: Option<Layout>| ReadOptions {
        layout: layout.map(Arc::new),
        ..ReadOptions::default()
    };
    let (all, ..) = of([0, 1, 2], &by(taken));
    assert_eq!(
        all.views()[0].matrix,
        array![[1.5, 0.0], [3.0, 1.0], [4.0, 2.0]]
    );
    assert_eq!(of([7, 7, 7], &by(left)).0.views()[0].matrix.ncols(), 1);
    // Fractions, and beside words.
    let fractions = Values::Floats(vec![Some(0.5), Some(0.25), Some(0.75)]);
    write(
        &path,
        "optional float w; optional float index;",
        &[w(), fractions],
    );
    let all = told(&path, &options).unwrap().0;
    let x = array![[1.5, 0.5], [3.0, 0.25], [4.0, 0.75]];
    assert_eq!(all.views()[0].matrix, x);
    let words = Values::Words(vec![Some("x"), Some("x"), Some("x")]);
    let index = Values::Whole([7, 5, 7].map(Some).to_vec());
    write(
        &path,
        "optional float w; optional int64 index; optional binary s (STRING);",
        &[w(), index, words],
    );
    let (_, layout, _) = told(&path, &options).unwrap();
    assert_eq!(layout.unwrap().features(), ["w", "index"]);
}

#[test]
fn fractions_beside_labels_are_no_ids_and_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.parquet");
    let schema = "optional float score; optional binary label (UTF8);";
    let scores = Values::Floats(vec![Some(0.5), None, Some(1.25)]);
    let labels = Values::Words(vec![Some("b"), Some("a"), None]);
    write(&path, schema, &[scores, labels]);
    for ids in [["0", "1", "2"], ["x", "y", "z"]] {
        let read = likewise_io::read_labels(&path, &ids.map(str::to_owned)).unwrap();
        let class = |item: usize| read[item].class();
        assert_eq!([class(0), class(1), class(2)], [Some(1), Some(0), None]);
    }
}
