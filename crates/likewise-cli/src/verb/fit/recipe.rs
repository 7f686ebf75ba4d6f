//! Which recipe is asked for: by name, by file, by the labels at hand, with the settings beside it.

use std::path::Path;

use likewise_study::Recipe;

use crate::args::Fit;
use crate::config;
use crate::context::Context;
use crate::failure::Failure;

/// The recipe that is chosen by the labels at hand.
const AUTO: &str = "auto";

/// Whether the labels at hand choose the recipe.
pub(super) fn chooses(args: &Fit, at: &Context) -> Result<bool, Failure> {
    let has_table = match &at.common.config {
        Some(path) => config::read(path)?.contains_key("recipe"),
        None => false,
    };
    let has_tuples = args.pairs.is_some() || !args.triplets.is_empty();
    let own = has_table || args.epochs.is_some();
    let several = args.several.separator().is_some();
    match args.recipe.as_deref() {
        Some(AUTO) if several => Err(Failure::usage(
            "--recipe auto: the recipes that it chooses from go by one label an item; with --multi-label \
             name one, such as contextual or proxy-anchor",
        )),
        None if several => Ok(false),
        None => Ok(!own && !has_tuples),
        Some(AUTO) if own || has_tuples => Err(Failure::usage(
            "--recipe auto: recipes that are compared keep their own settings and learn from \
             labels; name one of them to set epochs or a [recipe] table, or to give tuples",
        )),
        Some(name) => Ok(name == AUTO),
    }
}

/// The recipe that searches across views, where one is named; a fit that is made `again` names none.
pub(super) fn across(args: &Fit, again: bool, at: &Context) -> Result<Option<Recipe>, Failure> {
    let recipe = if again {
        None
    } else {
        recipe_across(args, at)?
    };
    if recipe.is_none() && args.label_fraction.is_some() {
        return Err(Failure::usage(
            "--label-fraction goes with the recipes across views (likewise explain gsph); keep labels \
             with --labels-per-class",
        ));
    }
    Ok(recipe)
}

/// The recipe, where its learner is one across views.
fn recipe_across(args: &Fit, at: &Context) -> Result<Option<Recipe>, Failure> {
    let named = match args.recipe.as_deref() {
        None | Some(AUTO) => return Ok(None),
        Some(name) if Path::new(name).extension().is_some_and(|e| e == "toml") => {
            Recipe::read(Path::new(name))
        }
        Some(name) => Recipe::named(name),
    };
    // What is wrong with another recipe is said where it is used.
    match named {
        Ok(recipe) if recipe.learner.cross().is_some() => {
            Ok(Some(self::recipe(args, usize::MAX, at)?))
        }
        _ => Ok(None),
    }
}

/// The recipe by name or file, with the choices of the config file's `[recipe]` table.
/// Fails on a file that asks for more directions than there are `columns`.
pub(super) fn recipe(args: &Fit, columns: usize, at: &Context) -> Result<Recipe, Failure> {
    let mut recipe = match &args.recipe {
        // Where nothing can be chosen by.
        _ if chooses(args, at)? => Recipe::mild_probabilities(),
        None if args.several.separator().is_some() => Recipe::named("contextual")?,
        None if args.pairs.is_some() => Recipe::label_rca(),
        None if !args.triplets.is_empty() => Recipe::named("triplet")?,
        None => Recipe::default(),
        Some(name) if Path::new(name).extension().is_some_and(|e| e == "toml") => {
            let path = Path::new(name);
            let recipe = Recipe::read(path)?;
            let fits = recipe.check_rank(&config::read(path)?, columns);
            fits.map_err(|e| e.within(path.display()))?;
            recipe
        }
        Some(name) => Recipe::named(name)?,
    };
    if let Some(path) = &at.common.config
        && let Some(toml::Value::Table(own)) = config::read(path)?.get("recipe")
    {
        let place = format!("{}: [recipe]", path.display());
        let broken = |e| Failure::usage(format!("{place}: {e}"));
        let before = recipe.clone();
        recipe = recipe.with(own.clone()).map_err(broken)?;
        // What differs from a preset must not go by its name in a table.
        if recipe != before && recipe.name == before.name {
            recipe.name.push_str(" (changed)");
        }
        let fits = recipe.check_rank(own, columns);
        fits.map_err(|e| e.within(&place))?;
    }
    if let Some(epochs) = args.epochs {
        recipe.set_epochs(epochs)?;
    }
    if let Some(k) = args.k {
        recipe.set_neighbors(k)?;
    }
    if let Some(encoder) = recipe.encoder_mut() {
        let images = &args.data.images;
        encoder.squeeze |= images.squeeze;
        if let (Some(asked), Some(own)) = (images.side, encoder.side)
            && asked != own
        {
            return Err(Failure::usage(format!(
                "--side {asked}, but {own} is the side of the recipe's encoder; give one of them"
            )));
        }
        encoder.side = images.side.or(encoder.side);
    }
    recipe.validate()?;
    Ok(recipe)
}
