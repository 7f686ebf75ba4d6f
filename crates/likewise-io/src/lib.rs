//! Files of Likewise: reads features and labels from the forms that data come in, and
//! writes graphs, beliefs and tables that Python's public libraries read.
//!
//! [`read`] turns one path into a [`likewise::Collection`]: numpy's `.npy` and `.npz`,
//! `.csv`, `.tsv`, `.parquet`, `.xlsx`, `.jsonl`, `.safetensors`, and the idx files of MNIST. Images are read
//! by `likewise-image`. Everything is written atomically: a file is complete
//! or not there. Messages name the file, the place in it, and what to do.
//!
//! Readers stream: beside the `f32` features they hold a small buffer, and no size is
//! taken from a header before the file proves it. What a file will take is compared with
//! the memory there is (see [`memory`]) before it is taken. Only regular files are read, never
//! pipes or devices.

pub mod arrays;
pub mod atomic;
pub mod beliefs;
pub mod collection;
pub mod embeddings;
pub mod faiss;
pub mod graph;
pub mod items;
pub mod memory;
pub mod negatives;
pub mod tags;
pub mod tuples;
pub mod votes;

mod assemble;
mod budget;
mod columns;
mod csv;
mod digest;
mod doubts;
mod error;
mod form;
mod idx;
mod input;
mod jsonl;
mod labels;
mod layout;
mod lines;
mod mapped;
mod npy;
mod npz;
mod number;
mod options;
mod parquet;
mod places;
mod plan;
mod read;
mod role;
mod safetensors;
mod suspects;
mod table;
mod texts;
mod words;
mod xlsx;

pub use assemble::Shape;
pub use digest::{digest, digest_parts};
pub use error::{Error, ErrorKind, Result};
pub use form::Form;
pub use input::{open, read_file, read_text};
pub use labels::{
    Said, read_labels, read_labels_as, read_labels_bytes, read_labels_with, read_said, read_texts,
};
pub use layout::{Column, DateOrder, Decimal, Layout, Missing, Taken};
pub use lines::write_lines;
pub use mapped::Mapped;
pub use npy::{write_npy, write_npy_bytes};
pub use options::{ReadOptions, TableOptions};
pub use places::Places;
pub use read::{
    inspect, is_idx_folder, read, read_beside, read_bytes, read_list, read_matrix, read_with_layout,
};
pub use texts::{is_text_folder, text_beside};
