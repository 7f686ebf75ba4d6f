//! The recipe that labels choose, and the number of neighbours that suits the items.

use std::path::PathBuf;

use likewise::error::Hint;
use likewise::{Collection, Monitor, View};

use crate::environment::Environment;
use crate::recipe::{Recipe, most_neighbors};
use crate::study::{CHOICE, Choice, Plan, Protocol};
use crate::{ErrorKind, Result, usage};

/// What the labels at hand choose, with `k` neighbours where that is asked for. What was compared is kept among
/// the `checkpoints`, and not done again.
///
/// Fails where `k` is not below the number of items, and as the fits of the candidates do.
pub fn choose(
    collection: &Collection,
    view: &View,
    protocol: &Protocol,
    k: Option<usize>,
    checkpoints: Option<PathBuf>,
    at: &Environment,
) -> Result<Choice> {
    // Recipes are compared on a part of the items, and with no more neighbours than suit it.
    if let Some(k) = k.filter(|k| !(1..collection.len()).contains(k)) {
        let most = collection.len().saturating_sub(1);
        let rule = format!("k = {k} must be from 1 to {most}, the number of other items");
        return Err(usage(rule));
    }
    let (device, recipe) = (at.device.clone(), Recipe::default());
    let plan = Plan {
        checkpoints: checkpoints.clone(),
        ..Plan::of(collection, view.matrix.view(), &recipe, protocol, device)
    };
    let chosen = plan.choose_recipe(k, at.monitor);
    chosen.map_err(|e| {
        let kept = checkpoints.is_some_and(|folder| folder.join(CHOICE).exists());
        if kept && e.kind() == ErrorKind::Cancelled {
            e.hint(Hint::Resume)
        } else {
            e
        }
    })
}

/// Twenty neighbours of sixty items would be everybody: says so, and takes a tenth.
pub fn limit_neighbors(recipe: &mut Recipe, items: f64, monitor: &Monitor) {
    if let Some(propagation) = recipe.pseudo_labels.propagation_mut() {
        let k = propagation.graph.n_neighbors();
        let k = fewer_neighbors(k, items, monitor);
        propagation.graph = propagation.graph.clone().k(k);
    }
}

/// As many neighbours of an item, or a tenth of the items where that is less, which is said.
pub fn fewer_neighbors(k: usize, items: f64, monitor: &Monitor) -> usize {
    let most = most_neighbors(items as usize);
    if k <= most || items <= 0.0 {
        return k;
    }
    monitor.warn(format!(
        "{k} neighbours are many for {items} items, of which they would be no near ones; using {most}"
    ));
    most
}
