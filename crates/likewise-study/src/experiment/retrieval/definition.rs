//! What the file of such an experiment says.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use likewise::eval::split;
use likewise::{Labels, Part};
use likewise_nn::net::EncoderConfig;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::experiment::written::{Head, Lines, Paper, file, head_of, unique, written};
use crate::recipe::Recipe;
use crate::study::SplitKind;
use crate::{Error, Result, failed, usage};

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
    /// What all recipes have in common.
    #[serde(default)]
    recipe: toml::Table,
    data: Vec<Spanned<Data>>,
    method: Vec<Spanned<toml::Table>>,
    #[serde(default)]
    paper_row: Vec<PaperRow>,
}

/// A row as it is printed: metric -> number.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PaperRow {
    /// The data set that it stands beside.
    pub(super) data: String,
    pub(super) name: String,
    pub(super) values: BTreeMap<String, toml::Value>,
}

/// One data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    /// Name of the table.
    pub(super) name: String,
    /// File, folder, or .tar of a folder of images, below one of the folders of data.
    #[serde(deserialize_with = "file")]
    pub(super) file: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) labels: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) view: Option<String>,
    /// Whether several views stand beside each other as they are, in place of rows of length 1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) apart: bool,
    /// Whether items may have several labels, with `|` between them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) multi_label: bool,
    /// Weights that turn images into features, and that training starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) encoder: Option<PathBuf>,
    /// Side of the images that the encoder reads, where no recipe says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) side: Option<usize>,
    /// Whether whole images are squeezed into the square, where no recipe says it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) squeeze: bool,
    #[serde(default)]
    pub(super) split: Split,
    /// Labels that are shown of each class of the training part; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) labels_per_class: Option<NonZeroUsize>,
}

/// How items are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Split {
    /// As the data say.
    Given,
    /// 70 % of each class to fit on, the others to test.
    #[default]
    Item,
    /// Disjoint classes at random: 40 % to fit, 20 % to validate, 40 % to test.
    ZeroShot,
    /// The first classes to fit on, the next to validate, the others to test; in the order of
    /// their numbers, or of their names.
    Classes { fit: usize, validate: usize },
    /// Percentages of each class: to fit on, to validate, and queries; the others are searched.
    Roles {
        fit: usize,
        validate: usize,
        query: usize,
    },
}

impl Split {
    pub(super) fn kind(self) -> SplitKind {
        match self {
            Self::Given | Self::Classes { .. } | Self::Roles { .. } => SplitKind::Given,
            Self::Item => SplitKind::Item,
            Self::ZeroShot => SplitKind::ZeroShot,
        }
    }

    /// The part of every item, where the split says it.
    pub(super) fn parts(self, labels: &Labels, seed: u64) -> Result<Option<Vec<Part>>> {
        let (fit, validate) = match self {
            Self::Classes { fit, validate } => (fit, validate),
            Self::Roles {
                fit,
                validate,
                query,
            } => {
                let parts = split::by_role(labels, [fit, validate, query], seed);
                return Ok(Some(parts.map_err(|e| e.within("split"))?));
            }
            Self::Given | Self::Item | Self::ZeroShot => return Ok(None),
        };
        let classes = labels.classes();
        if fit == 0 || fit + validate >= classes.len() {
            return Err(failed(format!(
                "split: {fit} classes to fit and {validate} to validate leave none of {} to test",
                classes.len()
            )));
        }
        let number = |class: &usize| classes[*class].parse::<u64>();
        let mut order: Vec<usize> = (0..classes.len()).collect();
        if order.iter().all(|class| number(class).is_ok()) {
            order.sort_by_key(|class| number(class).unwrap_or_default());
        } else {
            order.sort_by_key(|&class| &classes[class]);
        }
        let mut part = vec![Part::Test; classes.len()];
        for (place, class) in order.into_iter().take(fit + validate).enumerate() {
            part[class] = if place < fit {
                Part::Train
            } else {
                Part::Validation
            };
        }
        // An item without a class takes part in nothing but the fit.
        let of = |label: &likewise::Label| label.class().map_or(Part::Train, |c| part[c as usize]);
        Ok(Some(labels.items().iter().map(of).collect()))
    }
}

/// What a method does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum How {
    /// Nothing.
    Raw,
    /// Whitening with the shrinkage that the labels choose.
    Whitened,
    /// It trains.
    Recipe(Box<Recipe>),
}

/// One row of the tables.
#[derive(Debug, Clone)]
pub(super) struct Method {
    pub(super) name: String,
    pub(super) how: How,
    /// Draws, where not as many as of the others.
    draws: Option<usize>,
    /// Data sets that it runs on; none: all.
    data: Option<Vec<String>>,
}

/// An experiment that was read and checked.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(super) head: Head,
    pub(super) draws: usize,
    pub(super) data: Vec<Data>,
    pub(super) methods: Vec<Method>,
    pub(super) paper_rows: Vec<PaperRow>,
}

impl Experiment {
    /// Reads the file.
    ///
    /// Fails with the line of what is wrong: an unknown field, recipe or parameter, a name
    /// that stands twice, a method or a printed row of a data set that is not there.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let (written, lines) = written::<Written>(path)?;
        written.check(likewise_io::digest(path)?, &lines)
    }

    /// The cells of a data set, draw by draw; `draws` is how many the user asks for.
    pub(super) fn wanted(&self, data: &Data, draws: Option<usize>) -> Vec<(u64, &Method)> {
        let methods: Vec<&Method> = self.of(data).collect();
        let draws_of = |m: &Method| draws.or(m.draws).unwrap_or(self.draws) as u64;
        let most = methods.iter().map(|m| draws_of(m)).max().unwrap_or(0);
        let of_draw = |draw: u64| {
            let methods = methods.iter().filter(move |m| draw < draws_of(m));
            methods.map(move |m| (draw, *m)).collect::<Vec<_>>()
        };
        (0..most).flat_map(of_draw).collect()
    }

    /// The methods that run on a data set.
    pub(super) fn of(&self, data: &Data) -> impl Iterator<Item = &Method> {
        let runs = |m: &&Method| m.data.as_ref().is_none_or(|on| on.contains(&data.name));
        self.methods.iter().filter(runs)
    }

    /// The network that the recipes of a data set train; fails where they read different
    /// images.
    pub(super) fn network(&self, data: &Data) -> Result<Option<&EncoderConfig>> {
        let mut found: Option<&EncoderConfig> = None;
        for method in self.of(data) {
            let How::Recipe(recipe) = &method.how else {
                continue;
            };
            let Some(network) = recipe.encoder() else {
                continue;
            };
            if found.is_some_and(|f| f.name != network.name || f.input() != network.input()) {
                return Err(usage(format!(
                    "{}: the method \"{}\" trains another network, or on other images, than \
                     those before it",
                    data.name, method.name
                )));
            }
            found = Some(network);
        }
        Ok(found)
    }
}

impl Written {
    fn check(self, sha256: String, lines: &Lines) -> Result<Experiment> {
        let data = lines.sets(self.data)?;
        let methods = methods(self.method, &self.recipe, &data, lines)?;
        let stray = |row: &&PaperRow| !data.iter().any(|data| data.name == row.data);
        if let Some(row) = self.paper_row.iter().find(stray) {
            let what = format!("paper_row: there is no data set \"{}\"", row.data);
            return Err(lines.refuse(0, what));
        }
        lines.needs("a data set and a method", &[data.len(), methods.len()])?;
        Ok(Experiment {
            head: head_of!(self, sha256),
            draws: self.draws.get(),
            data,
            methods,
            paper_rows: self.paper_row,
        })
    }
}

/// The methods of a file, over what all recipes have in common.
///
/// Fails with the line of a method that makes no sense, of a name that stands twice, or of a data set
/// that is not there; and where what is in common suits no recipe.
fn methods(
    tables: Vec<Spanned<toml::Table>>,
    common: &toml::Table,
    data: &[Data],
    lines: &Lines,
) -> Result<Vec<Method>> {
    let mut methods: Vec<Method> = Vec::new();
    let mut idle: Option<Passed> = None;
    for table in tables {
        let start = table.span().start;
        let refuse = |what: String| lines.refuse(start, what);
        let (method, passed) = method(table.into_inner(), common).map_err(refuse)?;
        idle = passed_by_all(idle, passed);
        let unknown = |on: &&String| !data.iter().any(|data| data.name == **on);
        if let Some(data) = method.data.iter().flatten().find(unknown) {
            return Err(refuse(format!("there is no data set \"{data}\"")));
        }
        let known = methods.iter().map(|m| m.name.as_str());
        unique("method", &method.name, known).map_err(refuse)?;
        methods.push(method);
    }
    match idle.iter().flatten().next() {
        Some((path, e)) => {
            let what = format!("recipe.{path} suits no method: {e}");
            Err(lines.refuse(0, what))
        }
        None => Ok(methods),
    }
}

/// Settings that were passed over, each with what is wrong with it.
type Passed = Vec<(String, Error)>;

/// What all share, and no recipe so far has taken; `None` before the first recipe.
fn passed_by_all(idle: Option<Passed>, passed: Option<Passed>) -> Option<Passed> {
    match (idle, passed) {
        (Some(mut idle), Some(passed)) => {
            idle.retain(|(path, _)| passed.iter().any(|(other, _)| other == path));
            Some(idle)
        }
        (idle, passed) => idle.or(passed),
    }
}

/// A method from its table, over what all recipes have in common; and what of that its recipe,
/// if it has one, does not take.
fn method(
    mut table: toml::Table,
    common: &toml::Table,
) -> Result<(Method, Option<Passed>), String> {
    let Some(toml::Value::String(name)) = table.remove("name") else {
        return Err("a method needs a name in quotes".into());
    };
    let within = |e: &dyn std::fmt::Display| format!("method \"{name}\": {e}");
    let mut take = |key: &str| table.remove(key);
    let draws = take("draws").map(NonZeroUsize::deserialize).transpose();
    let draws = draws.map_err(|e| within(&e.message()))?;
    let data = take("data").map(Vec::deserialize).transpose();
    let data = data.map_err(|e| within(&e.message()))?;
    let baseline = take("baseline");
    let mut passed = None;
    let how = match baseline.as_ref().map(toml::Value::as_str) {
        None => {
            let base = match take("base") {
                None => Recipe::default(),
                Some(toml::Value::String(base)) => Recipe::named(&base).map_err(|e| within(&e))?,
                Some(other) => return Err(within(&format!("base = {other}: name a recipe"))),
            };
            // Its own kinds first, so that what is shared finds its seat among them; and again
            // last, since what is its own counts.
            let (own, _) = base.with_shared(&table).map_err(|e| within(&e))?;
            let (shared, idle) = own.with_shared(common).map_err(|e| within(&e))?;
            let mut recipe = shared.with(table).map_err(|e| within(&e))?;
            passed = Some(idle);
            recipe.name.clone_from(&name);
            How::Recipe(Box::new(recipe))
        }
        Some(_) if !table.is_empty() => {
            return Err(within(
                &"a baseline is not trained; leave its other fields out",
            ));
        }
        Some(Some("raw")) => How::Raw,
        Some(Some("whitened")) => How::Whitened,
        Some(_) => return Err(within(&"baseline is \"raw\" or \"whitened\"")),
    };
    let method = Method {
        name,
        how,
        draws: draws.map(NonZeroUsize::get),
        data,
    };
    Ok((method, passed))
}

#[cfg(test)]
mod tests {
    use Part::{Test, Train, Validation};

    use super::*;

    fn read(rest: &str) -> Result<Experiment, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("e.toml");
        let head = "title = \"t\"\nkind = \"retrieval\"\ndraws = 3\n";
        std::fs::write(&path, format!("{head}{rest}")).unwrap();
        Experiment::read(&path).map_err(|e| format!("{e:?}"))
    }

    const DATA: &str = "[[data]]\nname = \"d\"\nfile = \"d.npz\"\n";

    #[test]
    fn methods_go_on_from_their_base_and_from_what_all_share() {
        let e = read(&format!(
            "recipe = {{ rounds.epochs = 4, learner.train.batch = 7 }}\n{DATA}\
             [[method]]\nname = \"Raw\"\nbaseline = \"raw\"\n\
             [[method]]\nname = \"T\"\nbase = \"triplet\"\nlearner.train.batch = 9\ndraws = 1\n\
             [[method]]\nname = \"R\"\nbase = \"rca\"\ndraws = 1\n"
        ))
        .unwrap();
        let How::Recipe(recipe) = &e.methods[1].how else {
            panic!("a recipe");
        };
        let gradient = recipe.learner.gradient().unwrap();
        assert_eq!((recipe.rounds.epochs, gradient.train.batch), (4, 9));
        assert_eq!(gradient.loss.title(), "triplet");
        assert_eq!(recipe.name, "T");
        let wanted = |draws| {
            let cells = e.wanted(&e.data[0], draws);
            let named = cells.into_iter().map(|(draw, m)| (draw, m.name.clone()));
            named.collect::<Vec<_>>()
        };
        let raw = |draw| (draw, "Raw".to_owned());
        let (t, r) = ((0, "T".into()), (0, "R".into()));
        assert_eq!(wanted(None), [raw(0), t, r, raw(1), raw(2)]);
        assert_eq!(wanted(Some(1)).len(), 3);
    }

    #[test]
    fn what_all_share_need_not_suit_every_recipe_but_its_own_fields_must() {
        let read = |own: &str| {
            read(&format!(
                "recipe = {{ pseudo_labels.every = 7, rounds.epochs = 4 }}\n{DATA}\
                 [[method]]\nname = \"a\"\nbase = \"affinity-triplet\"\n\
                 [[method]]\nname = \"p\"\nbase = \"mixed-lp-paper\"\n{own}"
            ))
        };
        let said = read("").unwrap_err();
        assert!(said.contains("rounds.epochs = 4: must be above"), "{said}");
        assert!(read("rounds = { epochs = 25 }\n").is_ok());
        let said = read("rounds.epochs = 25\npseudo_labels.every = 8\n").unwrap_err();
        assert!(said.contains("every"), "{said}");
        let nobody = format!(
            "recipe = {{ pseudo_labels.every = 7 }}\n{DATA}\
             [[method]]\nname = \"r\"\nbase = \"rca\"\n"
        );
        let said = super::tests::read(&nobody).unwrap_err();
        assert!(
            said.contains("recipe.pseudo_labels.every suits no method"),
            "{said}"
        );
    }

    #[test]
    fn every_experiment_of_this_repository_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut read = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            if crate::experiment::kind(&text).as_deref() != Some("retrieval") {
                continue;
            }
            let experiment = Experiment::read(&path).unwrap_or_else(|e| panic!("{e:?}"));
            read += 1;
            for method in &experiment.methods {
                let How::Recipe(recipe) = &method.how else {
                    continue;
                };
                // The method of the paper needs its second stage, and its 64 dimensions.
                let labeled = recipe.pseudo_labels.labeled_epochs();
                if labeled > 0 && recipe.encoder().is_none() {
                    assert!(recipe.rounds.epochs > labeled);
                    assert_eq!(recipe.start.rank, 64, "{}", method.name);
                }
            }
        }
        assert!(read > 3);
    }

    #[test]
    fn classes_are_divided_in_their_order() {
        let split = Split::Classes {
            fit: 2,
            validate: 1,
        };
        let numbers = Labels::parse(["10", "9", "2", "100", ""]);
        let parts = split.parts(&numbers, 0).unwrap().unwrap();
        assert_eq!(parts, [Validation, Train, Train, Test, Train]);
        let words = Labels::parse(["d", "b", "a", "c"]);
        let parts = split.parts(&words, 0).unwrap().unwrap();
        assert_eq!(parts, [Test, Train, Train, Validation]);
        assert!(split.parts(&Labels::parse(["a", "b", "c"]), 0).is_err());
        let ten = Labels::from_integers((0..20).map(|i| i % 2));
        let roles = |fit| Split::Roles {
            fit,
            validate: 10,
            query: 10,
        };
        let parts = roles(50).parts(&ten, 3).unwrap().unwrap();
        let count = |part| parts.iter().filter(|&&p| p == part).count();
        let counts = [Train, Validation, Part::Query, Part::Gallery].map(count);
        assert_eq!(counts, [10, 2, 2, 6]);
        assert_ne!(roles(50).parts(&ten, 4).unwrap().unwrap(), parts);
        assert!(roles(80).parts(&ten, 3).is_err());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let method = "[[method]]\nname = \"T\"\nbase = \"triplet\"\n";
        for (rest, words) in [
            (
                format!("oops = 1\n{DATA}{method}"),
                ["line 4", "unknown field `oops`"],
            ),
            (
                format!("[[data]]\nname = \"d\"\nfile = \"\"\n{method}"),
                ["line 6", "file: must be the name"],
            ),
            (
                format!("{DATA}{method}lose = 1\n"),
                [".toml:7", "unknown field `lose`"],
            ),
            (
                format!("{DATA}[[method]]\nname = \"a\"\nbase = \"nosuch\"\n"),
                [".toml:7", "nosuch"],
            ),
            (format!("{DATA}{DATA}{method}"), [".toml:7", "stands twice"]),
            (
                format!("{DATA}{method}{method}"),
                [".toml:10", "stands twice"],
            ),
            (
                format!("{DATA}{method}data = [\"x\"]\n"),
                [".toml:7", "no data set"],
            ),
            (
                format!("{DATA}[[method]]\nname = \"a\"\nbaseline = \"cold\"\n"),
                [".toml:7", "raw"],
            ),
            (
                format!("{DATA}{method}[[paper_row]]\ndata = \"x\"\nname = \"r\"\nvalues = {{}}\n"),
                [".toml:1", "no data set"],
            ),
        ] {
            let e = read(&rest).unwrap_err();
            assert!(words.iter().all(|w| e.contains(w)), "{words:?}: {e}");
        }
    }
}
