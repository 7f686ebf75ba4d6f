//! Every loss of the registry: weights, degenerate batches, gradients, names.

use burn::tensor::DType;
use likewise::Triplets;
use likewise_nn::loss::{Batch, Loss};
use ndarray::Axis;
use ndarray::{Array2, concatenate};

use super::{Case, Measured, measure};

#[track_caller]
fn same(loss: &Loss, a: &Array2<f64>, b: &Array2<f64>, tolerance: f64) {
    assert_eq!(a.dim(), b.dim());
    for (a, b) in a.iter().zip(b) {
        let close = (a - b).abs() <= tolerance * (1.0 + a.abs());
        assert!(close, "{}: {a} {b}", loss.name());
    }
}

#[track_caller]
fn agree(loss: &Loss, a: &Measured, b: &Measured) {
    let close = (a.value - b.value).abs() < 1e-9;
    assert!(close, "{}: {} {}", loss.name(), a.value, b.value);
    same(loss, &a.dx, &b.dx, 1e-9);
    same(loss, &a.dp, &b.dp, 1e-9);
}

#[test]
fn an_item_of_weight_zero_is_absent() {
    let mut case = Case::random(15, 5, 4, 1);
    for (i, weight) in case.weights.iter_mut().enumerate() {
        *weight = if i % 5 == 2 {
            0.0
        } else {
            0.5 + i as f32 / 16.0
        };
    }
    // A class of which nothing is left but items without weight.
    case.classes[2] = 4;
    case.count = 5;
    let kept: Vec<usize> = (0..15).filter(|i| i % 5 != 2).collect();
    for loss in Loss::all() {
        let with = case.measure(&loss);
        let without = case.select(&kept).measure(&loss);
        for i in (2..15).step_by(5) {
            assert!(with.dx.row(i).iter().all(|&g| g == 0.0), "{}", loss.name());
        }
        let with = Measured {
            dx: with.dx.select(Axis(0), &kept),
            ..with
        };
        agree(&loss, &with, &without);
    }
}

/// The triplets of a small case, some of them with another weight.
fn triplets(case: &Case) -> Triplets {
    let mut found = Triplets::default();
    let class = |i: u32| case.classes[i as usize];
    for a in 0..6 {
        for p in (0..6).filter(|&p| p != a && class(p) == class(a)) {
            for n in (0..6).filter(|&n| class(n) != class(a)) {
                found.push(a, p, n, 0.5 + (a + n) as f32 / 8.0);
            }
        }
    }
    found
}

fn with_triplets(case: &Case, triplets: Triplets, loss: &Loss) -> Measured {
    let batch = Batch {
        triplets: Some(triplets),
        ..case.batch(DType::F64)
    };
    measure(loss, &case.x, &case.proxies(loss), &batch, DType::F64)
}

#[test]
fn a_triplet_of_weight_zero_is_absent_and_one_of_weight_two_counts_twice() {
    let case = Case::random(8, 4, 2, 3);
    let once = triplets(&case);
    let (mut more, mut twice, mut double) = (once.clone(), once.clone(), once.clone());
    more.push(0, 6, 7, 0.0);
    more.push(7, 1, 0, 0.0);
    for (a, p, n, w) in once.iter().take(2) {
        twice.push(a, p, n, w);
    }
    double.weights[0] *= 2.0;
    double.weights[1] *= 2.0;
    for loss in Loss::all() {
        let measured = |t: &Triplets| with_triplets(&case, t.clone(), &loss);
        agree(&loss, &measured(&once), &measured(&more));
        agree(&loss, &measured(&twice), &measured(&double));
    }
}

#[test]
fn an_item_of_weight_two_counts_twice_for_proxies() {
    let case = Case::random(9, 4, 3, 5);
    let mut double = case.clone();
    double.weights[4] = 2.0;
    let items: Vec<usize> = (0..9).chain([4]).collect();
    let twice = case.select(&items);
    for loss in Loss::all()
        .iter()
        .filter(|loss| loss.proxies_per_class() > 0)
    {
        let (double, mut twice) = (double.measure(loss), twice.measure(loss));
        let copy = twice.dx.row(9).to_owned();
        twice.dx.remove_index(Axis(0), 9);
        let mut row = twice.dx.row_mut(4);
        row += &copy;
        agree(loss, &double, &twice);
    }
}

#[test]
fn degenerate_batches_have_finite_values_and_gradients() {
    let normal = Case::random(12, 4, 3, 7);
    let one_class = Case::random(12, 4, 1, 7);
    let all_distinct = Case::random(12, 4, 12, 7);
    let single = Case::random(1, 4, 1, 7);
    let mut duplicates = normal.clone();
    duplicates.x = concatenate![
        Axis(0),
        normal.x.slice(ndarray::s![..6, ..]),
        normal.x.slice(ndarray::s![..6, ..])
    ];
    let mut zeros = normal.clone();
    zeros.x.row_mut(3).fill(0.0);
    zeros.x.row_mut(7).fill(0.0);
    let mut all_zeros = normal.clone();
    all_zeros.x.fill(0.0);
    let mut weightless = normal.clone();
    weightless.weights.fill(0.0);
    let mut large = normal.clone();
    large.x *= 1e15;
    let mut small = normal.clone();
    small.x *= 1e-20;
    let cases = [
        ("normal", normal),
        ("one class", one_class),
        ("all distinct", all_distinct),
        ("a single item", single),
        ("duplicates", duplicates),
        ("rows of zeros", zeros),
        ("all zeros", all_zeros),
        ("no weight", weightless),
        ("large", large),
        ("small", small),
    ];
    for (name, case) in cases {
        for loss in Loss::all() {
            for dtype in [DType::F32, DType::F64] {
                let batch = case.batch(dtype);
                let found = measure(&loss, &case.x, &case.proxies(&loss), &batch, dtype);
                let numbers = found.dx.iter().chain(&found.dp).chain([&found.value]);
                // Sums over nothing stand at -1e30 inside: none may come out.
                let fine = numbers.into_iter().all(|v| v.abs() < 1e35);
                assert!(fine, "{}, {name}, {dtype:?}: {found:?}", loss.name());
                let value_fine = name == "large" || found.value.abs() < 1e6;
                assert!(value_fine, "{}, {name}: {}", loss.name(), found.value);
            }
        }
    }
}

#[test]
fn gradients_agree_with_central_differences() {
    let mut case = Case::random(10, 4, 3, 11);
    for (i, weight) in case.weights.iter_mut().enumerate() {
        *weight = 0.5 + i as f32 / 8.0;
    }
    // The derivative of the contextual loss is a surrogate: tested beside its definition.
    for loss in Loss::all()
        .iter()
        .filter(|loss| loss.name() != "contextual")
    {
        let found = case.measure(loss);
        let proxies = case.proxies(loss);
        let batch = case.batch(DType::F64);
        let value =
            |x: &Array2<f64>, p: &Array2<f64>| measure(loss, x, p, &batch, DType::F64).value;
        let differences = |at: &Array2<f64>, value: &dyn Fn(&Array2<f64>) -> f64| {
            Array2::from_shape_fn(at.dim(), |place| {
                let (mut up, mut down) = (at.clone(), at.clone());
                up[place] += 1e-7;
                down[place] -= 1e-7;
                (value(&up) - value(&down)) / 2e-7
            })
        };
        same(
            loss,
            &differences(&case.x, &|x| value(x, &proxies)),
            &found.dx,
            2e-6,
        );
        same(
            loss,
            &differences(&proxies, &|p| value(&case.x, p)),
            &found.dp,
            2e-6,
        );
        assert!(found.dx.iter().any(|&g| g != 0.0), "{}", loss.name());
    }
}

#[test]
fn names_and_parameters_survive_json_and_are_checked() {
    let all = Loss::all();
    assert_eq!(all.len(), Loss::NAMES.len());
    for loss in &all {
        assert!(loss.validate().is_ok());
        assert_eq!(Loss::named(loss.name()).unwrap(), *loss);
        let json = serde_json::to_string(loss).unwrap();
        assert_eq!(serde_json::from_str::<Loss>(&json).unwrap(), *loss);
        let short = format!(r#"{{"name": "{}"}}"#, loss.name());
        assert_eq!(serde_json::from_str::<Loss>(&short).unwrap(), *loss);
        // Whatever number a parameter is, -5 is outside of its range.
        let fields = serde_json::to_value(loss).unwrap();
        for (field, value) in fields.as_object().unwrap() {
            if value.is_f64() {
                let mut broken = fields.clone();
                broken[field] = serde_json::json!(-5.0);
                let broken: Loss = serde_json::from_value(broken).unwrap();
                let said = broken.validate().unwrap_err().to_string();
                assert!(
                    said.starts_with(&format!("loss.{field} = -5: must be")),
                    "{said}"
                );
            }
        }
    }
    let said = Loss::named("nosuch").unwrap_err().to_string();
    assert!(all.iter().all(|loss| said.contains(loss.name())), "{said}");
    assert!(serde_json::from_str::<Loss>(r#"{"name": "triplet", "margn": 1.0}"#).is_err());
}

#[test]
fn what_a_loss_lacks_is_said() {
    let case = Case::random(6, 3, 2, 13);
    for loss in Loss::all() {
        let device = burn::tensor::Device::flex().autodiff();
        let x = burn::tensor::Tensor::<2>::ones([5, 3], (&device, DType::F64));
        let batch = case.batch(DType::F64);
        let proxies = (loss.proxies_per_class() > 0).then(|| x.clone());
        let said = loss
            .forward(x.clone(), &batch, proxies)
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("5 embeddings") && said.contains("6 items"),
            "{said}"
        );
        if loss.proxies_per_class() > 0 {
            let said = loss.forward(x, &batch, None).unwrap_err().to_string();
            assert!(
                said.contains(loss.name()) && said.contains("needs proxies"),
                "{said}"
            );
        }
    }
}
