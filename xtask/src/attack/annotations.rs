//! What is said of items and pairs: labels, what an item is not, graphs, known negatives.

use super::data;
use super::kind::{Case, Files, Mutated};
use super::place::Place;
use crate::data::Result;

pub(super) fn kind(place: &Place) -> Result<Mutated> {
    let data = data::files([("x.csv", data::table(',')), ("x.npz", data::npz()?)]);
    let made = place.made(
        data.clone(),
        &[
            "graph x.csv -k 5 -q -o graph.npz",
            "propagate x.csv -k 5 -q --method mixed --negatives negatives.npz -o b.npz",
        ],
    )?;
    let not = data::labels(|item| format!("i{item}"), 7);
    let cases = [
        (
            "doctor x.csv --labels y.csv",
            "y.csv",
            data::labels(|i| format!("i{i}"), 4),
        ),
        (
            "doctor x.npz --labels y.csv",
            "y.csv",
            data::labels(|i| i.to_string(), 4),
        ),
        ("doctor x.npz --labels y.npy", "y.npy", data::label_codes()),
        (
            "propagate x.csv -k 5 --labels y.csv -o b.csv",
            "y.csv",
            data::labels(|i| format!("i{i}"), 4),
        ),
        (
            "propagate x.csv -k 5 --method negative-labels --not not.csv -o b.parquet",
            "not.csv",
            not,
        ),
        (
            "propagate x.csv --graph graph.npz -o b.npz",
            "graph.npz",
            made["graph.npz"].clone(),
        ),
        (
            "propagate x.csv --graph graph.npz --method dssml -o b.npz",
            "graph.npz",
            made["graph.npz"].clone(),
        ),
        (
            "propagate x.csv -k 5 --method mixed --known-negatives negatives.npz -o b.npz",
            "negatives.npz",
            made["negatives.npz"].clone(),
        ),
    ];
    let tuples = |item: usize| format!("i{item},i{},i{}\n", (item + 3) % 60, (item + 1) % 60);
    let triplets: String = (0..40).map(tuples).collect();
    let triplets = format!("anchor,positive,negative\n{triplets}").into_bytes();
    let pairs = |item: usize| format!("i{item},i{},1,0.5\ni{item},i{},-1,1\n", item + 3, item + 4);
    let pairs: String = (0..40).map(pairs).collect();
    let pairs = format!("a,b,y,weight\n{pairs}").into_bytes();
    let given = [
        (
            "fit x.csv --recipe label-rca --pairs p.csv -o run",
            "p.csv",
            pairs,
        ),
        (
            "fit x.csv --recipe label-rca --triplets t.csv -o run",
            "t.csv",
            triplets,
        ),
        (
            "mine x.csv --from b.npz --kind pairs -o out.csv",
            "b.npz",
            made["b.npz"].clone(),
        ),
    ];
    let case = |(command, name, content): (&str, &str, Vec<u8>)| {
        let mut files: Files = data.clone();
        files.retain(|file, _| command.contains(file.as_str()));
        files.insert(name.to_owned(), content);
        Case::new(&format!("{command} -q --threads 1"), files).only(|file| file == name)
    };
    Ok(Mutated::new(
        "labels and graphs",
        cases.into_iter().chain(given).map(case).collect(),
    ))
}
