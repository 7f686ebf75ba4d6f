//! The program as its users run it.

mod across;
mod bad_input;
mod daily;
mod degenerate;
mod encoder;
mod gates;
mod images;
mod journey;
mod kernels;
mod metric;
mod mine;
mod pages;
mod program;
mod reproduce;
mod run_folder;
mod settings;
#[cfg(not(feature = "networks"))]
mod slim;
mod tables;
mod views;
