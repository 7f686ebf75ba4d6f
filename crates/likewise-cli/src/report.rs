//! placeholder, replaced by the merge
use likewise::Collection;
use likewise_nn::study::{Results, Study};
use ndarray::ArrayView2;
#[derive(Clone, Copy)]
pub(crate) struct Thumbnails<'a> {
    pub(crate) pixels: ArrayView2<'a, f32>,
    pub(crate) width: usize,
    pub(crate) height: usize,
}
pub(crate) fn html(
    _: &Study,
    _: &Collection,
    _: ArrayView2<f32>,
    _: Option<Thumbnails>,
    _: &str,
    _: Option<&Results>,
) -> Result<String, likewise_nn::Error> {
    Ok(String::new())
}
