//! Queues that were found: each is found once for the same labels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use likewise_study::live::{Kind, Queued};

use crate::problem::Answered;

/// Of which run and labels a queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Of {
    /// Its [serial number](crate::open::Open::serial).
    pub(crate) run: u64,
    pub(crate) sequence: u64,
}

type Found = Option<(Of, Arc<Vec<Queued>>)>;

/// Queues that were found, the last one of each kind.
#[derive(Default)]
pub(crate) struct Queues(Mutex<HashMap<Kind, Arc<Mutex<Found>>>>);

impl Queues {
    /// A queue of what is seen `now`, made unless it is there; and the labels that it is of. Whoever asks for the
    /// same kind meanwhile waits.
    pub(crate) fn found<T>(
        &self,
        kind: Kind,
        now: impl FnOnce() -> Answered<(Of, T)>,
        make: impl FnOnce(T) -> Answered<Vec<Queued>>,
    ) -> Answered<(u64, Arc<Vec<Queued>>)> {
        let own = locked(&self.0).entry(kind).or_default().clone();
        let mut own = locked(&own);
        let (of, seen) = now()?;
        if let Some((known, queued)) = &*own
            && *known == of
        {
            return Ok((of.sequence, queued.clone()));
        }
        let queued = Arc::new(make(seen)?);
        *own = Some((of, queued.clone()));
        Ok((of.sequence, queued))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
