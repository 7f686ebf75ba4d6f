//! What is counted, in the words of Prometheus.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// A route, and how it answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    method: String,
    path: String,
    status: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Path {
    path: String,
}

/// All that is counted.
pub(crate) struct Meters {
    registry: Registry,
    requests: Family<Of, Counter>,
    seconds: Family<Path, Histogram, fn() -> Histogram>,
    labels: Counter,
    models: Counter,
    items: Gauge,
    sequence: Gauge<u64, AtomicU64>,
    listeners: Gauge,
}

/// Bounds of the times of requests, from half a millisecond to eight seconds.
fn seconds() -> Histogram {
    Histogram::new((0..15).map(|power| 0.0005 * f64::from(1 << power)))
}

impl Meters {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("likewise");
        let own = Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            labels: Counter::default(),
            models: Counter::default(),
            items: Gauge::default(),
            sequence: Gauge::default(),
            listeners: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register(
            "requests",
            "Requests, by route and state",
            own.requests.clone(),
        );
        registry.register(
            "request_seconds",
            "Time from a request to the head of its answer",
            own.seconds.clone(),
        );
        registry.register(
            "labels",
            "Labels that were given or taken away",
            own.labels.clone(),
        );
        registry.register(
            "models_opened",
            "Models that took the place of another",
            own.models.clone(),
        );
        registry.register("items", "Items of the run", own.items.clone());
        registry.register(
            "journal_sequence",
            "Number of the last entry of the journal",
            own.sequence.clone(),
        );
        registry.register("listeners", "Open streams of events", own.listeners.clone());
        Self { registry, ..own }
    }

    pub(crate) fn asked(&self, method: &str, path: &str, status: u16, took: Duration) {
        let (method, path) = (method.to_owned(), path.to_owned());
        self.seconds
            .get_or_create(&Path { path: path.clone() })
            .observe(took.as_secs_f64());
        self.requests
            .get_or_create(&Of {
                method,
                path,
                status: status.to_string(),
            })
            .inc();
    }

    pub(crate) fn labeled(&self, labels: u64) {
        self.labels.inc_by(labels);
    }

    pub(crate) fn opened(&self) {
        self.models.inc();
    }

    /// All of it as text.
    pub(crate) fn text(&self, items: usize, sequence: u64, listeners: usize) -> Option<String> {
        self.items.set(items as i64);
        self.sequence.set(sequence);
        self.listeners.set(listeners as i64);
        let mut text = String::new();
        encode(&mut text, &self.registry).ok()?;
        Some(text)
    }
}
