//! Points in numbers that may stand between thousands.

use super::written::number;
use crate::layout::Decimal;
use crate::role::some;

/// What the numbers of a column say of their point: whether it may stand between thousands, as
/// in German, though it was read as a decimal point.
#[derive(Debug, Clone, Default)]
pub(crate) struct Thousands {
    /// The first number with a point.
    first: Option<String>,
    /// Whether there is a number without one, which a column of three decimals hardly has.
    whole: bool,
    /// Whether something is written in a way that is not in question.
    settled: bool,
}

impl Thousands {
    /// Takes another number into account.
    pub(crate) fn see(&mut self, text: &str) {
        if self.settled {
            return;
        }
        if !text.contains('.') {
            self.whole = true;
        } else if text.contains(',') || number(text, Decimal::Comma).is_none() {
            self.settled = true;
            self.first = None;
        } else if self.first.is_none() {
            self.first = Some(text.chars().take(40).collect());
        }
    }

    /// A number that may have been meant otherwise.
    pub(crate) fn doubtful(&self) -> Option<&str> {
        self.first.as_deref().filter(|_| self.whole)
    }
}

/// What is to be said of columns of these names, where a point in them may stand between thousands.
pub(crate) fn remark_on_thousands(names: &[String], seen: &[Thousands]) -> Option<String> {
    let both = names.iter().zip(seen);
    let doubtful = both.filter_map(|(name, seen)| Some((name.as_str(), seen.doubtful()?)));
    let (names, written): (Vec<&str>, Vec<&str>) = doubtful.unzip();
    let first = written.first()?;
    Some(format!(
        "{}: numbers such as \"{first}\" are read with a decimal point; if it stands between \
         thousands, `decimal ,` reads them so",
        some(&names)
    ))
}
