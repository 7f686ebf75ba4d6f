//! What papers print of their networks, for recipes that stand on features until a network is given.

use likewise_nn::net::Pool;

/// What the paper of a recipe prints of the network, beside its last layer.
pub(super) struct OfNetwork {
    pub(super) pool: Pool,
    /// Whether what is pooled is normalised.
    pub(super) layer_norm: bool,
    /// Epochs in which it stands still.
    pub(super) warm_up: usize,
}

/// As printed for the recipe of this name, if it is one of them.
pub(super) fn of_network(name: &str) -> Option<OfNetwork> {
    let (pool, layer_norm, warm_up) = match name {
        "proxy-anchor-paper" => (Pool::Both, false, 1),
        "proxy-nca-plus-plus-paper" => (Pool::Max, true, 0),
        "soft-triple-paper" => (Pool::Average, false, 0),
        _ => return None,
    };
    Some(OfNetwork {
        pool,
        layer_norm,
        warm_up,
    })
}
