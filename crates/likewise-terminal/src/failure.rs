//! Failures of the program: one message, one exit code.

use std::path::Path;

use likewise::ErrorKind;
use likewise_study::plain;

use crate::aside::aside;
use crate::wording::{Wording, words};

/// What ends the program early: one message, one exit code.
///
/// What a library says is kept as it was said; the flags of the command are put in where it is
/// [reported](Self::report).
#[derive(Debug, Clone)]
pub struct Failure {
    code: u8,
    /// The part of the work that it is of.
    before: String,
    said: String,
    /// What can be done about it.
    behind: String,
    settings: Settings,
    /// Whether it is the fault of the data, which the message does not name.
    of_data: bool,
}

/// What in a message is the name of a setting, which a command calls by its flag.
#[derive(Debug, Clone, Copy)]
enum Settings {
    /// Nothing: flags are called by their names.
    Flags,
    /// What stands between backticks.
    Quoted,
    /// This, and the first word.
    First,
}

impl Failure {
    fn new(code: u8, said: String, settings: Settings) -> Self {
        Self {
            code,
            before: String::new(),
            said,
            behind: String::new(),
            settings,
            of_data: false,
        }
    }

    /// The work failed (exit code 1).
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(1, message.into(), Settings::Flags)
    }

    /// The command is wrong (exit code 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(2, message.into(), Settings::Flags)
    }

    /// The same failure, said of a part of the work.
    fn within(mut self, part: &str) -> Self {
        self.before = format!("{part}: {}", self.before);
        self.of_data = false;
        self
    }

    /// The same failure with the file of the data in front, where it is theirs and not named yet.
    pub fn about(self, data: Option<&Path>) -> Self {
        match data {
            Some(path) if self.of_data => self.within(&path.display().to_string()),
            _ => self,
        }
    }

    /// The same failure, and what can be done about it.
    pub fn then(mut self, how: &str) -> Self {
        self.behind = format!("{}; {how}", self.behind);
        self
    }

    /// Prints the message on stderr, in the words of the command, and gives the exit code.
    pub fn report(&self, wording: &Wording) -> u8 {
        aside(format_args!(
            "error: {}",
            plain::message(&self.message(wording))
        ));
        self.code
    }

    fn message(&self, wording: &Wording) -> String {
        let said = match self.settings {
            Settings::Flags => self.said.clone(),
            Settings::Quoted => wording.settings(&self.said),
            Settings::First => wording.settings(&wording.parameter(&self.said)),
        };
        let may_be_bare = matches!(self.settings, Settings::First);
        let place = wording.place(&said, may_be_bare);
        let place = place.map_or_else(String::new, |place| format!("{place}: "));
        [place.as_str(), &self.before, &said, &self.behind].concat()
    }
}

impl From<likewise::Error> for Failure {
    fn from(e: likewise::Error) -> Self {
        let (code, settings) = match e.kind() {
            ErrorKind::Parameter => (2, Settings::First),
            // The result is not good enough.
            ErrorKind::Quality => (3, Settings::Quoted),
            _ => (1, Settings::Quoted),
        };
        let failure = Self {
            // What does not say where is said of the data.
            of_data: e.kind() == ErrorKind::Data && !e.is_placed(),
            ..Self::new(code, e.to_string(), settings)
        };
        match e.what_to_do().and_then(words) {
            Some(how) => failure.then(how),
            None => failure,
        }
    }
}

impl From<likewise_io::Error> for Failure {
    fn from(e: likewise_io::Error) -> Self {
        let code = match e.kind() {
            likewise_io::ErrorKind::Parameter => 2,
            _ => 1,
        };
        let failure = Self::new(code, e.to_string(), Settings::Quoted);
        match e.what_to_do().and_then(words) {
            Some(how) => failure.then(how),
            None => failure,
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Self {
        Self::failed(e.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(e: serde_json::Error) -> Self {
        Self::failed(format!("cannot write JSON: {e}"))
    }
}

#[cfg(test)]
mod tests {
    use likewise::error::Hint;

    use super::*;

    #[test]
    fn a_hint_is_worded_as_a_flag() {
        let e = likewise::Error::data("there are no labels").hint(Hint::GiveLabels);
        let through_a_reader = Failure::from(likewise_io::Error::from(e.clone()));
        for failure in [Failure::from(e), through_a_reader] {
            let said = failure.message(&Wording::default());
            assert!(said.contains("there are no labels; give some with --labels FILE"));
        }
    }

    #[test]
    fn what_a_file_of_settings_says_wrong_is_said_of_it() {
        let places = vec![crate::wording::Place {
            flag: "threads".into(),
            place: "run.toml".into(),
        }];
        let wording = Wording::default().with_file(places);
        let said = |failure: Failure| failure.message(&wording);
        let e = likewise::Error::parameter("threads", 99, "must be at most 64");
        assert_eq!(said(e.into()), "run.toml: threads = 99: must be at most 64");
        let own = Failure::usage("--threads 99: at most 64");
        assert_eq!(said(own), "run.toml: --threads 99: at most 64");
        // What is wrong with data may begin with the same word.
        let e = likewise::Error::data("threads of wool");
        assert_eq!(said(e.into()), "threads of wool");
    }

    #[test]
    fn the_file_of_the_data_stands_in_front_and_is_no_setting() {
        let fit = clap::Command::new("fit").arg(clap::Arg::new("view").long("view"));
        let wording = Wording::of(&clap::Command::new("x").subcommand(fit));
        let e = likewise::Error::data("give `view a`, not `view b`");
        let file = Path::new("the `view a`.npy");
        let failure = Failure::from(e)
            .about(Some(file))
            .then("leave `view a` out");
        let said = failure.message(&wording);
        let expected = "the `view a`.npy: give --view a, not --view b; leave `view a` out";
        assert_eq!(said, expected);
    }
}
