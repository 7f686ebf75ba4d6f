//! Loops over parts of work on all threads.
//!
//! Behind them is one loop that is compiled once. Each parallel iterator of its own joins threads in code of
//! its own, for every type that it is used with: a third of what the compiler had to write for this crate
//! was that. [`each`] and [`map`] are for few parts that each take long, as chunks of rows, since each part
//! costs a lock (nobody waits for it) and some memory; [`map_rows`], [`each_row`] and [`find_row`] are for
//! many short ones, as single rows, which they put into chunks.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ndarray::{Array2, ArrayViewMut1, Axis};
use rayon::prelude::*;

use crate::Result;

/// Most chunks that rows are put into: enough for many threads, and too few for their locks to count.
const CHUNKS: usize = 256;

/// Does `work` on each of these parts.
pub(crate) fn each<I: Send>(parts: impl Iterator<Item = I>, work: impl Fn(I) + Sync) {
    let parts: Vec<Mutex<Option<I>>> = parts.map(|part| Mutex::new(Some(part))).collect();
    loop_over(parts.len(), &|place| {
        if let Some(part) = taken(&parts[place]) {
            work(part);
        }
    });
}

/// What `work` gives of each of these parts, in their order.
pub(crate) fn map<I: Send, R: Send>(
    parts: impl Iterator<Item = I>,
    work: impl Fn(I) -> R + Sync,
) -> Vec<R> {
    let parts: Vec<Mutex<Option<I>>> = parts.map(|part| Mutex::new(Some(part))).collect();
    let found: Vec<Mutex<Option<R>>> = parts.iter().map(|_| Mutex::new(None)).collect();
    loop_over(parts.len(), &|place| {
        if let Some(part) = taken(&parts[place]) {
            let result = work(part);
            *locked(&found[place]) = Some(result);
        }
    });
    found.iter().filter_map(taken).collect()
}

/// As [`map`], for work that may fail: then no further part is begun. Of several errors the first is told.
pub(crate) fn try_map<I: Send, R: Send>(
    parts: impl Iterator<Item = I>,
    work: impl Fn(I) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let failed = AtomicBool::new(false);
    let found = map(parts, |part| {
        if failed.load(Relaxed) {
            return None;
        }
        let result = work(part);
        if result.is_err() {
            failed.store(true, Relaxed);
        }
        Some(result)
    });
    found.into_iter().flatten().collect()
}

/// As [`try_map`], with something from `init` that `work` writes to. It is handed on from part to part: there
/// are as many as parts are worked on at once.
pub(crate) fn try_map_with<S: Send, I: Send, R: Send>(
    parts: impl Iterator<Item = I>,
    init: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, I) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let free: Mutex<Vec<S>> = Mutex::new(Vec::new());
    try_map(parts, |part| {
        // Two steps, so that nobody waits while another makes one.
        let used = locked(&free).pop();
        let mut own = used.unwrap_or_else(&init);
        let result = work(&mut own, part);
        locked(&free).push(own);
        result
    })
}

/// What `work` gives of each row `0..n`, in their order.
pub(crate) fn map_rows<R: Send>(n: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    rows_of(n, &work)
}

fn rows_of<R: Send>(n: usize, work: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    together(map(chunks(n), |rows| rows.map(work).collect()))
}

fn together<R>(chunks: Vec<Vec<R>>) -> Vec<R> {
    let mut all = Vec::with_capacity(chunks.iter().map(Vec::len).sum());
    for chunk in chunks {
        all.extend(chunk);
    }
    all
}

/// Calls `work(i, row)` for every row of `x`.
pub(crate) fn each_row<T: Send + Sync>(
    x: &mut Array2<T>,
    work: impl Fn(usize, ArrayViewMut1<T>) + Sync,
) {
    over_rows(x, &work);
}

/// What `work(i, row)` gives of every row of `x`, in their order; it may write to the row.
pub(crate) fn map_each_row<T: Send + Sync, R: Send>(
    x: &mut Array2<T>,
    work: impl Fn(usize, ArrayViewMut1<T>) -> R + Sync,
) -> Vec<R> {
    over_rows(x, &work)
}

fn over_rows<T: Send + Sync, R: Send>(
    x: &mut Array2<T>,
    work: &(dyn Fn(usize, ArrayViewMut1<T>) -> R + Sync),
) -> Vec<R> {
    let size = chunk_size(x.nrows());
    let chunks = x.axis_chunks_iter_mut(Axis(0), size).enumerate();
    together(map(chunks, |(chunk, mut rows)| {
        let rows = (chunk * size..).zip(rows.rows_mut());
        rows.map(|(i, row)| work(i, row)).collect()
    }))
}

/// What `work` finds in the first of the rows `0..n` in which it finds something.
pub(crate) fn find_row<R: Send>(n: usize, work: impl Fn(usize) -> Option<R> + Sync) -> Option<R> {
    let found = map(chunks(n), |mut rows| rows.find_map(&work));
    found.into_iter().flatten().next()
}

/// The rows `0..n` in chunks whose number does not depend on that of threads.
pub(crate) fn chunks(n: usize) -> impl Iterator<Item = Range<usize>> {
    let size = chunk_size(n);
    let starts = (0..n).step_by(size);
    starts.map(move |from| from..(from + size).min(n))
}

fn chunk_size(n: usize) -> usize {
    n.div_ceil(CHUNKS).max(1)
}

fn taken<I>(part: &Mutex<Option<I>>) -> Option<I> {
    locked(part).take()
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one loop.
fn loop_over(count: usize, work: &(dyn Fn(usize) + Sync)) {
    if count == 1 {
        work(0);
    } else {
        (0..count).into_par_iter().for_each(work);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::Error;

    #[test]
    fn every_part_is_worked_on_once_and_results_keep_their_order() {
        for count in [0, 1, 2, 1000] {
            let mut rows = vec![1_usize; 3 * count];
            each(rows.chunks_mut(3).enumerate(), |(place, rows)| {
                for row in rows {
                    *row += place;
                }
            });
            let found = map(rows.chunks(3), |rows| rows.iter().sum::<usize>());
            let expected: Vec<usize> = (0..count).map(|place| 3 * (place + 1)).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn every_row_is_worked_on_once_and_in_its_place() {
        for n in [0, 1, 2, CHUNKS - 1, CHUNKS, CHUNKS + 1, 1000] {
            let squares: Vec<usize> = (0..n).map(|i| i * i).collect();
            assert_eq!(map_rows(n, |i| i * i), squares);
            let mut x = Array2::<usize>::ones((n, 2));
            each_row(&mut x, |i, mut row| row += i);
            assert_eq!(x, Array2::from_shape_fn((n, 2), |(i, _)| i + 1));
            let sums = map_each_row(&mut x, |i, mut row| {
                row -= 1;
                row.sum() + i
            });
            assert_eq!(sums, (0..n).map(|i| 3 * i).collect::<Vec<_>>());
            assert_eq!(x, Array2::from_shape_fn((n, 2), |(i, _)| i));
            for wanted in [0, n / 2, n] {
                let found = find_row(n, |i| (i >= wanted).then_some(i));
                assert_eq!(found, (wanted < n).then_some(wanted));
            }
        }
    }

    #[test]
    fn after_an_error_nothing_is_begun_and_without_one_all_is_there() {
        assert_eq!(try_map(0..1000, Ok), Ok((0..1000).collect()));
        // In the one loop of one thread, parts come in their order.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
        pool.build().unwrap().install(|| {
            let begun = AtomicUsize::new(0);
            let found = try_map(0..1000, |part| {
                begun.fetch_add(1, Relaxed);
                if part < 7 {
                    Ok(())
                } else {
                    Err(Error::data(part.to_string()))
                }
            });
            assert_eq!(found, Err(Error::data("7")));
            assert_eq!(begun.into_inner(), 8);
        });
    }

    #[test]
    fn what_is_written_to_is_handed_on() {
        let made = AtomicUsize::new(0);
        let init = || {
            made.fetch_add(1, Relaxed);
            0_usize
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
        let found = pool.build().unwrap().install(|| {
            try_map_with(0..100, init, |worked: &mut usize, part| {
                *worked += 1;
                Ok((part, *worked))
            })
        });
        let found = found.unwrap();
        assert!(found.iter().map(|of| of.0).eq(0..100));
        assert!((1..=3).contains(&made.into_inner()));
        let first = found.iter().filter(|of| of.1 == 1).count();
        assert!((1..=3).contains(&first));
    }
}
