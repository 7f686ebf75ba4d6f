//! Tables of labels that lie beside the images they tell of, as the hub of Hugging Face has them.

use std::path::Path;

use likewise::tags::BETWEEN;
use likewise::{Label, Labels, Monitor, Tags};
use likewise_io::TableOptions;

use crate::Result;

/// Names of such tables.
pub(super) const NAMES: [&str; 3] = ["metadata.csv", "metadata.jsonl", "metadata.parquet"];

/// Whether a file of this name is such a table.
pub(super) fn is_named(name: &str) -> bool {
    NAMES.contains(&name.to_ascii_lowercase().as_str())
}

/// The labels that tables below `root` give to the images with these `ids`; `None` where no
/// table has a column of labels.
///
/// `tables` are their paths below the root. Each names images by their path below its own folder.
/// It may name those that were `left` out.
pub(super) fn labels(
    root: &Path,
    tables: &[String],
    ids: &[String],
    left: &[String],
    asked: &TableOptions,
    monitor: &Monitor,
) -> Result<Option<Labels>> {
    let mut words: Vec<Option<String>> = vec![None; ids.len()];
    let mut outside = vec![false; ids.len()];
    let mut found = false;
    for table in tables {
        let folder = table.rsplit_once('/').map_or("", |(folder, _)| folder);
        let below = |id: &str| -> Option<String> {
            if folder.is_empty() {
                return Some(id.to_owned());
            }
            Some(id.strip_prefix(folder)?.strip_prefix('/')?.to_owned())
        };
        let places: Vec<usize> = (0..ids.len())
            .filter(|&i| below(&ids[i]).is_some())
            .collect();
        let mut own: Vec<String> = places.iter().filter_map(|&i| below(&ids[i])).collect();
        own.extend(left.iter().filter_map(|id| below(id)));
        let asked = TableOptions {
            id_column: asked.id_column.clone().or(Some("file_name".to_owned())),
            label_column: asked.label_column.clone(),
            label_separator: asked.label_separator,
            ..TableOptions::default()
        };
        let read = likewise_io::read_labels_as(root.join(table), &own, &asked, monitor);
        let labels = match read {
            Ok(labels) => labels,
            Err(e) if asked.label_column.is_none() && e.to_string().contains("no column named") => {
                let place = format!("{table}: ");
                let said = e.to_string();
                let said = said
                    .rsplit_once(&place)
                    .map_or(said.as_str(), |(_, said)| said);
                monitor.warn(format!("{table} gives no labels: {said}"));
                continue;
            }
            Err(e) => return Err(e),
        };
        found = true;
        for (&place, label) in places.iter().zip(labels.items()) {
            match label {
                Label::Known(class) => {
                    words[place] = Some(labels.classes()[*class as usize].clone());
                }
                Label::Outside => outside[place] = true,
                Label::Unknown => {}
            }
        }
    }
    if !found {
        return Ok(None);
    }
    if asked.label_separator.is_some() {
        // A class is a set, and named by its tags.
        let tags = words.iter().zip(outside).map(|(word, outside)| match word {
            _ if outside => vec!["outside"],
            Some(word) => word.split(BETWEEN).collect(),
            None => vec![],
        });
        return Ok(Some(Labels::of_tags(&Tags::read(tags)?)?));
    }
    let named = Labels::named(words.iter().map(|word| word.as_deref().unwrap_or("")));
    let items = named.items().iter().zip(outside).map(
        |(&label, outside)| {
            if outside { Label::Outside } else { label }
        },
    );
    Ok(Some(Labels::new(
        named.classes().to_vec(),
        items.collect(),
    )?))
}
