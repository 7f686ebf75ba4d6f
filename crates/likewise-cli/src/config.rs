//! `--config run.toml`: flags from a file.
//!
//! Keys are the long names of flags, at the top for all verbs or in a table named after
//! one verb. They are put in front of the flags of the command line, where the last one
//! wins; `--json=false` there switches a flag off that takes no value. A `[recipe]` table is
//! read by `fit` itself.

use std::ffi::OsString;
use std::path::Path;

use likewise_study::text;

use crate::failure::Failure;

/// The command line with the flags of its config file, if it names one, put in.
pub(crate) fn arguments(
    args: impl IntoIterator<Item = OsString>,
) -> Result<Vec<OsString>, Failure> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let off = switched_off(&mut args);
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
            toml::Value::Table(_) if key == "recipe" || verbs.contains(key) => {}
            _ => flag(key, value, &mut flags, &path)?,
        }
    }
    // Last, so that what is said of this verb wins over what is said of all.
    if let Some(toml::Value::Table(own)) = table.get(&verb) {
        for (key, value) in own {
            flag(key, value, &mut flags, &path)?;
        }
    }
    flags.retain(|flag| !off.iter().any(|name| name == flag));
    args.splice(at + 1..=at, flags);
    Ok(args)
}

/// Takes `--flag=false` and `--flag=true` of flags without a value out of the command line:
/// the one means no flag, the other the flag. Returns the flags that are off, long and short.
fn switched_off(args: &mut Vec<OsString>) -> Vec<OsString> {
    let cli = <crate::args::Cli as clap::CommandFactory>::command();
    let verbs = || cli.get_subcommands();
    let verb = args
        .iter()
        .find_map(|a| verbs().find(|v| *a == *v.get_name()));
    let of_verb = verb.into_iter().flat_map(clap::Command::get_arguments);
    let switches: Vec<&clap::Arg> = cli
        .get_arguments()
        .chain(of_verb)
        .filter(|arg| matches!(arg.get_action(), clap::ArgAction::SetTrue))
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

/// The config file's table.
pub(crate) fn read(path: &Path) -> Result<toml::Table, Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
            let read = arguments(line.map(OsString::from)).unwrap();
            read.into_iter()
                .skip(2)
                .map(|a| a.into_string().unwrap())
                .collect()
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
