//! Progress and messages on stderr.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use likewise::{Event, Monitor};

use crate::args::Common;
use crate::plain;

/// How long the work has to end by itself once it was told to.
const GRACE: Duration = Duration::from_secs(8);

/// Seconds that each stage of the work took. Of a stage inside another one the time counts for
/// the inner one only.
#[derive(Clone, Default)]
pub(crate) struct Stages(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    /// Stages that have begun, the innermost last.
    names: Vec<String>,
    /// Since when the innermost one runs.
    since: Option<Instant>,
    seconds: BTreeMap<String, f64>,
}

impl Open {
    /// Gives the time so far to the innermost stage.
    fn settle(&mut self) {
        if let (Some(since), Some(name)) = (self.since, self.names.last()) {
            *self.seconds.entry(name.clone()).or_default() += since.elapsed().as_secs_f64();
        }
        self.since = Some(Instant::now());
    }
}

impl Stages {
    fn hear(&self, event: &Event) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Start { stage, .. } => {
                open.settle();
                open.names.push(stage.clone());
            }
            Event::End => {
                open.settle();
                open.names.pop();
            }
            _ => {}
        }
    }

    /// The stages so far, with what was spent in each.
    pub(crate) fn seconds(&self) -> BTreeMap<String, f64> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.settle();
        open.seconds.clone()
    }

    /// Where `total` seconds went, the longest first.
    pub(crate) fn in_words(&self, total: f64) -> String {
        let mut stages: Vec<(String, f64)> = self.seconds().into_iter().collect();
        let rest = total - stages.iter().map(|(_, seconds)| seconds).sum::<f64>();
        stages.push(("the rest".into(), rest));
        stages.retain(|(_, seconds)| *seconds >= 0.05);
        stages.sort_by(|a, b| b.1.total_cmp(&a.1));
        let parts = stages.iter().map(|(name, s)| format!("{name} {s:.1}"));
        let parts: Vec<String> = parts.collect();
        format!("{total:.1} s: {}", parts.join(", "))
    }
}

/// A monitor that draws bars on a terminal, writes lines with `--verbose` elsewhere, and
/// stops the work at the first Ctrl-C or SIGTERM; and where the time goes.
pub(crate) fn monitor(common: &Common) -> (Monitor, Stages) {
    let bars = std::io::stderr().is_terminal() && !common.quiet;
    let colour = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let (quiet, verbose) = (common.quiet, common.verbose);
    let current: Mutex<Option<ProgressBar>> = Mutex::new(None);
    let stages = Stages::default();
    let heard = stages.clone();
    let monitor = Monitor::new(move |event| {
        heard.hear(event);
        let Ok(mut current) = current.lock() else {
            return;
        };
        let say = |line: String| match current.as_ref() {
            Some(bar) => bar.suspend(|| eprintln!("{}", plain::message(&line))),
            None => eprintln!("{}", plain::message(&line)),
        };
        match event {
            Event::Start { stage, total } if bars => {
                if let Some(bar) = current.take() {
                    bar.finish_and_clear();
                }
                *current = Some(bar(stage, *total, colour));
            }
            Event::Start { stage, .. } if verbose => say(format!("{stage} ...")),
            Event::Step { done } => {
                if let Some(bar) = current.as_ref() {
                    bar.set_position(*done);
                }
            }
            Event::End => {
                if let Some(bar) = current.take() {
                    bar.finish_and_clear();
                }
            }
            Event::Warning(text) if !quiet => say(format!("warning: {text}")),
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
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            eprintln!("error: interrupted");
            std::process::exit(1);
        });
    });
    // Without a handler the signals still end the program; files are atomic either way.
    #[cfg(unix)]
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM]) {
        let end = end.clone();
        std::thread::spawn(move || signals.forever().for_each(|_| end()));
    }
    let _ = ctrlc::set_handler(move || end());
    (monitor, stages)
}

fn bar(stage: &str, total: Option<u64>, colour: bool) -> ProgressBar {
    let bar = match total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::new_spinner(),
    };
    let template = match (total.is_some(), colour) {
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

    #[test]
    fn time_counts_for_the_innermost_stage() {
        let stages = Stages::default();
        let start = |stage: &str| Event::Start {
            stage: stage.into(),
            total: None,
        };
        let pause = || std::thread::sleep(Duration::from_millis(20));
        stages.hear(&start("outer"));
        stages.hear(&start("inner"));
        pause();
        pause();
        pause();
        stages.hear(&Event::End);
        pause();
        stages.hear(&Event::End);
        let seconds = stages.seconds();
        assert!(seconds["inner"] >= 0.06 && seconds["outer"] >= 0.02);
        pause();
        assert_eq!(seconds, stages.seconds(), "nothing runs any more");
        let words = stages.in_words(9.0);
        assert!(words.starts_with("9.0 s: the rest 8.") && words.contains("inner 0."));
    }
}
