//! The rows of a study: the recipe and its baselines.

/// How a row is called in tables.
pub fn row_title(key: &str) -> &str {
    match key {
        "raw" => "raw features",
        "whitened" => "whitened, no labels",
        "labels_only" => "labels only",
        "all_labels" => "all labels (oracle)",
        other => other,
    }
}
