//! The methods by which labels spread while people give them: those of which a session follows single changes.

use likewise::propagate::{
    Harmonic, Lgc, LgcSession, Mass, Mixed, Poisson, PoissonSession, Session,
};
use likewise::{Graph, Label, Labels, Monitor};

use super::Believed;
use crate::{Result, usage};

/// How much a label weighs in the spreading. Where it weighs little, as in the default, whole graphs of small
/// distances take nearly the same value, and one label far away turns a group whose own labels are right.
const HOLD: f64 = 1.0;

/// How fine a solve is. A finer one takes up to twice as long, and no belief changes by it.
const FINE: f64 = 1e-6;

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

    /// Spreads labels; `None` where there are none.
    pub(super) fn begin<'g>(
        self,
        graph: &'g Graph,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<Option<Following<'g>>> {
        if labels.n_known() == 0 {
            return Ok(None);
        }
        Ok(Some(match self {
            Self::Harmonic => Following::Held(
                Harmonic::new()
                    .mu(HOLD)
                    .tolerance(FINE)
                    .session(graph, labels, monitor)?,
            ),
            Self::Mixed => Following::Held(
                Mixed::labeled()
                    .tolerance(FINE)
                    .session(graph, labels, monitor)?,
            ),
            Self::Lgc => {
                let lgc = Lgc::new().mass(Mass::Uniform).tolerance(FINE);
                Following::Lgc(lgc.session(graph, labels, monitor)?)
            }
            Self::Poisson => Following::Poisson(
                Poisson::new()
                    .tolerance(FINE)
                    .session(graph, labels, monitor)?,
            ),
        }))
    }
}

/// Beliefs that follow single changes of labels.
pub(super) enum Following<'g> {
    Held(Session<'g>),
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
