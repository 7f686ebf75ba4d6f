//! Two maps of the tested items: raw features and embedding, seen along the two directions
//! in which each varies most.

use likewise::linear::whitening::Spectrum;
use likewise::{Labels, matrix, seed};
use maud::{Markup, html};
use ndarray::{Array2, ArrayView2};
use rand::seq::SliceRandom;

use super::chart::{self, Point, SIGNS};
use super::ground::{Ground, percent};
use crate::Result;

/// Most items on a map.
const MOST: usize = 3000;
/// Most classes in the legend.
const LEGEND: usize = SIGNS;

/// Both maps and their legend.
pub(super) fn maps(ground: &Ground) -> Result<Markup> {
    let mut items = ground.tested.clone();
    if items.is_empty() {
        return Ok(html! { p { "No tested item has a known class: there is nothing to show." } });
    }
    // The order is drawn too, so that no class lies on top of the others.
    items.shuffle(&mut seed::stream(ground.results.seed, "report map"));
    items.truncate(MOST);
    Ok(html! {
        p {
            (items.len()) @if ground.believed.is_empty() { " tested items" } @else { " items" }
            @if items.len() < ground.tested.len() {
                ", drawn at random from " (ground.tested.len())
            }
            @if ground.believed.is_empty() {
                ". None of them was fitted on. "
            } @else if ground.queries.is_empty() {
                ". None is labeled. "
            } @else {
                ". The signs are those of the labels and, for items without one, of the class \
                that spread to them, paler where that is less sure; labeled items have a ring. The \
                embedding has learned from both. "
            }
            "Rest the pointer on a point to see what it is. Classes that lie apart here are apart; classes that \
            overlap may still be apart in the directions that a map leaves out."
        }
        div.charts {
            (map("Raw features", ground.features, &items, ground)?)
            (map("Embedding", ground.embeddings(), &items, ground)?)
        }
        (legend(&items, ground.labels))
    })
}

fn map(title: &str, rows: ArrayView2<f32>, items: &[usize], ground: &Ground) -> Result<Markup> {
    let (plane, share) = plane(matrix::select_rows(rows, items))?;
    let class = |item: usize| ground.labels[item].class().map_or(0, |c| c as usize);
    let points: Vec<Point> = plane
        .into_iter()
        .zip(items)
        .map(|(at, &item)| Point {
            at,
            class: class(item),
            sure: ground.sure(item).unwrap_or(1.0),
            ringed: !ground.believed.is_empty() && !ground.is_believed(item),
            title: ground.told(item),
        })
        .collect();
    let svg = chart::map(&format!("{title}: map of the items"), &points);
    Ok(html! {
        figure.panel {
            figcaption { b { (title) } " " (percent(share)) " of the variance" }
            (svg)
        }
    })
}

/// Unit rows along their first two principal directions, and the share of the variance
/// that these hold.
fn plane(rows: Array2<f32>) -> Result<(Vec<[f32; 2]>, f64)> {
    let rows = matrix::l2_normalize(rows);
    let spectrum = Spectrum::fit(rows.view())?;
    let rank = rows.ncols().min(2);
    // Infinite shrinkage only centres and turns.
    let flat = spectrum
        .truncated(f64::INFINITY, rank)?
        .transform(rows.view())?;
    let points = flat.rows().into_iter();
    let points = points.map(|row| [row[0], row.get(1).copied().unwrap_or(0.0)]);
    let total = spectrum.variances.sum();
    let shown: f64 = spectrum.variances.iter().take(rank).sum();
    let share = if total > 0.0 { shown / total } else { 1.0 };
    Ok((points.collect(), share))
}

fn legend(items: &[usize], labels: &Labels) -> Markup {
    let mut present = vec![false; labels.n_classes()];
    for &item in items {
        if let Some(class) = labels[item].class() {
            present[class as usize] = true;
        }
    }
    let classes: Vec<usize> = (0..present.len()).filter(|&c| present[c]).collect();
    html! {
        ul.legend {
            @for &class in classes.iter().take(LEGEND) {
                @let name = &labels.classes()[class];
                li title=(name) { (chart::sign(class)) " " span { (name) } }
            }
        }
        @if classes.len() > LEGEND {
            p.note {
                "and " (classes.len() - LEGEND) " more classes. Signs begin anew after "
                (SIGNS) " classes."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plane_shows_what_varies() {
        // On the unit circle, the second column varies and the third is almost constant.
        let rows = ndarray::array![[1.0, 1.0, 0.01], [1.0, -1.0, 0.01], [1.0, 0.5, 0.0]];
        let (points, share) = plane(rows).unwrap();
        assert!(share > 0.99);
        let spread = |axis: usize| {
            let values = points.iter().map(|p| p[axis]);
            values.clone().fold(f32::MIN, f32::max) - values.fold(f32::MAX, f32::min)
        };
        assert!(spread(0) > 3.0 * spread(1));
    }

    #[test]
    fn one_column_and_equal_rows() {
        let (points, share) = plane(ndarray::array![[1.0], [-2.0]]).unwrap();
        assert_eq!((points[0][1], share), (0.0, 1.0));
        let (points, share) = plane(Array2::zeros((3, 2))).unwrap();
        assert_eq!((points, share), (vec![[0.0, 0.0]; 3], 1.0));
    }
}
