//! Progress and messages on stderr.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use likewise::{Event, Monitor};

use crate::args::Common;

/// A monitor that draws bars on a terminal, writes lines with `--verbose` elsewhere, and
/// stops the work at the first Ctrl-C.
pub(crate) fn monitor(common: &Common) -> Monitor {
    let bars = std::io::stderr().is_terminal() && !common.quiet;
    let colour = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let (quiet, verbose) = (common.quiet, common.verbose);
    let current: Mutex<Option<ProgressBar>> = Mutex::new(None);
    let monitor = Monitor::new(move |event| {
        let Ok(mut current) = current.lock() else {
            return;
        };
        let say = |line: String| match current.as_ref() {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
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
    let mut pressed = false;
    // Without a handler Ctrl-C still ends the program; files are atomic either way.
    let _ = ctrlc::set_handler(move || {
        if pressed {
            std::process::exit(1);
        }
        pressed = true;
        stop.cancel();
    });
    monitor
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
    bar.set_message(stage.to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
