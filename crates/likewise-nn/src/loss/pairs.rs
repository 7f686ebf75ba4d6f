//! Pairs of a batch: which should be near and which apart.

use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use likewise::{Tags, Triplets};
use ndarray::ArrayView2;

use super::relation::Relation;
use crate::{Error, Result};

/// Weighted positive and negative pairs of a batch of `n` items.
///
/// Row `i` says how the anchor `i` stands to every item; anchors are the first `m` items of
/// the batch, usually all of them (`m = n`). An entry is the weight of its pair, at least 0;
/// 0 in both matrices means unknown or absent. A weight is a multiplicity: in every mean of a
/// loss, a term counts as often as its weight says, and weight 0 is the same as absence.
///
/// ```
/// use likewise_nn::{Device, loss::Pairs};
/// let pairs = Pairs::from_classes(&[0, 0, 1], &[1.0, 1.0, 0.5], &Device::flex())?;
/// assert_eq!(pairs.positive.to_data_as::<f32>().as_slice::<f32>().unwrap()[1], 1.0);
/// assert_eq!(pairs.negative.to_data_as::<f32>().as_slice::<f32>().unwrap()[2], 0.5);
/// # Ok::<(), likewise_nn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pairs {
    /// Weights of the pairs that should be near, `[m, n]`, 0 where an item meets itself.
    pub positive: Tensor<2>,
    /// Weights of the pairs that should be apart, `[m, n]`, 0 where an item meets itself.
    pub negative: Tensor<2>,
    /// Weights of the anchors, `[m]`: in means over anchors, and in losses that look at the
    /// batch as a whole. The weight of a pair is that of its anchor times that of the other.
    pub anchors: Tensor<1>,
}

impl Pairs {
    /// Pairs of items with known classes: same class positive, other class negative, of
    /// weight `w_i w_j`.
    ///
    /// Fails if the two lists differ in length or a weight is negative or not finite.
    pub fn from_classes(
        classes: &[u32],
        weights: &[f32],
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        same_length("classes", classes.len(), weights)?;
        Self::from_grades(classes.len(), weights, options, |i, j| {
            f32::from(u8::from(classes[i] == classes[j]))
        })
    }

    /// Pairs of graded relation: `relation[i][j]` in 0 to 1 says how much `j` is like `i`
    /// (same class, share of tags, ...), NaN that it is unknown. A grade `g` is a positive
    /// pair of weight `g w_i w_j` and a negative one of weight `(1 - g) w_i w_j`.
    ///
    /// The diagonal is not looked at. Fails if the matrix is not square, on other grades, or
    /// on weights as in [`from_classes`](Self::from_classes).
    pub fn from_relation(
        relation: ArrayView2<f32>,
        weights: &[f32],
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        let (n, columns) = relation.dim();
        if n != columns {
            return Err(Error::data(format!(
                "the relation is {n} x {columns}; it must be square"
            )));
        }
        same_length("rows of the relation", n, weights)?;
        for ((i, j), &grade) in relation.indexed_iter() {
            if i != j && !(grade.is_nan() || (0.0..=1.0).contains(&grade)) {
                return Err(Error::data(format!(
                    "relation of items {i} and {j} is {grade}; it must be 0 to 1, or NaN where \
                     unknown"
                )));
            }
        }
        Self::from_grades(n, weights, options, |i, j| relation[[i, j]])
    }

    /// Pairs of items with several labels each: a grade by what they share, as of
    /// [`from_relation`](Self::from_relation). Items of no tag are unlike all others; what is not known of an
    /// item is unknown of its pairs.
    ///
    /// Fails if the lists differ in length, and on weights as in [`from_classes`](Self::from_classes).
    ///
    /// ```
    /// use likewise::Tags;
    /// use likewise_nn::{Device, loss::{Pairs, Relation}};
    /// let tags = Tags::read([vec!["a", "b"], vec!["b", "c"], vec!["d"]])?;
    /// let pairs = Pairs::from_tags(&tags, &[1.0; 3], Relation::Jaccard, &Device::flex())?;
    /// let row = pairs.positive.to_data_as::<f32>();
    /// assert!((row.as_slice::<f32>().unwrap()[1] - 1.0 / 3.0).abs() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_tags(
        tags: &Tags,
        weights: &[f32],
        relation: Relation,
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        same_length("sets of tags", tags.len(), weights)?;
        Self::from_grades(tags.len(), weights, options, |i, j| {
            match (tags.of(i), tags.of(j)) {
                (Some(_), Some(_)) => relation.grade(tags, i, j),
                _ => f32::NAN,
            }
        })
    }

    /// Pairs of lists: `(anchor, other, weight)`, among `n` items. A pair counts in the order
    /// given; for both orders, list both. Pairs listed twice add up.
    ///
    /// The weight of an anchor is the largest of its pairs. Fails on items that are not below
    /// `n`, on an item paired with itself and on weights below 0 or not finite.
    pub fn from_lists(
        n: usize,
        positive: &[(u32, u32, f32)],
        negative: &[(u32, u32, f32)],
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        let fill = |pairs: &[(u32, u32, f32)]| {
            let mut matrix = vec![0.0; n * n];
            for (row, &(a, b, weight)) in pairs.iter().enumerate() {
                if a as usize >= n || b as usize >= n || a == b {
                    return Err(Error::data(format!(
                        "pair {row}: ({a}, {b}) among {n} items; the two must differ and be \
                         below {n}"
                    )));
                }
                check_weight("pair", row, weight)?;
                matrix[a as usize * n + b as usize] += weight;
            }
            Ok(matrix)
        };
        let (positive, negative) = (fill(positive)?, fill(negative)?);
        let anchors = (0..n)
            .map(|i| {
                let row = i * n..(i + 1) * n;
                let weights = positive[row.clone()].iter().chain(&negative[row]);
                weights.fold(0.0_f32, |largest, &w| largest.max(w))
            })
            .collect();
        Ok(Self::from_rows(n, positive, negative, anchors, options))
    }

    /// The pairs of explicit triplets: anchor and positive, anchor and negative.
    pub fn from_triplets(
        n: usize,
        triplets: &Triplets,
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        triplets.check(n)?;
        let positive: Vec<_> = triplets.iter().map(|(a, p, _, w)| (a, p, w)).collect();
        let negative: Vec<_> = triplets.iter().map(|(a, _, q, w)| (a, q, w)).collect();
        Self::from_lists(n, &positive, &negative, options)
    }

    /// Pairs of the first `m` items with all, by a grade for each; NaN is unknown.
    pub(crate) fn from_grades(
        m: usize,
        weights: &[f32],
        options: impl Into<TensorCreationOptions>,
        grade: impl Fn(usize, usize) -> f32,
    ) -> Result<Self> {
        for (row, &weight) in weights.iter().enumerate() {
            check_weight("item", row, weight)?;
        }
        let n = weights.len();
        let (mut positive, mut negative) = (vec![0.0; m * n], vec![0.0; m * n]);
        for i in 0..m {
            let row = i * n..(i + 1) * n;
            let own = positive[row.clone()].iter_mut().zip(&mut negative[row]);
            for (j, ((near, apart), &other)) in own.zip(weights).enumerate() {
                let (grade, weight) = (grade(i, j), weights[i] * other);
                // Without a branch, so that several are done at once.
                let known = f32::from(u8::from(!grade.is_nan() && i != j));
                let grade = if grade.is_nan() { 0.0 } else { grade };
                *near = weight * grade * known;
                *apart = weight * (1.0 - grade) * known;
            }
        }
        let anchors = weights[..m].to_vec();
        Ok(Self::from_rows(m, positive, negative, anchors, options))
    }

    fn from_rows(
        m: usize,
        positive: Vec<f32>,
        negative: Vec<f32>,
        anchors: Vec<f32>,
        options: impl Into<TensorCreationOptions>,
    ) -> Self {
        let options = options.into();
        let matrix = |values: Vec<f32>| {
            let n = values.len().checked_div(m).unwrap_or(0);
            Tensor::from_data(TensorData::new(values, [m, n]), options.clone())
        };
        Self {
            positive: matrix(positive),
            negative: matrix(negative),
            anchors: Tensor::from_data(TensorData::new(anchors, [m]), options.clone()),
        }
    }

    /// Number of anchors `m` and of items `n`.
    pub fn dims(&self) -> [usize; 2] {
        self.positive.dims()
    }

    /// The same pairs, in the number type of `x` and as constants.
    pub(crate) fn like(&self, x: &Tensor<2>) -> Self {
        let dtype = x.dtype();
        Self {
            positive: self.positive.clone().detach().cast(dtype),
            negative: self.negative.clone().detach().cast(dtype),
            anchors: self.anchors.clone().detach().cast(dtype),
        }
    }

    /// Weights of the anchors as a column.
    pub(crate) fn anchor_column(&self) -> Tensor<2> {
        self.anchors.clone().unsqueeze_dim(1)
    }

    /// Weights of the other item alone: positive and negative, each divided by the anchor's.
    pub(crate) fn of_others(&self) -> (Tensor<2>, Tensor<2>) {
        let anchors = self.anchor_column();
        let absent = anchors.clone().lower_equal_elem(0.0);
        let anchors = anchors.mask_fill(absent, 1.0);
        (
            self.positive.clone() / anchors.clone(),
            self.negative.clone() / anchors,
        )
    }
}

fn same_length(what: &str, length: usize, weights: &[f32]) -> Result<()> {
    if weights.len() == length {
        return Ok(());
    }
    Err(Error::data(format!(
        "{length} {what} but {} weights; there must be one each",
        weights.len()
    )))
}

pub(crate) fn check_weight(what: &str, row: usize, weight: f32) -> Result<()> {
    if weight.is_finite() && weight >= 0.0 {
        return Ok(());
    }
    Err(Error::data(format!(
        "{what} {row} has weight {weight}; weights must be finite and at least 0"
    )))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use ndarray::array;

    use super::*;

    fn values(t: &Tensor<2>) -> Vec<f32> {
        t.clone().try_into_vec_as::<f32>().unwrap()
    }

    #[test]
    fn the_constructors_agree_where_they_can() {
        let device = Device::flex();
        let classes = Pairs::from_classes(&[0, 0, 1], &[1.0, 0.5, 2.0], &device).unwrap();
        let relation = array![[9.0, 1.0, 0.0], [1.0, 9.0, 0.0], [0.0, 0.0, 9.0]];
        let relation = Pairs::from_relation(relation.view(), &[1.0, 0.5, 2.0], &device).unwrap();
        let positive = [(0, 1, 0.5), (1, 0, 0.5)];
        let negative = [
            (0, 2, 2.0),
            (2, 0, 2.0),
            (1, 2, 0.5),
            (2, 1, 1.0),
            (1, 2, 0.5),
        ];
        let lists = Pairs::from_lists(3, &positive, &negative, &device).unwrap();
        for other in [relation, lists] {
            assert_eq!(values(&classes.positive), values(&other.positive));
            assert_eq!(values(&classes.negative), values(&other.negative));
        }
        assert_eq!(
            values(&classes.negative),
            [0.0, 0.0, 2.0, 0.0, 0.0, 1.0, 2.0, 1.0, 0.0]
        );
        let mut triplets = Triplets::default();
        triplets.push(0, 1, 2, 0.5);
        triplets.push(0, 1, 2, 0.25);
        let pairs = Pairs::from_triplets(3, &triplets, &device).unwrap();
        assert_eq!(values(&pairs.positive)[..2], [0.0, 0.75]);
        assert_eq!(values(&pairs.negative)[..3], [0.0, 0.0, 0.75]);
        assert_eq!(values(&pairs.anchor_column()), [0.75, 0.0, 0.0]);
    }

    #[test]
    fn unknown_and_graded_relations() {
        let device = Device::flex();
        let relation = array![[0.0, 0.25], [f32::NAN, 0.0]];
        let pairs = Pairs::from_relation(relation.view(), &[1.0, 1.0], &device).unwrap();
        assert_eq!(values(&pairs.positive), [0.0, 0.25, 0.0, 0.0]);
        assert_eq!(values(&pairs.negative), [0.0, 0.75, 0.0, 0.0]);
    }

    #[test]
    fn tags_make_graded_pairs_and_one_tag_each_makes_classes() {
        let device = Device::flex();
        let of = |words: &[&[&str]], relation| {
            let tags = Tags::read(words.iter().map(|own| own.to_vec())).unwrap();
            let weights = vec![1.0; words.len()];
            Pairs::from_tags(&tags, &weights, relation, &device).unwrap()
        };
        let words: [&[&str]; 4] = [&["a", "b"], &["b"], &["outside"], &[]];
        let shared = of(&words, Relation::Shared);
        assert_eq!(values(&shared.positive)[..4], [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(values(&shared.negative)[..4], [0.0, 0.0, 1.0, 0.0]);
        let graded = of(&words, Relation::Jaccard);
        assert_eq!(values(&graded.positive)[..4], [0.0, 0.5, 0.0, 0.0]);
        assert_eq!(values(&graded.negative)[..4], [0.0, 0.5, 1.0, 0.0]);
        let classes = Pairs::from_classes(&[0, 0, 1], &[1.0; 3], &device).unwrap();
        let words: [&[&str]; 3] = [&["x"], &["x"], &["y"]];
        for relation in [Relation::Shared, Relation::Jaccard, Relation::Same] {
            let tags = of(&words, relation);
            assert_eq!(values(&tags.positive), values(&classes.positive));
            assert_eq!(values(&tags.negative), values(&classes.negative));
        }
        let tags = Tags::read([vec!["a"]]).unwrap();
        let short = Pairs::from_tags(&tags, &[], Relation::Shared, &device);
        assert!(
            short
                .unwrap_err()
                .to_string()
                .contains("1 sets of tags but 0 weights")
        );
    }

    #[test]
    fn bad_input_is_refused_with_its_place() {
        let device = Device::flex();
        let said = |answer: Result<Pairs>| answer.unwrap_err().to_string();
        let short = said(Pairs::from_classes(&[0, 1], &[1.0], &device));
        assert!(short.contains("2 classes but 1 weights"), "{short}");
        let negative = said(Pairs::from_classes(&[0, 1], &[1.0, -1.0], &device));
        assert!(negative.contains("item 1 has weight -1"), "{negative}");
        let relation = array![[0.0, 1.5], [0.0, 0.0]];
        let grade = said(Pairs::from_relation(relation.view(), &[1.0; 2], &device));
        assert!(grade.contains("items 0 and 1 is 1.5"), "{grade}");
        let oblong = array![[0.0, 1.0]];
        assert!(said(Pairs::from_relation(oblong.view(), &[1.0], &device)).contains("1 x 2"));
        let itself = said(Pairs::from_lists(2, &[(1, 1, 1.0)], &[], &device));
        assert!(itself.contains("pair 0: (1, 1)"), "{itself}");
        let nan = said(Pairs::from_lists(2, &[], &[(0, 1, f32::NAN)], &device));
        assert!(nan.contains("weight NaN"), "{nan}");
    }

    #[test]
    fn no_items_make_no_pairs() {
        let pairs = Pairs::from_classes(&[], &[], &Device::flex()).unwrap();
        assert_eq!(pairs.dims(), [0, 0]);
    }
}
