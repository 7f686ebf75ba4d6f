//! What all work is done with.

use std::time::{SystemTime, UNIX_EPOCH};

use likewise::Monitor;
use likewise_nn::Device;

use crate::stages::Stages;

/// Who is told of progress, where networks run, and what may be used.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// Receives progress and warnings, and can stop the work.
    pub monitor: &'a Monitor,
    /// Where the time goes: what the monitor has heard so far.
    pub stages: &'a Stages,
    /// Where networks run.
    pub device: &'a Device,
    /// Most memory that may be used, bytes; `None`: most of what is free.
    pub max_memory: Option<u64>,
}

/// The day in Greenwich, `2026-01-31`.
pub(crate) fn today() -> String {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    date(passed.map_or(0, |passed| passed.as_secs() / 86_400))
}

/// This second.
pub(crate) fn now() -> String {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    moment(passed.map_or(0, |passed| passed.as_secs()))
}

/// This many seconds after the first of 1970, in Greenwich: `2026-01-31T23:59:59Z`.
pub fn moment(seconds: u64) -> String {
    let (day, hour, minute) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    format!("{}T{hour:02}:{minute:02}:{:02}Z", date(day), seconds % 60)
}

/// The date this many days after 1970-01-01, by years of 365 and 366 days.
fn date(mut days: u64) -> String {
    let leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::{date, moment};

    #[test]
    fn dates_know_leap_years() {
        let cases = [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_484, "2026-01-31"),
        ];
        for (days, said) in cases {
            assert_eq!(date(days), said);
        }
        assert_eq!(moment(951_782_399), "2000-02-28T23:59:59Z");
    }
}
