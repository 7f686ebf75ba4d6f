//! The program as its users run it.

mod across;
mod advise;
mod bad_input;
mod daily;
mod degenerate;
mod encoder;
mod export;
mod gates;
mod images;
mod journey;
mod kept_word;
mod kernels;
#[cfg(target_os = "linux")]
mod limits;
mod metric;
mod mine;
mod pages;
mod plain;
mod program;
mod refit;
mod reproduce;
mod run_folder;
mod said;
#[cfg(feature = "serve")]
mod serve;
mod settings;
mod several;
#[cfg(not(feature = "networks"))]
mod slim;
mod tables;
mod untouched;
mod views;
