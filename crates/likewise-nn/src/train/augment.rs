//! Random views of images that come as rows.

use likewise::seed::Rng;
use ndarray::{Array2, ArrayViewMut3};
use rand::RngExt;

/// Largest shift, as a share of the side: 4 of 32 pixels, as is usual for small images.
const SHIFT: f64 = 0.125;

/// Moves every image by some pixels, and mirrors half of those in colour: what is left
/// empty repeats the border. Digits and clothes in gray have a left and a right.
pub(super) fn augment(
    rows: &mut Array2<f32>,
    [channels, height, width]: [usize; 3],
    rng: &mut Rng,
) {
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
        let mut rng = likewise::seed::stream(5, "test");
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
