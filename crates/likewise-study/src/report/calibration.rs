//! Pseudo-labels: how many at which confidence, and how often they are right.

use likewise::eval::calibration::{BINS, Bin, Calibration};
use maud::{Markup, html};

use super::chart::{self, Bar};
use super::ground::percent;
use crate::Result;

/// Bins of fewer items are drawn faint: their accuracy is mostly luck.
const FEW: usize = 10;

/// Histogram and accuracy by bin; a sentence where no truth is known.
pub(super) fn histogram(calibration: &Calibration) -> Result<Markup> {
    let left_out = html! {
        @if calibration.unreached > 0 {
            " " (calibration.unreached) " items have no pseudo-label: no label reaches them."
        }
    };
    let (Some(error), Some(accuracy)) = (calibration.expected_error, calibration.accuracy) else {
        return Ok(html! {
            p {
                "The true class of no pseudo-labeled item is known, so there is nothing to \
                compare the confidence with." (left_out)
            }
        });
    };
    let bars = |height: &dyn Fn(&Bin) -> f64| -> Vec<Bar> {
        let bar = |(number, bin): (usize, &Bin)| Bar {
            range: edge(number)..edge(number + 1),
            height: height(bin),
            faint: bin.count < FEW,
        };
        calibration.bins.iter().enumerate().map(bar).collect()
    };
    let counts = bars(&|bin| bin.count as f64);
    let shares = bars(&|bin| bin.accuracy);
    Ok(html! {
        p {
            "Of " (calibration.measured) " pseudo-labels whose truth was hidden, "
            b { (percent(accuracy)) } " are right. Expected calibration error: "
            b { (format!("{error:.3}")) }
            " (0: a confidence of 0.8 means right in 80 % of the cases)." (left_out)
        }
        div.charts {
            figure.panel {
                figcaption { b { "Items" } " by confidence" }
                (chart::bars("Number of items by confidence", &counts, false)?)
            }
            figure.panel {
                figcaption { b { "Share right" } " by confidence" }
                (chart::bars("Share of right pseudo-labels by confidence", &shares, true)?)
            }
            (numbers(calibration))
        }
        p.note {
            "Dashed: where confidence is what it says. Bars above it: too modest; below: too \
            sure. Faint bars hold fewer than " (FEW) " items. Confidence of propagation is a \
            weight, not a probability: what matters is that the bars rise."
        }
    })
}

fn numbers(calibration: &Calibration) -> Markup {
    html! {
        figure.panel {
            figcaption { b { "The numbers" } " of each bin" }
            table.bins {
                thead {
                    tr {
                        th scope="col" { "confidence" } th scope="col" { "items" }
                        th scope="col" { "mean" } th scope="col" { "right" }
                    }
                }
                tbody {
                    @for (number, bin) in calibration.bins.iter().enumerate() {
                        @if bin.count > 0 {
                            tr {
                                th scope="row" {
                                    (format!("{:.1}–{:.1}", edge(number), edge(number + 1)))
                                }
                                td { (bin.count) }
                                td { (format!("{:.2}", bin.confidence)) }
                                td { (percent(bin.accuracy)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn edge(number: usize) -> f64 {
    number as f64 / BINS as f64
}
