//! What all work is done with.

use likewise::Monitor;
use likewise_nn::Device;

use crate::stages::Stages;

/// Who is told of progress, where networks run, and what may be used.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// Receives progress and warnings, and can stop the work.
    pub monitor: &'a Monitor,
    /// Where the time goes: what the monitor has heard so far.
    pub stages: &'a Stages,
    /// Where networks run.
    pub device: &'a Device,
    /// Most memory that may be used, bytes; `None`: most of what is free.
    pub max_memory: Option<u64>,
}
