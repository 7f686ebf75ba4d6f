//! What work will cost: for `--dry-run` and `--max-memory`.

use std::time::Instant;

use likewise::{Monitor, neighbor};
use ndarray::Array2;
use serde::Serialize;

use crate::data::Bytes;
use crate::failure::Failure;
use crate::output;
use crate::verb::Context;

/// Estimated time and memory of a verb.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Estimate {
    /// Estimated seconds on this machine.
    pub(crate) seconds: f64,
    /// Estimated peak memory, bytes.
    pub(crate) memory_bytes: u64,
    #[serde(skip)]
    flops: f64,
    #[serde(skip)]
    resident: u64,
    #[serde(skip)]
    passing: u64,
}

/// Memory of the program itself, its threads and libraries.
const BASE: u64 = 64 << 20;

impl Estimate {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds memory that stays until the end.
    pub(crate) fn resident(mut self, bytes: f64) -> Self {
        self.resident += bytes as u64;
        self
    }

    /// Adds a stage: memory that is given back after it, and floating-point operations.
    pub(crate) fn stage(mut self, bytes: f64, flops: f64) -> Self {
        self.passing = self.passing.max(bytes as u64);
        self.flops += flops;
        self
    }

    /// An exact k-nearest-neighbour graph of `n` rows of `d`.
    pub(crate) fn graph(self, n: f64, d: f64, k: f64) -> Self {
        // The rows, packed twice, and room for more candidates than neighbours.
        let search = 12.0 * n * d + 8.0 * n * (2.0 * k + 40.0);
        self.stage(search + 8.0 * n * k, 2.0 * n * n * d)
            .of_lists(n, k)
    }

    /// An approximate one.
    pub(crate) fn approximate_graph(self, n: f64, d: f64, k: f64) -> Self {
        // The rows in eight bits, twice for a moment; their nearest cells; the lists twice.
        let cells = 2.0 * n.sqrt();
        let search = 2.0 * n * d + 64.0 * n + 16.0 * n * k;
        let looked_into = cells + 16.0 * n / cells.max(1.0);
        self.stage(search, 2.0 * n * looked_into * d / 2.0)
            .of_lists(n, k)
    }

    /// The graph made of neighbour lists: the lists, their arcs, and the result.
    fn of_lists(self, n: f64, k: f64) -> Self {
        let arcs = n * k;
        self.stage((8.0 + 24.0) * arcs, 0.0).resident(16.0 * arcs)
    }

    /// A propagation of `c` classes over `n` nodes of `k` neighbours.
    pub(crate) fn propagation(self, n: f64, k: f64, c: f64) -> Self {
        // About 60 iterations; a sparse product runs at a tenth of the dense speed.
        let columns = (c / 4.0).ceil() * 4.0;
        self.stage(
            8.0 * columns * n * 8.0 + 16.0 * n * k,
            60.0 * 10.0 * 4.0 * n * k * c,
        )
        .resident(8.0 * n * c)
    }

    /// An evaluation of `q` queries among `g` rows of `d`, `c` classes.
    pub(crate) fn evaluation(self, q: f64, g: f64, d: f64, c: f64, nmi: bool) -> Self {
        let search = self.stage(4.0 * g * d + 64e6, 4.0 * q * g * d);
        if nmi {
            search.stage(8.0 * g * d, 10.0 * 60.0 * 2.0 * g * d * c)
        } else {
            search
        }
    }

    /// Measures this machine for a moment and fills in the figures.
    pub(crate) fn on_this_machine(mut self) -> Self {
        let x = Array2::from_shape_fn((2048, 64), |(i, j)| ((i * 31 + j * 17) % 101) as f32);
        let start = Instant::now();
        let speed =
            match neighbor::exact(x.view(), 10, neighbor::Metric::Cosine, &Monitor::silent()) {
                Ok(_) => 2.0 * 2048.0 * 2048.0 * 64.0 / start.elapsed().as_secs_f64().max(1e-6),
                Err(_) => 1e10,
            };
        self.seconds = self.flops / speed;
        self.memory_bytes = self.memory();
        self
    }

    fn memory(&self) -> u64 {
        BASE + self.resident + self.passing
    }

    /// Fails if `--max-memory` would not do.
    pub(crate) fn check(&self, at: &Context) -> Result<(), Failure> {
        match at.common.max_memory {
            Some(limit) if self.memory() > limit.0 => Err(Failure::failed(format!(
                "this needs about {}, but --max-memory is {limit}; allow more, or use fewer \
                 items, dimensions or neighbours",
                Bytes(self.memory())
            ))),
            _ => Ok(()),
        }
    }

    /// Prints the estimate: the whole answer of `--dry-run`.
    pub(crate) fn print(self, at: &Context) -> Result<(), Failure> {
        let estimate = self.on_this_machine();
        if at.common.json {
            return output::json(&estimate);
        }
        output::line(format!(
            "estimated time {:.0} s, memory {}",
            estimate.seconds.max(1.0),
            Bytes(estimate.memory_bytes)
        ))
    }
}
