//! The one thread that changes labels.
//!
//! It holds the labels of the run that is open, and takes one command after the other. When another model takes
//! the place of the run, whoever brings it has spread the labels over it; what was given meanwhile follows here.

use std::sync::Arc;

use likewise_study::journal::{Entry, Journal, What};
use likewise_study::live::{Done, Live, Prepared};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use crate::answer::{Changed, ItemNow, NAMED};
use crate::app::App;
use crate::command::{Cause, ClassChange, Command, Commands};
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

/// Who takes the labels of the run that is open.
enum Taker {
    Live(Box<Live>),
    /// A run across views has no graph that labels spread over.
    Nobody(Journal),
}

impl Taker {
    fn new(app: &App, open: &Open, prepared: Option<Prepared>, journal: Journal) -> Self {
        let Some(prepared) = prepared else {
            return Self::Nobody(journal);
        };
        let live = Box::new(prepared.with(journal, &app.means.monitor));
        open.set_shown(live.shown());
        Self::Live(live)
    }

    fn live(&mut self) -> Answered<&mut Live> {
        match self {
            Self::Live(live) => Ok(live),
            Self::Nobody(_) => {
                let none = Problem::conflict("a run across views takes no labels");
                Err(none.hint("label its data, and fit again"))
            }
        }
    }

    fn entries(&self) -> &[Entry] {
        match self {
            Self::Live(live) => live.entries(),
            Self::Nobody(journal) => journal.entries(),
        }
    }

    fn end(self) -> Journal {
        match self {
            Self::Live(live) => live.end(),
            Self::Nobody(journal) => journal,
        }
    }
}

/// Answers commands until it is told to stop, or nobody can ask any more. `began` hears when the labels
/// of the first run have spread.
pub(crate) fn work(
    app: &App,
    mut open: Arc<Open>,
    journal: Journal,
    commands: mpsc::Receiver<Command>,
    began: oneshot::Sender<likewise_study::Result<()>>,
) {
    let prepared = match open.prepared(journal.entries(), &app.means) {
        Ok(prepared) => prepared,
        Err(e) => return drop(began.send(Err(e))),
    };
    let mut taker = Taker::new(app, &open, prepared, journal);
    let _ = began.send(Ok(()));
    let mut commands = Commands::new(commands);
    while let Some(command) = commands.next() {
        match command {
            Command::Stop => return,
            Command::Entries { reply } => drop(reply.send(Ok(taker.entries().to_vec()))),
            Command::Swap {
                open: next,
                prepared,
                cause,
                reply,
            } => {
                let prepared = prepared.map(|prepared| *prepared);
                taker = Taker::new(app, &next, prepared, taker.end());
                open = next;
                settle(app, &open, &cause);
                let _ = reply.send(Ok(()));
            }
            Command::Label {
                ids,
                label,
                who,
                reply,
            } => drop(reply.send(self::label(app, &open, &mut taker, &ids, label, who))),
            Command::Undo { who, reply } => {
                let undone = taker.live().and_then(|live| undo(app, &open, live, who));
                let _ = reply.send(undone);
            }
            Command::Class { change, who, reply } => {
                let done = taker.live().and_then(|live| Ok(class(live, change, who)?));
                let _ = reply.send(done.and_then(|done| tell(app, &open, &done)));
            }
            Command::Why { run, row, reply } => {
                // Of a run that has gone nothing can be said any more; the item itself can be shown.
                let why = match &taker {
                    Taker::Live(live) if run == open.serial => live.why(row).map_err(Problem::from),
                    _ => Ok(None),
                };
                let _ = reply.send(why);
            }
        }
    }
}

/// The run answers from now on.
fn settle(app: &App, run: &Arc<Open>, cause: &Cause) {
    app.set_open(run.clone());
    let told = Swapped {
        model: run.number,
        why: cause.why,
        who: cause.who.as_deref(),
    };
    app.events.tell("model", &told);
}

fn label(
    app: &App,
    run: &Open,
    taker: &mut Taker,
    ids: &[String],
    label: Option<String>,
    who: Option<String>,
) -> Answered<Changed> {
    let live = taker.live()?;
    let rows = ids.iter().map(|id| match run.items.row(id) {
        Some(row) => Ok(row as u32),
        None => Err(Problem::no_item(id)),
    });
    let rows = rows.collect::<Answered<Vec<u32>>>()?;
    let done = live.label(&rows, label.as_deref(), who)?;
    tell(app, run, &done)
}

fn class(
    live: &mut Live,
    change: ClassChange,
    who: Option<String>,
) -> likewise_study::Result<Done> {
    match change {
        ClassChange::Add(name) => live.add_class(name, who),
        ClassChange::Rename { from, to } => live.rename_class(from, to, who),
        ClassChange::Merge { from, into } => live.merge_class(from, into, who),
    }
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
