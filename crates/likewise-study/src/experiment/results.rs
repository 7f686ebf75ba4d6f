//! The file `results.json`: what it says, and how its lines are laid out.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::ser::Formatter;
use serde_json::value::{RawValue, to_raw_value};

/// The cells of one method on one data set, as the file keeps them.
pub(super) trait Cells: Clone + Serialize + DeserializeOwned {
    /// What the file calls that which runs did, and the runs.
    const NAMES: [&'static str; 2];

    fn data(&self) -> &str;

    /// The name of the run in `times.json`.
    fn key(&self) -> String;

    /// What it did.
    fn what(&mut self) -> &mut What;

    fn count(&self) -> usize;
}

/// What a run did; in the file its place among all that was done.
///
/// Its text is kept as it stands, and not what is read of it: cells of a time when recipes had fewer
/// fields are written again as they were, to the byte. Who compares it reads it.
#[derive(Debug, Clone)]
pub(super) enum What {
    Place(usize),
    Text(Box<RawValue>),
}

impl What {
    /// What a method does, its fields in the order of their names.
    pub(super) fn of(method: &impl Serialize) -> Result<Self, serde_json::Error> {
        // The way by a value sorts them.
        let sorted = serde_json::to_value(method)?;
        to_raw_value(&sorted).map(Self::Text)
    }

    /// What it says; nothing where this version cannot read it, or where the file does not have it.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        match self {
            Self::Text(text) => serde_json::from_str(text.get()).ok(),
            Self::Place(_) => None,
        }
    }
}

impl PartialEq for What {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Place(own), Self::Place(other)) => own == other,
            (Self::Text(own), Self::Text(other)) => own.get() == other.get(),
            _ => false,
        }
    }
}

impl Serialize for What {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Place(place) => place.serialize(to),
            Self::Text(text) => text.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for What {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(from)?;
        // The first files had it in every run.
        Ok(serde_json::from_str(text.get()).map_or(Self::Text(text), Self::Place))
    }
}

/// What is read of the file.
#[derive(Debug)]
pub(super) struct File<D, R> {
    /// The version that wrote it.
    pub(super) likewise: String,
    pub(super) data: BTreeMap<String, D>,
    /// Each with what it did.
    pub(super) runs: Vec<R>,
}

impl<'de, D: DeserializeOwned, R: Cells> Deserialize<'de> for File<D, R> {
    fn deserialize<F: Deserializer<'de>>(from: F) -> Result<Self, F::Error> {
        from.deserialize_map(Fields(PhantomData))
    }
}

/// Reads the fields of a file, two of which each kind of runs names in its own way.
struct Fields<D, R>(PhantomData<(D, R)>);

impl<'de, D: DeserializeOwned, R: Cells> Visitor<'de> for Fields<D, R> {
    type Value = File<D, R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("results of an experiment")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let (mut likewise, mut data) = (None, None);
        let (mut done, mut runs) = (Vec::<What>::new(), Vec::<R>::new());
        while let Some(name) = map.next_key::<String>()? {
            if name == "likewise" {
                likewise = Some(map.next_value()?);
            } else if name == "data" {
                data = Some(map.next_value()?);
            } else if name == R::NAMES[0] {
                done = map.next_value()?;
            } else if name == R::NAMES[1] {
                runs = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(File {
            likewise: likewise.ok_or_else(|| M::Error::missing_field("likewise"))?,
            data: data.ok_or_else(|| M::Error::missing_field("data"))?,
            runs: filled(runs, &done),
        })
    }
}

/// The runs with what they did in the place of where it stands.
fn filled<R: Cells>(mut runs: Vec<R>, done: &[What]) -> Vec<R> {
    for run in &mut runs {
        let what = run.what();
        if let What::Place(place) = *what
            && let Some(said) = done.get(place)
        {
            *what = said.clone();
        }
    }
    runs
}

/// What is written to the file.
pub(super) struct Written<'a, D, R> {
    /// Title of the experiment.
    pub(super) title: &'a str,
    /// The digest of its file.
    pub(super) experiment: &'a str,
    pub(super) data: &'a BTreeMap<String, D>,
    pub(super) runs: &'a [R],
}

impl<D: Serialize, R: Cells> Written<'_, D, R> {
    /// The file, one line a data set, a thing that was done and a run.
    pub(super) fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut text = Vec::new();
        let mut to = serde_json::Serializer::with_formatter(&mut text, Lines::default());
        self.serialize(&mut to)?;
        text.push(b'\n');
        Ok(text)
    }

    /// What the runs did, each once, and the runs, which tell it by its place.
    fn apart(&self) -> (Vec<What>, Vec<R>) {
        let (mut done, mut runs) = (Vec::<What>::new(), self.runs.to_vec());
        for run in &mut runs {
            let what = run.what();
            let place = done.iter().position(|known| *known == *what);
            let place = place.unwrap_or(done.len());
            let own = std::mem::replace(what, What::Place(place));
            if place == done.len() {
                done.push(own);
            }
        }
        (done, runs)
    }
}

impl<D: Serialize, R: Cells> Serialize for Written<'_, D, R> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (done, runs) = self.apart();
        let mut file = to.serialize_map(Some(6))?;
        file.serialize_entry("likewise", env!("CARGO_PKG_VERSION"))?;
        file.serialize_entry("title", self.title)?;
        file.serialize_entry("experiment", self.experiment)?;
        file.serialize_entry("data", self.data)?;
        file.serialize_entry(R::NAMES[0], &done)?;
        file.serialize_entry(R::NAMES[1], &runs)?;
        file.end()
    }
}

/// Ends a line after each field of the file and after each entry of these, and within the entries
/// leaves no space.
#[derive(Default)]
struct Lines {
    /// Brackets that are open.
    depth: usize,
}

impl Lines {
    fn open<W: ?Sized + io::Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        to.write_all(bracket)?;
        self.end_line(to)
    }

    fn close<W: ?Sized + io::Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.end_line(to)?;
        self.depth -= 1;
        to.write_all(bracket)
    }

    fn next<W: ?Sized + io::Write>(&self, to: &mut W, first: bool) -> io::Result<()> {
        if first {
            return Ok(());
        }
        to.write_all(b",")?;
        self.end_line(to)
    }

    fn end_line<W: ?Sized + io::Write>(&self, to: &mut W) -> io::Result<()> {
        let end: &[u8] = if self.is_outside() { b"\n" } else { b"" };
        to.write_all(end)
    }

    /// Whether this is not within an entry.
    fn is_outside(&self) -> bool {
        self.depth <= 2
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        let colon: &[u8] = if self.is_outside() { b": " } else { b":" };
        to.write_all(colon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Run {
        data: String,
        did: What,
        cells: Vec<f64>,
    }

    impl Run {
        fn new(data: &str, did: What, cells: &[f64]) -> Self {
            Self {
                data: data.into(),
                did,
                cells: cells.to_vec(),
            }
        }
    }

    impl Cells for Run {
        const NAMES: [&'static str; 2] = ["things", "runs"];

        fn data(&self) -> &str {
            &self.data
        }

        fn key(&self) -> String {
            self.data.clone()
        }

        fn what(&mut self) -> &mut What {
            &mut self.did
        }

        fn count(&self) -> usize {
            self.cells.len()
        }
    }

    fn text(data: &BTreeMap<String, [usize; 2]>, runs: &[Run]) -> String {
        let file = Written {
            title: "a \"b\"",
            experiment: "c",
            data,
            runs,
        };
        String::from_utf8(file.text().unwrap()).unwrap()
    }

    fn read(text: &str) -> Result<File<[usize; 2], Run>, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn what_runs_did_stands_once_and_all_lines_are_as_they_ever_were() {
        let data = BTreeMap::from([("x".to_owned(), [1, 2]), ("y".to_owned(), [3, 4])]);
        let fields = BTreeMap::from([("mu", 0.5), ("beta", 1e-10)]);
        let table = || What::of(&fields).unwrap();
        let word = What::of(&"raw").unwrap();
        let runs = [
            Run::new("x", table(), &[0.25, 1.0]),
            Run::new("y", word, &[]),
            Run::new("y", table(), &[1e-7]),
        ];
        let version = env!("CARGO_PKG_VERSION");
        let expected = format!(
            r#"{{
"likewise": "{version}",
"title": "a \"b\"",
"experiment": "c",
"data": {{
"x": [1,2],
"y": [3,4]
}},
"things": [
{{"beta":1e-10,"mu":0.5}},
"raw"
],
"runs": [
{{"data":"x","did":0,"cells":[0.25,1.0]}},
{{"data":"y","did":1,"cells":[]}},
{{"data":"y","did":0,"cells":[1e-7]}}
]
}}
"#
        );
        assert_eq!(text(&data, &runs), expected);
        let file = read(&expected).unwrap();
        assert_eq!((file.likewise.as_str(), &file.data), (version, &data));
        assert_eq!(file.runs, runs);
        let empty = text(&BTreeMap::new(), &[]);
        assert!(empty.ends_with("\"data\": {\n\n},\n\"things\": [\n\n],\n\"runs\": [\n\n]\n}\n"));
    }

    #[test]
    fn what_was_written_with_other_fields_stays_as_it_was() {
        let old = "{\"mu\":1,\"alpha\":0.50}";
        let file = read(&format!(
            "{{\"likewise\": \"0\", \"data\": {{}}, \"title\": 3, \"runs\": [\
             {{\"data\": \"x\", \"did\": {old}, \"cells\": []}},\
             {{\"data\": \"x\", \"did\": 0, \"cells\": []}},\
             {{\"data\": \"x\", \"did\": 1, \"cells\": []}}], \"things\": [{old}]}}"
        ))
        .unwrap();
        // In the run itself, in the list, and in neither.
        assert_eq!(file.runs[0].did, file.runs[1].did);
        assert_eq!(file.runs[2].did, What::Place(1));
        assert!(text(&BTreeMap::new(), &file.runs[..2]).contains(&format!("[\n{old}\n]")));
        let fields: Option<BTreeMap<String, f64>> = file.runs[0].did.read();
        assert_eq!(fields.unwrap()["alpha"].to_bits(), 0.5_f64.to_bits());
        assert_eq!(file.runs[0].did.read::<Vec<f64>>(), None);
        assert_eq!(file.runs[2].did.read::<usize>(), None);
    }

    #[test]
    fn a_file_of_something_else_is_told() {
        for (text, said) in [
            ("[]", "results of an experiment"),
            ("{\"data\": {}}", "missing field `likewise`"),
            ("{\"likewise\": \"0\"}", "missing field `data`"),
            ("{\"likewise\": \"0\", \"data\": 1}", "invalid type"),
            (
                "{\"likewise\": \"0\", \"data\": {}, \"runs\": {}}",
                "invalid type",
            ),
        ] {
            let e = read(text).unwrap_err().to_string();
            assert!(e.contains(said), "{text}: {e}");
        }
        assert!(
            read("{\"likewise\": \"0\", \"data\": {}}")
                .unwrap()
                .runs
                .is_empty()
        );
    }
}
