use std::sync::{Arc, Mutex};

use likewise::Event;
use proptest::prelude::*;

use super::*;

fn ids(words: &[&str]) -> Vec<String> {
    words.iter().map(|&w| w.to_owned()).collect()
}

fn of(text: &str, words: &[&str]) -> Result<Pairs> {
    read_pairs_bytes(Form::Csv, text.as_bytes(), &ids(words))
}

fn message(text: &str) -> String {
    of(text, &["x", "y", "z"]).unwrap_err().to_string()
}

#[test]
fn columns_are_found_by_name_and_others_ignored() {
    let text = "note,Y,b,Weight,a\n-,1,y,.5,x\n\n-,-1.0,z,2,y\n";
    let pairs = of(text, &["x", "y", "z"]).unwrap();
    let expected = [(0, 1, true, 0.5), (1, 2, false, 2.0)];
    assert_eq!(pairs.iter().collect::<Vec<_>>(), expected);
    let tab = "anchor\tpositive\tnegative\nz\tx\ty\n";
    let triplets = read_triplets_bytes(Form::Tsv, tab.as_bytes(), &ids(&["x", "y", "z"]));
    assert_eq!(triplets.unwrap().iter().next(), Some((2, 0, 1, 1.0)));
    assert!(of("a,b,y\n", &["x"]).unwrap().is_empty());
}

#[test]
fn numbers_are_ids_where_there_are_such_and_places_elsewhere() {
    let first = |text: &str, words: &[&str]| of(text, words).unwrap().iter().next();
    assert_eq!(
        first("a,b,y\n0,2,1\n", &["x", "y", "z"]),
        Some((0, 2, true, 1.0))
    );
    assert_eq!(
        first("a,b,y\n1,2,1\n", &["2", "0", "1"]),
        Some((2, 0, true, 1.0))
    );
    // One word is an id, so all are.
    let said = of("a,b,y\n2,3,1\n3,1,1\n", &["1", "2", "4", "5"])
        .unwrap_err()
        .to_string();
    assert!(
        said.starts_with("line 2, column \"b\": no item has the id \"3\";"),
        "{said}"
    );
}

#[test]
fn numbers_that_are_read_as_places_are_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let told = |text: &str, words: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = told.clone();
        let monitor = Monitor::new(move |event| {
            if let Event::Warning(text) = event {
                heard.lock().unwrap().push(text.clone());
            }
        });
        if text.starts_with("a,") {
            read_pairs(&path, &ids(words), &monitor).unwrap();
        } else {
            read_triplets(&path, &ids(words), &monitor).unwrap();
        }
        told.lock().unwrap().clone()
    };
    for text in ["a,b,y\n0,2,1\n", "anchor,positive,negative\n2,1,0\n"] {
        let said = told(text, &["x", "y", "z"]);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("t.csv: its numbers are read as places"));
        // Numbers of other data are no ids of these.
        assert_eq!(told(text, &["70", "71", "72"]).len(), 1);
        // Where the data have no ids, places are the ids.
        assert!(told(text, &["0", "1", "2"]).is_empty());
    }
    assert!(told("a,b,y\nx,z,1\n", &["x", "y", "z"]).is_empty());
    assert!(told("a,b,y\n", &["x", "y", "z"]).is_empty());
}

#[test]
fn mistakes_are_named_with_line_and_column() {
    for (text, expected) in [
        ("", "the file is empty"),
        (
            "a,b\nx,y\n",
            "no column \"y\"; a table of pairs has the columns a, b, y",
        ),
        ("1,2,1\n", "no column \"a\""),
        (
            "anchor,positive,negative\nx,y,z\n",
            "this is a table of triplets",
        ),
        (
            "a,b,y\nx,y,1\nx,q,1\n",
            "line 3, column \"b\": no item has the id \"q\"",
        ),
        (
            "a,b,y\n0,1,1\n1,3,1\n",
            "line 3, column \"b\": no item has the id \"3\", and the places are below 3",
        ),
        (
            "a,b,y\n-1,1,1\n",
            "line 2, column \"a\": no item has the id \"-1\"",
        ),
        (
            "a,b,y\n,x,1\n",
            "line 2, column \"a\": no item has the id \"\"",
        ),
        (
            "a,b,y\nx,x,1\n",
            "line 2, column \"b\" names the item of column \"a\" again",
        ),
        (
            "a,b,y\n1,01,1\n",
            "line 2, column \"b\" names the item of column \"a\" again",
        ),
        (
            "a,b,y\nx,y,0\n",
            "line 2, column \"y\" is \"0\"; it must be 1",
        ),
        ("a,b,y\nx,y,\n", "line 2, column \"y\" is \"\""),
        ("a,b,y\nx,y,nan\n", "line 2, column \"y\" is \"nan\""),
        (
            "a,b,y,weight\nx,y,1,-1\n",
            "line 2, column \"weight\" is \"-1\"; a weight must be",
        ),
        (
            "a,b,y,weight\nx,y,1,NaN\n",
            "line 2, column \"weight\" is \"NaN\"",
        ),
        (
            "a,b,y,weight\nx,y,1,\n",
            "line 2, column \"weight\" is \"\"",
        ),
        (
            "a,b,y,weight\nx,y,1,1e99\n",
            "line 2, column \"weight\" is \"1e99\"",
        ),
        (
            "a,b,y\nx,y,1\n\ny,z,1\ny,x,-1\n",
            "line 5 says of items \"y\" and \"x\" the opposite of line 2",
        ),
    ] {
        let said = message(text);
        assert!(said.contains(expected), "{text:?}: {said}");
    }
    let three = |text: &str| {
        let ids = ids(&["x", "y", "z"]);
        let read = read_triplets_bytes(Form::Csv, text.as_bytes(), &ids);
        read.unwrap_err().to_string()
    };
    let head = "anchor,positive,negative\n";
    assert!(three("a,b,y\nx,y,1\n").contains("this is a table of pairs"));
    assert!(
        three(&format!("{head}x,y,y\n"))
            .contains("\"negative\" names the item of column \"positive\"")
    );
    assert!(three(&format!("{head}x,y,q\n")).contains("line 2, column \"negative\": no item"));
    assert!(three(&format!("{head}x,y,z\ny,x,z\n\nx,z,y\n")).contains(
        "line 5 says that \"z\" is nearer to \"x\" than \"y\" is, the opposite of line 2; keep one"
    ));
    let npy = read_pairs_bytes(Form::Npy, b"", &[]).unwrap_err();
    assert!(npy.to_string().contains(".csv, .tsv and .parquet"));
}

#[test]
fn a_table_of_parquet_is_named_by_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let said = |columns: [Column; 4]| {
        let columns: Vec<_> = ["a", "b", "y", "weight"]
            .map(str::to_owned)
            .into_iter()
            .zip(columns)
            .collect();
        atomic::write(&path, |file| parquet::write(file, &columns)).unwrap();
        let read = read_pairs(&path, &ids(&["x", "y"]), &Monitor::silent());
        read.map(|p| p.iter().collect::<Vec<_>>())
            .map_err(|e| e.to_string())
    };
    let text = |word: Option<&str>| Column::Text(vec![word.map(str::to_owned)]);
    let weight = |w| Column::Float(vec![w]);
    // Places as integers, and y as a float.
    let found = said([
        Column::Int(vec![1]),
        Column::Int(vec![0]),
        Column::Double(vec![-1.0]),
        weight(Some(0.5)),
    ]);
    assert_eq!(found.unwrap(), [(1, 0, false, 0.5)]);
    let null = said([
        text(Some("x")),
        text(None),
        Column::Int(vec![1]),
        weight(Some(1.0)),
    ]);
    assert!(
        null.unwrap_err()
            .contains("row 0, column \"b\": no item has the id \"\"")
    );
    let null = said([
        text(Some("x")),
        text(Some("y")),
        Column::Int(vec![1]),
        weight(None),
    ]);
    assert!(
        null.unwrap_err()
            .contains("row 0, column \"weight\" is \"\"")
    );
    let half = said([
        text(Some("x")),
        text(Some("y")),
        Column::Double(vec![0.5]),
        weight(Some(1.0)),
    ]);
    assert!(half.unwrap_err().contains("column \"y\""));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut pairs = Pairs::default();
    pairs.push(0, 1, true, 1.0);
    let said = |name: &str, ids: &[String]| {
        write_pairs(path(name), &pairs, ids)
            .unwrap_err()
            .to_string()
    };
    assert!(said("p.npz", &ids(&["a", "b"])).contains(".csv or .parquet"));
    assert!(said("p.csv", &ids(&["a"])).contains("among 1 items"));
    assert!(!path("p.csv").exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn tuples_survive_both_forms(
        words in prop::collection::hash_set("[a-z\", üé\\d]{1,6}", 3..12),
        said in prop::collection::vec((0_usize..100, 1_usize..100, any::<bool>(), 0.0_f32..3.0), 0..30),
    ) {
        // Ids are read without white space around them.
        let mut ids: Vec<String> = words.into_iter().map(|w| format!("<{w}>")).collect();
        ids.sort();
        let n = ids.len();
        let (mut pairs, mut triplets) = (Pairs::default(), Triplets::default());
        for &(a, step, y, w) in &said {
            let a = a % n;
            let b = (a + 1 + step % (n - 1)) % n;
            let (c, (a, b)) = ((0..n).find(|&c| c != a && c != b).unwrap_or(0), (a as u32, b as u32));
            pairs.push(a, b, y, w);
            if pairs.contradiction().is_some() {
                let last = pairs.len() - 1;
                pairs.alike[last] = !y;
            }
            triplets.push(a, b, c as u32, w);
            if triplets.contradiction().is_some() {
                let last = triplets.len() - 1;
                let Triplets { positives, negatives, .. } = &mut triplets;
                std::mem::swap(&mut positives[last], &mut negatives[last]);
            }
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["t.csv", "t.parquet"] {
            let path = folder.path().join(name);
            write_pairs(&path, &pairs, &ids).unwrap();
            prop_assert_eq!(&read_pairs(&path, &ids, &Monitor::silent()).unwrap(), &pairs);
            write_triplets(&path, &triplets, &ids).unwrap();
            prop_assert_eq!(&read_triplets(&path, &ids, &Monitor::silent()).unwrap(), &triplets);
        }
    }
}
