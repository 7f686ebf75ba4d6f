//! Images in four turns, each of which is an item of its own.

use likewise::images::Images;
use likewise::learn::Targets;
use likewise::seed::Rng;
use likewise::{Labels, Result};
use ndarray::{Array2, ArrayViewMut3};

use crate::recipe::TURNS;

/// Images of a square, `TURNS` of each: item `TURNS i + t` is image `i` turned by `t` times 90 degrees
/// to the left.
pub(super) struct Turned<'a> {
    images: &'a dyn Images,
    /// Channels, and the side.
    shape: [usize; 2],
}

impl<'a> Turned<'a> {
    /// Images of so many channels and this side.
    pub(super) fn new(images: &'a dyn Images, channels: usize, side: usize) -> Self {
        Self {
            images,
            shape: [channels, side],
        }
    }

    /// The turns of items, one behind the other.
    pub(super) fn items(items: &[usize]) -> Vec<usize> {
        let turns = |&item: &usize| (0..TURNS).map(move |turn| TURNS * item + turn);
        items.iter().flat_map(turns).collect()
    }

    fn turn(&self, mut rows: Array2<f32>, items: &[usize]) -> Array2<f32> {
        for (mut row, item) in rows.rows_mut().into_iter().zip(items) {
            let turned = left(&row.to_vec(), self.shape, item % TURNS);
            for (to, value) in row.iter_mut().zip(turned) {
                *to = value;
            }
        }
        rows
    }
}

impl Images for Turned<'_> {
    fn rows(&self, items: &[usize]) -> Result<Array2<f32>> {
        let of: Vec<usize> = items.iter().map(|item| item / TURNS).collect();
        Ok(self.turn(self.images.rows(&of)?, items))
    }

    fn augmented(&self, items: &[usize], rng: &mut Rng) -> Result<Array2<f32>> {
        let of: Vec<usize> = items.iter().map(|item| item / TURNS).collect();
        Ok(self.turn(self.images.augmented(&of, rng)?, items))
    }
}

/// An image, turned to the left so many times.
fn left(image: &[f32], [channels, side]: [usize; 2], turns: usize) -> Vec<f32> {
    let mut turned = image.to_vec();
    let shape = (channels, side, side);
    // Rows of another length stay as they are: the network refuses them.
    let Ok(mut to) = ArrayViewMut3::from_shape(shape, &mut turned) else {
        return turned;
    };
    let last = side.saturating_sub(1);
    for ((c, y, x), value) in to.indexed_iter_mut() {
        let (y, x) = match turns {
            0 => (y, x),
            1 => (x, last - y),
            2 => (last - y, last - x),
            _ => (last - x, y),
        };
        *value = image[(c * side + y) * side + x];
    }
    turned
}

/// The turn as the class of each turn of all items.
pub(super) fn turned(known: &Labels) -> Targets {
    let items = known.items().iter();
    let turns = items.map(|label| [label.class().is_some(); TURNS]);
    Targets {
        class: (0..(TURNS * known.len()) as u32)
            .map(|item| item % TURNS as u32)
            .collect(),
        weight: vec![1.0; TURNS * known.len()],
        labeled: turns.flatten().collect(),
        passes: 1,
        triplets: None,
        since: 0,
    }
}

#[cfg(test)]
mod tests {
    use likewise::images::PixelRows;

    use super::*;

    #[test]
    fn four_turns_to_the_left() {
        let image = [1.0, 2.0, 3.0, 4.0_f32];
        assert_eq!(left(&image, [1, 2], 0), image);
        // numpy.rot90 of [[1, 2], [3, 4]].
        assert_eq!(left(&image, [1, 2], 1), [2.0, 4.0, 1.0, 3.0]);
        assert_eq!(left(&image, [1, 2], 2), [4.0, 3.0, 2.0, 1.0]);
        assert_eq!(left(&image, [1, 2], 3), [3.0, 1.0, 4.0, 2.0]);
        let large: Vec<f32> = (0..2 * 25).map(|v| v as f32).collect();
        for turns in 0..TURNS {
            let mut now = large.clone();
            for _ in 0..turns {
                now = left(&now, [2, 5], 1);
            }
            assert_eq!(now, left(&large, [2, 5], turns));
        }
    }

    #[test]
    fn every_image_stands_in_its_turns() {
        let pixels = Array2::from_shape_fn((3, 9), |(i, j)| (10 * i + j) as f32);
        let plain = PixelRows::new(pixels.view(), [1, 3, 3]).unwrap();
        let images = Turned::new(&plain, 1, 3);
        let items = Turned::items(&[2, 0]);
        assert_eq!(items, [8, 9, 10, 11, 0, 1, 2, 3]);
        let rows = images.rows(&items).unwrap();
        assert_eq!(rows.row(0), pixels.row(2));
        assert_eq!(rows.row(4), pixels.row(0));
        assert_eq!(
            rows.row(1).to_vec(),
            [22.0, 25.0, 28.0, 21.0, 24.0, 27.0, 20.0, 23.0, 26.0]
        );
        let targets = turned(&Labels::parse(["a", ""]));
        assert_eq!(targets.class, [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(targets.weight, [1.0; 8]);
        assert_eq!(targets.labeled[3..5], [true, false]);
        assert_eq!(targets.passes, 1);
    }
}
