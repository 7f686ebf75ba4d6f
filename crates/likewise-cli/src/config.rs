//! `--config run.toml`: flags from a file.
//!
//! Keys are the long names of flags, at the top for all verbs or in a table named after
//! one verb. They are put in front of the flags of the command line, where the last one
//! wins. A `[recipe]` table is read by `fit` itself.

use std::ffi::OsString;
use std::path::Path;

use crate::failure::Failure;

/// The command line with the flags of its config file, if it names one, put in.
pub(crate) fn arguments(
    args: impl IntoIterator<Item = OsString>,
) -> Result<Vec<OsString>, Failure> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let Some(path) = named(&args) else {
        return Ok(args);
    };
    let table = read(Path::new(&path))?;
    let verbs: Vec<String> = <crate::args::Cli as clap::CommandFactory>::command()
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    let at = args.iter().position(|a| verbs.iter().any(|v| *a == **v));
    let Some(at) = at else { return Ok(args) };
    let verb = args[at].to_string_lossy().into_owned();
    let mut flags = Vec::new();
    for (key, value) in &table {
        match value {
            toml::Value::Table(own) if *key == verb => {
                for (key, value) in own {
                    flag(key, value, &mut flags, &path)?;
                }
            }
            toml::Value::Table(_) if key == "recipe" || verbs.contains(key) => {}
            _ => flag(key, value, &mut flags, &path)?,
        }
    }
    args.splice(at + 1..=at, flags);
    Ok(args)
}

/// The config file's table.
pub(crate) fn read(path: &Path) -> Result<toml::Table, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::failed(format!("{}: {e}", path.display())))?;
    text.parse()
        .map_err(|e| Failure::usage(format!("{}: {e}", path.display())))
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

fn flag(
    key: &str,
    value: &toml::Value,
    flags: &mut Vec<OsString>,
    path: &OsString,
) -> Result<(), Failure> {
    let dashes = if key.len() == 1 { "-" } else { "--" };
    let name = format!("{dashes}{}", key.replace('_', "-"));
    let word = |value: &toml::Value| match value {
        toml::Value::String(s) => Some(s.clone()),
        toml::Value::Integer(i) => Some(i.to_string()),
        toml::Value::Float(f) => Some(f.to_string()),
        _ => None,
    };
    let values = match value {
        toml::Value::Boolean(false) => return Ok(()),
        toml::Value::Boolean(true) => {
            flags.push(name.into());
            return Ok(());
        }
        toml::Value::Array(items) => items.iter().map(word).collect::<Option<Vec<_>>>(),
        other => word(other).map(|word| vec![word]),
    };
    let values = values.ok_or_else(|| {
        let path = Path::new(path).display();
        Failure::usage(format!(
            "{path}: {key} must be a word, a number, true or false"
        ))
    })?;
    for value in values {
        flags.push(name.clone().into());
        flags.push(value.into());
    }
    Ok(())
}
