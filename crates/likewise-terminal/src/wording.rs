//! Messages of the libraries in the words of who types a command: settings as its flags, hints as what to do.

use clap::{Arg, Command};
use likewise::error::Hint;

/// What a command calls the settings of the libraries: the names of its flags.
#[derive(Debug, Clone, Default)]
pub struct Wording {
    /// Long names of the flags of single verbs.
    of_verbs: Vec<String>,
    /// Long names of the flags of every verb.
    of_all: Vec<String>,
    /// What a file of settings says.
    places: Vec<Place>,
}

/// Where a setting stands that a file has said.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The long name of its flag.
    pub(crate) flag: String,
    /// The file, and the table in it.
    pub(crate) place: String,
}

impl Wording {
    /// The words of this command and its verbs.
    pub fn of(command: &Command) -> Self {
        let long = |arg: &Arg| arg.get_long().map(str::to_owned);
        let of_verbs = command.get_subcommands().flat_map(Command::get_arguments);
        Self {
            of_verbs: of_verbs.filter_map(long).collect(),
            of_all: command.get_arguments().filter_map(long).collect(),
            places: Vec::new(),
        }
    }

    /// The same words, where a file has said these settings.
    pub(crate) fn with_file(mut self, places: Vec<Place>) -> Self {
        self.places = places;
        self
    }

    /// Where the setting stands that a message begins with, as a flag or, where it `may_be_bare`, by its name. None
    /// where the command line has said it.
    pub(crate) fn place(&self, message: &str, may_be_bare: bool) -> Option<&str> {
        let end = message.find([' ', ':', '=']).unwrap_or(message.len());
        let first = &message[..end];
        let name = first.trim_start_matches('-');
        let is_flag = name.len() < first.len();
        let name = name.replace('_', "-");
        let mut said = self.places.iter();
        let said = said.find(|said| (is_flag || may_be_bare) && said.flag == name);
        said.map(|said| said.place.as_str())
    }

    /// The message of a parameter, by the flag that gives it: `skip_bad goes with` is said of
    /// `--skip-bad`.
    pub(crate) fn parameter(&self, message: &str) -> String {
        let end = message.find([' ', ':']).unwrap_or(message.len());
        let flag = message[..end].replace('_', "-");
        let mut flags = self.of_verbs.iter().chain(&self.of_all);
        if flag.len() > 1 && flags.any(|own| *own == flag) {
            return format!("--{flag}{}", &message[end..]);
        }
        message.to_owned()
    }

    /// Settings in a message as the flags that give them: `` `label_column size` `` is said of
    /// `--label-column size`.
    pub fn settings(&self, message: &str) -> String {
        // The fields of a file keep their names, whatever flags there are.
        let of_file = [" field `", " variant `"];
        if !message.contains('`') || of_file.iter().any(|word| message.contains(word)) {
            return message.to_owned();
        }
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
            if self.of_verbs.contains(&flag) {
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
}

/// What to do, by the flags of the command.
pub(crate) fn words(hint: Hint) -> Option<&'static str> {
    Some(match hint {
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
        Hint::MeasureOthers => {
            "to measure other data, or in another way: `likewise embed RUN DATA -o e.npy`, then \
             `likewise eval e.npy --labels FILE`"
        }
        Hint::Resume => "the same command with --resume goes on from here",
        Hint::Unfinished => "go on with `likewise fit ... --resume`",
        Hint::Overwrite => {
            "--overwrite replaces it when the new one is complete, or name another folder"
        }
        Hint::OverwriteTable => {
            "--overwrite drops it first and writes it anew, or name another with --table"
        }
        Hint::ResumeOrOverwrite => "--resume goes on with it, --overwrite begins anew",
        Hint::SameOrOverwrite => "give those, or --overwrite to begin anew",
        Hint::Index => {
            "build it anew with `likewise index RUN`, or of embeddings with `likewise index EMB -o FOLDER`"
        }
        Hint::ListNames => "`likewise explain` lists all names",
        Hint::LimitMemory => "or say with --max-memory what may be used",
        // None of these is left: a test looks at all hints.
        _ => return None,
    })
}

/// The message with what the readers of whole numbers say put into the rule that they must keep.
pub(crate) fn in_words(text: &str) -> String {
    let whole = "must be a whole number of 0 or more";
    let most = format!("must be at most {}", u64::MAX);
    [
        ("invalid digit found in string", whole),
        ("cannot parse integer from empty string", whole),
        (
            "number would be zero for non-zero type",
            "must be at least 1",
        ),
        ("number too large to fit in target type", most.as_str()),
    ]
    .iter()
    .fold(text.to_owned(), |text, (said, rule)| {
        text.replace(said, rule)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a command of one verb with these flags.
    fn wording() -> Wording {
        let names = [
            "draws",
            "epochs",
            "from",
            "gamma",
            "id-column",
            "k",
            "kind",
            "label-column",
            "missing",
            "skip-bad",
        ];
        let fit = Command::new("fit").args(names.map(|name| Arg::new(name).long(name)));
        Wording::of(&Command::new("x").subcommand(fit))
    }

    #[test]
    fn the_fields_of_a_file_are_no_flags() {
        let wording = wording();
        let said = "unknown field `gama`, expected one of `gamma`, `epochs`";
        assert_eq!(wording.settings(said), said);
        let said = "index/index.json: broken: missing field `kind` at line 1 column 19";
        assert_eq!(wording.settings(said), said);
        assert_eq!(
            wording.settings("give `label_column size`"),
            "give --label-column size"
        );
    }

    #[test]
    fn a_parameter_that_is_a_flag_is_called_so() {
        let wording = wording();
        let said = |message: &str| wording.parameter(message);
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
    fn every_hint_has_its_words() {
        for hint in Hint::ALL {
            assert!(words(*hint).is_some(), "{hint:?}");
        }
    }

    #[test]
    fn the_readers_of_whole_numbers_say_a_rule() {
        for (text, rule) in [
            ("", "whole number"),
            ("1.5", "whole number"),
            ("18446744073709551616", "at most 18446744073709551615"),
        ] {
            let e = text.parse::<u64>().unwrap_err().to_string();
            let said = in_words(&e);
            assert!(said.contains(rule), "{text}: {said}");
        }
    }

    #[test]
    fn a_setting_of_a_file_is_told_by_its_place() {
        let place = |flag: &str, place: &str| Place {
            flag: flag.into(),
            place: place.into(),
        };
        let places = vec![
            place("k", "run.toml: [fit]"),
            place("id-column", "run.toml"),
        ];
        let wording = wording().with_file(places);
        assert_eq!(
            wording.place("k = 0: must be", true),
            Some("run.toml: [fit]")
        );
        assert_eq!(wording.place("id_column a: none", true), Some("run.toml"));
        assert_eq!(
            wording.place("--id-column a: none", false),
            Some("run.toml")
        );
        for other in ["k = 0", "rounds.k = 0: must be", "--gamma = -1", ""] {
            assert_eq!(wording.place(other, false), None, "{other}");
        }
    }

    #[test]
    fn settings_in_a_message_are_called_as_their_flags() {
        let wording = wording();
        assert_eq!(
            wording.settings("ids? `id_column sku`; or `missing`, no `flag` nor ` at all"),
            "ids? --id-column sku; or --missing, no `flag` nor ` at all"
        );
        assert_eq!(
            wording.settings("`k` goes with `from affinity`"),
            "-k goes with --from affinity"
        );
        assert_eq!(
            wording.settings("`label_column my class`"),
            "--label-column \"my class\""
        );
    }
}
