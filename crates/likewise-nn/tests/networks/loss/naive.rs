//! The losses of pairs by plain loops, as their formulas read, and tensors against them on random
//! batches.

use burn::tensor::{DType, Tensor};
use likewise_nn::loss::{Contextual, Contrastive, FastAp, Loss, Pairs, SmoothAp, Triplet};
use ndarray::Array2;
use proptest::prelude::*;

use super::{Case, measure, random};

/// Cosines and weights of pairs.
struct Naive {
    s: Array2<f64>,
    positive: Array2<f64>,
    negative: Array2<f64>,
    anchors: Vec<f64>,
}

fn ratio(sum: f64, count: f64) -> f64 {
    if count > 0.0 { sum / count } else { 0.0 }
}

/// Weighted mean of pairs of term and weight.
fn mean(terms: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (term, weight) in terms {
        sum += term * weight;
        count += weight;
    }
    ratio(sum, count)
}

fn mean_positive(terms: impl Iterator<Item = (f64, f64)>) -> f64 {
    mean(terms.filter(|t| t.0 > 0.0))
}

impl Naive {
    fn n(&self) -> usize {
        self.anchors.len()
    }

    fn places(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.n()).flat_map(|i| (0..self.n()).map(move |j| (i, j)))
    }

    fn d2(&self, i: usize, j: usize) -> f64 {
        (2.0 - 2.0 * self.s[[i, j]]).max(0.0)
    }

    /// Weight of `j` alone, as a negative of `i`.
    fn negative(&self, i: usize, j: usize) -> f64 {
        ratio(self.negative[[i, j]], self.anchors[i])
    }

    fn positive(&self, i: usize, j: usize) -> f64 {
        ratio(self.positive[[i, j]], self.anchors[i])
    }

    fn contrastive(&self) -> f64 {
        let d = |p: (usize, usize)| self.d2(p.0, p.1).sqrt();
        mean_positive(self.places().map(|p| (d(p), self.positive[p])))
            + mean_positive(self.places().map(|p| (1.0 - d(p), self.negative[p])))
    }

    fn contrastive_cosine(&self, positive: f64, negative: f64) -> f64 {
        mean_positive(
            self.places()
                .map(|p| (positive - self.s[p], self.positive[p])),
        ) + mean_positive(
            self.places()
                .map(|p| (self.s[p] - negative, self.negative[p])),
        )
    }

    fn triplet(&self, margin: f64) -> f64 {
        mean_positive(self.places().flat_map(|(a, p)| {
            (0..self.n()).map(move |n| {
                let term = self.d2(a, p).sqrt() - self.d2(a, n).sqrt() + margin;
                (term, self.positive[[a, p]] * self.negative(a, n))
            })
        }))
    }

    fn angular(&self, alpha: f64) -> f64 {
        let t = alpha.to_radians().tan().powi(2);
        mean(self.places().map(|(a, p)| {
            let exponent =
                |n| 4.0 * t * (self.s[[a, n]] + self.s[[p, n]]) - 2.0 * (1.0 + t) * self.s[[a, p]];
            let sum: f64 = (0..self.n())
                .map(|n| self.negative(a, n) * f64::exp(exponent(n)))
                .sum();
            (sum.ln_1p(), self.positive[[a, p]])
        }))
    }

    fn nt_xent(&self, temperature: f64) -> f64 {
        mean(self.places().map(|(a, p)| {
            let own = (self.s[[a, p]] / temperature).exp();
            let other = |n| self.negative(a, n) * (self.s[[a, n]] / temperature).exp();
            let sum: f64 = (0..self.n()).map(other).sum();
            (-(own / (own + sum)).ln(), self.positive[[a, p]])
        }))
    }

    fn multi_similarity(&self) -> f64 {
        mean((0..self.n()).map(|i| {
            let sum = |scale: f64, weight: &dyn Fn(usize) -> f64| -> f64 {
                (0..self.n())
                    .map(|j| weight(j) * (scale * (self.s[[i, j]] - 0.5)).exp())
                    .sum()
            };
            let positive = sum(-2.0, &|j| self.positive(i, j)).ln_1p() / 2.0;
            let negative = sum(50.0, &|j| self.negative(i, j)).ln_1p() / 50.0;
            (positive + negative, self.anchors[i])
        }))
    }

    fn fast_ap(&self, bins: usize) -> f64 {
        let width = 4.0 / bins as f64;
        let anchors = (0..self.n()).filter_map(|i| {
            let relevant: f64 = (0..self.n()).map(|j| self.positive(i, j)).sum();
            let (mut gained, mut inside, mut all) = (0.0, 0.0, 0.0);
            for bin in 0..=bins {
                let pulse = |j| (1.0 - (self.d2(i, j) - width * bin as f64).abs() / width).max(0.0);
                let here: f64 = (0..self.n()).map(|j| self.positive(i, j) * pulse(j)).sum();
                let other: f64 = (0..self.n()).map(|j| self.negative(i, j) * pulse(j)).sum();
                inside += here;
                all += here + other;
                gained += ratio(here * inside, all);
            }
            (relevant > 0.0).then(|| (1.0 - gained / relevant, self.anchors[i]))
        });
        mean(anchors)
    }

    /// One minus average precision, the anchor itself relevant, with any two steps.
    fn ranked(&self, relevant: impl Fn(f64) -> f64, other: impl Fn(f64) -> f64) -> f64 {
        let anchors = (0..self.n()).filter(|&i| self.anchors[i] > 0.0).map(|i| {
            let weight = |j: usize| if j == i { 1.0 } else { self.positive(i, j) };
            let precision = (0..self.n()).filter(|&j| weight(j) > 0.0).map(|j| {
                let (mut right, mut rank) = (1.0, 1.0);
                for k in (0..self.n()).filter(|&k| k != j) {
                    let x = self.s[[i, k]] - self.s[[i, j]];
                    right += weight(k) * relevant(x);
                    rank += weight(k) * relevant(x) + self.negative(i, k) * other(x);
                }
                (right / rank, weight(j))
            });
            (1.0 - mean(precision), self.anchors[i])
        });
        mean(anchors)
    }

    fn smooth_ap(&self, tau: f64) -> f64 {
        self.ranked(|x| sigmoid(x / tau), |x| sigmoid(x / tau))
    }

    fn roadmap(&self) -> f64 {
        let other = |x: f64| {
            if x <= 0.0 {
                sigmoid(x / 0.01)
            } else if x <= 0.05 {
                0.5 + sigmoid(x / 0.01)
            } else {
                100.0 * (x - 0.05) + 1.44
            }
        };
        let ranked = self.ranked(|x| f64::from(u8::from(x >= 0.0)), other);
        0.5 * ranked + 0.5 * self.contrastive_cosine(0.9, 0.6)
    }

    /// The contextual part alone; pairs of equal classes have a grade of 1.
    fn contextual(&self, k: usize, eps: f64) -> f64 {
        let n = self.n();
        let present: Vec<usize> = (0..n).filter(|&i| self.anchors[i] > 0.0).collect();
        let inside = |k: usize| {
            let mut all = Array2::<f64>::zeros((n, n));
            for i in 0..n {
                let mut sorted: Vec<f64> = present.iter().map(|&j| self.d2(i, j)).collect();
                sorted.sort_by(f64::total_cmp);
                for &j in &present {
                    let limit = sorted[k.min(sorted.len()) - 1];
                    all[[i, j]] = f64::from(u8::from(self.d2(i, j) - eps <= limit));
                }
            }
            all
        };
        let (near, close) = (inside(k), inside(k / 2));
        let over = |f: &dyn Fn(usize) -> f64| -> f64 {
            present.iter().map(|&j| self.anchors[j] * f(j)).sum()
        };
        let likeness = |i: usize, j: usize| {
            let shared = over(&|l| near[[i, l]] * near[[j, l]]);
            let apart = over(&|l| (1.0 - near[[i, l]]) * (1.0 - near[[j, l]]));
            let (within, without) = (over(&|l| near[[i, l]]), over(&|l| 1.0 - near[[i, l]]));
            0.5 * (ratio(shared, within) + ratio(apart, without)) * near[[i, j]]
        };
        let spread = |i: usize, j: usize| {
            let mutual = |l: usize| close[[i, l]] * close[[l, i]];
            ratio(over(&|l| mutual(l) * likeness(l, j)), over(&mutual))
        };
        let mut loss = 0.0;
        for (i, j) in self.places() {
            let w = 0.5 * (spread(i, j) + spread(j, i));
            loss += self.positive[[i, j]] * (1.0 - w).powi(2) + self.negative[[i, j]] * w * w;
        }
        ratio(loss, self.anchors.iter().sum::<f64>().powi(2))
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn plain(x: &Array2<f64>, pairs: &Pairs) -> Naive {
    let unit = Array2::from_shape_fn(x.dim(), |(i, j)| x[[i, j]] / x.row(i).dot(&x.row(i)).sqrt());
    let n = x.nrows();
    let read = |t: &Tensor<2>| {
        Array2::from_shape_vec((n, n), t.clone().try_into_vec_as::<f64>().unwrap()).unwrap()
    };
    Naive {
        s: unit.dot(&unit.t()),
        positive: read(&pairs.positive),
        negative: read(&pairs.negative),
        anchors: pairs.anchors.clone().try_into_vec_as::<f64>().unwrap(),
    }
}

fn check(case: &Case) {
    let batch = case.batch(DType::F64);
    let naive = plain(&case.x, &batch.pairs);
    let named = |name| Loss::named(name).unwrap();
    let expected = [
        (named("contrastive"), naive.contrastive()),
        (
            Loss::Contrastive(Contrastive::cosine(0.9, 0.1)),
            naive.contrastive_cosine(0.9, 0.1),
        ),
        (named("triplet"), naive.triplet(0.05)),
        (Loss::Triplet(Triplet { margin: 0.7 }), naive.triplet(0.7)),
        (named("angular"), naive.angular(40.0)),
        (named("nt-xent"), naive.nt_xent(0.07)),
        (named("multi-similarity"), naive.multi_similarity()),
        (named("fast-ap"), naive.fast_ap(10)),
        (Loss::FastAp(FastAp { bins: 3 }), naive.fast_ap(3)),
        (named("smooth-ap"), naive.smooth_ap(0.01)),
        (
            Loss::SmoothAp(SmoothAp {
                tau: 0.2,
                ..SmoothAp::default()
            }),
            naive.smooth_ap(0.2),
        ),
        (named("roadmap"), naive.roadmap()),
        (
            Loss::Contextual(Contextual::alone()),
            naive.contextual(4, 0.05),
        ),
    ];
    for (loss, expected) in expected {
        let value = measure(&loss, &case.x, &case.proxies(&loss), &batch, DType::F64).value;
        let close = (value - expected).abs() < 1e-9 * (1.0 + expected.abs());
        assert!(close, "{loss:?}: {value} but by loops {expected}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn tensors_agree_with_loops(
        seed in 0_u64..1000,
        d in 2_usize..6,
        items in prop::collection::vec((0_u32..4, 0_u8..4), 1..14),
    ) {
        check(&Case {
            x: random(items.len(), d, seed),
            classes: items.iter().map(|i| i.0).collect(),
            weights: items.iter().map(|i| f32::from(i.1) / 2.0).collect(),
            count: 4,
        });
    }
}

/// More pairs than a block of triplets holds.
#[test]
fn blocks_add_up() {
    let case = Case::random(180, 3, 2, 17);
    let batch = case.batch(DType::F64);
    let naive = plain(&case.x, &batch.pairs);
    for (name, expected) in [
        ("triplet", naive.triplet(0.05)),
        ("smooth-ap", naive.smooth_ap(0.01)),
    ] {
        let value = case.measure(&Loss::named(name).unwrap()).value;
        assert!(
            (value - expected).abs() < 1e-9,
            "{name}: {value} {expected}"
        );
    }
}
