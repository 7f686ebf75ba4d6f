//! A run that is made again: with more labels, or going on with more triplets.

use std::path::{Path, PathBuf};

use likewise::Monitor;
use likewise_io::items::ItemRow;

use super::asked::Asked;
use super::earlier::{Again, Chosen, without_labels};
use super::request::Request;
use super::which::Which;
use crate::inputs::Inputs;
use crate::journal::Place;
use crate::run_folder::{Rights, RunFolder, is_same};
use crate::study::Protocol;
use crate::{Result, failed, journal, live, usage};

/// The items of a run, labeled as its journal says up to an entry.
#[derive(Debug, Clone)]
pub struct LabeledItems {
    /// All items.
    pub items: Vec<ItemRow>,
    /// The place after it; none before the first.
    pub journal: Option<Place>,
}

/// What a run is made again with.
#[derive(Debug, Clone, Copy)]
pub enum More<'a> {
    /// Files of labels, which join those that the run knows.
    Labels(&'a [PathBuf]),
    /// Files of triplets, which its learning goes on with.
    Triplets(&'a [PathBuf]),
}

impl Request {
    /// The same fit as that of a run, from its data, recipe and seed, with `more`. The labels that were given
    /// on the page of the run are counted, unless all of its items are given as they are `labeled` now. The new run
    /// takes the place of the old one, unless [`out`](Self::out) is changed to another folder; then nobody
    /// need be asked. `command` is that of the run, as it stands in its record.
    ///
    /// Where the items are given, the new run becomes a model of the old one, and must be of the same data.
    ///
    /// Fails on a folder that is no run, on one whose data are not there or were arrays in memory, on a run of
    /// items with several labels each, while its page is served, and where a file of `more` cannot be opened,
    /// or the recipe cannot go on.
    pub fn again(
        run: &Path,
        more: More,
        labeled: Option<LabeledItems>,
        monitor: &Monitor,
    ) -> Result<Self> {
        let shown = run.display();
        let (More::Labels(files) | More::Triplets(files)) = more;
        for file in files {
            likewise_io::open(file)?;
        }
        let (config, record, own) =
            RunFolder::read_by(run, |run| Ok((run.config()?, run.record()?, run.items()?)))?;
        let model = match more {
            More::Labels(_) => None,
            More::Triplets(_) => {
                config.recipe.check_goes_on()?;
                Some(RunFolder::read_by(run, RunFolder::model)?)
            }
        };
        let inputs = inputs_of(run, record.inputs)?;
        let mut read = inputs.read;
        let items_sha256 = without_labels(&record.data_sha256, read.labels.is_some());
        // Where it has gone, all that it said stands in the run.
        read.labels = read.labels.filter(|file| file.exists());
        let mut tuples = inputs.tuples;
        let mut learned = 0;
        if let More::Triplets(files) = more {
            let Some(given) = &mut tuples else {
                return Err(usage(format!(
                    "{shown}: this run has not learned from triplets that were given, so there are none to \
                     go on from; fit its data with triplets first: `triplets FILE`"
                )));
            };
            learned = given.files.len();
            given.files.extend_from_slice(files);
        }
        let as_model = labeled.is_some();
        let (labeled, given) = match (labeled, more) {
            (Some(labeled), _) => (labeled, 0),
            (None, More::Labels(_)) => with_those_of_its_page(run, own, monitor)?,
            // Whatever labels it has, it goes on with.
            (None, More::Triplets(_)) => {
                journal::check_free(run)?;
                live::remark_newer(run, monitor);
                let journal = record.journal.clone();
                (
                    LabeledItems {
                        items: own,
                        journal,
                    },
                    0,
                )
            }
        };
        let on_its_page =
            |entry: &journal::Entry| entry.what == journal::What::Label && !entry.file;
        let mut entries = live::entries(run)?;
        if matches!(more, More::Triplets(_)) {
            let newer = Place::of(record.journal.as_ref(), &entries).len();
            entries.truncate(newer);
        }
        let asked_for = inputs.asked_for || journal::standing(&entries).any(on_its_page);
        let then = RunFolder::read_by(run, RunFolder::metrics)?;
        Ok(Self {
            data: inputs.data,
            read,
            recipe: Which {
                k: inputs.k,
                ..Which::default()
            },
            tuples,
            add_labels: match more {
                More::Labels(files) => files.to_vec(),
                More::Triplets(_) => vec![],
            },
            asked: asked_then(&config.protocol),
            map: Some(inputs.map),
            out: Some(run.to_owned()),
            rights: Rights {
                renew: true,
                ..Rights::default()
            },
            command: record.arguments,
            again: Some(Again {
                run: run.to_owned(),
                config,
                chosen: Chosen::of(&then, inputs.chooses),
                items: labeled.items,
                given,
                journal: labeled.journal,
                as_model,
                asked_for,
                data: record.data_sha256,
                named_by: record.named_by,
                items_sha256,
                model,
                learned,
                added: record.added,
            }),
            ..Self::default()
        })
    }

    /// The same, written to another folder; that of the run is no other.
    #[must_use]
    pub fn into_folder(mut self, out: PathBuf) -> Self {
        let own = self.out.as_ref().is_some_and(|own| is_same(own, &out));
        self.out = Some(out);
        self.rights.renew &= own;
        self
    }
}

/// What a run was made of. Fails where it cannot be made again.
fn inputs_of(run: &Path, inputs: Option<Inputs>) -> Result<Inputs> {
    let shown = run.display();
    let Some(inputs) = inputs else {
        return Err(usage(format!(
            "{shown}: this run does not say which files it was made of, as one of arrays or of an older \
             version, so there are no data to fit again; fit its data anew"
        )));
    };
    if inputs.several_labels.is_some() {
        return Err(usage(format!(
            "{shown}: its items have several labels each, and what is added goes by one; fit its data anew \
             with `multi_label` and all labels in one file: `labels FILE`"
        )));
    }
    if !inputs.data.exists() {
        return Err(failed(format!(
            "{}: the data of the run {shown} are not here; work in the folder in which it was \
             fitted",
            inputs.data.display()
        )));
    }
    Ok(inputs)
}

/// What was asked of the protocol of a run.
fn asked_then(protocol: &Protocol) -> Asked {
    Asked {
        split: Some(protocol.split),
        labels_per_class: protocol
            .labels_per_class
            .and_then(std::num::NonZeroUsize::new),
        draws: std::num::NonZeroUsize::new(protocol.draws),
        seed: protocol.seed,
    }
}

/// The items with the labels that were given on the page of the run since it was fitted, and how many have others by these.
fn with_those_of_its_page(
    run: &Path,
    items: Vec<ItemRow>,
    monitor: &Monitor,
) -> Result<(LabeledItems, usize)> {
    // What is labeled while this fits would be missing from it.
    journal::check_free(run)?;
    let now = live::since(run, items, monitor)?;
    let given = now.given;
    if given > 0 {
        let labels = if given == 1 { "label" } else { "labels" };
        let are = if given == 1 { "is" } else { "are" };
        monitor.remark(format!(
            "{given} {labels} of its journal {are} newer than its fit: counted"
        ));
    }
    if given == 0 && now.changed > 0 {
        monitor.remark("classes have other names by its journal than in its fit: counted");
    }
    let (items, journal) = (now.items, Place::after(&live::entries(run)?));
    Ok((LabeledItems { items, journal }, now.changed))
}
