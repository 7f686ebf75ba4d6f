//! `--config run.toml`: flags from a file.
//!
//! Keys are the long names of flags, at the top for all verbs or in a table named after
//! one verb. They are put in front of the flags of the command line, where the last one
//! wins; `--json=false` there switches a flag off that takes no value. A `[recipe]` table holds
//! no flags: who fits reads it by [`recipe`].

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use likewise_io::atomic;
use likewise_study::text;

use crate::failure::Failure;
use crate::wording::in_words;

/// The table that holds no flags.
const RECIPE: &str = "recipe";

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
    /// The flag, without dashes.
    flag: String,
    values: Vec<String>,
}

/// The command line with the flags of its config file, if it names one, put in.
///
/// Fails where the file cannot be read, or a setting of it can be no flag.
pub(crate) fn arguments(mut args: Vec<OsString>, command: &Command) -> Result<Arguments, Failure> {
    let off = switched_off(&mut args, command);
    let alone = |line| Arguments {
        line,
        said: Vec::new(),
    };
    let Some(path) = named(&args) else {
        return Ok(alone(args));
    };
    let table = read(Path::new(&path))?;
    let verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let at = args.iter().position(|a| verbs.iter().any(|v| *a == **v));
    let Some(at) = at else {
        return Ok(alone(args));
    };
    let verb = args[at].to_string_lossy().into_owned();
    let mut said = Vec::new();
    let place = Path::new(&path).display().to_string();
    for (key, value) in &table {
        match value {
            toml::Value::Table(_) if key == RECIPE || verbs.contains(&&**key) => {}
            _ => said.extend(setting(key, value, &place)?),
        }
    }
    // Last, so that what is said of this verb wins over what is said of all.
    if let Some(toml::Value::Table(own)) = table.get(&verb) {
        let place = format!("{place}: [{verb}]");
        for (key, value) in own {
            said.extend(setting(key, value, &place)?);
        }
    }
    let mut flags: Vec<OsString> = said.iter().flat_map(Said::flags).collect();
    flags.retain(|flag| !off.iter().any(|name| name == flag));
    args.splice(at + 1..=at, flags);
    check_alone(&args, Path::new(&path))?;
    Ok(Arguments { line: args, said })
}

impl Said {
    /// The setting as flags of the command line.
    fn flags(&self) -> Vec<OsString> {
        let dashes = if self.flag.len() == 1 { "-" } else { "--" };
        let name = format!("{dashes}{}", self.flag);
        if self.values.is_empty() {
            return vec![name.into()];
        }
        let flags = self.values.iter().flat_map(|value| {
            if value.starts_with('-') {
                // It would be taken for a flag.
                return vec![format!("{name}={value}").into()];
            }
            vec![name.clone().into(), value.into()]
        });
        flags.collect()
    }
}

impl Arguments {
    /// What is wrong, where it is the file's fault and not that of the command line.
    pub(crate) fn of_file(&self, e: &clap::Error, command: &Command) -> Option<Failure> {
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
            let is_named = flags
                .iter()
                .any(|flag| *flag == self.long(&said.flag, command));
            let has = |value| said.values.contains(value);
            is_named && value.as_ref().is_none_or(|v| v.is_empty() || has(v))
        };
        let Said { place, key, .. } = self.said.iter().rev().find(is_meant)?;
        let text = e.render().to_string();
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

    /// The long name of a flag of the verb, where a single letter stands for one.
    fn long(&self, flag: &str, command: &Command) -> String {
        let verb = command
            .get_subcommands()
            .find(|verb| self.line.iter().any(|a| *a == *verb.get_name()));
        let of_verb = verb.into_iter().flat_map(Command::get_arguments);
        let mut all = of_verb.chain(command.get_arguments());
        let is = |arg: &&Arg| arg.get_short().is_some_and(|s| s.to_string() == flag);
        let long = all.find(is).and_then(Arg::get_long);
        long.unwrap_or(flag).to_owned()
    }
}

/// Takes `--flag=false` and `--flag=true` of flags without a value out of the command line:
/// the one means no flag, the other the flag. Returns the flags that are off, long and short.
fn switched_off(args: &mut Vec<OsString>, command: &Command) -> Vec<OsString> {
    let verbs = || command.get_subcommands();
    let verb = args
        .iter()
        .find_map(|a| verbs().find(|v| *a == *v.get_name()));
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

fn named(args: &[OsString]) -> Option<OsString> {
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "--config" {
            return rest.next().cloned();
        }
        if let Some(path) = arg.to_str().and_then(|a| a.strip_prefix("--config=")) {
            return Some(path.into());
        }
    }
    None
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

/// A setting of a file; none where it switches off what is off.
fn setting(key: &str, value: &toml::Value, place: &str) -> Result<Option<Said>, Failure> {
    if !is_name(key) {
        return Err(Failure::usage(format!(
            "{place}: \"{key}\" is no flag: the names of flags are small letters, digits and -"
        )));
    }
    let word = |value: &toml::Value| match value {
        toml::Value::String(s) => Some(s.clone()),
        toml::Value::Integer(i) => Some(i.to_string()),
        toml::Value::Float(f) => Some(f.to_string()),
        _ => None,
    };
    let values = match value {
        toml::Value::Boolean(false) => return Ok(None),
        toml::Value::Boolean(true) => Some(Vec::new()),
        toml::Value::Array(items) if items.is_empty() => return Ok(None),
        toml::Value::Array(items) => items.iter().map(word).collect(),
        other => word(other).map(|word| vec![word]),
    };
    let values = values.ok_or_else(|| {
        Failure::usage(format!(
            "{place}: {key} must be a word, a number, true or false"
        ))
    })?;
    Ok(Some(Said {
        place: place.to_owned(),
        key: key.to_owned(),
        flag: key.replace('_', "-"),
        values,
    }))
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
