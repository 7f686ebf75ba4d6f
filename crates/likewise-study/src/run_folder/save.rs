//! Writing what a study leaves into the folder of its run.

use likewise::Collection;
use likewise_io::items::ItemRow;

use super::record::EMBEDDINGS;
use super::work::Work;
use crate::Result;
use crate::study::Study;

/// Writes everything that a study of the view of this name leaves, but for `run.json`, which comes
/// last.
pub fn save(to: &Work, study: &Study, collection: &Collection, view: &str) -> Result<()> {
    to.write("model.safetensors", &study.model.to_safetensors()?)?;
    likewise_io::items::write(to.file("items.parquet"), &rows(study, collection))?;
    likewise_io::write_npy(to.file(EMBEDDINGS), study.embeddings.view())?;
    let ids: Vec<String> = study
        .train
        .iter()
        .map(|&i| collection.ids()[i].clone())
        .collect();
    likewise_io::beliefs::write(to.file("beliefs.npz"), &study.beliefs, &study.classes, &ids)?;
    if let Some(voted) = &study.voted {
        let views = match collection.columns() {
            [] => vec![view.to_owned()],
            several => several.iter().map(|view| view.name.clone()).collect(),
        };
        likewise_io::votes::write_voters(to.file("voters.parquet"), voted, &views)?;
        likewise_io::votes::write_votes(to.file("votes.parquet"), voted, &views, &ids)?;
    }
    if let Some(triplets) = &study.triplets {
        likewise_io::tuples::write_triplets(to.file("tuples.parquet"), triplets, &ids)?;
    }
    to.write_json("metrics.json", &study.results)
}

fn rows(study: &Study, collection: &Collection) -> Vec<ItemRow> {
    let mut rows: Vec<ItemRow> = (0..collection.len())
        .map(|i| ItemRow {
            id: collection.ids()[i].clone(),
            label: collection
                .labels
                .as_ref()
                .and_then(|labels| match labels[i] {
                    likewise::Label::Known(c) => Some(labels.classes()[c as usize].clone()),
                    likewise::Label::Outside => Some("outside".into()),
                    likewise::Label::Unknown => None,
                }),
            split: Some(study.parts[i]),
            ..ItemRow::default()
        })
        .collect();
    for (row, draws) in rows.iter_mut().zip(&study.drawn) {
        let draws: Vec<String> = draws.iter().map(usize::to_string).collect();
        row.drawn = (!draws.is_empty()).then(|| draws.join(" "));
    }
    for (row, &item) in study.train.iter().enumerate() {
        rows[item].pseudo_label =
            study.beliefs.pseudo_label[row].map(|c| study.classes[c as usize].clone());
        rows[item].confidence = Some(study.beliefs.confidence[row]);
    }
    rows
}
