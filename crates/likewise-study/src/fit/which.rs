//! Which recipe is meant: by its name, by a file, by the labels at hand, with what is changed in it.

use std::path::Path;

use super::changes::Changes;
use crate::recipe::Recipe;
use crate::study::TupleKind;
use crate::{Error, Result, usage};

/// The recipe that is chosen by the labels at hand.
pub const AUTO: &str = "auto";

/// What a table of changes says the recipe by that they begin from.
const BASE: &str = "base";

/// Which recipe is meant.
#[derive(Debug, Clone, Default)]
pub struct Which {
    /// Its name, the path of a .toml file, or [`AUTO`]; `None`: what suits all else that is given.
    pub name: Option<String>,
    /// Single choices in the place of its own, the later ones over the earlier.
    pub changes: Vec<Changes>,
    /// Most epochs.
    pub epochs: Option<usize>,
    /// Neighbours of an item in the graph.
    pub k: Option<usize>,
    /// What is given beside the labels.
    pub tuples: Option<TupleKind>,
    /// Whether items may have several labels.
    pub several_labels: bool,
}

impl Which {
    /// Whether the labels at hand choose the recipe.
    ///
    /// Fails where that is asked for beside what it does not go with.
    pub fn chooses(&self) -> Result<bool> {
        let own = !self.changes.is_empty() || self.epochs.is_some() || self.tuples.is_some();
        match self.name.as_deref() {
            Some(AUTO) if self.several_labels => Err(usage(
                "recipe auto: the recipes that it chooses from go by one label an item; with several name one, \
                 such as contextual or proxy-anchor",
            )),
            Some(AUTO) if own => Err(usage(
                "recipe auto: recipes that are compared keep their own settings and learn from labels; name one \
                 of them to set epochs or other choices, or to give tuples",
            )),
            Some(name) => Ok(name == AUTO),
            None => Ok(!own && !self.several_labels),
        }
    }

    /// The recipe that the changes begin from, where they say one.
    ///
    /// Fails beside a recipe that is named, and on what is no recipe's name.
    fn base(&self) -> Result<Option<Recipe>> {
        let mut said =
            (self.changes.iter()).filter_map(|of| Some((&of.place, of.fields.get(BASE)?)));
        let Some((place, base)) = said.next() else {
            return Ok(None);
        };
        let wrong = |what: String| Err(usage(format!("{place}: base = {what}")));
        match (base, &self.name) {
            (base, Some(name)) => wrong(format!(
                "{base}, but the recipe {name} is asked for as well; leave one of them out"
            )),
            (toml::Value::String(base), None) => {
                let named = Recipe::named(base).map_err(|e| e.within(place));
                named.map(Some)
            }
            (other, None) => wrong(format!("{other}: must be a recipe's name")),
        }
    }

    /// The recipe, for features of so many columns. Where it is chosen, that of data on which nothing can be
    /// compared.
    ///
    /// Fails on an unknown name, a file that cannot be read, settings that a recipe has not or does not use,
    /// and where more directions are asked for than there are columns.
    pub fn recipe(&self, columns: usize) -> Result<Recipe> {
        let mut recipe = match (self.base()?, &self.name, self.tuples) {
            _ if self.chooses()? => Recipe::mild_joined(),
            (Some(base), ..) => base,
            (None, Some(name), _) if is_file(name) => Recipe::read_for(Path::new(name), columns)?,
            (None, Some(name), _) => Recipe::named(name)?,
            (None, None, _) if self.several_labels => Recipe::named("contextual")?,
            (None, None, Some(TupleKind::Pairs)) => Recipe::label_rca(),
            // Learns from triplets alone, of any number of items.
            (None, None, Some(TupleKind::Triplets)) => Recipe::named("oasis")?,
            (None, None, None) => Recipe::default(),
        };
        let before = recipe.clone();
        for Changes { place, fields } in &self.changes {
            let mut fields = fields.clone();
            fields.remove(BASE);
            let changed = recipe.with_settings(fields.clone());
            recipe = changed.map_err(|e| e.within(place))?;
            // What differs from a preset must not go by its name in a table.
            if recipe != before && recipe.name == before.name {
                recipe.name.push_str(" (changed)");
            }
            let fits = recipe.check_rank(&fields, columns);
            fits.map_err(|e| e.within(place))?;
            if self.tuples == Some(TupleKind::Triplets) {
                let read = recipe.check_beside_triplets(&fields);
                read.map_err(|e| e.within(place))?;
            }
        }
        if let Some(epochs) = self.epochs {
            recipe.set_epochs(epochs)?;
        }
        if let Some(k) = self.k {
            if k == 0 {
                return Err(Error::parameter("k", k, "must be at least 1"));
            }
            recipe.set_neighbors(k)?;
        }
        recipe.validate()?;
        Ok(recipe)
    }

    /// The same, where its learner is one across views.
    ///
    /// Fails on a file that is no recipe: nobody knows for which views it is meant, and without it whoever asks
    /// would be told of a recipe within one view. What is wrong with a name is said where it is used.
    pub fn across(&self) -> Result<Option<Recipe>> {
        let named = match self.name.as_deref() {
            None => match self.base() {
                Ok(Some(base)) => Ok(base),
                Ok(None) | Err(_) => return Ok(None),
            },
            Some(AUTO) => return Ok(None),
            Some(name) if is_file(name) => Ok(Recipe::read(Path::new(name))?),
            Some(name) => Recipe::named(name),
        };
        match named {
            Ok(recipe) if recipe.learner.cross().is_some() => Ok(Some(self.recipe(usize::MAX)?)),
            _ => Ok(None),
        }
    }
}

/// Whether a name is that of a file.
fn is_file(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn named(name: Option<&str>) -> Which {
        Which {
            name: name.map(str::to_owned),
            ..Which::default()
        }
    }

    #[test]
    fn what_is_given_beside_the_labels_says_which_recipe_is_meant() {
        let name = |which: &Which| which.recipe(10).unwrap().name;
        assert!(named(None).chooses().unwrap() && named(Some(AUTO)).chooses().unwrap());
        assert!(!named(Some("rca")).chooses().unwrap());
        assert_eq!(name(&named(None)), Recipe::mild_joined().name);
        assert_eq!(name(&named(Some("rca"))), "rca");
        for (tuples, recipe) in [
            (TupleKind::Pairs, "label-rca"),
            (TupleKind::Triplets, "oasis"),
        ] {
            let which = Which {
                tuples: Some(tuples),
                ..named(None)
            };
            assert_eq!(name(&which), recipe);
        }
        let several = Which {
            several_labels: true,
            ..named(None)
        };
        assert_eq!(name(&several), "contextual");
        let epochs = Which {
            epochs: Some(3),
            ..named(None)
        };
        assert_eq!(name(&epochs), Recipe::default().name);
    }

    #[test]
    fn what_draws_triplets_is_refused_where_they_are_given() {
        for (recipe, setting) in [
            ("oasis", "steps = 500"),
            ("omks", "triplets = 500"),
            ("explicit-omks", "triplets = 500"),
        ] {
            let which = |tuples| Which {
                changes: vec![Changes {
                    place: "own".into(),
                    fields: format!("learner.{setting}").parse().unwrap(),
                }],
                tuples,
                ..named(Some(recipe))
            };
            assert!(which(None).recipe(10).is_ok(), "{recipe}");
            let said = which(Some(TupleKind::Triplets)).recipe(10);
            let said = said.unwrap_err().to_string();
            let path = setting.split(' ').next().unwrap();
            let begins = format!("own: learner.{path}: has no effect: the triplets are given");
            assert!(said.starts_with(&begins), "{said}");
        }
    }

    #[test]
    fn changes_are_told_from_the_preset_and_say_where_they_stand() {
        let changes = |text: &str| Which {
            changes: vec![Changes {
                place: "own".into(),
                fields: text.parse().unwrap(),
            }],
            ..named(Some("mixed-lp"))
        };
        let changed = changes("rounds = { epochs = 3 }").recipe(10).unwrap();
        assert_eq!(
            (changed.name.as_str(), changed.rounds.epochs),
            ("mixed-lp (changed)", 3)
        );
        for wrong in [
            "nosuch = 3",
            "start = { rank = 11 }",
            "pseudo_labels.graph = { k = 0 }",
        ] {
            let e = changes(wrong).recipe(10).unwrap_err();
            assert!(e.to_string().starts_with("own: "), "{e}");
            assert_eq!(e.kind(), ErrorKind::Parameter, "{e}");
        }
        let none = Which {
            k: Some(0),
            ..named(Some("mixed-lp"))
        };
        let said = none.recipe(10).unwrap_err().to_string();
        assert_eq!(said, "k = 0: must be at least 1");
        let chosen = Which {
            name: Some(AUTO.into()),
            ..changes("rounds = { epochs = 3 }")
        };
        assert!(chosen.recipe(10).is_err());
    }

    #[test]
    fn changes_may_say_the_recipe_that_they_begin_from() {
        let of = |name: Option<&str>, text: &str| Which {
            changes: vec![Changes {
                place: "own".into(),
                fields: text.parse().unwrap(),
            }],
            ..named(name)
        };
        let itml = of(None, "base = 'itml'\nlearner = { gamma = 2.0 }");
        let recipe = itml.recipe(10).unwrap();
        let expected = Recipe::from_toml("base = 'itml'\nlearner.gamma = 2.0").unwrap();
        assert_eq!(recipe.learner, expected.learner);
        assert_eq!(recipe.name, "itml (changed)");
        assert!(!itml.chooses().unwrap());
        let alone = of(None, "base = 'rca'").recipe(10).unwrap();
        assert_eq!(alone, Recipe::named("rca").unwrap());
        // Before what is given beside the labels.
        let pairs = Which {
            tuples: Some(TupleKind::Pairs),
            ..of(None, "base = 'itml'")
        };
        assert_eq!(pairs.recipe(10).unwrap().name, "itml");
        let across = of(None, "base = 'gsph'").across().unwrap();
        assert_eq!(across.unwrap().name, "gsph");
        for (name, text, expected) in [
            (
                Some("rca"),
                "base = 'itml'",
                "own: base = \"itml\", but the recipe rca is asked for as well",
            ),
            (None, "base = 'itmll'", "own: recipe = itmll"),
            (None, "base = 3", "own: base = 3: must be a recipe's name"),
        ] {
            let said = of(name, text).recipe(10).unwrap_err().to_string();
            assert!(said.starts_with(expected), "{text}: {said}");
        }
    }

    #[test]
    fn a_recipe_across_views_is_known_as_one() {
        let found = named(Some("gsph")).across().unwrap();
        assert!(found.is_some_and(|recipe| recipe.learner.cross().is_some()));
        for name in [None, Some(AUTO), Some("rca"), Some("nosuch")] {
            assert!(named(name).across().unwrap().is_none());
        }
    }

    #[test]
    fn a_file_that_is_no_recipe_is_told_of_wherever_it_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            named(path.to_str()).across()
        };
        let across = of("base = 'gsph'\nlearner = { bits = 16 }").unwrap();
        assert!(across.is_some_and(|recipe| recipe.learner.cross().is_some()));
        assert!(of("base = 'rca'").unwrap().is_none());
        for wrong in ["base = 'gsph'\nlearner = { bitts = 16 }", "base = 'gsphh'"] {
            let said = of(wrong).unwrap_err().to_string();
            assert!(said.contains("own.toml"), "{said}");
        }
        assert!(named(Some("none.toml")).across().is_err());
    }
}
