//! Long work beside the interpreter: on a thread of its own, told of as it goes, and stopped by Ctrl-C.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use likewise::{Event, Monitor, Result};
use likewise_study::environment;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure::{exception, exception_in};
use crate::wording::{N_NEIGHBORS, in_python};

/// How often the interpreter is asked for signals.
const TICK: Duration = Duration::from_millis(50);
/// Stack of the working thread, as large as that of a main thread.
const STACK: usize = 8 << 20;

/// How work is done: threads (`None`: as many as there are cores; never thousands), whether progress is told, and
/// who is told: a callable of a kind, a text and a number.
pub(crate) type How = (Option<usize>, bool, Py<PyAny>);

/// What the working thread says.
enum Said {
    Event(Event),
    Done,
}

/// Says that the work is over, also where it panicked.
struct Over(Sender<Said>);

impl Drop for Over {
    fn drop(&mut self) {
        let _ = self.0.send(Said::Done);
    }
}

/// Runs `work` without the lock of the interpreter. Warnings and, where they are wanted, steps go to
/// the listener, on this thread; its exceptions and Ctrl-C stop the work.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    how: &How,
    work: impl FnOnce(&Monitor) -> Result<T> + Send,
) -> PyResult<T> {
    run_in(py, how, N_NEIGHBORS, work)
}

/// The same, where what is told of `k` neighbours is said of a setting of this name.
pub(crate) fn run_in<T: Send>(
    py: Python<'_>,
    how: &How,
    k: &str,
    work: impl FnOnce(&Monitor) -> Result<T> + Send,
) -> PyResult<T> {
    let (threads, verbose, listener) = how;
    let pool = pool(*threads)?;
    let (send, heard) = mpsc::channel();
    let heard = Mutex::new(heard);
    let (tell, verbose) = (send.clone(), *verbose);
    let monitor = Monitor::new(move |event| {
        if verbose || matches!(event, Event::Warning(_)) {
            let _ = tell.send(Said::Event(event.clone()));
        }
    });
    thread::scope(|scope| {
        let (monitor, pool) = (&monitor, &pool);
        let worker = thread::Builder::new().stack_size(STACK);
        let worker = worker.spawn_scoped(scope, move || {
            let _over = Over(send);
            match pool {
                Some(pool) => pool.install(|| work(monitor)),
                None => work(monitor),
            }
        })?;
        let stopped = listen(py, &heard, (listener, k), monitor);
        let done = py.detach(|| worker.join());
        if let Some(e) = stopped {
            return Err(e);
        }
        done.map_err(panicked)?.map_err(|e| exception_in(&e, k))
    })
}

/// Passes on what is said until the work is over; what stopped it, if something did.
fn listen(
    py: Python<'_>,
    heard: &Mutex<Receiver<Said>>,
    (listener, k): (&Py<PyAny>, &str),
    monitor: &Monitor,
) -> Option<PyErr> {
    let mut stopped = None;
    let mut stop = |e: PyErr| {
        monitor.cancel();
        stopped.get_or_insert(e);
    };
    loop {
        let next = py.detach(|| {
            let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.recv_timeout(TICK)
        });
        match next {
            Ok(Said::Event(event)) => {
                if let Err(e) = tell(py, (listener, k), &event) {
                    stop(e);
                }
            }
            Ok(Said::Done) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(e) = py.check_signals() {
            stop(e);
        }
    }
    stopped
}

fn tell(py: Python<'_>, (listener, k): (&Py<PyAny>, &str), event: &Event) -> PyResult<()> {
    let (kind, text, number) = match event {
        Event::Start { stage, total } => ("start", Some(stage.clone()), *total),
        Event::Step { done } => ("step", None, Some(*done)),
        Event::End => ("end", None, None),
        Event::Warning(text) => ("warning", Some(in_python(text, k)), None),
        Event::Remark(text) | Event::Note(text) => ("note", Some(in_python(text, k)), None),
        _ => return Ok(()),
    };
    listener.call1(py, (kind, text, number)).map(drop)
}

/// Threads of its own for a call that asks for a number of them, and in a process that was forked
/// after the import: the usual ones stayed behind.
fn pool(threads: Option<usize>) -> PyResult<Option<ThreadPool>> {
    static BORN: OnceLock<u32> = OnceLock::new();
    let me = std::process::id();
    let forked = *BORN.get_or_init(|| me) != me;
    if threads.is_none() && !forked {
        // At the first call; afterwards they run.
        environment::start_threads(None).map_err(|e| exception(&e))?;
        return Ok(None);
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(environment::threads(threads))
        .build();
    let cannot = |e: rayon::ThreadPoolBuildError| {
        PyValueError::new_err(format!("n_jobs: cannot start the threads: {e}"))
    };
    pool.map(Some).map_err(cannot)
}

/// What is done without a thread of its own, in milliseconds; a panic does not cross the border either.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> PyResult<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.map_err(panicked)?.map_err(|e| exception(&e))
}

fn panicked(payload: Box<dyn Any + Send>) -> PyErr {
    let text = (payload.downcast_ref::<&str>().copied())
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message");
    PyRuntimeError::new_err(format!("a defect of likewise, please report it: {text}"))
}
