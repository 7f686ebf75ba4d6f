//! Descriptors made ready: those of points get their words.

use image::RgbImage;
use likewise::Monitor;
use ndarray::Array2;

use super::describer::Describer;
use super::each::each;
use crate::descriptor::{Descriptor, Kind};
use crate::load::listed;
use crate::words::Words;
use crate::{ImageFolder, Result};

/// The descriptors, ready to [`describe`](super::describe): those of points with words that are learned from the
/// images at `training`, places in the folder's list, and from no others.
///
/// Every training image is decoded once for all descriptors of points. Fails on parameters out
/// of their range, on a place that is not in the folder, at the first image that cannot be
/// read (with `skip_bad` such are left out, with a warning), where no training image has a point,
/// and if `monitor` is cancelled. Memory: the sampled points, 100,000 of each descriptor.
pub fn describers(
    folder: &ImageFolder,
    descriptors: &[Descriptor],
    words: &Words,
    training: &[usize],
    skip_bad: bool,
    monitor: &Monitor,
) -> Result<Vec<Describer>> {
    words.validate()?;
    if let Some(&wrong) = training.iter().find(|&&item| item >= folder.len()) {
        let rule = format!("must be below the number of images, {}", folder.len());
        return Err(likewise::Error::parameter("training", wrong, &rule).into());
    }
    let mut local = Vec::new();
    for descriptor in descriptors {
        descriptor.validate()?;
        if let Kind::Local(found) = descriptor.kind() {
            local.push(found);
        }
    }
    let mut samples: Vec<Vec<Array2<f32>>> = vec![Vec::new(); local.len()];
    if !local.is_empty() {
        let images = words.images_of(training);
        let find = |item: usize, image: &RgbImage| -> Vec<Array2<f32>> {
            let rows = local.iter().map(|local| local.find(image).rows);
            rows.map(|rows| words.points_of(rows, images.len(), &folder.ids()[item]))
                .collect()
        };
        let beside = local.iter().map(|local| local.held_per_pixel()).max();
        let skipped = each(
            folder,
            (&images, beside.unwrap_or(0)),
            skip_bad,
            monitor,
            "find points",
            find,
            |_, found| {
                for (sample, rows) in samples.iter_mut().zip(found) {
                    sample.push(rows);
                }
            },
        )?;
        if !skipped.is_empty() {
            monitor.warn(listed(&skipped));
        }
    }
    let mut samples = samples.into_iter();
    let ready = descriptors.iter().map(|descriptor| {
        let Kind::Local(local) = descriptor.kind() else {
            return Ok(Describer::Whole(descriptor.clone()));
        };
        let sample = samples.next().unwrap_or_default();
        let n = sample.iter().map(Array2::nrows).sum();
        let mut points = Array2::zeros((n, local.dimensions()));
        let mut first = 0;
        for rows in sample {
            let to = ndarray::s![first..first + rows.nrows(), ..];
            points.slice_mut(to).assign(&rows);
            first += rows.nrows();
        }
        let learned = words.learn(descriptor, points.view(), monitor)?;
        Ok(Describer::Words(learned))
    });
    ready.collect()
}
