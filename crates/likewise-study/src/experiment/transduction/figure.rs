//! Accuracy by the value of a swept parameter, as small charts of an SVG file.
//!
//! One chart for each parameter and data set, one line a method. Values stand at equal
//! distances, since they are seldom spaced evenly. A method that is not swept is a line of
//! dashes. Bars: 95 % intervals over draws.

use likewise::eval::bootstrap::Estimate;
use plotters::prelude::*;

use super::cells::Store;
use super::definition::{Data, Experiment};
use super::page::{parameters, values};
use crate::experiment::draws::mean;
use crate::{Result, failed};

const PANEL: (u32, u32) = (420, 320);
const COLUMNS: usize = 3;
const LEGEND: u32 = 40;
const FONT: f64 = 16.0;

/// Colours that are told apart under the common colour blindnesses (Okabe and Ito).
const COLORS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x33, 0x33, 0x33),
];

/// The points of one method: place on the axis, accuracy.
struct Line {
    method: usize,
    points: Vec<(usize, Estimate)>,
    swept: bool,
}

struct Panel {
    title: String,
    labels: Vec<String>,
    lines: Vec<Line>,
}

/// The figure, or nothing where nothing is swept.
pub(super) fn svg(experiment: &Experiment, store: &Store) -> Result<Option<String>> {
    let panels: Vec<Panel> = (parameters(experiment).iter())
        .flat_map(|parameter| {
            let sets = experiment.data.iter();
            sets.filter_map(|data| panel(experiment, store, data, parameter))
        })
        .collect();
    if panels.is_empty() {
        return Ok(None);
    }
    let columns = panels.len().min(COLUMNS);
    let rows = panels.len().div_ceil(columns);
    let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32 + LEGEND);
    let mut text = String::new();
    draw(experiment, &panels, &mut text, size, (rows, columns))
        .map_err(|e| failed(format!("figure: {e}")))?;
    Ok(Some(text))
}

fn panel(experiment: &Experiment, store: &Store, data: &Data, parameter: &str) -> Option<Panel> {
    let values = values(experiment, parameter);
    let mut lines = Vec::new();
    for (method, of) in experiment.methods.iter().enumerate() {
        let mut points = Vec::new();
        let mut swept = true;
        for (setting, _) in &of.rows {
            let run = store.run(&data.name, &of.name, setting.as_ref());
            let Some(accuracy) = run.and_then(|run| mean(&run.accuracy)) else {
                continue;
            };
            match setting {
                Some(s) if s.parameter == parameter => {
                    let at = values.iter().position(|v| v.to_bits() == s.value.to_bits());
                    points.extend(at.map(|at| (at, accuracy)));
                }
                Some(_) => {}
                None => {
                    swept = false;
                    points.extend((0..values.len()).map(|at| (at, accuracy)));
                }
            }
        }
        points.sort_by_key(|&(at, _)| at);
        if !points.is_empty() {
            lines.push(Line {
                method,
                points,
                swept,
            });
        }
    }
    lines.iter().any(|line| line.swept).then(|| Panel {
        title: format!("{}: {parameter}", data.name),
        labels: values.iter().map(ToString::to_string).collect(),
        lines,
    })
}

fn draw(
    experiment: &Experiment,
    panels: &[Panel],
    text: &mut String,
    size: (u32, u32),
    (rows, columns): (usize, usize),
) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (head, body) = root.split_vertically(LEGEND);
    let used = |m: usize| panels.iter().any(|p| p.lines.iter().any(|l| l.method == m));
    let mut x = 16;
    for (method, of) in experiment
        .methods
        .iter()
        .enumerate()
        .filter(|&(m, _)| used(m))
    {
        let color = COLORS[method % COLORS.len()];
        let bar = Rectangle::new([(x, 18), (x + 22, 22)], color.filled());
        head.draw(&bar)?;
        let style = TextStyle::from(("sans-serif", FONT));
        head.draw(&Text::new(of.name.clone(), (x + 28, 10), style))?;
        x += 50 + 9 * of.name.chars().count() as i32;
    }
    for (area, panel) in body.split_evenly((rows, columns)).iter().zip(panels) {
        let all = || panel.lines.iter().flat_map(|line| &line.points);
        let ends = |e: &Estimate| {
            if e.low.is_nan() {
                (e.value, e.value)
            } else {
                (e.low, e.high)
            }
        };
        let low = all().map(|(_, e)| ends(e).0).fold(f64::INFINITY, f64::min);
        let high = all()
            .map(|(_, e)| ends(e).1)
            .fold(f64::NEG_INFINITY, f64::max);
        let room = ((high - low) * 0.06).max(0.005);
        let right = panel.labels.len().saturating_sub(1) as f64;
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .caption(&panel.title, ("sans-serif", FONT))
            .x_label_area_size(28)
            .y_label_area_size(48)
            .build_cartesian_2d(
                -0.3..right + 0.3,
                (low - room).max(0.0)..(high + room).min(1.0),
            )?;
        let label = |x: &f64| {
            let whole = (x - x.round()).abs() < 1e-6 && *x > -0.5;
            let label = panel
                .labels
                .get(x.round().max(0.0) as usize)
                .filter(|_| whole);
            label.cloned().unwrap_or_default()
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(0xDD, 0xDD, 0xDD))
            .x_labels(2 * panel.labels.len() + 1)
            .y_labels(6)
            .x_label_formatter(&label)
            .y_label_formatter(&|y| format!("{y:.2}"))
            .label_style(("sans-serif", FONT * 0.85))
            .draw()?;
        for line in &panel.lines {
            let color = COLORS[line.method % COLORS.len()];
            let points = line.points.iter().map(|&(at, e)| (at as f64, e.value));
            if !line.swept {
                let style = color.stroke_width(2);
                chart.draw_series(DashedLineSeries::new(points, 6, 5, style))?;
                continue;
            }
            chart.draw_series(LineSeries::new(points.clone(), color.stroke_width(2)))?;
            chart.draw_series(points.map(|at| Circle::new(at, 3, color.filled())))?;
            for (at, e) in line.points.iter().filter(|(_, e)| !e.low.is_nan()) {
                let ends = [(*at as f64, e.low), (*at as f64, e.high)];
                chart.draw_series([PathElement::new(ends, color.mix(0.6))])?;
            }
        }
    }
    root.present()?;
    drop(root);
    Ok(())
}
