//! The methods by which labels spread while people give them: those of which a session follows single changes.

use likewise::propagate::{
    Harmonic, Lgc, LgcSession, Mass, Mixed, Poisson, PoissonSession, Session,
};
use likewise::{Graph, Label, Labels, Monitor};

use crate::{Result, usage};

/// How much a label weighs in the spreading. Where it weighs little, as in the default, whole graphs of small
/// distances take nearly the same value, and one label far away turns a group whose own labels are right.
const HOLD: f64 = 1.0;

/// How fine a solve is. Finer, it takes longer, and beliefs are the same but for ties.
const FINE: f64 = 1e-6;

/// The same of more items than [`MANY`]. What spreads far is found first: of a million items in 100 classes, no
/// pseudo-label was another than by all labels at once solved to 1e-9, and no score was more than .002 away.
const COARSE: f64 = 1e-4;

/// Items whose labels would spread too slowly if they were solved as finely as those of few.
const MANY: usize = 300_000;

/// A method by which labels spread while people give them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// [`Harmonic`], which holds labels.
    #[default]
    Harmonic,
    /// [`Lgc`] of uniform mass.
    Lgc,
    /// [`Mixed::labeled`], whose negative edges are those of the labels at the beginning, until all spreads anew.
    Mixed,
    /// [`Poisson`].
    Poisson,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Harmonic, Self::Lgc, Self::Mixed, Self::Poisson];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Harmonic => "harmonic",
            Self::Lgc => "lgc",
            Self::Mixed => "mixed",
            Self::Poisson => "poisson",
        }
    }

    /// The method of this name. Fails on another, with all names.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|own| own.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            usage(format!(
                "no session follows labels by \"{name}\"; it is one of {names}"
            ))
        })
    }

    /// Spreads labels, of which there are some.
    pub(super) fn begin<'g>(
        self,
        graph: &'g Graph,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<Following<'g>> {
        let fine = if graph.n() > MANY { COARSE } else { FINE };
        Ok(match self {
            Self::Harmonic => {
                let harmonic = Harmonic::new().mu(HOLD).tolerance(fine);
                Following::Held(Box::new(harmonic.session(graph, labels, monitor)?))
            }
            Self::Mixed => {
                let mixed = Mixed::labeled().tolerance(fine);
                Following::Held(Box::new(mixed.session(graph, labels, monitor)?))
            }
            Self::Lgc => {
                let lgc = Lgc::new().mass(Mass::Uniform).tolerance(fine);
                Following::Lgc(lgc.session(graph, labels, monitor)?)
            }
            Self::Poisson => Following::Poisson(
                Poisson::new()
                    .tolerance(fine)
                    .session(graph, labels, monitor)?,
            ),
        })
    }
}

/// Class and confidence of each item.
#[derive(Debug, Clone)]
pub(super) struct Believed {
    pub(super) class: Vec<Option<u32>>,
    pub(super) confidence: Vec<f32>,
}

/// Beliefs that follow single changes of labels.
pub(super) enum Following<'g> {
    Held(Box<Session<'g>>),
    Lgc(LgcSession<'g>),
    Poisson(PoissonSession<'g>),
}

impl Following<'_> {
    pub(super) fn relabel(&mut self, item: usize, label: Label, monitor: &Monitor) -> Result<()> {
        match self {
            Self::Held(session) => session.relabel(item, label, monitor),
            Self::Lgc(session) => session.relabel(item, label, monitor),
            Self::Poisson(session) => session.relabel(item, label, monitor),
        }
        .map(drop)
    }

    pub(super) fn regroup(&mut self, classes: Vec<String>, places: &[Option<u32>]) -> Result<()> {
        match self {
            Self::Held(session) => session.regroup(classes, places),
            Self::Lgc(session) => session.regroup(classes, places),
            Self::Poisson(session) => session.regroup(classes, places),
        }
    }

    pub(super) fn labels(&self) -> &Labels {
        match self {
            Self::Held(session) => session.labels(),
            Self::Lgc(session) => session.labels(),
            Self::Poisson(session) => session.labels(),
        }
    }

    pub(super) fn pseudo_label(&self) -> &[Option<u32>] {
        match self {
            Self::Held(session) => session.pseudo_label(),
            Self::Lgc(session) => session.pseudo_label(),
            Self::Poisson(session) => session.pseudo_label(),
        }
    }

    pub(super) fn confidence_of(&self, items: &[usize]) -> Vec<f32> {
        let some = |all: &[f32]| items.iter().map(|&item| all[item]).collect();
        match self {
            Self::Held(session) => session.confidence_of(items),
            Self::Lgc(session) => some(session.confidence()),
            Self::Poisson(session) => some(session.confidence()),
        }
    }

    pub(super) fn believed(&self) -> Believed {
        let confidence = match self {
            Self::Held(session) => session.confidence(),
            Self::Lgc(session) => session.confidence().to_vec(),
            Self::Poisson(session) => session.confidence().to_vec(),
        };
        Believed {
            class: self.pseudo_label().to_vec(),
            confidence,
        }
    }

    /// Each labeled item that reaches another, with its part.
    pub(super) fn sources(&self, item: usize, monitor: &Monitor) -> Result<Vec<(u32, f64)>> {
        match self {
            Self::Held(session) => session.sources(item, monitor),
            Self::Lgc(session) => session.sources(item, monitor),
            Self::Poisson(session) => session.sources(item, monitor),
        }
    }

    /// What the classes of an item are compared by.
    pub(super) fn compared(&self, item: usize) -> Vec<f64> {
        match self {
            Self::Held(session) => session.compared(item),
            // Theirs are on a par already.
            Self::Lgc(session) => session.scores().row(item).to_vec(),
            Self::Poisson(session) => session.scores().row(item).to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use likewise::graph::KnnGraph;
    use ndarray::Array2;

    use super::*;

    /// Items of five clouds on a circle that overlap, every fortieth of them labeled.
    fn clouds(n: usize) -> (Graph, Labels) {
        let angle = |i: usize| (i % 5) as f64 * 1.2566 + ((i * 7919) % 1000) as f64 * 0.0015;
        let x = Array2::from_shape_fn((n, 2), |(i, j)| {
            let away = 1.0 + ((i * 104_729) % 997) as f64 * 0.0008;
            let (sin, cos) = angle(i).sin_cos();
            (away * if j == 0 { cos } else { sin }) as f32
        });
        let graph = KnnGraph::new().k(8).build(x.view(), &Monitor::silent());
        let word = |i: usize| match i % 40 {
            0 => ((i / 40) % 5).to_string(),
            _ => String::new(),
        };
        (graph.unwrap(), Labels::parse((0..n).map(word)))
    }

    #[test]
    fn many_single_labels_end_where_all_at_once_do() {
        let (graph, labels) = clouds(500);
        let silent = Monitor::silent();
        for method in [Method::Harmonic, Method::Lgc, Method::Poisson] {
            let mut following = method.begin(&graph, &labels, &silent).unwrap();
            for i in 0..50 {
                let label = Label::Known((i % 5) as u32);
                following.relabel(i * 10 + 3, label, &silent).unwrap();
            }
            let anew = method.begin(&graph, following.labels(), &silent);
            let anew = anew.unwrap();
            let pairs = following.pseudo_label().iter().zip(anew.pseudo_label());
            let other = pairs.filter(|(a, b)| a != b).count();
            assert!(other <= 3, "{}: {other}", method.name());
            let all: Vec<usize> = (0..graph.n()).collect();
            let sure = following.confidence_of(&all);
            let far = sure.iter().zip(anew.confidence_of(&all));
            let far = far.fold(0.0_f32, |far, (a, b)| far.max((a - b).abs()));
            assert!(far < 0.01, "{}: {far}", method.name());
        }
    }

    #[test]
    fn methods_are_told_by_their_names() {
        for method in Method::ALL {
            assert_eq!(Method::named(method.name()).unwrap(), method);
        }
        let said = Method::named("goldberg").unwrap_err().to_string();
        assert!(said.contains("harmonic, lgc, mixed, poisson"), "{said}");
    }
}
