//! What a study of items with several labels each can do, and what it refuses.

use likewise::{Labels, Tags};
use likewise_nn::loss::Relation;

use super::plan::Plan;
use super::protocol::SplitKind;
use crate::recipe::{Learner, PseudoLabels, Recipe};
use crate::{Result, usage};

/// What to do about a recipe that goes by one label an item.
const INSTEAD: &str = "take a loss of pairs (contextual, contrastive, multi-similarity ...) or \
                       proxy-anchor by its name, or give one label an item";

impl Plan<'_> {
    /// Fails where items have several labels each and the recipe or the split goes by one, and where the
    /// recipe says how to take several, and there are none.
    pub(super) fn check_several(&self, recipe: &Recipe) -> Result<()> {
        let labels = self.collection.labels.as_ref();
        match labels.filter(|labels| labels.tags().is_some()) {
            None => recipe.check_one_label(),
            Some(_) if self.protocol.split == SplitKind::ZeroShot => Err(usage(
                "split zero-shot divides the classes, and items with several labels each have no classes \
                 apart; take split item or given",
            )),
            Some(_) if self.protocol.split == SplitKind::Folds => Err(usage(
                "split folds measures by the classes of items, and these have several labels each; take \
                 split item, which sets items aside for a test",
            )),
            Some(_) => recipe.check_several_labels(),
        }
    }
}

impl Recipe {
    /// Fails where it says how to take several labels an item.
    fn check_one_label(&self) -> Result<()> {
        let relation = self.learner.gradient().map(|own| own.train.relation);
        match relation.filter(|relation| !relation.is_usual()) {
            None => Ok(()),
            Some(_) => Err(usage(
                "learner.train.relation has no effect: the items have one label each; leave it out, or \
                 read several with `multi_label`",
            )),
        }
    }

    /// Fails where it goes by one label an item.
    fn check_several_labels(&self) -> Result<()> {
        let refused = |what: String| {
            Err(usage(format!(
                "the recipe {}: {what}, and these items have several labels each; {INSTEAD}",
                self.name
            )))
        };
        if self.pseudo_labels != PseudoLabels::None {
            return refused("its pseudo-labels are one class an item".into());
        }
        let Learner::Gradient(gradient) = &self.learner else {
            return refused("its learner reads one label an item, if any".into());
        };
        if gradient.metric.is_some() {
            return refused("its metric goes by one class an item".into());
        }
        let relation = gradient.train.relation;
        if let Some(loss) = gradient
            .loss
            .of_one_class()
            .filter(|_| relation != Relation::Same)
        {
            let loss = loss.name();
            return refused(format!("the loss {loss} compares an item with one class"));
        }
        if relation == Relation::Jaccard && !gradient.loss.compares() {
            return Err(usage(format!(
                "learner.train.relation has no effect: the loss {} does not ask how alike two items are; leave it \
                 out",
                gradient.loss.title()
            )));
        }
        if gradient.miner.is_some() && relation == Relation::Jaccard {
            return refused(
                "its miner takes pairs that are alike or not, and jaccard grades them".into(),
            );
        }
        if self
            .learner
            .network()
            .is_some_and(|own| own.pretraining.is_some())
        {
            return refused("its pretraining goes by one class an item".into());
        }
        Ok(())
    }
}

/// Known labels of each class: of each tag, where classes are sets of tags.
pub(super) fn counted(known: &Labels) -> (Vec<String>, Vec<usize>) {
    let (names, members) = match known.item_tags() {
        Some(tags) => (tags.names().to_vec(), tags.by_tag()),
        None => (known.classes().to_vec(), known.by_class()),
    };
    (names, members.iter().map(Vec::len).collect())
}

/// The known items of each class; where classes are sets of tags, those of fewer than `least` items
/// together, so that none of them has a group of its own too small to divide.
pub(super) fn groups(known: &Labels, least: usize) -> Vec<Vec<usize>> {
    let by_class = known.by_class();
    if known.tags().is_none() {
        return by_class;
    }
    let (rare, mut groups): (Vec<_>, Vec<_>) =
        by_class.into_iter().partition(|own| own.len() < least);
    groups.push(rare.concat());
    groups
}

/// How many items of each class, or of each tag, are searched.
pub(super) struct Answers<'a> {
    labels: &'a Labels,
    /// Of each tag, or each class.
    counts: Vec<usize>,
}

impl<'a> Answers<'a> {
    pub(super) fn of(labels: &'a Labels, gallery: &[usize]) -> Self {
        let n = labels.tags().map_or(labels.n_classes(), Tags::n_tags);
        let mut counts = vec![0; n];
        for class in gallery.iter().filter_map(|&item| labels[item].class()) {
            for &own in rows(labels, &class) {
                counts[own as usize] += 1;
            }
        }
        Self { labels, counts }
    }

    /// Most items of one tag, or of the class, that an item of `class` finds.
    pub(super) fn most(&self, class: u32, own: usize) -> usize {
        let counts = rows(self.labels, &class).iter();
        let counts = counts.map(|&tag| self.counts[tag as usize].saturating_sub(own));
        counts.max().unwrap_or(0)
    }
}

/// The tags of a class, or itself.
fn rows<'a>(labels: &'a Labels, class: &'a u32) -> &'a [u32] {
    match labels.tags() {
        Some(tags) => tags.of(*class as usize).unwrap_or_default(),
        None => std::slice::from_ref(class),
    }
}

#[cfg(test)]
mod tests {
    use likewise_nn::loss::Loss;

    use super::*;

    fn labels() -> Labels {
        let words: [&[&str]; 5] = [&["a", "b"], &["b"], &["a"], &["c"], &["outside"]];
        Labels::of_tags(&Tags::read(words.map(<[&str]>::to_vec)).unwrap()).unwrap()
    }

    #[test]
    fn answers_are_counted_by_tag() {
        let labels = labels();
        let answers = Answers::of(&labels, &[0, 1, 2, 3, 4]);
        let most = |item: usize| labels[item].class().map(|class| answers.most(class, 1));
        let found: Vec<_> = (0..5).map(most).collect();
        assert_eq!(found, [Some(1), Some(1), Some(1), Some(0), None]);
        let single = labels.clone().without_tags();
        let answers = Answers::of(&single, &[0, 1, 2, 3]);
        assert_eq!(answers.most(0, 1), 0);
        let (names, counts) = counted(&labels);
        assert_eq!(
            (names, counts),
            (["a", "b", "c"].map(String::from).to_vec(), vec![2, 2, 1])
        );
        // Sets are classes by their words: a, a|b, b, c.
        assert_eq!(groups(&labels, 4), [vec![2, 0, 1, 3]]);
        assert_eq!(groups(&single, 4).len(), 4);
    }

    #[test]
    fn recipes_that_go_by_one_label_say_so() {
        let said = |name: &str| {
            let recipe = Recipe::named(name).unwrap();
            recipe.check_several_labels().map_err(|e| e.to_string())
        };
        let all = Loss::all();
        let alone = all.iter().filter(|loss| loss.stands_alone());
        for loss in alone.filter(|loss| loss.takes_several_labels()) {
            assert_eq!(said(loss.name()), Ok(()), "{}", loss.name());
        }
        for (name, why) in [
            ("mixed-lp", "its pseudo-labels are one class"),
            ("exemplar", "its pseudo-labels are one class"),
            ("rca", "its learner reads one label"),
            ("deep-lrml", "its metric goes by one class"),
            ("soft-triple", "the loss soft-triple compares"),
        ] {
            let e = said(name).unwrap_err();
            assert!(
                e.contains(why) && e.contains("proxy-anchor by its name"),
                "{e}"
            );
        }
        let mut recipe = Recipe::named("contextual").unwrap();
        let Learner::Gradient(gradient) = &mut recipe.learner else {
            panic!("it learns by gradients");
        };
        gradient.train.relation = Relation::Jaccard;
        assert!(recipe.check_several_labels().is_ok());
        let mut by_tags = Recipe::named("proxy-anchor").unwrap();
        if let Learner::Gradient(gradient) = &mut by_tags.learner {
            gradient.train.relation = Relation::Jaccard;
        }
        let e = by_tags.check_several_labels().unwrap_err().to_string();
        assert!(e.contains("has no effect: the loss proxy-anchor"), "{e}");
        let e = recipe.check_one_label().unwrap_err().to_string();
        assert!(e.contains("learner.train.relation has no effect"), "{e}");
    }
}
