//! `GoogLeNet` (Szegedy et al., CVPR 2015), with torchvision's layers and names: batch norms
//! everywhere, 3x3 in place of the 5x5 windows, no auxiliary classifiers.

use super::network::{At, Builder, Window};

/// Name, and channels of branch 1, of the two layers of branches 2 and 3, and of branch 4.
type Inception = (&'static str, usize, [usize; 2], [usize; 2], usize);

const INCEPTIONS: [Inception; 9] = [
    ("3a", 64, [96, 128], [16, 32], 32),
    ("3b", 128, [128, 192], [32, 96], 64),
    ("4a", 192, [96, 208], [16, 48], 64),
    ("4b", 160, [112, 224], [24, 64], 64),
    ("4c", 128, [128, 256], [24, 64], 64),
    ("4d", 112, [144, 288], [32, 64], 64),
    ("4e", 256, [160, 320], [32, 128], 128),
    ("5a", 256, [160, 320], [32, 128], 128),
    ("5b", 384, [192, 384], [48, 128], 128),
];

/// 1024 channels.
pub(super) fn googlenet(b: &mut Builder, x: At) {
    let (one, three) = (Window::new(1, 1, 0), Window::new(3, 1, 1));
    let pool = Window::new(3, 2, 0).ceil();
    let x = unit(b, x, "conv1", 64, Window::new(7, 2, 3));
    let x = b.max_pool(x, pool);
    let x = unit(b, x, "conv2", 64, one);
    let x = unit(b, x, "conv3", 192, three);
    let mut x = b.max_pool(x, pool);
    for (part, first, second, third, fourth) in INCEPTIONS {
        match part {
            "4a" => x = b.max_pool(x, pool),
            "5a" => x = b.max_pool(x, Window::new(2, 2, 0).ceil()),
            _ => {}
        }
        let name = |branch: &str| format!("inception{part}.branch{branch}");
        let mut branches = vec![unit(b, x, &name("1"), first, one)];
        for (branch, [narrow, wide]) in [("2", second), ("3", third)] {
            let y = unit(b, x, &name(&format!("{branch}.0")), narrow, one);
            branches.push(unit(b, y, &name(&format!("{branch}.1")), wide, three));
        }
        let y = b.max_pool(x, three.ceil());
        branches.push(unit(b, y, &name("4.1"), fourth, one));
        x = b.concat(&branches);
    }
}

fn unit(b: &mut Builder, x: At, name: &str, out: usize, window: Window) -> At {
    let x = b.bare_conv(x, &format!("{name}.conv"), out, window);
    let x = b.norm(x, &format!("{name}.bn"));
    b.relu(x)
}
