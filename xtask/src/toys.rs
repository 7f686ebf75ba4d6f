//! `cargo xtask toys`: that adding a method takes no more files than CONTRIBUTING.md says, and
//! that the program and the tests then know it.
//!
//! A toy is two files of `xtask/toys`: the source of a method, and the lines that name it to the
//! rest; one of a verb has the source of its flags as well. All toys are put into a copy of the source,
//! which is built, asked and tested.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::{Table, Value};

use crate::cargo::FEATURES;
use crate::data::Result;

/// The toys, and the files that each may touch at most, its own among them.
const TOYS: [(&str, usize); 9] = [
    ("learner", 3),
    ("pairs", 3),
    ("triplets", 3),
    ("graph", 3),
    ("propagation", 3),
    ("loss", 2),
    ("reader", 3),
    ("descriptor", 2),
    ("verb", 4),
];

/// Names to a user of those that `explain` knows.
const NAMES: [&str; 7] = [
    "toy-learner",
    "toy-pairs",
    "toy-triplets",
    "toy-graph",
    "toy-propagation",
    "toy-loss",
    "toy-descriptor",
];

/// Of the matrix of combinations only what has a toy in it; each must be in some.
const MATRIX: &str = "toy-learner,toy-pairs,toy-triplets,toy-graph,toy-propagation,toy-loss";

/// The tests that go through the lists in which a method is named: programs, and of the second
/// the parts.
const TESTS: [&[&str]; 2] = [
    &["--test", "propagate", "--test", "damage"],
    &[
        "--test", "networks", "--test", "studies", "--", "loss::", "matrix::",
    ],
];

/// Crates whose code is large and asked for little here: not optimised, they build in half the time. All others
/// stay as they were built by `check`.
const LESS: [&str; 5] = [
    "likewise-image",
    "likewise-nn",
    "likewise-study",
    "likewise-cli",
    "likewise-serve",
];

/// Whether every toy touches few files and is found by all that should find it.
pub(crate) fn toys() -> Result<bool> {
    let root = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    fs::create_dir_all(&target)?;
    let target = fs::canonicalize(target)?;
    let copy = target.join("toys");
    let mut files = Files::of(&root, &target)?;
    let mut few = true;
    for (toy, most) in TOYS {
        let touched = add(toy, &root, &mut files)?;
        few &= touched.len() <= most;
        println!("{toy}: {} files, at most {most}", touched.len());
        for file in &touched {
            println!("    {file}");
        }
    }
    rename(&mut files)?;
    files.write(&copy)?;
    let cargo = |arguments: &[&str]| {
        println!("> cargo {}, with the toys", arguments.join(" "));
        let mut command = Command::new("cargo");
        let less = LESS.map(|name| format!("--config=profile.dev.package.{name}.opt-level=0"));
        let command = command.args(less).args(arguments).current_dir(&copy);
        let command = command.env("LIKEWISE_MATRIX", MATRIX);
        Ok::<bool, std::io::Error>(command.env("CARGO_TARGET_DIR", &target).status()?.success())
    };
    let with = ["--quiet", "--workspace", "--features", FEATURES];
    if !cargo(&[&["build"], &with[..], &["--bin", PROGRAM]].concat())? {
        return Ok(false);
    }
    ask(&target.join("debug").join(PROGRAM))?;
    for tests in TESTS {
        if !cargo(&[&["test"], &with[..], tests].concat())? {
            return Ok(false);
        }
    }
    Ok(few)
}

/// The text of files, by their place in the repository.
struct Files(std::collections::BTreeMap<PathBuf, Vec<u8>>);

impl Files {
    /// All files that a build or a test reads.
    fn of(root: &Path, target: &Path) -> Result<Self> {
        let mut files = Self(std::collections::BTreeMap::new());
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                let place = path.strip_prefix(root)?.to_owned();
                // Built, fetched, or of git; but the settings of cargo count.
                let left_out = ["target", "data", ".git", ".ci"].map(Path::new);
                if path == target || left_out.contains(&place.as_path()) {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.0.insert(place, fs::read(path)?);
                }
            }
        }
        Ok(files)
    }

    /// Changes the text of a file.
    fn change(&mut self, file: &str, change: impl FnOnce(&str) -> Result<String>) -> Result<()> {
        let bytes = self.0.get_mut(Path::new(file));
        let bytes = bytes.ok_or_else(|| format!("there is no {file}"))?;
        let changed = change(std::str::from_utf8(bytes)?).map_err(|e| format!("{file}: {e}"))?;
        *bytes = changed.into_bytes();
        Ok(())
    }

    /// Makes `folder` hold these files and no others. What is there already stays as it is, so
    /// that it need not be built again.
    fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        for stale in Self::of(folder, folder)?.0.keys() {
            if !self.0.contains_key(stale) {
                fs::remove_file(folder.join(stale))?;
            }
        }
        for (place, bytes) in &self.0 {
            let path = folder.join(place);
            if fs::read(&path).is_ok_and(|old| old == *bytes) {
                continue;
            }
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, bytes)?;
        }
        Ok(())
    }
}

/// Adds a toy, and gives the files that it touches.
fn add(toy: &str, root: &Path, files: &mut Files) -> Result<BTreeSet<String>> {
    let folder = root.join("xtask/toys");
    let text = fs::read_to_string(folder.join(format!("{toy}.toml")))?;
    let table: Table = text.parse()?;
    let string = |table: &Table, key: &str| -> Result<String> {
        let value = table.get(key).and_then(Value::as_str).map(str::to_owned);
        value.ok_or_else(|| format!("{toy}.toml: {key} is missing").into())
    };
    let mut touched = BTreeSet::new();
    for (key, own) in [
        ("source", toy.to_owned()),
        ("flags", format!("{toy}_flags")),
    ] {
        if !table.contains_key(key) && key != "source" {
            continue;
        }
        let source = string(&table, key)?;
        let own = fs::read(folder.join(format!("{own}.rs")))?;
        if files.0.insert((&source).into(), own).is_some() {
            return Err(format!("{source} is there already").into());
        }
        touched.insert(source);
    }
    for insert in (table.get("insert").and_then(Value::as_array)).unwrap_or(&Vec::new()) {
        let insert = insert.as_table().ok_or("insert must be a list of tables")?;
        let (file, line) = (string(insert, "file")?, string(insert, "text")?);
        let before = insert.contains_key("before");
        let beside = string(insert, if before { "before" } else { "after" })?;
        files.change(&file, |text| put(text, &line, &beside, before))?;
        touched.insert(file);
    }
    Ok(touched)
}

/// `text` with a line before or after the one line that begins with `beside`.
fn put(text: &str, line: &str, beside: &str, before: bool) -> Result<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let is = |(place, line): (usize, &&str)| line.starts_with(beside).then_some(place);
    let found: Vec<usize> = lines.iter().enumerate().filter_map(is).collect();
    let [place] = found[..] else {
        return Err(format!("{} lines begin with {beside}", found.len()).into());
    };
    lines.insert(if before { place } else { place + 1 }, line);
    Ok(lines.join("\n") + "\n")
}

/// What the program is called in the copy.
const PROGRAM: &str = "likewise-with-toys";

/// Gives the packages of the copy another version and its program another name. What cargo builds
/// goes by version and name, not by place: without this, the copy and the real one would be taken
/// for each other.
fn rename(files: &mut Files) -> Result<()> {
    let once = |text: &str, from: &str, to: &str| match text.matches(from).count() {
        0 => Err(format!("it does not say {from}").into()),
        _ => Ok(text.replace(from, to)),
    };
    files.change("Cargo.toml", |text| {
        once(text, "\nversion = \"0.1.0\"", "\nversion = \"0.1.999\"")
    })?;
    files.change("crates/likewise-cli/tests/all/program.rs", |text| {
        once(text, "EXE_likewise\"", &format!("EXE_{PROGRAM}\""))
    })?;
    let own = format!("name = \"{PROGRAM}\"\npath");
    files.change("crates/likewise-cli/Cargo.toml", |text| {
        let text = once(text, "name = \"likewise\"\npath", &own)?;
        let run = format!("default-run = \"{PROGRAM}\"");
        once(&text, "default-run = \"likewise\"", &run)
    })
}

/// Asks the program for every toy by all the ways that a user has.
fn ask(program: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let run = |line: &str| {
        let mut command = Command::new(program);
        command
            .current_dir(folder.path())
            .args(line.split(' '))
            .output()
    };
    let say = &|line: &str| -> Result<String> {
        let output = run(line)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("likewise {line}: {said}").into());
        }
        Ok(String::from_utf8(output.stdout)?)
    };
    let refuse = |line: &str, why: &str| -> Result<()> {
        let output = run(line)?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(2) || !said.contains(why) {
            return Err(format!("likewise {line} is to be refused with \"{why}\": {said}").into());
        }
        Ok(())
    };
    let list = say("explain")?;
    for name in NAMES {
        if !list.lines().any(|line| line.starts_with(name)) {
            return Err(format!("likewise explain does not list {name}").into());
        }
        let text = say(&format!("explain {name}"))?;
        let words = format!("{} has to say of itself", name.trim_start_matches("toy-"));
        if !text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains(&words)
        {
            return Err(format!("likewise explain {name} does not print its comment").into());
        }
    }
    let data: String = (0..60).map(row).collect();
    fs::write(folder.path().join("x.toy"), format!("label a b c\n{data}"))?;
    fs::write(folder.path().join("all.toml"), RECIPE)?;
    let fit = "fit x.toy --labels-per-class 4 --draws 1 -q";
    say(&format!("{fit} --recipe toy-learner -o learner/"))?;
    say(&format!("{fit} --recipe toy-loss -o loss/"))?;
    say(&format!("{fit} --recipe all.toml -o all/"))?;
    let record = fs::read_to_string(folder.path().join("all/config.json"))?;
    if let Some(name) = ["toy-propagation", "toy-loss"]
        .iter()
        .find(|name| !record.contains(**name))
    {
        return Err(format!("the run by a recipe with {name} does not name it").into());
    }
    say("propagate x.toy --method toy-propagation --set strength=5 -o beliefs.npz -q")?;
    learn_without_classes(folder.path(), say, refuse)?;
    describe(folder.path(), say)?;
    speak(folder.path(), say)
}

/// Asks for the toys that learn without classes: each with what it needs, with labels and without; what
/// is missing, or is something else, is refused.
fn learn_without_classes(
    folder: &Path,
    say: impl Fn(&str) -> Result<String>,
    refuse: impl Fn(&str, &str) -> Result<()>,
) -> Result<()> {
    let bare: String = (0..60).map(|i| without_label(&row(i))).collect();
    fs::write(folder.join("bare.toy"), format!("a b c\n{bare}"))?;
    let lines = |head: &str, line: fn(usize) -> String| {
        let lines = (0..50).map(line);
        std::iter::once(head.to_owned())
            .chain(lines)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let pairs = lines("a,b,y", |i| format!("{i},{},1", i + 6));
    fs::write(folder.join("pairs.csv"), pairs)?;
    let head = "anchor,positive,negative";
    let triplets = lines(head, |i| format!("{i},{},{}", i + 6, i + 3));
    fs::write(folder.join("triplets.csv"), triplets)?;
    for kind in ["pairs", "triplets"] {
        for data in ["x.toy --labels-per-class 4 --draws 1", "bare.toy"] {
            let fit = format!("fit {data} -q --overwrite --recipe toy-{kind} -o {kind}/");
            say(&format!("{fit} --{kind} {kind}.csv"))?;
            has_no_row_of_labels(&folder.join(kind), &fit)?;
            refuse(&fit, &format!("learns from given {kind} alone"))?;
        }
    }
    // A triplet is two pairs, but pairs are no triplets.
    say("fit bare.toy -q --overwrite --recipe toy-pairs -o pairs/ --triplets triplets.csv")?;
    let wrong = "fit bare.toy -q --recipe toy-triplets -o refused/ --pairs pairs.csv";
    refuse(wrong, "not from given pairs")?;
    learn_from_graph(folder, say, refuse)
}

/// Asks for the toy that learns from a graph: with another graph it delivers something else, and labels only
/// measure it.
fn learn_from_graph(
    folder: &Path,
    say: impl Fn(&str) -> Result<String>,
    refuse: impl Fn(&str, &str) -> Result<()>,
) -> Result<()> {
    let wrong = "fit bare.toy -q --recipe toy-graph -o refused/ --pairs pairs.csv";
    refuse(wrong, "not from given pairs")?;
    let run = folder.join("graph");
    let fit = |data: &str, recipe: &str| -> Result<Vec<u8>> {
        say(&format!(
            "fit {data} -q --overwrite --recipe {recipe} -o graph/"
        ))?;
        Ok(fs::read(run.join("embeddings.npy"))?)
    };
    // Nothing chooses between what was learned and the start.
    let of_neighbors = |k: usize| {
        format!(
            "pseudo_labels = {{ kind = \"propagation\", graph = {{ k = {k} }} }}\n\
             learner = {{ kind = \"toy-graph\" }}\n\
             rounds = {{ epochs = 1, keep = \"last\" }}\n"
        )
    };
    let start = "base = \"toy-graph\"\nrounds = { epochs = 0 }\n";
    let recipes = [
        ("few.toml", of_neighbors(2)),
        ("many.toml", of_neighbors(9)),
        ("start.toml", start.to_owned()),
    ];
    for (file, recipe) in recipes {
        fs::write(folder.join(file), recipe)?;
    }
    let labeled = "x.toy --labels-per-class 4 --draws 1";
    fit(labeled, "toy-graph")?;
    has_no_row_of_labels(&run, "fit x.toy --recipe toy-graph")?;
    if fit(labeled, "few.toml")? == fit(labeled, "many.toml")? {
        return Err("toy-graph learns the same from two graphs".into());
    }
    if fit("bare.toy", "few.toml")? == fit("bare.toy", "many.toml")? {
        return Err("toy-graph learns the same from two graphs of items without labels".into());
    }
    if fit("bare.toy", "toy-graph")? == fit("bare.toy", "start.toml")? {
        return Err("toy-graph learns nothing from the graph of items without labels".into());
    }
    Ok(())
}

/// Fails where a run has measured what its labels give: its recipe learns from none.
fn has_no_row_of_labels(run: &Path, line: &str) -> Result<()> {
    let record = fs::read_to_string(run.join("metrics.json"))?;
    let mut rows = ["labels_only", "all_labels"].iter();
    match rows.find(|row| record.contains(&format!("\"{row}\""))) {
        Some(row) => Err(format!("likewise {line}: there is a row {row}").into()),
        None => Ok(()),
    }
}

/// A row of a table without its label, which stands first.
fn without_label(row: &str) -> String {
    row.split_once(' ')
        .map_or_else(String::new, |(_, rest)| rest.to_owned())
}

/// Asks for the toy of descriptors: a view of the features is of its name.
fn describe(folder: &Path, say: impl Fn(&str) -> Result<String>) -> Result<()> {
    fs::create_dir(folder.join("photos"))?;
    for i in 0..4_u8 {
        let image = image::RgbImage::from_fn(16, 16, |x, y| image::Rgb([x as u8 * i, y as u8, 40]));
        image.save(folder.join(format!("photos/{i}.png")))?;
    }
    say("describe photos --with lbp,toy-descriptor -o views.npz -q")?;
    let report = say("doctor views.npz --view toy-descriptor --json")?;
    if !report.contains("toy-descriptor") {
        return Err("likewise doctor says nothing of the view toy-descriptor".into());
    }
    Ok(())
}

/// Asks for the toy of verbs: by itself, in the help, in the completions and among the manual pages.
fn speak(folder: &Path, say: impl Fn(&str) -> Result<String>) -> Result<()> {
    let said = say("toy-verb spoken")?;
    if said.trim() != "spoken" {
        return Err(format!("likewise toy-verb spoken: {said}").into());
    }
    for line in ["--help", "toy-verb --help", "completions bash"] {
        if !say(line)?.contains("toy-verb") {
            return Err(format!("likewise {line} does not know toy-verb").into());
        }
    }
    say("man -o man")?;
    if !folder.join("man/likewise-toy-verb.1").exists() {
        return Err("likewise man has no page of toy-verb".into());
    }
    Ok(())
}

/// Chooses two of the toys where a recipe chooses.
const RECIPE: &str = "
pseudo_labels = { kind = \"propagation\", spread = { method = \"toy-propagation\", strength = 9 } }
learner = { loss = { name = \"toy-loss\", push = 0.5 } }
rounds = { epochs = 2 }
";

/// An item of one of two classes, every third without a label.
fn row(i: usize) -> String {
    let label = match i % 3 {
        0 => "",
        _ => ["left", "right"][i % 2],
    };
    let [a, b] = [i % 2, (i + 1) % 2].map(|side| side * 4 + i * 7 % 5);
    format!("{label} {a} {b} {}\n", i * 11 % 13)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_put_beside_the_one_that_is_named() {
        let text = "mod a;\nmod c;\n";
        assert_eq!(
            put(text, "mod b;", "mod a;", false).unwrap(),
            "mod a;\nmod b;\nmod c;\n"
        );
        assert_eq!(
            put(text, "mod b;", "mod c", true).unwrap(),
            "mod a;\nmod b;\nmod c;\n"
        );
        for (beside, count) in [("mod", 2), ("use", 0)] {
            let said = put(text, "mod b;", beside, true).unwrap_err().to_string();
            assert_eq!(said, format!("{count} lines begin with {beside}"));
        }
    }
}
