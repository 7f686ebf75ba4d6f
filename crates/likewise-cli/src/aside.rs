//! What is said beside the results.

/// A line on stderr. Nobody can be told where that is closed or full, so the work goes on.
macro_rules! aside {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

pub(crate) use aside;
