//! Features that stay in their file: the operating system reads the parts that are used.
#![allow(
    unsafe_code,
    reason = "mapping a file, and reading its bytes as numbers"
)]

use std::path::Path;

use likewise::Monitor;
use memmap2::Mmap;
use ndarray::{Array2, ArrayView2};

use crate::assemble::{check_size, check_values};
use crate::budget::Budget;
use crate::input::Input;
use crate::npy::{Header, append_rows, matrix_header};
use crate::number::{Progress, reserve};
use crate::{Error, Result};

/// Bytes of the smallest matrix that stays in its file: 256 MiB.
const SMALLEST: usize = 1 << 28;

/// A matrix in a `.npy` file.
///
/// One of less than 256 MiB is read at once, and what becomes of the file later does not
/// matter. A larger one takes no memory of its own: pages of the file are read when they are
/// used and dropped when memory is short. **Then** no other program may write to the file
/// meanwhile: what it changes changes here too, and a file that is cut off ends the program.
/// Replacing it by another file of the same name does no harm.
#[derive(Debug)]
pub struct Mapped {
    body: Body,
}

#[derive(Debug)]
enum Body {
    Read(Array2<f32>),
    Mapped {
        map: Mmap,
        start: usize,
        rows: usize,
        columns: usize,
    },
}

impl Mapped {
    /// Opens a `.npy` file of `f32` in the order of C and of this machine. `None` if the file
    /// holds a matrix of another kind; it can still be [read](crate::read).
    ///
    /// Fails as reading does where the file is missing, no matrix, or damaged; the values
    /// are looked at only where they are read at once.
    pub fn npy(path: impl AsRef<Path>) -> Result<Option<Self>> {
        let path = path.as_ref();
        Self::open(path, SMALLEST).map_err(|e| e.within(path.display()))
    }

    fn open(path: &Path, smallest: usize) -> Result<Option<Self>> {
        let input = Input::open(path)?;
        let len = input.len;
        let mut stream = input.again()?.stream();
        let (header, rows, columns) = matrix_header(&mut *stream, len)?;
        check_size("features", rows, columns)?;
        let start =
            usize::try_from(header.start).map_err(|_| Error::format("the header is too long"))?;
        if !native(&header) || start % align_of::<f32>() != 0 {
            return Ok(None);
        }
        let bytes = rows * columns * size_of::<f32>();
        if bytes < smallest {
            let mut values = Vec::new();
            reserve(&mut values, Budget::new(None).matrix(rows, columns)?)?;
            let silent = Monitor::silent();
            let progress = &mut Progress::new(&silent);
            append_rows(&mut *stream, &header, progress, &mut values)?;
            let matrix = Array2::from_shape_vec((rows, columns), values)
                .map_err(|e| Error::format(e.to_string()))?;
            check_values("features", matrix.view())?;
            let body = Body::Read(matrix);
            return Ok(Some(Self { body }));
        }
        let Some(file) = input.file() else {
            return Ok(None);
        };
        // SAFETY: the file is only read, and the documentation of the type asks that
        // nobody changes it meanwhile. Any bytes are valid numbers.
        let map = unsafe { Mmap::map(file)? };
        if map.len() < start + bytes {
            return Err(Error::format("the file was cut off while it was opened"));
        }
        let body = Body::Mapped {
            map,
            start,
            rows,
            columns,
        };
        Ok(Some(Self { body }))
    }

    /// Bytes of memory that a matrix of this size takes once it is opened: a large one none.
    ///
    /// ```
    /// use likewise_io::Mapped;
    /// assert_eq!(Mapped::memory(1000, 100), 400_000);
    /// assert_eq!(Mapped::memory(1_000_000, 100), 0);
    /// ```
    pub fn memory(rows: usize, columns: usize) -> u64 {
        let bytes = rows
            .saturating_mul(columns)
            .saturating_mul(size_of::<f32>());
        if bytes < SMALLEST { bytes as u64 } else { 0 }
    }

    /// The matrix, items x dimensions.
    pub fn view(&self) -> ArrayView2<'_, f32> {
        let (map, start, rows, columns) = match &self.body {
            Body::Read(matrix) => return matrix.view(),
            Body::Mapped {
                map,
                start,
                rows,
                columns,
            } => (map, *start, *rows, *columns),
        };
        let bytes = &map[start..][..rows * columns * size_of::<f32>()];
        // SAFETY: any bytes are valid numbers. The map starts on a page and `start` is a
        // multiple of the alignment, so nothing is cut off before or after.
        let (before, values, _) = unsafe { bytes.align_to::<f32>() };
        debug_assert!(before.is_empty());
        ArrayView2::from_shape((rows, columns), values)
            .unwrap_or_else(|_| ndarray::aview2(&[[0.0_f32; 0]; 0]))
    }
}

/// Whether the elements are `f32` as this machine has them, row after row.
fn native(header: &Header) -> bool {
    header.element.is_native_f32() && (!header.fortran || header.shape.iter().any(|&n| n <= 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, ReadOptions, write_npy};
    use likewise::Monitor;
    use ndarray::Array2;

    #[test]
    fn a_mapped_matrix_is_the_one_that_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        for (rows, columns) in [(5, 3), (1, 1)] {
            let x = Array2::from_shape_fn((rows, columns), |(i, c)| (i * 10 + c) as f32);
            write_npy(&path, x.view()).unwrap();
            for smallest in [0, SMALLEST] {
                let mapped = Mapped::open(&path, smallest).unwrap().unwrap();
                assert_eq!(mapped.view(), x);
                assert_eq!(matches!(mapped.body, Body::Mapped { .. }), smallest == 0);
            }
        }
        let x = Array2::from_shape_fn((5, 3), |(i, c)| (i * 10 + c) as f32);
        write_npy(&path, x.view()).unwrap();
        let read = crate::read(&path, &ReadOptions::default(), &Monitor::silent()).unwrap();
        assert_eq!(
            Mapped::npy(&path).unwrap().unwrap().view(),
            read.view(None).unwrap().matrix
        );
    }

    #[test]
    fn a_file_that_is_cut_off_later_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let x = Array2::from_shape_fn((5000, 3), |(i, c)| (i * 10 + c) as f32);
        write_npy(&path, x.view()).unwrap();
        let mapped = Mapped::npy(&path).unwrap().unwrap();
        // Of a map, to look at the last row would end this process.
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_len(100).unwrap();
        assert_eq!(mapped.view(), x);
    }

    #[test]
    fn values_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        for (value, says) in [(f32::NAN, "row 1, column 0 is NaN"), (3.4e38, "too large")] {
            write_npy(&path, ndarray::array![[0.0], [value]].view()).unwrap();
            let said = Mapped::npy(&path).unwrap_err().to_string();
            assert!(said.contains(says), "{said}");
        }
    }

    #[test]
    fn other_kinds_are_left_to_the_reader_and_damage_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let doubles = crate::npy::header_bytes("<f8", &[2, 1]);
        std::fs::write(&path, [&doubles[..], &[0; 16]].concat()).unwrap();
        assert!(Mapped::npy(&path).unwrap().is_none());
        let floats = crate::npy::header_bytes("<f4", &[2, 2]);
        std::fs::write(&path, [&floats[..], &[0; 15]].concat()).unwrap();
        assert_eq!(Mapped::npy(&path).unwrap_err().kind(), ErrorKind::Format);
        for shape in [(160, 0), (0, 4)] {
            write_npy(&path, Array2::zeros(shape).view()).unwrap();
            let e = Mapped::npy(&path).unwrap_err();
            assert!(e.to_string().contains("is empty"), "{e}");
            let read = crate::read(&path, &ReadOptions::default(), &Monitor::silent());
            assert_eq!(read.unwrap_err(), e);
        }
        assert_eq!(
            Mapped::npy(folder.path().join("none.npy"))
                .unwrap_err()
                .kind(),
            ErrorKind::NotFound
        );
    }
}
