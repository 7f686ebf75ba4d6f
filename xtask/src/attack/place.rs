//! Valid files that the program makes itself.

use std::path::{Path, PathBuf};

use super::kind::{Attack, Files, files_in, words};
use super::process::{Limits, run};
use crate::data::Result;

/// Where the program makes valid files.
pub(super) struct Place {
    binary: PathBuf,
    folder: PathBuf,
    limits: Limits,
}

impl Place {
    pub(super) fn new(binary: &Path, folder: &Path, limits: Limits) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        Ok(Self {
            binary: binary.to_owned(),
            folder: folder.to_owned(),
            limits,
        })
    }

    /// The files that are there after these commands; all must succeed.
    pub(super) fn made(&self, files: Files, commands: &[&str]) -> Result<Files> {
        let attack = Attack {
            arguments: vec![],
            files,
        };
        attack.write(&self.folder)?;
        for command in commands {
            let (status, said) = run(&self.binary, &words(command), &self.folder, self.limits)?;
            if !status.is_some_and(|status| status.success()) {
                return Err(format!("likewise {command}: {said}").into());
            }
        }
        let mut files = files_in(&self.folder)?;
        files.retain(|name, _| !name.starts_with(".cache/"));
        Ok(files)
    }

    /// What the program prints.
    pub(super) fn said(&self, command: &str) -> Result<String> {
        let mut program = std::process::Command::new(&self.binary);
        let output = program.args(words(command)).output()?;
        Ok(String::from_utf8(output.stdout)?)
    }
}
