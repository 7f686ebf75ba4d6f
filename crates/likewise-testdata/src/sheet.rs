//! Spreadsheets as Excel writes them, made in memory.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing: it is not written.
    Nothing,
    /// A number.
    Number(f64),
    /// A text, which lies among the shared ones.
    Text(String),
    /// A truth value.
    Flag(bool),
    /// Days of Excel's count, shown as a date.
    Date(f64),
    /// An error, such as `#N/A`.
    Error,
}

/// A workbook of one sheet of these rows.
pub fn xlsx(rows: &[Vec<Cell>]) -> Vec<u8> {
    let (mut shared, mut data) = (String::new(), String::new());
    let mut texts = 0;
    for (r, row) in rows.iter().enumerate() {
        let _ = write!(data, "<row r=\"{}\">", r + 1);
        for (c, cell) in row.iter().enumerate() {
            let place = format!("{}{}", column(c), r + 1);
            let (kind, value) = match cell {
                Cell::Nothing => continue,
                Cell::Number(v) => ("", v.to_string()),
                Cell::Flag(v) => (" t=\"b\"", u8::from(*v).to_string()),
                Cell::Date(v) => (" s=\"1\"", v.to_string()),
                Cell::Error => (" t=\"e\"", "#N/A".to_owned()),
                Cell::Text(text) => {
                    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
                    let _ = write!(shared, "<si><t xml:space=\"preserve\">{escaped}</t></si>");
                    texts += 1;
                    (" t=\"s\"", (texts - 1).to_string())
                }
            };
            let _ = write!(data, "<c r=\"{place}\"{kind}><v>{value}</v></c>");
        }
        data += "</row>";
    }
    parts(&format!("<sheetData>{data}</sheetData>"), &shared)
}

/// A workbook of one sheet with this inside, and these shared texts.
///
/// # Panics
///
/// Never: the archive is written to memory.
pub fn parts(sheet: &str, shared: &str) -> Vec<u8> {
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let package = "http://schemas.openxmlformats.org/package/2006/relationships";
    let related = |all: &[(&str, &str)]| {
        let one = |(i, (kind, target)): (usize, &(&str, &str))| {
            format!("<Relationship Id=\"rId{i}\" Type=\"{office}/{kind}\" Target=\"{target}\"/>")
        };
        let all: String = all.iter().enumerate().map(one).collect();
        format!("<Relationships xmlns=\"{package}\">{all}</Relationships>")
    };
    let files = [
        ("[Content_Types].xml", String::from("<Types/>")),
        (
            "_rels/.rels",
            related(&[("officeDocument", "xl/workbook.xml")]),
        ),
        (
            "xl/workbook.xml",
            format!(
                "<workbook xmlns=\"{main}\" xmlns:r=\"{office}\"><sheets>\
                 <sheet name=\"Sheet1\" sheetId=\"1\" r:id=\"rId0\"/></sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            related(&[
                ("worksheet", "worksheets/sheet1.xml"),
                ("styles", "styles.xml"),
                ("sharedStrings", "sharedStrings.xml"),
            ]),
        ),
        (
            "xl/styles.xml",
            format!(
                "<styleSheet xmlns=\"{main}\"><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/>\
                 </cellXfs></styleSheet>"
            ),
        ),
        (
            "xl/sharedStrings.xml",
            format!("<sst xmlns=\"{main}\">{shared}</sst>"),
        ),
        (
            "xl/worksheets/sheet1.xml",
            format!("<worksheet xmlns=\"{main}\">{sheet}</worksheet>"),
        ),
    ];
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        let deflated = zip::CompressionMethod::Deflated;
        let options = SimpleFileOptions::default().compression_method(deflated);
        zip.start_file(name, options).expect("a name for a file");
        zip.write_all(content.as_bytes())
            .expect("memory to write to");
    }
    zip.finish().expect("memory to write to").into_inner()
}

/// The letters of a column, counted from 0.
fn column(mut number: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(b'A' + (number % 26) as u8);
        if number < 26 {
            break;
        }
        number = number / 26 - 1;
    }
    letters
        .iter()
        .rev()
        .map(|&letter| char::from(letter))
        .collect()
}
