//! A run folder is a transaction: whatever happens to a fit, the folder holds one whole run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rand::RngExt;

use crate::program::{self, likewise, succeeds};

/// As [`program::command`], with nothing to be read from it.
fn silent(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = program::command(folder, arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// What a command that must fail with this code says.
#[track_caller]
fn fails(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = likewise(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

/// 240 digits of six classes, so that a fit takes moments.
fn data(at: &Path) {
    let whole = likewise_io::read(
        likewise_testdata::digits(),
        &likewise_io::ReadOptions::default(),
        &likewise::Monitor::silent(),
    );
    let whole = whole.unwrap();
    let rows: Vec<usize> = (0..1200).step_by(5).collect();
    let part = whole.select(&rows);
    likewise_io::write_npy(
        at.join("x.npy"),
        part.view(Some("kar")).unwrap().matrix.view(),
    )
    .unwrap();
    let labels = part.labels.as_ref().unwrap();
    let lines = labels.items().iter().enumerate();
    let lines = lines.map(|(i, label)| format!("{i},c{}\n", label.class().unwrap()));
    fs::write(
        at.join("l.csv"),
        format!("id,label\n{}", lines.collect::<String>()),
    )
    .unwrap();
    fs::write(
        at.join("one.csv"),
        "id,label,a\n0,x,1\n1,x,2\n2,x,3\n3,x,5\n",
    )
    .unwrap();
}

const FIT: [&str; 13] = [
    "fit",
    "x.npy",
    "--labels",
    "l.csv",
    "--labels-per-class",
    "5",
    "--draws",
    "1",
    "-k",
    "5",
    "-q",
    "-o",
    "run",
];

fn fit<'a>(epochs: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&FIT[..], &["--epochs", epochs], more].concat()
}

/// All files below, by their names.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let below = files(&path).into_iter();
            found.extend(below.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

/// Answers of a finished run, which differ between runs.
fn answers(at: &Path) -> String {
    let by_id = succeeds(at, &["search", "run", "--id", "7", "-k", "20", "--json"]);
    by_id + &succeeds(at, &["eval", "run", "--json"])
}

#[test]
fn a_finished_run_is_replaced_only_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    succeeds(at, &fit("1", &[]));
    fs::write(at.join("run/notes.txt"), "mine").unwrap();
    let before = files(&at.join("run"));
    let said = fails(at, &fit("2", &[]), 2);
    assert!(said.contains("--overwrite"), "{said}");
    // The same fit is done; another one is not gone on with.
    let again = succeeds(at, &fit("1", &["--resume", "--json"]));
    assert_eq!(again, succeeds(at, &["eval", "run", "--json"]));
    let said = fails(at, &fit("2", &["--resume"]), 2);
    assert!(said.contains("--overwrite"), "{said}");
    // A fit that fails, early or late, takes nothing with it.
    fails(
        at,
        &[
            "fit",
            "one.csv",
            "-o",
            "run",
            "--split",
            "item",
            "--overwrite",
        ],
        1,
    );
    fails(at, &["fit", "none.npy", "-o", "run", "--overwrite"], 1);
    assert_eq!(files(&at.join("run")), before);
    succeeds(at, &fit("2", &["--overwrite"]));
    let after = files(&at.join("run"));
    assert_ne!(after["model.safetensors"], before["model.safetensors"]);
    assert_eq!(after["notes.txt"], b"mine");
    assert!(
        !after
            .keys()
            .any(|name| name.starts_with("unfinished") || name.contains("lock"))
    );
}

#[test]
fn a_folder_of_others_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    fs::create_dir_all(at.join("run/checkpoints")).unwrap();
    fs::write(at.join("run/config.json"), "{\"model_type\": \"bert\"}").unwrap();
    fs::write(at.join("run/checkpoints/step-1.pt"), "weights").unwrap();
    fs::write(at.join("run/README.md"), "thesis").unwrap();
    let before = files(&at.join("run"));
    for more in [&[][..], &["--overwrite"], &["--resume"]] {
        let said = fails(at, &fit("1", more), 2);
        assert!(said.contains("something else than a run"), "{said}");
    }
    let said = fails(at, &["search", "run", "--id", "1"], 1);
    assert!(said.contains("not a run"), "{said}");
    assert_eq!(files(&at.join("run")), before);
    // Where nothing was, nothing stays of a fit that fails.
    fails(at, &["fit", "one.csv", "-o", "new", "--split", "item"], 1);
    assert!(!at.join("new").exists());
}

#[test]
fn a_killed_overwrite_leaves_the_old_run_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    let mut rng = likewise::seed::stream(5, "kills");
    let kills = std::env::var("LIKEWISE_KILLS");
    let kills: usize = kills.ok().and_then(|k| k.parse().ok()).unwrap_or(6);
    let mut runs = Vec::new();
    let mut whole = Duration::ZERO;
    for epochs in ["1", "3"] {
        let start = Instant::now();
        succeeds(at, &fit(epochs, &["--overwrite"]));
        whole = start.elapsed();
        runs.push(answers(at));
    }
    assert_ne!(runs[0], runs[1]);
    let mut held = 1;
    for _ in 0..kills {
        let next = 1 - held;
        let epochs = ["1", "3"][next];
        let mut child = silent(at, &fit(epochs, &["--overwrite"])).spawn().unwrap();
        std::thread::sleep(whole.mul_f64(1.2 * rng.random::<f64>()));
        let _ = child.kill();
        child.wait().unwrap();
        let answer = answers(at);
        let found = runs.iter().position(|run| *run == answer);
        held = found.expect("the folder answers from one of the runs");
    }
    // What is left of killed fits is in nobody's way.
    succeeds(at, &fit("1", &["--overwrite"]));
    assert_eq!(answers(at), runs[0]);
}

#[test]
fn a_move_that_was_cut_short_is_of_the_new_run_and_ends_with_the_next_writer() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    succeeds(at, &fit("1", &[]));
    let run = at.join("run");
    fs::rename(&run, at.join("old")).unwrap();
    succeeds(at, &fit("3", &[]));
    let new = answers(at);
    let whole = files(&run);
    let names: Vec<_> = fs::read_dir(&run)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    for moved in 0..names.len() {
        // So many of the new files have moved up, over those of the old run.
        let cut = at.join("cut");
        let _ = fs::remove_dir_all(&cut);
        fs::create_dir_all(cut.join("complete")).unwrap();
        let mut order: Vec<_> = names.iter().filter(|name| *name != "run.json").collect();
        order.push(names.iter().find(|name| *name == "run.json").unwrap());
        for (place, name) in order.into_iter().enumerate() {
            let (from, to) = if place < moved {
                (run.join(name), cut.join(name))
            } else {
                copy(&at.join("old").join(name), &cut.join(name));
                (run.join(name), cut.join("complete").join(name))
            };
            copy(&from, &to);
        }
        fs::rename(&run, at.join("kept")).unwrap();
        fs::rename(&cut, &run).unwrap();
        assert_eq!(answers(at), new, "after {moved} files");
        succeeds(at, &["index", "run", "--kind", "flat", "-q"]);
        let mut left = files(&run);
        left.remove("index/index.json");
        let mut wanted = whole.clone();
        wanted.remove("index/index.json");
        assert!(left == wanted, "after {moved} files: {:?}", left.keys());
        fs::remove_dir_all(&run).unwrap();
        fs::rename(at.join("kept"), &run).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    } else if from.exists() {
        fs::copy(from, to).unwrap();
    }
}

#[test]
fn parts_of_different_runs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    succeeds(at, &fit("1", &[]));
    copy(&at.join("run"), &at.join("other"));
    succeeds(at, &fit("3", &["--overwrite"]));
    for (part, verb) in [
        (
            "model.safetensors",
            &["embed", "run", "x.npy", "-o", "e.npy"][..],
        ),
        ("config.json", &["embed", "run", "x.npy", "-o", "e.npy"]),
        ("embeddings.npy", &["search", "run", "--id", "3"]),
        ("embeddings.npy", &["index", "run"]),
        ("metrics.json", &["eval", "run"]),
        ("config.json", &["eval", "run"]),
        ("embeddings.npy", &["suspects", "run"]),
        ("embeddings.npy", &["advise", "run", "--budget", "3"]),
    ] {
        let own = fs::read(at.join("run").join(part)).unwrap();
        fs::copy(at.join("other").join(part), at.join("run").join(part)).unwrap();
        let said = fails(at, verb, 1);
        assert!(
            said.contains(part) && said.contains("of another run"),
            "{said}"
        );
        fs::write(at.join("run").join(part), own).unwrap();
        succeeds(at, verb);
    }
    // What would stay mixed from then on.
    let own = fs::read(at.join("run/beliefs.npz")).unwrap();
    // Those of these two runs are the same.
    fs::write(at.join("run/beliefs.npz"), [&own[..], &[0]].concat()).unwrap();
    let said = fails(at, &["add", "run", "x.npy", "--prefix", "n-"], 1);
    assert!(
        said.contains("beliefs.npz") && said.contains("of another run"),
        "{said}"
    );
    fs::write(at.join("run/beliefs.npz"), own).unwrap();
    // Without what tells its files from others, anything could be mixed into it.
    let record = fs::read_to_string(at.join("run/run.json")).unwrap();
    let mut without: serde_json::Value = serde_json::from_str(&record).unwrap();
    without.as_object_mut().unwrap().remove("parts");
    fs::write(at.join("run/run.json"), without.to_string()).unwrap();
    assert!(fails(at, &["search", "run", "--id", "3"], 1).contains("`parts`"));
    fs::write(at.join("run/run.json"), record).unwrap();
    let kind = ["index", "run", "--kind", "hnsw", "-q"];
    succeeds(at, &kind);
    fs::remove_dir_all(at.join("other/index")).unwrap();
    copy(&at.join("run/index"), &at.join("other/index"));
    let said = fails(at, &["search", "other", "--query", "x.npy"], 1);
    assert!(said.contains("of other embeddings"), "{said}");
}

#[test]
fn the_file_of_the_settings_is_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    fs::write(at.join("s.npz"), "k = 5\n").unwrap();
    fs::write(at.join("own.npz"), "k = 5\nout = \"own.npz\"\n").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("s.npz", at.join("link.npz")).unwrap();
    let settings = |file| ["graph", "x.npy", "--config", file];
    for (file, out) in [
        ("s.npz", &["-o", "s.npz"][..]),
        ("s.npz", &["--out=./s.npz"]),
        ("s.npz", &["-os.npz"]),
        ("own.npz", &[]),
        #[cfg(unix)]
        ("s.npz", &["-o", "link.npz"]),
        #[cfg(unix)]
        ("link.npz", &["-o", "s.npz"]),
    ] {
        let said = fails(at, &[&settings(file)[..], out].concat(), 2);
        assert!(
            said.contains(file) && said.contains("nothing else"),
            "{said}"
        );
    }
    assert_eq!(fs::read_to_string(at.join("s.npz")).unwrap(), "k = 5\n");
    succeeds(at, &[&settings("s.npz")[..], &["-o", "g.npz"]].concat());
}

#[test]
fn no_output_goes_over_a_part_of_a_run_or_a_file_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    succeeds(at, &fit("1", &[]));
    let before = files(&at.join("run"));
    for part in [
        "embeddings.npy",
        "model.safetensors",
        "run.json",
        "index/index.json",
        "checkpoints",
        "models/1/model.safetensors",
    ] {
        let out = format!("run/{part}");
        let said = fails(at, &["embed", "run", "x.npy", "-o", &out], 2);
        assert!(said.contains("belongs to the run"), "{said}");
        fails(at, &["graph", "x.npy", "-k", "5", "-o", &out], 2);
    }
    fails(at, &["index", "x.npy", "-o", "run"], 2);
    // Nor over what is read.
    let inputs = ["x.npy", "l.csv"].map(|name| fs::read(at.join(name)).unwrap());
    let labels = ["--labels", "l.csv", "-k", "5", "-o"];
    for out in ["x.npy", "l.csv"] {
        fails(
            at,
            &[&["propagate", "x.npy"], &labels[..], &[out]].concat(),
            2,
        );
    }
    fails(at, &["graph", "x.npy", "-k", "5", "-o", "./x.npy"], 2);
    fails(at, &["embed", "run", "x.npy", "-o", "x.npy"], 2);
    let now = ["x.npy", "l.csv"].map(|name| fs::read(at.join(name)).unwrap());
    assert_eq!(now, inputs);
    fails(at, &["index", "x.npy", "-o", "run/index"], 2);
    assert_eq!(files(&at.join("run")), before);
    for file in ["index.json", "hnsw.usearch"] {
        fs::create_dir(at.join("other")).unwrap();
        fs::write(at.join("other").join(file), "mine").unwrap();
        let said = fails(at, &["index", "x.npy", "-o", "other"], 2);
        assert!(said.contains(file), "{said}");
        assert_eq!(fs::read(at.join("other").join(file)).unwrap(), b"mine");
        fs::remove_dir_all(at.join("other")).unwrap();
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("run/embeddings.npy", at.join("link.npy")).unwrap();
        symlink("run/index", at.join("idx")).unwrap();
        fails(at, &["embed", "run", "x.npy", "-o", "link.npy"], 2);
        let said = fails(at, &["index", "x.npy", "-o", "idx"], 2);
        assert!(said.contains("belongs to the run"), "{said}");
        assert_eq!(files(&at.join("run")), before);
    }
    succeeds(at, &["embed", "run", "x.npy", "-o", "run/new.npy"]);
    succeeds(at, &["index", "run", "-o", "elsewhere", "-q"]);
    // What is left of a run is no folder of images.
    fs::rename(at.join("run/run.json"), at.join("kept.json")).unwrap();
    let said = fails(at, &["eval", "run"], 1);
    assert!(said.contains("not a run"), "{said}");
    fs::rename(at.join("kept.json"), at.join("run/run.json")).unwrap();
    // A run that lost a part is not done.
    fs::remove_file(at.join("run/model.safetensors")).unwrap();
    let said = fails(at, &fit("1", &["--resume"]), 1);
    assert!(said.contains("model.safetensors"), "{said}");
}

#[test]
fn an_index_replaces_its_own_file_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    let file = at.join("i/hnsw.usearch");
    let index = |kind: &'static str| ["index", "x.npy", "-o", "i", "-q", "--kind", kind];
    succeeds(at, &index("flat"));
    fs::write(&file, "mine").unwrap();
    for kind in ["flat", "hnsw"] {
        let said = fails(at, &index(kind), 2);
        assert!(
            said.contains("hnsw.usearch") && said.contains("move it"),
            "{said}"
        );
        assert_eq!(fs::read(&file).unwrap(), b"mine");
    }
    fs::remove_file(&file).unwrap();
    succeeds(at, &index("hnsw"));
    let first = fs::read(&file).unwrap();
    // Killed between the new card and the new file: the old one is known all the same.
    succeeds(at, &index("flat"));
    assert!(!file.exists());
    fs::write(&file, first).unwrap();
    succeeds(at, &index("hnsw"));
    assert!(file.exists());
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_followed_to_a_new_folder_or_file() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    for (name, target) in [("i", "new index"), ("run", "new run"), ("g.npz", "graph")] {
        symlink(target, at.join(name)).unwrap();
    }
    succeeds(at, &["index", "x.npy", "-o", "i", "-q"]);
    assert!(at.join("new index/index.json").exists());
    succeeds(at, &["graph", "x.npy", "-k", "5", "-o", "g.npz", "-q"]);
    assert!(at.join("graph").is_file());
    succeeds(at, &fit("1", &[]));
    assert!(at.join("new run/run.json").exists() && at.join("run").is_symlink());
}

#[cfg(unix)]
#[test]
fn what_stands_in_the_standard_output_already_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    fs::write(at.join("log"), "before\n").unwrap();
    let log = fs::OpenOptions::new()
        .append(true)
        .open(at.join("log"))
        .unwrap();
    let graph = ["graph", "x.npy", "-k", "5", "-o", "/dev/stdout"];
    assert!(silent(at, &graph).stdout(log).status().unwrap().success());
    let log = fs::read(at.join("log")).unwrap();
    assert!(log.starts_with(b"before\nPK"), "the graph stands behind it");
}

#[test]
fn of_two_fits_into_one_folder_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    let first = silent(at, &fit("200", &[])).spawn();
    let mut first = first.unwrap();
    while !at.join("run/unfinished").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let said = fails(at, &fit("1", &["--overwrite"]), 1);
    assert!(said.contains("another process"), "{said}");
    assert!(said.contains(&first.id().to_string()), "{said}");
    let _ = first.kill();
    first.wait().unwrap();
    succeeds(at, &fit("1", &["--overwrite"]));
    answers(at);
}

#[cfg(unix)]
#[test]
fn a_fit_that_is_told_to_end_keeps_its_trainings() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    let mut child = silent(at, &fit("2000", &[]))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let kept = at.join("run/checkpoints");
    let holds = || fs::read_dir(&kept).is_ok_and(|mut entries| entries.next().is_some());
    while !holds() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("interrupted") && said.contains("--resume"),
        "{said}"
    );
    let said = fails(at, &fit("2000", &[]), 2);
    assert!(
        said.contains("--resume") && said.contains("--overwrite"),
        "{said}"
    );
    let said = fails(at, &["search", "run", "--id", "1"], 1);
    assert!(said.contains("not finished"), "{said}");
    let half = |folder: &Path| {
        files(folder)
            .into_keys()
            .find(|name| name.contains(".part"))
    };
    assert_eq!(half(&at.join("run")), None);
    // As a process leaves one that is killed while it writes.
    fs::write(at.join("run/unfinished/.embeddings.npy.1.part"), "half").unwrap();
    // A file that is not as it was written is named, and what to do about it.
    for file in fs::read_dir(&kept).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(path, bytes).unwrap();
    }
    let said = fails(at, &fit("2000", &["--resume"]), 1);
    assert!(
        said.starts_with("error: run/checkpoints")
            && said.contains("damaged")
            && said.contains("delete it"),
        "{said}"
    );
    assert_eq!(half(&at.join("run")), None);
    succeeds(at, &fit("1", &["--overwrite"]));
    assert!(!kept.exists());
}

/// A small disk of its own, which no other process sees and which goes with the shell.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_at_the_end_costs_nothing_but_room() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    let own = ["-rm", "sh", "-c"];
    let mounts = "mkdir small && mount -t tmpfs -o size=1m tmpfs small && rmdir small 2> /dev/null; mountpoint -q small";
    let tried = Command::new("unshare")
        .args(own)
        .arg(mounts)
        .current_dir(at)
        .output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        println!("skipped: this machine lets no process mount a disk of its own");
        return;
    }
    let program = program::command(at, &[]);
    let program = program.get_program().to_string_lossy();
    let fit = FIT
        .map(|word| if word == "run" { "small/run" } else { word })
        .join(" ");
    // Room for what one training keeps, and none for what is written of it at the end.
    let script = format!(
        "mount -t tmpfs -o size=700k tmpfs small
         {program} {fit} --epochs 2 2> said; echo $? > code
         find small -name '*.part' > parts; ls small/run/checkpoints > kept
         ls small/run/run.json > finished 2> /dev/null
         mount -o remount,size=20m small
         {program} {fit} --epochs 2 --resume 2> again; echo $? >> code
         {program} search small/run --id 1 > found; echo $? >> code"
    );
    let ended = Command::new("unshare")
        .args(own)
        .arg(script)
        .current_dir(at)
        .status();
    assert!(ended.unwrap().success());
    let read = |name: &str| fs::read_to_string(at.join(name)).unwrap();
    let (said, again) = (read("said"), read("again"));
    assert_eq!(read("code"), "1\n0\n0\n", "{said}{again}");
    assert!(
        said.contains("No space") && said.contains("--resume"),
        "{said}"
    );
    assert!(
        said.contains("unfinished/") && !read("kept").is_empty(),
        "{said}"
    );
    assert_eq!(
        (read("parts").as_str(), read("finished").as_str()),
        ("", ""),
        "{said}"
    );
    assert!(read("found").lines().count() > 5);
}

#[test]
fn other_files_of_a_folder_of_images_are_no_data() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for class in ["a", "b"] {
        fs::create_dir_all(at.join("photos").join(class)).unwrap();
        for i in 0..8_u8 {
            // A dark and a bright half, which differ by class.
            let shade = |x: u8| {
                if (x < 4) == (class == "a") {
                    20 + i
                } else {
                    200 + i
                }
            };
            let pixels: Vec<u8> = (0..8)
                .flat_map(|_| (0..8).flat_map(|x| [shade(x); 3]))
                .collect();
            let mut image = b"P6 8 8 255\n".to_vec();
            image.extend(pixels);
            fs::write(at.join(format!("photos/{class}/{i}.ppm")), image).unwrap();
        }
    }
    let fit = [
        "fit",
        "photos",
        "-k",
        "3",
        "--epochs",
        "1",
        "-q",
        "-o",
        "run",
        "--overwrite",
    ];
    succeeds(at, &fit);
    let digest = || {
        let record = fs::read(at.join("run/run.json")).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        record["data_sha256"].as_str().unwrap().to_owned()
    };
    let before = digest();
    fs::create_dir(at.join("photos/.hid")).unwrap();
    fs::write(at.join("photos/.hid/secret"), "x").unwrap();
    fs::write(at.join("photos/notes.txt"), "x").unwrap();
    succeeds(at, &fit);
    assert_eq!(digest(), before);
    fs::copy(at.join("photos/a/0.ppm"), at.join("photos/a/9.ppm")).unwrap();
    succeeds(at, &fit);
    assert_ne!(digest(), before);
}

#[test]
fn all_labels_are_learned_for_no_fewer_steps_than_the_known_ones() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    data(at);
    let fit = "fit x.npy --labels l.csv --recipe proxy-anchor --labels-per-class 3 --draws 1 --epochs 2 -q -o run";
    succeeds(at, &fit.split(' ').collect::<Vec<_>>());
    let steps = |of: &str| {
        let events = at.join("run/events").join(of).join("events.jsonl");
        let events = fs::read_to_string(events).unwrap();
        let steps = events.lines().filter(|line| line.contains("step/loss"));
        steps.count()
    };
    let (known, all) = (
        steps("draw-0-recipe-final"),
        steps("all-labels-labels-only-final"),
    );
    assert!(known > 0 && all >= known, "{known} {all}");
}
