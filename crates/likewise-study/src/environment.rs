//! What all work is done with.

use std::error::Error as _;
use std::time::{SystemTime, UNIX_EPOCH};

use likewise::Monitor;
use likewise_nn::Device;

use crate::stages::Stages;
use crate::{Result, failed};

/// Threads that may be started however few cores there are; thousands stall a machine.
const MOST_THREADS: usize = 64;

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

/// Most threads that share the work on this machine, however many are asked for.
pub fn most_threads() -> usize {
    MOST_THREADS.max(4 * cores())
}

/// Threads that share the work: as many as are asked for, else as `RAYON_NUM_THREADS` says, else one
/// a core; never more than [`most_threads`].
pub fn threads(asked: Option<usize>) -> usize {
    let said = std::env::var("RAYON_NUM_THREADS").ok();
    wanted(asked, said.as_deref(), cores()).min(most_threads())
}

/// Starts [so many](threads) threads, which all work of this process shares from then on. Where they
/// run already they stay as they are.
///
/// Fails where they cannot be started, and where a number is asked for that comes too late.
pub fn start_threads(asked: Option<usize>) -> Result<()> {
    let threads = threads(asked);
    let started = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global();
    match started {
        // Without a cause of the system's: they run already.
        Err(e) if asked.is_none() && e.source().is_none() => Ok(()),
        other => other.map_err(|e| failed(format!("cannot start {threads} threads: {e}"))),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn wanted(asked: Option<usize>, said: Option<&str>, cores: usize) -> usize {
    let said = || said.and_then(|said| said.parse::<usize>().ok());
    let wanted = asked.or_else(said).filter(|&threads| threads > 0);
    wanted.unwrap_or(cores)
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
    use super::{date, moment, most_threads, threads, wanted};

    #[test]
    fn threads_are_never_without_measure() {
        assert_eq!(threads(Some(usize::MAX)), most_threads());
        assert!((1..=most_threads()).contains(&threads(None)));
        assert_eq!(wanted(Some(3), Some("7"), 2), 3);
        assert_eq!(wanted(None, Some("7"), 2), 7);
        for none in [None, Some(""), Some("0"), Some("many"), Some("-1")] {
            assert_eq!(wanted(None, none, 2), 2, "{none:?}");
        }
    }

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
