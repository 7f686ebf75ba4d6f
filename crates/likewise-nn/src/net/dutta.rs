//! The two small networks of the deep resurrection paper (AAAI 2021), up to its matrix `L`.

use super::network::{At, Builder, Window};

/// 28 x 28 gray to 128: conv 5x5 20, pool, conv 5x5 50, pool, conv 4x4 500, rectify, 128.
///
/// As printed, nothing is rectified before the third convolution.
pub(super) fn mnist(b: &mut Builder, x: At) {
    let pool = Window::new(2, 2, 0);
    let x = b.conv(x, "conv1", 20, Window::new(5, 1, 0));
    let x = b.max_pool(x, pool);
    let x = b.conv(x, "conv2", 50, Window::new(5, 1, 0));
    let x = b.max_pool(x, pool);
    let x = b.conv(x, "conv3", 500, Window::new(4, 1, 0));
    let x = b.relu(x);
    b.conv(x, "fc", 128, Window::new(1, 1, 0));
}

/// 32 x 32 in colour to 64. A border of 2 around the 5x5 windows and pools of 3 every 2, the
/// last over the edge, give the maps of 32, 16, 8 and 4 that the last window of 4 needs.
pub(super) fn cifar(b: &mut Builder, x: At) {
    let wide = Window::new(5, 1, 2);
    let pool = Window::new(3, 2, 0).ceil();
    let x = b.conv(x, "conv1", 32, wide);
    let x = b.max_pool(x, pool);
    let x = b.relu(x);
    let x = b.conv(x, "conv2", 32, wide);
    let x = b.relu(x);
    let x = b.avg_pool(x, pool, false);
    let x = b.conv(x, "conv3", 64, wide);
    let x = b.relu(x);
    let x = b.avg_pool(x, pool, false);
    let x = b.conv(x, "conv4", 64, Window::new(4, 1, 0));
    b.relu(x);
}
