//! Rounds that keep labels back, and what these answer.

use std::collections::BTreeMap;

use likewise::eval::few_labels::{self, Round, Value};
use likewise::{Embedding, Labels, Monitor};
use ndarray::ArrayView2;

use crate::Result;
use crate::study::copies::Copies;
use crate::study::draw::Drawn;
use crate::study::rounds::ENOUGH;
use crate::study::row::Row;

/// Values of one system: a list a round.
pub(super) type Values = Vec<Vec<Value>>;

/// Rounds that each keep some labels back.
pub(super) struct Rounds {
    /// The labels of different items.
    pub(super) once: Labels,
    /// Items whose labels a round keeps back, ascending.
    kept: Vec<Vec<usize>>,
    /// The labels without those of copies of items that are kept back.
    asked: Vec<Labels>,
    /// The labels that a round may learn from.
    pub(super) seen: Vec<Labels>,
    /// How many labels there are.
    known: usize,
    pub(super) seed: u64,
}

impl Rounds {
    /// Rounds in which a class has `least` labels to learn from.
    pub(super) fn of(features: ArrayView2<f32>, drawn: &Drawn, least: usize) -> Self {
        let known = &drawn.known;
        let copies = Copies::of(features, known);
        let once = copies.once(known);
        let (mut kept, mut asked, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for apart in few_labels::rounds(&once, drawn.seed) {
            let all = copies.apart(known, &apart);
            let rest = all.masked(|i| apart.binary_search(&i).is_err());
            if rest.by_class().iter().any(|own| own.len() >= least) {
                kept.push(apart);
                asked.push(all);
                seen.push(rest);
            }
        }
        Self {
            once,
            kept,
            asked,
            seen,
            known: known.n_known(),
            seed: drawn.seed,
        }
    }

    /// Labels that may choose where these are `seen`: what a round may choose by its labels is what all
    /// labels may choose. Rounds just below the threshold would measure another model than the one that is kept.
    pub(super) fn enough(&self, seen: &Labels) -> usize {
        ENOUGH * seen.n_known() / self.known
    }
}

/// What rounds say of each system.
pub(super) struct Answers<'a> {
    pub(super) rounds: &'a Rounds,
    /// Items of each class in the whole collection.
    pub(super) sizes: &'a [f64],
    pub(super) values: BTreeMap<Row, Values>,
    pub(super) quiet: &'a Monitor,
}

impl Answers<'_> {
    /// Asks an embedding of all items by what one round keeps back.
    pub(super) fn ask(&mut self, row: Row, embedding: &Embedding, number: usize) -> Result<()> {
        let round = Round {
            embedding,
            labels: &self.rounds.asked[number],
            kept: &self.rounds.kept[number],
            sizes: self.sizes,
        };
        let found = few_labels::r_precision(&round, self.quiet)?;
        self.values.entry(row).or_default().push(found);
        Ok(())
    }

    /// Asks an embedding by what each round keeps back.
    pub(super) fn ask_all(&mut self, row: Row, embedding: &Embedding) -> Result<()> {
        (0..self.rounds.kept.len()).try_for_each(|number| self.ask(row, embedding, number))
    }
}
