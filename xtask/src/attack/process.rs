//! One execution of the program under limits, and what is to be thought of its end.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::ask::ask;
use super::kind::Attack;
use crate::data::Result;

/// Bytes of an input that may well need more memory than an execution has.
const SMALL: usize = 64 << 20;

/// What an execution may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) time: Duration,
    /// Address space in KiB.
    pub(super) memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(20),
            memory: 6 << 20,
        }
    }
}

/// What is to be thought of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It answered, or refused with a message that says what it is about.
    Fine,
    /// It failed without the name of a file or parameter.
    Unnamed,
    /// It panicked, or ended with a code that the program does not have.
    Panic,
    /// It ran out of memory, and said so: a few bytes made it ask for more than there is.
    Memory,
    /// A signal ended it: memory was touched that is not there, or used up.
    Signal,
    /// It did not end in time, twice.
    Hang,
}

impl Verdict {
    pub(super) const ALL: [Self; 6] = [
        Self::Fine,
        Self::Unnamed,
        Self::Panic,
        Self::Memory,
        Self::Signal,
        Self::Hang,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Unnamed => "unnamed",
            Self::Panic => "panic",
            Self::Memory => "memory",
            Self::Signal => "signal",
            Self::Hang => "hang",
        }
    }

    pub(super) fn is_wrong(self) -> bool {
        matches!(self, Self::Panic | Self::Memory | Self::Signal | Self::Hang)
    }
}

/// How an execution ended.
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    /// What it said on standard error.
    pub(super) said: String,
}

/// Runs the program on the files of `attack`, which are written into `scene` and removed.
pub(super) fn execute(
    binary: &Path,
    attack: &Attack,
    scene: &Path,
    limits: Limits,
) -> Result<Outcome> {
    let once = || {
        attack.write(scene)?;
        let ended = run(binary, &attack.arguments, scene, limits);
        std::fs::remove_dir_all(scene)?;
        ended
    };
    let (mut status, mut said) = once()?;
    if status.is_none() {
        // The machine may have been busy with something else.
        (status, said) = once()?;
    }
    let names = attack.names();
    let bytes: usize = attack.files.values().map(Vec::len).sum();
    let mut verdict = verdict(status, &said, &names);
    if bytes > SMALL && verdict == Verdict::Memory {
        verdict = Verdict::Fine;
    }
    Ok(Outcome { verdict, said })
}

/// How the program ended in a folder, `None` where it did not, and its standard error.
pub(super) fn run(
    binary: &Path,
    arguments: &[String],
    folder: &Path,
    limits: Limits,
) -> Result<(Option<ExitStatus>, String)> {
    // Beside the folder: what the program finds in it is part of the input.
    let said = folder.with_extension("said");
    let told = folder.with_extension("told");
    // A server works until it is told to end, and is asked before.
    let serves = arguments.first().is_some_and(|verb| verb == "serve");
    let mut command = Command::new("sh");
    // The shell sets the limit and becomes the program.
    let script = r#"ulimit -c 0; ulimit -v "$1"; shift; exec "$@""#;
    command
        .args(["-c", script, "sh", &limits.memory.to_string()])
        .arg(binary)
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .env("LIKEWISE_CACHE", folder.join(".cache"))
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null())
        .stdout(if serves {
            File::create(&told)?.into()
        } else {
            Stdio::null()
        })
        .stderr(File::create(&said)?);
    let mut child = command.spawn()?;
    let answers = if serves {
        let answers = ask(&mut child, &told, &folder.join("requests"), limits.time);
        std::fs::remove_file(&told)?;
        answers.inspect_err(|_| drop(child.kill()))?
    } else {
        true
    };
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if !answers || began.elapsed() > limits.time {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text = String::from_utf8_lossy(&std::fs::read(&said)?).into_owned();
    std::fs::remove_file(&said)?;
    Ok((status, text))
}

/// `names` are those of the files; a message must hold one, or that of a parameter.
fn verdict(status: Option<ExitStatus>, said: &str, names: &[String]) -> Verdict {
    let Some(status) = status else {
        return Verdict::Hang;
    };
    match status.code() {
        // Also that of a thread whose end the program outlived.
        _ if said.contains("panicked at") => Verdict::Panic,
        Some(0 | 3) => Verdict::Fine,
        // By the allocator, whose message names what to lower; a reader says that the data need too much.
        Some(1)
            if said
                .lines()
                .any(|line| line.starts_with("error: out of memory")) =>
        {
            Verdict::Memory
        }
        Some(1 | 2) if names_something(said, names) => Verdict::Fine,
        Some(1 | 2) => Verdict::Unnamed,
        Some(code) if code < 128 => Verdict::Panic,
        _ => Verdict::Signal,
    }
}

fn names_something(said: &str, names: &[String]) -> bool {
    let file = names.iter().any(|name| said.contains(name.as_str()));
    // "train.learning_rate"
    let parameter = said.split_whitespace().any(|word| {
        let parts = word.split_once('.');
        parts.is_some_and(|(a, b)| {
            [a, b]
                .iter()
                .all(|s| s.starts_with(|c: char| c.is_lowercase()))
        })
    });
    // "k = 0: must be ...", "--k", "the column \"a\"".
    let said_so = said.contains(" = ") || said.contains("--") || said.matches('"').count() > 1;
    file || parameter || said_so
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn ends_are_told_apart() {
        let code = |code: i32, said: &str| {
            verdict(
                Some(ExitStatus::from_raw(code << 8)),
                said,
                &["x.npy".into()],
            )
        };
        assert_eq!(code(0, ""), Verdict::Fine);
        assert_eq!(code(3, "gate"), Verdict::Fine);
        assert_eq!(code(1, "error: x.npy: cut short"), Verdict::Fine);
        assert_eq!(code(2, "error: k = 0: must be at least 1"), Verdict::Fine);
        assert_eq!(
            code(1, "error: lower train.learning_rate (3)"),
            Verdict::Fine
        );
        assert_eq!(code(1, "error: too long, 1.5 of 7."), Verdict::Unnamed);
        let bomb = "warning: a\nerror: out of memory: 9 bytes more were needed (--dry-run tells)\n";
        assert_eq!(code(1, bomb), Verdict::Memory);
        assert!(Verdict::Memory.is_wrong());
        let said = "error: x.npy: the data need 9 GiB of memory, but 1 GiB are allowed";
        assert_eq!(code(1, said), Verdict::Fine);
        assert_eq!(
            code(101, "thread 'main' panicked at a.rs:1"),
            Verdict::Panic
        );
        assert_eq!(
            code(1, "thread '<unnamed>' panicked at x.npy"),
            Verdict::Panic
        );
        assert_eq!(code(7, "x.npy"), Verdict::Panic);
        assert_eq!(code(139, ""), Verdict::Signal);
        let segmentation = Some(ExitStatus::from_raw(11));
        assert_eq!(verdict(segmentation, "", &[]), Verdict::Signal);
        assert_eq!(verdict(None, "", &[]), Verdict::Hang);
    }

    #[test]
    fn limits_hold() {
        let folder = tempfile::tempdir().unwrap();
        let scene = folder.path().join("scene");
        std::fs::create_dir(&scene).unwrap();
        let sh = |script: &str, limits: Limits| {
            let arguments = ["-c".to_owned(), script.to_owned()];
            run(Path::new("/bin/sh"), &arguments, &scene, limits).unwrap()
        };
        let (status, said) = sh("ulimit -v; echo heard >&2; exit 3", Limits::default());
        assert_eq!(
            (status.unwrap().code(), said.as_str()),
            (Some(3), "heard\n")
        );
        let short = Limits {
            time: Duration::from_millis(50),
            ..Limits::default()
        };
        assert!(sh("exec sleep 10", short).0.is_none());
        let little = Limits {
            memory: 65536,
            ..Limits::default()
        };
        let (status, _) = sh(r#"test "$(ulimit -v)" = 65536"#, little);
        assert!(status.unwrap().success());
    }
}
