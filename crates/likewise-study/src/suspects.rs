//! Items of a run whose label is likely wrong.
//!
//! The items are compared by the embedding of the run, and each label is checked by the labels of the
//! others ([`likewise::advise::suspects`]); what the run itself believes of an item follows its
//! label, and says nothing about it.

use std::path::{Path, PathBuf};

use likewise::advise::suspects::Suspects;
use likewise_io::items::ItemRow;
use serde::Serialize;

use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::report::Thumbnails;
use crate::report::tiles::{self, Group, Tile};
use crate::run_folder::{RunFolder, check_apart, check_output, ending_of};
use crate::source::{Photos, ReadAs, Source};
use crate::{Result, failed, labels, live, run_graph, text};

/// Items on a page.
const TILES: usize = 400;

/// A look that is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Folder of the run.
    pub run: PathBuf,
    /// Where what is found goes: `.csv`, or `.html` as a page.
    pub out: Option<PathBuf>,
    /// Seed of every random step.
    pub seed: u64,
}

impl Request {
    /// What the look will cost. Fails on an output that cannot be one, and where there is no run.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        self.form()?;
        RunFolder::read_by(&self.run, |run| estimate(run, at))
    }

    /// Looks, and writes what was found where it is to go.
    ///
    /// Fails on an output that cannot be one, and as [`find`] does.
    pub fn run(&self, at: &Environment) -> Result<Found> {
        let form = self.form()?;
        let (found, items, photos) = RunFolder::read_by(&self.run, |run| {
            let (found, items) = find(run, self.seed, at)?;
            Ok((found, items, photos(run)?))
        })?;
        match (&self.out, form) {
            (Some(out), Some("html")) => text::write(out, &page(&found, &items, photos.as_ref())?)?,
            (Some(out), _) => found.write(out)?,
            (None, _) => {}
        }
        Ok(found)
    }

    /// The form of the output. Fails where it cannot be one.
    fn form(&self) -> Result<Option<&'static str>> {
        let out = self.out.as_deref();
        check_output(out, &[])?;
        check_apart(out, &self.run)?;
        let form = out.map(|out| ending_of(out, "suspects are written", &["csv", "html"]));
        form.transpose()
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// Labeled items that were checked.
    pub checked: usize,
    /// Labeled items that could not be: no other label reaches them, or their class has no other.
    pub unchecked: usize,
    /// Items whose label was given on the page of the run since it was fitted; it is checked as all others.
    pub since: usize,
    /// The suspicious ones, the surest first.
    pub suspects: Vec<Suspect>,
}

/// An item whose label is likely wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suspect {
    /// Place among them, from 1.
    pub rank: usize,
    /// Its id.
    pub id: String,
    /// Its label.
    pub label: String,
    /// The class that the others suggest.
    pub suggested: String,
    /// How sure it is, from 0 to 1: by how much the share of the class suggested is larger.
    pub sure: f64,
    /// Share of the others that says what the label says, 0 to 1.
    pub label_share: f64,
    /// Share that says what is suggested.
    pub suggested_share: f64,
    /// Its row.
    #[serde(skip)]
    pub item: usize,
}

/// Looks for labels of a run that are likely wrong. Labels that the fit hid are checked as well, and those
/// that were given on its page since.
///
/// Fails for a run without enough labels, where it is damaged, and when cancelled.
pub fn find(run: &RunFolder, seed: u64, at: &Environment) -> Result<(Found, Vec<ItemRow>)> {
    run.record()?.check_single_labels("suspects")?;
    estimate(run, at)?.check(at.max_memory)?;
    let (_, embeddings) = run_graph::read(run)?;
    let now = live::since(run.root(), run.items()?, at.monitor)?;
    let (items, since) = (now.items, now.given);
    let known = labels::of(&items)?;
    let place = run.file("items.parquet").display().to_string();
    if known.n_known() == 0 {
        return Err(failed(format!(
            "{place}: the run has no labels, so there are none to check"
        )));
    }
    let graph = run_graph::build(run, embeddings.view(), seed, at)?;
    let found = Suspects::new().seed(seed).find(&graph, &known, at.monitor);
    let found = found.map_err(|e| e.within(place))?;
    let name = |class: u32| known.classes()[class as usize].clone();
    let suspects = found
        .suspects
        .iter()
        .zip(1..)
        .map(|(suspect, rank)| Suspect {
            rank,
            id: items[suspect.item].id.clone(),
            label: name(suspect.given),
            suggested: name(suspect.suggested),
            sure: suspect.margin(),
            label_share: suspect.given_share,
            suggested_share: suspect.suggested_share,
            item: suspect.item,
        });
    let found = Found {
        checked: found.checked,
        unchecked: found.unchecked,
        since,
        suspects: suspects.collect(),
    };
    Ok((found, items))
}

/// What [`find`] will cost.
pub fn estimate(run: &RunFolder, at: &Environment) -> Result<Estimate> {
    run_graph::estimate(run, at)
}

/// The pictures of the items of a run, where its data are images that are still where they were.
pub fn photos(run: &RunFolder) -> Result<Option<Photos>> {
    let record = run.record()?;
    let path = Path::new(&record.data);
    let there = path.exists() && Source::open(path, ReadAs::default()).is_ok_and(|s| s.is_images());
    Ok(there.then(|| Photos::new(path)))
}

/// A page with the suspicious items, as pictures where there are some.
fn page(found: &Found, items: &[ItemRow], photos: Option<&Photos>) -> Result<String> {
    let mut about = vec![found.in_words()];
    if found.suspects.len() > TILES {
        about.push(format!(
            "Shown are the surest {TILES}; a .csv has them all."
        ));
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for suspect in found.suspects.iter().take(TILES) {
        let title = format!("{}, not {}?", suspect.suggested, suspect.label);
        let place = *places.entry(title.clone()).or_insert_with(|| {
            groups.push(Group {
                title,
                tiles: vec![],
                left_out: 0,
            });
            groups.len() - 1
        });
        groups[place].tiles.push(Tile {
            item: suspect.item,
            words: format!("{}. · {:.2}", suspect.rank, suspect.sure),
            bad: true,
        });
    }
    let ids: Vec<String> = items.iter().map(|item| item.id.clone()).collect();
    tiles::page(
        "Labels to look at",
        &about,
        &groups,
        &ids,
        photos.map(Thumbnails::Photos),
    )
}

impl Found {
    /// Writes the suspicious items, the surest first, as csv.
    ///
    /// Fails where the file cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        let lines = self.suspects.iter().map(|suspect| {
            [
                suspect.rank.to_string(),
                suspect.id.clone(),
                suspect.label.clone(),
                suspect.suggested.clone(),
                suspect.sure.to_string(),
            ]
        });
        let names = ["rank", "id", "label", "suggested", "sure"];
        Ok(likewise_io::write_lines(file, &names, lines)?)
    }

    /// The answer in one line.
    pub fn in_words(&self) -> String {
        let (n, checked) = (self.suspects.len(), self.checked);
        let mut rest = match self.unchecked {
            0 => String::new(),
            n => format!("; {n} could not be checked, for lack of other labels near them"),
        };
        if self.since > 0 {
            let since = self.since.to_string();
            rest.extend(["; ", &since, " of all were given or changed on its page"]);
        }
        match n {
            0 => {
                format!("nothing suspicious: none of {checked} labels contradicts the others{rest}")
            }
            1 => format!("1 of {checked} labels contradicts the others{rest}"),
            n => format!("{n} of {checked} labels contradict the others{rest}"),
        }
    }
}
