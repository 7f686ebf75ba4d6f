//! Learning by gradients: a head on features, or an encoder of images, round by round.

#[cfg(not(feature = "networks"))]
mod absent;
#[cfg(feature = "networks")]
mod behind;
#[cfg(feature = "networks")]
mod body;
mod config;
#[cfg(feature = "networks")]
mod descent;
#[cfg(feature = "networks")]
pub(crate) mod gradient;
mod learner;
#[cfg(feature = "networks")]
mod map;
#[cfg(feature = "networks")]
mod memory;
mod metric;
mod proxy_start;
#[cfg(feature = "networks")]
mod remembered;
#[cfg(feature = "networks")]
mod state;
#[cfg(feature = "networks")]
mod steps;
#[cfg(feature = "networks")]
mod target;
#[cfg(feature = "networks")]
mod terms;

pub use config::{Optimizer, Schedule, TrainConfig, Tuning};
pub use learner::Gradient;
#[cfg(feature = "networks")]
pub use memory::Memory;
pub use metric::MetricConfig;
pub use proxy_start::ProxyStart;
