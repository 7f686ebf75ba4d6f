//! `likewise serve`

use std::sync::Arc;

use likewise_serve::{FromFiles, Options};
use likewise_study::live::Method;
use likewise_terminal::{Context, Failure, output};
use serde::Serialize;

use crate::args::Serve;

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
    if let (None, Some(token)) = (&args.token, &token) {
        likewise_serve::check_token(token).map_err(|e| Failure::usage(format!("{TOKEN}: {e}")))?;
    }
    let method = args.method.as_deref().map(Method::named).transpose();
    let method = method.map_err(|e| Failure::usage(format!("--method: {e}")))?;
    let options = Options {
        run: args.run.clone(),
        host: args.host,
        port: args.port,
        token: token.clone(),
        method,
        device: at.env.device.clone(),
        max_memory: at.env.max_memory,
    };
    let refit = FromFiles {
        device: at.env.device.clone(),
        max_memory: at.env.max_memory,
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
