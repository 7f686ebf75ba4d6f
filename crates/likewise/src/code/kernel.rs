//! Counts of differing bits, one query against many codes at a time.
//!
//! Codes are read in panels: [`PANEL`] codes, word by word, so that one vector holds one word of
//! several codes. The loops are plain code, written once; a processor that counts bits in vectors
//! (AVX-512 VPOPCNTDQ) or looks them up in vectors (AVX2) runs a copy that the compiler made for
//! it. Which one is decided at run time; all are integers and agree to the bit.

/// Codes of a panel.
pub(crate) const PANEL: usize = 32;

/// The instructions that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// Any machine.
    Portable,
    /// Exists only where the machine has AVX2 and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    /// Exists only where the machine has AVX-512 F, VL and VPOPCNTDQ.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
}

impl Kernel {
    /// The fastest kernel of this machine.
    pub(crate) fn detect() -> Self {
        *Self::all().last().unwrap_or(&Self::Portable)
    }

    /// The kernels that this machine can run, slowest first.
    pub(crate) fn all() -> Vec<Self> {
        #[allow(unused_mut, reason = "changed on x86-64 only")]
        let mut all = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(x86::Avx2::detect().map(Self::Avx2));
            all.extend(x86::Avx512::detect().map(Self::Avx512));
        }
        all
    }

    /// The first panel from `from` on with a code that differs from the query in fewer than
    /// `below` bits. `panels` holds whole panels of codes as long as the query.
    pub(crate) fn next(
        self,
        query: &[u64],
        panels: &[u64],
        from: usize,
        below: u64,
    ) -> Option<usize> {
        match self {
            Self::Portable => next(query, panels, from, below),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(it) => it.next(query, panels, from, below),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(it) => it.next(query, panels, from, below),
        }
    }

    /// The number of bits in which each code of a row-major list differs from the query.
    pub(crate) fn distances(self, query: &[u64], codes: &[u64], out: &mut [u32]) {
        match self {
            Self::Portable => distances(query, codes, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(it) => it.distances(query, codes, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(it) => it.distances(query, codes, out),
        }
    }
}

/// Appends the codes (row-major, `width` words each) as panels; a last one that is not full gets
/// codes of ones, whose distance the search never looks at.
pub(crate) fn pack(codes: &[u64], width: usize, panels: &mut Vec<u64>) {
    panels.clear();
    for rows in codes.chunks(PANEL * width) {
        let start = panels.len();
        panels.resize(start + PANEL * width, u64::MAX);
        let panel = &mut panels[start..];
        for (lane, code) in rows.chunks_exact(width).enumerate() {
            for (w, &word) in code.iter().enumerate() {
                panel[w * PANEL + lane] = word;
            }
        }
    }
}

/// The distances of the codes of one panel.
pub(crate) fn of_panel(query: &[u64], panel: &[u64]) -> [u64; PANEL] {
    let (words, _) = panel.as_chunks::<PANEL>();
    let mut sums = [0_u64; PANEL];
    for (word, &own) in words.iter().zip(query) {
        for (sum, &code) in sums.iter_mut().zip(word) {
            *sum += u64::from((code ^ own).count_ones());
        }
    }
    sums
}

/// Codes whose counts are held in registers at a time.
const LANES: usize = 8;

#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn next(query: &[u64], panels: &[u64], from: usize, below: u64) -> Option<usize> {
    // A number of words that is known beforehand is a loop that is rolled out.
    match *query {
        [a] => next_of([a], panels, from, below),
        [a, b] => next_of([a, b], panels, from, below),
        [a, b, c] => next_of([a, b, c], panels, from, below),
        [a, b, c, d] => next_of([a, b, c, d], panels, from, below),
        _ => {
            let size = PANEL * query.len();
            let found = panels[from * size..].chunks_exact(size).position(|panel| {
                let (words, _) = panel.as_chunks::<PANEL>();
                let mut any = false;
                for lane in (0..PANEL).step_by(LANES) {
                    let mut sums = [0_u64; LANES];
                    for (word, &own) in words.iter().zip(query) {
                        for (sum, &code) in sums.iter_mut().zip(&word[lane..lane + LANES]) {
                            *sum += u64::from((code ^ own).count_ones());
                        }
                    }
                    for sum in sums {
                        any |= sum < below;
                    }
                }
                any
            });
            found.map(|p| from + p)
        }
    }
}

#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn next_of<const W: usize>(
    query: [u64; W],
    panels: &[u64],
    from: usize,
    below: u64,
) -> Option<usize> {
    let (words, _) = panels.as_chunks::<PANEL>();
    let (panels, _) = words.as_chunks::<W>();
    let found = panels[from..].iter().position(|panel| {
        let mut any = false;
        for lane in 0..PANEL {
            let mut sum = 0;
            for (word, own) in panel.iter().zip(query) {
                sum += u64::from((word[lane] ^ own).count_ones());
            }
            any |= sum < below;
        }
        any
    });
    found.map(|p| from + p)
}

#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn distances(query: &[u64], codes: &[u64], out: &mut [u32]) {
    match *query {
        [a] => distances_of([a], codes, out),
        [a, b] => distances_of([a, b], codes, out),
        [a, b, c, d] => distances_of([a, b, c, d], codes, out),
        _ => {
            for (out, code) in out.iter_mut().zip(codes.chunks_exact(query.len())) {
                let words = code.iter().zip(query);
                *out = words.map(|(a, b)| (a ^ b).count_ones()).sum();
            }
        }
    }
}

#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn distances_of<const W: usize>(query: [u64; W], codes: &[u64], out: &mut [u32]) {
    let (codes, _) = codes.as_chunks::<W>();
    for (out, code) in out.iter_mut().zip(codes) {
        let mut sum = 0;
        for (code, own) in code.iter().zip(query) {
            sum += (code ^ own).count_ones();
        }
        *out = sum;
    }
}

/// Copies of the loops for instructions that not every machine has.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the call into detected features")]
mod x86 {
    macro_rules! level {
        ($(#[$doc:meta])* $name:ident, $module:ident, $features:tt, $($detect:tt),+) => {
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub(crate) struct $name(());

            impl $name {
                pub(super) fn detect() -> Option<Self> {
                    let found = $(is_x86_feature_detected!($detect))&&+;
                    found.then_some(Self(()))
                }

                pub(super) fn next(
                    self,
                    query: &[u64],
                    panels: &[u64],
                    from: usize,
                    below: u64,
                ) -> Option<usize> {
                    // SAFETY: `self` exists, so the machine has the features of the function.
                    unsafe { $module::next(query, panels, from, below) }
                }

                pub(super) fn distances(self, query: &[u64], codes: &[u64], out: &mut [u32]) {
                    // SAFETY: `self` exists, so the machine has the features of the function.
                    unsafe { $module::distances(query, codes, out) }
                }
            }

            mod $module {
                #[target_feature(enable = $features)]
                pub(super) fn next(
                    query: &[u64],
                    panels: &[u64],
                    from: usize,
                    below: u64,
                ) -> Option<usize> {
                    super::super::next(query, panels, from, below)
                }

                #[target_feature(enable = $features)]
                pub(super) fn distances(query: &[u64], codes: &[u64], out: &mut [u32]) {
                    super::super::distances(query, codes, out);
                }
            }
        };
    }

    level!(
        /// Proof that this machine has AVX2 and POPCNT: made by `detect` only.
        Avx2, avx2, "avx2,popcnt", "avx2", "popcnt"
    );
    level!(
        /// Proof that this machine has AVX-512 F, VL and VPOPCNTDQ: made by `detect` only.
        Avx512, avx512, "avx512f,avx512vl,avx512vpopcntdq,popcnt",
        "avx512f", "avx512vl", "avx512vpopcntdq", "popcnt"
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::random;
    use super::*;

    proptest! {
        #[test]
        fn all_kernels_agree_with_counts(
            n in 0_usize..150, bits in 1_usize..300, sparse in 1_u32..20, seed in 0_u64..99,
        ) {
            let codes = random(n + 1, bits, sparse + 1, seed);
            let query = codes.row(n);
            let naive: Vec<u32> = (0..n).map(|i| codes.distance(i, n)).collect();
            let words = &codes.words()[..n * codes.width()];
            let mut panels = Vec::new();
            pack(words, codes.width(), &mut panels);
            let below = naive.iter().min().map_or(0, |least| u64::from(*least) + seed % 3);
            let expected: Vec<usize> = (naive.chunks(PANEL).enumerate())
                .filter(|(_, d)| d.iter().any(|&d| u64::from(d) < below))
                .map(|(p, _)| p)
                .collect();
            for kernel in Kernel::all() {
                let mut found = vec![0; n];
                kernel.distances(query, words, &mut found);
                prop_assert_eq!(&found, &naive);
                let mut hits = Vec::new();
                let mut from = 0;
                while let Some(p) = kernel.next(query, &panels, from, below) {
                    hits.push(p);
                    from = p + 1;
                }
                // The padding of the last panel may seem near.
                if n % PANEL != 0 && hits.last() != expected.last() {
                    prop_assert_eq!(hits.pop(), Some(n / PANEL));
                }
                prop_assert_eq!(&hits, &expected);
            }
            for (p, panel) in panels.chunks_exact(PANEL * codes.width()).enumerate() {
                for (lane, d) in of_panel(query, panel).into_iter().enumerate() {
                    if let Some(&naive) = naive.get(p * PANEL + lane) {
                        prop_assert_eq!(d, u64::from(naive));
                    }
                }
            }
        }
    }
}
