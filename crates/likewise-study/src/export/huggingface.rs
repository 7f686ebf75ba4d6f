//! A folder as Hugging Face has it: the model, its card, and the lines that load it.

use std::io::Write;
use std::path::Path;

use likewise::matrix::Reading;
use likewise::model::{Form, Joined, LearnedMetric, Model as Closed};
use likewise_io::atomic;
use likewise_nn::Model;
use likewise_nn::net::{Head, Residual};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::columns::Columns;
use super::files::compared;
use super::folder;
use super::report::{Report, lines};
use super::views::SideBySide;
use crate::run_folder::{AcrossFolder, RunFolder};
use crate::{Result, card, failed, no_json, usage};

/// What the folder may hold.
const FILES: [&str; 4] = [
    "README.md",
    "config.json",
    "model.onnx",
    "model.safetensors",
];

/// What `config.json` says of whose model it is.
const MODEL_TYPE: &str = "likewise";

/// The unit rows that most models end in.
const UNIT: &str =
    "unit = lambda v: v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12)";

/// Writes the folder: `README.md` (the model card, with metadata and the lines of Python that embed),
/// `config.json`, `model.safetensors`, and `model.onnx` where it is a network.
///
/// Of the data there is the name of their file and a digest, and nothing of the items. Fails for a
/// run across views, for a model that compares items itself, and where something else stands at `out`.
pub fn write(run: &Path, overwrite: bool, out: &Path) -> Result<Report> {
    if AcrossFolder::is_one(run) {
        return Err(usage(format!(
            "{}: a run across views has an encoder for each; export them as ONNX, one at a time",
            run.display()
        )));
    }
    RunFolder::read_by(run, |folder| of_run(folder, run, overwrite, out))
}

fn of_run(run: &RunFolder, path: &Path, overwrite: bool, out: &Path) -> Result<Report> {
    let model = run.model()?;
    let of = Input {
        views: SideBySide::of(run, &model)?,
        columns: Columns::of_run(run, path)?,
    };
    let python = in_python(&model, &of).ok_or_else(|| {
        failed(format!(
            "{}: its model compares items itself, which needs likewise; there is nothing to embed with",
            path.display()
        ))
    })?;
    let file = run.file("model.safetensors");
    let bytes = likewise_io::read_file(&file, likewise_io::memory::allowed(None))?;
    let config = config(run, &model, &of, &bytes)?;
    let card = card(run, &model, &of, &python)?;
    let bytes = with_arrays(&model, &of, bytes)?;
    let onnx = match &model {
        Model::Network(_) => Some(model.to_onnx(None).map_err(|e| e.within(path.display()))?),
        _ => None,
    };
    folder::fill(out, &FILES, overwrite, &is_own, |new| {
        let put = |name: &str, bytes: &[u8]| {
            atomic::write(new.join(name), |file| Ok(file.write_all(bytes)?))
        };
        put("model.safetensors", &bytes)?;
        put("config.json", config.as_bytes())?;
        if let Some(onnx) = &onnx {
            put("model.onnx", onnx)?;
        }
        Ok(put("README.md", card.as_bytes())?)
    })?;
    Ok(Report {
        target: "huggingface",
        to: out.display().to_string(),
        items: None,
        written: None,
        counted: None,
        dimensions: model.output_dim(),
        compared: compared(&model),
        recall: None,
        usage: lines(&python),
    })
}

/// Whether a folder was written here, by what its `config.json` says: every model of Hugging Face has files of
/// these names.
fn is_own(folder: &Path) -> bool {
    let text = likewise_io::read_file(folder.join("config.json"), crate::text::MOST);
    let own: Option<Own> = text
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    own.is_some_and(|own| own.model_type == MODEL_TYPE)
}

/// What a `config.json` says that was written here, among others.
#[derive(Deserialize)]
struct Own {
    model_type: String,
    #[serde(rename = "likewise_version")]
    _version: String,
}

/// The name of the map of a learned metric among the arrays of its file.
const TRANSFORM: &str = "transform";

/// A metric that was learned as a matrix, and is embedded by a root of it.
fn rooted(model: &Model) -> Option<&LearnedMetric> {
    match model {
        Model::Closed(Closed::Metric(of)) if matches!(of.form, Form::Mahalanobis(_)) => Some(of),
        _ => None,
    }
}

/// The file of a model, with what its lines of Python need beside it: what scales the columns of its table, and the
/// very root of its matrix where it has one, since rows by another root have the same distances among
/// themselves, and other ones from the rows of the run.
fn with_arrays(model: &Model, of: &Input, bytes: Vec<u8>) -> Result<Vec<u8>> {
    let (metric, columns) = (rooted(model), &of.columns);
    if metric.is_none() && columns.is_none() {
        return Ok(bytes);
    }
    let (mut arrays, metadata) = likewise_io::arrays::from_safetensors(&bytes)?;
    if let Some(metric) = metric {
        arrays.put_matrix(TRANSFORM, &metric.map().matrix.reversed_axes());
    }
    if let Some(columns) = columns {
        columns.put(&mut arrays);
    }
    Ok(likewise_io::arrays::to_safetensors(&arrays, &metadata)?)
}

fn config(run: &RunFolder, model: &Model, of: &Input, bytes: &[u8]) -> Result<String> {
    let (_, metadata) = likewise_io::arrays::from_safetensors(bytes)?;
    let none = || failed("model.safetensors: broken: it does not say what model it is");
    // As the model wrote it: nothing here looks into it.
    let kind: &RawValue =
        serde_json::from_str(metadata.get("model").ok_or_else(none)?).map_err(no_json)?;
    let own = run.config()?;
    let mut config = json!({
        "model_type": MODEL_TYPE,
        "likewise_version": own.version,
        "recipe": own.recipe.name,
        "model": kind,
        "input_dim": model.input_dim(),
        "output_dim": model.output_dim(),
        "similarity": compared(model),
    });
    if let Some(views) = &of.views {
        config["views"] = json!(views.names);
    }
    if let Some(columns) = &of.columns {
        config["features"] = json!(columns.names);
    }
    Ok(serde_json::to_string_pretty(&config).map_err(no_json)? + "\n")
}

fn card(run: &RunFolder, model: &Model, of: &Input, python: &str) -> Result<String> {
    let (record, config) = (run.record()?, run.config()?);
    // Where it lies on this machine is nobody's business.
    let name = Path::new(&record.data).file_name();
    let data = name.map_or_else(|| record.data.clone(), |name| name.display().to_string());
    let origin = card::Origin {
        recipe: &config.recipe,
        data: &data,
        sha256: &record.data_sha256,
        seed: record.seed,
    };
    let task = match model {
        Model::Network(_) => "image-feature-extraction",
        _ => "feature-extraction",
    };
    let x = input(model, of);
    let card = card::text(&origin, model, &run.metrics()?);
    Ok(format!(
        "---\nlibrary_name: likewise\npipeline_tag: {task}\ntags:\n- likewise\n- metric-learning\n\
         - retrieval\n---\n\n{card}\n## Use\n\n{x}\n\n```python\n{python}\n```\n"
    ))
}

/// What `x` is made of.
struct Input {
    views: Option<SideBySide>,
    columns: Option<Columns>,
}

/// What `x` is, in words.
fn input(model: &Model, of: &Input) -> String {
    let mut said = match (model, &of.views, &of.columns) {
        (Model::Network(_), ..) => {
            "`x` are images, float32, items x channels x height x width, pixels of 0 to 255."
                .to_owned()
        }
        (_, Some(views), _) => {
            let rows = if views.as_they_are {
                "as they are"
            } else {
                "each row of length 1 over the root of their number"
            };
            format!(
                "`x` are the views `{}` side by side, in this order, {rows}; `data` has the matrix of each \
                 by its name, as `numpy.load` gives it.",
                views.names.join("`, `")
            )
        }
        (_, None, Some(columns)) => format!(
            "`x` are numbers, items x columns: those that `config.json` names as `features`, in this order{}.",
            columns.said()
        ),
        _ => "`x` are features, items x columns, of the kind that it was fitted on.".to_owned(),
    };
    if rooted(model).is_some() {
        said.push_str(" `transform` is the L that the run itself embeds by.");
    }
    said
}

/// Lines of Python that make embeddings `z` of features `x`; none where numpy alone cannot.
fn in_python(model: &Model, of: &Input) -> Option<String> {
    let steps = match model {
        Model::Network(_) => {
            return Some(
                "import onnxruntime\n\
                 model = onnxruntime.InferenceSession(\"model.onnx\")\n\
                 z = model.run([\"embedding\"], {\"input\": x})[0]"
                    .into(),
            );
        }
        Model::Head(head) => of_head(head),
        Model::Closed(closed) => closed_form(closed)?,
    };
    let load = "import numpy as np\nfrom safetensors.numpy import load_file\n\
                m = load_file(\"model.safetensors\")";
    let unit = if steps.contains("unit(") { UNIT } else { "" };
    let input = (of.views.as_ref()).map_or_else(String::new, |views| views.in_python("x"));
    let scaled = of.columns.as_ref().map_or("", Columns::in_python);
    let parts = [load, unit, input.trim_end(), scaled, &steps];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Some(parts.join("\n"))
}

fn reading(of: Reading) -> String {
    let mut read = String::new();
    if of.power < 1.0 {
        read = format!("x = np.sign(x) * np.abs(x) ** {}\n", of.power);
    }
    if of.unit {
        read.push_str("x = unit(x)\n");
    }
    read
}

const CENTERED: &str = "c = (x - m[\"start.mean\"]) * m.get(\"start.scale\", 1)\n";

fn closed_form(model: &Closed) -> Option<String> {
    Some(match model {
        Closed::Linear(of) => format!(
            "{}z = unit((x - m[\"start.mean\"]) @ m[\"start.matrix\"])",
            reading(of.reading)
        ),
        Closed::Metric(of) => {
            let read = reading(of.reading);
            format!("{read}z = (x - m.get(\"mean\", 0)) @ m[\"{TRANSFORM}\"].T")
        }
        Closed::Bilinear(of) => format!(
            "{}z = x - m.get(\"mean\", 0)      # the similarity of q and x is q's row of z @ bilinear, times x's row of z\n\
             asking = z @ m[\"bilinear\"]",
            reading(of.reading)
        ),
        Closed::Probabilities(of) => {
            let logits = "p = c @ m[\"logits.matrix\"] + m[\"logits.bias\"]\n\
                          p = np.exp(p - p.max(axis=1, keepdims=True))\n";
            let probabilities = format!("np.sqrt({} * p / p.sum(axis=1, keepdims=True))", of.share);
            let rest = of.rest().sqrt();
            let discriminants = of
                .discriminants
                .is_some()
                .then(|| format!("{rest} * unit(c @ m[\"discriminants\"])"));
            let features = of.features.then(|| format!("{rest} * unit(c)"));
            let (logits, parts) = match of.share {
                share if share <= 0.0 => ("", [None, discriminants, features]),
                share if share >= 1.0 => (logits, [Some(probabilities), None, None]),
                _ => (logits, [Some(probabilities), discriminants, features]),
            };
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            let rows = format!("z = unit(np.hstack([{}]))", parts.join(", "));
            [&reading(of.reading), CENTERED, logits, &rows].concat()
        }
        Closed::Joined(of) => joined(of)?,
        Closed::Hashed(of) => {
            let h = of.bits() as f64;
            let bit = ((h + 1.0) / (h + 2.0) / h).sqrt();
            let share = (h + 2.0).recip().sqrt();
            [
                &reading(of.reading),
                CENTERED,
                "code = np.where(c @ m[\"latent.matrix\"] + m[\"latent.bias\"] >= 0, 1, -1)\n",
                &format!("z = unit(np.hstack([{bit} * code, {share} * unit(c)]))"),
            ]
            .concat()
        }
        Closed::Scored(_) => return None,
    })
}

/// Each part by its own lines, on its own tensors.
fn joined(of: &Joined<Closed>) -> Option<String> {
    let mut all = vec!["features, tensors, parts = x, m, []".to_owned()];
    for (place, (part, share)) in of.parts().iter().enumerate() {
        let own = format!(
            "n.split(\".\", 1)[1]: t for n, t in tensors.items() if n.startswith(\"{place}.\")"
        );
        all.push(format!("x, m = features, {{{own}}}"));
        all.push(closed_form(part)?);
        all.push(format!("parts.append({} * z)", share.sqrt()));
    }
    all.push("z = np.hstack(parts)".to_owned());
    Some(all.join("\n"))
}

fn of_head(head: &Head) -> String {
    let start = format!(
        "{}s = unit((x - m[\"start.mean\"]) @ m[\"start.matrix\"])\n",
        reading(head.reading)
    );
    let rank = head.start.matrix.ncols();
    let inner = match head.config.residual {
        _ if !head.residual.contains_key("output.weight") => "h = s\n".to_owned(),
        Residual::Orthogonal { .. } => "h = unit(s @ m[\"residual.output.weight\"])\n".to_owned(),
        Residual::Linear => format!(
            "h = {rank} ** 0.5 * s @ m[\"residual.output.weight\"]\n\
             h[:, :{rank}] += s\nh = unit(h)\n"
        ),
        Residual::Mlp { .. } => format!(
            "h = np.maximum({rank} ** 0.5 * s @ m[\"residual.input.weight\"] + m[\"residual.input.bias\"], 0) \
             @ m[\"residual.output.weight\"]\n\
             h[:, :{rank}] += s\nh = unit(h)\n"
        ),
    };
    let behind = match head.residual.get("map") {
        Some(_) => "h = unit(h @ m[\"residual.map\"])\n",
        None => "",
    };
    let keep = head.config.keep;
    let rows = if keep == 0.0 {
        "z = h".to_owned()
    } else {
        format!(
            "z = np.hstack([{} * s, {} * h])",
            keep.sqrt(),
            (1.0 - keep).sqrt()
        )
    };
    [&start, &inner, behind, &rows].concat()
}
