//! The exponential of a negative number, compiled to vector instructions.

/// `exp(x)` for `-708 <= x <= 0`, to a relative error below 1e-15: `2^k exp(r)` with
/// `|r| <= log(2) / 2` and the series of degree 13. Unlike that of the standard library it
/// is compiled to vector instructions; 0 gives 1 exactly.
#[inline(always)]
pub(crate) fn exp_of_negative(x: f64) -> f64 {
    /// Adding it leaves the nearest integer in the last bits.
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    /// The upper bits of `log 2`, so that `k` times it is exact, and the rest.
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    /// `1 / m!` for `m = 2` to 13.
    const SERIES: [f64; 12] = [
        0.5,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5_040.0,
        1.0 / 40_320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
        1.0 / 479_001_600.0,
        1.0 / 6_227_020_800.0,
    ];
    let rounded = x * std::f64::consts::LOG2_E + ROUND;
    let k = rounded - ROUND;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    // In pairs, and pairs of pairs: a shorter chain of operations than one after the other.
    let pair = |m: usize| SERIES[m] + SERIES[m + 1] * r;
    let (square, fourth) = (r * r, (r * r) * (r * r));
    let low = pair(0) + pair(2) * square;
    let high = (pair(4) + pair(6) * square) + (pair(8) + pair(10) * square) * fourth;
    let sum = low + high * fourth;
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    (sum * square + r + 1.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_the_standard_library() {
        for step in 0..=708_000 {
            let x = -f64::from(step) / 1000.0 - 1e-7 * f64::from(step % 7919);
            let x = x.max(-708.0);
            assert!(
                (exp_of_negative(x) / x.exp() - 1.0).abs() < 2e-15,
                "{x} {}",
                exp_of_negative(x) / x.exp() - 1.0
            );
        }
        assert_eq!(exp_of_negative(0.0).to_bits(), 1.0_f64.to_bits());
    }
}
