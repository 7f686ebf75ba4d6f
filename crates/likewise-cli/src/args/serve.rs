//! Flags of `likewise serve`.

use std::path::PathBuf;

use clap::Args;

/// `likewise serve`
#[cfg(feature = "serve")]
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Port to listen at; 0: any that is free.
    #[arg(long, default_value_t = 7007, value_name = "N")]
    pub(crate) port: u16,
    /// Address to listen at; any but this machine's own needs --token.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDR", value_parser = address)]
    pub(crate) host: std::net::IpAddr,
    /// What a request has to know, 8 letters or more: as `Authorization: Bearer T`, or by opening /?token=T once; the variable `LIKEWISE_TOKEN` says the same unseen.
    #[arg(long, value_name = "T")]
    pub(crate) token: Option<String>,
    /// How labels spread that are given on the page: harmonic (the default), lgc, mixed or poisson.
    #[arg(long, value_name = "NAME")]
    pub(crate) method: Option<String>,
}

/// An address, or the name that this machine has everywhere.
fn address(text: &str) -> Result<std::net::IpAddr, std::net::AddrParseError> {
    match text {
        "localhost" => Ok(std::net::Ipv4Addr::LOCALHOST.into()),
        text => text.parse(),
    }
}
