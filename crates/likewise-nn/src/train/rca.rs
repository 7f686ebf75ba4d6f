//! Relevant component analysis in the place of training: every epoch is one fit in closed form,
//! from what the epoch before made the targets.

use std::path::PathBuf;

use likewise::Monitor;
use likewise::eval::whitening::Whitening;
use likewise::linear::Rca;
use likewise::matrix::select_rows;

use super::{Models, Score, Targets, Task, Trained, finished, note, open_log, record};
use crate::net::{Head, Model};
use crate::{Error, ErrorKind, Result};

/// As [`train`](super::train). There is nothing to resume: an epoch is a fit.
pub(super) fn train(
    task: &Task,
    rca: Rca,
    mut targets: impl FnMut(usize, &Models) -> Result<Targets>,
    score: impl Fn(Option<&Model>) -> Result<Option<Score>>,
    log: Option<PathBuf>,
    monitor: &Monitor,
) -> Result<Trained> {
    let rotated =
        (task.rotated).ok_or_else(|| Error::new(ErrorKind::Internal, "no features to analyse"))?;
    let features = select_rows(rotated.features, task.items);
    let features = task.recipe.head.powered(features);
    let rows = rotated.map.transform(features.view())?;
    drop(features);
    let fit = |targets: &Targets| -> Result<Head> {
        let map = rca.fit_weighted(rows.view(), &targets.class, &targets.weight)?;
        Ok(Head {
            config: task.recipe.head,
            start: Whitening {
                mean: rotated.map.mean.clone(),
                matrix: rotated.map.matrix.dot(&map),
            },
            residual: None,
        })
    };
    let mut log = open_log(log, 0, monitor);
    let mut done = Trained::default();
    let mut fitted: Option<(Targets, Head)> = None;
    record(
        task,
        task.start_model()?,
        None,
        (&score, monitor),
        &mut done,
    )?;
    note(&mut log, &done, monitor);
    monitor.start("fitting", task.epochs as u64);
    for epoch in 1..=task.epochs {
        if let Some(why) = finished(task, &done) {
            monitor.warn(why);
            break;
        }
        let current = targets(epoch, &done.models)?;
        let head = match fitted.take() {
            // The labels alone are the same in every epoch.
            Some((before, head)) if before == current => head,
            _ => fit(&current)?,
        };
        let model = Model::Head(head.clone());
        record(task, model, None, (&score, monitor), &mut done)?;
        note(&mut log, &done, monitor);
        fitted = Some((current, head));
        monitor.step(epoch as u64)?;
    }
    monitor.end();
    Ok(done)
}
