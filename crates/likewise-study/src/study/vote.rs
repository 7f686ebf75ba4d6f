//! Votes on the fitted items, as a recipe asks for them.

use likewise::ensemble::{Judges, Voted, Wanted};
use likewise::{Columns, Label, Labels, Monitor, matrix};
use likewise_nn::Model;
use ndarray::{Array2, ArrayView2, s};

use super::ground::Ground;
use super::setup::Setup;
use crate::Result;
use crate::recipe::Voting;

impl Ground<'_> {
    /// Votes on the rows of the start, on each view by itself where there are several, or on the rows
    /// that a model makes, if one is given. The validation part judges the classifiers, if there is
    /// one.
    pub(super) fn vote(
        &self,
        how: &Voting,
        setup: &Setup,
        known: &Labels,
        model: Option<Model>,
        monitor: &Monitor,
    ) -> Result<Voted> {
        let rows = |items: &[usize], start: &Array2<f32>| -> Result<Vec<Array2<f32>>> {
            match &model {
                Some(model) => Ok(vec![self.embed(model, start, items, monitor)?]),
                None => self.seen(setup, items),
            }
        };
        let fitted = rows(&self.train, &setup.rows)?;
        let kept_back = match &setup.validation {
            Some(judge) => {
                let labels = as_known(&self.labels.select(&judge.items), known)?;
                Some((rows(&judge.items, &judge.rows)?, labels))
            }
            None => None,
        };
        let of_judges = kept_back.as_ref().map(|(rows, _)| views(rows));
        let judges = match (&of_judges, &kept_back) {
            (Some(views), Some((_, labels))) => Some(Judges { views, labels }),
            _ => None,
        };
        let wanted = match how.triplets {
            Some(_) => Wanted::Triplets,
            None => Wanted::Classes,
        };
        (how.votes).vote(&views(&fitted), known, judges, wanted, setup.seed, monitor)
    }

    /// The rows that classifiers look at: several views apart, as the features are read; one by the
    /// coordinates that learning starts from.
    fn seen(&self, setup: &Setup, items: &[usize]) -> Result<Vec<Array2<f32>>> {
        let features = matrix::select_rows(self.plan.features, items);
        let apart = self.plan.collection.columns();
        if apart.is_empty() {
            return Ok(vec![setup.start.coordinates(features)?]);
        }
        let of = |view: &Columns| {
            let own = features.slice(s![.., view.range.clone()]).to_owned();
            setup.start.reading.rows(own)
        };
        Ok(apart.iter().map(of).collect())
    }
}

fn views(rows: &[Array2<f32>]) -> Vec<ArrayView2<'_, f32>> {
    rows.iter().map(|rows| rows.view()).collect()
}

/// Labels by the classes of `known`; of other classes nothing is known.
fn as_known(labels: &Labels, known: &Labels) -> Result<Labels> {
    let class = |label: &Label| match label.class() {
        Some(class) => {
            let name = &labels.classes()[class as usize];
            let own = known.classes().iter().position(|own| own == name);
            own.map_or(Label::Unknown, |class| Label::Known(class as u32))
        }
        None => *label,
    };
    let items = labels.items().iter().map(class).collect();
    Labels::new(known.classes().to_vec(), items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_take_the_numbers_of_the_known_classes() {
        let labels = Labels::parse(["a", "b", "c", "", "-2"]);
        let known = Labels::parse(["c", "", "b"]);
        let found = as_known(&labels, &known).unwrap();
        assert_eq!(found.classes(), ["b", "c"]);
        let expected = [
            Label::Unknown,
            Label::Known(0),
            Label::Known(1),
            Label::Unknown,
            Label::Outside,
        ];
        assert_eq!(found.items(), expected);
    }
}
