//! Residual networks (He et al., CVPR 2016), with torchvision's layers and names.

use super::network::{At, Builder, Window};

/// Channels of the four stages, before the widening of [`Block::Bottleneck`].
const WIDTHS: [usize; 4] = [64, 128, 256, 512];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// Two convolutions 3x3.
    Basic,
    /// 1x1, 3x3 and 1x1 to four times the channels. The 3x3 one makes the steps of two, as
    /// in every implementation since 2017; the paper has them in the first.
    Bottleneck,
}

/// A network of `depths` blocks in its four stages.
pub(super) fn resnet(b: &mut Builder, x: At, block: Block, depths: [usize; 4]) {
    let x = unit(b, x, "", 1, 64, Window::new(7, 2, 3));
    let x = b.relu(x);
    let mut x = b.max_pool(x, Window::new(3, 2, 1));
    for (stage, (&width, depth)) in WIDTHS.iter().zip(depths).enumerate() {
        for number in 0..depth {
            let stride = if stage > 0 && number == 0 { 2 } else { 1 };
            let name = format!("layer{}.{number}.", stage + 1);
            x = residual(b, x, &name, block, width, stride);
        }
    }
}

/// Convolution and batch norm `number`.
fn unit(b: &mut Builder, x: At, name: &str, number: usize, out: usize, window: Window) -> At {
    let x = b.bare_conv(x, &format!("{name}conv{number}"), out, window);
    b.norm(x, &format!("{name}bn{number}"))
}

fn residual(b: &mut Builder, x: At, name: &str, block: Block, width: usize, stride: usize) -> At {
    let (one, three) = (Window::new(1, 1, 0), Window::new(3, 1, 1));
    let moving = Window { stride, ..three };
    let layers = match block {
        Block::Basic => vec![(width, moving), (width, three)],
        Block::Bottleneck => vec![(width, one), (width, moving), (4 * width, one)],
    };
    let mut y = x;
    for (i, &(out, window)) in layers.iter().enumerate() {
        y = unit(b, y, name, i + 1, out, window);
        if i + 1 < layers.len() {
            y = b.relu(y);
        }
    }
    let out = b.channels(y);
    let shortcut = if stride == 1 && b.channels(x) == out {
        x
    } else {
        let short = b.bare_conv(
            x,
            &format!("{name}downsample.0"),
            out,
            Window { stride, ..one },
        );
        b.norm(short, &format!("{name}downsample.1"))
    };
    let sum = b.add(y, shortcut);
    b.relu(sum)
}
