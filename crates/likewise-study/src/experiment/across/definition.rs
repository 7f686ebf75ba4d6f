//! What the file of such an experiment says.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use likewise::cross::Need;
use likewise_nn::cross::Learner;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::Result;
use crate::experiment::written::{Head, Lines, Paper, file, head_of, unique, written};
use crate::recipe::{PseudoLabels, Recipe};

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
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    paper: Option<Paper>,
    #[serde(default)]
    protocol: String,
    #[serde(default)]
    reading: String,
    #[serde(default)]
    seed: u64,
    draws: NonZeroUsize,
    data: Vec<Spanned<Data>>,
    learner: Vec<Spanned<toml::Table>>,
    source: Vec<Spanned<toml::Table>>,
    #[serde(default)]
    paper_row: Vec<PaperRow>,
}

/// Printed numbers of one learner: source -> one number for each data set of the group, in the order
/// of the file; NaN where none is printed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PaperRow {
    pub(super) group: String,
    pub(super) learner: String,
    pub(super) values: BTreeMap<String, Vec<f64>>,
}

/// One data set: two views or more, with a share of the labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    /// Name of the column.
    pub(super) name: String,
    /// Name of the table, for several shares of the labels of the same views.
    pub(super) group: String,
    /// File below one of the folders of data.
    #[serde(deserialize_with = "file")]
    pub(super) file: PathBuf,
    pub(super) views: Vec<String>,
    #[serde(default)]
    pub(super) split: Split,
    /// Share of the labels of each class of the training part that is shown; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) label_fraction: Option<f64>,
    /// Classes none of whose items has a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outside: Option<HeldOut>,
}

/// How items are divided.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Split {
    /// 75 % of each class to fit on, the others are the queries and are searched.
    #[default]
    Item,
    /// As the data say.
    Given,
    /// By lists of row numbers in the file: those to fit on, and the queries, which are also
    /// what is searched.
    Lists { fit: String, test: String },
}

/// Classes that are held out, other ones in every draw: their items are in the training part without a
/// label, and are neither queries nor searched.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeldOut {
    /// How many.
    pub(super) classes: usize,
    /// Their items for each unlabeled item of the other classes. Where they are too few, unlabeled items of
    /// the other classes are left out; where all have a label, none of theirs is there.
    pub(super) share: f64,
}

/// A learner with a source of pseudo-labels.
#[derive(Debug, Clone)]
pub(super) struct Method {
    /// Name of the learner, and of the source.
    pub(super) names: [String; 2],
    pub(super) learner: Learner,
    pub(super) recipe: Recipe,
}

impl Method {
    /// Whether it learns from the known labels alone.
    pub(super) fn by_labels_alone(&self) -> bool {
        self.recipe.pseudo_labels == PseudoLabels::None
    }

    /// Whether it leaves alone what a draw leaves out, which has none of the views: sources that look at
    /// all views side by side would see rows of zeros.
    pub(super) fn skips_items_without_views(&self) -> bool {
        self.by_labels_alone() || matches!(self.recipe.pseudo_labels, PseudoLabels::Lpf(_))
    }
}

/// An experiment that was read and checked.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(super) head: Head,
    pub(super) draws: usize,
    pub(super) data: Vec<Data>,
    /// Source by source, each with all learners.
    pub(super) methods: Vec<Method>,
    pub(super) learners: Vec<String>,
    /// The first one is what the others are compared with.
    pub(super) sources: Vec<String>,
    pub(super) paper_rows: Vec<PaperRow>,
}

impl Experiment {
    /// Reads the file.
    ///
    /// Fails with the line of what is wrong: an unknown field, learner or parameter, a name that stands
    /// twice, or a printed row of a group, learner or source that is not there.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let (written, lines) = written::<Written>(path)?;
        written.check(likewise_io::digest(path)?, &lines)
    }

    /// What is measured on a data set: by draw and source, the methods.
    pub(super) fn wanted(&self, data: &Data, draws: Option<usize>) -> Vec<(u64, Vec<&Method>)> {
        let hides = data.label_fraction.is_some();
        // Where nothing is drawn there is nothing to repeat.
        let drawn = hides || data.outside.is_some();
        let draws = if drawn {
            draws.unwrap_or(self.draws)
        } else {
            1
        };
        let of_draw = |draw: u64| {
            self.sources.iter().map(move |source| {
                let methods = self.methods.iter();
                let of_source = methods.filter(|m| m.names[1] == *source);
                // Where all have a label, pseudo-labels would be for nobody.
                let useful = of_source.filter(|m| hides || m.by_labels_alone());
                (draw, useful.collect::<Vec<_>>())
            })
        };
        let all = (0..draws as u64).flat_map(of_draw);
        all.filter(|(_, methods)| !methods.is_empty()).collect()
    }

    /// The data sets of a group.
    pub(super) fn of_group<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Data> {
        self.data.iter().filter(move |data| data.group == group)
    }
}

impl Written {
    fn check(self, sha256: String, lines: &Lines) -> Result<Experiment> {
        let data = lines.sets(self.data)?;
        let learners = learners(self.learner, lines)?;
        let (methods, sources) = methods(self.source, &learners, lines)?;
        let learners: Vec<String> = learners.into_iter().map(|(name, _)| name).collect();
        lines.needs(
            "a data set, a learner and a source",
            &[data.len(), methods.len()],
        )?;
        let experiment = Experiment {
            head: head_of!(self, sha256),
            draws: self.draws.get(),
            data,
            methods,
            learners,
            sources,
            paper_rows: self.paper_row,
        };
        let mut rows = experiment.paper_rows.iter();
        match rows.find_map(|row| experiment.wrong_row(row)) {
            Some(what) => Err(lines.refuse(0, what)),
            None => Ok(experiment),
        }
    }
}

impl Experiment {
    /// What is wrong with a printed row, if anything: a group, a learner or a source that is not
    /// there, or not one number for each data set.
    fn wrong_row(&self, row: &PaperRow) -> Option<String> {
        let sets = self.of_group(&row.group).count();
        let known = row
            .values
            .keys()
            .all(|source| self.sources.contains(source));
        let whole = row.values.values().all(|values| values.len() == sets);
        let right = sets > 0 && self.learners.contains(&row.learner) && known && whole;
        (!right).then(|| {
            format!(
                "paper_row of {} in {}: names a group, a learner and sources of this file, with one \
                 number for each of the {sets} data sets of the group",
                row.learner, row.group
            )
        })
    }
}

/// The learners of a file by name, each as a recipe without a source.
///
/// Fails with the line of one that makes no sense, or whose name stands twice.
fn learners(tables: Vec<Spanned<toml::Table>>, lines: &Lines) -> Result<Vec<(String, Recipe)>> {
    let mut learners: Vec<(String, Recipe)> = Vec::new();
    for table in tables {
        let start = table.span().start;
        let refuse = |what: String| lines.refuse(start, what);
        let (name, learner) = learner(table.into_inner()).map_err(refuse)?;
        let known = learners.iter().map(|(known, _)| known.as_str());
        unique("learner", &name, known).map_err(refuse)?;
        learners.push((name, Recipe::across(learner)));
    }
    Ok(learners)
}

/// Every source with every learner, source by source, and the names of the sources.
///
/// Fails with the line of a source that makes no sense, or whose name stands twice.
fn methods(
    tables: Vec<Spanned<toml::Table>>,
    learners: &[(String, Recipe)],
    lines: &Lines,
) -> Result<(Vec<Method>, Vec<String>)> {
    let (mut methods, mut sources) = (Vec::new(), Vec::<String>::new());
    for table in tables {
        let start = table.span().start;
        let refuse = |what: String| lines.refuse(start, what);
        let mut table = table.into_inner();
        let source = name(&mut table).map_err(refuse)?;
        unique("source", &source, sources.iter().map(String::as_str)).map_err(refuse)?;
        for (learner, recipe) in learners {
            let recipe = recipe.with(table.clone());
            let mut recipe = recipe.map_err(|e| refuse(e.to_string()))?;
            recipe.name = format!("{learner}, {source}");
            let own = recipe.learner.cross().copied();
            let own = own.ok_or_else(|| refuse("a source has pseudo_labels alone".into()))?;
            methods.push(Method {
                names: [learner.clone(), source.clone()],
                learner: own,
                recipe,
            });
        }
        sources.push(source);
    }
    Ok((methods, sources))
}

/// The name of a table, which is taken out.
fn name(table: &mut toml::Table) -> Result<String, String> {
    match table.remove("name") {
        Some(toml::Value::String(name)) => Ok(name),
        _ => Err("name is missing".into()),
    }
}

fn learner(mut table: toml::Table) -> Result<(String, Learner), String> {
    let name = name(&mut table)?;
    let learner: Learner = table
        .try_into()
        .map_err(|e: toml::de::Error| e.message().trim_end().to_owned())?;
    learner.validate().map_err(|e| e.to_string())?;
    if learner.need() == Need::Pairs {
        return Err(format!("{} looks at no label", learner.name()));
    }
    Ok((name, learner))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
title = "t"
kind = "across"
draws = 3
data = [
  { name = "all", group = "g", file = "d.npz", views = ["a", "b"] },
  { name = "10 %", group = "g", file = "d.npz", views = ["a", "b"], label_fraction = 0.1 },
]
learner = [{ name = "G", kind = "gsph", bits = 16 }, { name = "S", kind = "seph" }]
source = [{ name = "l" }, { name = "ss", pseudo_labels = "lgc" }]
paper_row = [{ group = "g", learner = "G", values = { l = [0.8, 0.7], ss = [nan, 0.75] } }]
"#;

    fn read(text: &str) -> Result<Experiment> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("e.toml");
        std::fs::write(&path, text).unwrap();
        Experiment::read(&path)
    }

    #[test]
    fn pseudo_labels_are_for_data_with_hidden_labels() {
        let experiment = read(WHOLE).unwrap();
        assert_eq!(experiment.methods.len(), 4);
        let of = |data: usize, draws| {
            let wanted = experiment.wanted(&experiment.data[data], draws);
            let each = wanted.into_iter();
            let each = each.map(|(draw, of)| (draw, of[0].names[1].clone(), of.len()));
            each.collect::<Vec<_>>()
        };
        assert_eq!(of(0, None), [(0, "l".into(), 2)]);
        let two = [(0, "l"), (0, "ss"), (1, "l"), (1, "ss")];
        let two = two.map(|(draw, source)| (draw, source.to_owned(), 2));
        assert_eq!(of(1, Some(2)), two);
        assert_eq!(of(1, None).len(), 6);
    }

    #[test]
    fn what_is_wrong_in_the_file_is_told_by_its_line() {
        for (from, to, said) in [
            ("draws = 3", "draws = 0", "e.toml"),
            ("kind = \"gsph\"", "kind = \"nosuch\"", "e.toml:9: "),
            ("bits = 16", "bits = 0", "gsph.bits = 0"),
            ("kind = \"seph\"", "kind = \"cca\"", "looks at no label"),
            ("\"lgc\"", "\"nosuch\"", "e.toml:10: "),
            ("name = \"S\"", "name = \"G\"", "stands twice"),
            ("name = \"10 %\"", "name = \"all\"", "stands twice"),
            (
                "views = [\"a\", \"b\"], label",
                "views = [\"a\"], label",
                "name two",
            ),
            (
                "label_fraction = 0.1",
                "label_fraction = 1.5",
                "label_fraction",
            ),
            ("l = [0.8, 0.7]", "l = [0.8]", "paper_row of G"),
            ("learner = \"G\"", "learner = \"H\"", "paper_row of H"),
            (
                "label_fraction = 0.1",
                "outside = { classes = 0, share = 1.0 }",
                "outside",
            ),
        ] {
            let text = WHOLE.replacen(from, to, 1);
            assert_ne!(text, WHOLE, "{from}");
            let wrong = read(&text).unwrap_err().to_string();
            assert!(wrong.contains(said), "{from} -> {to}: {wrong}");
        }
    }
}
