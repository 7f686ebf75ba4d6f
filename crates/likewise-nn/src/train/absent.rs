//! In a build without networks: learning by gradients, which does not begin.

use likewise::learn::{Evidence, First, Learn, Learning, Need};

use super::learner::Gradient;
use crate::model::Model;
use crate::{Error, Result, networks};

fn none<T>() -> Result<T> {
    networks("a learner by gradients")?;
    Err(Error::data("there is no learner by gradients"))
}

impl Learn for Gradient<'_> {
    type Model = Model;

    fn needs(&self) -> &'static [Need] {
        &[Need::Classes]
    }

    fn first(&self, _: &Evidence, _: u64) -> Result<First<Model>> {
        none()
    }

    fn begin<'a>(&'a self, _: &Evidence, _: u64) -> Result<Box<dyn Learning<Model = Model> + 'a>> {
        none()
    }
}
