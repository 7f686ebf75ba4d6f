//! Pages of Parquet columns, checked before the `parquet` crate decodes them.
//!
//! That crate panics on some damaged pages, and takes memory by the counts they claim.
//! What can be checked cheaply is checked here; what panics all the same becomes an error.

use std::cell::Cell;
use std::io::{ErrorKind, Read, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

use crate::Error;
use crate::budget::Budget;
use crate::input::Stream;

thread_local! {
    /// Whether a panic of this thread is about to become an error.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Keeps panics that become errors from being announced; all others are as before.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                before(panic);
            }
        }));
    });
}

/// Runs code of the `parquet` crate; a panic of it means that the file is damaged.
pub(super) fn guarded<T>(run: impl FnOnce() -> crate::Result<T>) -> crate::Result<T> {
    hush();
    let outer = GUARDED.replace(true);
    // Whatever the run left half-done is dropped with its error.
    let done = catch_unwind(AssertUnwindSafe(run));
    GUARDED.set(outer);
    done.unwrap_or_else(|_| {
        Err(crate::Error::format(
            "the parquet file is damaged and cannot be decoded; fetch or write it again",
        ))
    })
}

/// Bytes that a value takes while it is decoded: itself, its levels, and room to grow.
const DECODED: u64 = 24;

/// A reader that refuses pages which cannot be decoded.
pub(super) struct Checked {
    inner: Box<dyn PageReader>,
    /// Whether the column's dictionary came already.
    dictionary: bool,
    /// Values of the pages that came since this was last set to 0.
    pub(super) values: Arc<AtomicU64>,
    /// What these may take.
    budget: Budget,
}

impl Checked {
    /// Pages whose values, decoded at once, may take the budget.
    pub(super) fn new(inner: Box<dyn PageReader>, budget: Budget) -> Self {
        Self {
            inner,
            dictionary: false,
            values: Arc::default(),
            budget,
        }
    }

    /// A few bytes can stand for two thousand million values.
    fn count(&mut self, page: &Page) -> Result<()> {
        let more = match page {
            Page::DictionaryPage { .. } => return Ok(()),
            page => u64::from(page.num_values()),
        };
        let values = self.values.fetch_add(more, Ordering::Relaxed);
        let values = values.saturating_add(more);
        self.budget
            .check(values.saturating_mul(DECODED))
            .map_err(|e| {
                let message = format!("a few rows hold {values} values, and {e}");
                std::io::Error::new(ErrorKind::OutOfMemory, message).into()
            })
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        let damaged = |what: &str| Err(ParquetError::General(format!("damaged page: {what}")));
        let (encoding, dictionary) = (page.encoding(), self.dictionary);
        let indexed = |e| matches!(e, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
        match page {
            Page::DictionaryPage {
                buf, num_values, ..
            } => {
                self.dictionary = true;
                // Room for all entries is taken at once, and no entry is shorter than a byte.
                if *num_values as usize > buf.len() {
                    return damaged("its dictionary has more entries than bytes");
                }
                Ok(())
            }
            _ if matches!(
                encoding,
                Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY
            ) =>
            {
                // Their decoders take memory by a count within the data.
                Err(ParquetError::General(format!(
                    "text in encoding {encoding} is not supported; write it as PLAIN or dictionary"
                )))
            }
            _ if indexed(encoding) && !dictionary => damaged("its dictionary is missing"),
            Page::DataPage {
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                #[expect(deprecated, reason = "old files use it for levels")]
                let known = |e: &Encoding| matches!(e, Encoding::RLE | Encoding::BIT_PACKED);
                if !known(def_level_encoding) || !known(rep_level_encoding) {
                    return damaged("levels of an unknown encoding");
                }
                Ok(())
            }
            Page::DataPageV2 {
                buf,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                if levels > buf.len() as u64 {
                    return damaged("its levels are longer than itself");
                }
                Ok(())
            }
        }
    }
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        if let Some(page) = &page {
            self.check(page)?;
            self.count(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}

impl Iterator for Checked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Reads the headers of the pages between `first` and `end`; fails where one is damaged, or
/// claims that its page holds more than `expansion` times its bytes, or than the budget.
///
/// A damaged header can cost the `parquet` crate seconds, and its snappy decoder takes and
/// clears the claimed memory (up to 2 GiB) before it looks at the data.
pub(super) fn check_headers(
    stream: &mut dyn Stream,
    first: u64,
    end: u64,
    expansion: u64,
    budget: &Budget,
) -> crate::Result<()> {
    let mut at = first;
    while at < end {
        stream.seek(SeekFrom::Start(at))?;
        let mut header = Header { stream, length: 0 };
        let (unpacked, packed) = header.sizes()?;
        if unpacked / expansion > packed.saturating_add(64) {
            return Err(Error::format(format!(
                "a page of {packed} bytes claims to hold {unpacked}; the file is damaged"
            )));
        }
        budget.check(unpacked.saturating_add(packed))?;
        at = at.saturating_add(header.length).saturating_add(packed);
    }
    Ok(())
}

/// The header of a page, in Thrift's compact form.
struct Header<'a> {
    stream: &'a mut dyn Stream,
    length: u64,
}

impl Header<'_> {
    fn byte(&mut self) -> crate::Result<u8> {
        let mut byte = [0];
        self.stream.read_exact(&mut byte)?;
        self.length += 1;
        Ok(byte[0])
    }

    fn number(&mut self) -> crate::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    /// Sizes of the page, unpacked and packed: fields 2 and 3 of its header.
    fn sizes(&mut self) -> crate::Result<(u64, u64)> {
        let (mut unpacked, mut packed) = (None, None);
        let mut field = 0;
        loop {
            let lead = self.byte()?;
            let kind = lead & 15;
            if kind == 0 {
                return unpacked.zip(packed).ok_or_else(damaged);
            }
            field = match u64::from(lead >> 4) {
                0 => self.number()? >> 1,
                step => field + step,
            };
            match (field, kind) {
                (2, 5) => unpacked = Some(self.size()?),
                (3, 5) => packed = Some(self.size()?),
                _ => self.skip(kind, 0)?,
            }
        }
    }

    /// A zigzag number that must not be negative: those are odd.
    fn size(&mut self) -> crate::Result<u64> {
        match self.number()? {
            number if number % 2 == 0 => Ok(number / 2),
            _ => Err(damaged()),
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> crate::Result<()> {
        match kind {
            1 | 2 => {}
            3 => _ = self.byte()?,
            4..=6 => _ = self.number()?,
            7 => self.skip_bytes(8)?,
            8 => {
                let length = self.number()?;
                self.skip_bytes(length)?;
            }
            12 if depth < 8 => loop {
                let lead = self.byte()?;
                let kind = lead & 15;
                if kind == 0 {
                    break;
                }
                if lead >> 4 == 0 {
                    self.number()?;
                }
                self.skip(kind, depth + 1)?;
            },
            // Page headers hold no lists, sets or maps.
            _ => return Err(damaged()),
        }
        Ok(())
    }

    fn skip_bytes(&mut self, count: u64) -> crate::Result<()> {
        let mut bytes = Read::take(&mut *self.stream, count);
        let skipped = std::io::copy(&mut bytes, &mut std::io::sink())?;
        self.length += skipped;
        if skipped == count {
            Ok(())
        } else {
            Err(damaged())
        }
    }
}

fn damaged() -> Error {
    Error::format("the header of a page is damaged; fetch or write the file again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_inside_is_an_error_and_the_guard_ends_with_it() {
        let failed = guarded::<()>(|| {
            assert!(GUARDED.get(), "not announced in here");
            let none: [u8; 0] = [];
            let place = none.len() + 3;
            let _ = &none[..place];
            Ok(())
        });
        let said = failed.unwrap_err().to_string();
        assert!(said.contains("damaged"), "{said}");
        assert!(!GUARDED.get(), "announced again");
    }
}
