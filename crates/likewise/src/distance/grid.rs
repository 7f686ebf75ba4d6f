//! Rows of which products add up without rounding: counts, pixels, binary features.
//!
//! Where all values are whole multiples of one power of two, so are their products, and a
//! sum of them is exact in `f32` while it is below 2^24 of these multiples. Equal
//! similarities then have equal bits, and ties fall as the rule says.

/// What some values have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Grid {
    /// All values are whole multiples of 2 to this power.
    step: i32,
    /// Squared length of the longest row.
    longest: f64,
}

impl Grid {
    /// Of no rows.
    pub(crate) const NOTHING: Self = Self {
        step: i32::MAX,
        longest: 0.0,
    };

    /// Of one row.
    pub(crate) fn of(row: impl IntoIterator<Item = f32>) -> Self {
        let mut grid = Self::NOTHING;
        for v in row {
            if v != 0.0 {
                grid.step = grid.step.min(lowest(v));
            }
            grid.longest += f64::from(v).powi(2);
        }
        grid
    }

    /// Of all rows of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            step: self.step.min(other.step),
            longest: self.longest.max(other.longest),
        }
    }

    /// Whether inner products, squared distances and halves of squared lengths of such rows
    /// are computed without rounding, in any order.
    pub(crate) fn is_exact(self) -> bool {
        // A squared distance is at most four times the largest square; the halves need one
        // bit more. Parts of a sum are no larger than the whole of the squares.
        let units = 8.0 * self.longest * 4.0_f64.powi(-self.step.clamp(-300, 300));
        self.longest == 0.0 || (units <= f64::from(1 << 24) && self.step >= -70)
    }
}

/// The mean of some values, rounded to a power of two of the size of their spread: taking it
/// from values on a grid is then exact, and equal distances stay equal.
pub(crate) fn near(mean: f64, variance: f64) -> f32 {
    if variance > 0.0 {
        let step = variance.sqrt().log2().floor().exp2();
        ((mean / step).round() * step) as f32
    } else {
        mean as f32
    }
}

/// The power of the lowest bit that is set.
fn lowest(v: f32) -> i32 {
    let bits = v.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32;
    let fraction = bits & 0x7f_ffff;
    if exponent == 0 {
        fraction.trailing_zeros() as i32 - 149
    } else {
        (fraction | 1 << 23).trailing_zeros() as i32 + exponent - 150
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_bits() {
        let cases = [
            (1.0, 0),
            (3.0, 0),
            (-6.0, 1),
            (0.75, -2),
            (1e-45, -149),
            (2e38, 104),
        ];
        for (v, power) in cases {
            assert_eq!(lowest(v), power, "{v}");
        }
    }

    #[test]
    fn integers_and_halves_are_exact_and_others_not() {
        let exact = |row: &[f32]| Grid::of(row.iter().copied()).is_exact();
        assert!(exact(&[1.0, -2.0, 0.0]) && exact(&[0.5, 100.25]) && exact(&[0.0]) && exact(&[]));
        assert!(exact(&[3.0 * 2.0_f32.powi(40), 2.0_f32.powi(41)]));
        assert!(!exact(&[0.1, 1.0]) && !exact(&[3000.0, 1.0]) && !exact(&[1e-30, 1.0]));
        assert!(!exact(&[1e-40]));
        let both = Grid::of([1024.0]).and(Grid::of([0.125]));
        assert!(!both.is_exact() && Grid::of([1024.0]).is_exact());
    }
}
