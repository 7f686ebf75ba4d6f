//! Reading what a verb works on, and small values of the command line.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use likewise::{Collection, Labels, Part};
use likewise_io::{ReadOptions, Shape};

use crate::args::{Data, Images};
use crate::failure::Failure;
use crate::images;
use crate::run_folder;
use crate::verb::Context;

/// A number of bytes, written as 500MB, 4GiB or 4G.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = text[digits.len()..].to_ascii_lowercase();
        let factor: f64 = match unit.as_str() {
            "" | "b" => 1.0,
            "kb" => 1e3,
            "k" | "kib" => 1024.0,
            "mb" => 1e6,
            "m" | "mib" => 1024.0 * 1024.0,
            "gb" => 1e9,
            "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
            "tb" => 1e12,
            "t" | "tib" => 1024.0_f64.powi(4),
            _ => {
                return Err(format!(
                    "\"{unit}\" is not a unit; write e.g. 500MB or 4GiB"
                ));
            }
        };
        let number: f64 = digits
            .trim()
            .parse()
            .map_err(|_| format!("\"{text}\" is not a size; write e.g. 500MB or 4GiB"))?;
        if !(number.is_finite() && number > 0.0) {
            return Err("must be above 0".into());
        }
        Ok(Self((number * factor) as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut unit = "B";
        for next in ["KiB", "MiB", "GiB", "TiB"] {
            if value < 1024.0 {
                break;
            }
            value /= 1024.0;
            unit = next;
        }
        write!(f, "{value:.1} {unit}")
    }
}

/// A quality gate: a metric and the least it must reach.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gate {
    metric: String,
    least: f64,
}

/// Metrics that have no k.
const METRICS: [&str; 4] = ["map", "map_at_r", "r_precision", "nmi"];

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = "write METRIC=VALUE, e.g. recall@1=0.8 or map_at_r=0.5";
        let (metric, least) = text.split_once('=').ok_or(rule)?;
        let metric = metric.trim();
        let known = match metric.split_once('@') {
            Some(("recall" | "precision", k)) => k.parse::<std::num::NonZeroUsize>().is_ok(),
            Some(("loss", name)) => !name.is_empty(),
            Some(_) => false,
            None => METRICS.contains(&metric),
        };
        if !known {
            return Err(format!(
                "there is no metric \"{metric}\"; there are recall@K, precision@K, {}",
                METRICS.join(", ")
            ));
        }
        let least = least.parse::<f64>().ok().filter(|v| v.is_finite());
        Ok(Self {
            metric: metric.to_owned(),
            least: least.ok_or(rule)?,
        })
    }
}

impl Gate {
    /// The metric, as it was written.
    pub(crate) fn metric(&self) -> &str {
        &self.metric
    }

    /// Fails with exit code 2 unless the metric will be measured: R@k and P@k at these `ks`,
    /// NMI if so, and these losses. To be asked before the work.
    pub(crate) fn measured(
        &self,
        ks: &[usize],
        nmi: bool,
        losses: &[String],
    ) -> Result<(), Failure> {
        let will_be = match self.metric.split_once('@') {
            Some(("loss", name)) => losses.iter().any(|loss| loss == name),
            Some((_, k)) => k.parse().is_ok_and(|k| ks.contains(&k)),
            None => nmi || self.metric != "nmi",
        };
        if will_be {
            return Ok(());
        }
        let ks: Vec<String> = ks.iter().map(usize::to_string).collect();
        let mut others = String::new();
        if nmi {
            others.push_str(", nmi");
        }
        for loss in losses {
            others.extend([", loss@", loss]);
        }
        Err(Failure::usage(format!(
            "--gate {}: this is not measured here; measured are recall@K and precision@K with K \
             of {}, map, map_at_r, r_precision{others}",
            self.metric,
            ks.join(", "),
        )))
    }

    /// Fails with exit code 3 if the metric is below the gate, 2 if there is none such.
    pub(crate) fn check(&self, summary: &serde_json::Value) -> Result<(), Failure> {
        let value = self.value(summary)?;
        if value < self.least {
            return Err(Failure::gate(format!(
                "quality gate missed: {} is {value:.4}, the gate is {}",
                self.metric, self.least
            )));
        }
        Ok(())
    }

    /// The value of the metric; fails with exit code 2 if there is none.
    pub(crate) fn value(&self, summary: &serde_json::Value) -> Result<f64, Failure> {
        let value = match self.metric.split_once('@') {
            Some((family, k)) => &summary[family][k],
            None => &summary[&self.metric],
        };
        value.as_f64().ok_or_else(|| {
            Failure::usage(format!(
                "--gate {}: no such metric was measured; there are recall@K, precision@K, {}",
                self.metric,
                METRICS.join(", ")
            ))
        })
    }
}

/// Reads the data of a verb, warning of what it could not use.
pub(crate) fn load(data: &Data, at: &Context) -> Result<Collection, Failure> {
    load_path(
        data.path(),
        data.labels.as_deref(),
        data.view.as_deref(),
        &data.images,
        at,
    )
}

/// The features in their file, where it can be mapped: an .npy of `f32` without labels of
/// its own.
pub(crate) fn mapped(data: &Data) -> Result<Option<likewise_io::Mapped>, Failure> {
    let npy = data
        .path()
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("npy"));
    if !npy || data.labels.is_some() || data.view.is_some() {
        return Ok(None);
    }
    Ok(likewise_io::Mapped::npy(data.path())?)
}

/// As [`load`], from its parts.
pub(crate) fn load_path(
    path: &Path,
    labels: Option<&Path>,
    view: Option<&str>,
    flags: &Images,
    at: &Context,
) -> Result<Collection, Failure> {
    if images::suit(path, flags)? {
        return images::load(path, labels, flags, at);
    }
    let options = ReadOptions {
        labels: labels.map(Path::to_owned),
        ..options(view, at)
    };
    Ok(likewise_io::read(path, &options, at.monitor)?)
}

/// Looks at the data without reading the features.
pub(crate) fn inspect(
    path: &Path,
    view: Option<&str>,
    flags: &Images,
    at: &Context,
) -> Result<Shape, Failure> {
    if images::suit(path, flags)? {
        return images::shape(path, flags, at);
    }
    Ok(likewise_io::inspect(path, &options(view, at))?)
}

/// What is wrong with a text in TOML, on one line.
pub(crate) fn wrong_toml(e: &toml::de::Error, text: &str) -> String {
    let line = e.span().map_or(1, |span| {
        text.get(..span.start)
            .map_or(0, |before| before.matches('\n').count())
            + 1
    });
    format!("line {line}: {}", e.message().trim_end())
}

/// Longest text that is read as a recipe, a configuration or an experiment, bytes.
pub(crate) const MOST_TEXT: u64 = 16 << 20;

/// Refuses an output that is one of the inputs, which would be gone.
pub(crate) fn not_an_input(out: Option<&Path>, inputs: &[Option<&Path>]) -> Result<(), Failure> {
    let Some(out) = out else { return Ok(()) };
    if run_folder::is_part(out) {
        return Err(Failure::usage(format!(
            "{}: this belongs to the run in its folder; name another file",
            out.display()
        )));
    }
    for input in inputs.iter().flatten() {
        if likewise_io::atomic::same_file(out, input) {
            return Err(Failure::usage(format!(
                "{}: this is read, so it cannot be written too; name another file",
                out.display()
            )));
        }
    }
    Ok(())
}

fn options(view: Option<&str>, at: &Context) -> ReadOptions {
    ReadOptions {
        labels: None,
        view: view.map(str::to_owned),
        max_memory: at.common.max_memory.map(|b| b.0),
    }
}

/// The items that have the view, and its name; says how many had to be left out.
pub(crate) fn with_view(
    collection: Collection,
    name: Option<&str>,
    at: &Context,
) -> Result<(Collection, String), Failure> {
    let (part, name) = part_with_view(&collection, name, at)?;
    let part = match part {
        Cow::Owned(part) => Some(part),
        Cow::Borrowed(_) => None,
    };
    Ok((part.unwrap_or(collection), name))
}

/// The same, without a copy where all items have the view.
pub(crate) fn part_with_view<'a>(
    collection: &'a Collection,
    name: Option<&str>,
    at: &Context,
) -> Result<(Cow<'a, Collection>, String), Failure> {
    let view = collection.view(name)?;
    let name = view.name.clone();
    let present = view.present.as_deref().unwrap_or_default();
    let missing = present.iter().filter(|present| !**present).count();
    if missing == 0 {
        return Ok((Cow::Borrowed(collection), name));
    }
    let rows: Vec<usize> = (0..present.len()).filter(|&i| present[i]).collect();
    at.monitor.warn(format!(
        "{missing} items have no view {name} and are left out"
    ));
    Ok((Cow::Owned(collection.select(&rows)), name))
}

/// The labels, or a message that says how to give some.
pub(crate) fn labels(collection: &Collection) -> Result<&Labels, Failure> {
    let none = "the data hold no labels; give some with --labels FILE (csv with id,label, or .npy)";
    let labels = collection
        .labels
        .as_ref()
        .ok_or_else(|| Failure::failed(none))?;
    if labels.n_known() == 0 {
        return Err(Failure::failed(none));
    }
    Ok(labels)
}

/// The labels that may be used: of the training part if there is a split, and `per_class`
/// of each class if others are to be hidden.
pub(crate) fn visible(collection: &Collection, per_class: Option<usize>, seed: u64) -> Labels {
    let Some(labels) = &collection.labels else {
        return Labels::unknown(collection.len());
    };
    let tests = |part: Part| matches!(part, Part::Test | Part::Query | Part::Gallery);
    match (&collection.split, per_class) {
        (Some(parts), Some(m)) => labels.masked(|i| parts[i] == Part::Train).draw(m, seed),
        // The labels of a test part only measure.
        (Some(parts), None) => labels.masked(|i| !tests(parts[i])),
        (None, Some(m)) => labels.draw(m, seed),
        (None, None) => labels.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!("4GiB".parse(), Ok(Bytes(4 << 30)));
        assert_eq!("1.5k".parse(), Ok(Bytes(1536)));
        assert_eq!("500MB".parse(), Ok(Bytes(500_000_000)));
        assert_eq!("7".parse(), Ok(Bytes(7)));
        for wrong in ["", "GiB", "4 furlongs", "-1G", "0"] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
    }

    #[test]
    fn labels_of_a_test_part_are_not_spread() {
        let view = likewise::View {
            name: "x".into(),
            matrix: ndarray::Array2::zeros((5, 1)),
            present: None,
        };
        let ids = (0..5).map(|i| i.to_string()).collect();
        let mut data = Collection::new(ids, vec![view]).unwrap();
        data.labels = Some(Labels::from_integers([0, 0, 1, 1, 0]));
        let known = |data: &Collection, m: Option<usize>| -> Vec<usize> {
            let shown = visible(data, m, 0);
            (0..5).filter(|&i| shown[i].class().is_some()).collect()
        };
        assert_eq!(known(&data, None), [0, 1, 2, 3, 4]);
        data.split = Some(vec![
            Part::Train,
            Part::Validation,
            Part::Test,
            Part::Query,
            Part::Gallery,
        ]);
        assert_eq!(known(&data, None), [0, 1]);
        assert_eq!(known(&data, Some(1)), [0]);
    }

    #[test]
    fn gates_know_metrics_with_and_without_k() {
        let summary = serde_json::json!({"recall": {"1": 0.5}, "map": 0.25});
        let gate = |text: &str| text.parse::<Gate>().unwrap().check(&summary);
        assert!(gate("recall@1=0.5").is_ok());
        assert!(gate("map=0.2").is_ok());
        assert!(gate("map=0.3").is_err());
        assert!(gate("recall@3=0.3").is_err());
        assert!("map".parse::<Gate>().is_err());
    }

    #[test]
    fn gates_that_nothing_will_answer_are_refused_beforehand() {
        for wrong in [
            "recal@1=0.5",
            "recall@x=0.5",
            "recall@0=1",
            "recall=0.5",
            "n_queries=1",
        ] {
            assert!(wrong.parse::<Gate>().is_err(), "{wrong}");
        }
        let losses = ["triplet".to_owned()];
        let asks = |text: &str| {
            let gate = text.parse::<Gate>().unwrap();
            gate.measured(&[1, 2], false, &losses).is_ok()
        };
        assert!(asks("recall@2=0.5") && asks("precision@1=0.5") && asks("map=0.1"));
        assert!(asks("loss@triplet=0.1"));
        assert!(!asks("recall@3=0.5") && !asks("nmi=0.1") && !asks("loss@nt-xent=0.1"));
    }
}
