//! Columns of a table that are brought to one scale before a model sees them.

use ndarray::Array1;

use crate::onnx::Writer;

/// How columns are read: the median where one is missing (NaN), less the mean, divided by the deviation.
///
/// One entry a column. A file that begins with these takes a table's own numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaled {
    /// What takes the place of a missing number.
    pub median: Array1<f64>,
    /// What is taken off.
    pub mean: Array1<f64>,
    /// What it is divided by.
    pub deviation: Array1<f64>,
}

impl Scaled {
    pub(super) fn put(&self, writer: &mut Writer, x: String) -> String {
        let missing = writer.of("IsNaN", x.clone());
        let median = writer.row("table.median", &self.median);
        let x = writer.node("Where", vec![missing, median, x], vec![]);
        // In two steps, since the mean of large numbers has more digits than f32 keeps.
        let rounded = self.mean.mapv(|mean| f64::from(mean as f32));
        let rest = &self.mean - &rounded;
        let rounded = writer.row("table.mean", &rounded);
        let x = writer.both("Sub", x, rounded);
        let rest = writer.row("table.mean.rest", &rest);
        let x = writer.both("Sub", x, rest);
        let deviation = writer.row("table.deviation", &self.deviation);
        writer.both("Div", x, deviation)
    }
}

/// The input of features, as the model reads them.
pub(super) fn features(writer: &mut Writer, columns: usize, scaled: Option<&Scaled>) -> String {
    let x = writer.input("input", &[columns]);
    match scaled {
        Some(scaled) => scaled.put(writer, x),
        None => x,
    }
}
