//! How much memory there is, and how much of it reading may take.

use std::cell::Cell;
use std::path::Path;

thread_local! {
    /// Whether this thread is in a [`tried`].
    static TRIES: Cell<bool> = const { Cell::new(false) };
}

/// What is taken to be free where the system cannot be asked: 16 GiB.
///
/// Only Linux is asked. Elsewhere a larger limit can be given wherever one is taken.
pub const ASSUMED: u64 = 16 << 30;

/// Bytes of memory that this process can still have.
///
/// On Linux the least of: what the machine has available; what the process's control groups
/// (version 1 or 2, as containers have them) leave it, counting file caches as free; and what
/// its limit of address space leaves. Elsewhere [`ASSUMED`]. Reads some small files of the
/// system, about 0.1 ms; the answer holds for the moment.
///
/// ```
/// assert!(likewise_io::memory::available() > 0);
/// ```
pub fn available() -> u64 {
    under(Path::new("/")).unwrap_or(ASSUMED)
}

/// The bytes that may be taken: what was asked for, else nine tenths of what is
/// [`available`].
///
/// ```
/// use likewise_io::memory;
/// assert_eq!(memory::allowed(Some(100)), 100);
/// assert!(memory::allowed(None) < memory::available().saturating_mul(2));
/// ```
pub fn allowed(asked: Option<u64>) -> u64 {
    asked.unwrap_or_else(|| available() / 10 * 9)
}

/// Does `work`, which reserves memory by `try_reserve` and says itself what follows where there is
/// none.
///
/// An allocator that ends the program in place of handing out nothing should ask [`is_tried`] first,
/// as that of the command does. It cannot tell otherwise who would take no for an answer.
///
/// ```
/// let mut bytes: Vec<u8> = Vec::new();
/// let reserved = likewise_io::memory::tried(|| bytes.try_reserve_exact(usize::MAX));
/// assert!(reserved.is_err());
/// ```
pub fn tried<T>(work: impl FnOnce() -> T) -> T {
    /// Puts back what was before, also where the work panics and a server goes on.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            TRIES.set(self.0);
        }
    }
    let _before = Before(TRIES.replace(true));
    work()
}

/// Whether this thread is in a [`tried`]. Allocates nothing.
pub fn is_tried() -> bool {
    TRIES.get()
}

/// A number of bytes for people, with the exact figure where it is small.
///
/// ```
/// assert_eq!(likewise_io::memory::text(1000), "1000 bytes");
/// assert_eq!(likewise_io::memory::text(1 << 30), "1024 MiB");
/// ```
pub fn text(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    if bytes < 10 * MIB {
        format!("{bytes} bytes")
    } else {
        format!("{} MiB", bytes.div_ceil(MIB))
    }
}

/// The least of all that the files of a Linux system below `root` say, if they say anything.
fn under(root: &Path) -> Option<u64> {
    let machine = field(&read(root, "proc/meminfo")?, "MemAvailable:")?;
    let limits = control_groups(root).into_iter().chain(address_space(root));
    Some(limits.fold(machine.saturating_mul(1024), u64::min))
}

fn read(root: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(root.join(name)).ok()
}

/// The number behind a name, in a file of one name a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What the limit of address space leaves.
fn address_space(root: &Path) -> Option<u64> {
    let most = field(&read(root, "proc/self/limits")?, "Max address space")?;
    let used = field(&read(root, "proc/self/status")?, "VmSize:")?;
    Some(most.saturating_sub(used.saturating_mul(1024)))
}

/// What each control group leaves, the process's own and those around it.
fn control_groups(root: &Path) -> Vec<u64> {
    let groups = read(root, "proc/self/cgroup").unwrap_or_default();
    let mut left = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let names = if controllers.is_empty() {
            &VERSION_2
        } else if controllers.split(',').any(|c| c == "memory") {
            &VERSION_1
        } else {
            continue;
        };
        // In a container the path may be that on the host; its own group is then at the top.
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            left.extend(names.left(&root.join(names.base).join(group)));
        }
    }
    left
}

/// Names of the files of a control group.
struct Names {
    base: &'static str,
    limit: &'static str,
    used: &'static str,
    caches: [&'static str; 2],
}

const VERSION_1: Names = Names {
    base: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    caches: ["total_inactive_file ", "total_active_file "],
};

const VERSION_2: Names = Names {
    base: "sys/fs/cgroup",
    limit: "memory.max",
    used: "memory.current",
    caches: ["inactive_file ", "active_file "],
};

impl Names {
    /// What a group leaves; `None` without a limit.
    fn left(&self, group: &Path) -> Option<u64> {
        let number = |name| read(group, name)?.trim().parse::<u64>().ok();
        let (limit, used) = (number(self.limit)?, number(self.used)?);
        // The system gives up what it keeps of files before it refuses memory.
        let stat = read(group, "memory.stat").unwrap_or_default();
        let caches = self.caches.iter().filter_map(|name| field(&stat, name));
        let used = used.saturating_sub(caches.fold(0, u64::saturating_add));
        Some(limit.saturating_sub(used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tried_is_known_so_long() {
        assert!(!is_tried());
        let (within, after) = tried(|| (tried(is_tried), is_tried()));
        assert!(within && after && !is_tried());
        let unwound = std::panic::catch_unwind(|| tried(|| panic!("of a test")));
        assert!(unwound.is_err() && !is_tried());
    }

    /// What is available on a system of these files.
    fn of(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        under(root.path())
    }

    const MACHINE: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:       100 kB\nMemAvailable:    50 kB\n",
    );

    #[test]
    fn the_least_limit_counts() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[MACHINE]), Some(51_200));
        let new = ("proc/self/cgroup", "0::/a/b\n");
        let own = ("sys/fs/cgroup/a/b/memory.max", "max\n");
        let around = ("sys/fs/cgroup/a/memory.max", "40000\n");
        let used = ("sys/fs/cgroup/a/memory.current", "30000\n");
        assert_eq!(of(&[MACHINE, new, own, around, used]), Some(10_000));
        let stat = (
            "sys/fs/cgroup/a/memory.stat",
            "anon 9\ninactive_file 20000\nactive_file 5000\n",
        );
        assert_eq!(of(&[MACHINE, new, own, around, used, stat]), Some(35_000));
        let old = ("proc/self/cgroup", "5:cpu:/\n4:memory,hugetlb:/on/host\n");
        let limit = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "20000\n");
        let used = ("sys/fs/cgroup/memory/memory.usage_in_bytes", "25000\n");
        assert_eq!(of(&[MACHINE, old, limit, used]), Some(0));
        let space = (
            "proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units\n\
             Max address space         30720                unlimited            bytes\n",
        );
        let size = ("proc/self/status", "Name:\tx\nVmSize:\t      10 kB\n");
        assert_eq!(of(&[MACHINE, space, size]), Some(20_480));
        let none = (space.0, "Max address space   unlimited  unlimited  bytes\n");
        assert_eq!(of(&[MACHINE, none, size]), Some(51_200));
    }
}
