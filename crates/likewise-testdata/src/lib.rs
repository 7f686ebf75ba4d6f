//! Where tests find data: the one place that knows.
//!
//! What the repository needs itself lies in `testdata/`. Larger real sets, and networks, are looked for in the
//! folder that `LIKEWISE_DATA` names, then in `data/`, where `cargo xtask data` and `cargo xtask weights` put
//! theirs, then in `shared/data` beside the repository, which several copies of it share: the first that has a
//! file wins. A test whose set is absent says so and passes.

pub mod sheet;

use std::ffi::OsString;
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

/// A file or folder of the larger sets, e.g. `classical/letter.npz`, or of what `cargo xtask` fetches, e.g.
/// `weights/lite0/efficientnet_lite0.pth`; prints why and gives `None` where it is absent.
pub fn large(name: &str) -> Option<PathBuf> {
    let found = look_for(name, std::env::var_os("LIKEWISE_DATA"), &root());
    found.inspect_err(|why| skipped(why)).ok()
}

/// Where a file of this name lies, if the folder of the data was `named` so; a name that is relative is
/// one in the repository, since the tests of each crate run in a folder of their own.
///
/// Fails with the reason.
fn look_for(name: &str, named: Option<OsString>, root: &Path) -> Result<PathBuf, String> {
    let usual = ["data", "../shared/data"].map(OsString::from);
    let folders = named.iter().chain(&usual).map(|folder| root.join(folder));
    let mut places = folders.map(|folder| folder.join(name));
    places
        .find(|place| place.exists())
        .ok_or_else(|| match &named {
            Some(folder) => format!(
                "{name} is not in {}, which LIKEWISE_DATA names",
                root.join(folder).display()
            ),
            None => format!(
                "{name} is not here; set LIKEWISE_DATA to the folder that has it, or see what \
                 `cargo xtask data` and `cargo xtask weights` fetch"
            ),
        })
}

/// The Fashion-MNIST of Debian's package `dataset-fashion-mnist`, if it is installed.
pub fn fashion_mnist() -> Option<PathBuf> {
    present("/usr/share/datasets/fashion-mnist".into())
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
    skipped(&format!("{} is not here", path.display()));
    None
}

#[expect(
    clippy::print_stderr,
    reason = "the reason of a skipped test belongs in its output"
)]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_folder_that_has_a_file_wins() {
        let folder = std::env::temp_dir().join(format!("likewise-testdata-{}", std::process::id()));
        let root = folder.join("copy");
        let (own, shared) = ("copy/data", "shared/data");
        for place in ["named", own, shared] {
            std::fs::create_dir_all(folder.join(place)).unwrap();
        }
        let put = |place: &str| std::fs::write(folder.join(place).join("set.npz"), "").unwrap();
        let found = |named: Option<&Path>| {
            let found = look_for("set.npz", named.map(Into::into), &root);
            found.map(|path| path.canonicalize().unwrap())
        };
        let at = |place: &str| -> Result<PathBuf, String> {
            Ok(folder.join(place).join("set.npz").canonicalize().unwrap())
        };
        let named = folder.join("named");

        let said = found(None).unwrap_err();
        assert!(
            said.contains("set.npz is not here; set LIKEWISE_DATA"),
            "{said}"
        );
        let said = found(Some(&named)).unwrap_err();
        assert!(said.ends_with("named, which LIKEWISE_DATA names"), "{said}");
        put(shared);
        assert_eq!(found(None), at(shared));
        put(own);
        assert_eq!(found(None), at(own));
        // Where it is not in the folder that is named, it may still have been fetched.
        assert_eq!(found(Some(&named)), at(own));
        put("named");
        assert_eq!(found(Some(&named)), at("named"));
        assert_eq!(found(Some(Path::new("../named"))), at("named"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
