//! What was fitted on: parts, labels, choices of each draw, and leaks.

use crate::graph::parts_in_words;
use likewise::Collection;
use maud::{Markup, html};

use super::ground::percent;
use super::selections;
use super::table::split_in_words;
use crate::study::{DrawLog, Results, SplitKind};

/// Everything a reader needs to doubt the numbers well.
pub(super) fn facts(results: &Results, collection: &Collection) -> Markup {
    let classes = collection
        .labels
        .as_ref()
        .map_or(0, likewise::Labels::n_classes);
    html! {
        dl.facts {
            dt { "Items" }
            dd {
                (collection.len()) " in " (classes) " classes: "
                @for (number, (part, count)) in results.parts.iter().enumerate() {
                    @if number > 0 { ", " }
                    (count) " " (part)
                }
            }
            dt { "Split" }
            dd {
                @if results.split == SplitKind::Folds {
                    "none: all labels are fitted, and rounds that keep some back measure"
                } @else { "tested on " (tested(results)) }
            }
            dt { "Labels" }
            dd {
                @match results.labels_per_class {
                    Some(m) if results.split == SplitKind::Folds => {
                        (m) " for each class; the others were hidden and not used"
                    }
                    Some(m) => {
                        (m) " for each class that is fitted, and as many for each class that \
                        validates; the others were hidden and used for scoring only"
                    }
                    None if results.split == SplitKind::Folds => { "all that are known" }
                    None => { "all that are known in the training part" }
                }
            }
            dt { "Draws" }
            dd {
                (results.per_draw.len())
                @if results.per_draw.len() == 1 { " draw" } @else { " draws" }
                " of the labels, seed " (results.seed)
            }
            dt { "Leaks" }
            dd {
                @if results.leaks.is_empty() { "no duplicates and no leaks found" }
                @else {
                    ul {
                        @for finding in &results.leaks { li { (finding.to_string()) } }
                    }
                }
            }
        }
        div.scroll {
            table {
                thead {
                    tr {
                        th scope="col" { "draw" }
                        th scope="col" { "labels fitted" }
                        th scope="col" { "labels that only validated" }
                        th scope="col" { "shrinkage" }
                        th scope="col" { "pseudo-labels right" }
                        th scope="col" { "epoch kept" }
                        th scope="col" { "epoch kept by labels only" }
                    }
                }
                tbody { @for log in &results.per_draw { (draw(log)) } }
            }
        }
        p.note {
            "Epoch 0 is the start: before anything is learned. Shrinkage: how far \
            the whitening of the start was held back."
            @if results.per_draw.len() > 1 {
                " The head, the pseudo-labels, the maps and the neighbours below are those of the \
                first draw."
            }
        }
        @if let Some(first) = results.per_draw.first() {
            p.note { (graph(first)) }
            (selections::of_first(&first.selections))
        }
    }
}

fn tested(results: &Results) -> String {
    let words = split_in_words(results.split);
    match words.strip_prefix("of ") {
        Some(classes) => format!("items of {classes}"),
        None => words.replace("divided", "parts divided"),
    }
}

fn draw(log: &DrawLog) -> Markup {
    html! {
        tr {
            th scope="row" { (log.draw + 1) }
            td { (log.labels) }
            td {
                @if log.validation_labels > 0 { (log.validation_labels) }
                @else { "none: folds over the fitted" }
            }
            td {
                @match log.shrinkage {
                    Some(eps) => { (eps) }
                    None => { "centred only" }
                }
                @if log.standardized { ", standardized" }
            }
            td { (log.pseudo_label_accuracy.map_or("unknown".into(), percent)) }
            td { (log.epoch) " of " (log.training.len().saturating_sub(1)) }
            td { (log.labels_only_epoch.map_or("–".into(), |epoch| epoch.to_string())) }
        }
    }
}

fn graph(log: &DrawLog) -> String {
    let went = &log.propagation;
    format!(
        "The graph of the training items hangs together{}. Propagation took {} iterations and {}.",
        match parts_in_words(went.components, went.isolated, went.unreached).as_str() {
            "" => String::new(),
            parts => format!(" but for this: {}", parts.trim_start_matches(", ")),
        },
        went.iterations,
        if went.converged {
            "converged"
        } else {
            "did not converge: take its pseudo-labels with care"
        }
    )
}
