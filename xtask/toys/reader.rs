//! A toy format: the first line names the columns, the others hold numbers; spaces between them.

use likewise::Monitor;

use crate::assemble::{Parts, Shape};
use crate::input::Input;
use crate::options::ReadOptions;
use crate::{Result, csv};

pub(crate) fn shape(input: Input, options: &ReadOptions) -> Result<Shape> {
    csv::shape(input, b' ', options)
}

pub(crate) fn read(input: Input, options: &ReadOptions, monitor: &Monitor) -> Result<Parts> {
    csv::read(input, b' ', options, monitor)
}
