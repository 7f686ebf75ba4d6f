//! BN-Inception (Ioffe & Szegedy, ICML 2015), with the layers and names of the Caffe model
//! and its `PyTorch` conversions.

use super::network::{At, Builder, Window};

/// Name; channels of the 1x1 branch (0: none); of the two layers of the 3x3 branch; of the
/// reduction and both layers of the double 3x3 branch; of the projection behind the pool (0:
/// none). A module without the two halves the map.
type Inception = (&'static str, usize, [usize; 2], [usize; 2], usize);

const INCEPTIONS: [Inception; 10] = [
    ("3a", 64, [64, 64], [64, 96], 32),
    ("3b", 64, [64, 96], [64, 96], 64),
    ("3c", 0, [128, 160], [64, 96], 0),
    ("4a", 224, [64, 96], [96, 128], 128),
    ("4b", 192, [96, 128], [96, 128], 128),
    ("4c", 160, [128, 160], [128, 160], 128),
    ("4d", 96, [128, 192], [160, 192], 128),
    ("4e", 0, [128, 192], [192, 256], 0),
    ("5a", 352, [192, 320], [160, 224], 128),
    ("5b", 352, [192, 320], [192, 224], 128),
];

/// 1024 channels.
pub(super) fn bn_inception(b: &mut Builder, x: At) {
    let (one, three) = (Window::new(1, 1, 0), Window::new(3, 1, 1));
    let pool = Window::new(3, 2, 0).ceil();
    let x = unit(b, x, "conv1_7x7_s2", 64, Window::new(7, 2, 3));
    let x = b.max_pool(x, pool);
    let x = unit(b, x, "conv2_3x3_reduce", 64, one);
    let x = unit(b, x, "conv2_3x3", 192, three);
    let mut x = b.max_pool(x, pool);
    for (part, first, [reduced, wide], [double_reduced, double], projected) in INCEPTIONS {
        let halves = first == 0;
        let last = if halves {
            Window { stride: 2, ..three }
        } else {
            three
        };
        let name = |layer: &str| format!("inception_{part}_{layer}");
        let mut branches = Vec::new();
        if !halves {
            branches.push(unit(b, x, &name("1x1"), first, one));
        }
        let y = unit(b, x, &name("3x3_reduce"), reduced, one);
        branches.push(unit(b, y, &name("3x3"), wide, last));
        let y = unit(b, x, &name("double_3x3_reduce"), double_reduced, one);
        let y = unit(b, y, &name("double_3x3_1"), double, three);
        branches.push(unit(b, y, &name("double_3x3_2"), double, last));
        branches.push(if halves {
            b.max_pool(x, pool)
        } else {
            let y = match part {
                "5b" => b.max_pool(x, three.ceil()),
                _ => b.avg_pool(x, three.ceil(), true),
            };
            unit(b, y, &name("pool_proj"), projected, one)
        });
        x = b.concat(&branches);
    }
}

/// A convolution (which keeps its bias, as in Caffe), its batch norm, and rectification.
fn unit(b: &mut Builder, x: At, name: &str, out: usize, window: Window) -> At {
    let x = b.conv(x, name, out, window);
    let x = b.norm(x, &format!("{name}_bn"));
    b.relu(x)
}
