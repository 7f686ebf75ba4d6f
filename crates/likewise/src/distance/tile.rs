//! Similarities of 12 queries with 32 items at a time, held in registers.
//!
//! The kernels under everything that searches for nearest neighbours. A tile is computed
//! in registers and compared with thresholds there; only a tile with a value above one of
//! them is written out. So no block of similarities ever goes through memory.
//!
//! One tile serves both directions: its rows are queries among the columns, and its
//! columns are queries among the rows ([`Limits`] on both sides). When all items are
//! compared with each other this halves the work.
//!
//! Three precisions: `f32`, one fused multiply-add after the other along the dimensions, so
//! that a pair has the same bits wherever it stands and whichever of the two is the query;
//! and `i16` and `i8`, exact integers (in `i8` the queries are shifted by 128 to be
//! unsigned).
//!
//! Which instructions are used is decided at run time: AVX-512 with VNNI, AVX2 with FMA, or
//! portable code. The portable integer kernels give the same
//! numbers; the portable `f32` kernel rounds after the multiplication and agrees to about
//! `d` units in the last place.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
mod shape;

pub(crate) use shape::{COLUMNS, Limits, PAIR, QUAD, Quantized, ROWS, SHIFT, Tile};

/// The instructions that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// Any machine.
    Portable,
    /// Exists only where the machine has AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Available),
    /// Exists only where the machine has AVX-512 F, BW and VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Available),
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
            all.extend(avx2::Available::detect().map(Self::Avx2));
            all.extend(avx512::Available::detect().map(Self::Avx512));
        }
        all
    }

    /// Name for reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
        }
    }

    /// Whether the `i16` kernel is faster than the `f32` kernel.
    pub(crate) fn prefers_i16(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => true,
            _ => false,
        }
    }

    /// Products of 12 queries with 32 items, given dimension by dimension. Fills `tile` and
    /// says so if one exceeds a threshold. Dimensions past the shorter side are ignored.
    pub(crate) fn f32(
        self,
        queries: &[[f32; ROWS]],
        items: &[[f32; COLUMNS]],
        rows: Limits<ROWS>,
        columns: Limits<COLUMNS>,
        tile: &mut Tile,
    ) -> bool {
        match self {
            Self::Portable => portable::f32(queries, items, rows, columns, tile),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(it) => it.f32(queries, items, rows, columns, tile),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(it) => it.f32(queries, items, rows, columns, tile),
        }
    }

    /// Inner products of a query with rows of its length, with the bits that the `f32`
    /// kernel gives.
    pub(crate) fn dots(self, query: &[f32], rows: &[&[f32]]) -> Vec<f32> {
        match self {
            Self::Portable => portable::dots(query, rows),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(it) => it.dots(query, rows),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(it) => it.with_avx2().dots(query, rows),
        }
    }

    /// Squared Euclidean distances of a query to rows of its length.
    pub(crate) fn squares(self, query: &[f32], rows: &[&[f32]]) -> Vec<f32> {
        match self {
            Self::Portable => portable::squares(query, rows),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(it) => it.squares(query, rows),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(it) => it.with_avx2().squares(query, rows),
        }
    }

    /// As [`f32`](Self::f32) in sixteen bits, two dimensions a step. The lengths of a query
    /// and an item must have a product below 2^31: then no sum overflows, nor does a part
    /// of one.
    pub(crate) fn i16(
        self,
        queries: &[[[i16; PAIR]; ROWS]],
        items: &[[[i16; PAIR]; COLUMNS]],
        rows: Limits<ROWS>,
        columns: Limits<COLUMNS>,
        tile: &mut Tile,
    ) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(it) => it.i16(queries, items, rows, columns, tile),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(it) => it.i16(queries, items, rows, columns, tile),
            Self::Portable => portable::i16(queries, items, rows, columns, tile),
        }
    }

    /// As [`f32`](Self::f32) in eight bits.
    pub(crate) fn i8(
        self,
        queries: &[[[u8; QUAD]; ROWS]],
        items: Quantized,
        rows: Limits<ROWS>,
        columns: Limits<COLUMNS>,
        tile: &mut Tile,
    ) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(it) => it.i8(queries, items, rows, columns, tile),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(it) => it.i8(queries, items, rows, columns, tile),
            Self::Portable => portable::i8(queries, items, rows, columns, tile),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed;
    use proptest::prelude::*;
    use rand::RngExt;

    /// Random operands; small integers where `exact`, so that no product rounds.
    struct Case {
        queries: Vec<[f32; ROWS]>,
        items: Vec<[f32; COLUMNS]>,
        queries8: Vec<[[u8; QUAD]; ROWS]>,
        items8: Vec<[[i8; QUAD]; COLUMNS]>,
        correction: [i32; COLUMNS],
        queries16: Vec<[[i16; PAIR]; ROWS]>,
        items16: Vec<[[i16; PAIR]; COLUMNS]>,
        row: ([f32; ROWS], [f32; ROWS]),
        column: ([f32; COLUMNS], [f32; COLUMNS]),
    }

    fn case(d: usize, exact: bool, seed: u64) -> Case {
        let mut rng = seed::stream(seed, "tile test");
        let mut value = |scale: f32| {
            let v = scale * (rng.random::<f32>() - 0.5);
            if exact { v.round() } else { v }
        };
        let queries = (0..d)
            .map(|_| std::array::from_fn(|_| value(16.0)))
            .collect();
        let items = (0..d)
            .map(|_| std::array::from_fn(|_| value(16.0)))
            .collect();
        let row = (
            std::array::from_fn(|_| value(120.0)),
            std::array::from_fn(|_| value(9.0)),
        );
        let column = (
            std::array::from_fn(|_| value(120.0)),
            std::array::from_fn(|_| value(9.0)),
        );
        let steps = d.div_ceil(QUAD);
        let queries8 = (0..steps)
            .map(|_| std::array::from_fn(|_| std::array::from_fn(|_| rng.random::<u8>())))
            .collect();
        let items8: Vec<[[i8; QUAD]; COLUMNS]> = (0..steps)
            .map(|_| std::array::from_fn(|_| std::array::from_fn(|_| rng.random::<i8>())))
            .collect();
        let correction = std::array::from_fn(|c| {
            -SHIFT * items8.iter().flat_map(|s| s[c]).map(i32::from).sum::<i32>()
        });
        // The largest values at which 70 dimensions do not overflow.
        let mut value16 = || rng.random_range(-5000_i16..=5000);
        let queries16 = (0..d.div_ceil(PAIR))
            .map(|_| std::array::from_fn(|_| std::array::from_fn(|_| value16())))
            .collect();
        let items16 = (0..d.div_ceil(PAIR))
            .map(|_| std::array::from_fn(|_| std::array::from_fn(|_| value16())))
            .collect();
        Case {
            queries,
            items,
            queries8,
            items8,
            correction,
            queries16,
            items16,
            row,
            column,
        }
    }

    impl Case {
        fn limits(&self) -> (Limits<'_, ROWS>, Limits<'_, COLUMNS>) {
            (
                Limits {
                    threshold: &self.row.0,
                    bias: &self.row.1,
                },
                Limits {
                    threshold: &self.column.0,
                    bias: &self.column.1,
                },
            )
        }

        fn f32(&self, kernel: Kernel) -> (bool, Tile) {
            let mut tile = Tile::new();
            let (rows, columns) = self.limits();
            (
                kernel.f32(&self.queries, &self.items, rows, columns, &mut tile),
                tile,
            )
        }

        fn i16(&self, kernel: Kernel) -> (bool, Tile) {
            let mut tile = Tile::new();
            let (rows, columns) = self.limits();
            let found = kernel.i16(&self.queries16, &self.items16, rows, columns, &mut tile);
            (found, tile)
        }

        fn i8(&self, kernel: Kernel) -> (bool, Tile) {
            let mut tile = Tile::new();
            let (rows, columns) = self.limits();
            let items = Quantized {
                steps: &self.items8,
                correction: &self.correction,
            };
            (
                kernel.i8(&self.queries8, items, rows, columns, &mut tile),
                tile,
            )
        }
    }

    #[test]
    fn by_hand() {
        // Query r is (r, 1), item c is (c, 2): the product is r c + 2.
        let queries = [std::array::from_fn(|r| r as f32), [1.0; ROWS]];
        let items = [std::array::from_fn(|c| c as f32), [2.0; COLUMNS]];
        let (mut high, none) = ([f32::INFINITY; ROWS], [f32::INFINITY; COLUMNS]);
        high[11] = 11.0 * 31.0 + 2.0; // strictly above: the largest product alone is not.
        high[3] = 90.0;
        for kernel in Kernel::all() {
            let mut tile = Tile::new();
            let rows = Limits {
                threshold: &high,
                bias: &[0.0; ROWS],
            };
            let columns = Limits {
                threshold: &none,
                bias: &[0.0; COLUMNS],
            };
            assert!(kernel.f32(&queries, &items, rows, columns, &mut tile));
            assert_eq!(tile.values[11][31].to_bits(), 343_f32.to_bits());
            let mut expected = [0; ROWS];
            expected[3] = 0b11 << 30; // 3 x 30 + 2 and 3 x 31 + 2
            assert_eq!(tile.rows, expected, "{}", kernel.name());
            assert_eq!(tile.columns, [0; ROWS]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_kernel_equals_the_portable_one(d in 0_usize..70, seed in 0_u64..10_000) {
            let exact = case(d, true, seed);
            let rounded = case(d, false, seed);
            let (hit, tile) = exact.f32(Kernel::Portable);
            let (hit8, tile8) = exact.i8(Kernel::Portable);
            let (hit16, tile16) = exact.i16(Kernel::Portable);
            for kernel in Kernel::all() {
                let (found16, got16) = exact.i16(kernel);
                prop_assert_eq!(found16, hit16);
                if hit16 {
                    prop_assert_eq!((got16.values, got16.rows, got16.columns), (tile16.values, tile16.rows, tile16.columns));
                }
                let (found, got) = exact.f32(kernel);
                prop_assert_eq!(found, hit);
                let (found8, got8) = exact.i8(kernel);
                prop_assert_eq!(found8, hit8);
                if hit {
                    prop_assert_eq!((got.values, got.rows, got.columns), (tile.values, tile.rows, tile.columns));
                }
                if hit8 {
                    prop_assert_eq!((got8.values, got8.rows, got8.columns), (tile8.values, tile8.rows, tile8.columns));
                }
                let (a, b) = (rounded.f32(kernel), rounded.f32(Kernel::Portable));
                if a.0 && b.0 {
                    let pairs = a.1.values.as_flattened().iter().zip(b.1.values.as_flattened());
                    for (a, b) in pairs {
                        prop_assert!((a - b).abs() <= 1e-3);
                    }
                }
            }
        }

        #[test]
        fn products_and_masks_are_right(d in 0_usize..40, seed in 0_u64..10_000) {
            let case = case(d, true, seed);
            let (hit, tile) = case.f32(Kernel::Portable);
            let (hit8, tile8) = case.i8(Kernel::Portable);
            let (hit16, tile16) = case.i16(Kernel::Portable);
            let (rows, columns) = case.limits();
            let (mut any, mut any8, mut any16) = (false, false, false);
            for r in 0..ROWS {
                for c in 0..COLUMNS {
                    let dot: f32 = case.queries.iter().zip(&case.items).map(|(q, x)| q[r] * x[c]).sum();
                    let dot8: i32 = case.queries8.iter().zip(&case.items8)
                        .flat_map(|(q, x)| (0..QUAD).map(move |e| (i32::from(q[r][e]) - SHIFT) * i32::from(x[c][e])))
                        .sum();
                    let dot16: i32 = case.queries16.iter().zip(&case.items16)
                        .flat_map(|(q, x)| (0..PAIR).map(move |e| i32::from(q[r][e]) * i32::from(x[c][e])))
                        .sum();
                    let of_each = [
                        (hit, &tile, dot, &mut any),
                        (hit8, &tile8, dot8 as f32, &mut any8),
                        (hit16, &tile16, dot16 as f32, &mut any16),
                    ];
                    for (hit, tile, dot, any) in of_each {
                        let row = dot + columns.bias[c] > rows.threshold[r];
                        let column = dot + rows.bias[r] > columns.threshold[c];
                        *any |= row || column;
                        if hit {
                            prop_assert!((tile.values[r][c] - dot).abs() == 0.0);
                            prop_assert_eq!(tile.rows[r] >> c & 1 == 1, row);
                            prop_assert_eq!(tile.columns[r] >> c & 1 == 1, column);
                        }
                    }
                }
            }
            prop_assert_eq!((hit, hit8, hit16), (any, any8, any16));
        }
    }
}
