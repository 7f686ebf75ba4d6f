//! Negative edges (pairs found to be unlike) as scipy's sparse matrices.

use std::path::Path;

use crate::{Error, Result, atomic, graph};

/// Writes weighted pairs of `n` items as a symmetric CSR matrix (`.npz`), atomically.
///
/// Pair `p` joins items `rows[p]` and `columns[p]` with `weights[p]`. Each pair may be
/// given once or in both directions with the same weight; both entries are written.
/// `scipy.sparse.load_npz` reads it. Fails on lists of different lengths, items beyond
/// `n`, an item paired with itself, weights that are not finite, and pairs with two
/// weights. Costs O(m log m) for m pairs and 24 bytes an entry.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("negatives.npz");
/// likewise_io::negatives::write(&path, 3, &[0, 1], &[2, 2], &[0.5, 0.25])?;
/// assert_eq!(likewise_io::graph::read(&path)?.weight(2, 0), Some(0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(
    path: impl AsRef<Path>,
    n: usize,
    rows: &[u32],
    columns: &[u32],
    weights: &[f32],
) -> Result<()> {
    let path = path.as_ref();
    let entries = mirrored(n, rows, columns, weights).map_err(|e| e.within(path.display()))?;
    let mut indptr = vec![0; n + 1];
    for &(i, _, _) in &entries {
        indptr[i as usize + 1] += 1;
    }
    for i in 0..n {
        indptr[i + 1] += indptr[i];
    }
    let indices: Vec<u32> = entries.iter().map(|e| e.1).collect();
    let weights: Vec<f32> = entries.iter().map(|e| e.2).collect();
    atomic::write(path, |file| {
        graph::write_csr(file, n, &indptr, &indices, &weights, None)
    })
}

/// Both directions of every pair, in row order, each once.
fn mirrored(
    n: usize,
    rows: &[u32],
    columns: &[u32],
    weights: &[f32],
) -> Result<Vec<(u32, u32, f32)>> {
    if rows.len() != columns.len() || rows.len() != weights.len() {
        return Err(Error::parameter(format!(
            "{} rows, {} columns and {} weights; the lists must be as long",
            rows.len(),
            columns.len(),
            weights.len()
        )));
    }
    let mut entries = Vec::with_capacity(2 * rows.len());
    for (p, ((&i, &j), &w)) in rows.iter().zip(columns).zip(weights).enumerate() {
        let wrong = |what: &str| Error::value(format!("pair {p} ({i}, {j}) {what}"));
        if i.max(j) as usize >= n {
            return Err(wrong(&format!("names an item beyond the {n} there are")));
        }
        if i == j {
            return Err(wrong("joins an item with itself; remove it"));
        }
        if !w.is_finite() {
            return Err(wrong(&format!("has weight {w}; weights must be finite")));
        }
        entries.extend([(i, j, w), (j, i, w)]);
    }
    entries.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
    entries.dedup_by(|a, b| a.0 == b.0 && a.1 == b.1 && a.2.to_bits() == b.2.to_bits());
    let twice = entries
        .windows(2)
        .find(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1));
    match twice {
        Some(w) => Err(Error::value(format!(
            "pair ({}, {}) has weights {} and {}; keep one of them",
            w[0].0, w[0].1, w[0].2, w[1].2
        ))),
        None => Ok(entries),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_mirrored_once() {
        let entries = mirrored(3, &[0, 2, 1], &[2, 0, 2], &[0.5, 0.5, 1.0]).unwrap();
        let expected = [(0, 2, 0.5), (1, 2, 1.0), (2, 0, 0.5), (2, 1, 1.0)];
        assert_eq!(entries, expected);
        assert!(mirrored(3, &[], &[], &[]).unwrap().is_empty());
    }

    #[test]
    fn pairs_that_cannot_be_are_named() {
        let message =
            |n, i: &[u32], j: &[u32], w: &[f32]| mirrored(n, i, j, w).unwrap_err().to_string();
        assert!(message(2, &[0], &[2], &[1.0]).contains("beyond the 2"));
        assert!(message(2, &[1], &[1], &[1.0]).contains("itself"));
        assert!(message(2, &[0], &[1], &[f32::NAN]).contains("NaN"));
        assert!(message(2, &[0, 1], &[1, 0], &[1.0, 2.0]).contains("1 and 2"));
        assert!(message(2, &[0, 1], &[1], &[1.0]).contains("as long"));
    }
}
