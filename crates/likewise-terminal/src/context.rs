//! What every verb gets.

use std::ffi::OsString;

use likewise_study::Environment;
use likewise_study::estimate::Estimate;
use likewise_study::size::Bytes;
use serde::Serialize;

use crate::failure::Failure;
use crate::flags::Common;
use crate::output;
use crate::wording::Wording;

/// What every verb gets.
pub struct Context<'a> {
    /// The flags of every verb.
    pub common: &'a Common,
    /// The command line as it was given.
    pub line: &'a [OsString],
    /// What the command calls the settings of the libraries.
    pub wording: &'a Wording,
    /// What the work is done with.
    pub env: Environment<'a>,
}

impl Context<'_> {
    /// The command, as it stands in records: a path to the program is of no use elsewhere.
    pub fn command(&self) -> Vec<String> {
        let given = self.line.iter().skip(1);
        std::iter::once("likewise".to_owned())
            .chain(given.map(|word| word.to_string_lossy().into_owned()))
            .collect()
    }

    /// Prints an answer: as JSON where that is asked for, else in words.
    ///
    /// Fails where stdout cannot be written, or the words fail.
    pub fn tell<A: Serialize>(
        &self,
        answer: &A,
        in_words: impl FnOnce(&A) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.common.json {
            return output::json(answer);
        }
        in_words(answer)
    }

    /// Prints an estimate: the whole answer of `--dry-run`.
    ///
    /// Fails where stdout cannot be written.
    pub fn print(&self, estimate: Estimate) -> Result<(), Failure> {
        self.tell(&estimate.on_this_machine(), |estimate| {
            output::line(format!(
                "estimated time {:.0} s, memory {}",
                estimate.seconds.max(1.0),
                Bytes(estimate.memory_bytes)
            ))
        })
    }
}
