//! Failures of the program: one message, one exit code.

use std::path::Path;

use clap::CommandFactory as _;
use likewise::ErrorKind;
use likewise::error::Hint;
use likewise_study::plain;

use crate::args::Cli;
use crate::aside::aside;

/// What ends the program early.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    /// Whether it is the fault of the data, which the message does not name.
    of_data: bool,
}

impl Failure {
    /// The work failed (exit code 1).
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self {
            code: 1,
            message: message.into(),
            of_data: false,
        }
    }

    /// The command is wrong (exit code 2).
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            code: 2,
            message: message.into(),
            of_data: false,
        }
    }

    /// The result is not good enough (exit code 3).
    pub(crate) fn gate(message: impl Into<String>) -> Self {
        Self {
            code: 3,
            message: message.into(),
            of_data: false,
        }
    }

    /// The same failure, said of a part of the work.
    pub(crate) fn within(mut self, part: &str) -> Self {
        self.message = format!("{part}: {}", self.message);
        self.of_data = false;
        self
    }

    /// The same failure with the file of the data in front, where it is theirs and not named yet.
    pub(crate) fn about(self, data: Option<&Path>) -> Self {
        match data {
            Some(path) if self.of_data => self.within(&path.display().to_string()),
            _ => self,
        }
    }

    /// The same failure, and what can be done about it.
    pub(crate) fn then(mut self, how: &str) -> Self {
        self.message = format!("{}; {how}", self.message);
        self
    }

    /// Prints the message and gives the exit code.
    pub(crate) fn report(&self) -> u8 {
        aside!("error: {}", plain::message(&self.message));
        self.code
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

fn of_kind(kind: ErrorKind, message: String) -> Failure {
    match kind {
        ErrorKind::Parameter => Failure::usage(message),
        ErrorKind::Quality => Failure::gate(message),
        _ => Failure::failed(message),
    }
}

impl From<likewise::Error> for Failure {
    fn from(e: likewise::Error) -> Self {
        let message = match e.kind() {
            ErrorKind::Parameter => as_flags(&as_flag(e.to_string())),
            _ => as_flags(&e.to_string()),
        };
        let failure = Self {
            // What does not say where is said of the data.
            of_data: e.kind() == ErrorKind::Data && !e.is_placed(),
            ..of_kind(e.kind(), message)
        };
        match e.what_to_do() {
            Some(hint) => failure.then(words(hint)),
            None => failure,
        }
    }
}

/// The message of a parameter, by the flag that gives it: `skip_bad goes with` is said of
/// `--skip-bad`.
fn as_flag(message: String) -> String {
    let end = message.find([' ', ':']).unwrap_or(message.len());
    let flag = message[..end].replace('_', "-");
    let command = Cli::command();
    let verbs = command.get_subcommands();
    let mut flags = verbs
        .chain([&command])
        .flat_map(clap::Command::get_arguments);
    if flag.len() > 1 && flags.any(|own| own.get_long() == Some(flag.as_str())) {
        return format!("--{flag}{}", &message[end..]);
    }
    message
}

/// Settings in a message as the flags that give them: `` `label_column size` `` is said of
/// `--label-column size`.
pub(crate) fn as_flags(message: &str) -> String {
    // The fields of a file keep their names, whatever flags there are.
    let of_file = [" field `", " variant `"];
    if !message.contains('`') || of_file.iter().any(|word| message.contains(word)) {
        return message.to_owned();
    }
    let command = Cli::command();
    let flags: Vec<&str> = command
        .get_subcommands()
        .flat_map(clap::Command::get_arguments)
        .filter_map(clap::Arg::get_long)
        .collect();
    let mut said = String::new();
    let mut rest = message;
    while let Some((before, behind)) = rest.split_once('`') {
        said.push_str(before);
        let Some((inside, after)) = behind.split_once('`') else {
            said.push('`');
            rest = behind;
            continue;
        };
        let (name, value) = inside.split_once(' ').unwrap_or((inside, ""));
        let flag = name.replace('_', "-");
        if flags.contains(&flag.as_str()) {
            // A name with a space in it is one word for a shell only in quotes.
            let value = match value {
                "" => String::new(),
                value if value.contains(' ') => format!(" \"{value}\""),
                value => format!(" {value}"),
            };
            let dashes = if flag.len() == 1 { "-" } else { "--" };
            said.extend([dashes, &flag, &value]);
            rest = after;
        } else {
            said.push('`');
            rest = behind;
        }
    }
    said + rest
}

/// What to do, by the flags of the command.
fn words(hint: Hint) -> &'static str {
    match hint {
        Hint::ChooseView => "choose one with --view",
        Hint::GiveLabels => "give some with --labels FILE (csv with id,label, or .npy)",
        Hint::NameEncoder => "name its file with --encoder FILE",
        Hint::GiveEncoder => "fit a folder of images with --encoder FILE",
        Hint::SkipBadImages => "--skip-bad leaves such files out",
        Hint::NameData => "name their folder with --data",
        Hint::BuildVulkan => "build with --features vulkan to have it",
        Hint::BuildNetworks => "install it without --no-default-features to have them",
        Hint::BuildExport => "install it with --features export to have it",
        Hint::Fit => "`likewise fit DATA -o FOLDER` makes one",
        Hint::Resume => "the same command with --resume goes on from here",
        Hint::Unfinished => "go on with `likewise fit ... --resume`",
        Hint::Overwrite => {
            "--overwrite replaces it when the new one is complete, or name another folder"
        }
        Hint::ResumeOrOverwrite => "--resume goes on with it, --overwrite begins anew",
        Hint::SameOrOverwrite => "give those, or --overwrite to begin anew",
        Hint::Index => {
            "build it anew with `likewise index RUN`, or of embeddings with `likewise index EMB -o FOLDER`"
        }
        Hint::ListNames => "`likewise explain` lists all names",
        Hint::LimitMemory => "or say with --max-memory what may be used",
        _ => "see `likewise --help`",
    }
}

impl From<likewise_io::Error> for Failure {
    fn from(e: likewise_io::Error) -> Self {
        match e.kind() {
            likewise_io::ErrorKind::Parameter => Self::usage(as_flags(&e.to_string())),
            _ => Self::failed(as_flags(&e.to_string())),
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
    use super::*;

    #[test]
    fn the_fields_of_a_file_are_no_flags() {
        let said = "unknown field `gama`, expected one of `gamma`, `epochs`";
        assert_eq!(as_flags(said), said);
        let said = "index/index.json: broken: missing field `kind` at line 1 column 19";
        assert_eq!(as_flags(said), said);
        assert_eq!(
            as_flags("give `label_column size`"),
            "give --label-column size"
        );
    }

    #[test]
    fn a_parameter_that_is_a_flag_is_called_so() {
        let said = |message: &str| as_flag(message.to_owned());
        assert_eq!(
            said("skip_bad goes with images"),
            "--skip-bad goes with images"
        );
        assert_eq!(said("draws go with labels"), "--draws go with labels");
        assert_eq!(
            said("k = 0: must be at least 1"),
            "k = 0: must be at least 1"
        );
        let of_a_recipe = "rounds.epochs = 0: must be above";
        assert_eq!(said(of_a_recipe), of_a_recipe);
        assert_eq!(
            said("run/ holds a finished run"),
            "run/ holds a finished run"
        );
        assert_eq!(said(""), "");
    }

    #[test]
    fn settings_in_a_message_are_called_as_their_flags() {
        assert_eq!(
            as_flags("ids? `id_column sku`; or `missing`, no `flag` nor ` at all"),
            "ids? --id-column sku; or --missing, no `flag` nor ` at all"
        );
        assert_eq!(
            as_flags("`k` goes with `from affinity`"),
            "-k goes with --from affinity"
        );
        assert_eq!(
            as_flags("`label_column my class`"),
            "--label-column \"my class\""
        );
    }

    #[test]
    fn a_hint_is_worded_as_a_flag() {
        let e = likewise::Error::data("there are no labels").hint(Hint::GiveLabels);
        let said = Failure::from(e).to_string();
        assert!(said.contains("there are no labels; give some with --labels FILE"));
    }
}
