//! `likewise embed`

use std::path::Path;

use likewise_nn::Model;
use ndarray::Array2;
use serde::Serialize;

use super::Context;
use crate::args::{Embed, Images};
use crate::data;
use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::images;
use crate::output;
use crate::run_folder::RunFolder;

#[derive(Serialize)]
struct Answer {
    items: usize,
    dimensions: usize,
}

pub(crate) fn run(args: &Embed, at: &Context) -> Result<(), Failure> {
    data::not_an_input(Some(&args.out), &[Some(args.data.path())])?;
    output::beside(Some(&args.out));
    let run = RunFolder::open(&args.run)?;
    let flags = &args.data.images;
    let (_, embeddings) = embedded(&run, args.data.path(), args.data.view.as_deref(), flags, at)?;
    likewise_io::write_npy(&args.out, embeddings.view())?;
    let answer = Answer {
        items: embeddings.nrows(),
        dimensions: embeddings.ncols(),
    };
    if at.common.json {
        return output::json(&answer);
    }
    output::line(format!(
        "{} items, {} dimensions",
        answer.items, answer.dimensions
    ))
}

/// Ids of the data at `path`, and their embeddings by the model of a run.
pub(super) fn embedded(
    run: &RunFolder,
    path: &Path,
    view: Option<&str>,
    flags: &Images,
    at: &Context,
) -> Result<(Vec<String>, Array2<f32>), Failure> {
    let (model, config) = (run.model()?, run.config()?);
    let shape = data::inspect(path, view, flags, at)?;
    let n = shape.items as f64;
    let columns: f64 = shape.views.iter().map(|&(_, d)| d as f64).sum();
    // The features, a copy of the view, and the embeddings.
    let needed = Estimate::new().resident(8.0 * n * columns);
    let needed = needed.resident(4.0 * n * embedding_columns(&model));
    needed.check(at)?;
    let within = |e: likewise_nn::Error| Failure::failed(format!("{}: {e}", path.display()));
    if let (Model::Deep(deep), true) = (&model, images::suit(path, flags)?) {
        // A network that was trained reads the images themselves.
        let (images, ids) = images::Trained::open(path, &deep.config, at)?;
        let all: Vec<usize> = (0..ids.len()).collect();
        let rows = deep
            .embed_images(&images, &all, at.device, at.monitor)
            .map_err(within)?;
        return Ok((ids, rows));
    }
    let view = view_for(path, view, flags, &config.view, at)?;
    let collection = data::load_path(path, None, view.as_deref(), flags, at)?;
    let (collection, name) = data::with_view(collection, view.as_deref(), at)?;
    let rows = model.embed(collection.view(Some(&name))?.matrix.view(), at.device);
    Ok((collection.ids().to_vec(), rows.map_err(within)?))
}

fn embedding_columns(model: &Model) -> f64 {
    let columns = match model {
        Model::Head(head) => 2 * head.start.matrix.ncols(),
        Model::Deep(deep) => deep.config.output_dim(),
    };
    columns as f64
}

/// The view to use: the one asked for; else the run's, where the data have several.
/// Images have the one of their encoder, which must be that of the run.
fn view_for(
    path: &Path,
    asked: Option<&str>,
    flags: &Images,
    fitted: &str,
    at: &Context,
) -> Result<Option<String>, Failure> {
    if let Some(name) = asked {
        return Ok(Some(name.to_owned()));
    }
    let shape = data::inspect(path, None, flags, at)?;
    if images::suit(path, flags)? && shape.views[0].0 != fitted {
        return Err(Failure::usage(format!(
            "{}: the run was fitted on view {fitted}, these images give {}; choose the same \
             --encoder and --side, and --squeeze or not",
            path.display(),
            shape.views[0].0
        )));
    }
    let several = shape.views.len() > 1;
    Ok(several.then(|| fitted.to_owned()))
}
