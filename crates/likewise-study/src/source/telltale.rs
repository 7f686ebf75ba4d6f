//! Columns of words that say the label.

use std::collections::HashMap;

use likewise::Collection;
use likewise_io::{Layout, Taken};

/// Fewer labeled items may go with a word by luck.
const LEAST: usize = 8;

/// The names of the columns whose words go with the classes one to one over all labeled items that
/// have a word, with how many these are: the label itself, forgotten among the features.
pub(super) fn telltales(collection: &Collection, layout: &Layout) -> Vec<(String, usize)> {
    let (Some(labels), Ok(view)) = (&collection.labels, collection.view(None)) else {
        return Vec::new();
    };
    let width: usize = layout
        .columns
        .iter()
        .map(|column| column.taken.width())
        .sum();
    if width != view.matrix.ncols() {
        return Vec::new();
    }
    let mut begin = 0;
    let mut found = Vec::new();
    for column in &layout.columns {
        let own = begin..begin + column.taken.width();
        begin = own.end;
        if !matches!(column.taken, Taken::Category { .. }) {
            continue;
        }
        let mut word_of: HashMap<u32, usize> = HashMap::new();
        let mut class_of: HashMap<usize, u32> = HashMap::new();
        let mut seen = 0;
        let one_to_one = (0..labels.len()).all(|item| {
            let word = own.clone().find(|&j| view.matrix[[item, j]] > 0.5);
            let (Some(class), Some(word)) = (labels[item].class(), word) else {
                return true;
            };
            seen += 1;
            *word_of.entry(class).or_insert(word) == word
                && *class_of.entry(word).or_insert(class) == class
        });
        if one_to_one && seen >= LEAST && word_of.len() > 1 {
            found.push((column.name.clone(), seen));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use likewise::Monitor;
    use likewise_io::{ReadOptions, read_with_layout};

    fn found(table: &str) -> Vec<(String, usize)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        std::fs::write(&path, table).unwrap();
        let read = read_with_layout(&path, &ReadOptions::default(), &Monitor::silent()).unwrap();
        telltales(&read.0, &read.1.unwrap())
    }

    #[test]
    fn a_column_that_is_the_label_is_told_and_one_that_goes_with_it_is_not() {
        let line = |i: usize, species: &str, color: &str| {
            let label = if i < 10 { ["a", "b"][i % 2] } else { "" };
            format!("i{i},{label},{}.5,{species},{color}\n", i * 7 % 5)
        };
        let table = |species: &dyn Fn(usize) -> &'static str| {
            let lines = (0..20).map(|i| line(i, species(i), ["red", "blue", "red"][i % 3]));
            format!(
                "id,label,size,species,colour\n{}",
                lines.collect::<String>()
            )
        };
        let same = |i: usize| ["rose", "lily"][i % 2];
        assert_eq!(found(&table(&same)), [("species".to_owned(), 10)]);
        let nearly = |i: usize| {
            if i == 3 {
                "rose"
            } else {
                ["rose", "lily"][i % 2]
            }
        };
        assert!(found(&table(&nearly)).is_empty());
    }
}
