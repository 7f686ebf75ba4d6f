//! `SqueezeNet` 1.1 (Iandola et al., 2016), up to its last fire module.

use super::network::{At, Builder, Window};

/// Squeezed and expanded channels of fire modules 2 to 9.
const FIRES: [(usize, usize); 8] = [
    (16, 64),
    (16, 64),
    (32, 128),
    (32, 128),
    (48, 192),
    (48, 192),
    (64, 256),
    (64, 256),
];

/// torchvision's names of the parts, and ours, which are those of Caffe.
pub(super) const TORCHVISION: [(&str, &str); 17] = [
    ("features.0.", "conv1."),
    ("features.3.squeeze.", "fire2.squeeze1x1."),
    ("features.3.", "fire2."),
    ("features.4.squeeze.", "fire3.squeeze1x1."),
    ("features.4.", "fire3."),
    ("features.6.squeeze.", "fire4.squeeze1x1."),
    ("features.6.", "fire4."),
    ("features.7.squeeze.", "fire5.squeeze1x1."),
    ("features.7.", "fire5."),
    ("features.9.squeeze.", "fire6.squeeze1x1."),
    ("features.9.", "fire6."),
    ("features.10.squeeze.", "fire7.squeeze1x1."),
    ("features.10.", "fire7."),
    ("features.11.squeeze.", "fire8.squeeze1x1."),
    ("features.11.", "fire8."),
    ("features.12.squeeze.", "fire9.squeeze1x1."),
    ("features.12.", "fire9."),
];

/// How the published weights treat borders: same layers, other sizes of maps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Border {
    /// One zero around the image, pools inside their map.
    Padded,
    /// No zeros, pools over the edge, as torchvision and the first publication have it.
    Ceil,
}

/// 512 channels.
pub(super) fn squeezenet(b: &mut Builder, x: At, border: Border) {
    let one = Window::new(1, 1, 0);
    let (pad, pool) = match border {
        Border::Padded => (1, Window::new(3, 2, 0)),
        Border::Ceil => (0, Window::new(3, 2, 0).ceil()),
    };
    let x = b.conv(x, "conv1", 64, Window::new(3, 2, pad));
    let mut x = b.relu(x);
    for (i, (squeezed, expanded)) in FIRES.into_iter().enumerate() {
        // A pool before fire modules 2, 4 and 6.
        if [0, 2, 4].contains(&i) {
            x = b.max_pool(x, pool);
        }
        let name = format!("fire{}", i + 2);
        let narrow = b.conv(x, &format!("{name}.squeeze1x1"), squeezed, one);
        let narrow = b.relu(narrow);
        let parts = [("1x1", one), ("3x3", Window::new(3, 1, 1))].map(|(kind, window)| {
            let part = b.conv(narrow, &format!("{name}.expand{kind}"), expanded, window);
            b.relu(part)
        });
        x = b.concat(&parts);
    }
}
