//! The server, asked over HTTP.

mod asked;
mod browser;
mod http;
mod labels;
mod models;
#[cfg(unix)]
mod pipes;
mod safe;
mod scene;
