//! Labels that a fit adds to those of its data, and the journal of the page of the run that it replaces.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use likewise::error::Hint;
use likewise::{Collection, Monitor};

use super::earlier::Again;
use super::request::Request;
use crate::advise::ADVISED;
use crate::environment::Environment;
use crate::journal::{self, Journal, Place};
use crate::labels::{self, Joined};
use crate::run_folder::{DataOf, RunFolder, Work, have_same_items, rows_of};
use crate::source::Source;
use crate::{Result, failed, live, usage};

impl Request {
    /// Joins the labels that are added to those of the data; what tells the data from others then, and what
    /// joining did, if there was something to join.
    pub(super) fn join_labels(
        &self,
        source: &Source,
        collection: &mut Collection,
        named_by: &str,
        at: &Environment,
    ) -> Result<(String, Option<Joined>)> {
        let digest = source.digest()?;
        let items = (&*digest, Some(named_by));
        if self.add_labels.is_empty() {
            let Some(again) = &self.again else {
                return Ok((digest, None));
            };
            let entries = live::entries(&again.run)?;
            let has_page = journal::standing(&entries).next().is_some();
            if again.is_of(items) || has_page || again.data.contains(';') {
                // Those that were added to it, or given on its page, are in no file that is read again.
                self.check_same_data(items, again, at)?;
            }
            if self.keeps_labels_of(items).is_none() || digest == again.data {
                return Ok((digest, None));
            }
            let none: [&Path; 0] = [];
            labels::join(collection, self.own_items(), &none, &Monitor::silent())?;
            let digest = format!("{digest}; labels {}", labels::digest(collection));
            return Ok((digest, None));
        }
        if let Some(again) = &self.again {
            self.check_same_data(items, again, at)?;
        }
        let joined = labels::join(collection, self.own_items(), &self.add_labels, at.monitor)?;
        if joined.missing > 0 {
            at.monitor.warn(format!(
                "{} items of the run are not in its data and are left out; adding them to the run brings \
                 them back",
                joined.missing
            ));
        }
        at.monitor.remark(format!(
            "{} items are newly labeled, {} change",
            joined.new, joined.changed
        ));
        if let Some(again) = &self.again
            && let Some(shown) = again.config.protocol.labels_per_class
        {
            at.monitor.warn(format!(
                "this run shows {shown} labels a class to its fit and hides all others to measure itself: labels that are \
                 added may be hidden, too; to learn from all of them fit the data without `labels_per_class`"
            ));
        }
        let digest = format!("{digest}; labels {}", labels::digest(collection));
        Ok((digest, Some(joined)))
    }

    /// Fails where the data of a run are others by now, or read otherwise, and the run would be replaced: labels that go
    /// by the number of a row would be those of other items.
    fn check_same_data(&self, items: DataOf, again: &Again, at: &Environment) -> Result<()> {
        let path = self.data.display();
        if !again.is_of(items) {
            let how = if again.is_of((items.0, None)) {
                "are read otherwise, by which ids may be of other items,"
            } else {
                "have changed"
            };
            let changed = format!("{path}: these data {how} since the run was made of them");
            if again.as_model {
                return Err(usage(format!(
                    "{changed}; make another run of them, with all labels"
                )));
            }
            if self.rights.renew && !self.rights.overwrite {
                let how = "fit them anew with all labels, or make another run of them";
                return Err(usage(format!("{changed}; {how}")).hint(Hint::Overwrite));
            }
            at.monitor.warn(changed);
        } else if let Some(file) = &self.read.labels
            && again.data.split(';').next() != Some(items.0)
        {
            at.monitor.warn(format!(
                "{}: it has changed since the run was made, whose labels stand; give it as `add_labels` to \
                 take what it says now",
                file.display()
            ));
        }
        Ok(())
    }

    /// Whether the run that would be replaced by one of the same data and labels stays as it is, which is said.
    pub(super) fn stays(&self, joined: Option<&Joined>, work: &Work, at: &Environment) -> bool {
        let (Some(joined), Some(again)) = (joined, &self.again) else {
            return false;
        };
        let nothing = joined.new + joined.changed + joined.missing + again.given == 0;
        // Who gives the right to overwrite asks for the fit itself, of whatever data.
        let in_its_place = self.rights.renew && !self.rights.overwrite && !work.resumes();
        let stays = nothing && in_its_place;
        if stays {
            at.monitor.remark(
                "no label is new and none changes, so the run stays as it is (an empty cell changes nothing; \
                 labels are taken away on the page of the run)",
            );
        }
        stays
    }

    /// The run whose labels stay what they are, since none are added, where these data have its items.
    fn keeps_labels_of(&self, items: DataOf) -> Option<&Again> {
        let again = self.again.as_ref()?;
        (self.add_labels.is_empty() && again.is_of(items)).then_some(again)
    }

    /// The same, where the features are its own as well, so that its learning goes on.
    pub(super) fn goes_on_of(&self, items: DataOf) -> Option<&Again> {
        let again = self.keeps_labels_of(items)?;
        let is_same = again.has_items_of(items.0, self.read.labels.is_some());
        is_same.then_some(again)
    }

    /// The journal of the page of the run that this one replaces, if it stays; begun where labels are added that it will
    /// hold.
    ///
    /// Fails while the run is served, and where labels were given since this began.
    pub(super) fn page(&self, items: DataOf, work: &Work) -> Result<Option<Journal>> {
        let Some(again) = &self.again else {
            return Ok(None);
        };
        if !self.rights.renew {
            if work.finished().is_none() {
                self.check_no_page_of_others(items)?;
            }
            return Ok(None);
        }
        // With other data it goes aside.
        let is_wanted = self.goes_by_its_page() || again.run.join(journal::NAME).exists();
        if !again.is_of(items) || !is_wanted {
            return Ok(None);
        }
        let (journal, _) = Journal::open(&again.run)?;
        if self.goes_by_its_page() && Place::after(journal.entries()) != again.journal {
            return Err(failed(format!(
                "{}: labels were given on its page since this began; begin again",
                again.run.display()
            )));
        }
        Ok(Some(journal))
    }

    /// Fails where labels that were given to another run of the same data, in whose place this one goes, would win over
    /// those that are added.
    fn check_no_page_of_others(&self, items: DataOf) -> Result<()> {
        let Some(out) = self.out.as_deref().filter(|_| self.goes_by_its_page()) else {
            return Ok(());
        };
        let Ok(record) = RunFolder::read_by(out, RunFolder::record) else {
            return Ok(());
        };
        let is_same = have_same_items(record.data_of(), items);
        if is_same && !journal::entries(out)?.is_empty() {
            return Err(usage(format!(
                "{}: labels that were given on the page of this run would win over those that are added; name another folder",
                out.display()
            )));
        }
        Ok(())
    }

    /// Notes labels that somebody else gave already, where the run stays as it is.
    pub(super) fn note_again(
        &self,
        joined: &Joined,
        collection: &Collection,
        items: DataOf,
        work: &Work,
        at: &Environment,
    ) -> Result<()> {
        let has_page = |again: &Again| again.run.join(journal::NAME).exists();
        if self.again.as_ref().is_some_and(has_page) {
            let mut page = self.page(items, work)?;
            self.noted(page.as_mut(), collection, Some(joined), items, at)?;
        }
        Ok(())
    }

    /// The place in the journal of its page that the labels of the run follow. Labels that are added stand there before
    /// they are fitted, so that they win over older ones, whichever model of the run answers.
    pub(super) fn noted(
        &self,
        page: Option<&mut Journal>,
        collection: &Collection,
        joined: Option<&Joined>,
        items: DataOf,
        at: &Environment,
    ) -> Result<Option<Place>> {
        let Some(again) = &self.again else {
            return Ok(None);
        };
        let Some(joined) = joined else {
            // Of other data it has the names that these say.
            return Ok(self
                .keeps_labels_of(items)
                .and_then(|again| again.journal.clone()));
        };
        let Some(page) = page else {
            return Ok(again.journal.clone());
        };
        let names = self.add_labels.iter().map(|file| {
            let name = file.file_name().unwrap_or(file.as_os_str());
            name.to_string_lossy().into_owned()
        });
        let who = names.collect::<Vec<_>>().join(", ");
        let hides = again.config.protocol.labels_per_class.is_some();
        let rows = rows_of(collection);
        let added = live::Added {
            files: &who,
            given: &joined.given,
            hides,
        };
        let count = live::note(page, &again.items, &rows, added, at.monitor)?;
        if count > 0 {
            let labels = if count == 1 {
                "1 label stands".to_owned()
            } else {
                format!("{count} labels stand")
            };
            at.monitor.remark(format!(
                "{labels} in the journal of its page as of \"{who}\", and win over older ones"
            ));
        }
        Ok(Place::after(page.entries()))
    }

    /// Whether the labels of the run that is made again are those of its page by now; else it keeps its own.
    fn goes_by_its_page(&self) -> bool {
        !self.add_labels.is_empty()
    }

    /// Whether labels were asked for: by advice, as a file of them tells, or on the page of the run.
    pub(super) fn has_asked_for(&self) -> bool {
        let on_its_page = self.again.as_ref().is_some_and(|again| again.asked_for);
        let mut files = self.add_labels.iter().chain(&self.read.labels);
        on_its_page || files.any(|file| was_advised(file))
    }

    /// The items of the run that is made again.
    pub(super) fn own_items(&self) -> Option<&[likewise_io::items::ItemRow]> {
        self.again.as_ref().map(|again| again.items.as_slice())
    }
}

/// Whether a file of labels is one that advice wrote: by its first line. A pipe gives what it has once, and is not asked.
fn was_advised(file: &Path) -> bool {
    if !file.is_file() {
        return false;
    }
    let mut line = String::new();
    let read =
        File::open(file).and_then(|file| BufReader::new(file.take(4096)).read_line(&mut line));
    read.is_ok() && line.trim_end() == ADVISED.join(",")
}
