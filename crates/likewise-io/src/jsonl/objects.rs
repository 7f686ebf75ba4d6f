//! The lines of a file of objects: their keys, what these hold, and cells of a table.

use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, BufReader, Read, Seek};

use likewise::Monitor;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::budget::{Budget, WORD};
use crate::input::Input;
use crate::number::Progress;
use crate::options::ReadOptions;
use crate::table::cells::{Cell, Each, Place, Rows};
use crate::{Error, Result};

/// Bytes of the longest line.
const LONGEST: u64 = 1 << 24;

/// Keys of the widest table: each line is compared with all of them.
const MOST_KEYS: usize = 10_000;

/// Numbers from which on the lists of a key are a view; shorter ones are columns of the table.
pub(super) const LEAST: usize = 8;

/// The lines of a file of objects, and the keys of all of them.
pub(crate) struct Objects<'a> {
    input: &'a Input,
    pub(super) names: Vec<String>,
    /// What the lists of each key are.
    pub(super) seen: Vec<Seen>,
    /// Lines that hold something.
    pub(super) items: usize,
    /// Whether lists are none of the cells, for each key; empty: all lists are.
    pub(super) apart: Vec<bool>,
}

impl<'a> Objects<'a> {
    /// Looks for the keys of all lines, in the order in which they first come, and at their lists.
    pub(crate) fn open(input: &'a Input, options: &ReadOptions) -> Result<Self> {
        let (mut names, mut seen) = (Vec::new(), Vec::<Seen>::new());
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut items = 0;
        let mut budget = Budget::new(options.max_memory);
        lines(input, &Monitor::silent(), |object, place| {
            let held = object.0.iter().any(|(_, value)| !value.is_missing());
            items += usize::from(held);
            for (key, value) in object.0 {
                if let Some(&at) = known.get(&key) {
                    seen[at].see(&value, place);
                    continue;
                }
                if names.len() == MOST_KEYS {
                    return Err(Error::value(format!(
                        "{place}: more than {MOST_KEYS} different keys; the same keys are needed \
                         in every line"
                    )));
                }
                budget.take(3 * WORD + size_of::<Seen>() as u64 + 2 * key.len() as u64)?;
                let mut first = Seen::default();
                first.see(&value, place);
                seen.push(first);
                names.push(key.clone());
                known.insert(key, names.len() - 1);
            }
            Ok(())
        })?;
        if names.is_empty() {
            return Err(Error::value(
                "the file is empty; lines of objects are needed",
            ));
        }
        Ok(Self {
            input,
            names,
            seen,
            items,
            apart: Vec::new(),
        })
    }
}

impl Rows for Objects<'_> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn said(&self) -> Vec<String> {
        Vec::new()
    }

    fn each(&mut self, monitor: &Monitor, each: Each) -> Result<()> {
        let places: HashMap<&str, usize> = self.names.iter().map(String::as_str).zip(0..).collect();
        lines(self.input, monitor, |object, place| {
            let mut cells = vec![Cell::Missing; self.names.len()];
            for (key, value) in &object.0 {
                if let Some(&at) = places.get(key.as_str()) {
                    cells[at] = match value {
                        Value::Missing => Cell::Missing,
                        Value::Text(text) => match text.trim() {
                            "" => Cell::Missing,
                            text => Cell::Text(text),
                        },
                        Value::Number(number) => Cell::Number(*number),
                        Value::Flag(flag) => Cell::Flag(*flag),
                        Value::Numbers(_) if self.apart.get(at) == Some(&true) => Cell::Other,
                        Value::Numbers(list) => Cell::Numbers(list),
                        Value::Other => Cell::Other,
                    };
                }
            }
            each(place, &cells)
        })
    }
}

/// Hands every object to `each`; empty lines are passed over.
fn lines(
    input: &Input,
    monitor: &Monitor,
    mut each: impl FnMut(Object, Place) -> Result<()>,
) -> Result<()> {
    let mut stream = input.again()?.stream();
    stream.rewind()?;
    let mut reader = BufReader::new(stream);
    let mut progress = Progress::new(monitor);
    let mut line = Vec::new();
    let (mut number, mut seen) = (0, 0);
    loop {
        line.clear();
        number += 1;
        let read = reader
            .by_ref()
            .take(LONGEST + 1)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        let place = Place {
            what: "line",
            number,
        };
        if read as u64 > LONGEST {
            return Err(Error::format(format!(
                "{place} is longer than {LONGEST} bytes; one object a line is needed"
            )));
        }
        let text = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| number == 1);
        let text = text.unwrap_or(&line).trim_ascii();
        if text.is_empty() {
            continue;
        }
        let object = serde_json::from_slice(text).map_err(|e| wrong(text, place, &e))?;
        each(object, place)?;
        seen += read;
        if seen > 1 << 18 {
            progress.add(seen)?;
            seen = 0;
        }
    }
}

fn wrong(text: &[u8], place: Place, e: &serde_json::Error) -> Error {
    let advice = match text.first() {
        Some(b'[') => "; a list is here where an object should be: write one object a line",
        Some(b'{') if e.is_eof() => "; an object that goes over lines? write one object a line",
        _ if text.windows(3).any(|w| w == b"NaN") => "; NaN is no JSON: write null",
        _ => "",
    };
    Error::format(format!("{place} is no JSON object ({e}){advice}"))
}

/// The keys of a line and what they hold.
struct Object(Vec<(String, Value)>);

enum Value {
    Missing,
    Text(String),
    Number(f64),
    Flag(bool),
    Numbers(Vec<f64>),
    /// Another list or an object, which is passed over.
    Other,
}

impl Value {
    fn is_missing(&self) -> bool {
        match self {
            Self::Missing => true,
            Self::Text(text) => text.trim().is_empty(),
            _ => false,
        }
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Object, A::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    fields.push((key.trim().to_owned(), value));
                }
                Ok(Object(fields))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> std::result::Result<Value, E> {
                Ok(Value::Missing)
            }

            fn visit_bool<E>(self, flag: bool) -> std::result::Result<Value, E> {
                Ok(Value::Flag(flag))
            }

            fn visit_i64<E>(self, number: i64) -> std::result::Result<Value, E> {
                Ok(Value::Number(number as f64))
            }

            fn visit_u64<E>(self, number: u64) -> std::result::Result<Value, E> {
                Ok(Value::Number(number as f64))
            }

            fn visit_f64<E>(self, number: f64) -> std::result::Result<Value, E> {
                Ok(Value::Number(number))
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Value, E> {
                Ok(Value::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> std::result::Result<Value, A::Error> {
                let mut numbers = Some(Vec::new());
                while let Some(value) = seq.next_element::<Value>()? {
                    match (value, &mut numbers) {
                        (Value::Number(number), Some(numbers)) => numbers.push(number),
                        _ => numbers = None,
                    }
                }
                Ok(numbers.map_or(Value::Other, Value::Numbers))
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Value::Other)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// The values of a key, as far as they are lists of numbers.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Where the first list stands, and how long it is.
    first: Option<(Place, usize)>,
    /// The same of the first list of another length.
    other: Option<(Place, usize)>,
    pub(super) longest: usize,
    /// Where the first value stands that is no such list.
    odd: Option<Place>,
}

impl Seen {
    fn see(&mut self, value: &Value, place: Place) {
        let Value::Numbers(list) = value else {
            if !value.is_missing() {
                self.odd.get_or_insert(place);
            }
            return;
        };
        let own = list.len();
        self.longest = self.longest.max(own);
        let (_, length) = *self.first.get_or_insert((place, own));
        if own != length {
            self.other.get_or_insert((place, own));
        }
    }

    /// The length of the lists, where they are a view.
    pub(super) fn width(&self) -> Option<usize> {
        let alike = self.other.is_none() && self.odd.is_none();
        let (_, length) = self.first.filter(|_| alike)?;
        (length >= LEAST).then_some(length)
    }

    /// Fails where lists that could be a view are not all as long; where the view is asked for by its
    /// name also where something else stands among them.
    pub(super) fn check(&self, key: &str, by_name: bool) -> Result<()> {
        let Some((first, length)) = self.first.filter(|_| self.longest >= LEAST) else {
            return Ok(());
        };
        match (self.odd, self.other) {
            (Some(odd), _) if by_name => Err(Error::value(format!(
                "{odd}, key \"{key}\": no list of numbers, as there is one in {first}; write one, or null \
                 for an item without it"
            ))),
            (None, Some((place, own))) => Err(Error::value(format!(
                "{place}, key \"{key}\": a list of {own} numbers, but the one in {first} has {length}; \
                 all must be as long, or null; or leave the key out with `drop`"
            ))),
            _ => Ok(()),
        }
    }
}
