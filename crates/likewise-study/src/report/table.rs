//! The table of metrics: baselines, recipe and oracle, each number with its interval.

use likewise::eval::summary::Summary;
use maud::{Markup, html};

use crate::study::{Results, Row, SplitKind};

/// A metric that has a column.
#[derive(Clone, Copy)]
enum Column {
    Recall(usize),
    MapAtR,
    RPrecision,
    /// Of several labels an item: at this k, by the share of them that two items have in common.
    Ndcg(usize),
    Nmi,
}

impl Column {
    fn title(self) -> String {
        match self {
            Column::Recall(k) => format!("R@{k}"),
            Column::MapAtR => "MAP@R".into(),
            Column::RPrecision => "R-precision".into(),
            Column::Ndcg(k) => format!("nDCG@{k}"),
            Column::Nmi => "NMI".into(),
        }
    }

    fn value(self, row: &Summary) -> Option<f64> {
        match self {
            Column::Recall(k) => row.recall.get(&k).copied(),
            Column::MapAtR => row.map_at_r,
            Column::RPrecision => row.r_precision,
            Column::Ndcg(k) => row.ndcg.get(&k).copied(),
            Column::Nmi => row.nmi,
        }
    }

    fn interval(self, row: &Summary) -> Option<&[f64; 2]> {
        match self {
            Column::Recall(k) => row.ci.get(&format!("recall@{k}")),
            Column::MapAtR => row.ci.get("map_at_r"),
            Column::RPrecision => row.ci.get("r_precision"),
            Column::Ndcg(k) => row.ci.get(&format!("ndcg@{k}")),
            Column::Nmi => row.ci.get("nmi"),
        }
    }
}

/// The rows of `results`, the best one that needed few labels marked.
pub(super) fn metrics(results: &Results) -> Markup {
    let oracle = results.baselines.get(&Row::AllLabels);
    let few = |row: &Summary| !oracle.is_some_and(|oracle| std::ptr::eq(oracle, row));
    let rows = results.rows();
    let best = best(rows.iter().map(|(_, row)| *row).filter(|row| few(row)));
    let columns = columns(results);
    let highest = |column: Column| {
        let values = rows.iter().filter(|(_, row)| few(row));
        let values = values.filter_map(|(_, row)| column.value(row));
        values.fold(f64::NEG_INFINITY, f64::max)
    };
    let highest: Vec<f64> = columns.iter().copied().map(highest).collect();
    let summary = &results.summary;
    html! {
        div.scroll {
            table.metrics {
                thead {
                    tr {
                        th scope="col" { "" }
                        @for column in &columns { th scope="col" { (column.title()) } }
                    }
                }
                tbody {
                    @for &(title, row) in &rows {
                        @let marked = best.is_some_and(|best| std::ptr::eq(best, row));
                        tr.best[marked].oracle[!few(row)] {
                            th scope="row" {
                                (title)
                                @if marked { " " span.star title="best row" { "★" } }
                            }
                            @for (column, &highest) in columns.iter().zip(&highest) {
                                @let value = column.value(row);
                                td.top[few(row) && value.is_some_and(|v| v >= highest)] {
                                    (cell(value, column.interval(row)))
                                }
                            }
                        }
                    }
                }
            }
        }
        p.note {
            "★ best " (best_by(results)) " " (if oracle.is_some() { "without the oracle" } else { "of all" })
            "; bold: best of its column. Small numbers: 95 % interval over the queries"
            @if summary.draws > 1 {
                " and over " (summary.draws)
                @if results.split == SplitKind::Folds { " rounds" } @else { " draws of the labels" }
            }
            ". " (summary.n_queries) " queries over " (summary.n_gallery) " items, "
            (split_in_words(results.split)) "."
            @if summary.n_lone > 0 {
                " " (summary.n_lone) " queries have no other item of their class: they count 0 \
                in R@k and are left out of MAP@R."
            }
            @if results.split != SplitKind::Folds && (2..=3).contains(&summary.draws) {
                " So few draws say little about the luck of the draw, so the intervals are \
                wide; five draws make them much narrower."
            }
        }
    }
}

/// What the columns mean.
pub(super) fn legend(results: &Results) -> Markup {
    html! {
        p.note {
            @if results.split == SplitKind::Folds {
                b { "R-precision" } " share of the items of a class that come among the first R \
                answers, R being how many there are (1 is perfect). The labels that were kept \
                back ask, and all items are searched; it is of items of the labeled classes alone. Of the \
                others' classes nobody knows, so what share of the very first answers is right cannot be measured. "
            } @else if !results.summary.ndcg.is_empty() {
                b { "R@k" } " share of queries with an item that has a label of theirs among the first k answers. "
                b { "MAP@R" } " how well all such items come first, "
                b { "nDCG@k" } " how well those that share most labels do (1 is perfect). "
            } @else {
                b { "R@k" } " share of queries with an item of their class among the first k \
                answers. "
                b { "MAP@R" } " how well all items of the class come first (1 is perfect). "
            }
            @if results.summary.nmi.is_some() {
                b { "NMI" } " agreement of k-means clusters with the classes. "
            }
            @if results.baselines.contains_key(&Row::AllLabels) {
                b { (Row::AllLabels.title()) }
                " saw the label of every training item: what the same recipe makes of all of them. \
                It is no bound: another recipe may make more."
            }
        }
    }
}

/// The row with the largest MAP@R, or R@1 where there is none; ties go to the first.
pub(super) fn best<'a>(rows: impl Iterator<Item = &'a Summary>) -> Option<&'a Summary> {
    let score = |row: &Summary| {
        let ranked = row.map_at_r.or(row.r_precision);
        ranked.or_else(|| row.recall.get(&1).copied())
    };
    rows.filter_map(|row| Some((score(row)?, row)))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, row)| row)
}

/// The metric that the star goes by.
fn best_by(results: &Results) -> &'static str {
    match (results.summary.map_at_r, results.summary.r_precision) {
        (Some(_), _) => "MAP@R",
        (None, Some(_)) => "R-precision",
        _ => "R@1",
    }
}

/// How the items were divided.
pub(super) fn split_in_words(split: SplitKind) -> &'static str {
    match split {
        SplitKind::Item => "new items of the classes that were fitted (item split)",
        SplitKind::ZeroShot => "of classes never seen in fitting (class-disjoint split)",
        SplitKind::Given => "divided as the data say",
        SplitKind::Folds => "that were kept back from fitting, some in each round",
    }
}

fn columns(results: &Results) -> Vec<Column> {
    let recall = results.summary.recall.keys().map(|&k| Column::Recall(k));
    let nmi = results.summary.nmi.map(|_| Column::Nmi);
    let ranked = match results.summary.map_at_r {
        None if results.summary.r_precision.is_some() => Column::RPrecision,
        _ => Column::MapAtR,
    };
    // At the largest k, which tells most of the order.
    let graded = results.summary.ndcg.keys().last();
    let graded = graded.map(|&k| Column::Ndcg(k));
    recall.chain([ranked]).chain(graded).chain(nmi).collect()
}

fn cell(value: Option<f64>, interval: Option<&[f64; 2]>) -> Markup {
    html! {
        @match value {
            Some(value) => { span.value { (format!("{value:.3}")) } }
            None => { "–" }
        }
        @if let Some([low, high]) = interval {
            // All metrics lie from 0 to 1; an interval from few draws knows nothing of that.
            span.interval { (format!("{:.3}–{:.3}", low.max(0.0), high.min(1.0))) }
        }
    }
}
