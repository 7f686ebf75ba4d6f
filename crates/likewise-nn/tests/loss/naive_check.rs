//! Random batches: tensors against plain loops.

use burn::tensor::{DType, Tensor};
use likewise_nn::loss::{Contextual, Contrastive, FastAp, Loss, Pairs, SmoothAp, Triplet};
use ndarray::Array2;
use proptest::prelude::*;

use super::naive::Naive;
use super::{Case, measure, random};

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
