//! The table that a run was fitted on: what its model's input is made of.

use std::path::Path;

use likewise::arrays::{Arrays, Values};
use likewise_io::{Layout, Taken};
use likewise_nn::model::Scaled;

use super::views::text_of_python;
use crate::run_folder::RunFolder;
use crate::{Result, failed};

/// The view that the columns of a table are.
const VIEW: &str = "features";
/// Most columns that are named where lines are printed.
const MOST: usize = 20;

/// Columns of a table that become the input of a model.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    /// Names of the features, in their order.
    pub(super) names: Vec<String>,
    /// How they are brought to one scale; none of words and dates alone, and of numbers as they are.
    pub(super) scaled: Option<Scaled>,
    words: bool,
    dates: bool,
}

impl Columns {
    /// Those of a run of one space.
    pub(super) fn of_run(run: &RunFolder, path: &Path) -> Result<Option<Self>> {
        let config = run.config()?;
        let views: Vec<String> = config.view.split('+').map(str::to_owned).collect();
        Self::of(config.table.as_ref(), &views, path)
    }

    /// Those that `views` of a run are made of, which stand side by side; none where it has nothing but plain numbers.
    ///
    /// Fails for what a file of a model cannot do to columns: count letters of texts, and scale one of several views.
    pub(super) fn of(table: Option<&Layout>, views: &[String], run: &Path) -> Result<Option<Self>> {
        let Some(layout) = table.filter(|_| views.iter().any(|view| view == VIEW)) else {
            return Ok(None);
        };
        if layout.is_plain() {
            return Ok(None);
        }
        let embed = "make rows of new items by `likewise embed`";
        let text = |taken: &Taken| matches!(taken, Taken::Text { .. });
        if let Some(column) = layout.columns.iter().find(|column| text(&column.taken)) {
            return Err(failed(format!(
                "{}: the column \"{}\" is text, whose letters only likewise counts; {embed}",
                run.display(),
                column.name
            )));
        }
        if views.len() > 1 {
            return Err(failed(format!(
                "{}: numbers of its table were scaled before they were put beside the other views, and a file of \
                 the model does not do that; {embed}",
                run.display()
            )));
        }
        let mut of = Self {
            names: layout.features(),
            scaled: None,
            words: false,
            dates: false,
        };
        let (mut medians, mut means, mut deviations) = (vec![], vec![], vec![]);
        for column in &layout.columns {
            let (count, [middle, mean, deviation]) = match &column.taken {
                Taken::Number {
                    date,
                    median,
                    mean,
                    deviation,
                } => {
                    of.dates |= date.is_some();
                    (
                        1,
                        [f64::from(median.unwrap_or(f32::NAN)), *mean, *deviation],
                    )
                }
                taken => {
                    of.words = true;
                    (taken.width(), [0.0, 0.0, 1.0])
                }
            };
            medians.extend(vec![middle; count]);
            means.extend(vec![mean; count]);
            deviations.extend(vec![deviation; count]);
        }
        of.scaled = layout.is_scaled().then(|| Scaled {
            median: medians.into(),
            mean: means.into(),
            deviation: deviations.into(),
        });
        Ok(Some(of))
    }

    /// What stands in them, in words.
    pub(super) fn said(&self) -> String {
        let mut said = String::new();
        if self.words {
            said.push_str("; 1 where the word stands and 0 elsewhere");
        }
        if self.dates {
            said.push_str("; dates as days since 2000-01-01");
        }
        if self.scaled.is_some() {
            said.push_str("; NaN where a number is missing; not scaled");
        }
        said
    }

    /// The lines of Python that bring `x` to one scale, by the arrays that are [put](Self::put) into its file; numpy is
    /// there as `np`.
    pub(super) fn in_python(&self) -> &'static str {
        if self.scaled.is_none() {
            return "";
        }
        // The run reads single precision, and deviations of large numbers are less than that tells apart.
        "x = np.asarray(x, \"float32\")\nx = np.where(np.isnan(x), m[\"table.median\"], x)\nx = (x - m[\"table.mean\"]) / m[\"table.deviation\"]"
    }

    /// Puts what scales them among the arrays of a model.
    pub(super) fn put(&self, arrays: &mut Arrays) {
        let Some(scaled) = &self.scaled else {
            return;
        };
        for (name, row) in [
            ("table.median", &scaled.median),
            ("table.mean", &scaled.mean),
            ("table.deviation", &scaled.deviation),
        ] {
            arrays.put(name, &[row.len()], Values::F64(row.to_vec()));
        }
    }

    /// A line of Python that says which columns the input has.
    pub(super) fn comment(&self, x: &str) -> String {
        let few = self.names.iter().take(MOST);
        let few: Vec<String> = few.map(|name| text_of_python(name)).collect();
        let more = match self.names.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more, as `table` of the run's config.json has them"),
        };
        format!(
            "# {x}: float32, a column each of {}{more}{}\n",
            few.join(", "),
            self.said()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(columns: &str) -> Layout {
        serde_json::from_str(&format!("{{\"columns\": [{columns}]}}")).unwrap()
    }

    fn of(layout: &Layout, views: &[&str]) -> Result<Option<Columns>> {
        let views: Vec<String> = views.iter().map(|&view| view.to_owned()).collect();
        Columns::of(Some(layout), &views, Path::new("run"))
    }

    const NUMBER: &str =
        r#"{"name": "w", "kind": "number", "median": 2.0, "mean": 3.0, "deviation": 4.0}"#;
    const WORD: &str = r#"{"name": "c", "kind": "category", "values": ["x", "y"]}"#;

    #[test]
    fn columns_are_told_and_scaled_in_their_order() {
        let of = of(&layout(&format!("{NUMBER}, {WORD}")), &["features"]);
        let of = of.unwrap().unwrap();
        assert_eq!(of.names, ["w", "c = x", "c = y"]);
        let scaled = of.scaled.as_ref().unwrap();
        assert_eq!(scaled.mean.to_vec(), [3.0, 0.0, 0.0]);
        assert_eq!(scaled.deviation.to_vec(), [4.0, 1.0, 1.0]);
        assert_eq!(scaled.median.to_vec(), [2.0, 0.0, 0.0]);
        assert_eq!(
            of.comment("x"),
            "# x: float32, a column each of \"w\", \"c = x\", \"c = y\"; 1 where the word stands and 0 elsewhere; \
             NaN where a number is missing; not scaled\n"
        );
    }

    #[test]
    fn plain_numbers_and_other_views_need_nothing() {
        let plain = layout(r#"{"name": "a", "kind": "number"}"#);
        assert!(of(&plain, &["features"]).unwrap().is_none());
        assert!(of(&layout(NUMBER), &["image"]).unwrap().is_none());
        assert!(
            Columns::of(None, &["features".into()], Path::new("run"))
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn what_a_file_cannot_do_is_refused() {
        let text = layout(r#"{"name": "title", "kind": "text", "dimensions": 256}"#);
        let said = of(&text, &["features"]).unwrap_err().to_string();
        assert!(
            said.contains("\"title\" is text") && said.contains("embed"),
            "{said}"
        );
        let said = of(&layout(NUMBER), &["features", "image"]).unwrap_err();
        assert!(
            said.to_string().contains("beside the other views"),
            "{said}"
        );
    }
}
