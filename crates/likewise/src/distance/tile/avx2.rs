//! The kernels in AVX2 with FMA: the tile is done in four parts of 6 x 16, each with
//! twelve accumulators of 8 lanes, of 16 registers.
#![allow(
    unsafe_code,
    reason = "vector loads, stores and the call into detected features"
)]

use std::arch::x86_64::{
    __m256, __m256i, _CMP_GT_OQ, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm_set1_epi32,
    _mm256_add_epi32, _mm256_add_ps, _mm256_cmp_ps, _mm256_cvtepi8_epi16, _mm256_cvtepi32_ps,
    _mm256_cvtepu8_epi16, _mm256_fmadd_ps, _mm256_hadd_epi32, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_movemask_ps, _mm256_permute4x64_epi64, _mm256_set1_epi32,
    _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_storeu_ps,
};

use super::shape::{COLUMNS, Limits, PAIR, QUAD, Quantized, ROWS, Tile, both};

/// Lanes of a register.
const LANES: usize = 8;
/// Rows of a part.
const DOWN: usize = 6;
/// Registers across a tile, and across a part.
const ACROSS: usize = COLUMNS / LANES;
const PART: usize = 2;

/// Proof that this machine has the instructions: made by [`detect`](Self::detect) only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Available(());

#[expect(
    clippy::unused_self,
    reason = "the value is the proof that its methods may be called"
)]
impl Available {
    pub(super) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        found.then_some(Self(()))
    }

    pub(super) fn f32(
        self,
        queries: &[[f32; ROWS]],
        items: &[[f32; COLUMNS]],
        rows: Limits<ROWS>,
        columns: Limits<COLUMNS>,
        tile: &mut Tile,
    ) -> bool {
        // SAFETY: `self` exists, so the machine has the features of the function.
        unsafe { f32(queries, items, rows, columns, tile) }
    }

    pub(super) fn i16(
        self,
        queries: &[[[i16; PAIR]; ROWS]],
        items: &[[[i16; PAIR]; COLUMNS]],
        rows: Limits<ROWS>,
        columns: Limits<COLUMNS>,
        tile: &mut Tile,
    ) -> bool {
        // SAFETY: `self` exists, so the machine has the features of the function.
        unsafe { i16(queries, items, rows, columns, tile) }
    }

    pub(super) fn i8(
        self,
        queries: &[[[u8; QUAD]; ROWS]],
        items: Quantized,
        rows: Limits<ROWS>,
        columns: Limits<COLUMNS>,
        tile: &mut Tile,
    ) -> bool {
        // SAFETY: `self` exists, so the machine has the features of the function.
        unsafe { i8(queries, items, rows, columns, tile) }
    }

    pub(super) fn dots(self, query: &[f32], rows: &[&[f32]]) -> Vec<f32> {
        // SAFETY: `self` exists, so the machine has the features of the function.
        unsafe { chains(query, rows, f32::mul_add) }
    }

    pub(super) fn squares(self, query: &[f32], rows: &[&[f32]]) -> Vec<f32> {
        // SAFETY: `self` exists, so the machine has the features of the function.
        unsafe { chains(query, rows, |q, x, sum| (q - x).mul_add(q - x, sum)) }
    }
}

/// Asks for a row that is needed soon: candidates lie all over the data, and waiting for
/// each cache line in turn takes longer than the arithmetic.
fn prefetch(row: &[f32]) {
    const LINE: usize = 16;
    for line in row.chunks(LINE) {
        // SAFETY: a hint without effect on memory; the address is that of a live slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
    }
}

/// Sums along the dimensions, eight rows at a time: each sum waits for its last step, so
/// several must run beside each other.
#[target_feature(enable = "avx2,fma")]
fn chains(query: &[f32], rows: &[&[f32]], step: impl Fn(f32, f32, f32) -> f32) -> Vec<f32> {
    let mut sums = vec![0.0; rows.len()];
    let d = query.len();
    let (groups, rest) = rows.as_chunks::<LANES>();
    let (sums8, sums1) = sums.as_chunks_mut::<LANES>();
    for (at, (group, sums)) in groups.iter().zip(sums8).enumerate() {
        groups
            .get(at + 1)
            .into_iter()
            .flatten()
            .for_each(|row| prefetch(row));
        let rows = group.map(|row| &row[..d]);
        for (c, &q) in query.iter().enumerate() {
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = step(q, row[c], *sum);
            }
        }
    }
    for (row, sum) in rest.iter().zip(sums1) {
        *sum = query
            .iter()
            .zip(*row)
            .fold(0.0, |sum, (&q, &x)| step(q, x, sum));
    }
    sums
}

#[target_feature(enable = "avx2,fma")]
fn load(x: &[f32; LANES]) -> __m256 {
    // SAFETY: the reference guarantees 8 readable values; the load needs no alignment.
    unsafe { _mm256_loadu_ps(x.as_ptr()) }
}

#[target_feature(enable = "avx2,fma")]
fn store(x: &mut [f32; LANES], value: __m256) {
    // SAFETY: the reference guarantees 8 writable values; the store needs no alignment.
    unsafe { _mm256_storeu_ps(x.as_mut_ptr(), value) }
}

/// A row of 32 in registers of eight.
fn eighths(x: &[f32; COLUMNS]) -> &[[f32; LANES]; ACROSS] {
    let (parts, _) = x.as_chunks::<LANES>();
    parts.first_chunk().expect("32 values are four times eight")
}

#[target_feature(enable = "avx2,fma")]
fn f32(
    queries: &[[f32; ROWS]],
    items: &[[f32; COLUMNS]],
    rows: Limits<ROWS>,
    columns: Limits<COLUMNS>,
    tile: &mut Tile,
) -> bool {
    for down in [0, DOWN] {
        for across in [0, PART] {
            let mut sums = [[_mm256_setzero_ps(); PART]; DOWN];
            for (query, item) in queries.iter().zip(items) {
                let item = eighths(item);
                let (left, right) = (load(&item[across]), load(&item[across + 1]));
                for (r, sum) in sums.iter_mut().enumerate() {
                    let q = _mm256_set1_ps(query[down + r]);
                    sum[0] = _mm256_fmadd_ps(q, left, sum[0]);
                    sum[1] = _mm256_fmadd_ps(q, right, sum[1]);
                }
            }
            for (r, sum) in sums.into_iter().enumerate() {
                let (parts, _) = tile.values[down + r].as_chunks_mut::<LANES>();
                for (part, sum) in parts[across..].iter_mut().zip(sum) {
                    store(part, sum);
                }
            }
        }
    }
    compare(rows, columns, tile)
}

/// Eight items of two dimensions.
#[target_feature(enable = "avx2,fma")]
fn load_i16(x: &[[i16; PAIR]; LANES]) -> __m256i {
    // SAFETY: the reference guarantees 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma")]
fn i16(
    queries: &[[[i16; PAIR]; ROWS]],
    items: &[[[i16; PAIR]; COLUMNS]],
    rows: Limits<ROWS>,
    columns: Limits<COLUMNS>,
    tile: &mut Tile,
) -> bool {
    for down in [0, DOWN] {
        for across in [0, PART] {
            let mut sums = [[_mm256_setzero_si256(); PART]; DOWN];
            for (query, item) in queries.iter().zip(items) {
                let (eights, _) = item.as_chunks::<LANES>();
                let (left, right) = (load_i16(&eights[across]), load_i16(&eights[across + 1]));
                for (r, sum) in sums.iter_mut().enumerate() {
                    let q = _mm256_set1_epi32(both(query[down + r]));
                    sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(q, left));
                    sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(q, right));
                }
            }
            for (r, sum) in sums.into_iter().enumerate() {
                let (parts, _) = tile.values[down + r].as_chunks_mut::<LANES>();
                for (part, sum) in parts[across..].iter_mut().zip(sum) {
                    store(part, _mm256_cvtepi32_ps(sum));
                }
            }
        }
    }
    compare(rows, columns, tile)
}

/// Four items of four dimensions as 16-bit numbers.
#[target_feature(enable = "avx2,fma")]
fn widen(x: &[[i8; QUAD]; 4]) -> __m256i {
    // SAFETY: the reference guarantees 16 readable bytes; the load needs no alignment.
    _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(x.as_ptr().cast()) })
}

/// In parts of 6 x 8. The products of two dimensions are added by one instruction, so each
/// item has two sums, which are joined at the end.
#[target_feature(enable = "avx2,fma")]
fn i8(
    queries: &[[[u8; QUAD]; ROWS]],
    items: Quantized,
    rows: Limits<ROWS>,
    columns: Limits<COLUMNS>,
    tile: &mut Tile,
) -> bool {
    for down in [0, DOWN] {
        for across in 0..ACROSS {
            let mut sums = [[_mm256_setzero_si256(); PART]; DOWN];
            for (query, item) in queries.iter().zip(items.steps) {
                let (fours, _) = item.as_chunks::<4>();
                let left = widen(&fours[2 * across]);
                let right = widen(&fours[2 * across + 1]);
                for (r, sum) in sums.iter_mut().enumerate() {
                    let q = _mm_set1_epi32(i32::from_le_bytes(query[down + r]));
                    let q = _mm256_cvtepu8_epi16(q);
                    sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(q, left));
                    sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(q, right));
                }
            }
            for (r, sum) in sums.into_iter().enumerate() {
                // Adds neighbours within each half; the halves are then put in order.
                let joined = _mm256_hadd_epi32(sum[0], sum[1]);
                let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(joined);
                let values = _mm256_cvtepi32_ps(_mm256_add_epi32(
                    ordered,
                    load_i32(&items.correction.as_chunks::<LANES>().0[across]),
                ));
                let (parts, _) = tile.values[down + r].as_chunks_mut::<LANES>();
                store(&mut parts[across], values);
            }
        }
    }
    compare(rows, columns, tile)
}

#[target_feature(enable = "avx2,fma")]
fn load_i32(x: &[i32; LANES]) -> __m256i {
    // SAFETY: the reference guarantees 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(x.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma")]
fn compare(rows: Limits<ROWS>, columns: Limits<COLUMNS>, tile: &mut Tile) -> bool {
    let (thresholds, biases) = (eighths(columns.threshold), eighths(columns.bias));
    let mut any = 0;
    for r in 0..ROWS {
        let (row_threshold, row_bias) = (
            _mm256_set1_ps(rows.threshold[r]),
            _mm256_set1_ps(rows.bias[r]),
        );
        let (mut row, mut column) = (0_u32, 0_u32);
        for (h, sum) in eighths(&tile.values[r]).iter().enumerate() {
            let sum = load(sum);
            let candidate = _mm256_add_ps(sum, load(&biases[h]));
            let found = _mm256_cmp_ps::<_CMP_GT_OQ>(candidate, row_threshold);
            row |= (_mm256_movemask_ps(found) as u32) << (h * LANES);
            let candidate = _mm256_add_ps(sum, row_bias);
            let found = _mm256_cmp_ps::<_CMP_GT_OQ>(candidate, load(&thresholds[h]));
            column |= (_mm256_movemask_ps(found) as u32) << (h * LANES);
        }
        (tile.rows[r], tile.columns[r]) = (row, column);
        any |= row | column;
    }
    any != 0
}
