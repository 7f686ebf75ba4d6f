//! What an experiment file says.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::method::{Row, Setting};
use crate::Result;
use crate::experiment::written::{Head, Lines, Paper, file, head_of, unique, written};

/// A file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    /// Question and answer in the index of results; nothing here reads them.
    #[serde(default, rename = "asks")]
    _asks: String,
    #[serde(default, rename = "answer")]
    _answer: String,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    paper: Option<Paper>,
    #[serde(default)]
    protocol: String,
    #[serde(default)]
    reading: String,
    #[serde(default)]
    seed: u64,
    labels_per_class: NonZeroUsize,
    draws: NonZeroUsize,
    #[serde(default)]
    first_draw: u64,
    k: NonZeroUsize,
    gamma: f64,
    #[serde(default)]
    compare: Vec<String>,
    data: Vec<Spanned<Data>>,
    method: Vec<Spanned<toml::Table>>,
    #[serde(default)]
    sweep: Vec<Spanned<Sweep>>,
    #[serde(default)]
    paper_row: Vec<PaperRow>,
}

/// What kind of experiment it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// A few labels of each class spread over a graph of all items; measured is how many of
    /// all items get their right class.
    #[default]
    Transduction,
}

/// One row as it is printed: method -> number.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PaperRow {
    pub(super) name: String,
    pub(super) values: BTreeMap<String, String>,
}

/// A parameter that takes several values, one after the other.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sweep {
    parameter: String,
    values: Vec<f64>,
    /// Names of the methods that it is varied in.
    methods: Vec<String>,
}

/// One data set of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    /// Name of the row.
    pub(super) name: String,
    /// File or folder, below one of the folders of data.
    #[serde(deserialize_with = "file")]
    pub(super) file: PathBuf,
    /// The feature matrix, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) view: Option<String>,
    /// File of the labels, where they stand elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) labels: Option<PathBuf>,
    /// Weights of the network that turns images into features; the file is then a folder or a
    /// .tar of images, squeezed into its square.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) encoder: Option<PathBuf>,
    /// Sets of a group stand in one table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<String>,
    #[serde(default)]
    pub(super) standardize: Standardize,
    /// The largest class over the smallest: classes are cut to sizes that fall
    /// geometrically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) imbalance: Option<f64>,
    /// Most items: the same share of each class, rounded down, but one at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_items: Option<NonZeroUsize>,
    #[serde(default)]
    pub(super) label_draw: LabelDraw,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) k: Option<NonZeroUsize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first_draw: Option<u64>,
}

/// What is done to the columns of the features.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Standardize {
    /// Nothing.
    #[default]
    None,
    /// Mean 0 and standard deviation 1, for features of different units.
    Columns,
}

/// How the items that show their label are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LabelDraw {
    /// So many of each class.
    #[default]
    Class,
    /// As many in all, from all items alike, but one of each class at least.
    Random,
}

/// One column: a method with all values of its sweeps.
#[derive(Debug, Clone)]
pub(super) struct Method {
    pub(super) name: String,
    /// One without a setting where nothing is swept.
    pub(super) rows: Vec<(Option<Setting>, Row)>,
}

/// An experiment that was read and checked.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(super) head: Head,
    pub(super) labels_per_class: NonZeroUsize,
    pub(super) draws: NonZeroUsize,
    pub(super) first_draw: u64,
    pub(super) k: NonZeroUsize,
    pub(super) gamma: f64,
    /// Methods that the others are compared with.
    pub(super) compare: Vec<String>,
    pub(super) data: Vec<Data>,
    pub(super) methods: Vec<Method>,
    pub(super) paper_rows: Vec<PaperRow>,
}

impl Experiment {
    /// Reads the file.
    ///
    /// Fails with the line of what is wrong: an unknown field, method or parameter, a name
    /// that stands twice, a sweep or a comparison of a method that is not there.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let (written, lines) = written::<Written>(path)?;
        written.check(likewise_io::digest(path)?, &lines)
    }

    /// The draws of a data set.
    pub(super) fn draws_of(&self, data: &Data, draws: usize) -> std::ops::Range<u64> {
        let first = data.first_draw.unwrap_or(self.first_draw);
        first..first + draws as u64
    }

    /// Neighbours an item in the graph of a data set.
    pub(super) fn k_of(&self, data: &Data) -> usize {
        data.k.unwrap_or(self.k).get()
    }

    /// The groups in the order of their first set.
    pub(super) fn groups(&self) -> Vec<Option<&str>> {
        let mut groups = Vec::new();
        for data in &self.data {
            let group = data.group.as_deref();
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }
}

impl Written {
    fn check(self, sha256: String, lines: &Lines) -> Result<Experiment> {
        let Kind::Transduction = self.kind;
        let data = lines.sets(self.data)?;
        let methods = methods(self.method, &self.sweep, lines)?;
        check_names(&methods, &self.sweep, &self.compare, lines)?;
        lines.needs("a data set and a method", &[data.len(), methods.len()])?;
        Ok(Experiment {
            head: head_of!(self, sha256),
            labels_per_class: self.labels_per_class,
            draws: self.draws,
            first_draw: self.first_draw,
            k: self.k,
            gamma: self.gamma,
            compare: self.compare,
            data,
            methods,
            paper_rows: self.paper_row,
        })
    }
}

/// The methods of a file, each with all values of its sweeps.
///
/// Fails with the line of a method or of a sweep that makes no sense, or of a name that stands twice.
fn methods(
    tables: Vec<Spanned<toml::Table>>,
    sweeps: &[Spanned<Sweep>],
    lines: &Lines,
) -> Result<Vec<Method>> {
    let mut methods: Vec<Method> = Vec::new();
    for table in tables {
        let start = table.span().start;
        let table = table.into_inner();
        let refuse = |what: String| lines.refuse(start, what);
        let (name, plain) = Row::parse(&table, None).map_err(refuse)?;
        let known = methods.iter().map(|m| m.name.as_str());
        unique("method", &name, known).map_err(refuse)?;
        let mut rows = swept(&name, &table, sweeps, lines)?;
        if rows.is_empty() {
            rows.push((None, plain));
        }
        methods.push(Method { name, rows });
    }
    Ok(methods)
}

/// The rows of a method, one for each value of a sweep that names it.
///
/// Fails with the line of a sweep that the method does not take.
fn swept(
    name: &String,
    table: &toml::Table,
    sweeps: &[Spanned<Sweep>],
    lines: &Lines,
) -> Result<Vec<(Option<Setting>, Row)>> {
    let mut rows = Vec::new();
    for sweep in sweeps {
        let swept = sweep.get_ref();
        if !swept.methods.contains(name) {
            continue;
        }
        for &value in &swept.values {
            let setting = Setting {
                parameter: swept.parameter.clone(),
                value,
            };
            let row = Row::parse(table, Some(&setting))
                .map_err(|what| lines.refuse(sweep.span().start, what))?;
            rows.push((Some(setting), row.1));
        }
    }
    Ok(rows)
}

/// Fails where a sweep or a comparison names a method that is not there.
fn check_names(
    methods: &[Method],
    sweeps: &[Spanned<Sweep>],
    compare: &[String],
    lines: &Lines,
) -> Result<()> {
    let unknown = |name: &&String| !methods.iter().any(|m| m.name == **name);
    for sweep in sweeps {
        if let Some(name) = sweep.get_ref().methods.iter().find(unknown) {
            let what = format!("there is no method \"{name}\" to sweep");
            return Err(lines.refuse(sweep.span().start, what));
        }
    }
    match compare.iter().find(unknown) {
        Some(name) => {
            let what = format!("compare: there is no method \"{name}\"");
            Err(lines.refuse(0, what))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "title = \"t\"\nlabels_per_class = 5\ndraws = 2\nk = 5\ngamma = 3\n";

    fn read(rest: &str) -> Result<Experiment, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("e.toml");
        std::fs::write(&path, format!("{HEAD}{rest}")).unwrap();
        Experiment::read(&path).map_err(|e| format!("{e:?}"))
    }

    const DATA: &str = "[[data]]\nname = \"d\"\nfile = \"d.npz\"\n";

    #[test]
    fn a_sweep_gives_one_row_a_value_and_leaves_the_others() {
        let e = read(&format!(
            "{DATA}[[method]]\nname = \"LP\"\nmethod = \"lgc\"\n[[method]]\nname = \"Ours\"\n\
             method = \"mixed\"\nlambda = 4\n[[sweep]]\nparameter = \"beta\"\n\
             values = [0.5, 1]\nmethods = [\"Ours\"]\n"
        ))
        .unwrap();
        let rows: Vec<usize> = e.methods.iter().map(|m| m.rows.len()).collect();
        assert_eq!(rows, [1, 2]);
        assert_eq!(e.draws_of(&e.data[0], 3), 0..3);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let method = "[[method]]\nname = \"LP\"\nmethod = \"lgc\"\n";
        for (rest, words) in [
            (
                format!("oops = 1\n{DATA}{method}"),
                ["line 6", "unknown field `oops`"],
            ),
            (
                format!("{DATA}size = 3\n{method}"),
                ["line 9", "unknown field `size`"],
            ),
            (
                format!("{DATA}{method}betta = 1\n"),
                [".toml:9", "unknown field `betta`"],
            ),
            (
                format!("{DATA}[[method]]\nname = \"a\"\nmethod = \"nosuch\"\n"),
                [".toml:9", "unknown variant `nosuch`"],
            ),
            (format!("{DATA}{DATA}{method}"), [".toml:9", "stands twice"]),
            (
                format!("{DATA}{method}{method}"),
                [".toml:12", "stands twice"],
            ),
            (
                format!("{DATA}imbalance = 0.5\n{method}"),
                [".toml:6", "imbalance = 0.5"],
            ),
            (
                format!("compare = [\"x\"]\n{DATA}{method}"),
                [".toml:1", "method \\\"x\\\""],
            ),
            (
                format!(
                    "{DATA}{method}[[sweep]]\nparameter = \"b\"\nvalues = [1]\nmethods = [\"LP\"]\n"
                ),
                [".toml:12", "unknown field `b`"],
            ),
            (
                format!(
                    "{DATA}{method}[[sweep]]\nparameter = \"b\"\nvalues = [1]\nmethods = [\"L\"]\n"
                ),
                [".toml:12", "no method \\\"L\\\""],
            ),
            (
                format!("{DATA}{method}negatives = \"oracle\"\n"),
                [".toml:9", "given to mixed, lpdr"],
            ),
        ] {
            let e = read(&rest).unwrap_err();
            assert!(words.iter().all(|w| e.contains(w)), "{words:?}: {e}");
        }
    }
}
