//! Folders of images as data.

use std::path::Path;
use std::process::Output;

use crate::program;

fn likewise(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = program::command(folder, arguments);
    let command = command.env("LIKEWISE_CACHE", folder.join("cache"));
    command.output().unwrap()
}

/// The exit code, and what was said to the user.
fn said(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = likewise(folder, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panicked"), "{arguments:?}: {text}");
    (output.status.code(), text)
}

#[track_caller]
fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    program::printed(arguments, likewise(folder, arguments))
}

/// Thirty images of red, and thirty of blue, in `photos`.
pub(crate) fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for i in 0..60_u8 {
        let class = folder
            .path()
            .join("photos")
            .join(["red", "blue"][usize::from(i % 2)]);
        std::fs::create_dir_all(&class).unwrap();
        let file = std::fs::File::create(class.join(format!("{i:02}.png"))).unwrap();
        let mut encoder = png::Encoder::new(file, 8, 6);
        encoder.set_color(png::ColorType::Rgb);
        let pixel = |at: u8| {
            let other = i.wrapping_mul(7).wrapping_add(at.wrapping_mul(11)) % 97;
            let main = 150 + i + at % 8;
            if i % 2 == 0 {
                [main, other, 20]
            } else {
                [20, other, main]
            }
        };
        let pixels: Vec<u8> = (0..48).flat_map(pixel).collect();
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&pixels).unwrap();
    }
    folder
}

#[test]
fn a_folder_of_images_goes_through_the_verbs() {
    let scene = scene();
    let at = scene.path();
    let answer = succeeds(at, &["doctor", "photos", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["items"], 60);
    assert_eq!(answer["classes"]["red"], 30);
    assert_eq!(answer["views"][0]["name"], "pixels");
    assert_eq!(answer["views"][0]["dimensions"], 3072);
    succeeds(at, &["graph", "photos", "-k", "5", "-o", "graph.npz"]);
    let propagate = [
        "propagate",
        "photos",
        "-k",
        "5",
        "--labels-per-class",
        "3",
        "--json",
        "-o",
        "b.npz",
    ];
    let answer: serde_json::Value = serde_json::from_str(&succeeds(at, &propagate)).unwrap();
    assert!(answer["accuracy"].as_f64().unwrap() > 0.9, "{answer}");
    let answer = succeeds(at, &["eval", "photos", "--no-nmi", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert!(answer["recall"]["1"].as_f64().unwrap() > 0.9, "{answer}");
    // Pixels are not kept.
    assert!(!at.join("cache").exists());
}

#[test]
fn a_run_on_images_embeds_and_finds_images() {
    let scene = scene();
    let at = scene.path();
    succeeds(
        at,
        &["fit", "photos", "--epochs", "2", "-k", "5", "-o", "run"],
    );
    let page = std::fs::read_to_string(at.join("run/report.html")).unwrap();
    assert!(
        page.contains("src=\"data:image/png"),
        "photographs are shown"
    );
    succeeds(at, &["embed", "run", "photos", "-o", "e.npy"]);
    // One image asks.
    let query = [
        "search",
        "run",
        "--query",
        "photos/red/04.png",
        "-k",
        "3",
        "--json",
    ];
    let answer: serde_json::Value = serde_json::from_str(&succeeds(at, &query)).unwrap();
    assert_eq!(answer[0]["hits"][0]["id"], "red/04.png");
}

#[test]
fn a_network_is_trained_on_a_folder_and_reads_other_folders() {
    let scene = scene();
    let at = scene.path();
    let recipe = r#"
        pseudo_labels = { graph = { k = 5 } }
        learner.model = { kind = "network", tuning = { augment = true }, encoder = { name = "cifar", frozen_norm = false, head = { kind = "linear", dim = 8 } } }
        learner.train = { batch = 16, weight_decay = 0.0 }
        rounds = { epochs = 2, folds = 0 }
    "#;
    std::fs::write(at.join("net.toml"), recipe).unwrap();
    succeeds(at, &["fit", "photos", "--recipe", "net.toml", "-o", "run"]);
    let config = std::fs::read_to_string(at.join("run/config.json")).unwrap();
    assert!(config.contains("\"cifar\""), "{config}");
    succeeds(at, &["embed", "run", "photos", "-o", "e.npy"]);
    let kept = std::fs::read(at.join("run/embeddings.npy")).unwrap();
    assert_eq!(std::fs::read(at.join("e.npy")).unwrap(), kept);
    succeeds(at, &["embed", "run", "photos/red", "-o", "red.npy"]);
    // Every step and epoch is told to other tools.
    let log = at.join("run/events/draw-0-recipe-final");
    let lines = std::fs::read_to_string(log.join("events.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["epoch"], 2);
    assert!(last["epoch/loss"].as_f64().unwrap().is_finite());
    assert!(log.join("events.out.tfevents.0.likewise").is_file());
}

#[test]
fn features_of_squeezed_images_are_another_view() {
    let scene = scene();
    let at = scene.path();
    let Some(weights) = likewise_testdata::large("weights/efficientnet_lite0.safetensors") else {
        return;
    };
    let few = at.join("few");
    std::fs::create_dir_all(&few).unwrap();
    for class in ["red", "blue"] {
        std::fs::create_dir_all(few.join(class)).unwrap();
        let files = std::fs::read_dir(at.join("photos").join(class)).unwrap();
        for file in files.take(5) {
            let file = file.unwrap();
            std::fs::copy(file.path(), few.join(class).join(file.file_name())).unwrap();
        }
    }
    let weights = weights.display().to_string();
    let encoder = ["--encoder", &weights];
    let fit = [
        "fit",
        "few",
        "--squeeze",
        "--epochs",
        "1",
        "-k",
        "2",
        "-o",
        "run",
    ];
    succeeds(at, &[&fit[..], &encoder].concat());
    let embed = ["embed", "run", "few", "-o", "e.npy"];
    let (code, text) = said(at, &[&embed[..], &encoder].concat());
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("lite0-squeezed") && text.contains("squeezed or not"),
        "{text}"
    );
    succeeds(at, &[&embed[..], &encoder, &["--squeeze"]].concat());
    let squeezed = std::fs::read(at.join("e.npy")).unwrap();

    // Without a word the run's own network reads them, as it did.
    succeeds(at, &["embed", "run", "few", "-o", "own.npy"]);
    assert_eq!(std::fs::read(at.join("own.npy")).unwrap(), squeezed);
    succeeds(at, &["search", "run", "--query", "few", "-k", "3"]);
    succeeds(
        at,
        &[&["features", "few", "-o", "f.npy"], &encoder[..]].concat(),
    );
    let path = at.join("run/config.json");
    let config = std::fs::read_to_string(&path).unwrap();
    assert!(config.contains("efficientnet_lite0"), "{config}");

    // So are those of another side, whether a flag or a recipe says it.
    let small = ["fit", "few", "--side", "64", "--epochs", "1", "-k", "2"];
    succeeds(at, &[&small[..], &["-o", "small"], &encoder].concat());
    let embed = ["embed", "small", "few", "-o", "e.npy"];
    let (code, text) = said(at, &[&embed[..], &encoder].concat());
    assert!(code == Some(2) && text.contains("lite0-64"), "{text}");
    succeeds(at, &[&embed[..], &encoder, &["--side", "64"]].concat());
    let recipe = "learner.model = { kind = 'network', encoder = { name = 'lite0', side = 96 } }\n";
    std::fs::write(at.join("r.toml"), recipe).unwrap();
    let twice = ["-o", "twice", "--recipe", "r.toml"];
    let (code, text) = said(at, &[&small[..], &twice, &encoder].concat());
    assert!(code == Some(2) && text.contains("--side 64"), "{text}");
    for wrong in [&["--side", "9"][..], &["--side", "64", "--labels"]] {
        let (code, text) = said(
            at,
            &[&["embed", "small", "few", "-o", "x.npy"], wrong].concat(),
        );
        assert_eq!(code, Some(2), "{text}");
    }
    assert!(!at.join("x.npy").exists() && !at.join("twice").exists());
}

#[test]
fn weights_of_another_network_are_refused() {
    let scene = scene();
    let at = scene.path();
    let Some(weights) = likewise_testdata::large("weights/efficientnet_lite0.safetensors") else {
        return;
    };
    let recipe = "learner.model = { kind = 'network', \
                  encoder = { name = 'resnet18', head = { kind = 'whitened', dim = 8 } } }";
    std::fs::write(at.join("net.toml"), recipe).unwrap();
    let weights = weights.display().to_string();
    let fit = ["fit", "photos", "--recipe", "net.toml", "-o", "run"];
    let (code, text) = said(at, &[&fit[..], &["--encoder", &weights]].concat());
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("weights of lite0") && text.contains("resnet18"),
        "{text}"
    );
    let (code, text) = said(at, &fit);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("whitened") && text.contains("--encoder"),
        "{text}"
    );
}

#[test]
fn bad_images_are_named_or_left_out() {
    let scene = scene();
    let at = scene.path();
    std::fs::write(at.join("photos/red/04.png"), "").unwrap();
    std::fs::write(at.join("photos/notes.txt"), "not an image").unwrap();
    let (code, text) = said(at, &["doctor", "photos"]);
    assert_eq!(code, Some(1), "{text}");
    for word in ["photos/red/04.png", "empty", "--skip-bad"] {
        assert!(text.contains(word), "no \"{word}\" in: {text}");
    }
    let output = likewise(at, &["doctor", "photos", "--skip-bad", "--json"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("an image cannot be read") && text.contains("04.png"),
        "{text}"
    );
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["items"], 59);
    // A table without labels is no image to leave out.
    std::fs::write(at.join("none.csv"), "file_name,animal\nred/02.png,\n").unwrap();
    let (code, text) = said(at, &["doctor", "photos", "--labels", "none.csv"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("no column named"), "{text}");
    assert!(!text.contains("--skip-bad"), "{text}");
}

#[test]
fn what_cannot_be_is_refused() {
    let scene = scene();
    let at = scene.path();
    std::fs::create_dir(at.join("empty")).unwrap();
    std::fs::write(at.join("net.safetensors"), "not weights at all").unwrap();
    std::fs::write(at.join("a.csv"), "id,x\na,1\nb,2\n").unwrap();
    std::fs::write(at.join("labels.csv"), "id,label\n04.png,dog\n").unwrap();
    let cases: [(&[&str], i32, &str); 6] = [
        (&["doctor", "empty"], 1, "no images"),
        (&["doctor", "none.jpg"], 1, "no such file"),
        (
            &["doctor", "photos", "--encoder", "net.safetensors"],
            1,
            "net.safetensors: neither a safetensors file",
        ),
        (
            &["doctor", "a.csv", "--skip-bad"],
            2,
            "--skip-bad goes with images",
        ),
        (
            &["doctor", "photos", "--labels", "labels.csv"],
            1,
            "\"04.png\"",
        ),
        (
            &["doctor", "photos", "--view", "fac"],
            2,
            "there are: pixels",
        ),
    ];
    for (arguments, expected, word) in cases {
        let (code, text) = said(at, arguments);
        assert_eq!(code, Some(expected), "{arguments:?}: {text}");
        assert!(
            text.contains(word),
            "{arguments:?}: no \"{word}\" in: {text}"
        );
    }
}

#[cfg(unix)]
#[test]
fn links_to_nothing_are_named() {
    let scene = scene();
    let link = scene.path().join("photos/red/lost.png");
    std::os::unix::fs::symlink("no/such.png", link).unwrap();
    let (code, said) = said(scene.path(), &["doctor", "photos"]);
    assert_eq!(code, Some(0), "{said}");
    let what = "1 links to files that are not there (first: \"red/lost.png\")";
    assert!(said.contains(what), "{said}");
}

#[test]
fn descriptors_of_a_folder_are_views_to_fit() {
    let scene = scene();
    let at = scene.path();
    let with = ["describe", "photos", "--with", "hist,lbp"];
    let before = succeeds(
        at,
        &[&with[..], &["-o", "d.npz", "--dry-run", "--json"]].concat(),
    );
    let before: serde_json::Value = serde_json::from_str(&before).unwrap();
    // The rows twice, of 768 colours and more, beside the program.
    assert!(before["memory_bytes"].as_u64().unwrap() > (64 << 20) + 60 * 768 * 8);
    assert!(!at.join("d.npz").exists());
    succeeds(at, &[&with[..], &["--dry-run"]].concat());
    let little = [&with[..], &["-o", "d.npz", "--max-memory", "1KiB"]].concat();
    let (code, told) = said(at, &little);
    assert!(code == Some(1) && told.contains("--max-memory"), "{told}");
    let answer = succeeds(at, &[&with[..], &["-o", "d.npz", "--json"]].concat());
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["items"], 60);
    assert_eq!(answer["views"][0]["view"], "hist");
    let fit = "fit d.npz --view hist --labels-per-class 3 --draws 1 --recipe label-probabilities -q -o run";
    succeeds(at, &fit.split(' ').collect::<Vec<_>>());
    // Again, from the cache, byte for byte.
    succeeds(at, &[&with[..], &["-o", "e.npz", "-q"]].concat());
    let bytes = |name: &str| std::fs::read(at.join(name)).unwrap();
    assert_eq!(bytes("d.npz"), bytes("e.npz"));
    for (with, expected) in [
        ("nosuch", "there are: hist"),
        ("hist,hist", "named twice"),
        ("net:", "there are: hist"),
        ("net:absent.pth", "absent.pth"),
        ("hist,dsift", "too small"),
        ("", "there are: hist"),
    ] {
        let (code, said) = said(at, &["describe", "photos", "--with", with, "-o", "x.npz"]);
        assert!(code != Some(0) && said.contains(expected), "{with}: {said}");
        assert!(!at.join("x.npz").exists());
    }
    let (code, told) = said_of_table(at);
    assert!(code == Some(2) && told.contains("of images"), "{told}");
}

/// Descriptors of what is no images.
fn said_of_table(at: &Path) -> (Option<i32>, String) {
    std::fs::write(at.join("t.csv"), "id,a\n1,2\n2,3\n").unwrap();
    said(at, &["describe", "t.csv", "--with", "hist", "-o", "x.npz"])
}
