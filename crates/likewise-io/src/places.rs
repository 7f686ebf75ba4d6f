//! What the folders that items lie in say of them: their classes and their split.

use likewise::{Label, Labels, Part};

use crate::Result;

/// What the folders say.
///
/// The folder of the first level is the class, whatever lies below it; items at the top, or in
/// `unlabeled/`, are unlabeled, those in `outside/` known to be none of the classes. If all folders of
/// the first level are parts of a split (`train`, `val`, `test` ...), they are the split, and the
/// folders below them the classes. Where all items lie below one folder, the folders in that one count in
/// its place: a class alone tells nothing.
///
/// ```
/// use likewise_io::Places;
/// let ids = ["cats/tom", "dogs/rex", "unlabeled/who"].map(str::to_owned);
/// let places = Places::of(&ids, "texts")?;
/// assert_eq!(places.labels.map(|labels| labels.n_known()), Some(2));
/// # Ok::<(), likewise_io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The classes; `None` where the folders tell none.
    pub labels: Option<Labels>,
    /// The split, where the first level of folders is one.
    pub split: Option<Vec<Part>>,
    /// How the folders were understood, where they may be meant otherwise.
    pub told: Vec<String>,
}

impl Places {
    /// Of the items with these ids, their paths below a folder with `/` between folders; `what` they are, for
    /// what is told.
    pub fn of(ids: &[String], what: &str) -> Result<Self> {
        let alone = alone(ids);
        let begin = alone.map_or(0, |folder| folder.len() + 1);
        let below: Vec<&str> = ids.iter().map(|id| &id[begin..]).collect();
        let (labels, split) = read(&below)?;
        let mut told = Vec::new();
        if let Some(folder) = alone {
            told.push(format!(
                "all {what} lie below the folder {folder}: the folders in it count"
            ));
        }
        let depth = if split.is_some() { 2 } else { 1 };
        let deeper = below.iter().find(|id| id.matches('/').count() > depth);
        if let Some(deeper) = deeper {
            let folders: Vec<&str> = deeper.split('/').collect();
            told.push(format!(
                "folders within those of a class do not count: {deeper} is of class {}",
                folders[depth - 1]
            ));
        }
        Ok(Self {
            labels,
            split,
            told,
        })
    }
}

/// The folder below which all items lie, if it is only one, and has folders in it.
fn alone(ids: &[String]) -> Option<&str> {
    let (first, _) = ids.first()?.split_once('/')?;
    let meant = |name: &&str| {
        name.eq_ignore_ascii_case("unlabeled") || name.eq_ignore_ascii_case("outside")
    };
    let below = |id: &String| {
        id.split_once('/')
            .is_some_and(|(own, rest)| own == first && rest.contains('/'))
    };
    let sound = !meant(&first) && Part::parse(first).is_none() && ids.iter().all(below);
    // One folder in one folder is still one class.
    let second = |id: &String| id.split('/').nth(1).map(str::to_owned);
    let several = ids.iter().any(|id| second(id) != second(&ids[0]));
    (sound && several).then_some(first)
}

/// Labels and split from the folders that the ids name.
fn read<'a>(ids: &[&'a str]) -> Result<(Option<Labels>, Option<Vec<Part>>)> {
    let places: Vec<(&'a str, &'a str)> = ids
        .iter()
        .map(|id| id.split_once('/').unwrap_or(("", id)))
        .collect();
    let parts: Option<Vec<Part>> = places.iter().map(|(first, _)| Part::parse(first)).collect();
    let folder = |&(first, rest): &(&'a str, &'a str)| {
        if parts.is_none() {
            return first;
        }
        rest.split_once('/').map_or("", |(class, _)| class)
    };
    let folders: Vec<&str> = places.iter().map(folder).collect();
    let outside = |folder: &str| folder.eq_ignore_ascii_case("outside");
    let named = Labels::named(folders.iter().map(|&folder| {
        let none = outside(folder) || folder.eq_ignore_ascii_case("unlabeled");
        if none { "" } else { folder }
    }));
    let items = named.items().iter().zip(&folders);
    let items = items.map(|(&label, folder)| match label {
        Label::Unknown if outside(folder) => Label::Outside,
        label => label,
    });
    let labels = Labels::new(named.classes().to_vec(), items.collect())?;
    let told = labels.items().iter().any(|l| *l != Label::Unknown);
    Ok((told.then_some(labels), parts))
}
