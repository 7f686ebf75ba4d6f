//! How far the refit is that runs, or ran last; and earlier models that are open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use likewise::Monitor;
use serde::Serialize;
use utoipa::ToSchema;

use crate::open::Earlier;
use crate::problem::Answered;

/// Earlier models that stay open.
const KEPT_OPEN: usize = 2;

/// How far a refit is.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct State {
    /// How it stands.
    pub(crate) state: Stand,
    /// Number of the model that is made.
    pub(crate) number: u32,
    /// What is done at the moment.
    pub(crate) stage: Option<String>,
    /// Steps of it that are done.
    pub(crate) done: u64,
    /// Steps of it in all, where that is known.
    pub(crate) total: Option<u64>,
    /// The labels up to here are learned from.
    sequence: u64,
    /// Who asked for it, or for its end.
    who: Option<String>,
    error: Option<String>,
    hint: Option<String>,
}

impl State {
    /// So many steps are done. No more than there are: a stage may go on after another, of fewer steps, began
    /// within it.
    pub(crate) fn step(&mut self, done: u64) {
        self.done = self.total.map_or(done, |total| total.min(done));
    }
}

/// How a refit stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stand {
    Idle,
    Running,
    Done,
    Failed,
    Cancelled,
}

/// The refit that runs, or ran last; and earlier models that are open.
pub(crate) struct Refits {
    state: Mutex<State>,
    monitor: Mutex<Option<Monitor>>,
    open: Mutex<HashMap<u32, Arc<Earlier>>>,
}

impl Default for Refits {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                state: Stand::Idle,
                number: 0,
                stage: None,
                done: 0,
                total: None,
                sequence: 0,
                who: None,
                error: None,
                hint: None,
            }),
            monitor: Mutex::default(),
            open: Mutex::default(),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Refits {
    pub(crate) fn state(&self) -> State {
        locked(&self.state).clone()
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut State)) -> State {
        let mut state = locked(&self.state);
        change(&mut state);
        state.clone()
    }

    /// Begins a refit with the number that is given, unless one runs.
    pub(crate) fn begin(
        &self,
        monitor: &Monitor,
        sequence: u64,
        who: Option<String>,
        number: impl FnOnce() -> Answered<u32>,
    ) -> Answered<Option<State>> {
        let mut state = locked(&self.state);
        if state.state == Stand::Running {
            return Ok(None);
        }
        *state = State {
            state: Stand::Running,
            number: number()?,
            stage: Some("reading".into()),
            done: 0,
            total: None,
            sequence,
            who,
            error: None,
            hint: None,
        };
        *locked(&self.monitor) = Some(monitor.clone());
        Ok(Some(state.clone()))
    }

    /// The refit has ended, well or not.
    pub(crate) fn end(&self, made: Answered<()>, cancelled: bool) -> State {
        self.decide();
        self.set(|state| {
            state.stage = None;
            match made {
                Ok(()) => state.state = Stand::Done,
                Err(_) if cancelled => state.state = Stand::Cancelled,
                Err(problem) => {
                    state.state = Stand::Failed;
                    (state.error, state.hint) = (Some(problem.error), problem.hint);
                }
            }
        })
    }

    /// The refit can be cancelled no longer.
    pub(crate) fn decide(&self) {
        *locked(&self.monitor) = None;
    }

    /// Closes earlier models.
    pub(crate) fn forget(&self) {
        locked(&self.open).clear();
    }

    /// Asks the refit to stop, by somebody; whether one runs.
    pub(crate) fn cancel(&self, who: Option<String>) -> bool {
        let monitor = locked(&self.monitor);
        if let Some(monitor) = &*monitor {
            locked(&self.state).who = who;
            monitor.cancel();
        }
        monitor.is_some()
    }

    /// An earlier model, opened once.
    pub(crate) fn opened(
        &self,
        number: u32,
        read: impl FnOnce() -> Answered<Earlier>,
    ) -> Answered<Arc<Earlier>> {
        let mut open = locked(&self.open);
        if let Some(open) = open.get(&number) {
            return Ok(open.clone());
        }
        let new = Arc::new(read()?);
        if open.len() >= KEPT_OPEN {
            open.clear();
        }
        open.insert(number, new.clone());
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_steps_are_done_than_there_are() {
        let refits = Refits::default();
        let done = |total, done| {
            let state = refits.set(|state| {
                state.total = total;
                state.step(done);
            });
            state.done
        };
        assert_eq!((done(Some(5), 3), done(Some(5), 9)), (3, 5));
        assert_eq!(done(None, 9), 9);
    }
}
