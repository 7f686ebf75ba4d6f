//! Where the classes of items without a label come from.

use likewise::{Labels, Monitor};
use likewise_nn::lpf::Rows;

use super::believed::Believed;
use super::fitted::Ground;
use super::plan::CrossPlan;
use crate::recipe::PseudoLabels;
use crate::study::believe::{self, spread};
use crate::{Error, ErrorKind, Result};

/// What the recipe takes the items to fit on for, where `known` are the labels that it sees.
pub(super) fn believed(
    plan: &CrossPlan,
    ground: &Ground,
    known: &Labels,
    seed: u64,
    monitor: &Monitor,
) -> Result<Believed> {
    match &plan.recipe.pseudo_labels {
        PseudoLabels::None => Ok(Believed::known(known)),
        PseudoLabels::Oracle(_) => Ok(Believed::known(&ground.fitted_labels())),
        PseudoLabels::Propagation(how) => {
            // A class without a label has nothing to spread.
            let (compact, kept) = known.compact();
            let rows = ground.joined()?;
            let mut how = how.as_ref().clone();
            let most = rows.nrows().saturating_sub(1).max(1);
            if how.graph.n_neighbors() > most {
                how.graph = how.graph.clone().k(most);
            }
            let graph = how.graph.build(rows.view(), monitor)?;
            let beliefs = spread(&how, rows.view(), &graph, &compact, monitor)?;
            let targets = believe::believed(&beliefs, &compact, &how);
            let class = targets.class.iter().zip(&targets.weight);
            let class = class.map(|(&c, &w)| (w > 0.0).then(|| kept[c as usize]));
            Ok(Believed::of(class.collect(), targets.weight.clone()))
        }
        PseudoLabels::Lpf(how) => {
            let (compact, kept) = known.compact();
            let labels: Vec<Option<u32>> = compact.items().iter().map(|l| l.class()).collect();
            let sides = ground.sides();
            let (rows, present): (Vec<_>, Vec<_>) = (0..sides.0.len())
                .map(|t| {
                    let has = ground.train.iter().map(|&item| sides.0[t].has(item));
                    (ground.read(t, &ground.train), has.collect::<Vec<bool>>())
                })
                .unzip();
            let views: Vec<Rows> = (rows.iter().zip(&present))
                .map(|(rows, present)| Rows {
                    rows: rows.view(),
                    present: Some(present),
                })
                .collect();
            let classes = compact.n_classes();
            let found = how
                .lpf
                .fit(&views, &labels, classes, seed, &plan.device, monitor)?;
            let power = how.confidence_power as f32;
            let weight = labels
                .iter()
                .zip(&found.confidence)
                .map(|(label, confidence)| label.map_or(confidence.powf(power), |_| 1.0));
            let class = labels
                .iter()
                .zip(&found.class)
                .map(|(label, class)| label.or(*class).map(|class| kept[class as usize]));
            Ok(Believed::of(class.collect(), weight.collect()))
        }
        PseudoLabels::Affinity(_) | PseudoLabels::Votes(_) => Err(Error::new(
            ErrorKind::Internal,
            "affinities give triplets, which no learner across views takes",
        )),
    }
}
