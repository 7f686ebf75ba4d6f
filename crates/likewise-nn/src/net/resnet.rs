//! Residual networks (He et al., CVPR 2016), with torchvision's layers and names.

use super::network::{At, Builder, Window};
use super::weights::Folded;

/// Channels of the four stages, before the widening of [`Block::Bottleneck`].
const WIDTHS: [usize; 4] = [64, 128, 256, 512];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// Two convolutions 3x3.
    Basic,
    /// 1x1, 3x3 and 1x1 to four times the channels. The 3x3 one makes the steps of two, as
    /// in every implementation since 2017; the paper has them in the first.
    Bottleneck,
    /// The same with the steps of two in the first, as in the paper; batch norms folded.
    Paper,
}

/// A network of `depths` blocks in its four stages.
pub(super) fn resnet(b: &mut Builder, x: At, block: Block, depths: [usize; 4]) {
    let x = unit(b, x, block, ["conv1", "bn1"], 64, Window::new(7, 2, 3));
    let x = b.relu(x);
    let mut x = b.max_pool(x, Window::new(3, 2, 1));
    for (stage, (&width, depth)) in WIDTHS.iter().zip(depths).enumerate() {
        for number in 0..depth {
            let stride = if stage > 0 && number == 0 { 2 } else { 1 };
            let name = format!("layer{}.{number}", stage + 1);
            x = residual(b, x, &name, block, width, stride);
        }
    }
}

/// Convolution and batch norm of these names, or the two as one.
fn unit(b: &mut Builder, x: At, block: Block, name: [&str; 2], out: usize, window: Window) -> At {
    let [conv, norm] = name;
    if block == Block::Paper {
        return b.conv(x, conv, out, window);
    }
    let x = b.bare_conv(x, conv, out, window);
    b.norm(x, norm)
}

fn residual(b: &mut Builder, x: At, name: &str, block: Block, width: usize, stride: usize) -> At {
    let (one, three) = (Window::new(1, 1, 0), Window::new(3, 1, 1));
    let moving = |window| Window { stride, ..window };
    let layers = match block {
        Block::Basic => vec![(width, moving(three)), (width, three)],
        Block::Bottleneck => vec![(width, one), (width, moving(three)), (4 * width, one)],
        Block::Paper => vec![(width, moving(one)), (width, three), (4 * width, one)],
    };
    let mut y = x;
    for (i, &(out, window)) in layers.iter().enumerate() {
        let names = ["conv", "bn"].map(|kind| format!("{name}.{kind}{}", i + 1));
        y = unit(
            b,
            y,
            block,
            names.each_ref().map(String::as_str),
            out,
            window,
        );
        if i + 1 < layers.len() {
            y = b.relu(y);
        }
    }
    let out = b.channels(y);
    let shortcut = if stride == 1 && b.channels(x) == out {
        x
    } else {
        let names = [0, 1].map(|part| format!("{name}.downsample.{part}"));
        let names = names.each_ref().map(String::as_str);
        unit(b, x, block, names, out, moving(one))
    };
    let sum = b.add(y, shortcut);
    b.relu(sum)
}

/// The layers of a network of [`Block::Paper`] under Caffe's names, which Keras has too.
pub(super) fn published(depths: [usize; 4]) -> Vec<Folded> {
    let layer = |name: &str, conv: String, norm: String| Folded {
        name: name.to_owned(),
        conv,
        norm,
    };
    let mut layers = vec![layer("conv1", "conv1".into(), "bn_conv1".into())];
    for (stage, depth) in depths.into_iter().enumerate() {
        for (number, letter) in (0..depth).zip('a'..) {
            let ours = format!("layer{}.{number}", stage + 1);
            let mut put = |part: &str, branch: &str| {
                let at = format!("{}{letter}_branch{branch}", stage + 2);
                let name = format!("{ours}.{part}");
                layers.push(layer(&name, format!("res{at}"), format!("bn{at}")));
            };
            put("conv1", "2a");
            put("conv2", "2b");
            put("conv3", "2c");
            if number == 0 {
                put("downsample.0", "1");
            }
        }
    }
    layers
}
