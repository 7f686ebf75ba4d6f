//! Items as the binary form of `COPY`.

use std::io::Write;

use likewise::Monitor;
use likewise_io::items::ItemRow;
use postgres::Client;

use super::connection::Failed;
use super::table::Table;
use crate::export::contents::{Contents, Vectors};
use crate::failed;

/// Bytes of items that go at a time, about.
const BLOCK: usize = 1 << 19;

/// The columns of the table, in its order.
pub(super) const COLUMNS: [&str; 6] = [
    "id",
    "label",
    "pseudo_label",
    "confidence",
    "split",
    "embedding",
];

/// What the stream begins with, and the eight bytes of its flags.
const HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const END: i16 = -1;
const NULL: i32 = -1;

/// Writes the items from `done` on, block by block; gives how many.
pub(super) fn items(
    client: &mut Client,
    table: &Table,
    contents: &Contents,
    done: usize,
    monitor: &Monitor,
) -> Result<usize, Failed> {
    let n = contents.items.len();
    let bytes = match &contents.vectors {
        Vectors::Rows(rows) => 4 * rows.ncols(),
        Vectors::Codes(codes) => codes.bits().div_ceil(8),
    };
    let block = (BLOCK / (bytes + 100)).max(1);
    let copy = format!(
        "COPY {} ({}) FROM STDIN BINARY",
        table.name,
        COLUMNS.join(", ")
    );
    let note = format!(
        "UPDATE {} SET done = $1 WHERE place = $2 AND run = $3 AND done = $4",
        table.progress
    );
    monitor.start("export", (n - done) as u64);
    for first in (done..n).step_by(block) {
        let last = (first + block).min(n);
        let mut transaction = client.transaction()?;
        // Of two exports at once the second waits here for the first, and then finds it was there.
        let noted = transaction.execute(
            &note,
            &[&(last as i64), &table.key, &contents.mark, &(first as i64)],
        )?;
        if noted != 1 {
            return Err(failed("another export writes to this table; let it end").into());
        }
        let mut stream = transaction.copy_in(&copy)?;
        let mut buffer = HEAD.to_vec();
        for place in first..last {
            put_item(&mut buffer, &contents.items[place]);
            put_vector(&mut buffer, &contents.vectors, place);
        }
        buffer.extend(END.to_be_bytes());
        stream.write_all(&buffer)?;
        stream.finish()?;
        transaction.commit()?;
        monitor.step((last - done) as u64)?;
    }
    monitor.end();
    Ok(n - done)
}

/// A row of six fields, of which these are five.
fn put_item(out: &mut Vec<u8>, item: &ItemRow) {
    out.extend(6_i16.to_be_bytes());
    let mut text = |text: Option<&str>| match text {
        Some(text) => put(out, text.as_bytes()),
        None => out.extend(NULL.to_be_bytes()),
    };
    text(Some(&item.id));
    text(item.label.as_deref());
    text(item.pseudo_label.as_deref());
    match item.confidence {
        Some(confidence) => put(out, &confidence.to_be_bytes()),
        None => out.extend(NULL.to_be_bytes()),
    }
    match item.split {
        Some(part) => put(out, part.name().as_bytes()),
        None => out.extend(NULL.to_be_bytes()),
    }
}

fn put(out: &mut Vec<u8>, field: &[u8]) {
    out.extend((field.len() as i32).to_be_bytes());
    out.extend(field);
}

/// A vector: two numbers of 16 bits, its dimensions and 0, and its values. Bits: their number, and
/// eight a byte, highest first.
fn put_vector(out: &mut Vec<u8>, vectors: &Vectors, place: usize) {
    match vectors {
        Vectors::Rows(rows) => {
            let row = rows.row(place);
            out.extend((4 + 4 * row.len() as i32).to_be_bytes());
            out.extend((row.len() as u16).to_be_bytes());
            out.extend([0; 2]);
            out.extend(row.iter().flat_map(|v| v.to_be_bytes()));
        }
        Vectors::Codes(codes) => {
            let bytes = codes.bits().div_ceil(8);
            out.extend((4 + bytes as i32).to_be_bytes());
            out.extend((codes.bits() as i32).to_be_bytes());
            let words = codes.row(place).iter().flat_map(|word| word.to_le_bytes());
            out.extend(words.take(bytes).map(u8::reverse_bits));
        }
    }
}

#[cfg(test)]
mod tests {
    use likewise::code::Codes;

    use super::*;

    #[test]
    fn fields_are_as_the_server_reads_them() {
        let mut out = Vec::new();
        let item = ItemRow {
            id: "ab".into(),
            confidence: Some(1.0),
            ..ItemRow::default()
        };
        put_item(&mut out, &item);
        let null = [255; 4];
        let expected = [
            &[0, 6, 0, 0, 0, 2, b'a', b'b'][..],
            &null,
            &null,
            &[0, 0, 0, 4, 0x3f, 0x80, 0, 0],
            &null,
        ];
        assert_eq!(out, expected.concat());
        let mut out = Vec::new();
        put_vector(&mut out, &Vectors::Rows(ndarray::array![[1.0, -2.0]]), 0);
        assert_eq!(
            out,
            [0, 0, 0, 12, 0, 2, 0, 0, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0]
        );
        let mut out = Vec::new();
        let codes = Codes::from_words(10, vec![0b10_0000_0001]).unwrap();
        put_vector(&mut out, &Vectors::Codes(codes), 0);
        assert_eq!(out, [0, 0, 0, 6, 0, 0, 0, 10, 0b1000_0000, 0b0100_0000]);
    }
}
