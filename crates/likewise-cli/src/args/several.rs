//! Several labels an item: the same flags wherever they are known.

use clap::Args;
use likewise::tags::BETWEEN;

/// Several labels an item.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Several labels an item")]
pub(crate) struct Several {
    /// Items may have several labels: those in one cell, with | between them, and those of an id that
    /// stands in several lines. Items are alike that share one. Without it, each is a name as it stands.
    #[arg(long)]
    multi_label: bool,
    /// What stands between the labels in a cell. Default: |.
    #[arg(long, value_name = "SIGN", requires = "multi_label", value_parser = super::table::separator)]
    label_separator: Option<char>,
}

impl Several {
    /// What stands between the labels in a cell, where there may be several.
    pub(crate) fn separator(&self) -> Option<char> {
        self.multi_label
            .then(|| self.label_separator.unwrap_or(BETWEEN))
    }
}
