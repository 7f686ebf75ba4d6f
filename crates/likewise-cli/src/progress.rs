//! Progress and messages on stderr.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use likewise::{Event, Monitor};
use likewise_study::plain;
use likewise_study::stages::Stages;

use crate::args::Common;
use crate::failure::as_flags;

/// How long the work has to end by itself once it was told to.
const GRACE: Duration = Duration::from_secs(8);

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
            Event::Warning(text) if !quiet => say(format!("warning: {}", as_flags(text))),
            Event::Remark(text) if !quiet => say(as_flags(text)),
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
