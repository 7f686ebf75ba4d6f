//! How the columns of a table are read: the same flags wherever data are read.

use clap::{Args, ValueEnum};
use likewise_io::{Decimal, Missing, TableOptions};

/// How the columns of a table are read.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Tables")]
pub(crate) struct Table {
    /// Only these columns are features: names, with commas between them. Dates are taken only if
    /// they are named.
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) columns: Vec<String>,
    /// Columns that are left out.
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) drop: Vec<String>,
    /// The column of ids. Default: id.
    #[arg(long, value_name = "NAME")]
    pub(crate) id_column: Option<String>,
    /// The column of labels; of --labels FILE if that is given. Default: label, or class.
    #[arg(long, value_name = "NAME")]
    pub(crate) label_column: Option<String>,
    /// What is done where a number is missing. Words among numbers count as missing, too, if this
    /// is given. Default: median.
    #[arg(long, value_enum)]
    pub(crate) missing: Option<MissingName>,
    /// What stands between the columns: a sign, or tab. Default: it is found.
    #[arg(long, value_name = "SIGN", value_parser = separator)]
    pub(crate) sep: Option<char>,
    /// What stands before the fraction of a number, . or a comma. Default: it is found.
    #[arg(long, value_name = "SIGN", value_parser = decimal)]
    pub(crate) decimal: Option<Decimal>,
    /// Take columns of text as well: triples of letters, hashed to 256 features a column.
    #[arg(long)]
    pub(crate) text: bool,
}

/// What is done where a number is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissingName {
    /// The median of the column takes its place.
    Median,
    /// The line is left out.
    Drop,
}

pub(super) fn separator(text: &str) -> Result<char, String> {
    let mut letters = text.chars();
    match (text, letters.next(), letters.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(sign), None) if sign.is_ascii() && !"\"\r\n\0".contains(sign) => Ok(sign),
        _ => Err("one sign such as ; or tab".to_owned()),
    }
}

fn decimal(text: &str) -> Result<Decimal, String> {
    match text {
        "." | "point" => Ok(Decimal::Point),
        "," | "comma" => Ok(Decimal::Comma),
        _ => Err(". or a comma".to_owned()),
    }
}

impl Table {
    /// The same for the reader.
    pub(crate) fn options(&self) -> TableOptions {
        TableOptions {
            columns: self.columns.clone(),
            drop: self.drop.clone(),
            id_column: self.id_column.clone(),
            label_column: self.label_column.clone(),
            missing: self.missing.map(|missing| match missing {
                MissingName::Median => Missing::Median,
                MissingName::Drop => Missing::Drop,
            }),
            label_separator: None,
            sep: self.sep,
            decimal: self.decimal,
            text: self.text,
        }
    }
}
