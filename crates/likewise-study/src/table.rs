//! Tables of metrics as plain text.

use likewise::eval::summary::Summary;

use crate::plain;

/// A column: its title, its name in `ci`, and its value.
type Column = (&'static str, &'static str, fn(&Summary) -> Option<f64>);

/// The columns after those of R@k.
const OTHERS: [Column; 3] = [
    ("MAP@R", "map_at_r", |s| s.map_at_r),
    ("R-precision", "r_precision", |s| s.r_precision),
    ("NMI", "nmi", |s| s.nmi),
];

/// A table of metrics: one row a system, one column for each metric that any row has.
pub fn of(rows: &[(&str, &Summary)]) -> String {
    let mut ks: Vec<usize> = rows
        .iter()
        .flat_map(|(_, s)| s.recall.keys().copied())
        .collect();
    ks.sort_unstable();
    ks.dedup();
    let any = |of: fn(&Summary) -> Option<f64>| rows.iter().any(|(_, s)| of(s).is_some());
    // Where MAP@R can be measured it says what R-precision says, and more.
    let shown =
        |(_, key, of): &&Column| any(*of) && (*key != "r_precision" || !any(|s| s.map_at_r));
    let others: Vec<&Column> = OTHERS.iter().filter(shown).collect();
    let mut header = vec![String::new()];
    header.extend(ks.iter().map(|k| format!("R@{k}")));
    header.extend(others.iter().map(|(title, ..)| (*title).to_owned()));
    // Of several labels an item: at the largest k, which tells most of the order.
    let graded = rows
        .iter()
        .filter_map(|(_, s)| s.ndcg.keys().last().copied())
        .max();
    header.extend(graded.map(|k| format!("nDCG@{k}")));
    let mut lines = vec![header];
    for (name, summary) in rows {
        let mut cells = vec![(*name).to_owned()];
        for k in &ks {
            let value = summary.recall.get(k).copied();
            cells.push(cell(value, summary.ci.get(&format!("recall@{k}"))));
        }
        for (_, key, of) in &others {
            cells.push(cell(of(summary), summary.ci.get(*key)));
        }
        if let Some(k) = graded {
            let value = summary.ndcg.get(&k).copied();
            cells.push(cell(value, summary.ci.get(&format!("ndcg@{k}"))));
        }
        lines.push(cells);
    }
    aligned(&lines)
}

/// Times that one side of an interval may be as long as the other to be told as one half.
const LOPSIDED: f64 = 2.0;

/// A value with half the width of its 95 % interval; where one side of it is far longer than the
/// other, as near 0 and 1, with both sides.
pub(crate) fn cell(value: Option<f64>, interval: Option<&[f64; 2]>) -> String {
    let (value, [low, high]) = match (value, interval) {
        (Some(value), Some(interval)) => (value, *interval),
        (Some(value), None) => return format!("{value:.3}"),
        (None, _) => return "-".into(),
    };
    let (below, above) = (value - low, high - value);
    // What the last digit shows: sides that round to the same are even.
    let (short, long) = (below.min(above) - 0.0005, below.max(above) + 0.0005);
    if long > LOPSIDED * short && long - short > 0.01 {
        format!("{value:.3} -{below:.3} +{above:.3}")
    } else {
        format!("{value:.3} ±{:.3}", (high - low) / 2.0)
    }
}

/// Longest cell that others are padded to: one long id does not push all lines off the screen.
const WIDE: usize = 40;

/// Columns padded to their widest cell, of those that are at most 40 characters: the first to the
/// left, the others to the right.
///
/// Whatever the cells hold, they stay in their places; a longer one moves the rest of its own line alone.
pub fn aligned(lines: &[Vec<String>]) -> String {
    let plain = |line: &Vec<String>| -> Vec<String> {
        let cells = line.iter().map(|cell| plain::name(cell).into_owned());
        cells.collect()
    };
    let lines: Vec<Vec<String>> = lines.iter().map(plain).collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        let cells = lines.iter().filter_map(|line| line.get(c));
        let widths = cells.map(|cell| cell.chars().count());
        widths.filter(|&width| width <= WIDE).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let padded = |line: &Vec<String>| {
        let cells = line.iter().enumerate().map(|(c, cell)| {
            let pad = " ".repeat(widths[c].saturating_sub(cell.chars().count()));
            if c == 0 {
                format!("{cell}{pad}")
            } else {
                format!("{pad}{cell}")
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(padded).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_leans_to_one_side_is_told_by_both() {
        let told = |low, high| cell(Some(0.98), Some(&[low, high]));
        assert_eq!(told(0.93, 1.0), "0.980 -0.050 +0.020");
        assert_eq!(told(0.96, 1.0), "0.980 ±0.020");
        assert_eq!(told(0.97, 0.995), "0.980 ±0.013");
        // In the last digit alone.
        assert_eq!(told(0.977, 0.981), "0.980 ±0.002");
        assert_eq!(told(0.9, 0.98), "0.980 -0.080 +0.000");
        assert_eq!(cell(Some(0.5), None), "0.500");
        assert_eq!(cell(None, Some(&[0.0, 1.0])), "-");
    }

    #[test]
    fn one_long_id_makes_no_other_line_longer() {
        let line = |id: &str, value: &str| vec![id.to_owned(), value.to_owned()];
        let long = "x".repeat(150);
        let table = aligned(&[line("id", "rank"), line("a", "1"), line(&long, "2")]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[..2], ["id  rank", "a      1"]);
        assert_eq!(lines[2], format!("{long}     2"));
    }
}
