//! Where the classes of items without a label come from.

use likewise::ensemble::Wanted;
use likewise::learn::Targets;
use likewise::{Labels, Monitor};
use likewise_nn::lpf::{Predicted, Rows};
use ndarray::{Array2, ArrayView2, Axis};

use super::believed::Believed;
use super::fitted::Ground;
use super::plan::CrossPlan;
use crate::Result;
use crate::recipe::{Prediction, PseudoLabels, Voting};
use crate::study::believe::{self, spread};
use crate::study::cluster::{clustered, of_clusters};
use crate::study::refuse::refuse;
use crate::study::selection::Selection;

/// What the recipe takes the items to fit on for, where `known` are the labels that it sees.
pub(super) fn believed(
    plan: &CrossPlan,
    ground: &Ground,
    known: &Labels,
    seed: u64,
    monitor: &Monitor,
) -> Result<Believed> {
    // A class without a label has nothing to spread.
    let (labels, kept) = known.compact();
    let (mut unlike, mut selections) = (Vec::new(), vec![]);
    let mut targets = match &plan.recipe.pseudo_labels {
        // Items and turns as classes are refused across views.
        PseudoLabels::None | PseudoLabels::Instances | PseudoLabels::Rotations => {
            return Ok(Believed::known(known));
        }
        PseudoLabels::Oracle(_) => return Ok(Believed::known(&ground.fitted_labels())),
        PseudoLabels::Propagation(how) => {
            let rows = ground.joined()?;
            let mut how = how.as_ref().clone();
            let most = rows.nrows().saturating_sub(1).max(1);
            if how.graph.n_neighbors() > most {
                how.graph = how.graph.clone().k(most);
            }
            let graph = how.graph.build(rows.view(), monitor)?;
            let beliefs = spread(&how, rows.view(), &graph, &labels, monitor)?;
            believe::believed(&beliefs, &labels, &how)
        }
        PseudoLabels::Affinity(how) => {
            let places = believe::members(&labels, 0, how, seed);
            let rows = ground.joined()?.select(Axis(0), &places);
            believe::of_affinities(rows.view(), &places, &labels, how, monitor)?
        }
        PseudoLabels::Votes(how) => voted(ground, &labels, how, seed, monitor)?,
        PseudoLabels::Lpf(how) => {
            let found = predicted(plan, ground, &labels, how, seed, monitor)?;
            let selected = believe::of_selection(&found, &labels, how);
            let views: Vec<&str> = ground.sides().0.iter().map(|side| side.name).collect();
            selections =
                Selection::all(&found.iterations, &labels, &ground.fitted_labels(), &views);
            unlike = found.unlike;
            selected
        }
        PseudoLabels::Clusters(how) => {
            let rows = ground.joined()?;
            let found = clustered(how, rows.view(), &labels, (seed, 1), monitor)?;
            of_clusters(&found, &labels, how.labels)
        }
    };
    if let Some(outside) = plan.recipe.pseudo_labels.outside() {
        let (rows, with) = (ground.joined()?, (seed, monitor));
        unlike = refuse(&mut targets, rows.view(), &labels, outside, with)?;
    }
    let class = targets.class.iter().zip(&targets.weight);
    // A cluster without a label is of no class that is known.
    let class = class.map(|(&c, &w)| kept.get(c as usize).copied().filter(|_| w > 0.0));
    let believed = Believed::of(class.collect(), targets.weight.clone());
    Ok(Believed {
        selections,
        unlike,
        ..believed
    })
}

/// By votes on each view for itself; where some items lack one, on all of them side by side.
fn voted(
    ground: &Ground,
    labels: &Labels,
    how: &Voting,
    seed: u64,
    monitor: &Monitor,
) -> Result<Targets> {
    let sides = &ground.sides().0;
    let whole = (sides.iter()).all(|side| ground.train.iter().all(|&item| side.has(item)));
    let rows: Vec<Array2<f32>> = if whole {
        let views = 0..sides.len();
        views.map(|t| ground.read(t, &ground.train)).collect()
    } else {
        vec![ground.joined()?]
    };
    let rows: Vec<ArrayView2<f32>> = rows.iter().map(|rows| rows.view()).collect();
    let voted = how
        .votes
        .vote(&rows, labels, None, Wanted::Classes, seed, monitor)?;
    believe::of_votes(&voted, labels, how, seed)
}

/// By the networks and class means of all views; beside it each selection.
fn predicted(
    plan: &CrossPlan,
    ground: &Ground,
    labels: &Labels,
    how: &Prediction,
    seed: u64,
    monitor: &Monitor,
) -> Result<Predicted> {
    let sides = &ground.sides().0;
    let of_class = believe::not_outside(labels);
    let present = |t: usize| {
        let items = ground.train.iter().zip(&of_class);
        let present = items.map(|(&item, of_class)| *of_class && sides[t].has(item));
        present.collect::<Vec<bool>>()
    };
    let (rows, present): (Vec<_>, Vec<_>) = (0..sides.len())
        .map(|t| (ground.read(t, &ground.train), present(t)))
        .unzip();
    let views: Vec<Rows> = (rows.iter().zip(&present))
        .map(|(rows, present)| Rows {
            rows: rows.view(),
            present: Some(present),
        })
        .collect();
    believe::predicted(&views, labels, how, (seed, &plan.device), monitor)
}
