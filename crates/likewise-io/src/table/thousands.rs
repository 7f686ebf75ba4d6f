//! Points and commas in numbers that may stand between thousands.

use super::written::number;
use crate::layout::Decimal;
use crate::role::some;

/// What the numbers of a column say of a mark before exactly three digits: whether it may stand
/// between thousands, as a point in German, or a comma in English.
#[derive(Debug, Clone, Default)]
pub(crate) struct Thousands {
    /// The first number with a point, and with a comma, that could be either.
    point: Option<String>,
    comma: Option<String>,
    /// Whether there is a number without a mark, which a column of three decimals hardly has.
    whole: bool,
    /// Whether one of these has more than three digits, which groups would have divided.
    long: bool,
    /// Whether something is written in a way that is not in question.
    settled: bool,
}

impl Thousands {
    /// Takes another number into account.
    pub(crate) fn see(&mut self, text: &str) {
        if self.settled {
            return;
        }
        let (point, comma) = (text.contains('.'), text.contains(','));
        if !point && !comma {
            self.whole = true;
            self.long |= text.bytes().filter(u8::is_ascii_digit).count() > 3;
            return;
        }
        let is = |decimal| number(text, decimal).is_some();
        if (point && comma) || !is(Decimal::Point) || !is(Decimal::Comma) {
            self.settled = true;
            (self.point, self.comma) = (None, None);
            return;
        }
        let first = if point {
            &mut self.point
        } else {
            &mut self.comma
        };
        first.get_or_insert_with(|| text.chars().take(40).collect());
    }

    /// A number that may have been meant otherwise, read with this mark before the decimals.
    pub(crate) fn doubtful(&self, decimal: Decimal) -> Option<&str> {
        match decimal {
            Decimal::Point => self.point.as_deref().filter(|_| self.whole),
            Decimal::Comma => self.comma.as_deref(),
        }
    }

    /// Whether commas stand between thousands: each before three digits, and beside them whole numbers
    /// that are too short for one.
    pub(crate) fn commas_divide(&self) -> bool {
        self.comma.is_some() && self.point.is_none() && self.whole && !self.long
    }
}

/// What is to be said of columns of these names, where the mark that was taken for that before the
/// decimals may stand between thousands.
pub(crate) fn remark_on_thousands(
    names: &[String],
    seen: &[Thousands],
    decimal: Decimal,
) -> Option<String> {
    let both = names.iter().zip(seen);
    let doubtful = both.filter_map(|(name, seen)| Some((name.as_str(), seen.doubtful(decimal)?)));
    let (names, written): (Vec<&str>, Vec<&str>) = doubtful.unzip();
    let first = written.first()?;
    let (read, other) = match decimal {
        Decimal::Point => ("point", ','),
        Decimal::Comma => ("comma", '.'),
    };
    Some(format!(
        "{}: numbers such as \"{first}\" are read with a decimal {read}; if it stands between \
         thousands, `decimal {other}` reads them so",
        some(&names)
    ))
}

/// What is to be said of commas that were taken for what stands between thousands.
pub(crate) fn remark_on_groups(names: &[String], seen: &[Thousands]) -> Option<String> {
    let both = names.iter().zip(seen);
    let grouped = both.filter(|(_, seen)| seen.commas_divide());
    let grouped = grouped.filter_map(|(name, seen)| Some((name.as_str(), seen.comma.as_deref()?)));
    let (names, written): (Vec<&str>, Vec<&str>) = grouped.unzip();
    let first = written.first()?;
    Some(format!(
        "{}: in numbers such as \"{first}\" the comma is taken to stand between thousands; if it \
         stands before decimals, `decimal ,` reads them so",
        some(&names)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(texts: &[&str]) -> Thousands {
        let mut seen = Thousands::default();
        for text in texts {
            seen.see(text);
        }
        seen
    }

    #[test]
    fn commas_divide_where_short_whole_numbers_stand_beside_them() {
        assert!(seen(&["2,140", "-254", "552"]).commas_divide());
        for other in [
            &["2,140", "1,327"][..],
            &["2,140", "552", "1327"],
            &["2,140", "552", "12,5"],
            &["2,140", "552", "0,125"],
            &["2,140", "552", "5.830"],
            &["2.140", "552"],
        ] {
            assert!(!seen(other).commas_divide(), "{other:?}");
        }
    }

    #[test]
    fn a_mark_is_doubtful_where_nothing_settles_it() {
        let commas = seen(&["2,140", "1,327"]);
        assert_eq!(commas.doubtful(Decimal::Comma), Some("2,140"));
        assert_eq!(commas.doubtful(Decimal::Point), None);
        assert_eq!(seen(&["2,140", "12,5"]).doubtful(Decimal::Comma), None);
        // Three decimals everywhere are usual with a point.
        assert_eq!(seen(&["2.140", "1.327"]).doubtful(Decimal::Point), None);
        let points = seen(&["2.140", "327"]);
        assert_eq!(points.doubtful(Decimal::Point), Some("2.140"));
    }
}
