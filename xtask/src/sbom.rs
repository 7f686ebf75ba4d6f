//! `cargo xtask sbom`: the parts of the program as `CycloneDX` 1.5, for scanners.

use std::path::Path;

use serde_json::{Value, json};

use crate::data::Result;
use crate::packages::{Package, of_the_program};

/// Writes the list; the same sources make the same file.
pub(crate) fn write(path: &Path) -> Result<()> {
    let packages = of_the_program()?;
    let (program, parts): (Vec<_>, Vec<_>) = packages
        .values()
        .partition(|package| package.name == "likewise-cli");
    let program = program
        .first()
        .ok_or("likewise-cli is not in its own tree")?;
    let used = |package: &&Package| {
        let uses = package.uses.iter();
        let refs: Vec<String> = uses
            .map(|(name, version)| reference(name, version))
            .collect();
        json!({ "ref": reference(&package.name, &package.version), "dependsOn": refs })
    };
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component(program, "application") },
        "components": parts.iter().map(|part| component(part, "library")).collect::<Vec<_>>(),
        "dependencies": parts.iter().chain([program]).map(used).collect::<Vec<_>>(),
    });
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, serde_json::to_string_pretty(&bill)? + "\n")?;
    println!("{}: {} parts", path.display(), parts.len());
    Ok(())
}

/// A package URL, in which "+" stands for something else.
fn reference(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

fn component(package: &Package, kind: &str) -> Value {
    let reference = reference(&package.name, &package.version);
    let mut component = json!({
        "type": kind,
        "bom-ref": reference,
        "name": package.name,
        "version": package.version,
    });
    if package.is_foreign {
        component["purl"] = reference.into();
    }
    if !package.license.is_empty() {
        component["licenses"] = json!([{ "expression": package.license }]);
    }
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_what_a_scanner_asks() {
        let mut package = Package {
            name: "faer".into(),
            version: "0.24.4".into(),
            license: "MIT".into(),
            authors: vec![],
            repository: Some("https://example.org/faer".into()),
            is_foreign: true,
            checksum: Some("ab12".into()),
            folder: "faer".into(),
            uses: [].into(),
        };
        let part = component(&package, "library");
        assert_eq!(part["purl"], "pkg:cargo/faer@0.24.4");
        assert_eq!(part["licenses"][0]["expression"], "MIT");
        assert_eq!(part["hashes"][0]["content"], "ab12");
        assert_eq!(
            reference("toml", "1.2+spec-1.1"),
            "pkg:cargo/toml@1.2%2Bspec-1.1"
        );
        // Ours is in no registry, and an unknown license is no expression.
        (package.is_foreign, package.license) = (false, String::new());
        let part = component(&package, "library");
        assert!(part.get("purl").is_none() && part.get("licenses").is_none());
    }
}
