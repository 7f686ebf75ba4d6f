//! Recipes as TOML: a base, and what differs from it.

use std::path::Path;

use likewise::graph::Symmetrize;
use likewise::propagate::Method;
use likewise_nn::net::EmbeddingConfig;

use super::{PseudoLabels, Recipe, Residual};
use crate::{Error, Result};

/// Longest text of a recipe, bytes.
const MOST_TEXT: u64 = 16 << 20;

impl Recipe {
    /// The recipe in a TOML file: the fields of a [`Recipe`], of which `base` names the recipe
    /// that gives all others (`mixed-lp` if it is absent). Its name is that of the file unless
    /// it says another.
    ///
    /// ```toml
    /// base = "affinity-triplet"
    /// pseudo_labels = "propagation"
    /// propagation = { method = "lgc" }
    /// loss = { name = "contextual" }
    /// head = { residual = { kind = "mlp", hidden = 128 }, keep = 0.0 }
    /// ```
    ///
    /// Fails on a file that cannot be read, and on unknown or wrong fields.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = likewise_io::read_text(path, MOST_TEXT)
            .map_err(|e| Error::data(format!("{e}; give a recipe's name or file")).placed())?;
        let mut recipe = Self::from_toml(&text).map_err(|e| e.within(shown))?;
        // What differs from a preset must not go by its name in a report.
        if let (false, Some(stem)) = (named(&text), path.file_stem()) {
            recipe.name = stem.to_string_lossy().into_owned();
        }
        Ok(recipe)
    }

    /// As [`read`](Self::read), from the text of the file.
    pub fn from_toml(text: &str) -> Result<Self> {
        let wrong = |e: &dyn std::fmt::Display| Error::data(on_one_line(e));
        let mut table: toml::Table = text.parse().map_err(|e: toml::de::Error| wrong(&e))?;
        let base = match table.remove("base") {
            None => Self::default(),
            Some(toml::Value::String(name)) => Self::named(&name)?,
            Some(other) => return Err(wrong(&format!("base = {other}: must be a recipe's name"))),
        };
        base.with(table)
    }

    /// This recipe with the fields of a table in place of its own. A table of another kind
    /// (`name`, `kind` or `method`) replaces the whole of what it stands for. A kind alone will
    /// do where its settings have defaults: `loss = "triplet"`, `head = "mlp"`, and
    /// `pseudo_labels = "lgc"`, which is propagation by that method.
    ///
    /// Labels that are made to go along mutual neighbours (`dssml`) get a graph of these, unless
    /// the table says another `graph.symmetrize`.
    ///
    /// Fails on unknown and wrong fields, and on those that are changed without any effect.
    pub fn with(&self, fields: toml::Table) -> Result<Self> {
        self.changed(fields, true)
    }

    /// As [`with`](Self::with), of a table that is given to several recipes: fields without an
    /// effect in this one are passed over, and nothing is [validated](Self::validate), since
    /// what is this one's own is still to come.
    pub fn with_shared(&self, fields: toml::Table) -> Result<Self> {
        self.changed(fields, false)
    }

    fn changed(&self, fields: toml::Table, strict: bool) -> Result<Self> {
        let wrong = |e: &dyn std::fmt::Display| Error::data(on_one_line(e));
        let own = toml::Table::try_from(self).map_err(|e| wrong(&e))?;
        let mut whole = own.clone();
        let fields = spelled_out(fields)?;
        let says_graph = at(&fields, "graph.symmetrize").is_some();
        merge(&mut whole, fields);
        let mut recipe: Self =
            (whole.clone().try_into()).map_err(|e: toml::de::Error| wrong(&e))?;
        let read = toml::Table::try_from(&recipe).map_err(|e| wrong(&e))?;
        only_known(&whole, &read, "")?;
        let along_mutual = |of: &Self| matches!(of.propagation, Method::Dssml(_));
        if along_mutual(&recipe) && !along_mutual(self) && !says_graph {
            recipe.graph = recipe.graph.symmetrize(Symmetrize::Mutual);
        }
        if strict {
            recipe.validate()?;
            recipe.refuse_idle(&|path| at(&own, path) != at(&read, path))?;
        }
        Ok(recipe)
    }

    /// Fails where a field was `changed` that has no effect in this recipe.
    fn refuse_idle(&self, changed: &dyn Fn(&str) -> bool) -> Result<()> {
        let mut rules: Vec<(&[&str], String)> = Vec::new();
        let source = match self.pseudo_labels {
            PseudoLabels::None => "none",
            PseudoLabels::Propagation => "propagation",
            PseudoLabels::Affinity => "affinity",
            PseudoLabels::Oracle => "oracle",
        };
        let of_source = format!("with pseudo_labels = \"{source}\"");
        if self.pseudo_labels != PseudoLabels::Affinity {
            rules.push((&["affinity"], of_source.clone()));
        }
        if matches!(
            self.pseudo_labels,
            PseudoLabels::None | PseudoLabels::Oracle
        ) {
            let believed: &[&str] = &[
                "graph_on",
                "train.confidence",
                "train.confidence_power",
                "train.class_weights",
            ];
            rules.push((believed, of_source.clone()));
        }
        if self.pseudo_labels == PseudoLabels::None {
            rules.push((&["train.labeled_epochs"], of_source.clone()));
        }
        let mapped = matches!(self.head.residual, Residual::Orthogonal { .. });
        if !mapped {
            let why = "without head.residual.kind = \"orthogonal\"".to_owned();
            rules.push((&["train.map"], why));
        }
        let tuples = self.loss.proxies_per_class() == 0;
        let triplets = tuples && self.pseudo_labels == PseudoLabels::Affinity;
        if !tuples {
            let why = format!("with the loss {}, which has proxies", self.loss.name());
            rules.push((&["train.memory"], why));
        } else if triplets {
            let why = "beside the triplets of pseudo_labels = \"affinity\"".to_owned();
            rules.push((&["train.memory", "miner"], why));
        } else if self.miner.is_some() {
            rules.push((&["train.memory"], "beside a miner".into()));
        }
        match self.encoder.as_ref().map(|encoder| encoder.head) {
            None => {
                let of_encoder: &[&str] =
                    &["train.backbone_factor", "train.warm_up", "train.augment"];
                rules.push((of_encoder, "without an encoder".into()));
            }
            Some(head) => {
                let why = "with an encoder, which has layers of its own".to_owned();
                rules.push((&["head.width"], why.clone()));
                // A map that goes away is a change.
                if !mapped && !changed("head.residual.kind") {
                    rules.push((&["head.residual"], why.clone()));
                }
                match head {
                    EmbeddingConfig::Whitened { .. } => rules.push((&["head.rank"], why)),
                    _ => rules.push((&["head.keep"], why)),
                }
            }
        }
        if let Residual::Closed(learner) = &self.head.residual {
            let gradients: &[&str] = &[
                "loss",
                "sampler",
                "miner",
                "head.keep",
                "head.width",
                "train.batch",
                "train.steps",
                "train.optimizer",
                "train.learning_rate",
                "train.schedule",
                "train.weight_decay",
                "train.proxy_factor",
                "train.clip",
                "train.accumulate",
                "train.average",
                "train.labeled_passes",
            ];
            let why = format!(
                "with head.residual.kind = \"{}\", which is fitted in closed form",
                learner.name()
            );
            rules.push((gradients, why));
        }
        for (fields, why) in rules {
            if let Some(field) = fields.iter().find(|field| changed(field)) {
                return Err(Error::data(format!(
                    "{field}: has no effect {why}; leave it out"
                )));
            }
        }
        Ok(())
    }
}

/// A message without the drawing of the place that some have.
fn on_one_line(e: &dyn std::fmt::Display) -> String {
    let text = e.to_string();
    let drawn = |line: &&str| line.trim_start().starts_with('|') || line.contains(" | ");
    let lines: Vec<&str> = text
        .trim_end()
        .lines()
        .filter(|line| !drawn(line))
        .collect();
    lines.join(": ")
}

/// The fields of a recipe with those short forms written out whose table is not in every recipe
/// or has no kind of its own; [`merge`] sees to all others.
fn spelled_out(mut fields: toml::Table) -> Result<toml::Table> {
    let table = |key: &str, value: toml::Value| toml::Table::from_iter([(key.into(), value)]);
    for (key, value) in &mut fields {
        let toml::Value::String(kind) = value else {
            continue;
        };
        let kind = std::mem::take(kind).into();
        *value = match key.as_str() {
            "encoder" | "miner" => table("name", kind).into(),
            "propagation" => table("method", kind).into(),
            "head" => table("residual", table("kind", kind).into()).into(),
            _ => kind,
        };
    }
    match fields.remove("pseudo_labels") {
        Some(toml::Value::String(source)) => by_method(&mut fields, source)?,
        Some(other) => drop(fields.insert("pseudo_labels".into(), other)),
        None => {}
    }
    Ok(fields)
}

/// A source of pseudo-labels that is a method of propagation, as the two fields that it means.
fn by_method(fields: &mut toml::Table, source: String) -> Result<()> {
    let of_their_own = ["none", "propagation", "affinity", "oracle"];
    if of_their_own.contains(&source.as_str()) {
        fields.insert("pseudo_labels".into(), source.into());
        return Ok(());
    }
    if !Method::NAMES.contains(&source.as_str()) {
        let there = [&["none"], Method::NAMES, &["affinity", "oracle"]].concat();
        let rule = format!("there are: {}", there.join(", "));
        return Err(Error::parameter("pseudo_labels", source, &rule));
    }
    let asked = (fields.entry("propagation")).or_insert_with(|| toml::Table::new().into());
    // Anything but a table is refused with the rest.
    if let toml::Value::Table(asked) = asked {
        let method = asked
            .entry("method")
            .or_insert_with(|| source.clone().into());
        if method.as_str() != Some(&source) {
            let rule = format!("contradicts propagation.method = {method}; leave one out");
            return Err(Error::parameter("pseudo_labels", source, &rule));
        }
    }
    fields.insert("pseudo_labels".into(), "propagation".into());
    Ok(())
}

/// The value at a path of keys with dots between them.
fn at<'a>(table: &'a toml::Table, path: &str) -> Option<&'a toml::Value> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let value = table.get(first)?;
    match rest {
        "" => Some(value),
        rest => at(value.as_table()?, rest),
    }
}

/// Fails on a key that is not among those that were `read`: a kind without settings of its own
/// takes any without a word.
fn only_known(given: &toml::Table, read: &toml::Table, path: &str) -> Result<()> {
    for (key, value) in given {
        let path = format!("{path}{key}");
        match (value, read.get(key)) {
            (toml::Value::Table(given), Some(toml::Value::Table(read))) => {
                only_known(given, read, &format!("{path}."))?;
            }
            (_, Some(_)) => {}
            (_, None) => {
                let of = TAGS.iter().find_map(|tag| read.get(*tag)?.as_str());
                let has: Vec<&str> = (read.keys().map(String::as_str))
                    .filter(|key| !TAGS.contains(key))
                    .collect();
                let has = if has.is_empty() {
                    "none".to_owned()
                } else {
                    has.join(", ")
                };
                let of = of.map_or(String::new(), |kind| format!(" of {kind}"));
                return Err(Error::data(format!(
                    "{path}: unknown field; the settings{of} are: {has}"
                )));
            }
        }
    }
    Ok(())
}

/// Puts the values of `new` over those of `old`. Where a table names another kind than the one
/// below, it replaces it: fields of two kinds do not mix. A string over a table is its kind.
fn merge(old: &mut toml::Table, new: toml::Table) {
    for (key, mut value) in new {
        if let (Some(toml::Value::Table(below)), toml::Value::String(_)) = (old.get(&key), &value)
            && let Some(tag) = TAGS.iter().find(|tag| below.contains_key(**tag))
        {
            value = toml::Table::from_iter([((*tag).into(), value)]).into();
        }
        match (old.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above))
                if TAGS.iter().all(|tag| {
                    above
                        .get(*tag)
                        .is_none_or(|kind| below.get(*tag) == Some(kind))
                }) =>
            {
                merge(below, above);
            }
            (_, value) => {
                old.insert(key, value);
            }
        }
    }
}

/// What says which kind a table is of.
const TAGS: [&str; 3] = ["name", "kind", "method"];

/// Whether the text of a recipe says its name.
fn named(text: &str) -> bool {
    (text.parse::<toml::Table>()).is_ok_and(|table| table.contains_key("name"))
}
