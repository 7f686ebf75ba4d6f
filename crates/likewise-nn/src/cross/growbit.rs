//! Codes that grow, and networks that imitate them.
//!
//! Each class has a code ([`likewise::cross::growbit`]). For each modality a network learns it, bit by bit,
//! by the logistic loss:
//!
//! ```text
//! z = W3 drop(relu(W2 drop(relu(W1 (x - mean)))))
//! L = mean_i mean_k log(1 + exp(-t_ik z_ik))                   t: the code of the class, +1 or -1
//! ```
//!
//! When bits are added, all of what was learned stands still, and the new bits are new columns of the last
//! layer: codes that are stored stay valid.
//!
//! **Use it** where the classes of a modality are not told apart by a kernel, with hundreds of labels or
//! more. **Not** with few labels: the kernel of [`likewise::cross::GrowBit`] has no layers to learn.
//!
//! **Cost.** O(epochs n (512 d + 512 x 256 + 256 q)).
//!
//! **Source.** After Mandal, Annadani and Biswas, "`GrowBit`: incremental hashing for cross-modal retrieval",
//! ACCV 2018, of which the idea is known to us, not the details: widths, loss and what stands still are
//! ours.

use likewise::code::Codes;
use likewise::cross::Model;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Parameters of growing codes with networks; see [`growbit`](self).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(
    feature = "networks",
    expect(
        clippy::unsafe_derive_deserialize,
        reason = "burn's macro writes the unsafe code; its fields are plain numbers"
    )
)]
pub struct DeepGrowBit {
    /// Number of bits in the end.
    pub bits: usize,
    /// Units of the two hidden layers.
    pub hidden: [usize; 2],
    /// Share of hidden units that are left out of a step, 0 to below 1.
    pub dropout: f64,
    /// Passes over the labeled rows.
    pub epochs: usize,
    /// Rows of a step.
    pub batch: usize,
    /// Step size of Adam.
    pub rate: f64,
}

impl Default for DeepGrowBit {
    fn default() -> Self {
        Self {
            bits: 64,
            hidden: [512, 256],
            dropout: 0.2,
            epochs: 100,
            batch: 64,
            rate: 1e-3,
        }
    }
}

/// Networks and the codes of the classes that they imitate.
#[derive(Debug, Clone, PartialEq)]
pub struct Grown {
    /// An encoder of bits for each modality.
    pub model: Model,
    /// The classes that have a code, ascending.
    pub classes: Vec<u32>,
    /// For each modality the code of each class.
    pub codes: [Codes; 2],
}

impl DeepGrowBit {
    /// 64 bits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of bits in the end.
    #[must_use]
    pub fn bits(mut self, bits: usize) -> Self {
        self.bits = bits;
        self
    }

    /// Fails on a parameter out of its range.
    pub fn validate(&self) -> Result<()> {
        // The bound of the codes themselves.
        if !(1..=4096).contains(&self.bits) {
            let rule = "must be from 1 to 4096";
            return Err(Error::parameter("bits", self.bits, rule));
        }
        for (field, value) in [
            ("hidden", self.hidden[0].min(self.hidden[1])),
            ("epochs", self.epochs),
            ("batch", self.batch),
        ] {
            if !(1..=1 << 20).contains(&value) {
                return Err(Error::parameter(field, value, "must be from 1 to 1048576"));
            }
        }
        if !(0.0..1.0).contains(&self.dropout) {
            let rule = "must be at least 0 and below 1";
            return Err(Error::parameter("dropout", self.dropout, rule));
        }
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return Err(Error::parameter("rate", self.rate, "must be above 0"));
        }
        Ok(())
    }
}
