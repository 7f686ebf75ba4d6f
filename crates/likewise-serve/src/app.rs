//! What all requests share.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use likewise::Monitor;
use likewise_study::journal::{NAME, Watch};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::command::{Command, Reply};
use crate::events::Events;
use crate::guard::Guard;
use crate::meters::Meters;
use crate::open::{Means, Open};
use crate::options::Refit;
use crate::problem::{Answered, Problem};
use crate::queues::Queues;
use crate::refits::Refits;

/// Requests that are worked on at once; more are told to come again. Work that goes on when its request
/// has been told that it took too long counts until it is done, by itself.
const AT_ONCE: usize = 64;
/// Images that are decoded at once; others wait. One of the largest takes 350 MB for so long.
const IMAGES: usize = 1;
/// Pictures of items that are decoded at once, beside these: a page asks for dozens.
const PICTURES: usize = 2;

/// What all requests share.
pub(crate) struct App {
    pub(crate) run: PathBuf,
    open: RwLock<Arc<Open>>,
    commands: mpsc::Sender<Command>,
    labels: Watch,
    pub(crate) means: Means,
    pub(crate) events: Events,
    pub(crate) meters: Meters,
    pub(crate) guard: Guard,
    pub(crate) queues: Queues,
    pub(crate) refits: Refits,
    pub(crate) refit: Option<Arc<dyn Refit>>,
    pub(crate) at_once: Semaphore,
    working: Arc<Semaphore>,
    /// Places for images that ask: each takes much memory while it is decoded.
    images: Arc<Semaphore>,
    /// Places for pictures of items.
    pictures: Arc<Semaphore>,
    /// Held by whoever changes which run is at the top of the folder.
    pub(crate) changing: tokio::sync::Mutex<()>,
}

impl App {
    pub(crate) fn new(
        run: PathBuf,
        open: Arc<Open>,
        commands: mpsc::Sender<Command>,
        labels: Watch,
        means: Means,
        guard: Guard,
        refit: Option<Arc<dyn Refit>>,
    ) -> Self {
        Self {
            run,
            open: RwLock::new(open),
            commands,
            labels,
            means,
            events: Events::default(),
            meters: Meters::new(),
            guard,
            queues: Queues::default(),
            refits: Refits::default(),
            refit,
            at_once: Semaphore::new(AT_ONCE),
            working: Arc::new(Semaphore::new(AT_ONCE)),
            images: Arc::new(Semaphore::new(IMAGES)),
            pictures: Arc::new(Semaphore::new(PICTURES)),
            changing: tokio::sync::Mutex::new(()),
        }
    }

    /// The run that answers. It stays whole for whoever holds it.
    pub(crate) fn open(&self) -> Arc<Open> {
        self.open
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn set_open(&self, open: Arc<Open>) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = open;
    }

    /// Asks the thread that changes labels.
    pub(crate) async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Answered<T> {
        let (reply, answer) = oneshot::channel();
        (self.commands.try_send(command(reply))).map_err(|_| Problem::busy())?;
        answer.await.map_err(|_| Problem::busy())?
    }

    /// The same, where it must not be refused; from a thread that may wait.
    pub(crate) fn ask_in_time<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Answered<T> {
        let (reply, answer) = oneshot::channel();
        (self.commands.blocking_send(command(reply))).map_err(|_| Problem::busy())?;
        answer.blocking_recv().map_err(|_| Problem::busy())?
    }

    /// Why no label can be given, as far as that is known without giving one.
    pub(crate) fn takes_no_labels(&self) -> Option<String> {
        if self.commands.is_closed() {
            return Some("the thread that takes labels has ended; start the server again".into());
        }
        let fault = self.labels.fault()?;
        Some(format!("no label can be written to {NAME}: {fault}"))
    }

    pub(crate) async fn stop_worker(&self) {
        let _ = self.commands.send(Command::Stop).await;
    }

    /// Work that takes a while, on a thread of its own; the run that was open when it began. It is not
    /// broken off where its request is: others may wait for the same.
    pub(crate) async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self, &Open) -> Answered<T> + Send + 'static,
    ) -> Answered<T> {
        let (app, open) = (self.clone(), self.open());
        let place = self.working.clone().try_acquire_owned();
        let place = place.map_err(|_| Problem::busy())?;
        let work = move || {
            let _place = place;
            work(&app, &open)
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| Problem::internal("the work on this request failed"))?
    }

    /// A place to decode an image that asks in; waits for it.
    pub(crate) async fn place_of_image(&self) -> Answered<OwnedSemaphorePermit> {
        place(&self.images).await
    }

    /// A place to decode the picture of an item in; waits for it.
    pub(crate) async fn place_of_picture(&self) -> Answered<OwnedSemaphorePermit> {
        place(&self.pictures).await
    }

    /// Means for the work on a request, which ends when the server does.
    pub(crate) fn quiet(&self) -> Means {
        self.means.quiet()
    }

    pub(crate) fn monitor(&self) -> &Monitor {
        &self.means.monitor
    }
}

async fn place(of: &Arc<Semaphore>) -> Answered<OwnedSemaphorePermit> {
    let place = of.clone().acquire_owned().await;
    place.map_err(|_| Problem::busy())
}
