//! What a fit of a handful of labels says of itself beside the truth, and what each further
//! label is worth.
//!
//! ```text
//! cargo run --release -p likewise-cli --example few_labels truth > results/few-labels/README.md
//! cargo run --release -p likewise-cli --example few_labels unequal > results/few-labels/unequal.md
//! cargo run --release -p likewise-cli --example few_labels budgets > results/few-labels/budgets.md
//! cargo run --release -p likewise-cli --example few_labels new-classes > results/few-labels/new-classes.md
//! ```
//!
//! Public sets whose labels are all known are treated as users treat theirs: some labels a class
//! are shown to the study and nothing else; it fits all of them. The truth is then measured by
//! all other labels: each unlabeled item asks, and all items are searched.

mod beside_truth;
mod budgets;
mod new_classes;
mod sets;

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let mut out = std::io::stdout().lock();
    match std::env::args().nth(1).as_deref() {
        Some("truth") => beside_truth::write(&mut out),
        Some("unequal") => beside_truth::write_unequal(&mut out),
        Some("budgets") => budgets::write(&mut out),
        Some("new-classes") => new_classes::write(&mut out),
        _ => Err("say which table: truth, unequal, budgets or new-classes".into()),
    }
}
