//! Loops over parts of work on all threads.
//!
//! Behind them is one loop that is compiled once. Each parallel iterator of its own joins threads in code of
//! its own, for every type that it is used with: a third of what the compiler had to write for this crate
//! was that. Use these where a loop has few parts that each take long, as chunks of rows; **not** for
//! many short ones, as single rows, since each part costs a lock (nobody waits for it) and some memory.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

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
            *found[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    });
    found.iter().filter_map(taken).collect()
}

fn taken<I>(part: &Mutex<Option<I>>) -> Option<I> {
    part.lock().unwrap_or_else(PoisonError::into_inner).take()
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
    use super::*;

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
}
