//! Small pictures of the items.

use likewise_study::source::Photos;

use crate::open::PIXELS;
use crate::problem::{Answered, Problem};

/// The picture of an item as a PNG, no edge longer than `edge`.
///
/// The id is that of an item of the run, never of a request; one that leads out of the folder of the data has
/// no picture, and neither has one of more pixels than an image that asks may have.
pub(crate) fn small(photos: &Photos, id: &str, edge: usize) -> Answered<Vec<u8>> {
    let missing = || Problem::missing("this item has no picture");
    let leads_out = std::path::Path::new(id)
        .components()
        .any(|part| !matches!(part, std::path::Component::Normal(_)));
    if leads_out {
        return Err(missing());
    }
    let (width, height, pixels) = photos.small(id, edge, PIXELS).map_err(|_| missing())?;
    encode(width, height, &pixels)
        .map_err(|e| Problem::internal(format!("the picture cannot be written: {e}")))
}

fn encode(width: usize, height: usize, pixels: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}
