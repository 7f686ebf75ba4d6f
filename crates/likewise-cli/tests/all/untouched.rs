//! What a command finds in its way is left as it is, and what ends a command early leaves nothing half made.

use std::fs;
use std::path::Path;

use crate::bad_input::Scene;
use crate::program;

/// A command that fits in moments.
const FIT: [&str; 9] = [
    "fit", "good.npy", "--labels", "good.csv", "--recipe", "start", "-q", "-o", "run",
];

/// All names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn pages_of_the_manual_go_over_nothing_but_files() {
    let scene = Scene::new();
    assert!(scene.run(&FIT).status.success());
    let before = names(&scene.path("run"));
    scene.refuses(&["man", "-o", "run"], 2, &["run", "folder of a run"]);
    assert_eq!(names(&scene.path("run")), before);
    assert!(scene.run(&["man", "-o", "new/man"]).status.success());
    assert!(scene.run(&["man", "-o", "new/man"]).status.success());
    let pages = names(&scene.path("new/man"));
    assert!(
        pages.len() > 20 && pages.contains(&"likewise-fit.1".to_owned()),
        "{pages:?}"
    );
    let page = scene.path("new/man/likewise-fit.1");
    fs::remove_file(&page).unwrap();
    fs::create_dir(&page).unwrap();
    scene.refuses(&["man", "-o", "new/man"], 2, &["likewise-fit.1"]);
    #[cfg(unix)]
    {
        fs::remove_dir(&page).unwrap();
        scene.text("theirs", "dear reader");
        std::os::unix::fs::symlink(scene.path("theirs"), &page).unwrap();
        scene.refuses(&["man", "-o", "new/man"], 2, &["likewise-fit.1"]);
        assert_eq!(fs::read(scene.path("theirs")).unwrap(), b"dear reader");
        fs::remove_file(&page).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&page).status();
        if made.is_ok_and(|status| status.success()) {
            scene.refuses(&["man", "-o", "new/man"], 2, &["likewise-fit.1"]);
            fs::remove_file(&page).unwrap();
        }
    }
    fs::write(&page, "mine").unwrap();
    let mut rights = fs::metadata(&page).unwrap().permissions();
    rights.set_readonly(true);
    fs::set_permissions(&page, rights).unwrap();
    scene.refuses(&["man", "-o", "new/man"], 2, &["write-protected"]);
    assert_eq!(fs::read(&page).unwrap(), b"mine");
}

#[test]
fn a_limit_that_the_program_itself_passes_is_refused() {
    let scene = Scene::new();
    assert!(scene.run(&FIT).status.success());
    for command in [
        &["eval", "run"][..],
        &["export", "run", "--to", "onnx", "-o", "m.onnx"],
        &["man", "-o", "man"],
        &["explain", "mixed"],
    ] {
        let limited = [command, &["--max-memory", "1KiB"]].concat();
        scene.refuses(&limited, 1, &["the program itself", "--max-memory"]);
        assert!(!scene.path("man").exists());
    }
}

/// That it could be a flag is nothing that somebody who writes a number thinks of.
#[test]
fn a_number_below_zero_is_the_value_of_its_flag() {
    let scene = Scene::new();
    for (flag, rule) in [
        ("--gamma", "gamma = -1: must be"),
        ("-k", "must be a whole number"),
        ("--seed", "must be a whole number"),
        ("--threads", "must be a whole number"),
        ("--max-memory", "must be above 0"),
    ] {
        let graph = ["graph", "good.npy", flag, "-1", "-o", "g.npz"];
        scene.refuses(&graph, 2, &[rule]);
    }
    for flag in ["--mu", "--beta"] {
        let propagate = ["propagate", "good.npy", "--labels", "good.csv", "-k", "5"];
        let more = [flag, "-0.5", "-o", "b.npz"];
        scene.refuses(&[&propagate[..], &more].concat(), 2, &[flag, "-0.5"]);
    }
    let epochs = [&FIT[..], &["--epochs", "-3"]].concat();
    scene.refuses(&epochs, 2, &["-3", "must be a whole number"]);
    // Nor does it have to be one: ids may be numbers.
    let rows = (-20..20)
        .map(|i: i32| format!("{i},{},{},{i}", ["a", "b"][i.rem_euclid(2) as usize], i % 7));
    let rows: Vec<String> = rows.collect();
    scene.text("ids.csv", &format!("id,label,p,q\n{}\n", rows.join("\n")));
    let fit = FIT.map(|word| if word == "good.npy" { "ids.csv" } else { word });
    let fit = [&fit[..2], &fit[4..]].concat();
    let output = scene.run(&fit);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let found = scene.run(&["search", "run", "--id", "-1", "-k", "2"]);
    let said = String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success(), "{said}");
}

#[cfg(unix)]
mod standard_output {
    use std::fs::File;
    use std::process::{Command, Stdio};

    use super::*;

    /// What was typed decides what is written, not where it leads.
    #[test]
    fn sent_to_a_file_it_gets_what_a_pipe_gets() {
        let scene = Scene::new();
        for (line, begin) in [
            (
                "propagate good.npy --labels good.csv -k 5 -q -o /dev/stdout",
                &b"PK"[..],
            ),
            (
                "mine good.npy --labels good.csv --from labels --kind pairs -q -o /dev/stdout",
                b"a,b,",
            ),
            ("features good.npy -q -o /dev/stdout", b"\x93NUMPY"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let piped = scene.run(&words).stdout;
            let mut command = program::command(&scene.path(""), &words);
            let file = File::create(scene.path("out")).unwrap();
            let output = command.stdout(file).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{line}: {said}");
            let written = fs::read(scene.path("out")).unwrap();
            assert!(written.starts_with(begin), "{line}: {:?}", written.get(..8));
            assert!(piped.starts_with(begin), "{line}: {:?}", piped.get(..8));
        }
    }

    const FEATURES: [&str; 5] = ["features", "good.npy", "-q", "-o", "/dev/stdout"];

    /// A shell script in the folder of a scene, which calls the program `"$@"`.
    fn script(scene: &Scene, script: &str, arguments: &[&str]) -> Command {
        let at = scene.path("");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script, "sh"])
            .arg(program::command(&at, &[]).get_program())
            .args(arguments)
            .current_dir(at);
        shell
    }

    /// Written where others left off, so that nobody writes over another.
    #[test]
    fn what_others_write_before_and_after_stays() {
        let scene = Scene::new();
        let alone = scene.run(&FEATURES).stdout;
        std::os::unix::fs::symlink("/dev/stdout", scene.path("link.npy")).unwrap();
        for to in ["/dev/stdout", "/proc/self/fd/1", "link.npy"] {
            let line = [&FEATURES[..4], &[to]].concat();
            let group = r#"{ echo before; "$@"; echo after; } > out"#;
            assert!(script(&scene, group, &line).status().unwrap().success());
            let written = fs::read(scene.path("out")).unwrap();
            assert_eq!(
                written,
                [b"before\n", &alone[..], b"after\n"].concat(),
                "{to}"
            );
        }
        let line = [&FEATURES[..4], &["/dev/stderr"]].concat();
        let group = r#"{ echo before >&2; "$@"; echo after >&2; } 2> out"#;
        assert!(script(&scene, group, &line).status().unwrap().success());
        let written = fs::read(scene.path("out")).unwrap();
        assert!(written.starts_with(b"before\n\x93NUMPY") && written.ends_with(b"after\n"));
    }

    /// Where the system has no such files, or somebody has put another there.
    #[cfg(target_os = "linux")]
    #[test]
    fn its_names_are_known_without_the_system() {
        let scene = Scene::new();
        let bare = |then: &str| {
            let shell = script(
                &scene,
                &format!("mount -t tmpfs tmpfs /dev && {then}"),
                &FEATURES,
            );
            let mut own = Command::new("unshare");
            own.arg("-rm")
                .arg(shell.get_program())
                .args(shell.get_args());
            // The usual place for what is temporary may lie in /dev.
            own.current_dir(scene.path("")).env("TMPDIR", ".").output()
        };
        if !bare(r#"test -x "$1""#).is_ok_and(|tried| tried.status.success()) {
            println!("skipped: this machine lets no process mount a disk of its own over /dev");
            return;
        }
        let ended = bare(
            r#"{ "$@" > none && ls -A /dev > left && echo other > file && cp file /dev/stdout &&
               "$@" > some && cmp file /dev/stdout && cp good.npy in.npy &&
               "$1" features in.npy -o /dev/stdout >> in.npy; echo $? > code; cmp good.npy in.npy; }"#,
        );
        let ended = ended.unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{said}");
        assert!(said.contains("this is read"), "{said}");
        let read = |name: &str| fs::read(scene.path(name)).unwrap();
        for name in ["none", "some"] {
            assert!(read(name).starts_with(b"\x93NUMPY"), "{name}");
        }
        assert_eq!((read("left"), read("code")), (vec![], b"2\n".to_vec()));
    }

    #[test]
    fn a_table_of_classes_stands_there_alone() {
        let scene = Scene::new();
        for flag in ["--classes", "--confusion"] {
            let eval = ["eval", "good.npy", "--labels", "good.csv", "--no-nmi", "-q"];
            let output = scene.run(&[&eval[..], &[flag, "/dev/stdout"]].concat());
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && told.contains("R@1"), "{told}");
            let table = String::from_utf8(output.stdout).unwrap();
            let lines: Vec<&str> = table.lines().collect();
            assert!(lines[0].starts_with("class,"), "{table}");
            assert!(
                lines.len() > 2 && lines.iter().all(|line| line.contains(',')),
                "{table}"
            );
        }
    }

    #[test]
    fn it_is_no_folder() {
        let scene = Scene::new();
        for stream in ["/dev/stdout", "/dev/stderr"] {
            let index = ["index", "good.npy", "-o", stream];
            scene.refuses(&index, 2, &[stream, "this is a file; name a folder"]);
        }
        assert!(scene.run(&FIT).status.success());
        let export = ["export", "run", "--to", "huggingface", "-o", "/dev/stdout"];
        scene.refuses(&export, 2, &["this is a file; name a folder"]);
    }

    /// Its reader is waited for, also where who shares it has asked the system not to wait.
    #[test]
    fn one_that_does_not_wait_gets_all() {
        use std::io::Read;
        use std::os::{fd::OwnedFd, unix::net::UnixStream};
        use std::time::Duration;
        let scene = Scene::new();
        let wide = ndarray::Array2::from_shape_fn((1000, 600), |(i, j)| ((i * 7 + j) % 11) as f32);
        likewise_io::write_npy(scene.path("wide.npy"), wide.view()).unwrap();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let line = ["features", "wide.npy", "-q", "-o", "/dev/stdout"];
        let mut command = program::command(&scene.path(""), &line);
        let mut child = command.stdout(OwnedFd::from(theirs)).spawn().unwrap();
        // It holds its end until it is gone.
        drop(command);
        std::thread::sleep(Duration::from_millis(300));
        let mut bytes = Vec::new();
        ours.read_to_end(&mut bytes).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(bytes.len(), 128 + 4 * 1000 * 600);
    }

    /// Of what leads there, the ending says the form, as of any file.
    #[test]
    fn a_link_to_it_has_the_form_of_its_ending() {
        let scene = Scene::new();
        for (line, begin) in [
            (
                "propagate good.npy --labels good.csv -k 5 -q -o",
                [("csv", &b"id,"[..]), ("npz", b"PK"), ("parquet", b"PAR1")],
            ),
            (
                "mine good.npy --labels good.csv --from labels --kind pairs -q -o",
                [("csv", b"a,b,"), ("CSV", b"a,b,"), ("parquet", b"PAR1")],
            ),
        ] {
            for (ending, begin) in begin {
                let link = format!("to.{ending}");
                let _ = std::os::unix::fs::symlink("/dev/stdout", scene.path(&link));
                let words: Vec<&str> = line.split(' ').chain([link.as_str()]).collect();
                let output = scene.run(&words);
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
                assert!(output.stdout.starts_with(begin), "{words:?}");
            }
            std::os::unix::fs::symlink("/dev/stdout", scene.path("to.txt")).unwrap();
            let words: Vec<&str> = line.split(' ').chain(["to.txt"]).collect();
            scene.refuses(&words, 2, &["to.txt", ".parquet"]);
            // Before the work, and so before its labels are looked for.
            let words = words
                .iter()
                .map(|&word| if word == "good.csv" { "none.csv" } else { word });
            scene.refuses(&words.collect::<Vec<_>>(), 2, &["to.txt", ".parquet"]);
            fs::remove_file(scene.path("to.txt")).unwrap();
        }
    }

    #[test]
    fn that_nobody_reads_any_more_is_no_failure() {
        let scene = Scene::new();
        for line in [
            "graph good.npy -k 5 -o /dev/stdout",
            "features good.npy -o /dev/stdout",
            "doctor good.npy",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let mut command = program::command(&scene.path(""), &words);
            let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = piped.spawn().unwrap();
            drop(child.stdout.take());
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        }
    }

    #[test]
    fn a_full_one_is_named_and_the_run_is_told_of() {
        let scene = Scene::new();
        if !Path::new("/dev/full").exists() {
            println!("skipped: there is no /dev/full here");
            return;
        }
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let mut command = program::command(&scene.path(""), &FIT);
        let output = command.stdout(full()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in [
            "error: standard output: No space left",
            "the run is finished, in run",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert!(scene.path("run/run.json").exists());
        // What the reader of the command line prints is an output as any other.
        for asked in [
            &["--help"][..],
            &["fit", "-h"],
            &["help", "fit"],
            &["--version"],
        ] {
            let mut command = program::command(&scene.path(""), asked);
            let output = command.stdout(full()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{asked:?}: {said}");
            assert!(
                said.contains("error: standard output: No space left"),
                "{asked:?}: {said}"
            );
        }
    }
}

/// A small disk of its own, which no other process sees and which goes with the shell.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_or_cannot_be_written_is_left_as_it_was() {
    use std::process::Command;

    let scene = Scene::new();
    let at = scene.path("");
    let wide = ndarray::Array2::from_shape_fn((200, 600), |(i, j)| ((i * 7 + j * 3) % 11) as f32);
    likewise_io::write_npy(scene.path("wide.npy"), wide.view()).unwrap();
    fs::create_dir(scene.path("small")).unwrap();
    let program = program::command(&at, &[]);
    let program = program.get_program().to_string_lossy();
    let script = format!(
        "mount -t tmpfs -o size=64k tmpfs small || exit 9
         {program} index wide.npy -q -o small/new 2> full; echo $? > code
         ls -A small > left
         mount -o remount,ro small || exit 9
         {program} duplicates good.npy -q -o small/d.csv 2> fixed; echo $? >> code"
    );
    let ended = Command::new("unshare")
        .args(["-rm", "sh", "-c", &script])
        .current_dir(&at)
        .status();
    if !ended.is_ok_and(|ended| ended.success()) {
        println!("skipped: this machine lets no process mount a disk of its own");
        return;
    }
    let read = |name: &str| fs::read_to_string(scene.path(name)).unwrap();
    let (full, fixed) = (read("full"), read("fixed"));
    assert_eq!(read("code"), "1\n1\n", "{full}{fixed}");
    assert!(full.contains("make room"), "{full}");
    assert_eq!(read("left"), "", "{full}");
    assert!(
        fixed.contains("small/d.csv") && fixed.contains("name another place"),
        "{fixed}"
    );
    assert!(!fixed.contains(".part"), "{fixed}");
}

/// A terminal that is closed ends a fit as any other signal does.
#[cfg(all(target_os = "linux", feature = "networks"))]
#[test]
fn a_closed_terminal_ends_a_fit_well() {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    let scene = Scene::new();
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = own.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
    if ignored & 1 == 1 {
        println!("skipped: these tests were told to outlive their terminal");
        return;
    }
    let more = ["--recipe", "mixed-lp", "--epochs", "100000"];
    let mut command = program::command(&scene.path(""), &[&FIT[..], &more].concat());
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !scene.path("run/.lock").exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    let hung = Command::new("kill").args(["-HUP", &id]).status();
    assert!(hung.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    assert!(!scene.path("run/.lock").exists());
}
