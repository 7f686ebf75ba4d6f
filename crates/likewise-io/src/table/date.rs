//! Dates: whether a column holds them, and the days since the first of January 2000.

use crate::layout::DateOrder;

/// What the words of a column allow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Orders {
    /// Whether the year, the day or the month may be first.
    first: [bool; 3],
    dotted: bool,
}

impl Default for Orders {
    fn default() -> Self {
        Self {
            first: [true; 3],
            dotted: true,
        }
    }
}

impl Orders {
    /// Takes another word into account.
    pub(crate) fn see(&mut self, text: &str) {
        if !self.any() {
            return;
        }
        let orders = [
            DateOrder::YearFirst,
            DateOrder::DayFirst,
            DateOrder::MonthFirst,
        ];
        for (first, order) in self.first.iter_mut().zip(orders) {
            *first &= days(text, order).is_some();
        }
        self.dotted &= text.contains('.');
    }

    /// Whether all words are dates.
    pub(crate) fn any(self) -> bool {
        self.first.contains(&true)
    }

    /// The order; `None` where a day may as well be a month.
    pub(crate) fn order(self) -> Option<DateOrder> {
        match self.first {
            [true, _, _] => Some(DateOrder::YearFirst),
            [_, true, false] => Some(DateOrder::DayFirst),
            [_, false, true] => Some(DateOrder::MonthFirst),
            // Nobody writes 5.31.2024.
            [_, true, true] if self.dotted => Some(DateOrder::DayFirst),
            _ => None,
        }
    }
}

/// Days of Excel's count before 2000-01-01.
pub(crate) const EXCEL: f64 = 36_526.0;

/// The day of a date, perhaps with a time behind it, counted from 2000-01-01.
pub(crate) fn days(text: &str, order: DateOrder) -> Option<f64> {
    if text.len() < 6 || text.len() > 40 || !text.as_bytes()[0].is_ascii_digit() {
        return None;
    }
    let (date, time) = match text.find(['T', ' ']) {
        Some(at) => (&text[..at], text[at + 1..].trim()),
        None => (text, ""),
    };
    let divider = date.chars().find(|c| !c.is_ascii_digit())?;
    if !['-', '/', '.'].contains(&divider) {
        return None;
    }
    let mut parts = date.split(divider);
    let mut next = || {
        let part = parts.next()?;
        let sound = (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        Some((part.parse::<i64>().ok().filter(|_| sound)?, part.len()))
    };
    let [a, b, c] = [next()?, next()?, next()?];
    if parts.next().is_some() {
        return None;
    }
    let (year, month, day) = match order {
        DateOrder::YearFirst => (a, b, c),
        DateOrder::DayFirst => (c, b, a),
        DateOrder::MonthFirst => (c, a, b),
    };
    let short = order != DateOrder::YearFirst && year.1 == 2;
    if !(year.1 == 4 || short) || month.1 > 2 || day.1 > 2 {
        return None;
    }
    // As Excel and POSIX complete two digits.
    let full = match year.0 {
        y if !short => y,
        y if y < 69 => 2000 + y,
        y => 1900 + y,
    };
    let valid = (1..=12).contains(&month.0) && (1..=length(full, month.0)).contains(&day.0);
    Some(civil(full, month.0, day.0) as f64 + clock(time)?).filter(|_| valid)
}

/// The part of a day that a time of day is. A zone is not looked at: it is hours, of days.
fn clock(time: &str) -> Option<f64> {
    if time.is_empty() {
        return Some(0.0);
    }
    let end = time.find(['Z', '+', '-', ' ']).unwrap_or(time.len());
    let mut seconds = 0.0;
    let mut count = 0;
    for (part, unit) in time[..end].split(':').zip([3600.0, 60.0, 1.0]) {
        let value: f64 = part.parse().ok()?;
        seconds += value * unit;
        count += 1;
    }
    (count >= 2 && (0.0..=86_400.0).contains(&seconds)).then_some(seconds / 86_400.0)
}

fn length(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 2000-01-01 of the Gregorian calendar.
fn civil(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March have the leap day at their end.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leaps = y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400);
    365 * y + leaps + (153 * m + 2) / 5 + day - 1 - 730_425
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_the_year_2000() {
        let iso = |text| days(text, DateOrder::YearFirst);
        assert_eq!(iso("2000-01-01"), Some(0.0));
        assert_eq!(iso("1999-12-31"), Some(-1.0));
        assert_eq!(iso("2000-03-01"), Some(60.0));
        assert_eq!(iso("1970-01-01"), Some(-10_957.0));
        assert_eq!(iso("2024-02-29T12:00:00Z"), Some(8825.5));
        assert_eq!(iso("2024/02/29 06:00"), Some(8825.25));
        for text in [
            "2023-02-29",
            "2024-13-01",
            "2024-1",
            "12-2024-1",
            "2024-01-01x",
            "1.2.3.4",
        ] {
            assert_eq!(iso(text), None, "{text}");
        }
        assert_eq!(days("31.12.1999", DateOrder::DayFirst), Some(-1.0));
        assert_eq!(days("12/31/99", DateOrder::MonthFirst), Some(-1.0));
    }

    #[test]
    fn the_order_is_that_of_all_words() {
        let order = |words: &[&str]| {
            let mut orders = Orders::default();
            for word in words {
                orders.see(word);
            }
            (orders.any(), orders.order())
        };
        assert_eq!(
            order(&["1/2/2024", "13/2/2024"]),
            (true, Some(DateOrder::DayFirst))
        );
        assert_eq!(
            order(&["1/2/2024", "1/13/2024"]),
            (true, Some(DateOrder::MonthFirst))
        );
        assert_eq!(order(&["1/2/2024"]), (true, None));
        assert_eq!(order(&["1.2.2024"]), (true, Some(DateOrder::DayFirst)));
        assert_eq!(order(&["13/2/2024", "1/13/2024"]), (false, None));
        assert_eq!(order(&["2024-05-31"]), (true, Some(DateOrder::YearFirst)));
    }
}
