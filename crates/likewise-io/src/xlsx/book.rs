//! The archive that a spreadsheet is: its sheets, styles and shared texts.

use std::collections::HashMap;

use quick_xml::events::Event;
use zip::ZipArchive;

use super::sheet::{self, Row, Styles};
use super::xml::{Xml, append, attribute, damaged};
use crate::budget::{Budget, WORD};
use crate::input::{Input, Stream};
use crate::{Error, Result};

/// An open spreadsheet.
pub(super) struct Book {
    zip: ZipArchive<Box<dyn Stream>>,
    /// Names of the visible sheets, and where their cells are.
    pub(super) sheets: Vec<(String, String)>,
    /// The texts that cells share.
    pub(super) texts: Vec<String>,
    styles: Styles,
}

/// Parts that another one points at: where they are, and what, by their ids.
type Related = HashMap<String, (String, String)>;

impl Book {
    pub(super) fn open(input: Input, mut budget: Budget) -> Result<Self> {
        let mut zip = ZipArchive::new(input.stream())?;
        if zip.has_overlapping_entries()? {
            return Err(damaged(&"its parts overlap"));
        }
        let of_kind = |related: &Related, kind: &str| {
            let mut all = related.values();
            let found = all.find(|(_, own)| own.ends_with(kind));
            found.map(|(path, _)| path.clone())
        };
        let root = related(&mut zip, "")?;
        let book =
            of_kind(&root, "/officeDocument").unwrap_or_else(|| "xl/workbook.xml".to_owned());
        let parts = related(&mut zip, &book)?;
        let (named, since_1904) = workbook(&mut zip, &book)?;
        let sheets: Vec<(String, String)> = (named.into_iter())
            .filter_map(|(name, id)| {
                let (path, kind) = parts.get(&id)?;
                kind.ends_with("/worksheet").then(|| (name, path.clone()))
            })
            .collect();
        let dates = match of_kind(&parts, "/styles") {
            Some(path) => styles(&mut zip, &path)?,
            None => Vec::new(),
        };
        let texts = match of_kind(&parts, "/sharedStrings") {
            Some(path) => texts(&mut zip, &path, &mut budget)?,
            None => Vec::new(),
        };
        Ok(Self {
            zip,
            sheets,
            texts,
            styles: Styles { dates, since_1904 },
        })
    }

    /// Hands every row of a sheet to `each`, until that says that it is enough.
    pub(super) fn each(
        &mut self,
        place: usize,
        mut each: impl FnMut(&Row) -> Result<bool>,
    ) -> Result<()> {
        self.each_with_texts(place, |row, _| each(row))
    }

    /// The same, with the texts that cells share.
    pub(super) fn each_with_texts(
        &mut self,
        place: usize,
        mut each: impl FnMut(&Row, &[String]) -> Result<bool>,
    ) -> Result<()> {
        let (name, path) = &self.sheets[place];
        let within = |e: Error| e.within(format!("sheet \"{name}\""));
        let (texts, styles) = (&self.texts, &self.styles);
        let mut outcome = Ok(());
        let read = part(&mut self.zip, path, |xml| {
            sheet::each(xml, styles, |row| match each(row, texts) {
                Ok(more) => Ok(more),
                // What was found wrong with a row is not said of the sheet.
                Err(e) => {
                    outcome = Err(e);
                    Ok(false)
                }
            })
        });
        outcome?;
        match read.map_err(within)? {
            Some(()) => Ok(()),
            None => Err(damaged(&format!(
                "the cells of sheet \"{name}\" are missing"
            ))),
        }
    }
}

/// Reads a part of the archive; `None` where it is not there.
fn part<T>(
    zip: &mut ZipArchive<Box<dyn Stream>>,
    path: &str,
    read: impl FnOnce(&mut Xml) -> Result<T>,
) -> Result<Option<T>> {
    let like = |name: &str| name.replace('\\', "/").eq_ignore_ascii_case(path);
    let names = || zip.file_names().map(std::result::Result::ok);
    let exact = names().position(|name| name.is_some_and(|name| name == path));
    let found = exact.or_else(|| names().position(|name| name.is_some_and(|name| like(&name))));
    let Some(index) = found else {
        return Ok(None);
    };
    let entry = zip.by_index(index)?;
    let (packed, unpacked) = (entry.compressed_size(), entry.size());
    let mut xml = Xml::new(entry, packed, unpacked)?;
    read(&mut xml).map(Some)
}

/// What a part points at; of the archive itself if `path` is empty.
fn related(zip: &mut ZipArchive<Box<dyn Stream>>, path: &str) -> Result<Related> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let begin = if folder.is_empty() {
        String::new()
    } else {
        format!("{folder}/")
    };
    let own = format!("{begin}_rels/{name}.rels");
    let read = part(zip, &own, |xml| {
        let mut related = Related::new();
        loop {
            match xml.next()? {
                Event::Start(tag) if tag.local_name().as_ref() == "Relationship" => {
                    let id = attribute(&tag, "Id")?.unwrap_or_default();
                    let target = attribute(&tag, "Target")?.unwrap_or_default();
                    let kind = attribute(&tag, "Type")?.unwrap_or_default();
                    let path = match target.strip_prefix('/') {
                        Some(whole) => whole.to_owned(),
                        None => format!("{begin}{target}"),
                    };
                    related.insert(id, (path, kind));
                }
                Event::Eof => return Ok(related),
                _ => {}
            }
        }
    });
    Ok(read?.unwrap_or_default())
}

/// Names and ids of the visible sheets, and whether days are counted from 1904.
fn workbook(
    zip: &mut ZipArchive<Box<dyn Stream>>,
    path: &str,
) -> Result<(Vec<(String, String)>, bool)> {
    let read = part(zip, path, |xml| {
        let (mut sheets, mut since_1904) = (Vec::new(), false);
        loop {
            match xml.next()? {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "sheet" => {
                        let shown = attribute(&tag, "state")?.is_none_or(|s| s == "visible");
                        let name = attribute(&tag, "name")?.unwrap_or_default();
                        if let (Some(id), true) = (attribute(&tag, "id")?, shown) {
                            sheets.push((name, id));
                        }
                    }
                    "workbookPr" => {
                        let set = attribute(&tag, "date1904")?;
                        since_1904 = set.is_some_and(|v| v == "1" || v == "true");
                    }
                    _ => {}
                },
                Event::Eof => return Ok((sheets, since_1904)),
                _ => {}
            }
        }
    });
    read?.ok_or_else(|| damaged(&"it has no workbook"))
}

/// Whether the numbers of each style are dates.
fn styles(zip: &mut ZipArchive<Box<dyn Stream>>, path: &str) -> Result<Vec<bool>> {
    let read = part(zip, path, |xml| {
        let mut own: HashMap<u32, bool> = HashMap::new();
        let (mut dates, mut in_cells) = (Vec::new(), false);
        loop {
            match xml.next()? {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "numFmt" => {
                        let id = attribute(&tag, "numFmtId")?.and_then(|id| id.parse().ok());
                        let code = attribute(&tag, "formatCode")?.unwrap_or_default();
                        if let Some(id) = id {
                            own.insert(id, is_date(&code));
                        }
                    }
                    "cellXfs" => in_cells = true,
                    "xf" if in_cells => {
                        let id = attribute(&tag, "numFmtId")?.and_then(|id| id.parse().ok());
                        let id = id.unwrap_or(0);
                        // Those that Excel knows by number; 45 to 47 are lengths of time.
                        let known = matches!(id, 14..=17 | 22 | 27..=36 | 50..=58);
                        dates.push(own.get(&id).copied().unwrap_or(known));
                    }
                    _ => {}
                },
                Event::End(tag) if tag.local_name().as_ref() == "cellXfs" => in_cells = false,
                Event::Eof => return Ok(dates),
                _ => {}
            }
        }
    });
    Ok(read?.unwrap_or_default())
}

/// Whether a format of numbers shows a date: it has a year or a day outside of quotes and brackets.
fn is_date(code: &str) -> bool {
    let (mut quoted, mut bracketed, mut escaped) = (false, false, false);
    for letter in code.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' | '_' | '*' => escaped = true,
            '"' => quoted = !quoted,
            '[' if !quoted => bracketed = true,
            ']' if !quoted => bracketed = false,
            'y' | 'Y' | 'd' | 'D' if !quoted && !bracketed => return true,
            _ => {}
        }
    }
    false
}

/// The texts that cells share.
fn texts(
    zip: &mut ZipArchive<Box<dyn Stream>>,
    path: &str,
    budget: &mut Budget,
) -> Result<Vec<String>> {
    let read = part(zip, path, |xml| {
        let mut texts = Vec::new();
        let (mut text, mut reads, mut aside) = (String::new(), false, false);
        loop {
            let piece = xml.next()?;
            match &piece {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "t" => reads = true,
                    "rPh" => aside = true,
                    _ => {}
                },
                Event::End(tag) => match tag.local_name().as_ref() {
                    "t" => reads = false,
                    "rPh" => aside = false,
                    "si" => {
                        budget.take(WORD + text.len() as u64)?;
                        texts.push(std::mem::take(&mut text));
                    }
                    _ => {}
                },
                Event::Eof => return Ok(texts),
                _ if reads && !aside => append(&piece, &mut text)?,
                _ => {}
            }
        }
    });
    Ok(read?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_told_by_their_format() {
        for code in [
            "yyyy-mm-dd",
            "d/m/yy h:mm",
            "[$-409]mmm d",
            "dd\\.mm\\.yyyy",
        ] {
            assert!(is_date(code), "{code}");
        }
        for code in [
            "General",
            "0.00",
            "0.0\" days\"",
            "[Red]0",
            "#,##0 \\d",
            "h:mm",
        ] {
            assert!(!is_date(code), "{code}");
        }
    }
}
