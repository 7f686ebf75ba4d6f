//! Progress and cancellation: the library reports, the caller prints.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result};

/// Something that happened during long work.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A stage begins; `total` is its number of steps where that is known.
    Start {
        /// Name of the stage, a few plain words.
        stage: String,
        /// Number of steps, if known beforehand.
        total: Option<u64>,
    },
    /// `done` steps of the current stage are finished.
    Step {
        /// Steps finished so far.
        done: u64,
    },
    /// The current stage is over.
    End,
    /// Something the user should know, though the work goes on.
    Warning(String),
    /// How something was understood, which the user may want otherwise.
    Remark(String),
    /// A remark for those who asked for more detail.
    Note(String),
    /// Numbers that were measured on the way, by name: the loss of a step.
    Values(Vec<(&'static str, f64)>),
}

/// Receives [`Event`]s and answers whether the work should stop.
///
/// Cheap to clone; clones share the receiver and the stop flag.
///
/// ```
/// use likewise::{Event, Monitor};
/// let monitor = Monitor::new(|event: &Event| println!("{event:?}"));
/// monitor.warn("two items are identical");
/// assert!(monitor.check().is_ok());
/// monitor.cancel();
/// assert!(monitor.check().is_err());
/// ```
#[derive(Clone)]
pub struct Monitor {
    receiver: Arc<dyn Fn(&Event) + Send + Sync>,
    stop: Arc<AtomicBool>,
}

impl Monitor {
    /// Sends every event to `receiver`, from whichever thread it happens on.
    pub fn new(receiver: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self {
            receiver: Arc::new(receiver),
            stop: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Ignores all events and never stops by itself.
    pub fn silent() -> Self {
        Self::new(|_| ())
    }

    /// Ignores all events, and stops when this one does: for work inside of other work.
    ///
    /// ```
    /// let monitor = likewise::Monitor::silent();
    /// let inner = monitor.quiet();
    /// monitor.cancel();
    /// assert!(inner.check().is_err());
    /// ```
    pub fn quiet(&self) -> Self {
        Self {
            receiver: Arc::new(|_| ()),
            stop: self.stop.clone(),
        }
    }

    /// The same monitor, whose events `receiver` hears as well; it stops when this one does.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use std::sync::Arc;
    /// let heard = Arc::new(AtomicUsize::new(0));
    /// let count = heard.clone();
    /// let monitor = likewise::Monitor::silent();
    /// let both = monitor.also(move |_| drop(count.fetch_add(1, Ordering::Relaxed)));
    /// both.note("one");
    /// monitor.cancel();
    /// assert!(both.check().is_err() && heard.load(Ordering::Relaxed) == 1);
    /// ```
    pub fn also(&self, receiver: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        let own = self.receiver.clone();
        Self {
            receiver: Arc::new(move |event| {
                receiver(event);
                own(event);
            }),
            stop: self.stop.clone(),
        }
    }

    /// Asks the work to stop at its next [`check`](Self::check).
    pub fn cancel(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// An error of kind `Cancelled` once [`cancel`](Self::cancel) was called.
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            Err(Error::cancelled())
        } else {
            Ok(())
        }
    }

    /// Announces a stage of `total` steps.
    pub fn start(&self, stage: impl Into<String>, total: impl Into<Option<u64>>) {
        (self.receiver)(&Event::Start {
            stage: stage.into(),
            total: total.into(),
        });
    }

    /// Reports `done` finished steps and checks for cancellation.
    pub fn step(&self, done: u64) -> Result<()> {
        (self.receiver)(&Event::Step { done });
        self.check()
    }

    /// Ends the current stage.
    pub fn end(&self) {
        (self.receiver)(&Event::End);
    }

    /// Passes a warning on.
    pub fn warn(&self, message: impl Into<String>) {
        (self.receiver)(&Event::Warning(message.into()));
    }

    /// Passes on how something was understood.
    pub fn remark(&self, message: impl Into<String>) {
        (self.receiver)(&Event::Remark(message.into()));
    }

    /// Passes measured numbers on.
    pub fn values(&self, values: &[(&'static str, f64)]) {
        (self.receiver)(&Event::Values(values.to_vec()));
    }

    /// The same monitor, whose measured numbers go to `receiver`.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use std::sync::Arc;
    /// let seen = Arc::new(AtomicUsize::new(0));
    /// let count = seen.clone();
    /// let monitor = likewise::Monitor::silent()
    ///     .with_values(move |values| drop(count.fetch_add(values.len(), Ordering::Relaxed)));
    /// monitor.values(&[("loss", 0.5)]);
    /// assert_eq!(seen.load(Ordering::Relaxed), 1);
    /// ```
    pub fn with_values(
        &self,
        receiver: impl Fn(&[(&'static str, f64)]) + Send + Sync + 'static,
    ) -> Self {
        let all = self.receiver.clone();
        Self {
            receiver: Arc::new(move |event| match event {
                Event::Values(values) => receiver(values),
                event => all(event),
            }),
            stop: self.stop.clone(),
        }
    }

    /// The same monitor, whose warnings are put in other `words`.
    ///
    /// ```
    /// use likewise::{Event, Monitor};
    /// let monitor = Monitor::new(|event: &Event| {
    ///     assert_eq!(event, &Event::Warning("left: two items are identical".into()));
    /// });
    /// let left = monitor.with_warnings(|said| format!("left: {said}"));
    /// left.warn("two items are identical");
    /// ```
    pub fn with_warnings(&self, words: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let all = self.receiver.clone();
        Self {
            receiver: Arc::new(move |event| match event {
                Event::Warning(said) => all(&Event::Warning(words(said))),
                event => all(event),
            }),
            stop: self.stop.clone(),
        }
    }

    /// Passes a remark on.
    pub fn note(&self, message: impl Into<String>) {
        (self.receiver)(&Event::Note(message.into()));
    }
}

impl Default for Monitor {
    fn default() -> Self {
        Self::silent()
    }
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor").finish_non_exhaustive()
    }
}
