//! Graphs as scipy's sparse matrices (CSR in `.npz`): `scipy.sparse.load_npz` reads what
//! is written here, and what `scipy.sparse.save_npz` writes is read.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use likewise::Graph;

use crate::budget::Budget;
use crate::input::Input;
use crate::npz::{Archive, Writer};
use crate::number::reserve;
use crate::{Error, ErrorKind, Result, atomic};

/// Writes a graph as a CSR matrix of `f32`, atomically. Equal graphs give equal bytes.
///
/// Arrays `data`, `indices`, `indptr`, `shape` and `format`; the indices are `i32` where
/// they fit, else `i64`, as scipy chooses them. Nothing is compressed. Costs 8 bytes an
/// entry on disk (12 with `i64`), no copy in memory.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("g.npz");
/// let graph = likewise::Graph::new(vec![0, 1, 2], vec![1, 0], vec![0.5, 0.5])?;
/// likewise_io::graph::write(&path, &graph)?;
/// assert_eq!(likewise_io::graph::read(&path)?, graph);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(path: impl AsRef<Path>, graph: &Graph) -> Result<()> {
    write_as(path, graph, None)
}

/// As [`write()`], with a text that tells what it is the graph of, in an array `of`.
pub fn write_of(path: impl AsRef<Path>, graph: &Graph, of: &str) -> Result<()> {
    write_as(path, graph, Some(of))
}

fn write_as(path: impl AsRef<Path>, graph: &Graph, of: Option<&str>) -> Result<()> {
    atomic::write(path, |file| {
        let (indptr, indices) = (graph.indptr(), graph.indices());
        write_csr(file, graph.n(), indptr, indices, graph.weights(), of)
    })
}

/// The graph that [`write_of`] wrote, where its text is this one; `None` for a graph of something else. Fails as
/// [`read`] does.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("g.npz");
/// let graph = likewise::Graph::new(vec![0, 1, 2], vec![1, 0], vec![0.5, 0.5])?;
/// likewise_io::graph::write_of(&path, &graph, "two items")?;
/// assert_eq!(likewise_io::graph::read_of(&path, "two items")?, Some(graph));
/// assert_eq!(likewise_io::graph::read_of(&path, "three items")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_of(path: impl AsRef<Path>, of: &str) -> Result<Option<Graph>> {
    let path = path.as_ref();
    let graph = || {
        let mut archive = Archive::open(Input::open(path)?, Budget::new(None))?;
        if !archive.has("of") || archive.words("of")?.concat() != of {
            return Ok(None);
        }
        from(archive).map(Some)
    };
    graph().map_err(|e: Error| e.within(path.display()))
}

pub(crate) fn write_csr(
    file: &mut BufWriter<File>,
    n: usize,
    indptr: &[usize],
    indices: &[u32],
    weights: &[f32],
    of: Option<&str>,
) -> Result<()> {
    let mut npz = Writer::new(file);
    if let Some(of) = of {
        npz.bytes("of", of.as_bytes())?;
    }
    let entries = indices.len();
    let columns = indices.iter().copied();
    let starts = indptr.iter().copied();
    // scipy wants both index arrays of one type.
    if i32::try_from(entries.max(n)).is_ok() {
        npz.numbers("indices", "<i4", &[entries], columns, u32::to_le_bytes)?;
        npz.numbers("indptr", "<i4", &[n + 1], starts, |p| {
            (p as u32).to_le_bytes()
        })?;
    } else {
        npz.numbers("indices", "<i8", &[entries], columns, |j| {
            u64::from(j).to_le_bytes()
        })?;
        npz.numbers("indptr", "<i8", &[n + 1], starts, |p| {
            (p as u64).to_le_bytes()
        })?;
    }
    npz.bytes("format", b"csr")?;
    npz.numbers("shape", "<i8", &[2], [n as u64; 2], u64::to_le_bytes)?;
    let data = weights.iter().copied();
    npz.numbers("data", "<f4", &[entries], data, f32::to_le_bytes)?;
    npz.finish()
}

/// Reads a graph written by [`write()`] or by `scipy.sparse.save_npz` (CSR or CSC).
///
/// Weights of any numeric type become `f32`; explicit zeros are dropped, on the diagonal
/// too; rows need not be sorted. Fails where the matrix is not square, not symmetric to the
/// bit, has negative weights or a diagonal, naming the entry. Costs O(entries log degree)
/// and 20 bytes an entry for a moment.
pub fn read(path: impl AsRef<Path>) -> Result<Graph> {
    let path = path.as_ref();
    let graph = || from(Archive::open(Input::open(path)?, Budget::new(None))?);
    graph().map_err(|e: Error| e.within(path.display()))
}

/// Reads a graph from bytes in memory; as [`read`], but messages do not name a file.
pub fn read_bytes(bytes: &[u8]) -> Result<Graph> {
    from(Archive::open(Input::memory(bytes), Budget::new(None))?)
}

fn from(mut archive: Archive) -> Result<Graph> {
    if !archive.has("format") {
        return Err(Error::format(
            "no array \"format\": not a sparse matrix; write it with scipy.sparse.save_npz",
        ));
    }
    let format = archive.words("format")?.concat();
    // A symmetric matrix is its own transpose, so CSC says the same as CSR.
    if format != "csr" && format != "csc" {
        return Err(Error::format(format!(
            "a sparse matrix of format \"{format}\"; convert it with .tocsr()"
        )));
    }
    let shape: Vec<i64> = archive.numbers("shape")?;
    let n = match shape[..] {
        [rows, columns] if rows == columns => usize::try_from(rows).ok(),
        _ => None,
    };
    let indptr: Vec<i64> = archive.numbers("indptr")?;
    let n = n
        .filter(|n| n.checked_add(1) == Some(indptr.len()))
        .ok_or_else(|| {
            Error::value(format!(
                "shape {shape:?} with {} row pointers; the matrix must be square, \
             with one pointer more than rows",
                indptr.len()
            ))
        })?;
    if u32::try_from(n).is_err() {
        return Err(Error::new(
            ErrorKind::Memory,
            format!("a graph of {n} nodes; at most 2^32 - 1 are supported"),
        ));
    }
    let columns: Vec<i64> = archive.numbers("indices")?;
    let weights: Vec<f32> = archive.numbers("data")?;
    if columns.len() != weights.len() {
        return Err(Error::value(format!(
            "{} indices, but {} values; they must agree",
            columns.len(),
            weights.len()
        )));
    }
    // Once more, in the types of the graph.
    archive.budget().values(n, 8)?;
    archive.budget().values(columns.len(), 8)?;
    clean(n, &indptr, &columns, &weights)
}

/// Drops zeros and sorts the rows; all else is checked by the graph itself.
fn clean(n: usize, indptr: &[i64], columns: &[i64], weights: &[f32]) -> Result<Graph> {
    let (mut starts, mut indices, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    reserve(&mut starts, n + 1)?;
    reserve(&mut indices, columns.len())?;
    reserve(&mut kept, columns.len())?;
    let mut row: Vec<(u32, f32)> = Vec::new();
    starts.push(0);
    for (i, ends) in indptr.windows(2).enumerate() {
        let span = usize::try_from(ends[0])
            .ok()
            .zip(usize::try_from(ends[1]).ok());
        let span = span.and_then(|(a, b)| Some((columns.get(a..b)?, weights.get(a..b)?)));
        let (columns, weights) = span.ok_or_else(|| {
            Error::value(format!(
                "row pointers {} and {} of row {i} do not ascend within the entries",
                ends[0], ends[1]
            ))
        })?;
        row.clear();
        for (&j, &w) in columns.iter().zip(weights) {
            let j = u32::try_from(j)
                .map_err(|_| Error::value(format!("row {i}: there is no column {j}")))?;
            if w != 0.0 {
                row.push((j, w));
            }
        }
        row.sort_by_key(|&(j, _)| j);
        indices.extend(row.iter().map(|&(j, _)| j));
        kept.extend(row.iter().map(|&(_, w)| w));
        starts.push(indices.len());
    }
    if indptr.first() != Some(&0) || indptr.last().copied() != Some(columns.len() as i64) {
        return Err(Error::value(format!(
            "row pointers must go from 0 to the number of entries ({})",
            columns.len()
        )));
    }
    Ok(Graph::new(starts, indices, kept)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(write: impl FnOnce(&Path) -> Result<()>) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.npz");
        write(&path).unwrap();
        std::fs::read(path).unwrap()
    }

    /// A CSR file of any content, symmetric or not.
    fn csr(n: usize, indptr: &[usize], indices: &[u32], weights: &[f32]) -> Vec<u8> {
        bytes(|path| atomic::write(path, |f| write_csr(f, n, indptr, indices, weights, None)))
    }

    #[test]
    fn zeros_and_a_zero_diagonal_are_dropped_and_rows_sorted() {
        let file = csr(
            3,
            &[0, 3, 4, 6],
            &[2, 0, 1, 0, 1, 0],
            &[0.5, 0.0, 0.25, 0.25, 0.0, 0.5],
        );
        let graph = read_bytes(&file).unwrap();
        assert_eq!(graph.indptr(), [0, 2, 3, 4]);
        assert_eq!(graph.indices(), [1, 2, 0, 0]);
        assert_eq!(graph.weights(), [0.25, 0.5, 0.25, 0.5]);
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        let message = |file: &[u8]| read_bytes(file).unwrap_err().to_string();
        assert!(message(&csr(2, &[0, 1, 1], &[1], &[1.0])).contains("mirror"));
        assert!(message(&csr(2, &[0, 1, 2], &[1, 0], &[-1.0; 2])).contains("weight -1"));
        assert!(message(&csr(1, &[0, 1], &[0], &[1.0])).contains("self edge"));
        assert!(message(&csr(2, &[0, 2, 1], &[1, 0], &[1.0; 2])).contains("ascend"));
        assert!(message(&csr(3, &[0, 1, 2], &[1, 0], &[1.0; 2])).contains("indptr"));
        assert!(message(&csr(2, &[0, 1, 2], &[1, u32::MAX], &[1.0; 2])).contains("column"));
        assert!(message(b"PK").contains("zip"));
        let dense = bytes(|path| {
            atomic::write(path, |f| {
                let mut npz = Writer::new(f);
                npz.numbers("x", "<f4", &[1], [1.0_f32], f32::to_le_bytes)?;
                npz.finish()
            })
        });
        assert!(message(&dense).contains("save_npz"));
    }

    proptest! {
        #[test]
        fn a_graph_survives_the_file_and_equal_graphs_give_equal_bytes(
            edges in prop::collection::btree_map((0_usize..12, 0_usize..12), 1_u8..9, 0..40)
        ) {
            let mut dense = vec![0.0_f32; 144];
            for (&(i, j), &w) in edges.iter().filter(|((i, j), _)| i != j) {
                dense[i * 12 + j] = f32::from(w) / 8.0;
                dense[j * 12 + i] = f32::from(w) / 8.0;
            }
            let (mut indptr, mut indices, mut weights) = (vec![0], vec![], vec![]);
            for row in dense.chunks(12) {
                for (j, &w) in row.iter().enumerate().filter(|(_, w)| **w > 0.0) {
                    indices.push(j as u32);
                    weights.push(w);
                }
                indptr.push(indices.len());
            }
            let graph = Graph::new(indptr, indices, weights).unwrap();
            let file = bytes(|path| write(path, &graph));
            prop_assert_eq!(&read_bytes(&file).unwrap(), &graph);
            prop_assert_eq!(bytes(|path| write(path, &graph)), file);
        }
    }
}
