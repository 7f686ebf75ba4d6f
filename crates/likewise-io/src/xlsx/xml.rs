//! The parts of an archive as XML, and never more of it than is there.

use std::cell::Cell;
use std::io::{BufReader, Error as IoError, Read};
use std::rc::Rc;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::{Error, Result};

/// Bytes of the longest piece: a tag, or the text of a cell, of which Excel takes 32,767 letters.
const LONGEST: u64 = 1 << 20;

/// How many times its size a part may unpack to, beside [`ALWAYS`].
const EXPANDS: u64 = 300;
const ALWAYS: u64 = 16 << 20;

/// What is wrong with a part that unpacks to more.
const EXPLODES: &str = "it unpacks to far more than a spreadsheet holds";

/// XML, piece by piece.
pub(super) struct Xml<'a> {
    reader: Reader<BufReader<Fenced<'a>>>,
    piece: Vec<u8>,
    left: Rc<Cell<u64>>,
}

/// Bytes of a part; fails beyond what a piece, and the whole, may have.
struct Fenced<'a> {
    inner: Box<dyn Read + 'a>,
    left: Rc<Cell<u64>>,
    whole: u64,
}

impl Read for Fenced<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(out)?;
        let count = read as u64;
        if count > self.left.get() || count > self.whole {
            return Err(IoError::other(EXPLODES));
        }
        self.left.set(self.left.get() - count);
        self.whole -= count;
        Ok(read)
    }
}

impl<'a> Xml<'a> {
    /// XML of a part that takes `packed` bytes in its archive, and `unpacked` by what that says. Fails
    /// where these are too many; what says less than is there fails once it is passed.
    pub(super) fn new(part: impl Read + 'a, packed: u64, unpacked: u64) -> Result<Self> {
        let whole = packed.saturating_mul(EXPANDS).saturating_add(ALWAYS);
        if unpacked > whole {
            return Err(damaged(&EXPLODES));
        }
        let left = Rc::new(Cell::new(LONGEST));
        let fenced = Fenced {
            inner: Box::new(part),
            left: left.clone(),
            whole,
        };
        let mut reader = Reader::from_reader(BufReader::new(fenced));
        reader.config_mut().expand_empty_elements = true;
        Ok(Self {
            reader,
            piece: Vec::new(),
            left,
        })
    }

    /// The next piece.
    pub(super) fn next(&mut self) -> Result<Event<'_>> {
        self.left.set(LONGEST);
        self.piece.clear();
        self.reader
            .read_event_into(&mut self.piece)
            .map_err(|e| match e {
                quick_xml::Error::Io(e) => damaged(&e),
                e => damaged(&e),
            })
    }
}

/// The value of an attribute, without the prefix of its name.
pub(super) fn attribute(tag: &BytesStart, name: &str) -> Result<Option<String>> {
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|e| damaged(&e))?;
        if attribute.key.local_name().as_ref() == name {
            let value = quick_xml::escape::unescape(&attribute.value).map_err(|e| damaged(&e))?;
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}

/// Adds what a piece says to a text.
pub(super) fn append(piece: &Event, text: &mut String) -> Result<()> {
    match piece {
        Event::Text(own) => text.push_str(&own.xml10_content()),
        Event::CData(own) => text.push_str(&own.xml10_content()),
        Event::GeneralRef(reference) => {
            if let Some(letter) = reference.resolve_char_ref().map_err(|e| damaged(&e))? {
                text.push(letter);
            } else if let Some(known) =
                quick_xml::escape::resolve_predefined_entity(&reference.xml10_content())
            {
                text.push_str(known);
            }
        }
        _ => {}
    }
    if text.len() as u64 > LONGEST {
        return Err(damaged(&"a cell holds more than a cell can"));
    }
    Ok(())
}

pub(super) fn damaged(e: &dyn std::fmt::Display) -> Error {
    Error::format(format!(
        "not a usable spreadsheet ({e}); save it again as .xlsx or .csv"
    ))
}
