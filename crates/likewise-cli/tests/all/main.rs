//! The program as its users run it.

mod bad_input;
mod daily;
mod gates;
mod images;
mod journey;
mod metric;
mod mine;
mod pages;
mod program;
mod reproduce;
mod run_folder;
mod settings;
mod tables;
mod views;
