//! What is left to do once a write has failed: nothing.

use std::io::{Result, Seek, SeekFrom, Write};

/// Hands bytes on until that fails once; from then on they are dropped without a word.
///
/// The zip writer tries again to end its archive when it is dropped, and writes to the
/// standard error that it could not. The first error was returned already.
pub(super) struct UntilBroken<W> {
    inner: W,
    position: u64,
    /// The largest position there was.
    end: u64,
    broken: bool,
}

impl<W> UntilBroken<W> {
    pub(super) fn new(inner: W) -> Self {
        Self {
            inner,
            position: 0,
            end: 0,
            broken: false,
        }
    }

    fn kept<T>(&mut self, result: Result<T>) -> Result<T> {
        let failed = |e: &std::io::Error| e.kind() != std::io::ErrorKind::Interrupted;
        if result.as_ref().is_err_and(failed) {
            self.broken = true;
            // The zip writer relies on positions that do not lie before what it has written.
            self.position = self.end;
        }
        result
    }
}

impl<W: Write> Write for UntilBroken<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut written = bytes.len();
        if !self.broken {
            let result = self.inner.write(bytes);
            written = self.kept(result)?;
        }
        self.position = self.position.saturating_add(written as u64);
        self.end = self.end.max(self.position);
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        if self.broken {
            return Ok(());
        }
        let result = self.inner.flush();
        self.kept(result)
    }
}

impl<W: Seek> Seek for UntilBroken<W> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.position = match to {
            _ if !self.broken => {
                let result = self.inner.seek(to);
                self.kept(result)?
            }
            SeekFrom::Start(position) => position,
            SeekFrom::Current(by) | SeekFrom::End(by) => self.position.saturating_add_signed(by),
        };
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npz::Writer;
    use std::cell::Cell;
    use std::io::{Cursor, Error, ErrorKind};

    /// A disk with so much room, which counts how often it was asked when full.
    struct Disk<'a> {
        inner: Cursor<Vec<u8>>,
        room: usize,
        refused: &'a Cell<usize>,
    }

    impl Write for Disk<'_> {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            if bytes.len() > self.room {
                self.refused.set(self.refused.get() + 1);
                return Err(Error::from(ErrorKind::StorageFull));
            }
            self.room -= bytes.len();
            self.inner.write(bytes)
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    impl Seek for Disk<'_> {
        fn seek(&mut self, to: SeekFrom) -> Result<u64> {
            self.inner.seek(to)
        }
    }

    /// Asked once more, the zip writer would complain on the standard error.
    #[test]
    fn an_archive_on_a_full_disk_fails_once() {
        let mut whole = 0;
        for room in 0..2000 {
            let refused = Cell::new(0);
            let disk = Disk {
                inner: Cursor::new(Vec::new()),
                room,
                refused: &refused,
            };
            let write = || {
                let mut npz = Writer::new(disk);
                for name in ["a", "b"] {
                    npz.numbers(name, "<f4", &[100], [1.0_f32; 100], f32::to_le_bytes)?;
                }
                npz.finish()
            };
            match write() {
                Ok(()) => whole += 1,
                Err(e) => assert!(e.to_string().contains("make room"), "{e}"),
            }
            assert!(refused.get() <= 1, "{room}: {}", refused.get());
        }
        assert!((1..1900).contains(&whole), "{whole}");
    }
}
