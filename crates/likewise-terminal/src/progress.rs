//! Progress and messages on stderr.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use likewise::{Event, Monitor};
use likewise_study::plain;
use likewise_study::stages::Stages;

use crate::aside::aside;
use crate::flags::Common;
use crate::wording::Wording;

/// How long the work has to end by itself once it was told to.
const GRACE: Duration = Duration::from_secs(8);

/// How long nothing is said where there is no terminal to draw on.
const SILENCE: Duration = Duration::from_secs(30);

/// A monitor that draws bars on a terminal, writes a line now and then elsewhere, and stops the work at the first
/// Ctrl-C, SIGTERM or SIGHUP; and where the time goes. `resumes`: whether work that is stopped can be gone on with.
///
/// A second such signal ends the process, and so does work that does not stop.
pub fn monitor(common: &Common, wording: &Wording, resumes: bool) -> (Monitor, Stages) {
    let bars = std::io::stderr().is_terminal() && !common.quiet;
    let color = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let (quiet, verbose) = (common.quiet, common.verbose);
    let current: Mutex<Option<ProgressBar>> = Mutex::new(None);
    let now_and_then = Mutex::new(NowAndThen::new());
    // Each draw, fold and round meets the same, at most with other figures.
    let told: Mutex<HashSet<String>> = Mutex::new(HashSet::new());
    let is_new =
        move |text: &str| (told.lock()).is_ok_and(|mut told| told.insert(without_measured(text)));
    let stages = Stages::default();
    let heard = stages.clone();
    let wording = wording.clone();
    let monitor = Monitor::new(move |event| {
        heard.hear(event);
        let Ok(mut current) = current.lock() else {
            return;
        };
        let say = |line: String| {
            let line = plain::message(&line);
            if let Some(bar) = current.as_ref() {
                bar.suspend(|| aside(&line));
            } else {
                aside(line);
            }
        };
        match event {
            Event::Start { stage, total } if bars => {
                if let Some(bar) = current.take() {
                    bar.finish_and_clear();
                }
                *current = Some(bar(stage, *total, color));
            }
            Event::Start { stage, .. } if verbose => say(format!("{stage} ...")),
            Event::Start { stage, total } if !quiet => {
                if let Ok(mut lines) = now_and_then.lock() {
                    lines.begin(stage, *total);
                }
            }
            Event::Step { done } => {
                if let Some(bar) = current.as_ref() {
                    bar.set_position(*done);
                } else if let Ok(mut lines) = now_and_then.lock()
                    && let Some(line) = lines.line(*done, Instant::now()).filter(|_| !quiet)
                {
                    say(line);
                }
            }
            Event::End => {
                if let Some(bar) = current.take() {
                    bar.finish_and_clear();
                }
            }
            Event::Warning(text) if !quiet && is_new(text) => {
                say(format!("warning: {}", wording.settings(text)));
            }
            Event::Remark(text) if !quiet && is_new(text) => say(wording.settings(text)),
            Event::Note(text) if verbose => say(format!("note: {text}")),
            _ => {}
        }
    });
    let stop = monitor.clone();
    let told = AtomicBool::new(false);
    let end = Arc::new(move || {
        if told.swap(true, Ordering::Relaxed) {
            std::process::exit(1);
        }
        stop.cancel();
        // What waits, say for the other end of a pipe, does not look.
        std::thread::spawn(move || {
            std::thread::sleep(GRACE);
            aside(format_args!(
                "error: interrupted{}",
                if resumes {
                    "; the same command with --resume goes on from what was kept"
                } else {
                    ""
                }
            ));
            std::process::exit(1);
        });
    });
    // Without a handler the signals still end the program; files are atomic either way.
    #[cfg(unix)]
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(ends()) {
        let end = end.clone();
        std::thread::spawn(move || signals.forever().for_each(|_| end()));
    }
    let _ = ctrlc::set_handler(move || end());
    (monitor, stages)
}

/// A message less the fractions in it, which are measured. What is counted stays: it may tell one matter from
/// another.
fn without_measured(text: &str) -> String {
    let is_measured = |word: &&str| {
        let figure = word.trim_matches(|c: char| c.is_ascii_punctuation());
        figure.contains('.') && figure.parse::<f64>().is_ok()
    };
    let words = text.split(' ').filter(|word| !is_measured(word));
    words.collect::<Vec<_>>().join(" ")
}

/// The signals that end the work, but Ctrl-C: a terminal that is closed is one of them, unless the program was
/// told to outlive it (`nohup`).
#[cfg(unix)]
fn ends() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    // Where the system does not tell, the signal is left to it.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    match ignored(&status) {
        Some(mask) if mask >> (SIGHUP - 1) & 1 == 0 => vec![SIGTERM, SIGHUP],
        _ => vec![SIGTERM],
    }
}

/// The signals that a process ignores, bit by bit, as the system tells it of itself.
#[cfg(unix)]
fn ignored(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    u64::from_str_radix(mask?.trim(), 16).ok()
}

/// What is said where no bar can be drawn.
struct NowAndThen {
    began: Instant,
    said: Instant,
    stage: String,
    total: Option<u64>,
}

impl NowAndThen {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            began: now,
            said: now,
            stage: String::new(),
            total: None,
        }
    }

    fn begin(&mut self, stage: &str, total: Option<u64>) {
        stage.clone_into(&mut self.stage);
        self.total = total;
    }

    /// How far the work is, where nothing was said for a while.
    fn line(&mut self, done: u64, now: Instant) -> Option<String> {
        if now.duration_since(self.said) < SILENCE {
            return None;
        }
        self.said = now;
        let seconds = now.duration_since(self.began).as_secs();
        let of = self
            .total
            .map_or(String::new(), |total| format!(" of {total}"));
        Some(format!("{}: {done}{of} after {seconds} s", self.stage))
    }
}

fn bar(stage: &str, total: Option<u64>, color: bool) -> ProgressBar {
    let bar = match total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::new_spinner(),
    };
    let template = match (total.is_some(), color) {
        (true, true) => "{msg:24} {bar:32.cyan} {pos}/{len} {eta}",
        (true, false) => "{msg:24} {bar:32} {pos}/{len} {eta}",
        (false, _) => "{msg:24} {spinner} {elapsed}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(plain::name(stage).into_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_ignored_is_read() {
        assert_eq!(
            ignored("Name:\tx\nSigIgn:\t0000000000001001\n"),
            Some(0x1001)
        );
        assert_eq!(ignored(""), None);
    }

    #[test]
    fn figures_that_are_measured_make_no_other_message() {
        let said = |text: &str| without_measured(text);
        assert_eq!(
            said("eta = 1: 2.345e-2 was taken, (0.5) or 0.7;"),
            said("eta = 1: 7.1e-10 was taken, (0.1) or 12.25;")
        );
        for (one, other) in [
            ("draw 1: no", "draw 2: no"),
            ("a1.npy: no", "a2.npy: no"),
            ("1.5.npy: no", "2.5.npy: no"),
            ("row 1.", "row 2."),
            ("version 1.2.3", "version 1.2.4"),
        ] {
            assert_ne!(said(one), said(other));
        }
    }

    #[test]
    fn a_line_now_and_then_and_none_before() {
        let mut lines = NowAndThen::new();
        lines.begin("training", Some(40));
        let at = |seconds| lines.began + Duration::from_secs(seconds);
        let (early, later, soon, last) = (at(29), at(31), at(60), at(62));
        assert_eq!(lines.line(1, early), None);
        let said = lines.line(2, later);
        assert_eq!(said.as_deref(), Some("training: 2 of 40 after 31 s"));
        assert_eq!(lines.line(3, soon), None);
        lines.begin("reading", None);
        assert_eq!(
            lines.line(9, last).as_deref(),
            Some("reading: 9 after 62 s")
        );
    }
}
