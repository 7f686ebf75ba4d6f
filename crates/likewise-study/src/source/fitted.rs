//! New data, read as those of a run were.

use std::path::Path;
use std::sync::Arc;

use likewise::error::Hint;

use super::{Maker, Source, images};
use crate::environment::Environment;
use crate::run_folder::{Encoded, RunFolder};
use crate::{Error, Result, usage};

impl Source {
    /// The same data, read as those of a run were: a table by the same columns, images by what made
    /// its features, in the same words, unless an encoder is named.
    ///
    /// Fails on settings that the fit has decided, where the network has gone, and where the words
    /// are damaged.
    pub fn as_fitted(&self, folder: &RunFolder) -> Result<Self> {
        let (run, mut read) = (folder.config()?, self.read.clone());
        if let Some(layout) = run.table {
            self.read.table.check_fitted()?;
            read.layout = Some(Arc::new(layout));
        }
        read.apart = run.recipe.sees_views();
        if !self.images || run.encoder.is_empty() {
            return Ok(Self {
                read,
                ..self.clone()
            });
        }
        if read.words.is_some() {
            return Err(usage(
                "words are those that the run was fitted with; leave the number out",
            ));
        }
        read.vocabularies = folder.vocabularies()?;
        if read.encoder.is_empty() {
            if read.squeeze || read.side.is_some() {
                return Err(usage(
                    "side and squeeze are those that the run was fitted with; leave them out",
                ));
            }
            for encoded in run.encoder {
                read.encoder.push(match encoded {
                    Encoded::Descriptor { descriptor, .. } => Maker::Descriptor(descriptor),
                    Encoded::Network {
                        file,
                        side,
                        squeeze,
                    } => {
                        check_there(&file)?;
                        (read.side, read.squeeze) = (side, squeeze);
                        Maker::Network(file)
                    }
                });
            }
        } else {
            // With the parameters of the fit, whatever is usual by now.
            for maker in &mut read.encoder {
                let Maker::Descriptor(own) = maker else {
                    continue;
                };
                let of_run = run.encoder.iter().find_map(|encoded| match encoded {
                    Encoded::Descriptor { descriptor, .. } => {
                        (descriptor.name() == own.name()).then_some(descriptor)
                    }
                    Encoded::Network { .. } => None,
                });
                if let Some(of_run) = of_run {
                    own.clone_from(of_run);
                }
            }
        }
        Ok(Self {
            read,
            ..self.clone()
        })
    }

    /// What makes the features of these images in the view of this name, or in several with `+`
    /// between, to be found again; nothing for other data and for pixels.
    pub fn encoded(&self, view: &str, at: &Environment) -> Result<Vec<Encoded>> {
        let mut encoded = Vec::new();
        if !self.images {
            return Ok(encoded);
        }
        let alone = self.read.encoder.len() == 1;
        let used = |name: &str| alone || view.split('+').any(|view| view == name);
        for maker in &self.read.encoder {
            match maker {
                Maker::Descriptor(descriptor) if used(descriptor.name()) => {
                    encoded.push(Encoded::Descriptor {
                        descriptor: descriptor.clone(),
                        words: self.words_of(descriptor).map(|words| words.digest()),
                    });
                }
                Maker::Network(file) => {
                    let square = self.square();
                    if !alone && !used(&images::chosen(Some(file), square, at.device)?.0.name) {
                        continue;
                    }
                    let absolute = std::fs::canonicalize(file);
                    let absolute =
                        absolute.map_err(|e| Error::data(format!("{}: {e}", file.display())))?;
                    encoded.push(Encoded::Network {
                        file: absolute,
                        side: self.read.side,
                        squeeze: self.read.squeeze,
                    });
                }
                Maker::Descriptor(_) => {}
            }
        }
        Ok(encoded)
    }
}

/// Fails where the network of a run has gone.
fn check_there(file: &Path) -> Result<()> {
    if file.exists() {
        return Ok(());
    }
    let file = file.display();
    let message = format!("{file}: the network that the run was fitted with is not there");
    Err(Error::data(message).hint(Hint::NameEncoder))
}
