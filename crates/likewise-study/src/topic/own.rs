//! What of this crate can be explained, but for recipes.

likewise::topics! {
    "duplicates", "items that stand more than once", "../duplicates.rs";
    "recipes", "all choices of a run, and the file of them", "../recipe.rs";
}
