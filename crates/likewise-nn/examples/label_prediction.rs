//! What label prediction selects of the digits, selection by selection.
//!
//! ```text
//! cargo run --release -p likewise-nn --example label_prediction -- testdata/digits.npz [seeds] [views]
//! ```
//!
//! Of each class 150 items are fitted, of which 15 have a label, as in Table 2 of the paper. Views are `fou,kar`
//! unless others are named.

use likewise::Monitor;
use likewise_io::{Form, ReadOptions};
use likewise_nn::lpf::{Lpf, Rows};
use likewise_nn::{Result, device};
use ndarray::Axis;
use rand::seq::SliceRandom;

/// Selected pairs and their precision, as printed, at selections 1, 3, 5, 7 and 9.
const PRINTED: &str = "730 96.98 | 772 96.63 | 817 96.20 | 887 96.50 | 910 96.59";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let arg = |i: usize, usual: &str| args.get(i).cloned().unwrap_or_else(|| usual.to_owned());
    let path = arg(0, "testdata/digits.npz");
    let seeds: u64 = arg(1, "3").parse().unwrap_or(3);
    let names = arg(2, "fou,kar");
    let fail = |e: std::io::Error| likewise_nn::Error::data(format!("{path}: {e}"));
    let bytes = std::fs::read(&path).map_err(fail)?;
    let digits = likewise_io::read_bytes(Form::Npz, &bytes, &ReadOptions::default())
        .map_err(|e| likewise_nn::Error::data(e.to_string()))?;
    let labels = digits
        .labels
        .clone()
        .ok_or_else(|| likewise_nn::Error::data("no labels"))?;
    println!("printed: {PRINTED}");
    for seed in 0..seeds {
        let mut rng = likewise::seed::stream(seed, "split of the digits");
        let (mut items, mut known) = (Vec::new(), Vec::new());
        for class in 0..labels.n_classes() as u32 {
            let mut own: Vec<usize> = (0..labels.len())
                .filter(|&i| labels[i].class() == Some(class))
                .collect();
            own.shuffle(&mut rng);
            known.extend((0..150).map(|i| (i < 15).then_some(class)));
            items.extend(&own[..150]);
        }
        let truth: Vec<Option<u32>> = items.iter().map(|&i| labels[i].class()).collect();
        let mut matrices = Vec::new();
        for name in names.split(',') {
            matrices.push(digits.view(Some(name))?.matrix.select(Axis(0), &items));
        }
        let views: Vec<Rows> = matrices.iter().map(|m| Rows::all(m.view())).collect();
        for (name, lpf) in [("new", Lpf::new()), ("paper", Lpf::paper())] {
            let start = std::time::Instant::now();
            let found = lpf.fit(
                &views,
                &known,
                10,
                seed,
                &device("cpu")?,
                &Monitor::silent(),
            )?;
            let hidden: Vec<usize> = (0..known.len()).filter(|&i| known[i].is_none()).collect();
            let accuracy: Vec<String> = (found.posteriors.iter())
                .map(|p| {
                    let right = hidden.iter().filter(|&&i| {
                        let row = p.row(i);
                        let best = (0..10).fold(0, |b, k| if row[k] > row[b] { k } else { b });
                        truth[i] == Some(best as u32)
                    });
                    format!("{:.3}", right.count() as f64 / hidden.len() as f64)
                })
                .collect();
            let each: Vec<String> = (found.iterations.iter())
                .map(|it| {
                    let precision = 100.0 * it.precision(&truth).unwrap_or(f64::NAN);
                    let view = it.view.map_or("-".to_owned(), |view| view.to_string());
                    format!("{} {precision:.2} (view {view})", it.n())
                })
                .collect();
            println!(
                "{names} seed {seed} {name}: {} | {:?}, networks {} in the end, {:.0} s",
                each.join(" | "),
                found.end,
                accuracy.join(" "),
                start.elapsed().as_secs_f64()
            );
        }
    }
    Ok(())
}
