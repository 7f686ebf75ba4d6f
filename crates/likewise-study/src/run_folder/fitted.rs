//! New data, read as those of a run were.

use std::path::Path;
use std::sync::Arc;

use likewise::error::Hint;

use super::RunFolder;
use crate::source::{Encoded, Maker, Source};
use crate::{Error, Result, usage};

impl RunFolder {
    /// These data, read as those of the run were: a table by the same columns, images by what made
    /// its features, in the same words, unless an encoder is named.
    ///
    /// Fails on settings that the fit has decided, where the network has gone, and where the words
    /// are damaged.
    pub fn as_fitted(&self, data: &Source) -> Result<Source> {
        let (run, mut read) = (self.config()?, data.read_as().clone());
        read.widths = run.widths_in_order();
        if let Some(layout) = run.table {
            read.table.check_fitted()?;
            read.layout = Some(Arc::new(layout));
        }
        read.apart = run.recipe.sees_views();
        if !data.is_images() || run.encoder.is_empty() {
            return Ok(data.with_reading(read));
        }
        if read.words.is_some() {
            return Err(usage(
                "words are those that the run was fitted with; leave the number out",
            ));
        }
        read.vocabularies = self.vocabularies()?;
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
        Ok(data.with_reading(read))
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
