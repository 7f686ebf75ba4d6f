//! A model whose modalities have names: what a search across views is kept as.

use ndarray::{Array1, Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::{Embedding, Encoder, Kind, Model};
use crate::arrays::{Arrays, Values};
use crate::text::TextReader;
use crate::{Error, Result};

/// A modality with its name, and how its rows are read before they are encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedView {
    /// Its name, as the data have it.
    pub name: String,
    /// What makes rows of its texts, where it is one of texts.
    pub text: Option<TextReader>,
    /// What columns are multiplied by, where they are scaled.
    pub scale: Option<Array1<f64>>,
    /// What encodes its rows.
    pub encoder: Encoder,
}

/// Named modalities, all of which lead into one space.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedModel {
    views: Vec<NamedView>,
}

/// The kind of a [`NamedModel`], and what its arrays do not tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum NamedKind {
    /// One encoder a view.
    Cross {
        /// Name and kind of the encoder of each view.
        views: Vec<(String, Kind)>,
    },
}

impl NamedModel {
    /// The model of these views. Fails where two have one name, or they lead into different spaces.
    pub fn new(views: Vec<NamedView>) -> Result<Self> {
        for (i, view) in views.iter().enumerate() {
            if views[..i].iter().any(|other| other.name == view.name) {
                return Err(Error::data(format!(
                    "the view {} is there twice; name each view once",
                    view.name
                )));
            }
            if view.encoder.output_dim() != views[0].encoder.output_dim() {
                return Err(Error::data("the views lead into different spaces"));
            }
            let columns = view.encoder.input_dim();
            let reads = view.text.as_ref().map_or(columns, TextReader::dimensions);
            if (view.scale.as_ref()).is_some_and(|scale| scale.len() != columns) || reads != columns
            {
                return Err(Error::data(format!(
                    "view {}: what its rows are read by does not fit its {columns} columns",
                    view.name
                )));
            }
        }
        if views.is_empty() {
            return Err(Error::data("a model needs a view"));
        }
        Ok(Self { views })
    }

    /// The views, in their order.
    pub fn views(&self) -> &[NamedView] {
        &self.views
    }

    /// Names of the views.
    pub fn names(&self) -> Vec<&str> {
        self.views.iter().map(|view| view.name.as_str()).collect()
    }

    /// The place of a view among the others. Fails where there is none of that name.
    pub fn place(&self, name: &str) -> Result<usize> {
        (self.views.iter().position(|view| view.name == name)).ok_or_else(|| {
            Error::data(format!(
                "there is no view \"{name}\"; there are: {}",
                self.names().join(", ")
            ))
        })
    }

    /// Rows of a view, by its place, in the space of all.
    ///
    /// Fails on a wrong number of columns, and on NaN.
    pub fn encode(&self, place: usize, x: ArrayView2<f32>) -> Result<Embedding> {
        self.read(place, x, |encoder, x| encoder.encode(x))
    }

    /// The numbers whose signs are the bits of [`encode`](Self::encode), for
    /// [`nearest_to_real`](crate::code::nearest_to_real). Fails as it does.
    pub fn scores(&self, place: usize, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.read(place, x, |encoder, x| encoder.scores(x))
    }

    fn read<T>(
        &self,
        place: usize,
        x: ArrayView2<f32>,
        by: impl Fn(&Encoder, ArrayView2<f32>) -> Result<T>,
    ) -> Result<T> {
        let view = &self.views[place];
        let read = match &view.scale {
            Some(scale) if scale.len() == x.ncols() => by(&view.encoder, scaled(x, scale).view()),
            _ => by(&view.encoder, x),
        };
        read.map_err(|e| e.within(format!("view {}", view.name)))
    }

    /// Texts as rows of a view, by its place, for [`encode`](Self::encode). Fails where the view is not one of texts.
    pub fn rows_of_texts<T: AsRef<str> + Sync>(
        &self,
        place: usize,
        texts: &[T],
    ) -> Result<Array2<f32>> {
        let view = &self.views[place];
        let reader = view.text.as_ref().ok_or_else(|| {
            Error::data(format!(
                "the view {} is of rows of numbers, not of texts, so a text cannot ask there",
                view.name
            ))
        })?;
        Ok(reader.rows(texts))
    }

    /// Its kind.
    pub fn kind(&self) -> NamedKind {
        let each = self.views.iter();
        NamedKind::Cross {
            views: each
                .map(|view| (view.name.clone(), view.encoder.kind()))
                .collect(),
        }
    }

    /// The arrays of its encoders, those of the first view under `0.`, and so on; beside them `scale`
    /// (`d`) where columns are scaled, and `idf` and `lsa` of a view of texts.
    pub fn arrays(&self) -> Arrays {
        let encoders = self.views.iter().map(|view| view.encoder.clone()).collect();
        let mut arrays = Model { encoders }.arrays();
        for (t, view) in self.views.iter().enumerate() {
            if let Some(scale) = &view.scale {
                let values = Values::F64(scale.to_vec());
                arrays.put(format!("{t}.scale"), &[scale.len()], values);
            }
            if let Some(text) = &view.text {
                arrays.put_all(&format!("{t}."), text.arrays());
            }
        }
        arrays
    }

    /// The model of such a kind and arrays. Fails where they do not fit each other.
    pub fn from_arrays(kind: &NamedKind, arrays: &Arrays) -> Result<Self> {
        let NamedKind::Cross { views } = kind;
        let kinds: Vec<Kind> = views.iter().map(|view| view.1).collect();
        let model = Model::from_arrays(&kinds, arrays)?;
        let named = views.iter().zip(model.encoders).enumerate();
        let named = named.map(|(t, ((name, _), encoder))| {
            let scale = format!("{t}.scale");
            Ok(NamedView {
                name: name.clone(),
                text: match arrays.get(&format!("{t}.idf")) {
                    Ok(_) => Some(TextReader::from_arrays(&arrays.under(&format!("{t}.")))?),
                    Err(_) => None,
                },
                scale: match arrays.get(&scale) {
                    Ok(_) => Some(arrays.vector64(&scale)?),
                    Err(_) => None,
                },
                encoder,
            })
        });
        Self::new(named.collect::<Result<_>>()?)
    }
}

/// Rows whose columns are multiplied by these numbers.
fn scaled(x: ArrayView2<f32>, scale: &Array1<f64>) -> Array2<f32> {
    let scale = scale.mapv(|s| s as f32);
    &x * &scale
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::linear::Affine;

    fn view(name: &str, scale: Option<Array1<f64>>) -> NamedView {
        let map = Affine {
            mean: array![1.0, 0.0],
            matrix: array![[1.0], [1.0]],
        };
        NamedView {
            name: name.into(),
            text: None,
            scale,
            encoder: Encoder::Real(map),
        }
    }

    #[test]
    fn views_go_by_their_names_and_columns_by_their_scales() {
        let model = NamedModel::new(vec![
            view("image", None),
            view("text", Some(array![2.0, 0.5])),
        ]);
        let model = model.unwrap();
        assert_eq!(model.place("text").unwrap(), 1);
        let said = model.place("sound").unwrap_err().to_string();
        assert!(said.contains("image, text"), "{said}");
        // (2 x 3 - 1) + 0.5 x 4.
        let found = model.encode(1, array![[3.0, 4.0_f32]].view()).unwrap();
        assert_eq!(found, Embedding::Real(array![[7.0]]));
        let said = model.encode(1, array![[3.0_f32]].view()).unwrap_err();
        assert!(said.to_string().contains("view text"), "{said}");
    }

    #[test]
    fn a_view_of_texts_reads_them_as_when_it_was_fitted() {
        let texts = ["red shirt", "garden hose", "blue shirt"];
        let learned = crate::text::TfIdf::new().dimensions(2);
        let reader = learned.fit(&texts, 0, &crate::Monitor::silent()).unwrap();
        let of = |text: Option<TextReader>| {
            NamedModel::new(vec![NamedView {
                text,
                ..view("text", None)
            }])
            .unwrap()
        };
        let model = of(Some(reader.clone()));
        let again = NamedModel::from_arrays(&model.kind(), &model.arrays()).unwrap();
        assert_eq!(again, model);
        let rows = reader.rows(&texts);
        let found = again.rows_of_texts(0, &texts).unwrap();
        let found = again.encode(0, found.view()).unwrap();
        assert_eq!(found, of(None).encode(0, rows.view()).unwrap());
    }

    #[test]
    fn a_model_comes_back_from_its_arrays() {
        let model = NamedModel::new(vec![view("a", None), view("b", Some(array![2.0, 0.5]))]);
        let model = model.unwrap();
        let json = serde_json::to_string(&model.kind()).unwrap();
        assert!(json.contains("\"kind\":\"cross\""), "{json}");
        let kind: NamedKind = serde_json::from_str(&json).unwrap();
        let again = NamedModel::from_arrays(&kind, &model.arrays()).unwrap();
        assert_eq!(again, model);
        let mut wrong = model.arrays();
        assert!(model.rows_of_texts(0, &["a"]).is_err());
        wrong.put("1.scale", &[1], Values::F64(vec![1.0]));
        assert!(NamedModel::from_arrays(&kind, &wrong).is_err());
        assert!(NamedModel::new(vec![view("a", None), view("a", None)]).is_err());
        assert!(NamedModel::new(vec![]).is_err());
    }
}
