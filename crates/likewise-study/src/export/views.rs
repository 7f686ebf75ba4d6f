//! Several views that a run read side by side: what its model takes in.

use likewise_nn::Model;

use crate::Result;
use crate::run_folder::RunFolder;

/// Views side by side, as [`likewise::Collection::joined`] has them; a row of zeros stays one.
const JOINED: &str = "np.hstack([v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12) \
                      for v in views]) / len(views) ** 0.5";

/// The views of a run that stand side by side in what its model reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SideBySide {
    /// Their names, in their order.
    pub(super) names: Vec<String>,
    /// Whether they stand as they are; else each row is of length 1 over the root of their number.
    pub(super) as_they_are: bool,
}

impl SideBySide {
    /// Those of a run; none where it reads one view, or images by a network.
    pub(super) fn of(run: &RunFolder, model: &Model) -> Result<Option<Self>> {
        let config = run.config()?;
        let names: Vec<String> = config.view.split('+').map(str::to_owned).collect();
        // What one encoder made is one view, whatever its name.
        let one = names.len() < 2 || names.contains(&String::new()) || config.encoder.len() == 1;
        if one || matches!(model, Model::Network(_)) {
            return Ok(None);
        }
        Ok(Some(Self {
            names,
            as_they_are: config.recipe.sees_views(),
        }))
    }

    /// Lines of Python that make the input `x` of the matrices in `data`; numpy is there as `np`.
    pub(super) fn in_python(&self, x: &str) -> String {
        let rows = if self.as_they_are {
            "np.hstack(views)"
        } else {
            JOINED
        };
        let names: Vec<String> = self.names.iter().map(|name| text_of_python(name)).collect();
        format!(
            "views = [data[name].astype(\"float32\") for name in [{}]]\n{x} = {rows}\n",
            names.join(", ")
        )
    }
}

/// A text as Python writes it, which reads what JSON does.
pub(super) fn text_of_python(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_names_the_views_in_their_order() {
        let views = |as_they_are| SideBySide {
            names: vec!["zer".into(), "a \u{301}b".into()],
            as_they_are,
        };
        let joined = views(false).in_python("x");
        let (first, second) = joined.split_once('\n').unwrap();
        assert!(
            first.contains("for name in [\"zer\", \"a \u{301}b\"]]"),
            "{joined}"
        );
        assert!(second.starts_with("x = np.hstack([v / "), "{joined}");
        let apart = views(true).in_python("x");
        assert!(apart.ends_with("\nx = np.hstack(views)\n"), "{apart}");
    }
}
