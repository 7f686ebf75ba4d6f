//! What there is to explain: the doc comment of each method, as it stands in its source, and
//! recipes with their settings.

mod own;
mod words;

use likewise::cross;
use likewise::ensemble::Base;
use likewise::error::Hint;
use likewise::learn::Closed;
use likewise::propagate::Method;
use likewise_image::descriptor::Descriptor;
use likewise_nn::cross::Deep;
use likewise_nn::loss::Loss;

use crate::near;
use crate::recipe::{Preset, Recipe, Traits, in_list};
use crate::{Error, Result, failed, usage};
use words::WORDS;

#[derive(Clone, Copy)]
struct Topic {
    name: &'static str,
    /// What kind of method it is, to be put before what it is.
    kind: &'static str,
    what: &'static str,
    source: &'static str,
}

impl Topic {
    fn in_words(&self) -> String {
        format!("{}{}", self.kind, self.what)
    }
}

impl From<likewise::topic::Topic> for Topic {
    fn from(topic: likewise::topic::Topic) -> Self {
        Self {
            name: topic.name,
            kind: "",
            what: topic.what,
            source: topic.source,
        }
    }
}

/// The topics: those of the lists that methods stand in, and all others.
fn topics() -> Vec<Topic> {
    let listed = |kind, names: &[&'static str], about: &[&'static str], from: &[&'static str]| {
        let each = names.iter().zip(about).zip(from);
        let topic = |((&name, &what), &source)| Topic {
            name,
            kind,
            what,
            source,
        };
        each.map(topic).collect::<Vec<Topic>>()
    };
    let crates = [
        likewise::topic::TOPICS,
        likewise_nn::topic::TOPICS,
        likewise_image::topic::TOPICS,
        own::TOPICS,
    ];
    let mut topics: Vec<Topic> = crates.concat().into_iter().map(Topic::from).collect();
    topics.extend(listed(
        "propagation: ",
        Method::NAMES,
        Method::ABOUT,
        Method::SOURCES,
    ));
    topics.extend(listed(
        "classifier that votes: ",
        Base::NAMES,
        Base::ABOUT,
        Base::SOURCES,
    ));
    topics.extend(listed("loss: ", Loss::NAMES, Loss::ABOUT, Loss::SOURCES));
    topics.extend(listed(
        "learner in closed form: ",
        Closed::NAMES,
        Closed::ABOUT,
        Closed::SOURCES,
    ));
    topics.extend(listed(
        "learner across views: ",
        cross::Learner::NAMES,
        cross::Learner::ABOUT,
        cross::Learner::SOURCES,
    ));
    topics.extend(listed(
        "learner across views: ",
        Deep::NAMES,
        Deep::ABOUT,
        Deep::SOURCES,
    ));
    topics.extend(listed(
        "descriptor of images: ",
        Descriptor::NAMES,
        Descriptor::ABOUT,
        Descriptor::SOURCES,
    ));
    topics
}

/// Something that can be explained.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Explained {
    /// Its name.
    pub name: String,
    /// What it is, in a few words.
    pub what: String,
    /// When to use it and when not, formula, cost and source.
    pub text: String,
}

/// The name of a word as tables spell it: `MAP@R`, `R@8`, `whitened, no labels`.
fn spelled(name: &str) -> String {
    let name = name.trim().to_lowercase().replace(['_', ' '], "-");
    let name = name.replace('@', "-at-").replace([',', '.', '(', ')'], "");
    let name = name.strip_suffix("-no-labels").unwrap_or(&name).to_owned();
    let of_rank = |metric: &str| {
        let rank = name
            .strip_prefix(metric)
            .and_then(|k| k.parse::<usize>().ok());
        rank.is_some()
    };
    if of_rank("r-at-") || of_rank("recall-at-") {
        return "r-at-k".into();
    }
    if of_rank("p-at-") || of_rank("precision-at-") {
        return "p-at-k".into();
    }
    match name.as_str() {
        "all-labels-oracle" => "all-labels",
        "believed" | "beliefs" => "belief",
        "class-disjoint" => "zero-shot",
        "effective-rank" => "eff-rank",
        "scaled-columns" => "scaled",
        "fuse" => "fused-graph",
        "standardized" | "standardize" => "standardised",
        own => own,
    }
    .to_owned()
}

/// Names of all topics and recipes, and what they are in a few words.
pub fn names() -> Vec<(&'static str, String)> {
    let topics = topics();
    let own = |preset: &&Preset| topics.iter().all(|t| t.name != preset.name);
    let recipes = Preset::all().iter().filter(own);
    let recipes = recipes.map(|preset| (preset.name.as_str(), preset.what.clone()));
    let named = topics.iter().map(|topic| (topic.name, topic.in_words()));
    let words = WORDS.iter().map(|word| (word.0, word.1.to_owned()));
    named.chain(recipes).chain(words).collect()
}

/// Explains a method or a recipe. Fails on an unknown name, with those that are near.
pub fn explain(name: &str) -> Result<Explained> {
    let spelled = spelled(name);
    if let Some(&(word, what, text)) = WORDS.iter().find(|word| word.0 == spelled) {
        let text = match word {
            "auto" => format!("{text}\n\n{}", between()),
            _ => text.to_owned(),
        };
        return Ok(Explained {
            name: word.to_owned(),
            what: what.to_owned(),
            text,
        });
    }
    let is_known =
        |name: &str| topics().iter().any(|topic| topic.name == name) || Recipe::named(name).is_ok();
    let own = if is_known(name) {
        name
    } else {
        spelled.as_str()
    };
    let topic = topics().into_iter().find(|topic| topic.name == own);
    let recipe = Recipe::named(own).ok();
    let (Some(what), text) = (what(own, topic), text(topic, recipe.as_ref())?) else {
        return Err(unknown(name));
    };
    Ok(Explained {
        name: own.to_owned(),
        what,
        text,
    })
}

/// The recipes between which `auto` chooses.
fn between() -> String {
    let names = |scaled: bool| {
        let of = Traits {
            scaled,
            rooted: true,
            histograms: false,
        };
        let recipes = Recipe::candidates(of).into_iter();
        recipes
            .map(|recipe| recipe.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    format!(
        "Recipes, in their order: {}.\n\nWhere columns are of different units or rows differ much in length: {}.\n\n\
         Those of roots only where no feature is negative; where rows are histograms, \
         shares of one sum, rooted-mild-joined is the first of all.",
        names(false),
        names(true)
    )
}

/// Where the file of a recipe is explained.
const WRITTEN_SOURCE: &str = include_str!("recipe/written.rs");

const RECIPE_SOURCE: &str = concat!(
    include_str!("recipe/preset/own.rs"),
    include_str!("recipe/preset/papers.rs"),
    include_str!("recipe/preset/unlabeled.rs")
);

/// A topic or a recipe in a few words.
fn what(name: &str, topic: Option<Topic>) -> Option<String> {
    topic
        .map(|topic| topic.in_words())
        .or(Preset::named(name).map(|preset| preset.what.clone()))
        .or_else(|| {
            // A learner across views with a source of pseudo-labels before it.
            let (source, learner) = name.split_once('+')?;
            Recipe::named(name).ok()?;
            Some(format!(
                "the recipe of {learner} with pseudo-labels by {source}"
            ))
        })
}

/// What is to be said of a topic, and of the recipe of the same name.
fn text(topic: Option<Topic>, recipe: Option<&Recipe>) -> Result<String> {
    let mut parts = Vec::new();
    if let Some(topic) = topic {
        parts.push(match topic.name {
            // The file has one constructor a recipe; these are of all of them.
            "recipes" => format!(
                "{}\n\n{}\n\nThere are: {}.",
                of_item(topic.source, "pub struct Recipe {"),
                of_item(WRITTEN_SOURCE, "pub fn read("),
                Recipe::names().join(", ")
            ),
            "oracle" => {
                let row = WORDS.iter().find(|word| word.0 == "all-labels");
                let row = row.map_or("", |word| word.2);
                format!(
                    "{}\n\n## The row all labels (oracle)\n\n{row}",
                    explanation(topic.source)
                )
            }
            _ => explanation(topic.source),
        });
    }
    if let Some(recipe) = recipe {
        let plain = if recipe.learner.cross().is_some() {
            "across"
        } else if recipe.learner.gradient().is_some() {
            "supervised"
        } else if recipe.start.as_given {
            "published"
        } else {
            "closed"
        };
        let made = Preset::named(&recipe.name).map_or(plain, |preset| preset.function);
        if topic.is_some() {
            parts.push(format!("## The recipe {}", recipe.name));
        }
        parts.push(of_item(RECIPE_SOURCE, &format!("pub fn {made}(")));
        parts.push(settings(recipe)?);
    }
    Ok(parts.join("\n\n"))
}

/// The fields of a recipe that differ from those of `mixed-lp`; of that itself, all. Without those that change
/// nothing: a file would be refused that has them.
fn settings(recipe: &Recipe) -> Result<String> {
    let table =
        |recipe: &Recipe| toml::Table::try_from(recipe).map_err(|e| failed(format!("recipe: {e}")));
    let (mut own, base) = (table(recipe)?, table(&Recipe::mixed_lp())?);
    let mut head = "Its settings, as a file of a recipe has them:".to_owned();
    if recipe.name != "mixed-lp" {
        own = differing(&own, &base);
        head = "Its settings, where they differ from those of mixed-lp:".into();
    }
    own.remove("name");
    for (path, _) in recipe.idle_settings() {
        remove(&mut own, &path);
    }
    let text = toml::to_string(&own).map_err(|e| failed(format!("recipe: {e}")))?;
    let lines = text.lines().filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.map(|line| format!("    {line}")).collect();
    Ok(format!("{head}\n\n{}", lines.join("\n")))
}

/// Takes what stands at this path out of a table of tables and lists, if something does.
fn remove(table: &mut toml::Table, path: &str) {
    let Some((first, rest)) = path.split_once('.') else {
        table.remove(path);
        return;
    };
    match table.get_mut(first) {
        Some(toml::Value::Table(inner)) => remove(inner, rest),
        Some(toml::Value::Array(list)) => {
            let (place, rest) = in_list(rest);
            if let Some(toml::Value::Table(inner)) = list.get_mut(place) {
                remove(inner, rest);
            }
        }
        _ => {}
    }
}

/// What of `own` is not in `base`. A table of another kind stays whole.
fn differing(own: &toml::Table, base: &toml::Table) -> toml::Table {
    let mut differing = toml::Table::new();
    for (key, value) in own {
        match (value, base.get(key)) {
            (value, Some(other)) if value == other => {}
            (toml::Value::Table(own), Some(toml::Value::Table(base)))
                if ["name", "kind", "method"]
                    .iter()
                    .all(|tag| own.get(*tag) == base.get(*tag)) =>
            {
                differing.insert(key.clone(), self::differing(own, base).into());
            }
            (value, _) => {
                differing.insert(key.clone(), value.clone());
            }
        }
    }
    differing
}

/// The doc comment of one item of a source, without the example code.
fn of_item(source: &str, item: &str) -> String {
    let before = source.find(item).map_or("", |at| &source[..at]);
    let lines: Vec<&str> = before.lines().collect();
    let mark = |line: &&&str| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with("///") || line.starts_with("#[")
    };
    let count = lines.iter().rev().take_while(mark).count();
    let doc = lines[lines.len() - count..].iter();
    let doc: Vec<&str> = doc.copied().filter(|line| line.contains("///")).collect();
    blocks(&doc.join("\n"), "///").join("\n\n")
}

/// That nothing is called so, with what is called nearly so or is about it.
fn unknown(name: &str) -> Error {
    let near = nearest(name);
    if near.is_empty() {
        return usage(format!("nothing is called \"{name}\"")).hint(Hint::ListNames);
    }
    usage(format!(
        "nothing is called \"{name}\"; near it: {}",
        near.join(", ")
    ))
}

/// Names like this one, the likest first: those that begin with it or hold it, whose few words
/// hold it, and those that a few letters tell from it.
fn nearest(name: &str) -> Vec<&'static str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let wanted = plain(name);
    let topics = topics().into_iter();
    let topics = topics.map(|topic| (topic.name, topic.in_words()));
    let recipes = Preset::all().iter();
    let recipes = recipes.map(|preset| (preset.name.as_str(), preset.what.clone()));
    let words = WORDS.iter().map(|word| (word.0, word.1.to_owned()));
    let mut found: Vec<(usize, &'static str)> = topics
        .chain(recipes)
        .chain(words)
        .filter_map(|(name, what)| {
            let words = plain(&what);
            let near = if name.starts_with(&wanted) || wanted.starts_with(name) {
                0
            } else if wanted.len() > 2 && (name.contains(&wanted) || words.contains(&wanted)) {
                1
            } else {
                1 + near::letters(&wanted, name)?
            };
            Some((near, name))
        })
        .collect();
    found.sort_unstable();
    found.dedup_by_key(|(_, name)| *name);
    found.into_iter().take(5).map(|(_, name)| name).collect()
}

/// The module's doc comment and the longest of its items', without the example code.
fn explanation(source: &str) -> String {
    let module = blocks(source, "//!").into_iter().next().unwrap_or_default();
    let items = blocks(source, "///").into_iter();
    let item = items.max_by_key(String::len).unwrap_or_default();
    if item.len() < 200 {
        return module;
    }
    format!("{module}\n\n{item}").trim().to_owned()
}

/// Every run of lines that begin with `mark`, as plain text.
fn blocks(source: &str, mark: &str) -> Vec<String> {
    let mut blocks = vec![Vec::new()];
    // Inside a fence: whether it is shown. Formulas stand in `text` blocks; what else is
    // fenced is a test.
    let mut fence = None;
    for line in source.lines() {
        let Some(words) = line.trim_start().strip_prefix(mark) else {
            blocks.push(Vec::new());
            fence = None;
            continue;
        };
        let words = words.strip_prefix(' ').unwrap_or(words);
        if let Some(kind) = words.strip_prefix("```") {
            fence = match fence {
                Some(_) => None,
                None => Some(kind.trim() == "text"),
            };
        } else if fence != Some(false)
            && let Some(block) = blocks.last_mut()
        {
            block.push(plain(words));
        }
    }
    let text = blocks
        .into_iter()
        .map(|block| block.join("\n").trim().to_owned());
    text.filter(|block| !block.is_empty()).collect()
}

/// Markdown without its marks: links keep their text.
fn plain(words: &str) -> String {
    let mut out = String::new();
    let mut rest = words;
    while let Some(open) = rest.find('[') {
        let Some(close) = rest[open..].find(']').map(|c| open + c) else {
            break;
        };
        let after = &rest[close + 1..];
        let end = match after.strip_prefix('(').and_then(|a| a.find(')')) {
            Some(end) => close + 1 + end + 2,
            None => close + 1,
        };
        let inner = &rest[open + 1..close];
        out.push_str(&rest[..open]);
        if inner.starts_with('`') || end > close + 1 {
            out.push_str(inner);
        } else {
            out.push_str(&rest[open..=close]);
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out.replace("**", "").replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_an_explanation_without_example_code() {
        for topic in topics() {
            let text = explanation(topic.source);
            assert!(text.len() > 200, "{}: {text}", topic.name);
            assert!(
                !text.contains("use likewise"),
                "{}: example code",
                topic.name
            );
        }
    }

    #[test]
    fn every_method_of_a_list_says_when_not_to_use_it_what_it_costs_and_where_it_is_from() {
        // The topics of the crates are parts of methods, and have no kind.
        let methods = topics().into_iter().filter(|topic| !topic.kind.is_empty());
        let mut seen = 0;
        for Topic { name, source, .. } in methods {
            let text = explanation(source);
            let section = |word: &str| {
                let mut lines = text.lines().map(|line| line.trim_start_matches("# "));
                lines.any(|line| line.starts_with(word))
            };
            assert!(section("Cost"), "{name} has no section Cost: {text}");
            assert!(section("Source"), "{name} has no section Source: {text}");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let limit = [". Not ", "; not ", "When not"];
            assert!(
                limit.iter().any(|limit| words.contains(limit)),
                "{name} does not say when not to use it: {text}"
            );
            seen += 1;
        }
        assert!(seen > Method::NAMES.len() + Loss::NAMES.len() + Closed::NAMES.len());
    }

    #[test]
    fn words_are_explained_as_tables_spell_them() {
        for (asked, name) in [
            ("MAP@R", "map-at-r"),
            ("R@8", "r-at-k"),
            ("recall@1", "r-at-k"),
            ("zero-shot", "zero-shot"),
            ("auto", "auto"),
            ("NMI", "nmi"),
            ("Mixed LP", "mixed-lp"),
            ("labels only", "labels-only"),
            ("raw features", "raw-features"),
            ("all labels", "all-labels"),
            ("all labels (oracle)", "all-labels"),
            ("whitened, no labels", "whitened"),
            ("scaled columns, no labels", "scaled"),
            ("roots, no labels", "roots"),
            ("class-disjoint", "zero-shot"),
            ("isolated", "isolated"),
            ("components", "components"),
            ("believed", "belief"),
            ("sure", "sure"),
            ("gain", "gain"),
            ("rounds", "rounds"),
            ("standardised", "standardised"),
            ("standardize", "standardised"),
            ("class_sizes", "class-sizes"),
            ("fuse", "fused-graph"),
            ("eff. rank", "eff-rank"),
        ] {
            assert_eq!(explain(asked).unwrap().name, name);
        }
        let topics = topics();
        for (name, what, text) in words::WORDS {
            assert!(
                topics.iter().all(|topic| topic.name != name),
                "{name}: twice"
            );
            assert!(what.starts_with("word: ") && text.len() > 100, "{name}");
        }
        assert!(nearest("map").contains(&"map-at-r"));
        // The oracle of propagations, and the row of that name.
        let text = explain("oracle").unwrap().text;
        assert!(text.contains("where the truth is known"), "{text}");
        assert!(text.contains("every true label"), "{text}");
    }

    #[test]
    fn every_recipe_is_explained_by_its_own_words_and_settings() {
        let mut seen = Vec::new();
        for name in Recipe::names() {
            let topic = topics().into_iter().find(|topic| topic.name == name);
            assert!(what(&name, topic).is_some(), "{name}");
            let text = text(topic, Recipe::named(&name).ok().as_ref()).unwrap();
            assert!(text.contains("Its settings"), "{name}: {text}");
            assert!(text.len() > 200 && !text.contains("```"), "{name}: {text}");
            assert!(!seen.contains(&text), "{name}");
            seen.push(text);
        }
        let of = |name: &str| {
            let topic = topics().into_iter().find(|topic| topic.name == name);
            text(topic, Recipe::named(name).ok().as_ref()).unwrap()
        };
        let default = of("mixed-lp").replace('\n', " ");
        assert!(default.contains("keeps what the features know") && !default.contains("Dutta"));
        let triplets = of("affinity-triplet");
        assert!(triplets.contains("Dutta") && triplets.contains("epochs = 50"));
        assert!(of("mixed-lp-paper").contains("labeled_epochs = 5"));
        let dssml = of("dssml");
        assert!(dssml.contains("Diffusion of class-balanced") && dssml.contains("\"mutual\""));
        let kernels = of("multi-kernel");
        assert!(kernels.contains("    aggressiveness = 0.1"), "{kernels}");
        assert!(!kernels.contains("triplets = "), "{kernels}");
        assert!(of("omks").contains("    triplets = "));
        let recipes = of("recipes");
        assert!(recipes.contains("All choices of a run") && recipes.contains("mixed-rca"));
        assert!(!recipes.contains("Dutta"));
    }

    #[test]
    fn settings_that_are_shown_are_a_file_that_is_read() {
        for name in Recipe::names() {
            let recipe = Recipe::named(&name).unwrap();
            let shown = settings(&recipe).unwrap();
            let lines = shown.lines().filter_map(|line| line.strip_prefix("    "));
            let file = lines.collect::<Vec<_>>().join("\n");
            let read = Recipe::from_toml(&file).unwrap_or_else(|e| panic!("{name}: {e}: {file}"));
            assert_eq!(read.start, recipe.start, "{name}");
            assert_eq!(read.rounds.epochs, recipe.rounds.epochs, "{name}");
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest() {
        assert_eq!(nearest("mixd-lp")[0], "mixed-lp");
        assert!(nearest("triplets").contains(&"triplet"));
        assert_eq!(nearest("MAP@R"), ["map-at-r", "ranking"]);
        assert!(nearest("zero-shot").contains(&"split"));
        assert!(nearest("proxy").contains(&"proxy-anchor"));
        assert!(nearest("qqqqqqqq").is_empty());
    }

    #[test]
    fn formulas_are_shown_and_examples_are_not() {
        let source = "/// What.\n/// ```text\n/// a = b\n/// ```\n/// When not.\n/// ```\n/// \
                      let x = 1;\n/// ```\n/// Source.\nstruct X;";
        assert_eq!(blocks(source, "///"), ["What.\na = b\nWhen not.\nSource."]);
        let topic = topics()
            .into_iter()
            .find(|t| t.name == "confidence-proxy")
            .unwrap();
        assert!(explanation(topic.source).contains("eqs. 26-29"));
    }

    #[test]
    fn markdown_is_taken_off() {
        assert_eq!(
            plain("see [`Lgc`](super::Lgc) and **not** [0, 1]"),
            "see Lgc and not [0, 1]"
        );
    }
}
