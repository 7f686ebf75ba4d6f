//! The server, asked over HTTP.

mod asked;
mod browser;
mod http;
mod labels;
mod models;
mod safe;
mod scene;
