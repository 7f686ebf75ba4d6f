//! Mutations of text: tables, JSON and TOML, line by line and number by number.

use std::ops::Range;

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::Rng;

/// What a number is replaced by.
const NUMBERS: [&str; 20] = [
    "0",
    "-1",
    "1",
    "2",
    "-0.0",
    "0.5",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "1000000000000",
    "1e308",
    "1e-320",
    "1e38",
    "-1e38",
    "nan",
    "inf",
    "1e-45",
    "100",
];
/// What any value of a TOML file is replaced by.
const VALUES: [&str; 12] = [
    "\"\"",
    "\"x\"",
    "\"../../x\"",
    "[]",
    "{}",
    "[[]]",
    "true",
    "false",
    "[-1, nan]",
    "1979-05-27",
    "\"\\u0000\"",
    "{ name = \"x\", kind = \"mlp\" }",
];
/// What is put somewhere into a line.
const PIECES: [&[u8]; 16] = [
    b"\"",
    b",",
    b"\t",
    b"\0",
    b"\r",
    b"\n",
    b"\n\n",
    b"\x1b]0;x\x07",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"NaN",
    b"null",
    b"  ",
    b"{",
    b"]",
    b"\xe2\x80\xae",
];

/// What follows the last point of a name.
pub(super) fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

pub(super) fn is_name(name: &str) -> bool {
    ["csv", "tsv", "txt", "json", "jsonl", "md"].contains(&ending(name))
}

/// Puts an extreme in place of one run of digits, if there is any.
pub(super) fn number(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let is_part = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e');
    let mut runs: Vec<Range<usize>> = vec![];
    let mut at = 0;
    for run in bytes.chunk_by(|a, b| is_part(a) == is_part(b)) {
        if run.iter().any(u8::is_ascii_digit) && run.iter().all(is_part) {
            runs.push(at..at + run.len());
        }
        at += run.len();
    }
    if let (Some(run), Some(number)) = (runs.choose(rng), NUMBERS.choose(rng)) {
        bytes.splice(run.clone(), number.bytes());
    }
}

/// Mutates the lines of a table or of JSON.
pub(super) fn lines(content: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = content.to_vec();
    for _ in 0..rng.random_range(1..4) {
        let mut lines: Vec<Vec<u8>> = bytes
            .split_inclusive(|&b| b == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        if lines.is_empty() {
            lines.push(vec![]);
        }
        let at = rng.random_range(0..lines.len());
        let column = rng.random_range(0..=lines[at].len());
        match rng.random_range(0..9) {
            0..3 => {
                number(&mut bytes, rng);
                continue;
            }
            3 => drop(lines.remove(at)),
            4 => lines.insert(at, lines[at].clone()),
            5 => lines[at].truncate(column),
            6 => {
                let long = [&b"9"[..], b"x", b",", b"["]
                    .choose(rng)
                    .unwrap_or(&&b"x"[..])
                    .repeat(20_000);
                lines[at].splice(column..column, long);
            }
            7 => {
                let other = rng.random_range(0..lines.len());
                lines.swap(at, other);
            }
            _ => {
                let piece = PIECES.choose(rng).copied().unwrap_or_default();
                lines[at].splice(column..column, piece.iter().copied());
            }
        }
        bytes = lines.concat();
    }
    bytes
}

/// Mutates keys and values of TOML, most of the time so that it stays TOML.
pub(super) fn toml(content: &[u8], rng: &mut Rng) -> Vec<u8> {
    if rng.random_bool(0.15) {
        return lines(content, rng);
    }
    let mut bytes = content.to_vec();
    if rng.random_bool(0.5) {
        number(&mut bytes, rng);
        return bytes;
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let keys: Vec<usize> = (0..lines.len())
        .filter(|&i| lines[i].contains(" = "))
        .collect();
    if let Some(&at) = keys.choose(rng) {
        let (key, value) = lines[at].split_once(" = ").unwrap_or_default();
        let (key, value) = (key.to_owned(), value.to_owned());
        let some = VALUES.choose(rng).unwrap_or(&"0");
        match rng.random_range(0..6) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines[at] = format!("{key}x = {value}"),
            3 => {
                let from = keys.choose(rng).map_or("", |&from| lines[from].as_str());
                let other = from.split_once(" = ").map_or("1", |(_, value)| value);
                lines[at] = format!("{key} = {other}");
            }
            4 => lines[at] = format!("{key} = {}", NUMBERS.choose(rng).unwrap_or(&"0")),
            _ => lines[at] = format!("{key} = {some}"),
        }
    }
    (lines.join("\n") + "\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    fn seeds(mutate: impl Fn(&mut Rng) -> Vec<u8>) -> Vec<Vec<u8>> {
        let one = |seed| mutate(&mut Rng::seed_from_u64(seed));
        let all: Vec<_> = (0..300).map(one).collect();
        assert_eq!(all, (0..300).map(one).collect::<Vec<_>>());
        all
    }

    #[test]
    fn numbers_become_extremes() {
        let all = seeds(|rng| {
            let mut bytes = b"a,-1.5e3,b\n".to_vec();
            number(&mut bytes, rng);
            bytes
        });
        for number in NUMBERS {
            assert!(
                all.contains(&format!("a,{number},b\n").into_bytes()),
                "{number}"
            );
        }
        let mut none = b"abc".to_vec();
        number(&mut none, &mut Rng::seed_from_u64(0));
        assert_eq!(none, b"abc");
    }

    #[test]
    fn lines_come_and_go() {
        let content = b"id,a\n1,2\n3,4\n";
        let all = seeds(|rng| lines(content, rng));
        let count = |rule: &dyn Fn(&Vec<u8>) -> bool| all.iter().filter(|c| rule(c)).count();
        let breaks = |c: &Vec<u8>| c.split(|&b| b == b'\n').count() - 1;
        assert!(count(&|c| breaks(c) < 3) > 10 && count(&|c| breaks(c) > 3) > 10);
        assert!(count(&|c| c.len() > 20_000) > 10);
        assert!(!seeds(|rng| lines(b"", rng)).is_empty());
    }

    #[test]
    fn keys_are_doubled_removed_and_replaced() {
        let content = b"k = 5\n[head]\nwidth = 64\nname = \"a\"\n";
        let all = seeds(|rng| toml(content, rng));
        let has = |text: &str| all.iter().any(|c| String::from_utf8_lossy(c) == text);
        assert!(has("k = 5\n[head]\nname = \"a\"\n"));
        assert!(has("k = 5\nk = 5\n[head]\nwidth = 64\nname = \"a\"\n"));
        assert!(has("k = nan\n[head]\nwidth = 64\nname = \"a\"\n"));
        assert!(has("k = 5\n[head]\nwidth = 64\nname = []\n"));
    }
}
