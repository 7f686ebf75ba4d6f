//! The verbs: one file each, and which of them a command line asks for.

mod across;
mod add;
mod advise;
mod cache;
mod compare;
mod completions;
mod demo;
mod describe;
mod doctor;
mod duplicates;
mod embed;
mod eval;
mod explain;
mod export;
mod features;
mod fit;
mod graph;
mod index;
mod man;
mod mine;
mod propagate;
mod refit;
mod reproduce;
mod search;
#[cfg(feature = "serve")]
mod serve;
mod suspects;

use likewise_terminal::{Context, Failure};

use crate::args::Verb;

/// Does what the command line asks for.
pub(crate) fn run(verb: &Verb, at: &Context) -> Result<(), Failure> {
    match verb {
        Verb::Demo(args) => demo::run(args, at),
        Verb::Doctor(args) => doctor::run(args, at),
        Verb::Duplicates(args) => duplicates::run(args, at),
        Verb::Suspects(args) => suspects::run(args, at),
        Verb::Advise(args) => advise::run(args, at),
        Verb::Compare(args) => compare::run(args, at),
        Verb::Graph(args) => graph::run(args, at),
        Verb::Propagate(args) => propagate::run(args, at),
        Verb::Mine(args) => mine::run(args, at),
        Verb::Fit(args) => fit::run(args, at),
        Verb::Add(args) => add::run(args, at),
        Verb::Embed(args) => embed::run(args, at),
        Verb::Features(args) => features::run(args, at),
        Verb::Describe(args) => describe::run(args, at),
        Verb::Index(args) => index::run(args, at),
        Verb::Export(args) => export::run(args, at),
        Verb::Search(args) => search::run(args, at),
        #[cfg(feature = "serve")]
        Verb::Serve(args) => serve::run(args, at),
        Verb::Eval(args) => eval::run(args, at),
        Verb::Reproduce(args) => reproduce::run(args, at),
        Verb::Explain(args) => explain::run(args, at),
        Verb::Cache(args) => cache::run(args, at),
        Verb::Completions(args) => completions::run(args),
        Verb::Man(args) => man::run(args),
    }
}
