//! Tables as people make them: columns of numbers, words, dates, and nothing at all.
//!
//! A reader gives a table as [`cells::Rows`]. What its columns hold is looked at in one pass
//! ([`survey`]), what becomes of each is decided ([`decide`]), and a second pass makes the features
//! ([`features`]). How that was done is a [`Layout`](crate::layout::Layout), by which other tables are
//! read in the same way. Lists of numbers are columns from the start ([`lists`]).

pub(crate) mod cells;
pub(crate) mod date;
mod decide;
mod features;
mod foot;
mod labels;
mod lists;
pub(crate) mod ngrams;
mod read;
mod survey;
mod tell;
mod thousands;
mod written;

pub(crate) use foot::Foot;
pub(crate) use labels::labels_of;
pub(crate) use read::{
    Beside, asked_by, check_apart, read, read_beside, shape, shape_beside, words,
};
pub(crate) use survey::is_blank;
pub(crate) use tell::{tell_numbers, why};
pub(crate) use thousands::{Thousands, remark_on_thousands};
pub(crate) use written::{is_missing, is_number};
