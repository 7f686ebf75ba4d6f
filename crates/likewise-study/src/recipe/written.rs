//! Recipes as TOML: a base, and what differs from it.

use std::path::Path;

use likewise::propagate::{Ability, Method};
use likewise_nn::net::EmbeddingConfig;

use super::preset::AFFINITY_TRIPLET;
use super::{Linear, ModelConfig, NetworkConfig, On, Orthogonal, PseudoLabels, Recipe, printed};
use crate::text::in_words;
use crate::{Error, ErrorKind, Result};

/// Longest text of a recipe, bytes.
const MOST_TEXT: u64 = 16 << 20;

impl Recipe {
    /// The recipe in a TOML file: the fields of a [`Recipe`], of which `base` names the recipe
    /// that gives all others (`mixed-lp` if it is absent). Its name is that of the file unless
    /// it says another.
    ///
    /// ```toml
    /// base = "affinity-triplet"
    /// pseudo_labels = { kind = "propagation", spread = { method = "lgc" } }
    ///
    /// [learner]
    /// model = { kind = "mlp", hidden = 128 }
    /// loss = { name = "contextual" }
    /// ```
    ///
    /// Fails on a file that cannot be read, and on unknown or wrong fields.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(Self::with_fields(path)?.0)
    }

    /// The recipe in a file, and the fields that the file says.
    fn with_fields(path: &Path) -> Result<(Self, toml::Table)> {
        let shown = path.display();
        let text = likewise_io::read_text(path, MOST_TEXT)
            .map_err(|e| Error::data(format!("{e}; give a recipe's name or file")).placed())?;
        let fields = fields(&text).map_err(|e| of_settings(e).within(shown))?;
        let recipe = Self::from_fields(fields.clone());
        let mut recipe = recipe.map_err(|e| of_settings(e).within(path.display()))?;
        // What differs from a preset must not go by its name in a report.
        if let (false, Some(stem)) = (named(&text), path.file_stem()) {
            recipe.name = stem.to_string_lossy().into_owned();
        }
        Ok((recipe, fields))
    }

    /// The same, for features of so many columns.
    ///
    /// Fails where the file asks for more directions than that.
    pub fn read_for(path: &Path, columns: usize) -> Result<Self> {
        let (recipe, fields) = Self::with_fields(path)?;
        let fits = recipe.check_rank(&fields, columns);
        fits.map_err(|e| e.within(path.display()))?;
        Ok(recipe)
    }

    /// As [`read`](Self::read), from the text of the file.
    pub fn from_toml(text: &str) -> Result<Self> {
        Self::from_fields(fields(text)?)
    }

    fn from_fields(mut table: toml::Table) -> Result<Self> {
        let base = match table.remove("base") {
            None => Self::default(),
            Some(toml::Value::String(name)) => Self::named(&name)?,
            Some(other) => return Err(wrong(&format!("base = {other}: must be a recipe's name"))),
        };
        base.with(table)
    }

    /// This recipe with the fields of a table in place of its own. A table of another kind
    /// (`kind`, `name` or `method`) replaces the whole of what it stands for; what it does not
    /// say is then the default of that kind.
    ///
    /// Labels that are made to go along [mutual neighbours](Ability::Mutual) get a graph of these, unless
    /// the table says another `graph.symmetrize`. A network in the place of a head that is all of
    /// the embedding has that head behind it, unless it begins as the whitening of its features
    /// or has a head of its own: an orthonormal map as its `map`, one matrix as `encoder.head`. Behind the
    /// recipes of papers on losses (`proxy-anchor-paper` ...) a network also pools, warms up and sees its
    /// images as printed, unless the table says otherwise.
    ///
    /// Fails on unknown and wrong fields, and on those that are changed without any effect.
    pub fn with(&self, fields: toml::Table) -> Result<Self> {
        let own = self.as_table()?;
        let recipe = self.merged(&own, fields.clone())?;
        recipe.validate()?;
        // A recipe that is written down whole also says what another of its kind would need.
        if !is_whole(&fields, &recipe.as_table()?)
            && let Some(idle) = recipe.idle_among(&fields)
        {
            return Err(no_effect(&idle));
        }
        if holds(&fields, "rounds.epochs") {
            recipe.check_epochs()?;
        }
        let whitened = recipe
            .learner
            .network()
            .is_some_and(NetworkConfig::is_whitened);
        let says_rank = holds(&fields, "start.rank");
        if whitened && says_rank && recipe.start.rank != self.start.rank {
            return Err(Error::data(
                "start.rank: has no effect with encoder.head.kind = \"whitened\", whose dim it \
                 is; leave it out",
            ));
        }
        Ok(recipe)
    }

    /// As [`with`](Self::with), of a table in a file of settings: all that is wrong in it is a wrong setting.
    pub(crate) fn with_settings(&self, fields: toml::Table) -> Result<Self> {
        self.with(fields).map_err(of_settings)
    }

    /// As [`with`](Self::with), of a table that is given to several recipes: fields that this one
    /// does not have are passed over, and nothing is [validated](Self::validate), since what is
    /// this one's own is still to come. Beside the recipe stand those that were passed over, with
    /// what is wrong with them here: what no recipe takes is a mistake.
    pub fn with_shared(&self, fields: &toml::Table) -> Result<(Self, Vec<(String, Error)>)> {
        let (mut recipe, mut passed) = (self.clone(), Vec::new());
        for (path, value) in one_by_one(fields, "") {
            let own = recipe.as_table()?;
            let fields = nested(&path, value);
            match recipe.merged(&own, fields.clone()) {
                Ok(with) => match with.idle_among(&fields) {
                    Some((_, why)) => passed.push((path, Error::data(why))),
                    None => match with.check_epochs() {
                        Err(e) if path == "rounds.epochs" => passed.push((path, e)),
                        _ => recipe = with,
                    },
                },
                Err(e) => passed.push((path, e)),
            }
        }
        Ok((recipe, passed))
    }

    fn as_table(&self) -> Result<toml::Table> {
        toml::Table::try_from(self).map_err(|e| wrong(&e))
    }

    fn merged(&self, own: &toml::Table, fields: toml::Table) -> Result<Self> {
        let mut whole = own.clone();
        let says_graph = fields
            .get("pseudo_labels")
            .and_then(|labels| labels.get("graph")?.get("symmetrize"))
            .is_some();
        let says = fields.clone();
        merge(&mut whole, fields, "")?;
        // Settings of another kind are told by their path, before those that are wrong.
        let mut recipe: Self = match whole.clone().try_into() {
            Ok(recipe) => recipe,
            Err(e) => return Err(wrong::<toml::de::Error>(&e)),
        };
        only_known(&whole, &recipe.as_table()?, "")?;
        let along_mutual = |of: &Self| {
            let propagation = of.pseudo_labels.propagation();
            propagation.is_some_and(|p| p.spread.has(Ability::Mutual))
        };
        if !says_graph
            && !along_mutual(self)
            && along_mutual(&recipe)
            && let PseudoLabels::Propagation(propagation) = &mut recipe.pseudo_labels
        {
            let rule = propagation.spread.symmetrize();
            propagation.graph = propagation.graph.clone().symmetrize(rule);
        }
        recipe.keep_head(self, &says);
        Ok(recipe)
    }
}

impl Recipe {
    /// What a head makes of the whole embedding goes behind the network that takes its place: a
    /// method that learns the map, or embeds in 64 dimensions, would be half of itself without.
    /// Not behind one that begins as its whitening, which keeps a share of that in its place.
    ///
    /// What else a paper prints of its network stands where the recipe `says` nothing of it.
    fn keep_head(&mut self, before: &Self, says: &toml::Table) {
        let head = before.learner.gradient().map(|gradient| &gradient.model);
        let (Some(head), Some(gradient)) = (head, self.learner.gradient_mut()) else {
            return;
        };
        let ModelConfig::Network(network) = &mut gradient.model else {
            return;
        };
        if before.name == AFFINITY_TRIPLET && !matches!(head, ModelConfig::Network(_)) {
            self.start.of_network(says.get("start"));
        }
        match *head {
            ModelConfig::Orthogonal(map) if !network.is_whitened() => {
                network.map.get_or_insert(Orthogonal { keep: 0.0, ..map });
                if let PseudoLabels::Affinity(affinity) = &mut self.pseudo_labels
                    && before.name == AFFINITY_TRIPLET
                    && !holds(says, "pseudo_labels.on")
                {
                    affinity.on = On::Model;
                }
            }
            ModelConfig::Linear(Linear { keep: 0.0, width })
                if let Some(of_paper) = printed::of_network(&before.name) =>
            {
                let silent = |path: &str| !holds(says, &format!("learner.model.{path}"));
                if silent("encoder.head") && network.map.is_none() {
                    network.encoder.head = EmbeddingConfig::Linear {
                        dim: width,
                        layer_norm: of_paper.layer_norm,
                    };
                }
                if silent("encoder.pool") {
                    network.encoder.pool = of_paper.pool;
                }
                if silent("tuning.augment") {
                    network.tuning.augment = true;
                }
                if silent("tuning.warm_up") {
                    network.tuning.warm_up = of_paper.warm_up;
                }
            }
            ModelConfig::Linear(Linear { keep: 0.0, width })
                if network.encoder.head == EmbeddingConfig::None && network.map.is_none() =>
            {
                network.encoder.head = EmbeddingConfig::Linear {
                    dim: width,
                    layer_norm: false,
                };
            }
            _ => {}
        }
    }

    /// Fails where `fields`, which were merged into this recipe, ask for more directions of the start than
    /// the data have `columns`. A recipe that is written down whole says the usual number of them.
    pub fn check_rank(&self, fields: &toml::Table, columns: usize) -> Result<()> {
        let rank = self.start.rank;
        if rank <= columns || !holds(fields, "start.rank") || is_whole(fields, &self.as_table()?) {
            return Ok(());
        }
        let rule = format!(
            "must be at most {columns}, the number of columns of the features; leave it out to keep \
             them all"
        );
        Err(Error::parameter("start.rank", rank, &rule))
    }

    /// Fails where one of `fields`, which were merged into this recipe, changes nothing since the triplets that
    /// are learned from are given.
    pub fn check_beside_triplets(&self, fields: &toml::Table) -> Result<()> {
        if is_whole(fields, &self.as_table()?) {
            return Ok(());
        }
        let mut idle = self.idle_parameters(true).into_iter();
        match idle.find(|(path, _)| holds(fields, path)) {
            Some(idle) => Err(of_settings(no_effect(&idle))),
            None => Ok(()),
        }
    }

    /// The first of these fields that changes nothing, and why.
    fn idle_among(&self, fields: &toml::Table) -> Option<(String, &'static str)> {
        let mut idle = self.idle_settings().into_iter();
        idle.find(|(path, _)| holds(fields, path))
    }
}

/// What is said of a setting that changes nothing.
fn no_effect((path, why): &(String, &str)) -> Error {
    Error::data(format!("{path}: has no effect: {why}; leave it out"))
}

/// Whether a table of tables says something at this path, in which a number is a place of a list.
fn holds(table: &toml::Table, path: &str) -> bool {
    let Some((first, rest)) = path.split_once('.') else {
        return table.contains_key(path);
    };
    match table.get(first) {
        Some(toml::Value::Table(inner)) => holds(inner, rest),
        Some(toml::Value::Array(list)) => {
            let (place, rest) = in_list(rest);
            (list.get(place).and_then(toml::Value::as_table)).is_some_and(|t| holds(t, rest))
        }
        _ => false,
    }
}

/// The place of a list that a path begins with, the first where it says none, and what follows.
pub(crate) fn in_list(path: &str) -> (usize, &str) {
    let place = path.split_once('.');
    let place = place.and_then(|(place, rest)| Some((place.parse().ok()?, rest)));
    place.unwrap_or((0, path))
}

/// Whether a table says every setting of a recipe.
fn is_whole(table: &toml::Table, recipe: &toml::Table) -> bool {
    recipe
        .iter()
        .all(|(key, value)| match (table.get(key), value) {
            (Some(toml::Value::Table(said)), toml::Value::Table(all)) => is_whole(said, all),
            (said, _) => said.is_some(),
        })
}

/// The fields of a text.
fn fields(text: &str) -> Result<toml::Table> {
    text.parse().map_err(|e: toml::de::Error| wrong(&e))
}

/// What is wrong in a recipe is wrong in the settings, whatever found it.
fn of_settings(e: Error) -> Error {
    if e.kind() != ErrorKind::Data {
        return e;
    }
    let same = Error::new(ErrorKind::Parameter, e.to_string());
    match e.what_to_do() {
        Some(hint) => same.hint(hint),
        None => same,
    }
}

fn wrong<E: std::fmt::Display>(e: &E) -> Error {
    // The recipe that another one changes is read before its fields are.
    let said = on_one_line(e).replace("one of `name`, `start`", "one of `base`, `name`, `start`");
    // Numbers that are none, or infinite, are lost where a table is read again by the kind of its learner.
    let lost = "invalid type: null, expected a number";
    Error::data(in_words(&said).replace(lost, "is no finite number"))
}

/// A message without the drawing of the place that some have.
fn on_one_line<E: std::fmt::Display>(e: &E) -> String {
    let text = e.to_string();
    let drawn = |line: &&str| line.trim_start().starts_with('|') || line.contains(" | ");
    let lines: Vec<&str> = text
        .trim_end()
        .lines()
        .filter(|line| !drawn(line))
        .collect();
    lines.join(": ")
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
                let has = match (of, has.join(", ")) {
                    (Some(kind), has) if has.is_empty() => format!("`{kind}` has no settings"),
                    (None, has) if has.is_empty() => "there are none".to_owned(),
                    (Some(kind), has) => format!("the settings of {kind} are: {has}"),
                    (None, has) => format!("the settings are: {has}"),
                };
                return Err(Error::data(format!("{path}: unknown field; {has}")));
            }
        }
    }
    Ok(())
}

/// Puts the values of `new` over those of `old`. Where a table names another kind than the one
/// below, it replaces it: fields of two kinds do not mix.
///
/// Fails where a kind stands alone: a stage is written in one way, as a table.
fn merge(old: &mut toml::Table, new: toml::Table, path: &str) -> Result<()> {
    for (key, value) in new {
        let path = format!("{path}{key}");
        let value = match value {
            toml::Value::String(method) if path == "pseudo_labels" => by_method(method),
            value => value,
        };
        match (old.get_mut(&key), value) {
            (Some(toml::Value::Table(_)), toml::Value::String(word))
                if path == "pseudo_labels" && !TABLES.contains(&word.as_str()) =>
            {
                return Err(Error::data(format!(
                    "{path} = \"{word}\": there are {}, {}, and as {path} = {{ kind = ... }} {}",
                    WORDS.join(", "),
                    Method::NAMES.join(", "),
                    TABLES.join(", ")
                )));
            }
            (Some(toml::Value::Table(below)), toml::Value::String(kind))
                if let Some(tag) = TAGS.iter().find(|tag| below.contains_key(**tag)) =>
            {
                return Err(Error::data(format!(
                    "{path} = \"{kind}\": write {path} = {{ {tag} = \"{kind}\" }}"
                )));
            }
            // One table says nothing of which of several it means, and would replace them all.
            (Some(toml::Value::Array(several)), toml::Value::Table(_)) => {
                return Err(Error::data(format!(
                    "{path}: is a list of {} here; write the whole list, as {path} = [{{ ... }}]",
                    several.len()
                )));
            }
            (Some(toml::Value::Table(below)), toml::Value::Table(above))
                if TAGS.iter().all(|tag| {
                    above
                        .get(*tag)
                        .is_none_or(|kind| below.get(*tag) == Some(kind))
                }) =>
            {
                merge(below, above, &format!("{path}."))?;
            }
            (_, value) => {
                old.insert(key, value);
            }
        }
    }
    Ok(())
}

/// Pseudo-labels of one word: votes, `lpf`, what needs no label, or the propagation of this name, with their defaults.
fn by_method(word: String) -> toml::Value {
    if WORDS.contains(&word.as_str()) {
        return toml::Table::from_iter([("kind".to_owned(), word.into())]).into();
    }
    if Method::named(&word).is_err() {
        return word.into();
    }
    let spread = toml::Table::from_iter([("method".to_owned(), word.into())]);
    let fields = [
        ("kind".to_owned(), "propagation".into()),
        ("spread".to_owned(), spread.into()),
    ];
    toml::Table::from_iter(fields).into()
}

/// The settings of a table one by one, each with its path. A table that names its kind is one
/// setting.
fn one_by_one(table: &toml::Table, path: &str) -> Vec<(String, toml::Value)> {
    let each = table.iter().flat_map(|(key, value)| {
        let path = format!("{path}{key}");
        match value {
            toml::Value::Table(inner) if TAGS.iter().all(|tag| !inner.contains_key(*tag)) => {
                one_by_one(inner, &format!("{path}."))
            }
            value => vec![(path, value.clone())],
        }
    });
    each.collect()
}

/// A table of tables with one value at the end of the path.
fn nested(path: &str, value: toml::Value) -> toml::Table {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let value = match rest {
        "" => value,
        rest => nested(rest, value).into(),
    };
    toml::Table::from_iter([(first.to_owned(), value)])
}

/// Pseudo-labels, but for the methods of propagation, that one word says.
const WORDS: [&str; 5] = ["votes", "lpf", "clusters", "instances", "rotations"];

/// Pseudo-labels that only a table says.
const TABLES: [&str; 4] = ["none", "affinity", "propagation", "oracle"];

/// What says which kind a table is of.
const TAGS: [&str; 3] = ["name", "kind", "method"];

/// Whether the text of a recipe says its name.
fn named(text: &str) -> bool {
    (text.parse::<toml::Table>()).is_ok_and(|table| table.contains_key("name"))
}
