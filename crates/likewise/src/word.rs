//! What a written label means.

/// What tables are filled with where a value is missing: by R, pandas, spreadsheets and
/// databases. Other capitals make other words: `na` and `none` are names of classes.
pub(crate) const MISSING: [&str; 10] = [
    "NA", "<NA>", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None",
];

/// What a written label means. The one place that decides it.
pub(crate) enum Word<'a> {
    Class(&'a str),
    Unknown,
    /// Unknown too, but perhaps a class of an unlucky name: worth a remark.
    Missing,
    Outside,
}

impl<'a> Word<'a> {
    pub(crate) fn of(word: &'a str) -> Self {
        let word = whole(word.trim());
        if MISSING.contains(&word) {
            return Word::Missing;
        }
        match word {
            "" | "-1" => Word::Unknown,
            "-2" => Word::Outside,
            _ if word.eq_ignore_ascii_case("unlabeled") => Word::Unknown,
            _ if word.eq_ignore_ascii_case("outside") => Word::Outside,
            _ => Word::Class(word),
        }
    }
}

/// A whole number without its fraction of zeros, as programs write whole numbers in a column
/// that also has gaps; any other word, and numbers such as 01.0, as they are.
fn whole(word: &str) -> &str {
    let Some((number, zeros)) = word.split_once('.') else {
        return word;
    };
    let digits = number.strip_prefix('-').unwrap_or(number);
    let plain = !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'))
        && number != "-0";
    if plain && !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') {
        number
    } else {
        word
    }
}
