//! Images for Likewise: folders of them become data.
//!
//! [`ImageFolder`] lists a folder (sub-folder = class), [`decode`](mod@decode) reads its files, a
//! [`Preprocess`] makes them the numbers that an encoder takes, a [`Loader`] does so for
//! many on all cores, and [`collection`] gives what an [`Encoder`] makes of them, one row an
//! image, remembered in a cache. Without an encoder, [`Encoder::pixels`] is a baseline, and
//! [`describe`](fn@describe) has the [descriptors](descriptor) of before networks.
//!
//! Files are read whole and decoded one a thread: no video, no tiles of huge scans. Decoded
//! images share a limit of memory, see [`limit_memory`]; pipes and devices are not read.

mod cache;
pub mod decode;
mod describe;
pub mod descriptor;
mod encoder;
mod features;
mod folder;
mod gate;
mod load;
mod pixels;
mod preprocess;
pub mod topic;
pub mod transform;
pub mod words;

pub use cache::is_kept_features;
pub use describe::{Described, Describer, describe, describers};
pub use encoder::{Encode, Encoder};
pub use features::{Features, collection, features};
pub use folder::{ENDINGS, ImageFolder};
pub use gate::limit_memory;
pub use image::RgbImage;
pub use likewise_io::{Error, ErrorKind, Result};
pub use load::{Batch, Batches, Loader, Skipped};
pub use pixels::Pixels;
pub use preprocess::{Channels, Preprocess, Resize};
pub use words::{Vocabulary, Words};
