//! One pass of OASIS over triplets, some of them at a time.

use faer::{Accum, MatMut, MatRef};
use ndarray::Array2;
use rayon::prelude::*;

use crate::linear::spd;
use crate::matmul::matmul;
use crate::{Monitor, Result, Triplets, parallel};

/// Triplets that are taken together.
const BLOCK: usize = 128;
/// Columns of a product that one task computes.
const COLUMNS: usize = 128;
/// Least square below which two rows are the same, or a row is 0.
const SAME: f64 = 1e-20;

/// What `W` is made ten times on the way, and at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mended {
    Never,
    Symmetric,
    /// Symmetric, and without negative eigenvalues.
    Psd,
}

/// One pass over rows that were checked, from `w`, by steps of at most `aggressiveness`.
pub(crate) fn pass(
    x: &Array2<f64>,
    triplets: &Triplets,
    w: Array2<f64>,
    aggressiveness: f64,
    mended: Mended,
    monitor: &Monitor,
) -> Result<Passed> {
    let all: Vec<(usize, usize, usize, f64)> = (triplets.iter())
        .filter(|triplet| triplet.3 > 0.0)
        .map(|(a, p, n, w)| (a as usize, p as usize, n as usize, f64::from(w)))
        .collect();
    let mut passed = Passed {
        w,
        updates: 0,
        mistakes: 0,
    };
    monitor.start("OASIS", all.len() as u64);
    // Ten times on the way, and at the end.
    let stretch = all.len().div_ceil(10).max(1);
    let mut block = Block::new(x.ncols());
    for (part, stretched) in all.chunks(stretch).enumerate() {
        for (at, some) in stretched.chunks(BLOCK).enumerate() {
            if at % 32 == 0 {
                monitor.step((part * stretch + at * BLOCK) as u64)?;
            }
            block.pass(x, some, aggressiveness, &mut passed);
        }
        match mended {
            Mended::Never => {}
            Mended::Symmetric => passed.w = (&passed.w + &passed.w.t()) * 0.5,
            Mended::Psd => passed.w = spd::project(&passed.w)?,
        }
    }
    monitor.end();
    Ok(passed)
}

/// What a pass gives.
pub(crate) struct Passed {
    pub(crate) w: Array2<f64>,
    /// Triplets that changed `w`.
    pub(crate) updates: u64,
    /// Triplets whose negative was at least as similar as the positive when they came.
    pub(crate) mistakes: u64,
}

/// Some triplets, and what all their steps are found from.
struct Block {
    d: usize,
    /// Anchors and differences, a row for each triplet.
    anchors: Vec<f64>,
    changes: Vec<f64>,
    /// Anchors times `W`, then what the steps are.
    moved: Vec<f64>,
    /// Products of the anchors with each other, and of the differences.
    between: [Vec<f64>; 2],
}

impl Block {
    fn new(d: usize) -> Self {
        Self {
            d,
            anchors: vec![0.0; BLOCK * d],
            changes: vec![0.0; BLOCK * d],
            moved: vec![0.0; BLOCK * d],
            between: [vec![0.0; BLOCK * BLOCK], vec![0.0; BLOCK * BLOCK]],
        }
    }

    fn pass(
        &mut self,
        x: &Array2<f64>,
        some: &[(usize, usize, usize, f64)],
        aggressiveness: f64,
        passed: &mut Passed,
    ) {
        let (d, m) = (self.d, some.len());
        let (Some(x), Some(w)) = (x.as_slice(), passed.w.as_slice_mut()) else {
            return;
        };
        let row = |i: usize| &x[i * d..][..d];
        let rows = self.anchors.chunks_exact_mut(d.max(1));
        let rows = rows.zip(self.changes.chunks_exact_mut(d.max(1)));
        for ((anchor, change), &(a, p, n, _)) in rows.zip(some) {
            anchor.copy_from_slice(row(a));
            for ((c, p), n) in change.iter_mut().zip(row(p)).zip(row(n)) {
                *c = p - n;
            }
        }
        let anchors = MatRef::from_row_major_slice(&self.anchors[..m * d], m, d);
        let changes = MatRef::from_row_major_slice(&self.changes[..m * d], m, d);
        for (out, rows) in self.between.iter_mut().zip([anchors, changes]) {
            let out = MatMut::from_row_major_slice_mut(&mut out[..m * m], m, m);
            matmul(out, Accum::Replace, rows, rows.transpose(), 1.0);
        }
        let whole = MatRef::from_row_major_slice(&*w, d, d);
        let moved = MatMut::from_row_major_slice_mut(&mut self.moved[..m * d], m, d);
        let panels = moved.par_col_chunks_mut(COLUMNS).enumerate();
        panels.for_each(|(p, out)| {
            let right = whole.subcols(p * COLUMNS, out.ncols());
            matmul(out, Accum::Replace, anchors, right, 1.0);
        });
        let mut steps = [0.0; BLOCK];
        for (t, &(_, _, _, weight)) in some.iter().enumerate() {
            let own = t * d..(t + 1) * d;
            let before = self.moved[own.clone()].iter().zip(&self.changes[own]);
            let [between, apart] = &self.between;
            let (between, apart) = (&between[t * m..][..m], &apart[t * m..][..m]);
            let since = steps[..t].iter().zip(between).zip(apart);
            let margin = before.map(|(a, b)| a * b).sum::<f64>()
                + since.map(|((step, a), b)| step * a * b).sum::<f64>();
            passed.mistakes += u64::from(margin <= 0.0);
            let size = between[t] * apart[t];
            let loss = 1.0 - margin;
            if loss > 0.0 && size > SAME {
                steps[t] = (loss / size).min(weight * aggressiveness);
                passed.updates += 1;
            }
        }
        let rows = self.moved.chunks_exact_mut(d.max(1));
        for ((to, from), step) in rows
            .zip(self.anchors.chunks_exact(d.max(1)))
            .zip(&steps[..m])
        {
            to.iter_mut().zip(from).for_each(|(to, a)| *to = step * a);
        }
        // A panel of rows of W is one of memory.
        let stepped = MatRef::from_row_major_slice(&self.moved[..m * d], m, d);
        let panels = w.chunks_mut((COLUMNS * d).max(1)).enumerate();
        parallel::each(panels, |(p, panel)| {
            let height = panel.len() / d;
            let left = stepped.subcols(p * COLUMNS, height).transpose();
            let panel = MatMut::from_row_major_slice_mut(panel, height, d);
            matmul(panel, Accum::Add, left, changes, 1.0);
        });
    }
}
