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
}

impl Wording {
    /// The words of this command and its verbs.
    pub fn of(command: &Command) -> Self {
        let long = |arg: &Arg| arg.get_long().map(str::to_owned);
        let of_verbs = command.get_subcommands().flat_map(Command::get_arguments);
        Self {
            of_verbs: of_verbs.filter_map(long).collect(),
            of_all: command.get_arguments().filter_map(long).collect(),
        }
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
pub(crate) fn words(hint: Hint) -> &'static str {
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

/// The message with what the reader of whole numbers says put into the rule that they must keep.
pub(crate) fn in_words(text: &str) -> String {
    text.replace(
        "invalid digit found in string",
        "must be a whole number of 0 or more",
    )
    .replace(
        "number would be zero for non-zero type",
        "must be at least 1",
    )
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
