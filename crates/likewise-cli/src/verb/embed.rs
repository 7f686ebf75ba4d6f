//! `likewise embed`

use serde::Serialize;

use super::Context;
use crate::args::{Embed, Images};
use crate::data;
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
    let run = RunFolder::open(&args.run)?;
    let model = run.model()?;
    let config = run.config()?;
    let path = args.data.path();
    let view = view_for(
        path,
        args.data.view.as_deref(),
        &args.data.images,
        &config.view,
        at,
    )?;
    let collection = data::load_path(path, None, view.as_deref(), &args.data.images, at)?;
    let (collection, name) = data::with_view(collection, view.as_deref(), at)?;
    let embeddings = model
        .embed(collection.view(Some(&name))?.matrix.view())
        .map_err(|e| Failure::failed(format!("{}: {e}", path.display())))?;
    likewise_io::write_npy(&args.out, embeddings.view())?;
    let answer = Answer {
        items: collection.len(),
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

/// The view to use: the one asked for; else the run's, where the data have several.
/// Images have the one of their encoder, which must be that of the run.
pub(super) fn view_for(
    path: &std::path::Path,
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
             --encoder",
            path.display(),
            shape.views[0].0
        )));
    }
    let several = shape.views.len() > 1;
    Ok(several.then(|| fitted.to_owned()))
}
