//! Pages of Parquet columns, checked before the `parquet` crate decodes them.
//!
//! That crate panics on some damaged pages, and takes memory by the counts they claim.
//! What can be checked cheaply is checked here; what panics all the same becomes an error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// Runs code of the `parquet` crate; a panic of it means that the file is damaged.
pub(crate) fn guarded<T>(run: impl FnOnce() -> crate::Result<T>) -> crate::Result<T> {
    // Whatever the run left half-done is dropped with its error.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        Err(crate::Error::format(
            "the parquet file is damaged and cannot be decoded; fetch or write it again",
        ))
    })
}

/// A reader that refuses pages which cannot be decoded.
pub(crate) struct Checked {
    inner: Box<dyn PageReader>,
    /// Whether the column's dictionary came already.
    dictionary: bool,
}

impl Checked {
    pub(crate) fn new(inner: Box<dyn PageReader>) -> Self {
        Self {
            inner,
            dictionary: false,
        }
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
