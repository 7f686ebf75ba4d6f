//! What everybody who listens is told.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use serde::Serialize;
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;
use tokio_stream::{Stream, StreamExt as _};

/// Streams at once: each takes a connection as long as it is open.
const LISTENERS: usize = 128;
/// Events that a slow listener may be behind.
const BEHIND: usize = 256;

/// An event: its name, and JSON.
#[derive(Debug, Clone)]
pub(crate) enum Told {
    Event(&'static str, Arc<str>),
    /// The server stops.
    End,
}

/// All who listen.
pub(crate) struct Events {
    sender: broadcast::Sender<Told>,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            sender: broadcast::channel(BEHIND).0,
        }
    }
}

impl Events {
    /// Tells all who listen; nobody may.
    pub(crate) fn tell(&self, name: &'static str, data: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(data) {
            let _ = self.sender.send(Told::Event(name, text.into()));
        }
    }

    /// Ends all streams, as the server stops.
    pub(crate) fn end(&self) {
        let _ = self.sender.send(Told::End);
    }

    pub(crate) fn listeners(&self) -> usize {
        self.sender.receiver_count()
    }

    /// The stream of one who listens, which begins with `hello`; none where too many listen.
    pub(crate) fn listen(
        &self,
        hello: &dyn Fn() -> String,
    ) -> Option<Sse<impl Stream<Item = Result<Event, Infallible>> + use<>>> {
        if self.listeners() >= LISTENERS {
            return None;
        }
        // Before it is said how things are, so that no change falls between.
        let all = BroadcastStream::new(self.sender.subscribe());
        let hello = tokio_stream::once(Event::default().event("hello").data(hello()));
        let all = all
            .take_while(|told| !matches!(told, Ok(Told::End)))
            .map(|told| match told {
                Ok(Told::Event(name, text)) => Event::default().event(name).data(&*text),
                Ok(Told::End) => Event::default().comment("end"),
                Err(BroadcastStreamRecvError::Lagged(missed)) => Event::default()
                    .event("lagged")
                    .data(format!("{{\"missed\":{missed}}}")),
            });
        let alive = KeepAlive::new().interval(Duration::from_secs(10));
        Some(Sse::new(hello.chain(all).map(Ok)).keep_alive(alive))
    }
}
