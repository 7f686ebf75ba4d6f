//! What the thread that changes labels is asked.

use std::sync::Arc;

use likewise_study::live::Why;
use tokio::sync::oneshot;

use crate::answer::Changed;
use crate::open::Open;
use crate::problem::Answered;

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
    /// Why an item of this model is believed to be what it is.
    Why {
        model: u32,
        row: usize,
        reply: Reply<Option<Why>>,
    },
    /// Another run takes the place of the one that is open.
    Swap {
        open: Arc<Open>,
        why: &'static str,
        reply: Reply<()>,
    },
    /// End.
    Stop,
}

/// What happens to a class.
pub(crate) enum ClassChange {
    Add(String),
    Rename { from: String, to: String },
    Merge { from: String, into: String },
}

pub(crate) type Reply<T> = oneshot::Sender<Answered<T>>;
