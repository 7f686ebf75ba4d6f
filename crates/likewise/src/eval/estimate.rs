//! A number and its interval.

use serde::{Deserialize, Serialize};

/// A number and the ends of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number itself, from all the data.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// This number with an interval that reaches as far as each of the two.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            value: self.value,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Of a difference of two shares, no more than the second one, `from`, leaves room for: no share falls below 0 or
    /// rises above 1.
    ///
    /// ```
    /// use likewise::eval::bootstrap::Estimate;
    /// let wide = Estimate { value: 0.1, low: -1.5, high: 1.5 };
    /// assert_eq!(wide.within_room(0.75), Estimate { low: -0.75, high: 0.25, ..wide });
    /// ```
    #[must_use]
    pub fn within_room(self, from: f64) -> Self {
        Self {
            value: self.value,
            low: self.low.max(-from).min(self.value),
            high: self.high.min(1.0 - from).max(self.value),
        }
    }
}
