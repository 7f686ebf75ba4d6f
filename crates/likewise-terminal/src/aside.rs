//! What is said beside the results.

use std::fmt::Display;
use std::io::Write as _;

/// Writes a line on stderr. Nobody can be told where that is closed or full, so the work goes on.
pub fn aside(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
