//! Items that stand more than once: the same to the bit, or nearly the same.
//!
//! 1. Rows that are equal bit by bit become one.
//! 2. Of those that are left, each is joined to those of its 16 nearest whose cosine is
//!    not below the threshold, and that are alike in what rows differ in ([`Usual`]): in few columns, nearer than
//!    different items are by [chance](Chance).
//! 3. Whatever hangs together is a group.
//!
//! A group is a chain: its first and last item may be less alike than the threshold. Where more than
//! 16 different items are nearly the same, a group may fall apart. Rows of zeros are like nothing.
//!
//! Where all items point the same way (mean cosine above .6, as doctor warns), the mean is taken off
//! first: otherwise plain pictures of different things pass for copies. Where columns are of different units, as in a
//! table that nobody has scaled, they are brought to one size ([`comparable`]).
//!
//! Cost: O(n d) for equal rows; the search for neighbours is that of a graph, exact up to 100,000
//! different rows and approximate beyond. Nothing n x n.

mod request;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use likewise::eval::leak::{ALIKE, Chance, Usual, comparable};
use likewise::matrix::{self, check_finite};
use likewise::neighbor::{Exact, Ivf, Neighbors};
use likewise::{Collection, Label, Monitor};
use ndarray::{Array1, ArrayView2, CowArray};
use rayon::prelude::*;
use serde::Serialize;

pub use self::request::Request;
use crate::Result;
use crate::estimate::Estimate;
use crate::graph::DataShape;
use crate::report::Thumbnails;
use crate::report::tiles::{self, Group as Shown, Tile};

/// Cosine from which two items are nearly the same, unless another is asked for. Pictures that were
/// saved again or made a little smaller reach it; different views of one thing seldom do.
pub const THRESHOLD: f32 = 0.995;

/// Neighbours that are looked at.
const NEIGHBORS: usize = 16;
/// Different rows up to which neighbours are sought exactly.
const EXACT: usize = 100_000;
/// Share of the true neighbours that are found otherwise.
const RECALL: f64 = 0.95;
/// Mean cosine from which on the mean is taken off ...
const SAME_WAY: f64 = 0.6;
/// ... if there are so many different rows: the mean of a few copies is the copy.
const MANY: usize = 100;
/// A copy is nearer than the last of the neighbours usually is, by this factor of squared distances.
const NEARER: f64 = 0.05;
/// Groups on a page.
const GROUPS: usize = 200;
/// Items of one of them.
const TILES: usize = 40;

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// Items that were compared.
    pub items: usize,
    /// Cosine from which two are nearly the same.
    pub threshold: f32,
    /// Whether the mean was taken off first.
    pub centered: bool,
    /// Whether columns were of different units, and brought to one size.
    pub scaled: bool,
    /// Whether a few may have been missed: the search was approximate.
    pub approximate: bool,
    /// Items that equal an earlier one bit by bit.
    pub identical: usize,
    /// Items that are in a group without being such a copy, but for one a group: so many more may
    /// go without anything being lost.
    pub near: usize,
    /// Groups whose items have different labels.
    pub conflicting: usize,
    /// The groups, the largest first.
    pub groups: Vec<Group>,
}

/// Items that are the same, or nearly.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Its number, from 1.
    pub group: usize,
    /// Whether its items have different labels.
    pub conflicting: bool,
    /// Its items, in their order.
    pub items: Vec<Member>,
}

/// An item of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Member {
    /// Its id.
    pub id: String,
    /// Cosine to the nearest other item of the group; 1 for a copy.
    pub similarity: f32,
    /// Its label, where it has one.
    pub label: Option<String>,
    /// Its row.
    #[serde(skip)]
    pub item: usize,
}

/// Looks for items that stand more than once among the rows of `x` (`n x d`), those of
/// `collection`.
///
/// Near are rows of a cosine of `threshold` or more that are also alike in what rows differ in: in a few columns
/// many cosines are high, nearly all where columns are of unlike size, which makes no copies.
///
/// Fails on NaN, for a threshold that is not above 0 and at most 1, and when cancelled.
pub fn find(
    collection: &Collection,
    x: ArrayView2<f32>,
    threshold: f32,
    seed: u64,
    monitor: &Monitor,
) -> Result<Found> {
    check(threshold)?;
    check_finite(x, "features")?;
    let (first, distinct) = equal(x);
    let raw = matrix::select_rows(x, &distinct);
    let even = Some(comparable(raw.view()));
    let even = even.filter(CowArray::is_owned).map(CowArray::into_owned);
    let scaled = even.is_some();
    let unit = matrix::l2_normalize(even.unwrap_or(raw));
    let centered = distinct.len() >= MANY && is_one_way(unit.view());
    let rows = if centered {
        matrix::centered(unit.view())
    } else {
        unit
    };
    let approximate = distinct.len() > EXACT;
    let k = NEIGHBORS.min(distinct.len().saturating_sub(1));
    // Of the row of each item: the first one that it hangs together with, and its nearest.
    let mut joined: Vec<usize> = (0..distinct.len()).collect();
    let mut nearest = vec![f32::NEG_INFINITY; distinct.len()];
    if k > 0 && x.ncols() > 0 {
        let neighbors = if approximate {
            let search = Ivf::new().recall(RECALL).seed(seed);
            search.search(rows.view(), k, monitor)?.0
        } else {
            Exact::new().search(rows.view(), k, monitor)?.0
        };
        // Of few items nobody knows in what they usually differ.
        let most =
            (distinct.len() >= MANY).then(|| MostApart::of(rows.view(), &neighbors, threshold));
        let chance = Chance::of(x, &distinct);
        let is_copy = |(a, b): (usize, usize)| {
            let most = most.as_ref();
            let by_chance = (chance.as_ref())
                .is_some_and(|chance| chance.explains(x, (distinct[a], distinct[b])));
            most.is_none_or(|most| most.holds(rows.view(), (a, b))) && !by_chance
        };
        for (row, (list, alike)) in (neighbors.indices.rows().into_iter())
            .zip(neighbors.similarities.rows())
            .enumerate()
        {
            for (&other, &cosine) in list.iter().zip(alike) {
                if cosine < threshold {
                    break;
                }
                let other = other as usize;
                if !is_copy((row, other)) {
                    continue;
                }
                nearest[row] = nearest[row].max(cosine.min(1.0));
                nearest[other] = nearest[other].max(cosine.min(1.0));
                join(&mut joined, row, other);
            }
        }
    }
    let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
    for (item, &row) in first.iter().enumerate() {
        if let Some(row) = row {
            members
                .entry(root(&mut joined, row))
                .or_default()
                .push(item);
        }
    }
    let mut copies = vec![0_usize; distinct.len()];
    first.iter().flatten().for_each(|&row| copies[row] += 1);
    let mut groups: Vec<Vec<usize>> = members.into_values().filter(|g| g.len() > 1).collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0]));
    let similarity = |item: usize| match first[item] {
        Some(row) if copies[row] == 1 => nearest[row],
        _ => 1.0,
    };
    let groups: Vec<Group> = (groups.iter().zip(1..))
        .map(|(items, group)| of(collection, group, items, similarity))
        .collect();
    let identical = copies.iter().map(|&copies| copies.saturating_sub(1)).sum();
    let in_groups: usize = groups.iter().map(|group| group.items.len() - 1).sum();
    Ok(Found {
        items: x.nrows(),
        threshold,
        centered,
        scaled,
        approximate,
        identical,
        near: in_groups - identical,
        conflicting: groups.iter().filter(|group| group.conflicting).count(),
        groups,
    })
}

/// How far near items are apart at most.
struct MostApart {
    usual: Usual,
    /// In squared deviations ([`Usual::apart`]).
    most: f64,
}

impl MostApart {
    /// Twice what the cosine allows where all columns vary alike; and much less than items are from the last of
    /// their neighbours, unless these are mostly copies themselves: in few columns anything is near something.
    fn of(rows: ArrayView2<f32>, neighbors: &Neighbors, threshold: f32) -> Self {
        let all: Vec<usize> = (0..rows.nrows()).collect();
        let usual = Usual::of(rows, all.iter());
        let most = (ALIKE * ALIKE).max(4.0 * (1.0 - f64::from(threshold)));
        let last = all.iter().zip(neighbors.indices.rows());
        let last = last.filter_map(|(&row, list)| Some((row, *list.last()? as usize)));
        let mut apart: Vec<f64> = last.map(|pair| usual.apart(rows, pair)).collect();
        apart.sort_unstable_by(f64::total_cmp);
        let usually = apart.get(apart.len() / 2).copied().unwrap_or(0.0);
        let most = if usually > most {
            most.min(NEARER * usually)
        } else {
            most
        };
        Self { usual, most }
    }

    fn holds(&self, rows: ArrayView2<f32>, pair: (usize, usize)) -> bool {
        self.usual.apart(rows, pair) <= self.most
    }
}

/// Fails for a threshold that no cosine can be compared with.
pub fn check(threshold: f32) -> Result<()> {
    if threshold > 0.0 && threshold <= 1.0 {
        return Ok(());
    }
    let rule = "must be above 0 and at most 1; it is a cosine";
    Err(likewise::Error::parameter("threshold", threshold, rule))
}

/// What [`find`] will cost.
pub fn estimate(shape: &DataShape) -> Estimate {
    let (n, d, k) = (shape.items, shape.columns, NEIGHBORS as f64);
    let needed = shape.read().resident(8.0 * n * d);
    if n > EXACT as f64 {
        needed.approximate_graph(n, d, k)
    } else {
        needed.graph(n, d, k)
    }
}

/// A page with the groups, as pictures where there are some.
fn page<'a>(
    found: &Found,
    collection: &'a Collection,
    pictures: Option<Thumbnails<'a>>,
) -> Result<String> {
    let groups = found.groups.iter().take(GROUPS).map(|group| Shown {
        title: format!(
            "Group {}: {} items{}",
            group.group,
            group.items.len(),
            if group.conflicting {
                ", of different labels"
            } else {
                ""
            }
        ),
        left_out: group.items.len().saturating_sub(TILES),
        tiles: (group.items.iter().take(TILES))
            .map(|member| Tile {
                item: member.item,
                words: match &member.label {
                    Some(label) => format!("{label} · {:.4}", member.similarity),
                    None => format!("{:.4}", member.similarity),
                },
                bad: group.conflicting,
            })
            .collect(),
    });
    let mut about = vec![found.in_words()];
    if found.groups.len() > GROUPS {
        about.push(format!(
            "Shown are the {GROUPS} largest of {} groups; a .csv has them all.",
            found.groups.len()
        ));
    }
    tiles::page(
        "Duplicates",
        &about,
        &groups.collect::<Vec<_>>(),
        collection.ids(),
        pictures,
    )
}

impl Found {
    /// Writes a line for each item of a group, as csv.
    ///
    /// Fails where the file cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        let lines = self.groups.iter().flat_map(|group| {
            group.items.iter().map(|item| {
                [
                    item.id.clone(),
                    group.group.to_string(),
                    item.similarity.to_string(),
                    item.label.clone().unwrap_or_default(),
                ]
            })
        });
        let names = ["id", "group", "similarity", "label"];
        Ok(likewise_io::write_lines(file, &names, lines)?)
    }

    /// The answer in one line.
    pub fn in_words(&self) -> String {
        if self.groups.is_empty() {
            return format!(
                "no two of {} items are the same, or have a cosine of {} or more",
                self.items, self.threshold
            );
        }
        let groups = self.groups.len();
        let mut text = format!(
            "{} of {} items could go: {} equal an earlier one, {} more are nearly the same as one \
             (cosine {} or more); {groups} group{}",
            self.identical + self.near,
            self.items,
            self.identical,
            self.near,
            self.threshold,
            if groups == 1 { "" } else { "s" },
        );
        if self.conflicting > 0 {
            let more = format!(
                ", {} with labels that contradict each other",
                self.conflicting
            );
            text.push_str(&more);
        }
        text
    }
}

fn of(
    collection: &Collection,
    group: usize,
    items: &[usize],
    similarity: impl Fn(usize) -> f32,
) -> Group {
    let label = |item: usize| {
        collection
            .labels
            .as_ref()
            .map_or(Label::Unknown, |l| l[item])
    };
    let name = |item: usize| match label(item) {
        Label::Known(class) => {
            let labels = collection.labels.as_ref()?;
            Some(labels.classes()[class as usize].clone())
        }
        Label::Outside => Some("outside".to_owned()),
        Label::Unknown => None,
    };
    let mut known: Vec<Label> = items.iter().map(|&item| label(item)).collect();
    known.retain(|label| *label != Label::Unknown);
    Group {
        group,
        conflicting: known.windows(2).any(|two| two[0] != two[1]),
        items: (items.iter())
            .map(|&item| Member {
                id: collection.ids()[item].clone(),
                similarity: similarity(item),
                label: name(item),
                item,
            })
            .collect(),
    }
}

/// Of each item the place of its row among the different ones, none for zeros; and of these the
/// items that have them first.
fn equal(x: ArrayView2<f32>) -> (Vec<Option<usize>>, Vec<usize>) {
    // Of -0 and 0, which are equal, the bits differ.
    let bits = |v: f32| if v == 0.0 { 0 } else { v.to_bits() };
    let hashes: Vec<Option<u64>> = (0..x.nrows())
        .into_par_iter()
        .map(|item| {
            let mut hasher = DefaultHasher::new();
            (x.row(item).iter()).for_each(|&v| bits(v).hash(&mut hasher));
            x.row(item)
                .iter()
                .any(|&v| v != 0.0)
                .then(|| hasher.finish())
        })
        .collect();
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut distinct: Vec<usize> = Vec::new();
    let places = hashes.into_iter().enumerate().map(|(item, hash)| {
        let known = seen.entry(hash?).or_default();
        let same = |&&place: &&usize| x.row(distinct[place]) == x.row(item);
        if let Some(&place) = known.iter().find(same) {
            return Some(place);
        }
        known.push(distinct.len());
        distinct.push(item);
        Some(distinct.len() - 1)
    });
    (places.collect(), distinct)
}

/// The mean cosine of all pairs of unit rows, each with itself as well.
fn is_one_way(unit: ArrayView2<f32>) -> bool {
    let mean: Array1<f64> = matrix::column_means(unit);
    mean.dot(&mean) > SAME_WAY
}

/// Whether all rows point the same way, so that their cosines say little.
pub(crate) fn points_one_way(rows: ArrayView2<f32>) -> bool {
    rows.nrows() >= MANY && is_one_way(matrix::l2_normalize(rows.to_owned()).view())
}

/// The smallest row that `row` hangs together with.
fn root(joined: &mut [usize], mut row: usize) -> usize {
    while joined[row] != row {
        joined[row] = joined[joined[row]];
        row = joined[row];
    }
    row
}

fn join(joined: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(joined, a), root(joined, b));
    joined[a.max(b)] = a.min(b);
}

#[cfg(test)]
mod tests {
    use likewise::{Labels, View, seed};
    use ndarray::{Array2, array};
    use proptest::prelude::*;

    use super::*;

    fn collection(x: &Array2<f32>, labels: Option<Labels>) -> Collection {
        let view = View {
            name: "x".into(),
            matrix: x.clone(),
            present: None,
        };
        let ids = (0..x.nrows()).map(|i| format!("i{i}")).collect();
        let mut collection = Collection::new(ids, vec![view]).unwrap();
        collection.labels = labels;
        collection
    }

    fn found(x: &Array2<f32>, threshold: f32) -> Found {
        let of = collection(x, None);
        find(&of, x.view(), threshold, 0, &Monitor::silent()).unwrap()
    }

    fn items(found: &Found) -> Vec<Vec<usize>> {
        let items = |group: &Group| group.items.iter().map(|m| m.item).collect();
        found.groups.iter().map(items).collect()
    }

    #[test]
    fn copies_and_near_copies_are_grouped_and_zeros_are_not() {
        let x = array![
            [1.0, 0.0],
            [0.0, 1.0],
            [1.0, 0.0],
            [0.0, 0.0],
            [0.02, 1.0],
            [0.0, 0.0],
            [1.0, -0.0],
            [1.0, 1.0]
        ];
        let labels = Labels::parse(["a", "b", "a", "", "c", "", "", "d"]);
        let of = collection(&x, Some(labels));
        let found = find(&of, x.view(), 0.995, 0, &Monitor::silent()).unwrap();
        assert_eq!(items(&found), [vec![0, 2, 6], vec![1, 4]]);
        assert_eq!((found.identical, found.near, found.conflicting), (2, 1, 1));
        assert!(found.groups[1].conflicting && !found.groups[0].conflicting);
        let alike = found.groups[1].items[0].similarity;
        assert!((alike - 1.0 / 1.0004_f32.sqrt()).abs() < 1e-6);
        assert_eq!(found.groups[0].items[2].label, None);
        assert_eq!(found.groups[1].items[1].label.as_deref(), Some("c"));
        assert!(found.in_words().starts_with("3 of 8 items could go"));
    }

    #[test]
    fn many_copies_do_not_hide_a_near_copy() {
        let mut x = Array2::from_shape_fn((60, 2), |(_, j)| [1.0, 0.0][j]);
        (x[[7, 1]], x[[59, 1]]) = (0.01, 0.02);
        assert_eq!(items(&found(&x, 0.995)), [(0..60).collect::<Vec<_>>()]);
    }

    #[test]
    fn what_points_the_same_way_is_told_apart_without_its_mean() {
        // All have a cosine above .999.
        let mut rng = seed::stream(7, "test rows");
        let mut x = Array2::from_shape_fn((200, 8), |_| 100.0 + 2.0 * rng.random::<f32>());
        let copy = x.row(3).to_owned() * 1.000_01;
        x.row_mut(150).assign(&copy);
        let found = found(&x, 0.999);
        assert!(found.centered);
        assert!(items(&found).contains(&vec![3, 150]), "{:?}", items(&found));
        assert!(found.identical + found.near < 100, "{}", found.in_words());
    }

    #[test]
    fn high_cosines_of_few_unlike_columns_make_no_copies() {
        // As a table of lengths: one column is far larger than the others.
        let mut rng = seed::stream(9, "test rows");
        let size = [60.0, 6.0, 3.0, 0.5];
        let mut x = Array2::from_shape_fn((300, 4), |(_, j)| {
            size[j] * (1.0 + 0.1 * rng.random::<f32>())
        });
        let copy = x.row(3).mapv(|v| v * 1.000_02);
        x.row_mut(150).assign(&copy);
        x[[150, 2]] *= 1.000_1;
        let found = found(&x, 0.995);
        assert!(found.scaled && !found.centered);
        assert!(items(&found).contains(&vec![3, 150]));
        // By the cosine alone nearly all would be copies of each other.
        assert!(found.near < 20, "{}", found.in_words());
    }

    #[test]
    fn high_cosines_of_three_columns_make_no_copies() {
        // As of three quantities that were brought to one size.
        let mut rng = seed::stream(11, "test rows");
        let mut x = Array2::from_shape_fn((300, 3), |_| rng.random_range(-1.0_f32..1.0));
        let copy = x.row(3).mapv(|v| v + 1e-4);
        x.row_mut(150).assign(&copy);
        // The same direction, and twice as large.
        let twice = x.row(4).mapv(|v| 2.0 * v);
        x.row_mut(151).assign(&twice);
        let equal = x.row(5).to_owned();
        x.row_mut(152).assign(&equal);
        let found = found(&x, 0.995);
        assert!(!found.scaled && !found.centered);
        let groups = items(&found);
        assert!(
            groups.contains(&vec![3, 150]) && groups.contains(&vec![5, 152]),
            "{groups:?}"
        );
        assert!(!groups.contains(&vec![4, 151]), "{groups:?}");
        // By the cosine alone it would be some ninety.
        assert_eq!(found.identical, 1);
        assert!(found.near < 6, "{}", found.in_words());
    }

    #[test]
    fn degenerate_data_have_no_duplicates() {
        for x in [
            Array2::zeros((0, 3)),
            Array2::ones((1, 3)),
            Array2::zeros((4, 2)),
        ] {
            assert_eq!(found(&x, 0.9).groups, []);
        }
        let x = array![[f32::NAN], [1.0]];
        let of = collection(&x, None);
        assert!(find(&of, x.view(), 0.9, 0, &Monitor::silent()).is_err());
        for threshold in [0.0, 1.1, f32::NAN] {
            assert!(
                check(threshold)
                    .unwrap_err()
                    .to_string()
                    .contains("threshold")
            );
        }
    }

    proptest! {
        #[test]
        fn groups_are_those_of_all_pairs(values in prop::collection::vec(-3_i8..4, 2..40)) {
            let n = values.len() / 2;
            let x = Array2::from_shape_fn((n, 2), |(i, j)| f32::from(values[2 * i + j]));
            let unit = matrix::l2_normalize(x.clone());
            let mut joined: Vec<usize> = (0..n).collect();
            for a in 0..n {
                for b in 0..a {
                    if unit.row(a).dot(&unit.row(b)) >= 0.99 {
                        join(&mut joined, a, b);
                    }
                }
            }
            let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
            (0..n).for_each(|i| groups.entry(root(&mut joined, i)).or_default().push(i));
            let mut wanted: Vec<Vec<usize>> =
                groups.into_values().filter(|group| group.len() > 1).collect();
            wanted.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0]));
            prop_assert_eq!(items(&found(&x, 0.99)), wanted);
        }
    }
}
