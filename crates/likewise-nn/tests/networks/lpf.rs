//! Label prediction on the digits, small and quick.

use likewise::Monitor;
use likewise::advise::outside::auroc;
use likewise_io::{Form, ReadOptions};
use likewise_nn::device;
use likewise_nn::lpf::{
    CenterRule, Check, End, FirstStage, Looks, Lpf, Outside, Predicted, Rows, Tuning, Unlike,
};
use ndarray::{Array2, Axis};

/// Every fourth of the digits by two views, and the class of each.
struct Digits {
    fou: Array2<f32>,
    kar: Array2<f32>,
    truth: Vec<Option<u32>>,
}

impl Digits {
    fn read() -> Self {
        let bytes = std::fs::read(likewise_testdata::digits()).unwrap();
        let all = likewise_io::read_bytes(Form::Npz, &bytes, &ReadOptions::default()).unwrap();
        let rows: Vec<usize> = (0..all.len()).step_by(4).collect();
        let view = |name| all.view(Some(name)).unwrap().matrix.select(Axis(0), &rows);
        let labels = all.labels.as_ref().unwrap();
        Self {
            fou: view("fou"),
            kar: view("kar"),
            truth: rows.iter().map(|&i| labels[i].class()).collect(),
        }
    }

    /// The labels of the first `m` items of each class below `classes`.
    fn labels(&self, m: usize, classes: u32) -> Vec<Option<u32>> {
        let mut seen = [0; 10];
        let each = self.truth.iter().map(|class| {
            let class = class.unwrap();
            seen[class as usize] += 1;
            (class < classes && seen[class as usize] <= m).then_some(class)
        });
        each.collect()
    }

    fn views(&self) -> [Rows<'_>; 2] {
        [Rows::all(self.fou.view()), Rows::all(self.kar.view())]
    }
}

fn quick() -> Lpf {
    Lpf::new()
        .hidden(48)
        .epochs(80)
        .tuning_epochs(2)
        .iterations(3)
        .threshold(0.8)
}

fn fit(lpf: &Lpf, views: &[Rows], labels: &[Option<u32>], classes: usize) -> Predicted {
    let device = device("cpu").unwrap();
    lpf.fit(views, labels, classes, 1, &device, &Monitor::silent())
        .unwrap()
}

fn check(found: &Predicted, labels: &[Option<u32>]) {
    let last = found.iterations.last().unwrap();
    let items: Vec<usize> = (0..labels.len())
        .filter(|&i| found.class[i].is_some())
        .collect();
    assert_eq!(items, last.items);
    assert!(
        items
            .iter()
            .all(|&i| labels[i].is_none() && found.confidence[i] > 0.8)
    );
    assert!(
        items
            .iter()
            .zip(&last.class)
            .all(|(&i, class)| found.class[i] == Some(*class))
    );
    assert_eq!(last.per_class.iter().sum::<usize>(), items.len());
    for (i, row) in found.scores.rows().into_iter().enumerate() {
        let sum = row.sum();
        assert!((sum - 1.0).abs() < 1e-4 || sum == 0.0, "{i}: {sum}");
    }
}

#[test]
fn two_views_select_what_is_right() {
    let digits = Digits::read();
    let labels = digits.labels(8, 10);
    let found = fit(&quick(), &digits.views(), &labels, 10);
    check(&found, &labels);
    let each: Vec<(usize, f64)> = (found.iterations.iter())
        .map(|it| (it.n(), it.precision(&digits.truth).unwrap()))
        .collect();
    println!("selected and precision: {each:?}, {:?}", found.end);
    // By chance a tenth would be right.
    assert!(
        each.iter().all(|&(n, precision)| n > 60 && precision > 0.9),
        "{each:?}"
    );
    // The stronger view is the one that is believed.
    let strong = found.iterations.iter().all(|it| it.view == Some(1));
    assert!(strong, "{:?}", found.iterations);
    // The same in one thread as in two.
    let threads = |n| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(n)
            .build()
            .unwrap()
    };
    for n in [1, 2] {
        let again = threads(n).install(|| fit(&quick(), &digits.views(), &labels, 10));
        assert_eq!(again, found);
    }
}

/// The settings of `Lpf::new()` but for fewer epochs: the selection grows, and the weak view learns from
/// the strong one.
#[test]
fn the_selection_grows_and_the_weak_view_learns() {
    let digits = Digits::read();
    let labels = digits.labels(12, 10);
    let hidden: Vec<usize> = (0..labels.len()).filter(|&i| labels[i].is_none()).collect();
    let right = |found: &Predicted| {
        let p = &found.posteriors[0];
        let best = |i: usize| (0..10).fold(0, |b, k| if p[[i, k]] > p[[i, b]] { k } else { b });
        hidden
            .iter()
            .filter(|&&i| digits.truth[i] == Some(best(i) as u32))
            .count()
    };
    let lpf = Lpf::new().epochs(100);
    let once = Lpf {
        tuning: Tuning::default(),
        ..lpf.clone().iterations(1)
    };
    let first = fit(&once, &digits.views(), &labels, 10);
    let last = fit(&lpf.iterations(4), &digits.views(), &labels, 10);
    let each: Vec<(usize, f64)> = (last.iterations.iter())
        .map(|it| (it.n(), it.precision(&digits.truth).unwrap()))
        .collect();
    println!(
        "{each:?}; weak view {} to {} of {}",
        right(&first),
        right(&last),
        hidden.len()
    );
    assert_eq!(first.iterations[0], last.iterations[0]);
    assert!(
        each.iter().all(|&(_, precision)| precision > 0.92),
        "{each:?}"
    );
    assert!(each[each.len() - 1].0 > each[0].0, "{each:?}");
    assert!(
        right(&last) > right(&first),
        "{} {}",
        right(&first),
        right(&last)
    );
}

#[test]
fn items_may_lack_a_view_and_views_may_be_one_or_three() {
    let digits = Digits::read();
    let labels = digits.labels(8, 10);
    let n = labels.len();
    let one = fit(&quick(), &digits.views()[1..], &labels, 10);
    check(&one, &labels);
    assert!(one.iterations[0].precision(&digits.truth).unwrap() > 0.9);
    // Each unlabeled item has one view, or none at all, whose rows are not numbers then.
    let has = |t: usize, i: usize| labels[i].is_some() || i % 3 == t;
    let present = [0, 1].map(|t| (0..n).map(|i| has(t, i)).collect::<Vec<bool>>());
    let mut rows = [digits.fou.clone(), digits.kar.clone()];
    for (rows, present) in rows.iter_mut().zip(&present) {
        for (mut row, _) in rows
            .rows_mut()
            .into_iter()
            .zip(present)
            .filter(|(_, has)| !**has)
        {
            row.fill(f32::NAN);
        }
    }
    let apart = [0, 1].map(|t| Rows {
        rows: rows[t].view(),
        present: Some(&present[t]),
    });
    let found = fit(&quick(), &apart, &labels, 10);
    check(&found, &labels);
    let items = &found.iterations[0].items;
    assert!(items.iter().all(|i| i % 3 != 2));
    assert!(items.iter().any(|i| i % 3 == 0) && items.iter().any(|i| i % 3 == 1));
    // Half of the items are judged by the weak view alone.
    let precision = found.iterations[0].precision(&digits.truth).unwrap();
    assert!(precision > 0.7, "{precision}");
    let third = digits.kar.slice(ndarray::s![.., ..20]);
    let [a, b] = digits.views();
    let three = fit(
        &quick().iterations(2),
        &[a, b, Rows::all(third)],
        &labels,
        10,
    );
    check(&three, &labels);
    assert_eq!(three.posteriors.len(), 3);
}

#[test]
fn every_setting_has_its_effect() {
    let digits = Digits::read();
    let labels = digits.labels(8, 10);
    let usual = quick().epochs(40);
    let n = |lpf: &Lpf| {
        let found = fit(lpf, &digits.views(), &labels, 10);
        check(&found, &labels);
        found.iterations.last().unwrap().n()
    };
    let once = |check| n(&usual.clone().tuning_epochs(5).iterations(1).check(check));
    let (switching, all, either) = (
        once(Check::Switching),
        once(Check::All),
        once(Check::Either),
    );
    assert!(
        all < switching && all < either,
        "{all} {switching} {either}"
    );
    let before = fit(&usual, &digits.views(), &labels, 10);
    for changed in [
        usual.clone().centers(CenterRule::Wen { alpha: 0.5 }),
        Lpf {
            update_means: true,
            ..usual.clone()
        },
        Lpf {
            unlabeled_from_start: false,
            ..usual.clone()
        },
        Lpf {
            max_per_class: Some(3),
            ..usual.clone()
        },
        Lpf {
            entropy_ramp: false,
            ..usual.clone()
        },
        Lpf {
            first: FirstStage {
                patience: 5,
                ..usual.first
            },
            ..usual.clone()
        },
    ] {
        let after = fit(&changed, &digits.views(), &labels, 10);
        assert!(
            after.scores != before.scores || after.class != before.class,
            "{changed:?}"
        );
        assert!(after.scores.iter().all(|v| v.is_finite()), "{changed:?}");
        let most = changed.max_per_class.unwrap_or(usize::MAX);
        let mut each = after.iterations.iter().flat_map(|it| &it.per_class);
        assert!(each.all(|&n| n <= most), "{changed:?}");
    }
}

#[test]
fn one_label_a_class_all_labels_and_a_cancelled_run() {
    let digits = Digits::read();
    let lpf = quick().epochs(3).iterations(2);
    // Nothing can be kept back.
    let labels = digits.labels(1, 10);
    let found = fit(&lpf, &digits.views(), &labels, 10);
    check(&found, &labels);
    // Nothing is left to predict.
    let found = fit(&lpf, &digits.views(), &digits.truth, 10);
    assert!(found.end == End::Nothing && found.class.iter().all(Option::is_none));
    let monitor = Monitor::silent();
    monitor.cancel();
    let device = device("cpu").unwrap();
    let stopped = lpf.fit(&digits.views(), &labels, 10, 1, &device, &monitor);
    assert_eq!(
        stopped.unwrap_err().kind(),
        likewise_nn::ErrorKind::Cancelled
    );
}

/// Of one label a class none can be kept back; of two, one is, and the other alone does not vary.
#[test]
fn too_few_labels_to_tell_who_is_outside_are_refused_before_anything_is_learned() {
    let digits = Digits::read();
    let device = device("cpu").unwrap();
    let by = |by| {
        let outside = Outside {
            by,
            ..Outside::default()
        };
        quick()
            .epochs(2)
            .iterations(1)
            .tuning_epochs(5)
            .outside(outside)
    };
    let waits = Monitor::new(|event| {
        assert!(!matches!(event, likewise::Event::Start { .. }), "{event:?}");
    });
    let rows = Unlike::Mahalanobis {
        on: Looks::Rows,
        relative: false,
    };
    for (distance, m, named) in [
        (Unlike::Combined, 1, "three"),
        (Unlike::Combined, 2, "three"),
        (rows, 2, "three"),
        (Unlike::Agreement, 1, "two"),
    ] {
        let labels = digits.labels(m, 10);
        let said = by(distance).fit(&digits.views(), &labels, 10, 1, &device, &waits);
        let said = said.unwrap_err().to_string();
        let asked = format!("label {named} items of a class");
        assert!(
            said.contains(&asked) && said.contains("kept back"),
            "{said}"
        );
    }
    let energy = Unlike::Energy {
        temperature: 1.0,
        apart: true,
    };
    for (enough, m) in [
        (Unlike::Combined, 3),
        (rows, 3),
        (Unlike::Agreement, 2),
        (energy, 2),
    ] {
        let labels = digits.labels(m, 10);
        fit(&by(enough), &digits.views(), &labels, 10);
    }
    // A classifier has two classes to tell apart in each view.
    let labels = digits.labels(2, 10);
    let one_class: Vec<bool> = labels.iter().map(|l| !matches!(l, Some(1..))).collect();
    let mut views = digits.views();
    views[0].present = Some(&one_class);
    let said = by(energy).fit(&views, &labels, 10, 1, &device, &waits);
    let said = said.unwrap_err().to_string();
    assert!(said.starts_with("view 0: the energy"), "{said}");
}

/// Labels of seven classes; the unlabeled items are of ten. Three labels of each class are kept back, 21 in all.
///
/// The combination keeps its usual threshold, which is the largest of the 21. Each other score has one that a fifth
/// of them exceed, the 18th, so that a detector that refuses nothing does not pass for a careful one. Of items that
/// are like those kept back 1 of 22, or 4 of 22, are refused in the mean; a half would be once in a thousand draws of
/// labels with the latter.
#[test]
fn new_classes_are_refused() {
    let digits = Digits::read();
    let labels = digits.labels(15, 7);
    let is_new = |i: usize| digits.truth[i] >= Some(7);
    let plain = fit(&quick(), &digits.views(), &labels, 7);
    assert!(plain.unlike.iter().all(Option::is_none));
    let share = |found: &Predicted| {
        let last = found.iterations.last().unwrap();
        let wrong = last.items.iter().filter(|i| is_new(**i)).count();
        (last.n(), wrong)
    };
    let (all, wrong) = share(&plain);
    assert!(wrong > 0, "nothing to refuse");
    let usual = Outside::default();
    assert_eq!((usual.by, usual.quantile), (Unlike::Combined, 0.95));
    let energy = |apart| Unlike::Energy {
        temperature: 1.0,
        apart,
    };
    // The area under the ROC curve that each exceeds; of the logits and features of networks that the
    // entropy has made sure nothing is asked.
    for (by, least) in [
        (Unlike::Combined, 0.65),
        (energy(true), 0.65),
        (energy(false), 0.0),
        (Unlike::LargestLogit, 0.0),
        (
            Unlike::Mahalanobis {
                on: Looks::Rows,
                relative: false,
            },
            0.65,
        ),
        (
            Unlike::Mahalanobis {
                on: Looks::Features,
                relative: true,
            },
            0.0,
        ),
        (Unlike::Agreement, 0.55),
        (Unlike::Divergence, 0.5),
        (
            Unlike::Lof {
                on: Looks::Rows,
                k: 10,
            },
            0.5,
        ),
    ] {
        let quantile = if by == usual.by { usual.quantile } else { 0.8 };
        let found = fit(
            &quick().outside(Outside { by, quantile }),
            &digits.views(),
            &labels,
            7,
        );
        let (kept, left) = share(&found);
        let refused: usize = found.iterations.iter().map(|it| it.refused).sum();
        let scores = |new: bool| -> Vec<f64> {
            let each = found.unlike.iter().enumerate();
            let of = each.filter(|(i, _)| is_new(*i) == new);
            of.filter_map(|(_, score)| *score).collect()
        };
        let (of_new, of_known) = (scores(true), scores(false));
        // Every item without a label has a score, and no other.
        assert_eq!((of_new.len(), of_known.len()), (150, 350 - 7 * 15));
        let area = auroc(&of_new, &of_known).unwrap();
        println!(
            "{by:?}: {refused} refused; {left} new of {kept} selected, {wrong} of {all} without; AUROC {area:.3}"
        );
        assert!(refused > 0, "{by:?} refuses nothing");
        assert!(
            left <= wrong,
            "{by:?}: {left} of {kept}, {wrong} of {all} without"
        );
        let (known, before) = (kept - left, all - wrong);
        assert!(2 * known >= before, "{by:?}: {known} known of {before}");
        assert!(area > least, "{by:?}: {area}");
        if by == usual.by {
            let refused = found.iterations[0].refused;
            assert!(refused > 0 && left < wrong, "{refused}, {left} of {kept}");
        }
    }
}

#[test]
fn features_tell_new_classes_from_known_ones() {
    use likewise::advise::outside::mahalanobis::ClassGaussians;
    use likewise::advise::outside::{agreement, energy, lof::Lof};
    let digits = Digits::read();
    let labels = digits.labels(15, 7);
    let known: Vec<usize> = (0..labels.len()).filter(|&i| labels[i].is_some()).collect();
    let class: Vec<u32> = known.iter().filter_map(|&i| labels[i]).collect();
    let hidden: Vec<usize> = (0..labels.len()).filter(|&i| labels[i].is_none()).collect();
    let area = |scores: &[f64]| {
        let part = |new: bool| -> Vec<f64> {
            let each = hidden.iter().zip(scores);
            let of = each.filter(|(i, _)| (digits.truth[**i] >= Some(7)) == new);
            of.map(|(_, score)| *score).collect()
        };
        auroc(&part(true), &part(false)).unwrap()
    };
    let (of_known, of_hidden) = (
        digits.kar.select(Axis(0), &known),
        digits.kar.select(Axis(0), &hidden),
    );
    let classes = ClassGaussians::fit(of_known.view(), &class).unwrap();
    let found = fit(&quick(), &digits.views(), &labels, 7);
    let at = |m: &Array2<f32>| m.select(Axis(0), &hidden);
    let p = [at(&found.posteriors[0]), at(&found.posteriors[1])];
    let areas = [
        (
            "mahalanobis",
            classes.distances(of_hidden.view()).unwrap(),
            0.8,
        ),
        (
            "relative",
            classes.relative(of_hidden.view()).unwrap(),
            0.75,
        ),
        (
            "lof",
            Lof::fit(of_known.view(), 7)
                .unwrap()
                .factors(of_hidden.view())
                .unwrap(),
            0.6,
        ),
        (
            "agreement",
            agreement::soft(&[p[0].view(), p[1].view()]).unwrap(),
            0.7,
        ),
    ];
    // The entropy makes the networks sure of every item, those of new classes too: of the energy of
    // such logits nothing more is asked than that it is a number.
    let of_energy = energy::energy(at(&found.logits[1]).view(), 1.0).unwrap();
    println!("energy: AUROC {:.3}", area(&of_energy));
    assert!(of_energy.iter().all(|e| e.is_finite()));
    for (name, scores, least) in areas {
        let area = area(&scores);
        println!("{name}: AUROC {area:.3}");
        assert!(area > least, "{name}: {area}");
    }
}
