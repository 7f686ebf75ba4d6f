//! The objective of large margin nearest neighbours, and how it is made small.

use std::ops::Range;

use ndarray::Array2;

use crate::linear::classed::{Classed, below, distances, squared_distance, squares};
use crate::linear::edges::{self, Part, gather};
use crate::matrix::{product, product_of_many};
use crate::solve::lbfgs::{self, Until};
use crate::solve::vectorised;
use crate::{Error, ErrorKind, Monitor, Result, parallel};

/// Steps between two searches for intruders.
const STEPS: usize = 25;
/// Share of the radius beyond the margin within which rows are taken for possible intruders.
const BUFFER: f64 = 0.25;
/// Most intruders that are held.
const HELD: usize = 1 << 25;

/// The rows that each row pulls in.
pub(super) struct Targets {
    items: Vec<usize>,
    /// Where those of each row begin, and the end.
    begins: Vec<usize>,
}

impl Targets {
    pub(super) fn of(rows: &Classed, neighbors: usize) -> Self {
        let lists = parallel::map_rows(rows.x.nrows(), |i| nearest(rows, i, neighbors));
        let mut begins = vec![0];
        begins.extend(lists.iter().scan(0, |sum, list| {
            *sum += list.len();
            Some(*sum)
        }));
        Self {
            items: lists.concat(),
            begins,
        }
    }

    pub(super) fn row(&self, i: usize) -> &[usize] {
        &self.items[self.begins[i]..self.begins[i + 1]]
    }

    /// 0 without targets.
    pub(super) fn mean_distance(&self, x: &Array2<f64>) -> f64 {
        let d = x.ncols();
        let x = x.as_slice().unwrap_or_default();
        let row = |i: usize| &x[i * d..][..d];
        let of = |i: usize| {
            let near = self.row(i).iter();
            near.map(|&j| squared_distance(row(i), row(j))).sum::<f64>()
        };
        (0..self.begins.len() - 1).map(of).sum::<f64>() / self.items.len().max(1) as f64
    }
}

/// The objective for some rows.
pub(super) struct Margin<'a> {
    pub(super) rows: &'a Classed,
    pub(super) targets: Targets,
    pub(super) push: f64,
    pub(super) monitor: &'a Monitor,
}

/// Rows of other classes that were near at some time, for each row; ascending.
pub(super) struct Intruders {
    pub(super) begins: Vec<usize>,
    pub(super) items: Vec<u32>,
}

impl Margin<'_> {
    /// Rounds: intruders are looked for, and with those that were ever near L-BFGS goes on.
    pub(super) fn minimise(
        &self,
        start: Array2<f64>,
        iterations: usize,
        tolerance: f64,
    ) -> Result<Array2<f64>> {
        let (r, m) = start.dim();
        let shaped = |map: Vec<f64>| {
            Array2::from_shape_vec((r, m), map)
                .map_err(|e| Error::new(ErrorKind::Internal, format!("{r} x {m}: {e}")))
        };
        let stage = "large margin nearest neighbours";
        self.monitor.start(stage, iterations as u64);
        let mut held = Some(Intruders {
            begins: vec![0; self.rows.x.nrows() + 1],
            items: Vec::new(),
        });
        let mut map = start;
        let mut best = (f64::INFINITY, map.clone());
        let mut done = 0;
        loop {
            let z = product_of_many(&self.rows.x, &map);
            let count = |held: &Option<Intruders>| held.as_ref().map(|held| held.items.len());
            let before = count(&held);
            held = held.and_then(|held| self.search(&z, &held));
            // All that intrude are held now, so this is the objective itself.
            let (value, _) = self.compute(&map, held.as_ref())?;
            self.monitor.values(&[("objective", value)]);
            self.monitor.step(done as u64)?;
            let gained = best.0 - value;
            if gained > 0.0 {
                best = (value, map.clone());
            }
            // A loss is made good by the next round, which knows of the rows that made it.
            let settled = gained >= 0.0 || before == count(&held);
            if done >= iterations || (settled && gained <= tolerance * value) {
                break;
            }
            let until = Until {
                steps: STEPS.min(iterations - done),
                gradient: 1e-9 * value,
            };
            let flat = map.into_raw_vec_and_offset().0;
            let found = lbfgs::minimise(flat, until, |point| {
                self.monitor.check()?;
                let (value, slopes) = self.compute(&shaped(point.to_vec())?, held.as_ref())?;
                Ok((value, slopes.into_raw_vec_and_offset().0))
            })?;
            map = shaped(found)?;
            done += until.steps;
        }
        self.monitor.end();
        Ok(best.1)
    }

    /// Objective and gradient; without a list of intruders all rows are looked at.
    pub(super) fn compute(
        &self,
        map: &Array2<f64>,
        intruders: Option<&Intruders>,
    ) -> Result<(f64, Array2<f64>)> {
        let z = product_of_many(&self.rows.x, map);
        let squares = squares(&z);
        let (n, r) = z.dim();
        let flat = z.as_slice().unwrap_or_default();
        let block = self.rows.block();
        let (value, scatter) = gather(&self.rows.x, |rows, part| {
            let mut anchor = Anchor::new(self, flat, r);
            if let Some(held) = intruders {
                vectorised(|| {
                    for i in rows.clone() {
                        anchor.begin(i);
                        for &l in &held.items[held.begins[i]..held.begins[i + 1]] {
                            anchor.meet(l as usize, part);
                        }
                        anchor.end(part);
                    }
                });
                return Ok(());
            }
            let mut buffer = vec![0.0; block * n];
            for from in rows.clone().step_by(block) {
                self.monitor.check()?;
                let some = from..(from + block).min(rows.end);
                distances(&z, &squares, some.clone(), &mut buffer[..some.len() * n]);
                vectorised(|| {
                    for (i, row) in some.clone().zip(buffer.chunks_exact(n)) {
                        anchor.begin(i);
                        let own = &self.rows.own[i];
                        let limit = anchor.most * (1.0 + 1e-9);
                        below(&row[..own.start], limit, |l, _| anchor.meet(l, part));
                        below(&row[own.end..], limit, |l, _| {
                            anchor.meet(own.end + l, part);
                        });
                        anchor.end(part);
                    }
                });
            }
            Ok(())
        })?;
        Ok((value, product(map, &scatter) * 2.0))
    }

    /// What was held, and all that is within the margin or not far beyond; nothing where that is
    /// too much to hold.
    pub(super) fn search(&self, z: &Array2<f64>, held: &Intruders) -> Option<Intruders> {
        let (n, r) = z.dim();
        let squares = squares(z);
        let flat = z.as_slice().unwrap_or_default();
        let block = self.rows.block();
        let one = |rows: Range<usize>| {
            let (mut ends, mut items) = (Vec::with_capacity(rows.len()), Vec::<u32>::new());
            let mut anchor = Anchor::new(self, flat, r);
            let mut buffer = vec![0.0; block * n];
            for from in rows.clone().step_by(block) {
                let some = from..(from + block).min(rows.end);
                distances(z, &squares, some.clone(), &mut buffer[..some.len() * n]);
                for (i, row) in some.clone().zip(buffer.chunks_exact(n)) {
                    anchor.begin(i);
                    let own = &self.rows.own[i];
                    let limit = anchor.most * (1.0 + BUFFER);
                    let begin = items.len();
                    vectorised(|| {
                        below(&row[..own.start], limit, |l, _| items.push(l as u32));
                        below(&row[own.end..], limit, |l, _| {
                            items.push((own.end + l) as u32);
                        });
                    });
                    let before = &held.items[held.begins[i]..held.begins[i + 1]];
                    if !before.is_empty() {
                        items.extend_from_slice(before);
                        items[begin..].sort_unstable();
                        let mut kept = begin;
                        for at in begin..items.len() {
                            if kept == begin || items[at] != items[kept - 1] {
                                items[kept] = items[at];
                                kept += 1;
                            }
                        }
                        items.truncate(kept);
                    }
                    ends.push(items.len());
                    if items.len() > HELD / edges::PARTS {
                        return None;
                    }
                }
            }
            Some((ends, items))
        };
        let parts = parallel::map(edges::parts(n).into_iter(), one);
        let (mut begins, mut items) = (vec![0], Vec::new());
        for part in parts {
            let (ends, own) = part?;
            let base = items.len();
            begins.extend(ends.into_iter().map(|end| base + end));
            items.extend(own);
        }
        Some(Intruders { begins, items })
    }
}

/// One anchor at a time: the radius of each of its targets, and what these are pulled with.
struct Anchor<'a> {
    margin: &'a Margin<'a>,
    z: &'a [f64],
    r: usize,
    i: usize,
    radii: Vec<f64>,
    pulls: Vec<f64>,
    value: f64,
    /// The largest radius; 0 without targets.
    most: f64,
}

impl<'a> Anchor<'a> {
    fn new(margin: &'a Margin<'a>, z: &'a [f64], r: usize) -> Self {
        Self {
            margin,
            z,
            r,
            i: 0,
            radii: Vec::new(),
            pulls: Vec::new(),
            value: 0.0,
            most: 0.0,
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn distance(&self, l: usize) -> f64 {
        let row = |i: usize| &self.z[i * self.r..][..self.r];
        squared_distance(row(self.i), row(l))
    }

    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn begin(&mut self, i: usize) {
        self.i = i;
        let pull = (1.0 - self.margin.push) * self.margin.rows.weight[i];
        self.radii.clear();
        self.pulls.clear();
        (self.value, self.most) = (0.0, 0.0);
        for &j in self.margin.targets.row(i) {
            let distance = self.distance(j);
            self.radii.push(1.0 + distance);
            self.pulls.push(pull);
            self.value += pull * distance;
            self.most = self.most.max(1.0 + distance);
        }
    }

    /// A row of another class, which may intrude.
    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn meet(&mut self, l: usize, part: &mut Part) {
        let distance = self.distance(l);
        if distance >= self.most {
            return;
        }
        let each = self.margin.push * self.margin.rows.weight[self.i] * self.margin.rows.weight[l];
        let mut pushed = 0.0;
        for (radius, pull) in self.radii.iter().zip(&mut self.pulls) {
            let intrusion = radius - distance;
            if intrusion > 0.0 {
                self.value += each * intrusion;
                *pull += each;
                pushed += each;
            }
        }
        part.add(self.i, l, -pushed);
    }

    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn end(&mut self, part: &mut Part) {
        part.value += self.value;
        for (&j, &pull) in self.margin.targets.row(self.i).iter().zip(&self.pulls) {
            part.add(self.i, j, pull);
        }
    }
}

/// The nearest others of the class of a row, by distance and then by place.
fn nearest(rows: &Classed, i: usize, neighbors: usize) -> Vec<usize> {
    let x = rows.x.as_slice().unwrap_or_default();
    let d = rows.x.ncols();
    let row = |i: usize| &x[i * d..][..d];
    let others = rows.own[i].clone().filter(|&j| j != i);
    let mut found: Vec<(f64, usize)> = vectorised(|| {
        let others = others.clone();
        others
            .map(|j| (squared_distance(row(i), row(j)), j))
            .collect()
    });
    let nearer = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if found.len() > neighbors {
        found.select_nth_unstable_by(neighbors - 1, nearer);
        found.truncate(neighbors);
    }
    found.sort_unstable_by(nearer);
    // A new list: in the place of the old one each would keep room for its whole class.
    found.iter().map(|&(_, j)| j).collect()
}
