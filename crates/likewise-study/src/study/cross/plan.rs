//! The work of one study across views.

use likewise::Collection;
use likewise_nn::Device;

use super::views::Texts;
use crate::recipe::Recipe;
use crate::study::protocol::Protocol;

/// The work of one study across views.
pub struct CrossPlan<'a> {
    /// The items, with labels.
    pub collection: &'a Collection,
    /// Names of the views, two or more.
    pub views: &'a [String],
    /// Those of them that are texts, item by item, and no view of the collection.
    pub texts: &'a [Texts],
    /// The recipe, whose learner is one across views.
    pub recipe: &'a Recipe,
    /// The protocol: split item or given.
    pub protocol: &'a Protocol,
    /// Where networks run.
    pub device: Device,
}
