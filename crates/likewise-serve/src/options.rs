//! What is served, to whom, and how its runs are fitted.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use likewise::Monitor;
use likewise_study::fit::{LabeledItems, More, Request};
use likewise_study::live::Method;
use likewise_study::stages::Stages;
use likewise_study::{Device, Environment, Result};

/// What is served, and to whom.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of the run.
    pub run: PathBuf,
    /// Address that is listened at.
    pub host: IpAddr,
    /// Port; 0: any that is free.
    pub port: u16,
    /// What a request has to know; needed at any address but this machine's own.
    pub token: Option<String>,
    /// How labels spread that are given live; `None`: the usual way. A run across views takes no labels.
    pub method: Option<Method>,
    /// Where networks run.
    pub device: Device,
    /// Most memory that may be used, bytes; `None`: most of what is free.
    pub max_memory: Option<u64>,
}

impl Options {
    /// The run in a folder, on this machine alone, at any port that is free.
    pub fn new(run: &Path, device: Device) -> Self {
        Self {
            run: run.to_owned(),
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            token: None,
            method: None,
            device,
            max_memory: None,
        }
    }
}

/// Fits the run that is served again, with the labels as they are now. Whoever starts the server knows
/// how its runs are fitted.
pub trait Refit: Send + Sync {
    /// Makes a run of the data of `run`, whose items are `labeled` so, in the new folder `out`. The labels stand in
    /// the file `labels` as well; the [record](likewise_study::run_folder::Record::journal) of the new run says which
    /// entry of the journal they go up to.
    ///
    /// Must tell `monitor` of its progress, and stop when that says so, with an error of the kind
    /// `Cancelled`.
    fn refit(
        &self,
        run: &Path,
        labeled: LabeledItems,
        labels: &Path,
        out: &Path,
        monitor: &Monitor,
    ) -> Result<()>;
}

/// Runs are fitted again from the files that they were made of.
#[derive(Debug)]
pub struct FromFiles {
    /// Where networks run.
    pub device: Device,
    /// Most memory that may be used, bytes; `None`: most of what is free.
    pub max_memory: Option<u64>,
}

impl Refit for FromFiles {
    fn refit(
        &self,
        run: &Path,
        labeled: LabeledItems,
        labels: &Path,
        out: &Path,
        monitor: &Monitor,
    ) -> Result<()> {
        let stages = Stages::default();
        let heard = stages.clone();
        // Where the time goes stands in the record of the run.
        let monitor = monitor.also(move |event| heard.hear(event));
        let at = Environment {
            monitor: &monitor,
            stages: &stages,
            device: &self.device,
            max_memory: self.max_memory,
        };
        let files = [labels.to_owned()];
        let mut request = Request::again(run, More::Labels(&files), Some(labeled), &monitor)?;
        let words = ["--add-labels".to_owned(), labels.display().to_string()];
        request.command.extend(words);
        request.into_folder(out.to_owned()).run(&at).map(drop)
    }
}

/// Is told where the server listens, once it does.
pub type Ready<'a> = &'a mut dyn FnMut(SocketAddr);
