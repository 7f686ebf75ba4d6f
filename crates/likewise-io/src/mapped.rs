//! Features that stay in their file: the operating system reads the parts that are used.
#![allow(
    unsafe_code,
    reason = "mapping a file, and reading its bytes as numbers"
)]

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use ndarray::ArrayView2;

use crate::assemble::check_size;
use crate::input::Input;
use crate::npy::{Header, matrix_header};
use crate::{Error, Result};

/// A matrix in a `.npy` file.
///
/// Takes no memory of its own; pages of the file are read when they are used and dropped
/// when memory is short. **Not** for files that another program writes to meanwhile: a
/// file that is cut off under the program ends it.
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
    start: usize,
    rows: usize,
    columns: usize,
}

impl Mapped {
    /// Maps a `.npy` file of `f32` in the order of C and of this machine. `None` if the file
    /// holds a matrix of another kind; it can still be [read](crate::read).
    ///
    /// Fails as reading does where the file is missing, no matrix, or damaged.
    pub fn npy(path: impl AsRef<Path>) -> Result<Option<Self>> {
        let path = path.as_ref();
        Self::open(path).map_err(|e| e.within(path.display()))
    }

    fn open(path: &Path) -> Result<Option<Self>> {
        let input = Input::open(path)?;
        let len = input.len;
        let (header, rows, columns) = matrix_header(&mut *input.stream(), len)?;
        check_size("features", rows, columns)?;
        let start =
            usize::try_from(header.start).map_err(|_| Error::format("the header is too long"))?;
        if !native(&header) || start % align_of::<f32>() != 0 {
            return Ok(None);
        }
        let file = File::open(path)?;
        // SAFETY: the file is only read, and the documentation of the type asks that
        // nobody changes it meanwhile. Any bytes are valid numbers.
        let map = unsafe { Mmap::map(&file)? };
        if map.len() < start + rows * columns * size_of::<f32>() {
            return Err(Error::format("the file was cut off while it was opened"));
        }
        Ok(Some(Self {
            map,
            start,
            rows,
            columns,
        }))
    }

    /// The matrix, items x dimensions.
    pub fn view(&self) -> ArrayView2<'_, f32> {
        let bytes = &self.map[self.start..][..self.rows * self.columns * size_of::<f32>()];
        // SAFETY: any bytes are valid numbers. The map starts on a page and `start` is a
        // multiple of the alignment, so nothing is cut off before or after.
        let (before, values, _) = unsafe { bytes.align_to::<f32>() };
        debug_assert!(before.is_empty());
        ArrayView2::from_shape((self.rows, self.columns), values)
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
            assert_eq!(Mapped::npy(&path).unwrap().unwrap().view(), x);
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
