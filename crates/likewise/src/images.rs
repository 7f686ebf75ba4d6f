//! Images as rows of pixels: what a network that is trained reads.

use ndarray::{Array2, ArrayView2, ArrayViewMut3, Axis};
use rand::RngExt;

use crate::seed::Rng;
use crate::{Error, Result};

/// Images by their place in a collection: one a row of `channels x height x width` pixels of
/// 0 to 255.
///
/// [`PixelRows`] are images that lie in memory; an implementation may as well read files, at
/// every call. Rows must not depend on the number of threads.
pub trait Images: Sync {
    /// The images at `items`, as they are.
    fn rows(&self, items: &[usize]) -> Result<Array2<f32>>;

    /// The images at `items`, augmented at random: cut, mirrored or moved, what they show
    /// unchanged.
    fn augmented(&self, items: &[usize], rng: &mut Rng) -> Result<Array2<f32>>;
}

impl<I: Images + ?Sized> Images for &I {
    fn rows(&self, items: &[usize]) -> Result<Array2<f32>> {
        (**self).rows(items)
    }

    fn augmented(&self, items: &[usize], rng: &mut Rng) -> Result<Array2<f32>> {
        (**self).augmented(items, rng)
    }
}

/// Images that are the rows of a matrix.
#[derive(Debug, Clone, Copy)]
pub struct PixelRows<'a> {
    pixels: ArrayView2<'a, f32>,
    shape: [usize; 3],
}

impl<'a> PixelRows<'a> {
    /// One image a row of `pixels`, of `[channels, height, width]`.
    ///
    /// Fails where the columns are not as many.
    pub fn new(pixels: ArrayView2<'a, f32>, shape: [usize; 3]) -> Result<Self> {
        let (found, wanted) = (pixels.ncols(), shape.iter().product::<usize>());
        if found != wanted {
            let [channels, height, width] = shape;
            return Err(Error::data(format!(
                "images of {channels} x {height} x {width} pixels, {wanted} columns, but the view \
                 has {found}"
            )));
        }
        Ok(Self { pixels, shape })
    }
}

impl Images for PixelRows<'_> {
    fn rows(&self, items: &[usize]) -> Result<Array2<f32>> {
        Ok(self.pixels.select(Axis(0), items))
    }

    fn augmented(&self, items: &[usize], rng: &mut Rng) -> Result<Array2<f32>> {
        let mut rows = self.rows(items)?;
        augment(&mut rows, self.shape, rng);
        Ok(rows)
    }
}

/// Largest shift, as a share of the side: 4 of 32 pixels, as is usual for small images.
const SHIFT: f64 = 0.125;

/// Moves every image by some pixels, and mirrors half of those in colour: what is left
/// empty repeats the border. Digits and clothes in gray have a left and a right.
fn augment(rows: &mut Array2<f32>, [channels, height, width]: [usize; 3], rng: &mut Rng) {
    let reach = |side: usize| (side as f64 * SHIFT).round() as i64;
    let (down, right) = (reach(height), reach(width));
    for mut row in rows.rows_mut() {
        let (dy, dx) = (
            rng.random_range(-down..=down),
            rng.random_range(-right..=right),
        );
        let mirror = channels > 1 && rng.random::<bool>();
        let image = row.to_owned();
        let image = image
            .to_shape((channels, height, width))
            .expect("a row holds an image");
        let mut target = ArrayViewMut3::from_shape(
            (channels, height, width),
            row.as_slice_mut().expect("rows are contiguous"),
        )
        .expect("a row holds an image");
        for ((c, y, x), value) in target.indexed_iter_mut() {
            let x = if mirror { width - 1 - x } else { x };
            let from = |at: usize, by: i64, side: usize| {
                (at as i64 - by).clamp(0, side as i64 - 1) as usize
            };
            *value = image[[c, from(y, dy, height), from(x, dx, width)]];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_stay_themselves_but_for_place_and_side() {
        let image = Array2::from_shape_fn((40, 3 * 16 * 16), |(_, j)| (j % 256) as f32);
        let mut moved = image.clone();
        let mut rng = crate::seed::stream(5, "test");
        augment(&mut moved, [3, 16, 16], &mut rng);
        assert!(moved != image);
        let mirrored = moved
            .rows()
            .into_iter()
            .filter(|row| row[100] > row[105])
            .count();
        assert!((8..32).contains(&mirrored), "{mirrored}");
        assert!(moved.iter().all(|v| (0.0..256.0).contains(v)));
        let constant = Array2::from_elem((3, 28 * 28), 7.0);
        let mut moved = constant.clone();
        augment(&mut moved, [1, 28, 28], &mut rng);
        assert_eq!(moved, constant);
    }
}
