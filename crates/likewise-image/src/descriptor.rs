//! Descriptors of images that were designed, not trained: one list, from which names and
//! explanations follow.
//!
//! A descriptor of the [whole](Whole) image gives one row; one of [points](Local) gives a set of
//! rows, which [words](crate::Words) count into one. [`describe`](fn@crate::describe) makes a
//! matrix each of a folder of images.
//!
//! | name | what it sees | numbers |
//! |---|---|---|
//! | [`hist`] | colours | 768 |
//! | [`glcm`] | how gray levels lie side by side | 16 |
//! | [`lbp`] | which neighbours are brighter | 59 |
//! | [`gist`] | scales and directions, by place | 512 |
//! | [`phog`] | directions of edges, by place | 680 |
//! | [`sift`] | blobs, turned upright | 128 a point |
//! | [`dsift`] | patches of a grid | 128 a patch |
//! | [`surf`] | blobs by boxes, turned upright | 64 a point |
//! | [`gb`] | slopes around points of edges | 204 a point |
//!
//! All see the image in 8 bits as [`decode`](mod@crate::decode) gives it: upright, transparency laid on
//! white. What is too small or too flat gives zeros, or no points, never NaN.
//!
//! Looked at and not used: imageproc 0.27 (its local binary patterns are of the square and classed
//! by rotation, its HOG has overlapping blocks, its Canny follows edges to 6 of 8 neighbours, and
//! the rest is a few lines beside the conversions of its image type), lowe-sift (see [`sift`]),
//! scirs2-vision and kornia-imgproc (large trees of dependencies, other conventions), bindings of
//! `OpenCV` (a C++ library to install). Used: rustfft for [`gist`].

mod canny;
pub mod dsift;
pub mod gb;
pub mod gist;
pub mod glcm;
pub mod hist;
mod kind;
pub mod lbp;
mod peak;
pub mod phog;
mod plane;
pub mod sift;
pub mod surf;

pub use dsift::DenseSift;
pub use gb::GeometricBlur;
pub use gist::Gist;
pub use glcm::Glcm;
pub use hist::Hist;
pub use kind::{Keypoint, Kind, Local, Points, Whole};
pub use lbp::Lbp;
pub use phog::Phog;
pub use sift::Sift;
pub use surf::Surf;

use serde::{Deserialize, Serialize};

use crate::Result;

/// One line a descriptor: its name, its type, whether it is of the whole image or of points in it,
/// its source, and what it is.
macro_rules! descriptors {
    ($($name:literal $descriptor:ident $kind:ident $file:literal, $what:literal;)*) => {
        /// A descriptor with its parameters.
        ///
        /// ```
        /// use likewise_image::descriptor::{Descriptor, Kind};
        /// let lbp = Descriptor::named("lbp").unwrap();
        /// assert!(matches!(lbp.kind(), Kind::Whole(d) if d.dimensions() == 59));
        /// assert!(Descriptor::named("nosuch").is_none());
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Descriptor {
            $(#[doc = $what] #[serde(rename = $name)] $descriptor($descriptor),)*
        }

        impl Descriptor {
            /// Names of all descriptors.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// What each descriptor is, in the order of [`NAMES`](Self::NAMES).
            pub const ABOUT: &'static [&'static str] = &[$($what),*];

            /// The source of each descriptor, whose doc comment explains it.
            pub const SOURCES: &'static [&'static str] = &[$(include_str!($file)),*];

            /// The descriptor of this name with its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$descriptor($descriptor::default()),)*
                    _ => return None,
                })
            }

            /// The name of this descriptor.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$descriptor(_) => $name,)*
                }
            }

            /// What it describes: the whole image, or points in it.
            pub fn kind(&self) -> Kind<'_> {
                match self {
                    $(Self::$descriptor(descriptor) => Kind::$kind(descriptor),)*
                }
            }

            /// Bytes that it holds for each pixel of the image that it works on, beside the image.
            pub fn held_per_pixel(&self) -> u64 {
                match self.kind() {
                    Kind::Whole(whole) => whole.held_per_pixel(),
                    Kind::Local(local) => local.held_per_pixel(),
                }
            }
        }
    };
}

descriptors! {
    "hist" Hist Whole "descriptor/hist.rs",
        "Colour histogram: how often each value of red, green and blue occurs; 768 numbers.";
    "glcm" Glcm Whole "descriptor/glcm.rs",
        "Gray-level co-occurrence: how gray levels lie side by side; 16 numbers.";
    "lbp" Lbp Whole "descriptor/lbp.rs",
        "Local binary patterns: which neighbours of a pixel are brighter; 59 numbers.";
    "gist" Gist Whole "descriptor/gist.rs",
        "GIST: how much there is of each scale and direction in each of 4 x 4 blocks; 512 numbers.";
    "phog" Phog Whole "descriptor/phog.rs",
        "PHOG: directions of edges over the image and its parts; 680 numbers.";
    "sift" Sift Local "descriptor/sift.rs",
        "SIFT: blobs of any size, turned upright; 128 numbers a point.";
    "dsift" DenseSift Local "descriptor/dsift.rs",
        "Dense SIFT: upright patches of a grid; 128 numbers a patch.";
    "surf" Surf Local "descriptor/surf.rs",
        "SURF: blobs by sums over boxes, turned upright; 64 numbers a point.";
    "gb" GeometricBlur Local "descriptor/gb.rs",
        "Geometric blur: slopes around points of edges, blurred with distance; 204 numbers a point.";
}

impl Descriptor {
    /// Fails with the field, its value and the rule it breaks.
    pub fn validate(&self) -> Result<()> {
        match self.kind() {
            Kind::Whole(descriptor) => descriptor.validate(),
            Kind::Local(descriptor) => descriptor.validate(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_descriptor_is_found_by_its_name_and_by_its_json() {
        assert_eq!(Descriptor::NAMES.len(), Descriptor::SOURCES.len());
        for (name, source) in Descriptor::NAMES.iter().zip(Descriptor::SOURCES) {
            let descriptor = Descriptor::named(name).unwrap();
            assert_eq!(descriptor.name(), *name);
            descriptor.validate().unwrap();
            assert!(source.starts_with("//! ") && source.contains("//! Source: "));
            assert!(source.contains("**Use it**") && source.contains("**Not**"));
            let json = serde_json::to_string(&descriptor).unwrap();
            assert!(json.contains(&format!("\"kind\":\"{name}\"")), "{json}");
            assert_eq!(
                serde_json::from_str::<Descriptor>(&json).unwrap(),
                descriptor
            );
            let unknown = format!("{{\"kind\":\"{name}\",\"nosuch\":1}}");
            assert!(serde_json::from_str::<Descriptor>(&unknown).is_err());
        }
    }

    #[test]
    fn rows_are_as_long_as_said_and_the_same_on_any_thread() {
        let image = plane::noise(70, 60, 9);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        let pool = pool.unwrap();
        for name in Descriptor::NAMES {
            let descriptor = Descriptor::named(name).unwrap();
            match descriptor.kind() {
                Kind::Whole(whole) => {
                    let row = whole.describe(&image);
                    assert_eq!(row.len(), whole.dimensions());
                    assert_eq!(pool.install(|| whole.describe(&image)), row);
                }
                Kind::Local(local) => {
                    let found = local.find(&image);
                    assert_eq!(found.rows.dim(), (found.at.len(), local.dimensions()));
                    assert_eq!(pool.install(|| local.find(&image)), found);
                }
            }
        }
    }
}
