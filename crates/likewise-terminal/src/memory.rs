//! Memory that runs out ends in a message, and a limit is held while the work runs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use likewise::Monitor;
use likewise_study::estimate;
use likewise_study::size::Bytes;

use crate::failure::Failure;
use crate::wording::Wording;

/// The allocator of the program: the system's; where that has nothing left, the program says so and
/// fails with the exit code 1, in place of a signal.
///
/// It is installed by a program alone, not by a library: in a Python process one array that is too
/// large must not end all others. Code of ours that reserves memory by
/// [`tried`](likewise_io::memory::tried) hears of what there is not, and says so itself. What other
/// libraries reserve cannot be told from what they cannot do without, and ends the program.
#[derive(Debug, Clone, Copy)]
pub struct OrSay;

#[expect(
    unsafe_code,
    reason = "the language has no safe way to see an allocation fail"
)]
// SAFETY: all four hand the same arguments to the system's allocator and its answer back.
unsafe impl GlobalAlloc for OrSay {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is that of the system's.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: `place` came from the system's allocator with this layout.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`, and the caller has checked the new size.
        given(unsafe { System.realloc(place, layout, size) }, size)
    }
}

/// Makes all threads that come take their memory from few places, before there are any. The allocator of Linux has eight
/// for each core, and each keeps what it once needed: of a server whose models change, memory grows for hours. Threads that
/// take memory at once wait for each other, so this is not for what computes alone. Does nothing on other systems.
pub fn share_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let heaps = cores.clamp(2, 8) as libc::c_int;
        #[expect(unsafe_code, reason = "the allocator is told so by a call of C alone")]
        // SAFETY: it takes two numbers, and sets one of the allocator; no other thread allocates yet.
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, heaps) };
    }
}

fn given(place: *mut u8, size: usize) -> *mut u8 {
    if place.is_null() && !likewise_io::memory::is_tried() {
        out_of_memory(size);
    }
    place
}

/// How far the end of the program is: none, being said, said.
static END_OF_ALL: AtomicU8 = AtomicU8::new(0);
/// How long a thread waits for another one to end the program, before it does so itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends the program with a message, once, whichever threads come here together.
#[cold]
fn out_of_memory(size: usize) -> ! {
    thread_local! {
        static HERE: Cell<bool> = const { Cell::new(false) };
    }
    if HERE.replace(true) {
        // Ending needed memory too.
        std::process::abort();
    }
    if END_OF_ALL.fetch_max(1, Ordering::Relaxed) > 0 {
        // Another thread is about to end all. It may wait for something that this one holds, or for
        // somebody to read what it says.
        std::thread::sleep(PATIENCE);
        if END_OF_ALL.load(Ordering::Relaxed) == 1 {
            std::process::exit(1);
        }
        std::thread::sleep(PATIENCE);
        std::process::abort();
    }
    // Nothing here allocates, nor fails where nobody reads.
    let mut text = [0_u8; 256];
    let mut left = &mut text[..];
    let _ = writeln!(
        left,
        "error: out of memory: {size} bytes more were needed; use fewer items, dimensions, \
         neighbours or threads (--dry-run tells what the work needs)"
    );
    let unused = left.len();
    say(&text[..text.len() - unused]);
    END_OF_ALL.store(2, Ordering::Relaxed);
    std::process::exit(1);
}

/// Writes to standard error past its lock: the thread that holds it may be the one that waits.
fn say(text: &[u8]) {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        let own = std::io::stderr().as_fd().try_clone_to_owned();
        let _ = own.map(|own| std::fs::File::from(own).write_all(text));
    }
    #[cfg(not(unix))]
    {
        let _ = std::io::stderr().write_all(text);
    }
}

/// Most memory that was allowed, once it was passed.
static PASSED: AtomicU64 = AtomicU64::new(0);

/// How often memory is looked at.
const EVERY: Duration = Duration::from_millis(10);
/// Share of the limit at which the program ends even if the work does not.
const END: f64 = 1.15;

/// Stops the work where the process holds more than `limit` bytes, and ends the process where the work goes on.
///
/// Fails on less than the program itself may need.
pub fn watch(limit: u64, monitor: &Monitor) -> Result<(), Failure> {
    if limit < estimate::BASE {
        return Err(Failure::failed(format!(
            "the program itself may need {} of memory; allow more with --max-memory",
            Bytes(estimate::BASE)
        )));
    }
    if resident().is_none() {
        return Ok(());
    }
    let monitor = monitor.clone();
    // Without this thread the estimate before the work is all there is.
    let _ = std::thread::Builder::new()
        .name("memory".into())
        .spawn(move || {
            loop {
                std::thread::sleep(EVERY);
                let held = resident().unwrap_or(0);
                if held <= limit {
                    continue;
                }
                PASSED.store(limit, Ordering::Relaxed);
                monitor.cancel();
                if held as f64 > END * limit as f64 {
                    if let Some(failure) = passed() {
                        // It calls its flags by their names.
                        failure.report(&Wording::default());
                    }
                    std::process::exit(1);
                }
            }
        });
    Ok(())
}

/// What to say where the work was stopped for its memory.
pub fn passed() -> Option<Failure> {
    match PASSED.load(Ordering::Relaxed) {
        0 => None,
        limit => Some(Failure::failed(format!(
            "the work was stopped: it took more than the {} of --max-memory; allow more, or use \
             fewer items, dimensions, neighbours or threads",
            Bytes(limit)
        ))),
    }
}

/// Bytes of memory that this process holds, where the system tells; files that are mapped can be
/// read again and do not count.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: Vec<u64> = text
        .split_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    let (held, shared) = (pages.get(1)?, pages.get(2)?);
    Some(held.saturating_sub(*shared) * PAGE)
}

/// Bytes of a page. Systems with larger ones hold more than is counted here.
const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn what_ends_the_program_is_said_whoever_holds_standard_error() {
        let held = std::io::stderr().lock();
        let (done, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            say(b"(a test: this is said past a lock)\n");
            done.send(())
        });
        let said = heard.recv_timeout(Duration::from_secs(20));
        drop(held);
        assert!(said.is_ok());
    }

    #[test]
    fn resident_memory_grows_with_what_is_held() {
        let Some(before) = resident() else {
            eprintln!("skipped: this system does not tell");
            return;
        };
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident().unwrap();
        assert!(
            after > before + (32 << 20),
            "{before} {after} {}",
            held.len()
        );
    }
}
