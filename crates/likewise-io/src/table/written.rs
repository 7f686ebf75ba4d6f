//! How people write numbers, and that there is none.

use crate::layout::Decimal;

/// Words that say that a value is missing, in small letters: those of pandas, R, Excel (also the
/// German one) and of people.
const MISSING: [&str; 24] = [
    "na", "n/a", "#n/a", "#n/a n/a", "#na", "nan", "-nan", "null", "none", "nil", "<na>", "nat",
    "-", "--", "?", ".", "#nv", "#null!", "#div/0!", "#value!", "#ref!", "#name?", "#num!",
    "missing",
];

/// Whether a cell says that its value is missing.
pub(crate) fn is_missing(text: &str) -> bool {
    text.is_empty() || (text.len() <= 8 && MISSING.contains(&text.to_ascii_lowercase().as_str()))
}

/// The word of a truth value in the one way that it is kept, whatever program wrote it.
pub(crate) fn flag(text: &str) -> Option<&'static str> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("true") || is("wahr") || is("vrai") || is("verdadero") {
        Some("true")
    } else if is("false") || is("falsch") || is("faux") || is("falso") {
        Some("false")
    } else {
        None
    }
}

/// Signs of money that may stand before or behind a number.
const MONEY: [&str; 11] = [
    "€", "$", "£", "¥", "₹", "CHF", "EUR", "USD", "GBP", "US$", "Rs",
];

/// A number as people write it; `None` where it is none.
///
/// Beside what programs write (`-1.5e3`) there may be groups of three digits (`1,234.5`, with a
/// decimal comma `1.234,5`; also divided by an apostrophe or a narrow space), a sign of money, a
/// percent sign, which divides by a hundred, brackets for what is owed, and the long minus. What
/// is beyond the range of `f32` is infinite.
pub(crate) fn number(text: &str, decimal: Decimal) -> Option<f32> {
    let mut text = text.trim();
    // The usual case, without a copy. A decimal comma makes `1.234` something else.
    if decimal == Decimal::Point
        && let Ok(value) = text.parse::<f32>()
    {
        return Some(value);
    }
    let bare = text.strip_prefix('(').and_then(|t| t.strip_suffix(')'));
    let owed = bare.is_some();
    text = bare.unwrap_or(text).trim();
    let (mut text, negative) = without_sign(text, owed)?;
    let percent = text.strip_suffix('%');
    text = percent.unwrap_or(text).trim_end();
    for sign in MONEY {
        if percent.is_some() {
            break;
        }
        if let Some(rest) = text.strip_prefix(sign).or_else(|| text.strip_suffix(sign)) {
            text = rest.trim();
            break;
        }
    }
    let (text, again) = if negative {
        (text, false)
    } else {
        // $-5
        without_sign(text, false)?
    };
    let value = plain(text, decimal)?.parse::<f32>().ok()?;
    let value = if percent.is_some() {
        value / 100.0
    } else {
        value
    };
    Some(if negative || again { -value } else { value })
}

/// Whether a text is a number with either mark before the decimals; words such as `inf` are none.
pub(crate) fn is_number(text: &str) -> bool {
    let is = |decimal| number(text, decimal).is_some();
    text.bytes().any(|byte| byte.is_ascii_digit()) && (is(Decimal::Point) || is(Decimal::Comma))
}

/// The text behind a sign, and whether that was a minus.
fn without_sign(text: &str, owed: bool) -> Option<(&str, bool)> {
    let minus = ['-', '\u{2212}', '\u{2013}'];
    match text.strip_prefix(minus) {
        Some(_) if owed => None,
        Some(rest) => Some((rest.trim_start(), true)),
        None => Some((text.strip_prefix('+').unwrap_or(text), owed)),
    }
}

/// Digits without groups, with a point; `None` where that is not what stands there.
fn plain(text: &str, decimal: Decimal) -> Option<String> {
    let (group, point) = match decimal {
        Decimal::Point => (',', '.'),
        Decimal::Comma => ('.', ','),
    };
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let (whole, fraction) = match mantissa.split_once(point) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let grouped = |divider: char| {
        let mut groups = whole.split(divider);
        let first = groups.next().unwrap_or("");
        // Nobody writes 0.123 for 123.
        (1..=3).contains(&first.len())
            && digits(first)
            && !first.starts_with('0')
            && groups.all(|group| group.len() == 3 && digits(group))
    };
    let dividers = [group, '\'', '\u{2019}', ' ', '\u{a0}', '\u{202f}'];
    let sound = digits(whole) || dividers.into_iter().any(grouped);
    if !sound || !fraction.is_none_or(digits) || mantissa.len() > 400 {
        return None;
    }
    let mut out: String = whole.chars().filter(char::is_ascii_digit).collect();
    let fraction = fraction.unwrap_or("");
    if out.is_empty() && fraction.is_empty() {
        return None;
    }
    out.push('.');
    out.push_str(fraction);
    out.push_str(exponent);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_as_people_write_them() {
        use Decimal::{Comma, Point};
        for (text, decimal, value) in [
            ("1,234", Point, 1234.0),
            ("1,234,567.5", Point, 1_234_567.5),
            ("1,234", Comma, 1.234),
            ("1.234,5", Comma, 1234.5),
            ("-0,5", Comma, -0.5),
            ("1e3", Comma, 1000.0),
            ("1,5E-1", Comma, 0.15),
            ("12%", Point, 0.12),
            ("12,5 %", Comma, 0.125),
            ("\u{20ac} 12.50", Point, 12.5),
            ("12,50 \u{20ac}", Comma, 12.5),
            ("-$5", Point, -5.0),
            ("$-5", Point, -5.0),
            ("(5)", Point, -5.0),
            ("\u{2212}7", Point, -7.0),
            ("1'234.5", Point, 1234.5),
            ("1 234,5", Comma, 1234.5),
            ("1\u{a0}234", Point, 1234.0),
            ("+.5", Point, 0.5),
            ("5.", Point, 5.0),
        ] {
            assert_eq!(number(text, decimal), Some(value), "{text}");
        }
        for (text, decimal) in [
            ("", Point),
            (".", Point),
            ("1,23", Point),
            ("1.5", Comma),
            ("1,2,3", Comma),
            ("12 kg", Point),
            ("5A", Point),
            ("2024-05-01", Point),
            ("(-5)", Point),
            ("--5", Point),
            ("e5", Point),
            ("1e", Comma),
            ("192.168.0.1", Point),
            ("1234,567", Point),
            ("0.123", Comma),
        ] {
            assert_eq!(number(text, decimal), None, "{text}");
        }
        assert_eq!(number("1e99", Point), Some(f32::INFINITY));
    }

    #[test]
    fn words_for_nothing_and_for_truth() {
        for word in [
            "", "NA", "n/a", "#N/A", "NaN", "NULL", "-", "#DIV/0!", "None",
        ] {
            assert!(is_missing(word), "{word}");
        }
        for word in ["0", "no", "unknown", "n", "a rather long text"] {
            assert!(!is_missing(word), "{word}");
        }
        assert_eq!(
            (flag("TRUE"), flag("Falsch"), flag("yes")),
            (Some("true"), Some("false"), None)
        );
    }

    proptest! {
        #[test]
        fn a_decimal_comma_changes_nothing_but_the_comma(value in -1e20_f32..1e20) {
            for text in [format!("{value}"), format!("{value:e}")] {
                prop_assert_eq!(number(&text, Decimal::Point), Some(value));
                let comma = text.replace('.', ",");
                prop_assert_eq!(number(&comma, Decimal::Comma), Some(value));
            }
        }

        #[test]
        fn any_text_is_a_number_or_none(text in "\\PC{0,12}") {
            let _ = (number(&text, Decimal::Point), number(&text, Decimal::Comma));
        }
    }
}
