//! The one thread that changes labels.
//!
//! It holds the session of the run that is open, which borrows its graph, and takes one command after the
//! other. When another model takes the place of the run, its labels begin anew with the whole journal;
//! searches go on with the old one until then, and labels wait.

use std::sync::Arc;

use likewise::{Event, Monitor};
use likewise_study::journal::{Journal, What};
use likewise_study::live::{Done, Live, Method};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use crate::answer::{Changed, ItemNow, NAMED};
use crate::app::App;
use crate::command::{Cause, ClassChange, Command, Commands, Reply};
use crate::open::Open;
use crate::problem::{Answered, Problem};

/// The event of a change.
#[derive(Serialize)]
struct Told<'a> {
    sequence: u64,
    who: Option<&'a str>,
    what: &'static str,
    ids: Vec<&'a str>,
    changed: usize,
    items: &'a [ItemNow],
}

#[derive(Serialize)]
struct Swapped<'a> {
    model: u32,
    why: &'static str,
    who: Option<&'a str>,
}

/// Answers commands until it is told to stop, or nobody can ask any more. `began` hears when the labels
/// of the first run have spread.
pub(crate) fn work(
    app: &App,
    mut open: Arc<Open>,
    mut journal: Journal,
    method: Method,
    monitor: &Monitor,
    commands: mpsc::Receiver<Command>,
    began: oneshot::Sender<likewise_study::Result<()>>,
) {
    let mut commands = Commands::new(commands);
    let mut began = Some(began);
    let mut swapped: Option<(Cause, Reply<()>)> = None;
    // The run that stood before, in case the next one cannot begin.
    let mut before: Option<Arc<Open>> = None;
    loop {
        let run = open.clone();
        let Some(one) = run.one_view() else {
            let _ = began.take().map(|began| began.send(Ok(())));
            settle(app, &run, swapped.take());
            match without_labels(&mut commands) {
                Some((next, cause, reply)) => {
                    (before, open, swapped) = (Some(run.clone()), next, Some((cause, reply)));
                    continue;
                }
                None => return,
            }
        };
        // Labels of other data than the run's are told of.
        let told = monitor.clone();
        let heard = monitor.quiet().also(move |event| {
            if let Event::Warning(message) = event {
                told.warn(message);
            }
        });
        let mut live = match Live::begin(run.items.clone(), &one.graph, method, journal, heard) {
            Ok(live) => live,
            Err((e, kept)) => {
                if let Some(began) = began.take() {
                    let _ = began.send(Err(e));
                    return;
                }
                if let Some((_, reply)) = swapped.take() {
                    let _ = reply.send(Err(e.into()));
                }
                let Some(old) = before.take() else { return };
                (open, journal) = (old, kept);
                continue;
            }
        };
        // It holds a whole run, and is needed no more.
        drop(before.take());
        run.set_shown(live.shown());
        let _ = began.take().map(|began| began.send(Ok(())));
        settle(app, &run, swapped.take());
        let Some((next, cause, reply)) = answer(app, &run, &mut live, &mut commands) else {
            return;
        };
        journal = live.end();
        (before, open, swapped) = (Some(run.clone()), next, Some((cause, reply)));
    }
}

/// The run answers from now on.
fn settle(app: &App, run: &Arc<Open>, swapped: Option<(Cause, Reply<()>)>) {
    let Some((cause, reply)) = swapped else {
        return;
    };
    app.set_open(run.clone());
    let told = Swapped {
        model: run.number,
        why: cause.why,
        who: cause.who.as_deref(),
    };
    app.events.tell("model", &told);
    let _ = reply.send(Ok(()));
}

type Next = (Arc<Open>, Cause, Reply<()>);

/// Answers until another run comes.
fn answer(app: &App, run: &Open, live: &mut Live, commands: &mut Commands) -> Option<Next> {
    while let Some(command) = commands.next() {
        match command {
            Command::Stop => return None,
            Command::Swap { open, cause, reply } => return Some((open, cause, reply)),
            Command::Label {
                ids,
                label,
                who,
                reply,
            } => {
                let rows = ids.iter().map(|id| match run.items.row(id) {
                    Some(row) => Ok(row as u32),
                    None => Err(Problem::no_item(id)),
                });
                let done = rows.collect::<Answered<Vec<u32>>>().and_then(|rows| {
                    let done = live.label(&rows, label.as_deref(), who)?;
                    tell(app, run, &done)
                });
                let _ = reply.send(done);
            }
            Command::Undo { who, reply } => {
                let _ = reply.send(undo(app, run, live, who));
            }
            Command::Class { change, who, reply } => {
                let done = match change {
                    ClassChange::Add(name) => live.add_class(name, who),
                    ClassChange::Rename { from, to } => live.rename_class(from, to, who),
                    ClassChange::Merge { from, into } => live.merge_class(from, into, who),
                };
                let done = done.map_err(Problem::from);
                let _ = reply.send(done.and_then(|done| tell(app, run, &done)));
            }
            Command::Why {
                run: asked,
                row,
                reply,
            } => {
                // Of a run that has gone nothing can be said any more; the item itself can be shown.
                let why = if asked == run.serial {
                    live.why(row).map_err(Problem::from)
                } else {
                    Ok(None)
                };
                let _ = reply.send(why);
            }
        }
    }
    None
}

fn undo(app: &App, run: &Open, live: &mut Live, who: Option<String>) -> Answered<Changed> {
    let Some(done) = live.undo(who)? else {
        return Err(Problem::conflict("there is nothing to take back"));
    };
    let mut changed = tell(app, run, &done)?;
    changed.kept = Some(done.kept).filter(|&kept| kept > 0);
    changed.class_kept.clone_from(&done.class_kept);
    if let Some(What::Undo(sequence)) = done.entry.as_ref().map(|entry| &entry.what) {
        changed.undone = Some(*sequence);
    }
    Ok(changed)
}

/// The answer to a change, which all who listen hear as well.
fn tell(app: &App, run: &Open, done: &Done) -> Answered<Changed> {
    let changed = Changed::new(done, run)?;
    if let Some(entry) = &done.entry {
        let ids = entry.items.iter().take(NAMED);
        app.meters.labeled(entry.items.len() as u64);
        app.events.tell(
            "label",
            &Told {
                sequence: entry.sequence,
                who: entry.who.as_deref(),
                what: match entry.what {
                    What::Label => "label",
                    What::Undo(_) => "undo",
                    _ => "class",
                },
                ids: ids.map(|change| change.id.as_str()).collect(),
                changed: changed.changed,
                items: &changed.items,
            },
        );
    }
    Ok(changed)
}

/// A run across views has no graph that labels spread over.
fn without_labels(commands: &mut Commands) -> Option<Next> {
    let none = || {
        Problem::conflict("a run across views takes no labels")
            .hint("label its data, and fit again")
    };
    while let Some(command) = commands.next() {
        match command {
            Command::Stop => return None,
            Command::Swap { open, cause, reply } => return Some((open, cause, reply)),
            Command::Label { reply, .. }
            | Command::Undo { reply, .. }
            | Command::Class { reply, .. } => drop(reply.send(Err(none()))),
            Command::Why { reply, .. } => drop(reply.send(Ok(None))),
        }
    }
    None
}
