//! A command line is read, and what is wrong with it is said.

use std::ffi::OsString;

use clap::builder::Styles;
use clap::{Arg, Command, Parser};
use likewise_study::plain;

use crate::aside::aside;
use crate::failure::Failure;
use crate::wording::{Wording, in_words};
use crate::{config, output};

/// Reads a command line, whose first word is the name of the program, with the flags of its config file put in; and
/// what the program calls its settings.
///
/// Fails with an exit code, once it has said what is wrong, or what was asked for: help, or the version.
pub fn read<Program: Parser>(line: &[OsString]) -> Result<(Program, Wording), u8> {
    let command = Program::command();
    let wording = Wording::of(&command);
    let arguments = match config::arguments(line.to_vec(), &command) {
        Ok(arguments) => arguments,
        Err(failure) => return Err(failure.report(&wording)),
    };
    match parsed(command, &arguments.line) {
        Ok(program) => Ok((program, wording.with_file(arguments.places()))),
        Err(e) => {
            let text = shown(&e, &arguments.line);
            Err(match arguments.of_file(&e, &text) {
                Some(failure) => failure.report(&wording),
                None => told(&e, &text).unwrap_or_else(|failure| failure.report(&wording)),
            })
        }
    }
}

/// Whether a word is in a command line on which a terminal would act.
fn acts(line: &[OsString]) -> bool {
    line.iter()
        .any(|word| !plain::is_shown(&word.to_string_lossy()))
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
    let mut command = command
        .mut_args(signed)
        .mut_subcommands(|verb| verb.mut_args(signed));
    if acts(line) {
        // All that looks like a style of the terminal in a message is then of the line.
        command = command.styles(Styles::plain());
    }
    let mut matches = command.try_get_matches_from_mut(line)?;
    Program::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command))
}

/// What the parser says, without colors. Names of files stand in it as they were given, by a pattern perhaps.
fn shown(e: &clap::Error, line: &[OsString]) -> String {
    if acts(line) {
        return plain::lines(&e.render().ansi().to_string()).into_owned();
    }
    e.render().to_string()
}

/// Says what is wrong with a command line, or what was asked of it, and gives its exit code; `text` is that without
/// colors.
///
/// Fails where what was asked for cannot be written.
fn told(e: &clap::Error, text: &str) -> Result<u8, Failure> {
    let code = u8::try_from(e.exit_code()).unwrap_or(2);
    if !e.use_stderr() {
        output::written(e.print())?;
        return Ok(code);
    }
    let said = in_words(text);
    // In colors, unless it is said in other words or with something in it that acts.
    if said == e.render().to_string() {
        // Nobody can be told where stderr is closed.
        let _ = e.print();
    } else {
        aside(said.trim_end());
    }
    Ok(code)
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
    fn what_acts_on_a_terminal_is_shown_in_a_message() {
        for (word, seen) in [
            ("--x\u{1b}[31m", "--x\\u{1b}[31m"),
            ("y\u{202e}", "y\\u{202e}"),
            ("--plain", "'--plain'"),
        ] {
            let line = ["x", "-k", "3", word].map(OsString::from);
            let e = parsed::<Cli>(Cli::command(), &line).unwrap_err();
            let said = shown(&e, &line);
            assert!(
                said.contains(seen) && plain::is_shown(&said.replace('\n', "")),
                "{said:?}"
            );
        }
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
