//! Columns of a table that look like something else than a feature.

use std::collections::HashMap;

use likewise::{Label, Labels, Monitor};
use ndarray::{ArrayView1, ArrayView2};

use crate::role::some;

/// Fewer items prove nothing: small numbers are a permutation, or tell the label, by chance.
const LEAST: usize = 20;

/// Share of the variance above which a column outweighs all others together.
const SHARE: f64 = 0.9;

/// Warns of columns that hold the numbers of the rows, that tell the label alone, or that
/// carry more than nine tenths of the variance, unless columns are `scaled_from` their number on.
///
/// Nothing is left out: a column may look like an index and be none. Says nothing for fewer
/// than 20 items, or 20 labels. Costs O(n d) and O(n) memory.
pub(crate) fn check(
    names: &[String],
    x: ArrayView2<f32>,
    labels: Option<&Labels>,
    scaled_from: Option<usize>,
    monitor: &Monitor,
) {
    if x.nrows() < LEAST {
        return;
    }
    let named = |columns: &[usize]| {
        let names: Vec<&str> = columns.iter().map(|&c| names[c].as_str()).collect();
        some(&names)
    };
    let all = 0..x.ncols();
    let counting: Vec<usize> = all.clone().filter(|&c| counts(x.column(c))).collect();
    if !counting.is_empty() {
        monitor.warn(format!(
            "column {} holds every number from one end to the other once, as an index does, and \
             is read as a feature; remove it, or name it id or index",
            named(&counting)
        ));
    }
    if let Some(labels) = labels {
        let telling = |&c: &usize| !counting.contains(&c) && tells(x.column(c), labels);
        let telling: Vec<usize> = all.filter(telling).collect();
        if !telling.is_empty() {
            monitor.warn(format!(
                "column {} tells the label alone: items of the same number are of the same \
                 class; remove it if it was made from the labels",
                named(&telling)
            ));
        }
    }
    if scaled_from.is_none_or(|least| x.ncols() < least)
        && let Some((column, share)) = outweighs(x)
        && !counting.contains(&column)
    {
        monitor.warn(format!(
            "column {} carries {:.1} % of the variance of all {} columns, so the similarity \
             of the features as they are is nearly that column alone; remove it if it is no feature, or take what \
             scales columns, as fit does",
            named(&[column]),
            100.0 * share,
            x.ncols()
        ));
    }
}

/// Whether the values are 0 to n-1 or 1 to n, each once, in any order.
fn counts(column: ArrayView1<f32>) -> bool {
    let n = column.len();
    let mut seen = vec![false; n + 1];
    let once = column.iter().all(|&value| {
        // Beyond 2^24, whole numbers fall together as f32.
        let whole = value.fract() == 0.0 && value >= 0.0 && f64::from(value) <= n as f64;
        whole && !std::mem::replace(&mut seen[value as usize], true)
    });
    once && !(seen[0] && seen[n])
}

/// Whether the column is of whole numbers, each of which stands for one class among the
/// labeled items: at least two values and two classes, and two items a value.
fn tells(column: ArrayView1<f32>, labels: &Labels) -> bool {
    let mut of_value: HashMap<u32, (u32, usize)> = HashMap::new();
    let mut known = 0;
    for (&value, label) in column.iter().zip(labels.items()) {
        if value.fract() != 0.0 {
            return false;
        }
        let Label::Known(class) = *label else {
            continue;
        };
        known += 1;
        let entry = of_value
            .entry((value + 0.0).to_bits())
            .or_insert((class, 0));
        if entry.0 != class {
            return false;
        }
        entry.1 += 1;
    }
    let mut classes: Vec<u32> = of_value.values().map(|v| v.0).collect();
    classes.sort_unstable();
    classes.dedup();
    known >= LEAST && classes.len() > 1 && of_value.values().all(|v| v.1 > 1)
}

/// The column of the largest variance and its share of the sum, if that is too much.
fn outweighs(x: ArrayView2<f32>) -> Option<(usize, f64)> {
    if x.ncols() < 2 {
        return None;
    }
    let mean = likewise::matrix::column_means(x);
    let mut variance = vec![0.0; x.ncols()];
    for row in x.rows() {
        for ((sum, &value), mean) in variance.iter_mut().zip(row).zip(&mean) {
            *sum += (f64::from(value) - mean).powi(2);
        }
    }
    let total: f64 = variance.iter().sum();
    let largest = variance
        .iter()
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(b.1))?;
    let share = largest.1 / total;
    (share > SHARE).then_some((largest.0, share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    const N: usize = 40;

    /// What is said of 40 items of two columns: the given one, and one of no meaning.
    fn said(first: impl Fn(usize) -> f32, labels: Option<&Labels>) -> Vec<String> {
        said_where_scaled(None, first, labels)
    }

    fn said_where_scaled(
        scaled_from: Option<usize>,
        first: impl Fn(usize) -> f32,
        labels: Option<&Labels>,
    ) -> Vec<String> {
        let x = Array2::from_shape_fn((N, 2), |(i, j)| match j {
            0 => first(i),
            _ => ((i * 17 + 5) % 23) as f32 * 0.2 - 2.0,
        });
        let (monitor, heard) = crate::read::listening();
        let names = ["a".into(), "b".into()];
        check(&names, x.view(), labels, scaled_from, &monitor);
        let heard = heard.lock().unwrap();
        heard.clone()
    }

    #[test]
    fn an_index_under_another_name_is_named() {
        for start in [0, 1] {
            let said = said(|i| ((i * 7) % N + start) as f32, None);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(said[0].starts_with("column \"a\" holds every number"));
        }
        assert!(said(|i| ((i * 7) % N) as f32 * 0.1, None).is_empty());
        // A number is missing, or stands twice.
        assert!(said(|i| if i == 3 { 5.0 } else { (i % 9) as f32 }, None).is_empty());
    }

    #[test]
    fn a_column_that_tells_the_label_is_named() {
        let labels = Labels::from_integers((0..N as i64).map(|i| i % 3));
        let said_of = |first: fn(usize) -> f32| said(first, Some(&labels));
        for tells in [|i| (i % 3) as f32 * 2.0, |i| (i % 6) as f32] {
            let said = said_of(tells);
            assert!(
                said[0].starts_with("column \"a\" tells the label"),
                "{said:?}"
            );
        }
        assert!(said_of(|i| (i % 2) as f32).is_empty());
        assert!(said_of(|i| (i % 3) as f32 + 0.5).is_empty());
        // Few labels, or one class, prove nothing.
        let few = labels.masked(|i| i < 10);
        assert!(said(|i| (i % 3) as f32, Some(&few)).is_empty());
        let one = Labels::from_integers([1; N]);
        assert!(said(|i| (i % 3) as f32, Some(&one)).is_empty());
    }

    #[test]
    fn a_column_that_outweighs_the_others_is_named() {
        let said_of = |scale: f32| said(move |i| ((i * 13) % 29) as f32 * scale + 0.5, None);
        let loud = said_of(6.0);
        assert!(loud[0].starts_with("column \"a\" carries 99."), "{loud:?}");
        assert!(loud[0].contains("of all 2 columns"));
        assert!(said_of(0.3).is_empty());
        // It does not where the columns come to one scale.
        for (from, warned) in [(Some(0), 0), (Some(2), 0), (Some(3), 1)] {
            let loud = |i: usize| ((i * 13) % 29) as f32 * 6.0 + 0.5;
            assert_eq!(said_where_scaled(from, loud, None).len(), warned);
        }
    }
}
