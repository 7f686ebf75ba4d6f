//! Fitting the run again while it is served.
//!
//! The new run is made in a folder of its own, `models/N`, and read; then it takes the place of the one at
//! the top of the folder and of the one that answers. Whatever fails before leaves both as they are.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use likewise::{ErrorKind, Event, Monitor};
use likewise_study::fit::LabeledItems;
use likewise_study::live::{Prepared, Shown};
use likewise_study::run_folder::{Models, RunFolder, has_begun};

use crate::app::App;
use crate::command::{Cause, Command};
use crate::open::{Means, Open};
use crate::options::Refit;
use crate::problem::{Answered, Problem};
use crate::refits::State;

/// Between two events about the same stage.
const BETWEEN: Duration = Duration::from_millis(100);

/// Changes that a model which takes over follows while labels wait.
const FEW: usize = 4;
/// How often it follows more than these beside whoever takes labels.
const ROUNDS: usize = 5;

/// Begins a refit on a thread of its own.
pub(crate) fn begin(app: &Arc<App>, who: Option<String>) -> Answered<State> {
    let open = app.open();
    if let Some(problem) = refused(app, &open) {
        return Err(problem);
    }
    // Another command may have added some since the run was opened.
    check_whole(&app.run)?;
    let Some(refit) = app.refit.clone() else {
        return Err(cannot_fit());
    };
    let Some(labeled) = open.look(|shown| items(&open, shown)) else {
        return Err(Problem::busy());
    };
    let (labeled, csv) = labeled;
    if csv.lines().count() < 2 {
        return Err(Problem::conflict("no item has a label").hint("label some items first"));
    }
    let monitor = monitor(app);
    // That of the run at the top, unless it is kept already; the new one comes behind.
    let models = Models::of(&app.run);
    let asks = who.clone();
    let sequence = labeled.journal.as_ref().map_or(0, |place| place.sequence);
    let begun = app.refits.begin(&monitor, sequence, who, || {
        Ok(models.next().max(models.current()? + 1))
    })?;
    let Some(state) = begun else {
        return Err(Problem::conflict("a refit runs already").hint("wait for it, or cancel it"));
    };
    let (number, app) = (state.number, app.clone());
    app.events.tell("refit", &state);
    std::thread::spawn(move || {
        let cause = Cause {
            why: "refit",
            who: asks,
        };
        let making = || make(&app, &*refit, (number, cause), labeled, &csv, &monitor);
        // Else it would run for ever, by what is said.
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(making))
            .unwrap_or_else(|_| Err(Problem::internal("the refit failed; the log has more")));
        let state = app.refits.end(made, monitor.check().is_err());
        app.events.tell("refit", &state);
    });
    Ok(state)
}

/// Why this run cannot be fitted again, whatever its labels are; `None` where it can.
pub(crate) fn refused(app: &App, open: &Open) -> Option<Problem> {
    if app.refit.is_none() {
        return Some(cannot_fit());
    }
    if open.one_view().is_none() {
        let problem = Problem::conflict("a run across views takes no labels");
        return Some(problem.hint("label its data, and fit again"));
    }
    if has_begun(&app.run) {
        let problem = Problem::conflict("a fit of this run was interrupted");
        return Some(problem.hint("end the server, and finish that fit or begin it anew"));
    }
    if let Some(problem) = not_whole(open.record.added) {
        return Some(problem);
    }
    if open.config.protocol.labels_per_class.is_some() {
        let problem = Problem::conflict(
            "the fit hid labels to measure itself, and would hide those that were given here too",
        );
        return Some(
            problem.hint("save the labels, and fit the data with them and with none hidden"),
        );
    }
    None
}

fn not_whole(added: usize) -> Option<Problem> {
    let problem = (added > 0).then(|| {
        Problem::conflict(format!(
            "{added} items were added since the run was fitted, which a fit of its data would leave out"
        ))
    });
    problem.map(|problem| problem.hint("fit data that hold them all"))
}

/// Fails where the run, as it is in its folder, has items that a fit of its data would leave out.
fn check_whole(run: &Path) -> Answered<()> {
    let record = RunFolder::read_by(run, RunFolder::record)?;
    not_whole(record.added).map_or(Ok(()), Err)
}

fn cannot_fit() -> Problem {
    Problem::conflict("this server cannot fit")
}

/// The items with the labels as they are now, and those alone as a table.
fn items(open: &Open, shown: &Shown) -> (LabeledItems, String) {
    let labeled = LabeledItems {
        items: shown.labeled().rows(open.items.rows()),
        journal: shown.place().cloned(),
    };
    (labeled, shown.csv())
}

/// Who hears of the progress, and is asked to stop when the server is.
fn monitor(app: &Arc<App>) -> Monitor {
    let (app, said) = (Arc::downgrade(app), Mutex::new(Instant::now()));
    Monitor::new(move |event| {
        let Some(app) = app.upgrade() else { return };
        let state = match event {
            Event::Start { stage, total } => app.refits.set(|state| {
                state.stage = Some(stage.clone());
                (state.done, state.total) = (0, *total);
            }),
            Event::Step { done } => app.refits.set(|state| state.step(*done)),
            _ => return,
        };
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.elapsed() >= BETWEEN {
            *said = Instant::now();
            app.events.tell("refit", &state);
        }
    })
}

fn make(
    app: &App,
    refit: &dyn Refit,
    (number, cause): (u32, Cause),
    labeled: LabeledItems,
    csv: &str,
    monitor: &Monitor,
) -> Answered<()> {
    let _changing = app.changing.blocking_lock();
    let models = Models::of(&app.run);
    let top = models.keep()?;
    check_whole(&app.run)?;
    let out = models.begin(number)?;
    let labels = out.with_extension("labels.csv");
    let write =
        |file: &mut std::io::BufWriter<_>| Ok(std::io::Write::write_all(file, csv.as_bytes())?);
    likewise_io::atomic::write(&labels, write).map_err(likewise::Error::from)?;
    let made = refit.refit(&app.run, labeled, &labels, &out, monitor);
    let made = made.and_then(|()| monitor.check()).map_err(told);
    let next = made.and_then(|()| {
        monitor.start("opening", None);
        let next = Next::read(app, &out, number, &app.means.heard_by(monitor))?;
        // From here on it takes over, and nobody is told that it was cancelled.
        app.refits.decide();
        monitor.check().map_err(told)?;
        if models.current()? != top {
            return Err(displaces("fitted"));
        }
        models.done(number)?;
        Ok(next)
    });
    match next {
        Ok(next) => next.put(app, &models, top, cause),
        Err(problem) => {
            // What was begun is of no use to another try, whose labels are others.
            models.drop_begun(number);
            let _ = std::fs::remove_file(&labels);
            Err(problem)
        }
    }
}

/// What another command made while something `worked` would be gone.
pub(crate) fn displaces(worked: &str) -> Problem {
    let problem = Problem::conflict(format!(
        "another command changed the run while this {worked}, and the model would displace that"
    ));
    problem.hint("look at the run as it is now, and try again")
}

fn told(e: likewise::Error) -> Problem {
    match e.kind() {
        ErrorKind::Cancelled => Problem::conflict("cancelled"),
        _ => Problem::from(e),
    }
}

/// A run that is read, and over which the labels have spread.
pub(crate) struct Next {
    open: Arc<Open>,
    prepared: Option<Box<Prepared>>,
}

impl Next {
    /// Reads the run at a path. This is the long part; labels can be given meanwhile. From a thread that may wait.
    pub(crate) fn read(app: &App, path: &Path, number: u32, means: &Means) -> Answered<Self> {
        let open = Arc::new(Open::read(path, number, means)?);
        let entries = || app.ask_in_time(|reply| Command::Entries { reply });
        let mut prepared = open.prepared(&entries()?, means)?.map(Box::new);
        if let Some(prepared) = &mut prepared {
            // What is given meanwhile is followed here, but for the last: nobody who labels waits for all of it.
            for _ in 0..ROUNDS {
                let entries = entries()?;
                let new = entries.iter().skip(prepared.sequence() as usize);
                if new.map(|entry| entry.items.len().max(1)).sum::<usize>() <= FEW {
                    break;
                }
                prepared.follow(&entries);
            }
        }
        Ok(Self { open, prepared })
    }

    /// Puts it, a model that is kept, in the place of the one of number `top`, and lets it answer. For who holds `changing`.
    pub(crate) fn put(self, app: &App, models: &Models, top: u32, cause: Cause) -> Answered<()> {
        models.restore(self.open.number, top)?;
        self.answer(app, cause)
    }

    /// Lets it answer.
    pub(crate) fn answer(self, app: &App, cause: Cause) -> Answered<()> {
        let Self { open, prepared } = self;
        app.ask_in_time(|reply| Command::Swap {
            open,
            prepared,
            cause,
            reply,
        })?;
        app.meters.opened();
        // Earlier models may be of other items from now on.
        app.refits.forget();
        Ok(())
    }
}
