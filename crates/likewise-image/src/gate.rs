//! The memory of decoded images, shared by all threads.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use likewise_io::memory;

use crate::{Error, ErrorKind, Result};

/// Most bytes that decoded images may take together, in this process; what waits for room
/// goes on as soon as there is some.
///
/// Without this, half of what the machine has when the first image is decoded. An image that
/// needs more for itself is refused. Counted is what descriptors hold while they work on one; not counted: what
/// is made of the images.
pub fn limit_memory(bytes: u64) {
    shared().set(bytes);
}

/// The gate of this process.
pub(crate) fn shared() -> &'static Gate {
    static SHARED: OnceLock<Gate> = OnceLock::new();
    SHARED.get_or_init(|| Gate::new(memory::allowed(None) / 2))
}

/// Lets threads in until the memory that they need together is used up.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    limit: u64,
    used: u64,
}

impl Gate {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            state: Mutex::new(State { limit, used: 0 }),
            changed: Condvar::new(),
        }
    }

    /// Waits until there is room for `bytes`; an error where there never will be.
    ///
    /// Whoever holds room must not ask for more, or two could wait for each other.
    pub(crate) fn enter(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<Held<'_>> {
        let mut state = self.state();
        loop {
            if bytes > state.limit {
                return Err(Error::new(
                    ErrorKind::Memory,
                    format!(
                        "{} needs {} of memory, but {} are allowed for images; scale it down, or \
                         allow more",
                        what(),
                        memory::text(bytes),
                        memory::text(state.limit)
                    ),
                ));
            }
            if state.used.saturating_add(bytes) <= state.limit {
                state.used += bytes;
                return Ok(Held { gate: self, bytes });
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn set(&self, limit: u64) {
        self.state().limit = limit;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Two numbers are right even where a thread ended in between.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    gate: &'a Gate,
    bytes: u64,
}

impl Held<'_> {
    /// Gives back all but `bytes`.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let less = self.bytes.saturating_sub(bytes);
        self.bytes -= less;
        self.gate.state().used -= less;
        self.gate.changed.notify_all();
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn threads_never_hold_more_together() {
        let gate = Gate::new(100);
        let (held, most) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (gate, held, most) = (&gate, &held, &most);
                scope.spawn(move || {
                    for i in 0..200 {
                        let bytes = 1 + (thread * 37 + i * 11) % 100;
                        let mut room = gate.enter(bytes, String::new).unwrap();
                        let now = held.fetch_add(bytes, Ordering::SeqCst) + bytes;
                        most.fetch_max(now, Ordering::SeqCst);
                        std::thread::yield_now();
                        held.fetch_sub(bytes, Ordering::SeqCst);
                        room.shrink(bytes / 2);
                    }
                });
            }
        });
        assert!((50..=100).contains(&most.into_inner()));
        assert_eq!(gate.state().used, 0);
    }

    #[test]
    fn what_never_fits_is_named() {
        let gate = Gate::new(100);
        let e = gate.enter(101, || "an image".into()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Memory);
        let said = e.to_string();
        assert!(said.starts_with("an image needs 101 bytes of memory, but 100 bytes"));
        gate.set(200);
        let held = gate.enter(101, String::new).unwrap();
        // Who waits learns that the limit was lowered.
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| gate.enter(150, String::new).map(drop));
            gate.set(120);
            assert!(waits.join().unwrap().is_err());
        });
        drop(held);
    }
}
