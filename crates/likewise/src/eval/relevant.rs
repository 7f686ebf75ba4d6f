//! What is relevant to a query: the items of its class or, where classes are sets of tags, those that
//! share a tag with it, and how many.
//!
//! Tested with its only user, [`ranking`](super::ranking).

use crate::{Labels, Tags};

/// Who is relevant to whom in a gallery.
pub(super) enum Relation<'a> {
    /// Places of each class, ascending.
    Classes(Vec<Vec<u32>>),
    /// The tags of each class, and the places of each tag, ascending.
    Tags(&'a Tags, Vec<Vec<u32>>),
}

/// What is relevant to one query, where it has to be put together.
#[derive(Default)]
pub(super) struct Relevant {
    /// Places, ascending.
    places: Vec<u32>,
    /// Number of shared tags of each.
    shared: Vec<u32>,
}

impl<'a> Relation<'a> {
    pub(super) fn of(labels: &'a Labels, gallery: &[usize]) -> Self {
        let classes = gallery.iter().map(|&item| labels[item].class());
        let placed = (0_u32..)
            .zip(classes)
            .filter_map(|(place, class)| Some((place, class?)));
        let Some(tags) = labels.tags() else {
            let mut by_class = vec![Vec::new(); labels.n_classes()];
            placed.for_each(|(place, class)| by_class[class as usize].push(place));
            return Self::Classes(by_class);
        };
        let mut by_tag = vec![Vec::new(); tags.n_tags()];
        for (place, class) in placed {
            for &tag in tags.set(class as usize) {
                by_tag[tag as usize].push(place);
            }
        }
        Self::Tags(tags, by_tag)
    }

    /// Places that are relevant to a query of this class, the query itself among them.
    pub(super) fn places<'r>(&'r self, class: Option<u32>, found: &'r mut Relevant) -> &'r [u32] {
        let Some(class) = class.map(|class| class as usize) else {
            return &[];
        };
        match self {
            Self::Classes(by_class) => &by_class[class],
            Self::Tags(tags, by_tag) => {
                let Relevant { places, shared } = found;
                places.clear();
                shared.clear();
                for &tag in tags.set(class) {
                    places.extend_from_slice(&by_tag[tag as usize]);
                }
                places.sort_unstable();
                shared.extend(places.chunk_by(|a, b| a == b).map(|same| same.len() as u32));
                places.dedup();
                places
            }
        }
    }
}

impl Relevant {
    /// How many tags each of these places shares with the query that was asked for last.
    pub(super) fn gains(&self, places: impl Iterator<Item = u32>) -> Vec<u32> {
        let gain = |place: u32| match self.places.binary_search(&place) {
            Ok(at) => self.shared[at],
            Err(_) => 0,
        };
        places.map(gain).collect()
    }
}
