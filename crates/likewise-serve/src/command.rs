//! What the thread that changes labels is asked.

use std::collections::VecDeque;
use std::sync::Arc;

use likewise_study::journal::Entry;
use likewise_study::live::{Prepared, Why};
use tokio::sync::{mpsc, oneshot};

use crate::answer::Changed;
use crate::open::Open;
use crate::problem::{Answered, Problem};

/// Commands that may wait.
pub(crate) const WAITING: usize = 64;

/// What the thread is asked.
pub(crate) enum Command {
    /// Give items a label.
    Label {
        ids: Vec<String>,
        label: Option<String>,
        who: Option<String>,
        reply: Reply<Changed>,
    },
    /// Take the last entry back.
    Undo {
        who: Option<String>,
        reply: Reply<Changed>,
    },
    /// Change the classes.
    Class {
        change: ClassChange,
        who: Option<String>,
        reply: Reply<Changed>,
    },
    /// Why an item of the run of this serial number is believed to be what it is.
    Why {
        run: u64,
        row: usize,
        reply: Reply<Option<Why>>,
    },
    /// All entries of the journal.
    Entries { reply: Reply<Vec<Entry>> },
    /// Another run takes the place of the one that is open; over it the labels of some first entries of the journal
    /// have spread, unless it takes none.
    Swap {
        open: Arc<Open>,
        prepared: Option<Box<Prepared>>,
        cause: Cause,
        reply: Reply<()>,
    },
    /// End.
    Stop,
}

/// Why another run takes the place of the one that is open.
pub(crate) struct Cause {
    /// What was done.
    pub(crate) why: &'static str,
    /// Who asked for it, where somebody did.
    pub(crate) who: Option<String>,
}

/// What happens to a class.
pub(crate) enum ClassChange {
    Add(String),
    Rename { from: String, to: String },
    Merge { from: String, into: String },
}

pub(crate) type Reply<T> = oneshot::Sender<Answered<T>>;

/// Questions that wait while labels are given; more are told to come again.
const QUESTIONS: usize = 8;

/// The commands that came, those that change something before questions.
pub(crate) struct Commands {
    from: mpsc::Receiver<Command>,
    questions: VecDeque<Command>,
}

impl Commands {
    pub(crate) fn new(from: mpsc::Receiver<Command>) -> Self {
        Self {
            from,
            questions: VecDeque::new(),
        }
    }

    /// The next one; `None` where nobody can ask any more. Waits for it.
    pub(crate) fn next(&mut self) -> Option<Command> {
        loop {
            let next = if self.questions.is_empty() {
                self.from.blocking_recv()?
            } else {
                match self.from.try_recv() {
                    Ok(next) => next,
                    Err(_) => return self.questions.pop_front(),
                }
            };
            match next {
                Command::Why { reply, .. } if self.questions.len() >= QUESTIONS => {
                    let _ = reply.send(Err(Problem::busy()));
                }
                why @ Command::Why { .. } => self.questions.push_back(why),
                // Who asked has gone, and was told that this took too long: it must not be done now.
                Command::Label { reply, .. }
                | Command::Undo { reply, .. }
                | Command::Class { reply, .. }
                    if reply.is_closed() => {}
                other => return Some(other),
            }
        }
    }
}
