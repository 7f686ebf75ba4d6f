//! The server: begins, takes connections, and ends when it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use likewise::{Error, ErrorKind, Monitor};
use likewise_study::Result;
use likewise_study::journal::Journal;
use likewise_study::run_folder::{Models, Parts, RunFolder};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::app::App;
use crate::command::{Cause, WAITING};
use crate::guard::Guard;
use crate::open::{Means, Open};
use crate::options::{Options, Ready, Refit};
use crate::refit::Next;
use crate::route;
use crate::worker::work;

/// Connections at once, those that listen to events included.
const CONNECTIONS: usize = 512;
/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(10);
/// How often it is asked whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// How often it is asked whether another program has changed the run.
const CHANGED: Duration = Duration::from_secs(2);
/// How long requests may take to end when the server stops.
const LAST: Duration = Duration::from_secs(5);

/// Serves a run until `monitor` is cancelled; all requests that were taken are answered then. `refit` says how
/// such runs are fitted; `ready` hears where the server listens, once it does.
///
/// Fails where the run is damaged, where another process takes labels for it, where the journal of
/// its labels is damaged, where the address cannot be had, and without a token at any address but this machine's own.
pub fn serve(
    options: Options,
    refit: Option<Arc<dyn Refit>>,
    monitor: &Monitor,
    ready: Ready<'_>,
) -> Result<()> {
    if !options.host.is_loopback() && options.token.is_none() {
        let rule = "others can reach this address: it needs a token";
        return Err(Error::parameter("host", options.host, rule));
    }
    if let Some(token) = &options.token {
        check_token(token)?;
    }
    // First of all: what is no run gets no journal.
    let means = Means::new(
        monitor.clone(),
        options.device.clone(),
        options.max_memory,
        options.method.unwrap_or_default(),
    );
    RunFolder::settle(&options.run, monitor)?;
    let open = Arc::new(Open::current(&options.run, &means)?);
    if let (Some(method), None) = (options.method, open.one_view()) {
        let rule = "has no effect: a run across views takes no labels";
        return Err(Error::parameter("method", method.name(), rule));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(threads())
        .enable_all()
        .build()
        .map_err(|e| cannot("begin", &e))?;
    // Nothing is written for an address that cannot be had.
    let listener = runtime.block_on(listen(SocketAddr::new(options.host, options.port)))?;
    let (journal, torn) = Journal::open(&options.run)?;
    if torn > 0 {
        monitor.warn(format!(
            "the last {torn} bytes of the journal of labels are half an entry, which was never \
             acknowledged: they are dropped"
        ));
    }
    for folder in Models::of(&options.run).unreadable() {
        monitor.warn(format!(
            "{}: cannot be read as a model of the run; it is left as it is, and not offered",
            folder.display()
        ));
    }
    runtime.block_on(run(listener, options, open, journal, means, refit, ready))
}

/// Threads that work on requests; others wait their turn. More than the processors have something to do with only
/// share them among more answers, and each keeps memory of its own.
fn threads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (2 * processors).clamp(4, 64)
}

async fn listen(at: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(at).await.map_err(|e| {
        let place = format!("listen at {at}");
        match e.kind() {
            std::io::ErrorKind::AddrInUse => Error::data(format!(
                "cannot {place}: another program listens there; end it, or choose another `port`"
            )),
            _ => cannot(&place, &e),
        }
    })
}

/// Fails on a token that no header can hold.
pub fn check_token(token: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if token.len() >= 8 && token.bytes().all(plain) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Parameter,
        "the token must be 8 or more letters, digits, or any of - . _ ~",
    ))
}

fn cannot(what: &str, e: &std::io::Error) -> Error {
    Error::data(format!("cannot {what}: {e}"))
}

async fn run(
    listener: TcpListener,
    options: Options,
    open: Arc<Open>,
    journal: Journal,
    means: Means,
    refit: Option<Arc<dyn Refit>>,
    ready: Ready<'_>,
) -> Result<()> {
    let at = listener.local_addr().map_err(|e| cannot("listen", &e))?;
    let (sender, commands) = mpsc::channel(WAITING);
    let guard = Guard::new(at, options.token);
    let watch_of_labels = journal.watch();
    let app = App::new(
        options.run,
        open.clone(),
        sender,
        watch_of_labels,
        means,
        guard,
        refit,
    );
    let app = Arc::new(app);
    let (begins, began) = oneshot::channel();
    let of_worker = app.clone();
    let worker = std::thread::spawn(move || work(&of_worker, open, journal, commands, begins));
    let stopped = || Error::new(ErrorKind::Internal, "the thread of the labels ended");
    began.await.map_err(|_| stopped())??;
    ready(at);
    let watching = tokio::spawn(watch(app.clone()));
    accept(&listener, route::router(app.clone()), &app).await;
    watching.abort();
    app.refits.cancel(None);
    app.stop_worker().await;
    let ended = tokio::task::spawn_blocking(move || worker.join().is_ok()).await;
    ended
        .ok()
        .filter(|&ended| ended)
        .map(|_| ())
        .ok_or_else(stopped)
}

/// Takes connections until the server is told to stop; then waits for the requests that were taken.
async fn accept(listener: &TcpListener, router: Router, app: &App) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD);
    while app.monitor().check().is_ok() {
        let stream = match tokio::time::timeout(LOOK, listener.accept()).await {
            Err(_) => continue,
            Ok(Ok((stream, _))) => stream,
            Ok(Err(_)) => {
                // Too many open files, say: others may be closed meanwhile.
                tokio::time::sleep(LOOK).await;
                continue;
            }
        };
        // Beyond that a connection is closed at once: there is nothing to read its request by.
        let Ok(place) = places.clone().try_acquire_owned() else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = server.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A peer that goes away is no fault of ours.
            let _ = connection.await;
            drop(place);
        });
    }
    app.events.end();
    let _ = tokio::time::timeout(LAST, graceful.shutdown()).await;
}

/// Opens the run anew where another program, such as `likewise add`, has changed it.
async fn watch(app: Arc<App>) {
    let mut failed = None;
    loop {
        tokio::time::sleep(CHANGED).await;
        let of_app = app.clone();
        let look = tokio::task::spawn_blocking(move || look(&of_app, failed));
        failed = look.await.unwrap_or_default();
    }
}

/// Looks once; gives what cannot be opened, which has `failed` before or does now: the old run goes on.
fn look(app: &App, failed: Option<Parts>) -> Option<Parts> {
    let Ok(_changing) = app.changing.try_lock() else {
        return failed;
    };
    let there = RunFolder::read_parts(&app.run).ok()?;
    if there == app.open().record.parts {
        return None;
    }
    if failed.as_ref() == Some(&there) {
        return failed;
    }
    let number = Models::of(&app.run).current().ok()?;
    let cause = Cause {
        why: "changed",
        who: None,
    };
    let next = Next::read(app, &app.run, number, &app.quiet());
    match next.and_then(|next| next.answer(app, cause)) {
        Ok(()) => None,
        Err(problem) => {
            app.monitor().warn(format!(
                "{} has changed and cannot be opened, so the run of before goes on: {}",
                app.run.display(),
                problem.error
            ));
            Some(there)
        }
    }
}
