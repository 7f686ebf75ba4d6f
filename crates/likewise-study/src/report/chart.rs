//! Charts as inline SVG: lines by epoch, bars by confidence, and maps of points.
//!
//! Everything is drawn at twice the size it is meant for, since the backend rounds to whole
//! units, and scales with the page. Colours of lines and text stand for roles: the style
//! sheet replaces them in the dark. Points of a map keep theirs.

use std::ops::Range;

use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::{Error, ErrorKind, Result};

/// Size of line and bar charts, in half pixels.
const SIZE: (u32, u32) = (680, 460);
/// Edge of a map, in half pixels.
const EDGE: u32 = 900;
/// The backend divides by 1.24: this makes 13 pixels.
const FONT: f64 = 32.0;

const INK: RGBColor = RGBColor(0x33, 0x33, 0x33);
const GRID: RGBColor = RGBColor(0xDD, 0xDD, 0xDD);
const AXIS: RGBColor = RGBColor(0x88, 0x88, 0x88);
const ACCENT: RGBColor = RGBColor(0x00, 0x72, 0xB2);
const OTHER: RGBColor = RGBColor(0x9A, 0xA5, 0xB1);

/// Twelve colours for any common colour blindness, after Krzywinski's set, the palest made
/// darker. Those that look most alike stand at a distance that gives them other shapes.
const COLORS: [RGBColor; 12] = [
    RGBColor(0x00, 0x8D, 0xF9),
    RGBColor(0xE2, 0x01, 0x34),
    RGBColor(0x00, 0x9F, 0x81),
    RGBColor(0xFF, 0xA8, 0x3B),
    RGBColor(0x84, 0x00, 0xCD),
    RGBColor(0xFF, 0x5A, 0xAF),
    RGBColor(0xA4, 0x01, 0x22),
    RGBColor(0x00, 0xC2, 0xF9),
    RGBColor(0xFF, 0x6E, 0x3A),
    RGBColor(0xE0, 0x9A, 0xDE),
    RGBColor(0x00, 0xD3, 0xA5),
    RGBColor(0x9F, 0x01, 0x62),
];
/// Shapes a point can have: disc, triangle, square.
const SHAPES: usize = 3;
/// Signs (colour and shape) that differ; further classes begin anew.
pub(super) const SIGNS: usize = COLORS.len() * SHAPES;

/// The numbers of one draw by epoch, and the epoch that was kept.
pub(super) struct Curve {
    pub(super) points: Vec<(usize, f64)>,
    pub(super) kept: usize,
}

/// One bar: where it lies, how high it is, and whether it rests on few items.
pub(super) struct Bar {
    pub(super) range: Range<f64>,
    pub(super) height: f64,
    pub(super) faint: bool,
}

/// A line a draw over the epochs; the first in colour, the others behind it in grey. A
/// ring marks the epoch that was kept. Nothing where no draw has a finite number.
pub(super) fn curves(title: &str, curves: &[Curve]) -> Result<Option<Markup>> {
    let finite = |c: &Curve| -> Vec<(usize, f64)> {
        let points = c.points.iter().copied();
        points.filter(|(_, y)| y.is_finite()).collect()
    };
    let lines: Vec<Vec<(usize, f64)>> = curves.iter().map(finite).collect();
    let all = || lines.iter().flatten();
    let Some(last) = all().map(|&(x, _)| x).max() else {
        return Ok(None);
    };
    let (low, high) = all().fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(low, high), &(_, y)| (low.min(y), high.max(y)),
    );
    let room = ((high - low) * 0.08).max(high.abs().max(1e-3) * 0.01);
    // Shares end at 1, losses and ranks at 0: so do their axes.
    let bottom = if low >= 0.0 {
        (low - room).max(0.0)
    } else {
        low - room
    };
    let top = if high <= 1.0 {
        (high + room).min(1.0)
    } else {
        high + room
    };
    let drawn = svg(title, SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .margin_right(28)
            .x_label_area_size(76)
            .y_label_area_size(96)
            .build_cartesian_2d(0..last.max(1), bottom..top)?;
        let ticks = decimals(top - bottom);
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(AXIS)
            .label_style(("sans-serif", FONT, &INK))
            .x_labels(last.clamp(1, 10) + 1)
            .y_labels(5)
            .y_label_formatter(&|y| format!("{y:.ticks$}"))
            .x_desc("epoch")
            .draw()?;
        for (number, (line, curve)) in lines.iter().zip(curves).enumerate().rev() {
            let style = match number {
                0 => ACCENT.stroke_width(5),
                _ => OTHER.stroke_width(3),
            };
            chart.draw_series(LineSeries::new(line.iter().copied(), style))?;
            if let [only] = line.as_slice() {
                chart.draw_series([Circle::new(*only, 6, style.filled())])?;
            }
            let ring = line.iter().filter(|(epoch, _)| *epoch == curve.kept);
            chart.draw_series(ring.map(|&point| Circle::new(point, 12, style)))?;
        }
        Ok(())
    })?;
    Ok(Some(drawn))
}

/// Bars over confidence from 0 to 1. `diagonal` draws the line where height and confidence
/// are the same, for heights from 0 to 1.
pub(super) fn bars(title: &str, bars: &[Bar], diagonal: bool) -> Result<Markup> {
    let highest = bars.iter().map(|b| b.height).fold(0.0, f64::max);
    let top = if diagonal {
        1.0
    } else {
        (highest * 1.05).max(1.0)
    };
    svg(title, SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .margin_right(28)
            .x_label_area_size(76)
            .y_label_area_size(96)
            .build_cartesian_2d(0.0..1.0, 0.0..top)?;
        let ticks = usize::from(diagonal);
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(AXIS)
            .label_style(("sans-serif", FONT, &INK))
            .x_labels(6)
            .y_labels(6)
            .x_label_formatter(&|x| format!("{x:.1}"))
            .y_label_formatter(&|y| format!("{y:.ticks$}"))
            .x_desc("confidence")
            .draw()?;
        chart.draw_series(bars.iter().filter(|b| b.height > 0.0).map(|bar| {
            let style = ACCENT.mix(if bar.faint { 0.35 } else { 0.85 }).filled();
            let corners = [(bar.range.start, 0.0), (bar.range.end, bar.height)];
            let mut bar = Rectangle::new(corners, style);
            bar.set_margin(0, 0, 3, 3);
            bar
        }))?;
        if diagonal {
            let line = [(0.0, 0.0), (1.0, 1.0)];
            let style = INK.stroke_width(3);
            chart.draw_series(DashedLineSeries::new(line, 14, 10, style))?;
        }
        Ok(())
    })
}

/// A point of a map.
pub(super) struct Point {
    /// Where it lies.
    pub(super) at: [f32; 2],
    /// Whose sign it has.
    pub(super) class: usize,
    /// How strong it is drawn, 0 to 1.
    pub(super) sure: f32,
    /// Whether a ring stands around it.
    pub(super) ringed: bool,
    /// What is said where the pointer rests on it.
    pub(super) title: String,
}

/// Points of a plane, both directions on one scale, each with the sign of its class. Ringed
/// ones lie above the others.
pub(super) fn map(title: &str, points: &[Point]) -> Markup {
    let [x, y] = [0, 1].map(|axis| {
        let along = points.iter().map(|point| f64::from(point.at[axis]));
        along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        })
    });
    let reach = (x.1 - x.0).max(y.1 - y.0).max(1e-9) * 0.52;
    let edge = f64::from(EDGE);
    let place = |v: f32, (low, high): (f64, f64)| {
        let middle = f64::midpoint(low, high);
        (f64::from(v) - middle) / (2.0 * reach) * edge + edge / 2.0
    };
    let (ringed, plain): (Vec<&Point>, Vec<&Point>) = points.iter().partition(|p| p.ringed);
    html! {
        svg.chart viewBox={ "0 0 " (EDGE) " " (EDGE) } role="img" aria-label=(title) {
            @for point in plain.into_iter().chain(ringed) {
                @let (cx, cy) = (place(point.at[0], x), edge - place(point.at[1], y));
                @let fill = color(point.class);
                @let opacity = format!("{:.2}", 0.25 + 0.55 * point.sure.clamp(0.0, 1.0));
                g {
                    title { (point.title) }
                    @if point.ringed {
                        circle.ring cx={ (format!("{cx:.0}")) } cy={ (format!("{cy:.0}")) } r="12" {}
                    }
                    @match shape(point.class) {
                        0 => { circle cx=(format!("{cx:.0}")) cy=(format!("{cy:.0}")) r="6" fill=(fill) opacity=(opacity) {} }
                        1 => {
                            polygon points=(format!("{cx:.0},{:.0} {:.0},{:.0} {:.0},{:.0}", cy - 7.0, cx + 7.0, cy + 5.0, cx - 7.0, cy + 5.0)) fill=(fill) opacity=(opacity) {}
                        }
                        _ => { rect x=(format!("{:.0}", cx - 5.0)) y=(format!("{:.0}", cy - 5.0)) width="11" height="11" fill=(fill) opacity=(opacity) {} }
                    }
                }
            }
        }
    }
}

fn color(class: usize) -> String {
    let RGBColor(r, g, b) = COLORS[class % COLORS.len()];
    format!("#{r:02X}{g:02X}{b:02X}")
}

/// The sign of a class, for the legend of a map.
pub(super) fn sign(class: usize) -> Markup {
    let color = color(class);
    html! {
        svg.sign viewBox="0 0 12 12" aria-hidden="true" {
            @match shape(class) {
                0 => { circle cx="6" cy="6" r="5" fill=(color) {} }
                1 => { polygon points="6,0 12,10.5 0,10.5" fill=(color) {} }
                _ => { rect x="1" y="1" width="10" height="10" fill=(color) {} }
            }
        }
    }
}

/// Neighbouring classes differ in shape as well as in colour.
fn shape(class: usize) -> usize {
    (class + class / COLORS.len()) % SHAPES
}

fn decimals(span: f64) -> usize {
    match span {
        s if s < 0.04 => 3,
        s if s < 0.4 => 2,
        s if s < 10.0 => 1,
        _ => 0,
    }
}

type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

/// An image of this size, named `title` for those who cannot see it.
fn svg(
    title: &str,
    size: (u32, u32),
    draw: impl FnOnce(&DrawingArea<SVGBackend, Shift>) -> Drawn,
) -> Result<Markup> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    let drawn = draw(&area).and_then(|()| Ok(area.present()?));
    drop(area);
    drawn.map_err(|e| Error::new(ErrorKind::Internal, format!("chart \"{title}\": {e}")))?;
    // The backend's own tag has a fixed size and names a namespace that HTML does not need.
    let inner = text.split_once('>').map_or("", |(_, inner)| inner);
    let inner = inner.trim_end().trim_end_matches("</svg>");
    Ok(html! {
        svg.chart viewBox={ "0 0 " (size.0) " " (size.1) } role="img" aria-label=(title) {
            (PreEscaped(inner))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(usize, f64)], kept: usize) -> Curve {
        Curve {
            points: points.to_vec(),
            kept,
        }
    }

    #[test]
    fn one_line_a_draw_and_one_ring_at_the_kept_epoch() {
        let two = [
            curve(&[(0, 0.5), (1, 0.7), (2, 0.6)], 1),
            curve(&[(0, 0.4), (1, 0.5), (2, 0.6)], 2),
        ];
        let svg = curves("Validation", &two).unwrap().unwrap().into_string();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert_eq!(svg.matches("stroke-width=\"5\" points").count(), 1);
        assert!(svg.starts_with("<svg class=\"chart\" viewBox=\"0 0 680 460\""));
        assert!(svg.ends_with("</svg>") && svg.matches("</svg>").count() == 1);
        assert!(svg.contains("aria-label=\"Validation\"") && !svg.contains("http"));
    }

    #[test]
    fn no_finite_number_is_no_chart_and_one_number_is_a_dot() {
        assert!(curves("x", &[]).unwrap().is_none());
        assert!(
            curves("x", &[curve(&[(0, f64::NAN)], 0)])
                .unwrap()
                .is_none()
        );
        let dot = curves("x", &[curve(&[(0, 0.0)], 7)]).unwrap().unwrap();
        assert_eq!(dot.into_string().matches("<circle").count(), 1);
    }

    #[test]
    fn bars_stand_where_there_is_something() {
        let bar = |from: f64, height: f64| Bar {
            range: from..from + 0.1,
            height,
            faint: false,
        };
        let svg = bars("x", &[bar(0.0, 0.0), bar(0.5, 0.5)], true).unwrap();
        let svg = svg.into_string();
        assert_eq!(svg.matches("<rect").count(), 1);
        let empty = bars("x", &[bar(0.0, 0.0)], false).unwrap().into_string();
        assert_eq!(empty.matches("<rect").count(), 0);
    }

    #[test]
    fn every_point_is_drawn_and_signs_differ() {
        let point = |i: usize| Point {
            at: [i as f32, 1.0],
            class: i,
            sure: 1.0,
            ringed: i == 3,
            title: format!("<{i}>"),
        };
        let points: Vec<Point> = (0..40).map(point).collect();
        let svg = map("x", &points).into_string();
        let count = |tag: &str| svg.matches(tag).count();
        assert_eq!(count("<circle") + count("<polygon") + count("<rect"), 41);
        assert_eq!(
            (count("<circle class=\"ring\""), count("<title>&lt;")),
            (1, 40)
        );
        let signs: std::collections::BTreeSet<String> =
            (0..SIGNS).map(|class| sign(class).into_string()).collect();
        assert_eq!(signs.len(), SIGNS);
        assert!(!map("x", &[point(0)]).into_string().contains("NaN"));
    }
}
