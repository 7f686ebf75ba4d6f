//! The kernels in AVX-512: 24 accumulators of 16 lanes, two item registers, and one
//! broadcast value, of 32 registers.
#![allow(
    unsafe_code,
    reason = "vector loads, stores and the call into detected features"
)]

use std::arch::x86_64::{
    __m512, __m512i, __mmask16, _CMP_GT_OQ, _mm512_add_ps, _mm512_cmp_ps_mask, _mm512_cvtepi32_ps,
    _mm512_dpbusd_epi32, _mm512_dpwssd_epi32, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_loadu_si512,
    _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_storeu_ps,
};

use super::avx2;
use super::shape::{COLUMNS, Limits, PAIR, QUAD, Quantized, ROWS, Tile, both};

/// Lanes of a register.
const LANES: usize = 16;
/// Registers across a tile.
const ACROSS: usize = COLUMNS / LANES;

/// Proof that this machine has the instructions: made by [`detect`](Self::detect) only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Available(avx2::Available);

#[expect(
    clippy::unused_self,
    reason = "the value is the proof that its methods may be called"
)]
impl Available {
    pub(super) fn detect() -> Option<Self> {
        let narrow = avx2::Available::detect()?;
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vnni");
        found.then_some(Self(narrow))
    }

    /// The narrower instructions, which every such machine has too.
    pub(super) fn with_avx2(self) -> avx2::Available {
        self.0
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
}

#[target_feature(enable = "avx512f")]
fn load(x: &[f32; LANES]) -> __m512 {
    // SAFETY: the reference guarantees 16 readable values; the load needs no alignment.
    unsafe { _mm512_loadu_ps(x.as_ptr()) }
}

#[target_feature(enable = "avx512f")]
fn load_i32(x: &[i32; LANES]) -> __m512i {
    // SAFETY: the reference guarantees 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(x.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn load_i8(x: &[[i8; QUAD]; LANES]) -> __m512i {
    // SAFETY: the reference guarantees 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(x.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn load_i16(x: &[[i16; PAIR]; LANES]) -> __m512i {
    // SAFETY: the reference guarantees 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(x.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn store(x: &mut [f32; LANES], value: __m512) {
    // SAFETY: the reference guarantees 16 writable values; the store needs no alignment.
    unsafe { _mm512_storeu_ps(x.as_mut_ptr(), value) }
}

/// The two halves of a row of 32.
fn halves<T>(x: &[T; COLUMNS]) -> &[[T; LANES]; ACROSS] {
    let (halves, _) = x.as_chunks::<LANES>();
    halves.first_chunk().expect("32 values are two halves")
}

#[target_feature(enable = "avx512f")]
fn f32(
    queries: &[[f32; ROWS]],
    items: &[[f32; COLUMNS]],
    rows: Limits<ROWS>,
    columns: Limits<COLUMNS>,
    tile: &mut Tile,
) -> bool {
    let mut sums = [[_mm512_setzero_ps(); ACROSS]; ROWS];
    for (query, item) in queries.iter().zip(items) {
        let [left, right] = halves(item);
        let (left, right) = (load(left), load(right));
        for (sum, &q) in sums.iter_mut().zip(query) {
            let q = _mm512_set1_ps(q);
            sum[0] = _mm512_fmadd_ps(q, left, sum[0]);
            sum[1] = _mm512_fmadd_ps(q, right, sum[1]);
        }
    }
    compare(&sums, rows, columns, tile)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn i16(
    queries: &[[[i16; PAIR]; ROWS]],
    items: &[[[i16; PAIR]; COLUMNS]],
    rows: Limits<ROWS>,
    columns: Limits<COLUMNS>,
    tile: &mut Tile,
) -> bool {
    let mut sums = [[_mm512_setzero_si512(); ACROSS]; ROWS];
    for (query, item) in queries.iter().zip(items) {
        let [left, right] = halves(item);
        let (left, right) = (load_i16(left), load_i16(right));
        for (sum, &q) in sums.iter_mut().zip(query) {
            let q = _mm512_set1_epi32(both(q));
            sum[0] = _mm512_dpwssd_epi32(sum[0], q, left);
            sum[1] = _mm512_dpwssd_epi32(sum[1], q, right);
        }
    }
    let mut values = [[_mm512_setzero_ps(); ACROSS]; ROWS];
    for (value, sum) in values.iter_mut().zip(sums) {
        *value = [_mm512_cvtepi32_ps(sum[0]), _mm512_cvtepi32_ps(sum[1])];
    }
    compare(&values, rows, columns, tile)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn i8(
    queries: &[[[u8; QUAD]; ROWS]],
    items: Quantized,
    rows: Limits<ROWS>,
    columns: Limits<COLUMNS>,
    tile: &mut Tile,
) -> bool {
    let start = halves(items.correction);
    let mut sums = [[load_i32(&start[0]), load_i32(&start[1])]; ROWS];
    for (query, item) in queries.iter().zip(items.steps) {
        let [left, right] = halves(item);
        let (left, right) = (load_i8(left), load_i8(right));
        for (sum, &q) in sums.iter_mut().zip(query) {
            let q = _mm512_set1_epi32(i32::from_le_bytes(q));
            sum[0] = _mm512_dpbusd_epi32(sum[0], q, left);
            sum[1] = _mm512_dpbusd_epi32(sum[1], q, right);
        }
    }
    let mut values = [[_mm512_setzero_ps(); ACROSS]; ROWS];
    for (value, sum) in values.iter_mut().zip(sums) {
        *value = [_mm512_cvtepi32_ps(sum[0]), _mm512_cvtepi32_ps(sum[1])];
    }
    compare(&values, rows, columns, tile)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn compare(
    sums: &[[__m512; ACROSS]; ROWS],
    rows: Limits<ROWS>,
    columns: Limits<COLUMNS>,
    tile: &mut Tile,
) -> bool {
    let (thresholds, biases) = (halves(columns.threshold), halves(columns.bias));
    let threshold = [load(&thresholds[0]), load(&thresholds[1])];
    let bias = [load(&biases[0]), load(&biases[1])];
    let mut any = 0;
    for (r, sum) in sums.iter().enumerate() {
        let (row_threshold, row_bias) = (
            _mm512_set1_ps(rows.threshold[r]),
            _mm512_set1_ps(rows.bias[r]),
        );
        let mut masks: [[__mmask16; ACROSS]; 2] = [[0; ACROSS]; 2];
        for h in 0..ACROSS {
            let candidate = _mm512_add_ps(sum[h], bias[h]);
            masks[0][h] = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(candidate, row_threshold);
            let candidate = _mm512_add_ps(sum[h], row_bias);
            masks[1][h] = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(candidate, threshold[h]);
        }
        let [row, column] = masks;
        let row = u32::from(row[0]) | u32::from(row[1]) << LANES;
        let column = u32::from(column[0]) | u32::from(column[1]) << LANES;
        (tile.rows[r], tile.columns[r]) = (row, column);
        any |= row | column;
    }
    if any == 0 {
        return false;
    }
    for (values, sum) in tile.values.iter_mut().zip(sums) {
        let (halves, _) = values.as_chunks_mut::<LANES>();
        for (half, sum) in halves.iter_mut().zip(sum) {
            store(half, *sum);
        }
    }
    true
}
