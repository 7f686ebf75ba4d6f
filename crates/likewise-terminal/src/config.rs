//! `--config run.toml`: flags from a file.
//!
//! Keys are the long names of flags, at the top for all verbs or in a table named after
//! one verb. They are put in front of the flags of the command line, where the last one
//! wins; `--json=false` there switches a flag off that takes no value. A `[recipe]` table holds
//! no flags: who fits reads it by [`recipe`]. There is one file, and it names no other.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use likewise_io::atomic;
use likewise_study::{near, text};

use crate::failure::Failure;
use crate::wording::{Place, in_words};

/// The table that holds no flags.
const RECIPE: &str = "recipe";

/// The setting that names the file itself.
const CONFIG: &str = "config";

/// The command line with the flags of its config file, if it names one, put in.
pub(crate) struct Arguments {
    pub(crate) line: Vec<OsString>,
    /// What the file says.
    said: Vec<Said>,
}

/// One setting of a config file.
struct Said {
    /// The file, and the table in it.
    place: String,
    key: String,
    /// The flag, with its dashes.
    flag: String,
    /// Its long name, without.
    long: String,
    values: Vec<String>,
    /// Whether the command line says another value.
    is_overridden: bool,
}

/// What a setting may be: the flags of a verb and of all verbs.
struct Flags<'a> {
    command: &'a Command,
    verb: &'a Command,
}

/// The command line with the flags of its config file, if it names one, put in. The command must be as it was
/// defined, without what building adds to it.
///
/// Fails where two files are named, where one cannot be read, or a setting of it can be no flag.
pub(crate) fn arguments(mut args: Vec<OsString>, command: &Command) -> Result<Arguments, Failure> {
    let off = switched_off(&mut args, command);
    let alone = |line| Arguments {
        line,
        said: Vec::new(),
    };
    // Without a verb nothing is done, as where help is asked for.
    let Some((at, verb)) = verb(&args, command) else {
        return Ok(alone(args));
    };
    let Some(path) = named(&args)? else {
        return Ok(alone(args));
    };
    let flags = Flags { command, verb };
    let mut said = flags.said(Path::new(&path))?;
    for setting in &mut said {
        setting.is_overridden = flags.is_given(&setting.long, &args);
    }
    let mut words: Vec<OsString> = said.iter().flat_map(Said::words).collect();
    words.retain(|word| !off.contains(word));
    args.splice(at + 1..=at, words);
    // Neither the program nor the verb is a file.
    let others = [&args[1..at], &args[at + 1..]].concat();
    check_alone(&others, Path::new(&path))?;
    Ok(Arguments { line: args, said })
}

impl Flags<'_> {
    /// The settings of a file. Last, so that it wins, is what is said of the verb.
    fn said(&self, path: &Path) -> Result<Vec<Said>, Failure> {
        let table = read(path)?;
        let place = path.display().to_string();
        let mut said = Vec::new();
        for (key, value) in &table {
            match value {
                toml::Value::Table(_)
                    if key == RECIPE || self.command.find_subcommand(key).is_some() => {}
                toml::Value::Table(_) if self.flag(key).is_none() => {
                    return Err(self.no_table(key, &place));
                }
                _ => said.extend(self.setting(key, value, &place)?),
            }
        }
        let verb = self.verb.get_name();
        if let Some(toml::Value::Table(own)) = table.get(verb) {
            let place = format!("{place}: [{verb}]");
            for (key, value) in own {
                said.extend(self.setting(key, value, &place)?);
            }
        }
        Ok(said)
    }

    fn all(&self) -> impl Iterator<Item = &Arg> {
        let of_verb = self.verb.get_arguments();
        of_verb.chain(self.command.get_arguments())
    }

    /// The flag of this name, long or short.
    fn flag(&self, key: &str) -> Option<&Arg> {
        let name = key.replace('_', "-");
        let is_meant = |arg: &&Arg| {
            let short = arg.get_short().map(String::from);
            arg.get_long() == Some(&*name) || short.as_deref() == Some(&*name)
        };
        self.all().find(is_meant)
    }

    /// A setting of a file; none where it switches off what is off.
    fn setting(
        &self,
        key: &str,
        value: &toml::Value,
        place: &str,
    ) -> Result<Option<Said>, Failure> {
        let wrong = |what: &str| Err(Failure::usage(format!("{place}: {what}")));
        if !is_name(key) {
            return wrong(&format!(
                "\"{key}\" is no flag: the names of flags are small letters, digits and -"
            ));
        }
        let Some(flag) = self.flag(key) else {
            return Err(self.no_flag(key, place));
        };
        if flag.get_long() == Some(CONFIG) {
            return wrong(&format!(
                "{key}: a file of settings names no other; put what that one says in here"
            ));
        }
        let values = match (flag.get_action().takes_values(), value) {
            (_, toml::Value::Boolean(false)) => return Ok(None),
            (false, toml::Value::Boolean(true)) => vec![],
            (false, other) => {
                let is = kind(other);
                return wrong(&format!("{key}: must be true or false, is {is}"));
            }
            (true, toml::Value::Array(items)) if items.is_empty() => return Ok(None),
            (true, toml::Value::Array(items)) if items.len() > 1 && !takes_several(flag) => {
                let count = items.len();
                return wrong(&format!("{key}: must be one value, is a list of {count}"));
            }
            (true, other) => match words(other) {
                Ok(words) => words,
                Err(other) => {
                    let is = kind(other);
                    return wrong(&format!("{key} must be a word or a number, is {is}"));
                }
            },
        };
        let name = key.replace('_', "-");
        let dashes = if name.len() == 1 { "-" } else { "--" };
        Ok(Some(Said {
            place: place.to_owned(),
            key: key.to_owned(),
            flag: format!("{dashes}{name}"),
            long: flag.get_long().unwrap_or(&name).to_owned(),
            values,
            is_overridden: false,
        }))
    }

    /// A key that is no flag: the likest one, or where all are told.
    fn no_flag(&self, key: &str, place: &str) -> Failure {
        let verb = self.verb.get_name();
        let is_place = |arg: &Arg| {
            let names = arg.get_value_names().unwrap_or_default();
            (names.iter()).any(|name| name.split('|').any(|name| name.eq_ignore_ascii_case(key)))
        };
        let long: Vec<&str> = self.all().filter_map(Arg::get_long).collect();
        let then = match near::likest(key, &long) {
            _ if self.verb.get_positionals().any(is_place) => {
                "it stands in the command line itself".to_owned()
            }
            Some(likest) => format!("did you mean {likest}?"),
            None => format!("`likewise {verb} --help` lists them"),
        };
        Failure::usage(format!(
            "{place}: {key}: unexpected: `likewise {verb}` has no flag of this name; {then}"
        ))
    }

    /// A table that is named after no verb.
    fn no_table(&self, key: &str, place: &str) -> Failure {
        let verbs = self.command.get_subcommands().map(Command::get_name);
        let tables: Vec<String> = (verbs.chain([RECIPE]).map(|name| format!("[{name}]"))).collect();
        let there_are = near::there_are(&format!("[{key}]"), &tables);
        Failure::usage(format!(
            "{place}: [{key}]: a table is named after a verb, or holds a recipe; {there_are}"
        ))
    }

    /// Whether the command line gives the flag of this long name.
    fn is_given(&self, long: &str, args: &[OsString]) -> bool {
        let short = self.flag(long).and_then(Arg::get_short);
        let gives = |word: &OsString| {
            let word = word.to_string_lossy();
            match (word.strip_prefix("--"), word.strip_prefix('-')) {
                (Some(name), _) => name.split('=').next() == Some(long),
                (None, Some(letters)) => short.is_some_and(|short| letters.starts_with(short)),
                (None, None) => false,
            }
        };
        args.iter().take_while(|word| *word != "--").any(gives)
    }
}

/// Whether a flag is given again for each of its values, or takes several at once. Else the last one would win.
fn takes_several(flag: &Arg) -> bool {
    let at_once = flag.get_num_args().is_some_and(|n| n.max_values() > 1);
    at_once
        || flag.get_value_delimiter().is_some()
        || matches!(flag.get_action(), ArgAction::Append)
}

/// A value as words of the command line. Fails with what can be none.
fn words(value: &toml::Value) -> Result<Vec<String>, &toml::Value> {
    let items = match value {
        toml::Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let words = items.iter().map(|value| match value {
        toml::Value::String(s) => Ok(s.clone()),
        toml::Value::Integer(i) => Ok(i.to_string()),
        toml::Value::Float(f) => Ok(f.to_string()),
        other => Err(other),
    });
    words.collect()
}

/// What a value is, in a message.
fn kind(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::String(_) => "a text",
        toml::Value::Integer(_) | toml::Value::Float(_) => "a number",
        toml::Value::Boolean(true) => "true",
        toml::Value::Boolean(false) => "false",
        toml::Value::Datetime(_) => "a date",
        toml::Value::Array(_) => "a list",
        toml::Value::Table(_) => "a table",
    }
}

impl Said {
    /// The setting as words of the command line.
    fn words(&self) -> Vec<OsString> {
        let name = &self.flag;
        if self.values.is_empty() {
            return vec![name.into()];
        }
        let words = self.values.iter().flat_map(|value| {
            if value.starts_with('-') {
                // It would be taken for a flag.
                return vec![format!("{name}={value}").into()];
            }
            vec![name.into(), value.into()]
        });
        words.collect()
    }
}

impl Arguments {
    /// Where the settings stand that the file has said, and the command line has not.
    pub(crate) fn places(&self) -> Vec<Place> {
        let own = self.said.iter().filter(|said| !said.is_overridden);
        let place = |said: &Said| Place {
            flag: said.long.clone(),
            place: said.place.clone(),
        };
        own.map(place).collect()
    }

    /// What is wrong, where it is the file's fault and not that of the command line; `text` is what the parser
    /// says of it.
    pub(crate) fn of_file(&self, e: &clap::Error, text: &str) -> Option<Failure> {
        let word = |kind| match e.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            Some(ContextValue::Strings(texts)) => texts.first().cloned(),
            _ => None,
        };
        let value = word(ContextKind::InvalidValue);
        let flags: Vec<String> = [ContextKind::InvalidArg, ContextKind::PriorArg]
            .into_iter()
            .filter_map(word)
            .filter_map(|shown| {
                let flag = shown.split([' ', '=']).next()?.trim_start_matches('-');
                Some(flag.to_owned())
            })
            .collect();
        let is_meant = |said: &&Said| {
            // What the parser calls empty may be a flag without any value.
            let is_of = |v: &String| said.values.contains(v) || v.is_empty() && !said.is_overridden;
            flags.contains(&said.long) && value.as_ref().is_none_or(is_of)
        };
        let Said { place, key, .. } = self.said.iter().rev().find(is_meant)?;
        let lines = text.lines().map(str::trim);
        let lines = lines.take_while(|line| !line.starts_with("Usage:"));
        // Tips are of the command line.
        let other = ["For more information", "tip:"];
        let told =
            |line: &&str| !line.is_empty() && !other.iter().any(|begin| line.starts_with(begin));
        let lines: Vec<&str> = lines.filter(told).collect();
        let text = lines.join(" ");
        let text = in_words(text.strip_prefix("error: ").unwrap_or(&text));
        Some(Failure::usage(format!("{place}: {key}: {text}")))
    }
}

/// Where the verb stands in the command line, and which it is: the first word that is neither a flag nor the value of
/// one. None where that is no verb, as in `likewise help fit`.
fn verb<'a>(args: &[OsString], command: &'a Command) -> Option<(usize, &'a Command)> {
    let takes_value = |word: &str| {
        let is_it = |arg: &Arg| {
            let long = arg.get_long().map(|long| format!("--{long}"));
            let short = arg.get_short().map(|short| format!("-{short}"));
            [long, short].iter().flatten().any(|flag| flag == word)
        };
        let own = command.get_arguments();
        own.filter(|arg| arg.get_action().takes_values()).any(is_it)
    };
    let mut words = args.iter().enumerate().skip(1);
    while let Some((at, word)) = words.next() {
        let text = word.to_string_lossy();
        if !text.starts_with('-') {
            return command.find_subcommand(word).map(|verb| (at, verb));
        }
        if takes_value(&text) {
            words.next();
        }
    }
    None
}

/// Takes `--flag=false` and `--flag=true` of flags without a value out of the command line:
/// the one means no flag, the other the flag. Returns the flags that are off, long and short.
fn switched_off(args: &mut Vec<OsString>, command: &Command) -> Vec<OsString> {
    let verb = verb(args, command).map(|(_, verb)| verb);
    let of_verb = verb.into_iter().flat_map(Command::get_arguments);
    let switches: Vec<&Arg> = command
        .get_arguments()
        .chain(of_verb)
        .filter(|arg| matches!(arg.get_action(), ArgAction::SetTrue))
        .collect();
    let mut off: Vec<OsString> = Vec::new();
    let end = args.iter().position(|a| a == "--").unwrap_or(args.len());
    let mut rest = args.split_off(end);
    args.retain_mut(|arg| {
        let Some((name, value)) = arg
            .to_str()
            .and_then(|a| a.strip_prefix("--")?.split_once('='))
        else {
            return true;
        };
        let (Some(switch), "true" | "false") =
            (switches.iter().find(|s| s.get_long() == Some(name)), value)
        else {
            return true;
        };
        let on = value == "true";
        if !on {
            off.push(format!("--{name}").into());
            off.extend(switch.get_short().map(|short| format!("-{short}").into()));
            return false;
        }
        *arg = format!("--{name}").into();
        true
    });
    args.append(&mut rest);
    off
}

/// The `[recipe]` table of a config file, where it has one.
///
/// Fails where the file cannot be read.
pub fn recipe(path: &Path) -> Result<Option<toml::Table>, Failure> {
    match read(path)?.remove(RECIPE) {
        Some(toml::Value::Table(fields)) => Ok(Some(fields)),
        _ => Ok(None),
    }
}

/// The config file's table.
fn read(path: &Path) -> Result<toml::Table, Failure> {
    let text = likewise_io::read_text(path, text::MOST)?;
    text.parse::<toml::Table>().map_err(|e| {
        let wrong = text::wrong_toml(&e, &text);
        Failure::usage(format!("{}: {wrong}", path.display()))
    })
}

/// The file that the command line names. Fails where it names two.
fn named(args: &[OsString]) -> Result<Option<OsString>, Failure> {
    let mut found: Option<OsString> = None;
    let mut rest = args.iter().take_while(|word| *word != "--");
    while let Some(arg) = rest.next() {
        let text = arg.to_str();
        let path: Option<&OsStr> = if arg == "--config" {
            rest.next().map(OsString::as_os_str)
        } else {
            text.and_then(|a| a.strip_prefix("--config="))
                .map(OsStr::new)
        };
        match (path, &found) {
            (Some(path), None) => found = Some(path.to_owned()),
            (Some(other), Some(first)) => {
                return Err(Failure::usage(format!(
                    "--config {}: settings are read from one file, and --config {} is given too; put them into one",
                    Path::new(other).display(),
                    Path::new(first).display()
                )));
            }
            (None, _) => {}
        }
    }
    Ok(found)
}

/// Fails where the file of the settings stands in the command line as something else too: as an output it would be
/// lost.
fn check_alone(args: &[OsString], file: &Path) -> Result<(), Failure> {
    let mut named = false;
    for arg in args {
        // Its own name, right behind the flag.
        let is_own = std::mem::replace(&mut named, arg == "--config");
        let text = arg.to_string_lossy();
        if is_own || text.starts_with("--config=") {
            continue;
        }
        let value = match text.split_once('=') {
            Some((flag, value)) if flag.starts_with('-') => value,
            _ if text.starts_with('-') && !text.starts_with("--") => text.get(2..).unwrap_or(""),
            _ => &text,
        };
        let given = if value.len() == text.len() {
            Path::new(arg)
        } else {
            Path::new(value)
        };
        if atomic::same_file(given, file) {
            return Err(Failure::usage(format!(
                "{}: the settings are read from this file, so it can be nothing else; name another file",
                file.display()
            )));
        }
    }
    Ok(())
}

/// Whether a key of a file can be the name of a flag. It becomes one of the words of the command line,
/// which are printed as they are in some messages.
fn is_name(key: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    !key.is_empty() && key.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;
    use crate::flags::Common;

    /// A program of one verb.
    fn command() -> Command {
        let doctor = Command::new("doctor").args([
            Arg::new("skip-bad")
                .long("skip-bad")
                .action(ArgAction::SetTrue),
            Arg::new("labels").long("labels"),
        ]);
        Common::augment_args(Command::new("likewise")).subcommand(doctor)
    }

    #[test]
    fn what_cannot_be_the_name_of_a_flag_is_no_key() {
        for key in ["k", "max-memory", "max_memory", "2d"] {
            assert!(is_name(key), "{key}");
        }
        for key in ["", "x y", "K", "k=3", "x\u{1b}", "x\u{202e}", "größe"] {
            assert!(!is_name(key), "{key:?}");
        }
    }

    /// What is made of a command line beside this file.
    fn with(text: &str, line: &[&str]) -> Result<Arguments, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.toml");
        std::fs::write(&file, text).unwrap();
        let config = ["--config".into(), file.into_os_string()];
        let line = line.iter().map(OsString::from);
        arguments(line.chain(config).collect(), &command())
    }

    #[track_caller]
    fn refused(text: &str) -> String {
        let failure = with(text, &["likewise", "doctor", "x.npy"]).err().unwrap();
        format!("{failure:?}")
    }

    #[test]
    fn a_setting_is_of_the_kind_that_its_flag_takes() {
        for (text, what) in [
            (
                "json = \"true\"",
                "run.toml: json: must be true or false, is a text",
            ),
            (
                "[doctor]\nskip-bad = 1",
                "run.toml: [doctor]: skip-bad: must be true or false, is a number",
            ),
            ("q = []", "run.toml: q: must be true or false, is a list"),
            (
                "labels = true",
                "run.toml: labels must be a word or a number, is true",
            ),
            (
                "labels = [{}]",
                "run.toml: labels must be a word or a number, is a table",
            ),
            (
                "labels = [\"a\", \"b\"]",
                "run.toml: labels: must be one value, is a list of 2",
            ),
            (
                "config = \"other.toml\"",
                "run.toml: config: a file of settings names no other",
            ),
            (
                "[doctor]\nlabel = 3",
                "run.toml: [doctor]: label: unexpected: `likewise doctor` has no flag of this name; did you mean labels?",
            ),
            ("magic = 3", "`likewise doctor --help` lists them"),
            (
                "[doktor]\nk = 3",
                "did you mean [doctor]? There are: [doctor], [recipe]",
            ),
        ] {
            let said = refused(text);
            assert!(said.contains(what), "{text}: {said}");
        }
    }

    #[test]
    fn a_file_is_read_once_and_where_a_verb_is_run() {
        let none = |line: &[&str]| {
            let line = line.iter().map(OsString::from).collect();
            arguments(line, &command()).map(|read| read.line.len())
        };
        // None of these files is there.
        for line in [
            &["likewise", "help", "doctor", "--config", "none.toml"][..],
            &["likewise", "--config", "none.toml"],
            &["likewise", "doctor", "--", "--config", "none.toml"],
        ] {
            assert_eq!(none(line).unwrap(), line.len());
        }
        let failure = none(&["likewise", "doctor", "--config", "none.toml"]);
        assert!(format!("{:?}", failure.unwrap_err()).contains("none.toml"));
        // A file may be called as a verb is.
        let failure = none(&["likewise", "--config", "doctor", "doctor", "x.npy"]);
        assert!(format!("{:?}", failure.unwrap_err()).contains("no such file"));
        let two = with("seed = 3", &["likewise", "doctor", "--config", "a.toml"]);
        let said = format!("{:?}", two.err().unwrap());
        assert!(said.contains("--config a.toml is given too"), "{said}");
    }

    #[test]
    fn a_setting_has_its_place_unless_the_command_line_says_another() {
        let text = "threads = 3\nseed = 4\n[doctor]\nlabels = \"l.csv\"";
        let places = |more: &[&str]| {
            let line = [&["likewise", "doctor", "x.npy"], more].concat();
            let read = with(text, &line).unwrap();
            let of = |place: Place| (place.flag, place.place.ends_with("run.toml: [doctor]"));
            read.places().into_iter().map(of).collect::<Vec<_>>()
        };
        let [seed, threads, labels] = [("seed", false), ("threads", false), ("labels", true)]
            .map(|(flag, own)| (flag.to_owned(), own));
        let all = [seed.clone(), threads.clone(), labels];
        assert_eq!(places(&[]), all);
        assert_eq!(places(&["--labels=m.csv"]), [seed, threads]);
    }

    #[test]
    fn a_switch_of_the_file_can_be_switched_off() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.toml");
        std::fs::write(
            &file,
            "json = true\nseed = 3\n[doctor]\nskip-bad = true\nq = true\n",
        )
        .unwrap();
        let config = format!("--config={}", file.display());
        let read = |more: &[&str]| -> Vec<String> {
            let line = ["likewise", "doctor", "x.npy", &config];
            let line = line.into_iter().chain(more.iter().copied());
            let line = line.map(OsString::from).collect();
            let read = arguments(line, &command()).unwrap();
            let line = read.line.into_iter();
            line.skip(2).map(|a| a.into_string().unwrap()).collect()
        };
        let flags = |more: &[&str]| {
            let mut flags = read(more);
            flags.retain(|a| *a != config && *a != "x.npy");
            flags
        };
        assert_eq!(flags(&[]), ["--json", "--seed", "3", "-q", "--skip-bad"]);
        let none = ["--json=false", "--skip-bad=false", "--quiet=false"];
        assert_eq!(flags(&none), ["--seed", "3"]);
        // What takes a value, or is no flag at all, is left to the parser.
        let others = [
            "--labels=false",
            "--magic=false",
            "--verbose=true",
            "--",
            "--json=false",
        ];
        let left = flags(&others);
        assert_eq!(left[..5], ["--json", "--seed", "3", "-q", "--skip-bad"]);
        assert_eq!(left[5..7], others[..2]);
        assert_eq!(left[7..], ["--verbose", "--", "--json=false"]);
    }
}
