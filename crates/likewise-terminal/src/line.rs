//! A command line is read, and what is wrong with it is said.

use std::ffi::OsString;

use clap::{Arg, Command, Parser};
use likewise_study::plain;

use crate::aside::aside;
use crate::config;
use crate::wording::{Wording, in_words};

/// Reads a command line, whose first word is the name of the program, with the flags of its config file put in.
///
/// Fails with an exit code, once it has said what is wrong; or ends the process itself, as where help or the
/// version is asked for.
pub fn read<Program: Parser>(line: &[OsString], wording: &Wording) -> Result<Program, u8> {
    let command = Program::command();
    let arguments =
        config::arguments(line.to_vec(), &command).map_err(|failure| failure.report(wording))?;
    parsed(command, &arguments.line).map_err(|e| match arguments.of_file(&e, &Program::command()) {
        Some(failure) => failure.report(wording),
        None => told(&e, &arguments.line),
    })
}

/// Reads the words of a command line. A number below 0 behind a flag is its value, so that what is said of it is
/// the rule of the value.
fn parsed<Program: Parser>(command: Command, line: &[OsString]) -> Result<Program, clap::Error> {
    let signed = |arg: Arg| {
        let takes = arg.get_action().takes_values() && !arg.is_positional();
        if takes {
            arg.allow_negative_numbers(true)
        } else {
            arg
        }
    };
    let command = command
        .mut_args(signed)
        .mut_subcommands(|verb| verb.mut_args(signed));
    let mut matches = command.try_get_matches_from(line)?;
    Program::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut Program::command()))
}

/// Says what is wrong with a command line, or what was asked of it, and gives its exit code.
fn told(e: &clap::Error, line: &[OsString]) -> u8 {
    let acts = |word: &OsString| !plain::is_shown(&word.to_string_lossy());
    let text = e.render().to_string();
    if !e.use_stderr() || !line.iter().any(acts) && in_words(&text) == text {
        e.exit();
    }
    // Names of files stand in it as they were given, by a pattern perhaps.
    let text = in_words(&text);
    aside(plain::lines(text.trim_end()));
    u8::try_from(e.exit_code()).unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[arg(short)]
        k: usize,
    }

    #[test]
    fn a_number_below_0_is_the_value_of_its_flag_and_breaks_its_rule() {
        let line = |k: &str| ["x", "-k", k].map(OsString::from);
        let read = |k| parsed::<Cli>(Cli::command(), &line(k));
        assert_eq!(read("3").unwrap().k, 3);
        let said = in_words(&read("-3").unwrap_err().to_string());
        let rule = "invalid value '-3' for '-k <K>': must be a whole number of 0 or more";
        assert!(said.contains(rule), "{said}");
    }
}
