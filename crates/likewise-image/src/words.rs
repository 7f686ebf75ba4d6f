//! Bag of visual words: how often an image has points like each of 200 typical ones.
//!
//! ```text
//! words = centres of k-means over rows of points of training images       k = 200
//! row_j = #{points of the image whose nearest word is j} / #points      0 without a point
//! ```
//!
//! Points are as near as their rows' squared distance; of two words as near the first counts.
//!
//! **Use it** to make one row of any number of points, where parts tell kinds of
//! objects or textures apart. **Not** where the layout does: words do not know where they are.
//!
//! Cost: of learning O(iterations x sample x k x d), of a row O(points x k x d); memory one copy
//! of the sample and what k-means takes, k x d of the words.
//!
//! Source: Csurka, Dance, Fan, Willamowski and Bray, "Visual categorization with bags of
//! keypoints", ECCV workshop 2004; Sivic and Zisserman, "Video Google", ICCV 2003. Ours: the
//! sample. Of at most 1000 training images, drawn, each gives at most as many points as make
//! 100,000 together, and 500 at most: more images say more than more points of one, and every
//! image counts the same. Labels are not looked at. Words are numbered as k-means gives
//! them, by its seed.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use image::RgbImage;
use likewise::arrays::Arrays;
use likewise::eval::kmeans::KMeans;
use likewise::{Monitor, seed};
use likewise_io::memory;
use ndarray::{Array2, ArrayView2, Axis};
use rand::seq::index;
use serde::{Deserialize, Serialize};

use crate::descriptor::{Descriptor, Kind, Local};
use crate::load::value;
use crate::{Error, ErrorKind, Result};

/// Where a file of words keeps its descriptor, and its matrix.
const DESCRIPTOR: &str = "descriptor";
const WORDS: &str = "words";

/// How a vocabulary is learned; see [`words`](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Words {
    size: usize,
    images: usize,
    points: usize,
    sample: usize,
    seed: u64,
}

impl Default for Words {
    fn default() -> Self {
        Self {
            size: 200,
            images: 1000,
            points: 500,
            sample: 100_000,
            seed: 0,
        }
    }
}

impl Words {
    /// Words, and numbers of a row; fewer where there are fewer points.
    #[must_use]
    pub fn size(self, size: usize) -> Self {
        Self { size, ..self }
    }

    /// Training images that are looked at, at most.
    #[must_use]
    pub fn images(self, images: usize) -> Self {
        Self { images, ..self }
    }

    /// Points of one image, at most.
    #[must_use]
    pub fn points(self, points: usize) -> Self {
        Self { points, ..self }
    }

    /// Points of all images, at most, or one each if that is more.
    #[must_use]
    pub fn sample(self, sample: usize) -> Self {
        Self { sample, ..self }
    }

    /// Seed of the images and points that are drawn, and of k-means.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Numbers of a row, where there are as many points.
    pub fn columns(&self) -> usize {
        self.size
    }

    /// Bytes that learning from points of so many numbers takes: the points as they are found, side
    /// by side, and in k-means.
    pub fn memory_to_learn(&self, numbers: usize) -> u64 {
        3 * 4 * (self.sample as u64).saturating_mul(numbers as u64)
    }

    /// Checks that none is 0.
    pub fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("words.size", self.size),
            ("words.images", self.images),
            ("words.points", self.points),
            ("words.sample", self.sample),
        ] {
            if value == 0 {
                return Err(likewise::Error::parameter(field, 0, "must be at least 1").into());
            }
        }
        Ok(())
    }

    /// Which of the training images are looked at, in rising order.
    pub(crate) fn images_of(&self, training: &[usize]) -> Vec<usize> {
        let mut images = training.to_vec();
        images.sort_unstable();
        images.dedup();
        if images.len() > self.images {
            let mut rng = seed::stream(self.seed, "images of words");
            let mut drawn = index::sample(&mut rng, images.len(), self.images).into_vec();
            drawn.sort_unstable();
            images = drawn.into_iter().map(|at| images[at]).collect();
        }
        images
    }

    /// Which points of an image are looked at, one of `images`; drawn by its name.
    pub(crate) fn points_of(&self, rows: Array2<f32>, images: usize, name: &str) -> Array2<f32> {
        let most = self.points.min(self.sample.div_ceil(images.max(1)));
        if rows.nrows() <= most {
            return rows;
        }
        let mut rng = seed::stream(self.seed, &format!("points of {name}"));
        let mut drawn = index::sample(&mut rng, rows.nrows(), most).into_vec();
        drawn.sort_unstable();
        rows.select(Axis(0), &drawn)
    }

    /// The vocabulary of these rows of points, of a descriptor of points.
    ///
    /// Warns where there are fewer points than words. Fails for a descriptor of whole images,
    /// without a point, on NaN, and if `monitor` is cancelled.
    ///
    /// ```
    /// use likewise::Monitor;
    /// use likewise_image::{RgbImage, Words, descriptor::{DenseSift, Descriptor, Local}};
    /// let image = RgbImage::from_fn(64, 48, |x, y| image::Rgb([(x * y % 251) as u8; 3]));
    /// let dsift = DenseSift::default();
    /// let words = Words::default().size(5);
    /// let rows = dsift.find(&image).rows;
    /// let words = words.learn(&Descriptor::DenseSift(dsift), rows.view(), &Monitor::silent())?;
    /// let row = words.describe(&image);
    /// assert_eq!(row.len(), 5);
    /// assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    /// # Ok::<(), likewise_image::Error>(())
    /// ```
    pub fn learn(
        &self,
        descriptor: &Descriptor,
        points: ArrayView2<f32>,
        monitor: &Monitor,
    ) -> Result<Vocabulary> {
        self.validate()?;
        descriptor.validate()?;
        let dimensions = local(descriptor)?.dimensions();
        let (n, d) = points.dim();
        let name = descriptor.name();
        if n == 0 {
            return Err(value(format!(
                "none of the training images has a point of {name}: they are too small or too \
                 flat; give others, or leave {name} out"
            )));
        }
        if d != dimensions {
            return Err(value(format!(
                "points of {name} have {dimensions} numbers, not {d}"
            )));
        }
        if n < self.size {
            monitor.warn(format!(
                "the training images have {n} points of {name}, so there are {n} words, not {}",
                self.size
            ));
        }
        let kmeans = KMeans::new(self.size.min(n))
            .n_init(1)
            .max_iterations(100)
            .sample(self.sample)
            .seed(self.seed);
        let found = kmeans.fit(points, monitor)?;
        Ok(Vocabulary::new(descriptor.clone(), found.centroids))
    }
}

/// The descriptor of points.
fn local(descriptor: &Descriptor) -> Result<&dyn Local> {
    match descriptor.kind() {
        Kind::Local(local) => Ok(local),
        Kind::Whole(_) => Err(value(format!(
            "{} describes whole images and has no words",
            descriptor.name()
        ))),
    }
}

/// The words of a descriptor of points; see [`words`](self).
#[derive(Debug, Clone, PartialEq)]
pub struct Vocabulary {
    descriptor: Descriptor,
    words: Array2<f32>,
    /// Half the squared length of each word.
    halves: Vec<f32>,
}

impl Vocabulary {
    fn new(descriptor: Descriptor, words: Array2<f32>) -> Self {
        let half = |row: ndarray::ArrayView1<f32>| {
            let square: f64 = row.iter().map(|&v| f64::from(v).powi(2)).sum();
            (0.5 * square) as f32
        };
        Self {
            descriptor,
            halves: words.rows().into_iter().map(half).collect(),
            words,
        }
    }

    /// The descriptor, with the parameters that the words were learned with.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The words: one a row.
    pub fn words(&self) -> ArrayView2<'_, f32> {
        self.words.view()
    }

    /// The row of an image: one number a word, of sum 1, or all 0 without a point.
    pub fn describe(&self, image: &RgbImage) -> Vec<f32> {
        match self.descriptor.kind() {
            Kind::Local(local) => self.count(local.find(image).rows.view()),
            // No vocabulary is made of it.
            Kind::Whole(_) => vec![0.0; self.words.nrows()],
        }
    }

    /// The share of these points nearest to each word.
    ///
    /// # Panics
    ///
    /// Where the points have another number of columns than the words.
    pub fn count(&self, points: ArrayView2<f32>) -> Vec<f32> {
        let mut counts = vec![0_u32; self.words.nrows()];
        // Of |p - w|^2 what depends on the word is twice |w|^2 / 2 - p w.
        let products = points.dot(&self.words.t());
        for products in products.rows() {
            let mut nearest = (0, f32::INFINITY);
            for (word, (product, half)) in products.iter().zip(&self.halves).enumerate() {
                let distance = half - product;
                if distance < nearest.1 {
                    nearest = (word, distance);
                }
            }
            counts[nearest.0] += 1;
        }
        let points = points.nrows().max(1) as f64;
        let share = |&count: &u32| (f64::from(count) / points) as f32;
        counts.iter().map(share).collect()
    }

    /// SHA-256 of the descriptor and its words: of another one, rows do not compare.
    pub fn digest(&self) -> String {
        let words = self.words.iter().flat_map(|v| v.to_le_bytes());
        let words: Vec<u8> = words.collect();
        likewise_io::digest_parts([self.head().into_bytes(), words])
    }

    fn head(&self) -> String {
        serde_json::to_string(&self.descriptor).expect("numbers by name are JSON")
    }

    /// Writes a safetensors file of the words, with the descriptor in its head.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut arrays = Arrays::default();
        arrays.put_matrix32(WORDS, &self.words);
        let head = BTreeMap::from([(DESCRIPTOR.to_owned(), self.head())]);
        let bytes = likewise_io::arrays::to_safetensors(&arrays, &head)?;
        likewise_io::atomic::write(path, |file| Ok(file.write_all(&bytes)?))
    }

    /// Reads what [`save`](Self::save) wrote.
    ///
    /// Fails on any other file, and where words and descriptor do not fit each other.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = likewise_io::read_file(path, memory::allowed(None) / 4)?;
        Self::parse(&bytes).map_err(|e| e.within(path.display()))
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let broken = |what: String| Error::new(ErrorKind::Format, format!("no words: {what}"));
        let (arrays, head) = likewise_io::arrays::from_safetensors(bytes)?;
        let Some(head) = head.get(DESCRIPTOR) else {
            return Err(broken("it does not say of which descriptor".into()));
        };
        let descriptor: Descriptor = serde_json::from_str(head)
            .map_err(|e| broken(format!("its descriptor cannot be read ({e})")))?;
        descriptor.validate()?;
        let dimensions = local(&descriptor)?.dimensions();
        let words = arrays.matrix32(WORDS)?;
        if words.nrows() == 0 || words.ncols() != dimensions {
            return Err(broken(format!(
                "a matrix of shape {:?} for points of {dimensions} numbers",
                words.dim()
            )));
        }
        likewise::matrix::check_finite(words.view(), WORDS)?;
        Ok(Self::new(descriptor, words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::{DenseSift, Hist, Surf};
    use likewise::Event;
    use proptest::prelude::*;
    use rand::RngExt;
    use std::sync::{Arc, Mutex};

    fn points(n: usize, number: u64) -> Array2<f32> {
        let mut rng = seed::stream(number, "points");
        Array2::from_shape_fn((n, 64), |_| rng.random_range(-1.0_f32..1.0))
    }

    fn surf() -> Descriptor {
        Descriptor::Surf(Surf::default())
    }

    fn learned(words: Words, rows: &Array2<f32>) -> Vocabulary {
        let words = words.learn(&surf(), rows.view(), &Monitor::silent());
        words.unwrap()
    }

    proptest! {
        #[test]
        fn a_row_counts_the_nearest_words(n in 0..40_usize, number: u64) {
            let words = learned(Words::default().size(7), &points(30, number));
            let rows = points(n, number ^ 1);
            let mut plain = vec![0.0; 7];
            for row in rows.rows() {
                let distance = |w: usize| {
                    let pairs = row.iter().zip(words.words().row(w).to_vec());
                    pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
                };
                let best = (0..7).min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
                plain[best.unwrap()] += 1.0 / n as f32;
            }
            let row = words.count(rows.view());
            prop_assert!(row.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }

    #[test]
    fn of_two_words_as_near_the_first_counts() {
        let words = Vocabulary::new(surf(), Array2::zeros((3, 64)));
        assert_eq!(words.count(points(5, 1).view()), [1.0, 0.0, 0.0]);
        assert_eq!(words.count(points(0, 1).view()), [0.0; 3]);
    }

    #[test]
    fn a_file_comes_back_and_damage_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words.safetensors");
        let words = learned(Words::default().size(4), &points(50, 2));
        words.save(&path).unwrap();
        let back = Vocabulary::open(&path).unwrap();
        assert_eq!(back, words);
        assert_eq!(back.digest(), words.digest());
        let other = learned(Words::default().size(4).seed(5), &points(50, 2));
        assert_ne!(other.digest(), words.digest());
        let bytes = std::fs::read(&path).unwrap();
        for end in (0..bytes.len()).step_by(31) {
            assert!(Vocabulary::parse(&bytes[..end]).is_err());
        }
        // Of another descriptor, and of one without words.
        for name in ["dsift", "hist"] {
            let text = String::from_utf8_lossy(&bytes[8..]).find("surf").unwrap();
            let descriptor = Descriptor::named(name).unwrap();
            let wrong = Vocabulary {
                descriptor,
                ..words.clone()
            };
            wrong.save(&path).unwrap();
            assert!(text > 0 && Vocabulary::open(&path).is_err());
        }
    }

    #[test]
    fn fewer_points_than_words_are_the_words() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = said.clone();
        let monitor = Monitor::new(move |event| {
            if let Event::Warning(text) = event {
                heard.lock().unwrap().push(text.clone());
            }
        });
        let rows = points(3, 6);
        let words = Words::default().learn(&surf(), rows.view(), &monitor);
        assert_eq!(words.unwrap().words().nrows(), 3);
        assert!(said.lock().unwrap()[0].contains("3 points of surf"));
        let learn = |descriptor: &Descriptor, rows: &Array2<f32>| {
            let learned = Words::default().learn(descriptor, rows.view(), &Monitor::silent());
            learned.unwrap_err().to_string()
        };
        assert!(learn(&surf(), &points(0, 1)).contains("too small or too flat"));
        assert!(learn(&Descriptor::Hist(Hist::default()), &rows).contains("whole images"));
        let dsift = Descriptor::DenseSift(DenseSift::default());
        assert!(learn(&dsift, &rows).contains("128 numbers, not 64"));
        for (wrong, field) in [
            (Words::default().size(0), "words.size"),
            (Words::default().images(0), "words.images"),
            (Words::default().points(0), "words.points"),
            (Words::default().sample(0), "words.sample"),
        ] {
            assert!(wrong.validate().unwrap_err().to_string().contains(field));
        }
    }

    #[test]
    fn what_is_looked_at_is_drawn_by_the_seed() {
        let words = Words::default().images(3).points(5).sample(12);
        let images = words.images_of(&[9, 4, 4, 7, 1, 0]);
        assert_eq!(images.len(), 3);
        assert!(images.is_sorted());
        assert_eq!(words.images_of(&[0, 1, 4, 7, 9]), images);
        assert!((1..20).any(|s| words.seed(s).images_of(&[0, 1, 4, 7, 9]) != images));
        assert_eq!(words.images_of(&[5, 2]), [2, 5]);
        let rows = points(20, 3);
        let some = words.points_of(rows.clone(), 3, "a.png");
        assert_eq!(some.nrows(), 4);
        assert_eq!(words.points_of(rows.clone(), 3, "a.png"), some);
        assert_ne!(words.points_of(rows.clone(), 3, "b.png"), some);
        assert_eq!(words.points_of(rows, 1, "a.png").nrows(), 5);
    }
}
