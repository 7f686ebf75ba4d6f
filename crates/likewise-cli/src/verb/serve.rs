//! `likewise serve`

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use likewise::{Error, ErrorKind, Monitor};
use likewise_io::items::ItemRow;
use likewise_serve::{Options, Refit};
use likewise_study::stages::Stages;
use likewise_study::{Device, Environment};
use serde::Serialize;

use super::{fit, refit};
use crate::args::{Cli, Common, Serve, Verb};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Where the server listens.
#[derive(Serialize)]
struct At {
    url: String,
}

/// The token, where it is not to be seen among the processes of the machine.
const TOKEN: &str = "LIKEWISE_TOKEN";

pub(crate) fn run(args: &Serve, at: &Context) -> Result<(), Failure> {
    if at.common.seed != 0 {
        return Err(Failure::usage(
            "--seed has no effect: a run is served, and fitted again, with its own seed",
        ));
    }
    let token = args.token.clone().or_else(|| std::env::var(TOKEN).ok());
    let options = Options {
        run: args.run.clone(),
        host: args.host,
        port: args.port,
        token: token.clone(),
        device: at.env.device.clone(),
        max_memory: at.env.max_memory,
    };
    let refit = Again {
        common: Common {
            json: false,
            quiet: true,
            verbose: false,
            seed: 0,
            config: None,
            ..at.common.clone()
        },
        device: at.env.device.clone(),
    };
    let mut told = Ok(());
    let mut ready = |mut address: std::net::SocketAddr| {
        // What came from the environment is not printed either.
        let token = args.token.as_ref();
        let token = token.map_or_else(String::new, |token| format!("?token={token}"));
        if address.ip().is_unspecified() {
            // All addresses are listened at; this machine's own can be opened here.
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        let url = format!("http://{address}/{token}");
        told = if at.common.json {
            output::json(&At { url })
        } else {
            let shown = args.run.display();
            output::line(format!("{shown}: open {url} in a browser; Ctrl-C ends"))
        };
    };
    likewise_serve::serve(options, Some(Arc::new(refit)), at.env.monitor, &mut ready)?;
    told
}

/// Runs are fitted again as `likewise fit RUN --add-labels` does it.
struct Again {
    common: Common,
    device: Device,
}

impl Refit for Again {
    fn refit(
        &self,
        run: &Path,
        items: Vec<ItemRow>,
        labels: &Path,
        out: &Path,
        monitor: &Monitor,
    ) -> Result<(), Error> {
        let done = self.fit(run, items, labels, out, monitor);
        done.map_err(|failure| match monitor.check() {
            Err(cancelled) => cancelled,
            Ok(()) => Error::new(ErrorKind::Data, failure.to_string()),
        })
    }
}

impl Again {
    fn fit(
        &self,
        run: &Path,
        items: Vec<ItemRow>,
        labels: &Path,
        out: &Path,
        monitor: &Monitor,
    ) -> Result<(), Failure> {
        let stages = Stages::default();
        let heard = stages.clone();
        // Where the time goes stands in the record of the run.
        let monitor = monitor.also(move |event| heard.hear(event));
        let word = OsStr::new;
        let begin = [word("likewise"), word("fit"), run.as_os_str()];
        let files = [
            word("--add-labels"),
            labels.as_os_str(),
            word("-o"),
            out.as_os_str(),
        ];
        let line: Vec<OsString> = (begin.iter().chain(&files))
            .map(|&word| word.to_owned())
            .collect();
        let at = Context {
            common: &self.common,
            line: &line,
            env: Environment {
                monitor: &monitor,
                stages: &stages,
                device: &self.device,
                max_memory: self.common.max_memory.map(|limit| limit.0),
            },
        };
        let cli = Cli::read(&line).map_err(|e| Failure::failed(e.to_string()))?;
        let Verb::Fit(args) = cli.verb else {
            return Err(Failure::failed("a fit was not read as one"));
        };
        let Some(mut again) = refit::again(&args, 0)? else {
            return Err(Failure::failed(format!("{}: not a run", run.display())));
        };
        // What the labels of the run were is said by those of now.
        again.items = items;
        fit::silently(&again, &at)
    }
}
