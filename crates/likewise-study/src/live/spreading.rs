//! Labels that spread over a graph, as they change.

use std::sync::Arc;

use likewise::{Graph, Labels, Monitor};

use super::following::{Following, Method};
use super::items::Items;
use super::labeled::Labeled;
use super::why::{self, Why};
use crate::Result;

/// Changes from which on spreading anew is as fast as following them one by one.
const MANY: usize = 8;

self_cell::self_cell!(
    /// A session with the graph that it borrows, so that it can go from thread to thread.
    struct Session {
        owner: Arc<Graph>,

        #[covariant]
        dependent: Following,
    }
);

/// Labels that spread over a graph.
pub(super) struct Spreading {
    graph: Arc<Graph>,
    method: Method,
    monitor: Monitor,
    /// None without a label.
    session: Option<Session>,
}

impl Spreading {
    /// Spreads labels.
    pub(super) fn begin(
        graph: Arc<Graph>,
        method: Method,
        labeled: &Labeled,
        monitor: Monitor,
    ) -> Result<Self> {
        let mut new = Self {
            graph,
            method,
            monitor,
            session: None,
        };
        new.session = new.anew(labeled)?;
        Ok(new)
    }

    /// Who stops it from now on.
    pub(super) fn heard_by(&mut self, monitor: Monitor) {
        self.monitor = monitor;
    }

    fn anew(&self, labeled: &Labeled) -> Result<Option<Session>> {
        let labels: Labels = labeled.as_labels()?;
        if labels.n_known() == 0 {
            return Ok(None);
        }
        let session = Session::try_new(self.graph.clone(), |graph| {
            self.method.begin(graph, &labels, &self.monitor)
        });
        session.map(Some)
    }

    /// What the labels say; `None` without one.
    pub(super) fn following(&self) -> Option<&Following<'_>> {
        self.session.as_ref().map(Session::borrow_dependent)
    }

    /// Begins anew with other labels, if they are others.
    ///
    /// Fails when cancelled.
    pub(super) fn restart(&mut self, now: &Labeled) -> Result<()> {
        let same = self.following().is_some_and(|following| {
            let labels = following.labels();
            (labels.classes(), labels.items()) == (now.classes(), now.labels())
        });
        if !same {
            self.session = self.anew(now)?;
        }
        Ok(())
    }

    /// Goes on with other labels. A change of classes moves the columns of a session, but for one with negative edges:
    /// these are between classes.
    pub(super) fn follow(&mut self, now: &Labeled) {
        let monitor = &self.monitor;
        let may_regroup = self.method != Method::Mixed;
        let followed = self.session.as_mut().is_some_and(|session| {
            session.with_dependent_mut(|_, following| {
                (may_regroup || following.labels().classes() == now.classes())
                    && followed(following, now, monitor)
            })
        });
        if !followed {
            // Without a label, and where a solve did not end, there are no beliefs.
            self.session = self.anew(now).unwrap_or_default();
        }
    }

    /// Why an item is believed to be what the labels say.
    pub(super) fn why(&self, items: &Items, row: usize) -> Result<Option<Why>> {
        match self.following() {
            Some(following) => why::of(following, &self.graph, items, row, &self.monitor),
            None => Ok(None),
        }
    }
}

/// Brings a session to other labels; whether it is there. If not, it is of no use any more.
fn followed(following: &mut Following, now: &Labeled, monitor: &Monitor) -> bool {
    if following.labels().classes() != now.classes() {
        let places = places(following.labels(), now);
        if following.regroup(now.classes().to_vec(), &places).is_err() {
            return false;
        }
    }
    let labels = following.labels().items().iter().zip(now.labels());
    let differ = labels.enumerate().filter(|(_, (old, new))| old != new);
    let differ: Vec<usize> = differ.map(|(row, _)| row).collect();
    let few = differ.len() <= MANY.max(now.classes().len());
    few && (differ.into_iter())
        .all(|row| (following.relabel(row, now.labels()[row], monitor)).is_ok())
}

/// Where the classes of before stand now: by their names, and those that are gone where their first label is.
fn places(before: &Labels, now: &Labeled) -> Vec<Option<u32>> {
    let mut places: Vec<Option<u32>> = before
        .classes()
        .iter()
        .map(|name| now.class(name))
        .collect();
    for (old, new) in before.items().iter().zip(now.labels()) {
        if let (Some(old), Some(new)) = (old.class(), new.class()) {
            places[old as usize].get_or_insert(new);
        }
    }
    places
}
