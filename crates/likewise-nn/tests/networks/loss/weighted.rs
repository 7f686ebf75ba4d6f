//! Several losses as one: sums by hand, what each looks at, gradients, and one that is a list.

use burn::tensor::{DType, Device, Tensor, TensorData};
use likewise_nn::loss::{Batch, Loss, Losses, Pairs, Weighted};
use likewise_nn::mine::{Hard, Mine, MultiSimilarity};
use ndarray::{Array2, Axis, concatenate, s};

use super::{Case, Measured, random};

fn list(terms: &[(&str, f64)]) -> Losses {
    let term = |&(name, weight): &(&str, f64)| Weighted {
        loss: Loss::named(name).unwrap(),
        weight,
    };
    Losses::new(terms.iter().map(term).collect()).unwrap()
}

/// Value and gradients of a sum, with respect to the rows and to the proxies of each loss.
fn measure(
    losses: &Losses,
    x: &Array2<f64>,
    batch: &Batch,
    mined: Option<&Batch>,
    proxies: &[Array2<f64>],
) -> (f64, Array2<f64>, Vec<Array2<f64>>) {
    let device = Device::flex().autodiff();
    let tensor = |rows: &Array2<f64>| -> Tensor<2> {
        let data = TensorData::new(rows.iter().copied().collect(), [rows.nrows(), rows.ncols()]);
        Tensor::from_data(data, (&device, DType::F64)).require_grad()
    };
    let at = tensor(x);
    let of_classes: Vec<Tensor<2>> = proxies.iter().map(tensor).collect();
    let value = losses
        .forward(at.clone(), (batch, mined), of_classes.clone())
        .unwrap();
    let gradients = value.backward();
    let read = |t: &Tensor<2>, like: &Array2<f64>| match t.grad(&gradients) {
        Some(t) => Array2::from_shape_vec(like.dim(), t.try_into_vec_as::<f64>().unwrap()).unwrap(),
        None => Array2::zeros(like.dim()),
    };
    let of_proxies = of_classes.iter().zip(proxies);
    let of_proxies = of_proxies.map(|(t, like)| read(t, like)).collect();
    let dx = read(&at, x);
    (value.try_into_vec_as::<f64>().unwrap()[0], dx, of_proxies)
}

#[track_caller]
fn close(a: &Array2<f64>, b: &Array2<f64>, tolerance: f64) {
    assert_eq!(a.dim(), b.dim());
    let far = a
        .iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs() / (1.0 + b.abs()));
    assert!(far.fold(0.0, f64::max) < tolerance, "{a} {b}");
}

/// The proxies that each loss with some needs for this case.
fn proxies(losses: &Losses, case: &Case) -> Vec<Array2<f64>> {
    let of = losses.iter().filter(|term| term.loss.has_proxies());
    of.map(|term| case.proxies(&term.loss)).collect()
}

#[test]
fn a_list_is_the_weighted_sum_of_its_losses() {
    let case = Case::random(12, 4, 3, 5);
    let beside = Loss::all().into_iter().filter(Loss::stands_beside);
    let all: Vec<Weighted> = (beside.enumerate())
        .map(|(i, loss)| Weighted {
            loss,
            weight: 0.25 + i as f64 / 8.0,
        })
        .collect();
    let losses = Losses::new(all).unwrap();
    let given = proxies(&losses, &case);
    let batch = case.batch(DType::F64);
    let (value, dx, dp) = measure(&losses, &case.x, &batch, None, &given);
    let (mut sum, mut slopes) = (0.0, Array2::<f64>::zeros(case.x.dim()));
    let mut of_proxies = Vec::new();
    for term in losses.iter() {
        let Measured { value, dx, dp } = case.measure(&term.loss);
        sum += term.weight * value;
        slopes.scaled_add(term.weight, &dx);
        if term.loss.has_proxies() {
            of_proxies.push(dp * term.weight);
        }
    }
    assert!((value - sum).abs() < 1e-9, "{value} {sum}");
    close(&dx, &slopes, 1e-9);
    assert_eq!(dp.len(), 7);
    for (own, expected) in dp.iter().zip(&of_proxies) {
        close(own, expected, 1e-9);
    }
}

#[test]
fn a_list_of_one_is_the_loss_and_weight_two_is_twice_it() {
    let case = Case::random(12, 4, 3, 6);
    let batch = case.batch(DType::F64);
    for loss in Loss::all().into_iter().filter(Loss::stands_alone) {
        let alone = case.measure(&loss);
        let of = |weight: f64| {
            let losses = list(&[(loss.name(), weight)]);
            let given = proxies(&losses, &case);
            measure(&losses, &case.x, &batch, None, &given)
        };
        let once = of(1.0);
        let bits = |values: &Array2<f64>| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(once.0.to_bits(), alone.value.to_bits(), "{}", loss.name());
        assert_eq!(bits(&once.1), bits(&alone.dx), "{}", loss.name());
        if !loss.stands_beside() {
            continue;
        }
        // A factor of two changes no digit.
        let twice = of(2.0);
        assert_eq!(twice.0.to_bits(), (2.0 * alone.value).to_bits());
        close(&twice.1, &(&alone.dx * 2.0), 1e-12);
    }
}

#[test]
fn gradients_of_a_mixed_list_agree_with_central_differences() {
    let mut case = Case::random(9, 4, 3, 8);
    for (i, weight) in case.weights.iter_mut().enumerate() {
        *weight = 0.5 + i as f32 / 8.0;
    }
    let losses = list(&[
        ("multi-similarity", 1.0),
        ("angular", 0.5),
        ("proxy-anchor", 0.7),
        ("soft-triple", 1.5),
        ("center", 0.1),
        ("similarity-regularizer", 3.0),
    ]);
    let given = proxies(&losses, &case);
    let batch = case.batch(DType::F64);
    let (_, dx, dp) = measure(&losses, &case.x, &batch, None, &given);
    let value = |x: &Array2<f64>, p: &[Array2<f64>]| measure(&losses, x, &batch, None, p).0;
    let h = 1e-6;
    let slope = Array2::from_shape_fn(case.x.dim(), |place| {
        let (mut up, mut down) = (case.x.clone(), case.x.clone());
        up[place] += h;
        down[place] -= h;
        (value(&up, &given) - value(&down, &given)) / (2.0 * h)
    });
    close(&slope, &dx, 1e-6);
    for (which, own) in dp.iter().enumerate() {
        let slope = Array2::from_shape_fn(own.dim(), |place| {
            let (mut up, mut down) = (given.clone(), given.clone());
            up[which][place] += h;
            down[which][place] -= h;
            (value(&case.x, &up) - value(&case.x, &down)) / (2.0 * h)
        });
        close(&slope, own, 1e-6);
    }
}

/// What a miner chose is for the losses of pairs and triplets alone.
#[test]
fn losses_of_classes_and_of_rows_do_not_look_at_what_was_mined() {
    let case = Case::random(12, 4, 3, 9);
    let batch = case.batch(DType::F64);
    let options = (&Device::flex().autodiff(), DType::F64);
    let data = TensorData::new(case.x.iter().copied().collect(), [12, 4]);
    let x: Tensor<2> = Tensor::from_data(data, options);
    let pairs = Mine::MultiSimilarity(MultiSimilarity { eps: 0.05 });
    for miner in [pairs, Mine::Hard(Hard {})] {
        let mined = miner.mine(&x, batch.clone(), 1).unwrap();
        let value = |terms: &[(&str, f64)], mined: Option<&Batch>| {
            let losses = list(terms);
            let given = proxies(&losses, &case);
            measure(&losses, &case.x, &batch, mined, &given).0
        };
        let compared = [("multi-similarity", 1.0)];
        let others = [("proxy-anchor", 1.0), ("similarity-regularizer", 0.5)];
        let all = [compared[0], others[0], others[1]];
        assert!((value(&others, Some(&mined)) - value(&others, None)).abs() < 1e-15);
        let own = value(&compared, Some(&mined));
        assert!((own - value(&compared, None)).abs() > 1e-3);
        let sum = own + value(&others, None);
        assert!((value(&all, Some(&mined)) - sum).abs() < 1e-12);
    }
}

/// The rows of a memory are positives and negatives, and nothing else.
#[test]
fn losses_of_classes_and_of_rows_do_not_look_at_a_memory() {
    let (case, held) = (Case::random(6, 4, 3, 10), random(5, 4, 11));
    let x = concatenate![Axis(0), case.x, held];
    let mut batch = case.batch(DType::F64);
    let options = (&Device::flex().autodiff(), DType::F64);
    // Anchors of the batch with all items: the relation to those of the memory by their classes.
    let classes: Vec<u32> = case
        .classes
        .iter()
        .copied()
        .chain([0, 1, 2, 0, 1])
        .collect();
    let all = Pairs::from_classes(&classes, &[1.0; 11], options).unwrap();
    batch.pairs = Pairs {
        positive: all.positive.slice(0..6),
        negative: all.negative.slice(0..6),
        anchors: all.anchors.slice(0..6),
    };
    let losses = list(&[
        ("proxy-anchor", 1.0),
        ("contrastive", 2.0),
        ("similarity-regularizer", 0.5),
    ]);
    let given = proxies(&losses, &case);
    let (value, dx, dp) = measure(&losses, &x, &batch, None, &given);
    let alone = |terms: &[(&str, f64)], x: &Array2<f64>, batch: &Batch| {
        let losses = list(terms);
        measure(&losses, x, batch, None, &proxies(&losses, &case))
    };
    let own = case.batch(DType::F64);
    let others = [("proxy-anchor", 1.0), ("similarity-regularizer", 0.5)];
    let without = alone(&others, &case.x, &own);
    let pairs = alone(&[("contrastive", 2.0)], &x, &batch);
    assert!((value - without.0 - pairs.0).abs() < 1e-12);
    close(&dp[0], &without.2[0], 1e-12);
    let sum = &without.1 + &pairs.1.slice(s![..6, ..]);
    close(&dx.slice(s![..6, ..]).to_owned(), &sum, 1e-12);
}

#[test]
fn what_a_list_lacks_is_said() {
    let case = Case::random(6, 4, 3, 12);
    let losses = list(&[("triplet", 1.0), ("proxy-anchor", 1.0)]);
    let device = Device::flex().autodiff();
    let x = Tensor::<2>::ones([6, 4], (&device, DType::F64));
    let batch = case.batch(DType::F64);
    let said = losses
        .forward(x.clone(), (&batch, None), vec![])
        .unwrap_err();
    assert!(
        said.to_string().contains("proxy-anchor needs proxies"),
        "{said}"
    );
    let pairs_alone = Batch::from(batch.pairs);
    let said = losses
        .forward(x.clone(), (&pairs_alone, None), vec![x])
        .unwrap_err();
    assert!(
        said.to_string().contains("proxy-anchor needs class labels"),
        "{said}"
    );
}
