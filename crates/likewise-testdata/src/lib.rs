//! Where tests find data: the one place that knows.
//!
//! What the repository needs itself lies in `testdata/`. Larger real sets are looked for in
//! the folder that `LIKEWISE_DATA` names, else in `../shared/data` beside the repository.
//! A test whose set is absent says so and passes.

pub mod sheet;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The committed digits: `digits.npz`, six views of 2000 items and `label`.
pub fn digits() -> PathBuf {
    root().join("testdata/digits.npz")
}

/// Titles and vectors of 200 products, a tenth of them labeled, as a Parquet file.
pub fn products() -> PathBuf {
    root().join("testdata/products.parquet")
}

/// A file or folder of the larger sets, e.g. `classical/letter.npz`; prints why and gives
/// `None` where it is absent.
pub fn large(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("LIKEWISE_DATA")
        .map_or_else(|| root().join("../shared/data"), PathBuf::from);
    present(folder.join(name))
}

/// The Fashion-MNIST of Debian's package `dataset-fashion-mnist`, if it is installed.
pub fn fashion_mnist() -> Option<PathBuf> {
    present("/usr/share/datasets/fashion-mnist".into())
}

/// A file that `cargo xtask` fetches into `data/`, e.g. `weights/lite0/efficientnet_lite0.pth`;
/// prints why and gives `None` where it is absent.
pub fn fetched(name: &str) -> Option<PathBuf> {
    present(root().join("data").join(name))
}

/// A Python with the programs that exports are for: that of `cargo xtask stores`, or the one that
/// `LIKEWISE_PYTHON` names; prints why and gives `None` where there is none.
pub fn python() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("LIKEWISE_PYTHON") {
        return present(named.into());
    }
    let place = root().join("target/tools/stores");
    present(place.join("complete")).map(|_| place.join("bin/python"))
}

fn present(path: PathBuf) -> Option<PathBuf> {
    if path.exists() {
        return Some(path);
    }
    #[expect(
        clippy::print_stderr,
        reason = "the reason of a skipped test belongs in its output"
    )]
    {
        eprintln!("skipped: {} is not here", path.display());
    }
    None
}
