//! The tables of a vote: who voted (`voters.parquet`), and what was said of each item
//! (`votes.parquet`).

use std::path::Path;

use likewise::ensemble::{Election, Voted};

use crate::parquet::{self, Column};
use crate::{Result, atomic};

/// Writes who voted, a row a classifier: `view`, `classifier` (text), `weight` (of the pruning),
/// `accuracy` (on items that it had not learned from; null where nothing judged), and `kept` (whether
/// it votes on classes). `views` are the names of the views.
pub fn write_voters(path: impl AsRef<Path>, voted: &Voted, views: &[String]) -> Result<()> {
    let members = &voted.members;
    let view = |at: usize| views.get(at).cloned().unwrap_or_else(|| at.to_string());
    let accuracy = |value: f64| value.is_finite().then_some(value as f32);
    let columns = [
        (
            "view",
            Column::Text(members.iter().map(|m| Some(view(m.view))).collect()),
        ),
        (
            "classifier",
            Column::Text(members.iter().map(|m| Some(m.classifier.into())).collect()),
        ),
        (
            "weight",
            Column::Double(members.iter().map(|m| m.weight).collect()),
        ),
        (
            "accuracy",
            Column::Float(members.iter().map(|m| accuracy(m.accuracy)).collect()),
        ),
        (
            "kept",
            Column::Bool(members.iter().map(|m| m.kept).collect()),
        ),
    ];
    write(path, columns.into())
}

/// Writes what was said of each item without a label: `id`, `class` (the most votes), `votes` (how
/// many of `cast`), `runner_up` and `runner_up_votes`, `confidence`, and `reliable` (whether the class
/// is taken for reliable). Where triplets were wanted also `far_class`, `nearest`, `farthest` (ids) and
/// `nearest_reliable`. Then a column for each classifier, `view/classifier`, with the class that it says.
///
/// `ids` are those of the rows that were voted on and others.
pub fn write_votes(
    path: impl AsRef<Path>,
    voted: &Voted,
    views: &[String],
    ids: &[String],
) -> Result<()> {
    let class = |class: u32| Some(voted.labels.classes()[class as usize].clone());
    let item = |place: u32| Some(ids[voted.items[place as usize]].clone());
    let won = |of: &Election, name: &dyn Fn(u32) -> Option<String>| {
        Column::Text(of.ballots.iter().map(|b| name(b.winner)).collect())
    };
    let reliable = |of: &Election| {
        let mut found = vec![false; of.ballots.len()];
        of.reliable.iter().for_each(|&place| found[place] = true);
        Column::Bool(found)
    };
    let ballots = &voted.class.ballots;
    let counts = |of: fn(&likewise::ensemble::Ballot) -> usize| {
        Column::Int(ballots.iter().map(|b| of(b) as i32).collect())
    };
    let text = |of: Vec<Option<String>>| Column::Text(of);
    let mut columns = vec![
        (
            "id",
            text(voted.items.iter().map(|&i| Some(ids[i].clone())).collect()),
        ),
        ("class", won(&voted.class, &class)),
        ("votes", counts(|b| b.first)),
        ("cast", counts(|b| b.cast)),
        (
            "runner_up",
            text(
                ballots
                    .iter()
                    .map(|b| b.runner_up.and_then(class))
                    .collect(),
            ),
        ),
        ("runner_up_votes", counts(|b| b.second)),
        (
            "confidence",
            Column::Double(
                (0..ballots.len())
                    .map(|at| voted.class.confidence(at))
                    .collect(),
            ),
        ),
        ("reliable", reliable(&voted.class)),
    ];
    if let Some(others) = &voted.others {
        columns.extend([
            ("far_class", won(&others.far_class, &class)),
            ("nearest", won(&others.nearest, &item)),
            ("farthest", won(&others.farthest, &item)),
            ("nearest_reliable", reliable(&others.nearest)),
        ]);
    }
    let mut columns: Vec<(String, Column)> = columns
        .into_iter()
        .map(|(name, column)| (name.to_owned(), column))
        .collect();
    for (at, member) in voted.members.iter().enumerate() {
        let view = views.get(member.view).cloned();
        let view = view.unwrap_or_else(|| member.view.to_string());
        let said = voted.votes.column(at);
        columns.push((
            format!("{view}/{}", member.classifier),
            text(said.iter().map(|&said| class(said)).collect()),
        ));
    }
    atomic::write(path, |file| parquet::write(file, &columns))
}

fn write(path: impl AsRef<Path>, columns: Vec<(&str, Column)>) -> Result<()> {
    let columns: Vec<(String, Column)> = columns
        .into_iter()
        .map(|(name, column)| (name.to_owned(), column))
        .collect();
    atomic::write(path, |file| parquet::write(file, &columns))
}

#[cfg(test)]
mod tests {
    use likewise::ensemble::{Base, Votes, Wanted};
    use likewise::{Labels, Monitor};
    use ndarray::Array2;

    use super::*;
    use crate::budget::Budget;
    use crate::input::Input;
    use crate::parquet::Table;

    fn words(path: &Path, column: &str) -> Vec<Option<String>> {
        let mut budget = Budget::new(None);
        let table = Table::open(Input::open(path).unwrap(), &budget).unwrap();
        table.words(column, &mut budget).unwrap()
    }

    #[test]
    fn votes_are_read_back_as_they_were_cast() {
        let x = Array2::from_shape_fn((10, 2), |(i, j)| (i % 2 * 9 + (i * 5 + j) % 3) as f32);
        let labels = Labels::parse(["a", "b", "a", "b", "", "", "", "", "", ""]);
        let names = ["euclid", "discriminant"];
        let votes = Votes::new().classifiers(names.iter().filter_map(|n| Base::named(n)).collect());
        let monitor = Monitor::silent();
        let voted = votes
            .vote(&[x.view()], &labels, None, Wanted::Triplets, 1, &monitor)
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (who, what) = (
            folder.path().join("w.parquet"),
            folder.path().join("v.parquet"),
        );
        let ids: Vec<String> = (0..10).map(|i| format!("item {i}")).collect();
        let views = ["kar".to_owned()];
        write_voters(&who, &voted, &views).unwrap();
        write_votes(&what, &voted, &views, &ids).unwrap();
        let text = |of: &str| Some(of.to_owned());
        assert_eq!(
            words(&who, "classifier"),
            [text("euclid"), text("discriminant")]
        );
        assert_eq!(words(&who, "view"), [text("kar"), text("kar")]);
        let of = |i: usize| text(if i.is_multiple_of(2) { "a" } else { "b" });
        let expected: Vec<_> = (4..10).map(of).collect();
        assert_eq!(words(&what, "class"), expected);
        assert_eq!(words(&what, "kar/euclid"), expected);
        assert_eq!(words(&what, "id")[0], text("item 4"));
        // Two clusters: the farthest class is the other one.
        assert_eq!(words(&what, "far_class")[0], text("b"));
        assert!(
            words(&what, "nearest")
                .iter()
                .all(|id| id.as_ref().is_some_and(|id| ids.contains(id)))
        );
    }
}
