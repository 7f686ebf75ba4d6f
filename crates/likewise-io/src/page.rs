//! Pages of Parquet columns, checked before the `parquet` crate decodes them.
//!
//! That crate panics on some damaged pages; these checks turn them into errors.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

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
            Page::DictionaryPage { .. } => {
                self.dictionary = true;
                Ok(())
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
