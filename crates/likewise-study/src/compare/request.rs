//! A comparison as it is asked for, from the folders of the runs to the page.

use std::path::PathBuf;

use super::{Compared, Runs, estimate};
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::run_folder::{RunFolder, check_apart, check_ending, check_output, is_same};
use crate::{Result, text, usage};

/// A comparison that is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Folder of a run.
    pub first: PathBuf,
    /// Folder of another.
    pub second: PathBuf,
    /// Where a page with the queries that changed most goes: `.html`.
    pub out: Option<PathBuf>,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Request {
    /// What the comparison will cost.
    ///
    /// Fails on an output that cannot be one, for one run named twice, and where there is none.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        self.check()?;
        self.read(|runs| estimate(runs, at))
    }

    /// Compares the runs, and writes the page where it is to go.
    ///
    /// Fails as [`estimate`](Self::estimate), [`Runs::open`] and [`Runs::compare`] do.
    pub fn run(&self, at: &Environment) -> Result<Compared> {
        self.check()?;
        let (compared, page) = self.read(|runs| {
            let runs = Runs::open(runs, at)?;
            let compared = runs.compare(self.seed, at)?;
            let page = self.out.as_ref().map(|_| runs.page(&compared));
            Ok((compared, page.transpose()?))
        })?;
        if let (Some(out), Some(page)) = (&self.out, page) {
            text::write(out, &page)?;
        }
        Ok(compared)
    }

    fn check(&self) -> Result<()> {
        let out = self.out.as_deref();
        check_output(out, &[])?;
        check_ending(out, "what runs are compared by is written", "html")?;
        for run in [&self.first, &self.second] {
            check_apart(out, run)?;
        }
        if is_same(&self.first, &self.second) {
            return Err(usage(format!(
                "{}: both runs are the same folder; name two",
                self.first.display()
            )));
        }
        Ok(())
    }

    /// What `work` makes of both. Where another run takes the place of one meanwhile, it begins anew.
    fn read<T>(&self, work: impl Fn([&RunFolder; 2]) -> Result<T>) -> Result<T> {
        RunFolder::read_by(&self.first, |first| {
            RunFolder::read_by(&self.second, |second| work([first, second]))
        })
    }
}
