//! How well classes fit a graph: whether a random walk stays in the class where it began.
//!
//! How much likelier a short walk ends in the class where it began than chance has it, of what is possible: 1 where
//! no edge leaves a class, 0 where all is one class. [`PoissonMbo`](crate::propagate::PoissonMbo) has the formula.
//!
//! **Use it** to choose between answers on one graph. **Not** as the share that is right: it asks for no
//! label, and a cut through a class that the graph parts as well is as good to it.
//!
//! Cost: O(entries x C), memory O(n).
//!
//! Source: Delvenne, Yaliraki and Barahona 2010, of a walk of so many steps; divided by what is possible, so that
//! answers with classes of other sizes compare.

use rayon::prelude::*;

use crate::Graph;

/// Steps of the walk.
const WALK: usize = 2;
/// Classes that are walked together.
const WIDTH: usize = 8;

/// `(r - q) / (1 - q)`, where a walk of [`WALK`] steps ends in the class where it began with `r`, and by chance
/// with `q`; 0 where all is one class.
pub(crate) fn stability(graph: &Graph, classes: &[Option<u32>]) -> f64 {
    let degrees = graph.degrees();
    let most = classes.iter().flatten().max();
    let all = most.map_or(0, |&class| class as usize + 1);
    let mut volume = vec![0.0; all];
    for (class, degree) in classes.iter().zip(&degrees) {
        if let Some(class) = class {
            volume[*class as usize] += degree;
        }
    }
    let whole = volume.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let chance: f64 = volume.iter().map(|v| (v / whole).powi(2)).sum();
    let returned = returns(graph, &degrees, classes, all, WALK);
    if chance < 1.0 {
        (returned - chance) / (1.0 - chance)
    } else {
        0.0
    }
}

/// Mean over the nodes that have a class of the chance to be in it after so many steps. A node
/// without edges stays where it is.
fn returns(
    graph: &Graph,
    degrees: &[f64],
    classes: &[Option<u32>],
    all: usize,
    steps: usize,
) -> f64 {
    let n = graph.n();
    let mut sum = 0.0;
    for first in (0..all).step_by(WIDTH) {
        let place = |class: Option<u32>| {
            let place = (class? as usize).checked_sub(first)?;
            (place < WIDTH).then_some(place)
        };
        let own = |i: usize| -> [f32; WIDTH] {
            let mut row = [0.0; WIDTH];
            if let Some(place) = place(classes[i]) {
                row[place] = 1.0;
            }
            row
        };
        let mut u: Vec<[f32; WIDTH]> = (0..n).map(own).collect();
        for _ in 0..steps {
            let step = |i: usize| {
                let (columns, weights) = graph.row(i);
                if degrees[i] <= 0.0 {
                    return u[i];
                }
                let mut row = [0.0_f32; WIDTH];
                for (&j, &w) in columns.iter().zip(weights) {
                    for (sum, v) in row.iter_mut().zip(&u[j as usize]) {
                        *sum += w * v;
                    }
                }
                row.map(|sum| sum / degrees[i] as f32)
            };
            u = (0..n).into_par_iter().with_min_len(512).map(step).collect();
        }
        for (i, row) in u.iter().enumerate() {
            if let Some(place) = place(classes[i]) {
                sum += f64::from(row[place]);
            }
        }
    }
    let reached = classes.iter().flatten().count();
    sum / reached.max(1) as f64
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::reference;

    #[test]
    fn by_hand() {
        // A triangle: two steps come back with 1/2, and end at each of the others with 1/4.
        let indices = vec![1, 2, 0, 2, 0, 1];
        let triangle = Graph::new(vec![0, 2, 4, 6], indices, vec![1.0; 6]).unwrap();
        // (3/4 + 3/4 + 1/2) / 3 against 4/9 + 1/9.
        let two = stability(&triangle, &[Some(0), Some(0), Some(1)]);
        assert!((two - 0.25).abs() < 1e-6, "{two}");
        assert!(stability(&triangle, &[Some(1); 3]).abs() <= 0.0);
        assert!(stability(&triangle, &[None; 3]).abs() <= 0.0);
        // Two pairs that no edge joins, and an item without a class.
        let pairs = Graph::new(vec![0, 1, 2, 3, 4, 4], vec![1, 0, 3, 2], vec![1.0; 4]).unwrap();
        let of = |classes: [u32; 4]| {
            let mut classes = classes.map(Some).to_vec();
            classes.push(None);
            stability(&pairs, &classes)
        };
        assert!((of([0, 0, 1, 1]) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_walk_is_that_of_the_definition() {
        let graph = reference::random_graph(40, 90, 3);
        let classes: Vec<Option<u32>> = (0..40).map(|i| (i % 5 > 0).then_some(i % 11)).collect();
        let w = reference::dense(&graph);
        let degrees = graph.degrees();
        let mut p = Array2::<f64>::eye(40);
        for _ in 0..3 {
            p = Array2::from_shape_fn((40, 40), |(i, j)| {
                if degrees[i] > 0.0 {
                    (0..40).map(|l| w[[i, l]] / degrees[i] * p[[l, j]]).sum()
                } else {
                    f64::from(u8::from(i == j))
                }
            });
        }
        let expected: f64 = (0..40)
            .filter(|&i| classes[i].is_some())
            .map(|i| {
                (0..40)
                    .filter(|&j| classes[j] == classes[i])
                    .map(|j| p[[i, j]])
                    .sum::<f64>()
            })
            .sum::<f64>()
            / 32.0;
        let found = returns(&graph, &degrees, &classes, 11, 3);
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
}
