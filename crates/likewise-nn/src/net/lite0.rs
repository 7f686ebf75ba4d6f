//! EfficientNet-Lite0 (Tan & Le, ICML 2019; the lite form of 2020), batch norms folded.

use super::network::{At, Builder, Window};
use super::weights::Folded;

/// Kernel, stride of the first block, channels, blocks of each stage. The first stage does
/// not expand its channels, all others do six times.
const STAGES: [(usize, usize, usize, usize); 7] = [
    (3, 1, 16, 1),
    (3, 2, 24, 2),
    (5, 2, 40, 2),
    (3, 2, 80, 3),
    (5, 1, 112, 3),
    (5, 2, 192, 4),
    (3, 1, 320, 1),
];

/// 1280 channels.
pub(super) fn lite0(b: &mut Builder, x: At) {
    let one = Window::same(1, 1);
    let x = b.conv(x, "stem", 32, Window::same(3, 2));
    let mut x = b.relu6(x);
    let mut number = 0;
    for (stage, (kernel, first_stride, out, blocks)) in STAGES.into_iter().enumerate() {
        for block in 0..blocks {
            let name = format!("blocks.{number}");
            let stride = if block == 0 { first_stride } else { 1 };
            let mut y = x;
            if stage > 0 {
                let wide = 6 * b.channels(x);
                y = b.conv(y, &format!("{name}.expand"), wide, one);
                y = b.relu6(y);
            }
            y = b.depthwise(y, &format!("{name}.dw"), Window::same(kernel, stride));
            y = b.relu6(y);
            y = b.conv(y, &format!("{name}.project"), out, one);
            x = if block > 0 { b.add(x, y) } else { y };
            number += 1;
        }
    }
    let x = b.conv(x, "head", 1280, one);
    b.relu6(x);
}

/// Its layers under the names of the two packages that publish `TensorFlow`'s weights with
/// batch norms: `efficientnet_lite_pytorch` and timm (`tf_efficientnet_lite0`).
pub(super) fn published() -> Vec<Folded> {
    let mut layers = Vec::new();
    let mut put = |name: &str, [conv, norm]: [String; 2], [timm_conv, timm_norm]: [String; 2]| {
        for (conv, norm) in [(conv, norm), (timm_conv, timm_norm)] {
            let name = name.to_owned();
            layers.push(Folded { name, conv, norm });
        }
    };
    let pair = |prefix: &str, conv: &str, norm: &str| {
        [format!("{prefix}{conv}"), format!("{prefix}{norm}")]
    };
    put(
        "stem",
        pair("_", "conv_stem", "bn0"),
        pair("", "conv_stem", "bn1"),
    );
    let mut number = 0;
    for (stage, (.., blocks)) in STAGES.into_iter().enumerate() {
        // timm counts norms from the first convolution that a block has.
        let parts: &[_] = if stage == 0 {
            &[
                ("dw", "depthwise_conv", "bn1", "conv_dw", "bn1"),
                ("project", "project_conv", "bn2", "conv_pw", "bn2"),
            ]
        } else {
            &[
                ("expand", "expand_conv", "bn0", "conv_pw", "bn1"),
                ("dw", "depthwise_conv", "bn1", "conv_dw", "bn2"),
                ("project", "project_conv", "bn2", "conv_pwl", "bn3"),
            ]
        };
        for block in 0..blocks {
            for (part, conv, norm, timm_conv, timm_norm) in parts {
                put(
                    &format!("blocks.{number}.{part}"),
                    pair(&format!("_blocks.{number}._"), conv, norm),
                    pair(&format!("blocks.{stage}.{block}."), timm_conv, timm_norm),
                );
            }
            number += 1;
        }
    }
    put(
        "head",
        pair("_", "conv_head", "bn1"),
        pair("", "conv_head", "bn2"),
    );
    layers
}
