//! Whole fits: every part with every other, on digits and on images.

mod across;
mod behind;
mod bench;
mod choice;
mod device;
mod digits;
mod few_labels;
mod fine_tune;
mod golden;
mod journey;
mod matrix;
mod rca;
mod request;
mod unlabeled;
mod views;
