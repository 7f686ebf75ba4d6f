//! Whether the files of a folder belong together.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::{Result, failed};

/// File names of a run, and what tells each from that of another run.
pub type Parts = BTreeMap<String, String>;

/// Files that the other verbs read.
pub(super) const READ: [&str; 5] = [
    "config.json",
    "model.safetensors",
    "items.parquet",
    "embeddings.npy",
    "metrics.json",
];

/// Files that only some runs have.
pub(super) const OPTIONAL: [&str; 4] = [
    "beliefs.npz",
    "voters.parquet",
    "votes.parquet",
    "tuples.parquet",
];

/// Blocks of a file that are looked at, and their bytes: all of a small file, and of a large one
/// so much that a search need not wait for it.
const BLOCKS: u64 = 64;
const BLOCK: u64 = 4096;

/// What tells a file from that of another run: its length, and a digest of up to 64 blocks of
/// 4096 bytes, evenly spaced. It does not tell a file that was forged.
pub(super) fn mark(path: &Path) -> Result<String> {
    let cannot = |e: std::io::Error| failed(format!("{}: {e}", path.display()));
    let (mut file, length) = likewise_io::open(path)?;
    let mut looked_at = Vec::new();
    if length <= BLOCKS * BLOCK {
        file.read_to_end(&mut looked_at).map_err(cannot)?;
    } else {
        for block in 0..BLOCKS {
            let at = (length - BLOCK) / (BLOCKS - 1) * block;
            file.seek(SeekFrom::Start(at)).map_err(cannot)?;
            let mut part = (&file).take(BLOCK);
            part.read_to_end(&mut looked_at).map_err(cannot)?;
        }
    }
    let digest = likewise_io::digest_parts(std::iter::once(looked_at.as_slice()));
    Ok(format!("{length} bytes {}", &digest[..32]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_different_runs_have_different_marks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut seen = std::collections::BTreeSet::new();
        for length in [0, 1, 4096, 262_144, 262_145, 3_000_000] {
            for fill in [1_u8, 2] {
                std::fs::write(&path, vec![fill; length]).unwrap();
                let new = seen.insert(mark(&path).unwrap());
                assert!(new || length == 0);
            }
        }
        assert!(mark(&folder.path().join("none")).is_err());
    }
}
