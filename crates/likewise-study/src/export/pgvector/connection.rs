//! The way to the server, and what may fail on it.

use std::time::Duration;

use postgres::config::{Host, SslMode};
use postgres::{Client, Config, NoTls};

use crate::export::store::Store;
use crate::{Error, Result, failed, usage};

/// Longest wait for a server that does not answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// A connection, and the address to be shown.
pub(super) fn connect(store: &Store) -> Result<(Client, String)> {
    let form = "postgres://USER@HOST:PORT/DATABASE";
    let scheme = ["postgres://", "postgresql://"];
    if !scheme.iter().any(|scheme| store.url.starts_with(scheme)) {
        return Err(usage(format!("the address of a PostgreSQL is {form}")));
    }
    // What the parser says may hold parts of the password.
    let config = store.url.parse::<Config>();
    let mut config = config.map_err(|_| {
        usage(format!(
            "the address cannot be read; write {form}, characters such as @ / : % of a password as %40 \
             %2F %3A %25"
        ))
    })?;
    if config.get_password().is_none_or(<[u8]>::is_empty)
        && let Some(secret) = &store.secret
    {
        config.password(secret);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(PATIENCE);
    }
    let place = shown(&config);
    let client = config.connect(NoTls).map_err(|e| {
        let advice = if config.get_ssl_mode() == SslMode::Require {
            "; this build speaks no TLS: connect by a tunnel, with sslmode=disable"
        } else if e.as_db_error().is_none() {
            "; is the server there, and does it listen?"
        } else {
            ""
        };
        failed(format!("{place}: {}{advice}", in_words(&e)))
    })?;
    Ok((client, place))
}

/// The address without its password.
fn shown(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        None => "localhost".into(),
    };
    let port = config.get_ports().first().map_or(5432, |&port| port);
    let database = config
        .get_dbname()
        .or(config.get_user())
        .unwrap_or_default();
    format!("postgres://{host}:{port}/{database}")
}

/// What the server says, or what failed on the way to it.
pub(super) fn in_words(e: &postgres::Error) -> String {
    if let Some(db) = e.as_db_error() {
        return match db.detail() {
            Some(detail) => format!("{} ({detail})", db.message()),
            None => db.message().to_owned(),
        };
    }
    match std::error::Error::source(e) {
        Some(source) => format!("{e}: {source}"),
        None => e.to_string(),
    }
}

/// What may fail between the server and us.
pub(super) enum Failed {
    Server(postgres::Error),
    Sending(std::io::Error),
    Here(Error),
}

impl From<postgres::Error> for Failed {
    fn from(e: postgres::Error) -> Self {
        Self::Server(e)
    }
}

impl From<std::io::Error> for Failed {
    fn from(e: std::io::Error) -> Self {
        Self::Sending(e)
    }
}

impl From<Error> for Failed {
    fn from(e: Error) -> Self {
        Self::Here(e)
    }
}

impl Failed {
    pub(super) fn into_error(self, place: &str) -> Error {
        let what = match self {
            Self::Server(e) => in_words(&e),
            Self::Sending(e) => e.to_string(),
            Self::Here(e) => return e,
        };
        failed(format!(
            "{place}: {what}; the same export again goes on where it stopped"
        ))
    }
}

#[cfg(test)]
mod tests {
    use likewise::index::Kind as IndexKind;

    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (url, expected) in [
            (
                "postgres://me:s3cret@db.example:5433/shop",
                "postgres://db.example:5433/shop",
            ),
            (
                "postgresql://me:s3cret@/x?host=/var/run",
                "postgres:///var/run:5432/x",
            ),
        ] {
            assert_eq!(shown(&url.parse().unwrap()), expected);
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_repeated() {
        let store = |url: &str| Store {
            url: url.into(),
            secret: None,
            table: "t".into(),
            index: IndexKind::Flat,
            overwrite: false,
            seed: 0,
        };
        for url in [
            "postgres://me:s3cret@h:port/x",
            "mysql://me:s3cret@h/x",
            "s3cret",
        ] {
            let said = connect(&store(url)).map(|_| ()).unwrap_err().to_string();
            assert!(
                said.contains("postgres://USER") && !said.contains("s3cret"),
                "{said}"
            );
        }
    }
}
