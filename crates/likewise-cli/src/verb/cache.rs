//! `likewise cache`

use likewise_study::size::Bytes;
use likewise_study::source::Cache as Kept;
use likewise_terminal::{Context, Failure, output};

use crate::args::Cache;

pub(crate) fn run(args: &Cache, at: &Context) -> Result<(), Failure> {
    let cache = Kept::find()?;
    if args.clear {
        cache.clear()?;
    }
    at.tell(&cache, |cache| print(cache, args))
}

fn print(cache: &Kept, args: &Cache) -> Result<(), Failure> {
    let was = if args.clear {
        "removed from"
    } else {
        "kept in"
    };
    for (kept, what) in [
        (cache.features, "features"),
        (cache.unpacked, "unpacked archives"),
    ] {
        let files = if kept.files == 1 { "file" } else { "files" };
        output::line(format!(
            "{} {files} of {what}, {}, {was} {}",
            kept.files,
            Bytes(kept.bytes),
            cache.folder.display()
        ))?;
    }
    Ok(())
}
