//! Descriptors as the encoder of images.

use std::path::Path;

use likewise::Part;
use likewise_image::RgbImage;

use crate::program;

fn likewise(folder: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = program::command(folder, arguments);
    command.env("LIKEWISE_CACHE", folder.join("cache"));
    command.output().unwrap()
}

#[track_caller]
fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    program::printed(arguments, likewise(folder, arguments))
}

/// A command by its words.
#[track_caller]
fn runs(folder: &Path, line: &str) -> String {
    succeeds(folder, &line.split(' ').collect::<Vec<_>>())
}

/// Must fail as usage, in one sentence that has these words, and leave no file `x`.
#[track_caller]
fn refuses(folder: &Path, line: &str, words: &[&str]) {
    let arguments: Vec<&str> = line.split(' ').collect();
    let output = likewise(folder, &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {said}");
    let errors = said.lines().filter(|line| line.starts_with("error: "));
    assert_eq!(errors.count(), 1, "{line}: {said}");
    for word in words {
        assert!(said.contains(word), "{line}: no \"{word}\" in: {said}");
    }
    assert!(!folder.join("x").exists() && !folder.join("x.npz").exists());
}

/// A texture of waves: where they run to tells the class, noise the image.
fn texture(class: u32, number: u32) -> RgbImage {
    RgbImage::from_fn(44, 36, |x, y| {
        let along = if class == 0 { x } else { y };
        let wave = f64::from(along * 9 + number * 5).sin() * 70.0;
        let noise = (x * 31 + y * 17 + number * 97) * (x + 3 * y + number) % 83;
        let gray = (110.0 + wave + f64::from(noise) / 2.0) as u8;
        [gray, gray / (1 + class as u8), 30].into()
    })
}

/// Twelve images of each of two classes, in `photos`.
fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (class, name) in [(0, "across"), (1, "down")] {
        let place = folder.path().join("photos").join(name);
        std::fs::create_dir_all(&place).unwrap();
        for number in 0..12 {
            let image = texture(class, number);
            image.save(place.join(format!("{number:02}.png"))).unwrap();
        }
    }
    folder
}

/// A fit that takes a moment.
const FIT: &str = "--recipe label-rca -q";

#[test]
fn a_descriptor_is_an_encoder_of_every_verb() {
    let scene = scene();
    let at = scene.path();
    for line in [
        "doctor photos --encoder lbp",
        "doctor photos --encoder hist,dsift --words 5",
        "duplicates photos --encoder gist",
        "graph photos --encoder hist -k 3 -o g.npz",
        "graph photos --encoder hist,lbp --view lbp -k 3 -o g2.npz",
        "propagate photos --encoder glcm -k 3 --labels-per-class 2 -o b.npz",
        "mine photos --encoder phog --from labels --kind pairs -o p.csv",
        "eval photos --encoder hist,lbp --view hist --view lbp --no-nmi",
        "eval photos/across --gallery photos --encoder dsift --words 9 --no-nmi --labels y.csv",
        "graph photos --encoder gb --words 8 -k 3 -o g3.npz --dry-run",
    ] {
        let ids = (0..12).map(|i| format!("{i:02}.png,across\n"));
        let labels = format!("id,label\n{}", ids.collect::<String>());
        std::fs::write(at.join("y.csv"), labels).unwrap();
        runs(at, line);
    }
    // The same rows as those of `describe`, which learns the same words.
    runs(at, "features photos --encoder dsift --words 9 -o a.npy");
    runs(at, "describe photos --with hist,dsift --words 9 -o d.npz");
    runs(at, "features d.npz --view dsift -o b.npy");
    let bytes = |name: &str| std::fs::read(at.join(name)).unwrap();
    assert_eq!(bytes("a.npy"), bytes("b.npy"));
    // Other seeds draw other words.
    runs(
        at,
        "features photos --encoder dsift --words 9 --seed 5 -o c.npy",
    );
    assert_ne!(bytes("a.npy"), bytes("c.npy"));
    let answer = runs(
        at,
        "features photos --encoder gist,lbp --view gist --json -o n.npy",
    );
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["columns"], 512, "{answer}");
}

#[test]
fn a_run_keeps_its_words_and_asks_in_them() {
    let scene = scene();
    let at = scene.path();
    runs(
        at,
        &format!("fit photos --encoder dsift --words 12 -o run {FIT}"),
    );
    let config = std::fs::read_to_string(at.join("run/config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    assert_eq!(config["view"], "dsift");
    assert_eq!(config["dimensions"], 12);
    assert_eq!(config["encoder"]["descriptor"]["kind"], "dsift");
    assert!(config["encoder"]["words"].is_string(), "{config}");
    let bytes = |name: &str| std::fs::read(at.join(name)).unwrap();
    runs(at, "embed run photos -o e.npy");
    assert_eq!(bytes("e.npy"), bytes("run/embeddings.npy"));
    runs(at, "embed run photos --encoder dsift -o e.npy");
    assert_eq!(bytes("e.npy"), bytes("run/embeddings.npy"));
    // One image alone has the row that it had among all.
    let search = "search run --query photos/down/04.png -k 5 --json";
    let finds_itself = || {
        let answer: serde_json::Value = serde_json::from_str(&runs(at, search)).unwrap();
        // Others may have the same words.
        let mut hits = answer[0]["hits"].as_array().unwrap().iter();
        let own = hits.find(|hit| hit["id"] == "down/04.png");
        assert!(
            own.unwrap()["similarity"].as_f64().unwrap() > 0.9999,
            "{answer}"
        );
    };
    finds_itself();
    // Finished, it is found again; of other words it is another run.
    runs(
        at,
        &format!("fit photos --encoder dsift --words 12 -o run --resume {FIT}"),
    );
    refuses(
        at,
        &format!("fit photos --encoder dsift --words 11 -o run --resume {FIT}"),
        &["other data or settings"],
    );
    std::fs::create_dir(at.join("more")).unwrap();
    texture(1, 40).save(at.join("more/a.png")).unwrap();
    runs(at, "add run more --prefix new-");
    finds_itself();
    std::fs::write(at.join("y.csv"), "id,label\nacross/01.png,third\n").unwrap();
    runs(at, "fit run --add-labels y.csv -o again -q");
    runs(at, "embed again photos/down -o down.npy");

    refuses(at, "embed run photos --words 5 -o x", &["--words"]);
    refuses(
        at,
        "embed run photos --encoder dsift --words 5 -o x",
        &["--words", "fitted with"],
    );
    for (encoder, view) in [
        ("lbp", "lbp"),
        ("sift", "sift"),
        ("hist,dsift", "hist, dsift"),
    ] {
        for line in [
            format!("embed run photos --encoder {encoder} -o x"),
            format!("search run --query photos/down/04.png --encoder {encoder}"),
            format!("add run more --prefix b- --encoder {encoder}"),
        ] {
            refuses(
                at,
                &line,
                &["fitted on view dsift", &format!("give {view};")],
            );
        }
    }
    refuses(
        at,
        "embed run photos --encoder sift --view sift -o x",
        &["fitted on view dsift"],
    );
    refuses(
        at,
        "describe photos --with hist -o run/words/dsift.safetensors",
        &["belongs to the run"],
    );

    // Words of another run are no words of this one.
    runs(
        at,
        &format!("fit photos --encoder dsift --words 12 --seed 3 -o other {FIT}"),
    );
    std::fs::copy(
        at.join("other/words/dsift.safetensors"),
        at.join("run/words/dsift.safetensors"),
    )
    .unwrap();
    let output = likewise(at, &["embed", "run", "photos", "-o", "x"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1) && said.contains("fit again"),
        "{said}"
    );
    // A run without words leaves none of an older one.
    runs(
        at,
        &format!("fit photos --encoder hist -o other --overwrite {FIT}"),
    );
    assert!(!at.join("other/words").exists());
}

#[test]
fn words_are_learned_from_training_items_alone() {
    let scene = scene();
    let at = scene.path();
    let fit = |out: &str| {
        runs(
            at,
            &format!("fit photos --encoder dsift --words 9 --split item -o {out} {FIT}"),
        );
        std::fs::read(at.join(out).join("words/dsift.safetensors")).unwrap()
    };
    let words = fit("first");
    let items = likewise_io::items::read(at.join("first/items.parquet")).unwrap();
    let change = |part: Part| {
        let of_part: Vec<_> = items
            .iter()
            .filter(|item| item.split == Some(part))
            .collect();
        assert!(!of_part.is_empty());
        for (number, item) in of_part.into_iter().enumerate() {
            let image = RgbImage::from_fn(48, 48, |x, y| {
                [(x * x + y * (7 + number as u32)) as u8; 3].into()
            });
            image.save(at.join("photos").join(&item.id)).unwrap();
        }
    };
    change(Part::Test);
    assert_eq!(fit("second"), words);
    change(Part::Train);
    assert_ne!(fit("third"), words);
}

#[test]
fn several_descriptors_stand_side_by_side() {
    let scene = scene();
    let at = scene.path();
    let fit = "fit photos --encoder hist,lbp,dsift --words 7";
    runs(at, &format!("{fit} --view lbp --view hist -o run {FIT}"));
    let config = std::fs::read_to_string(at.join("run/config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    assert_eq!(config["view"], "lbp+hist");
    assert_eq!(config["dimensions"], 59 + 768);
    // What is not used is not made again.
    let kinds = config["encoder"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|made| &made["descriptor"]["kind"]).collect();
    assert_eq!(kinds, ["hist", "lbp"]);
    runs(at, "embed run photos -o e.npy");
    let bytes = |name: &str| std::fs::read(at.join(name)).unwrap();
    assert_eq!(bytes("e.npy"), bytes("run/embeddings.npy"));
    runs(at, &format!("{fit} --view dsift --view lbp -o mixed {FIT}"));
    let search = "search mixed --query photos/down/04.png -k 1 --json";
    let answer: serde_json::Value = serde_json::from_str(&runs(at, search)).unwrap();
    assert_eq!(answer[0]["hits"][0]["id"], "down/04.png");
    // Which of them is not said.
    refuses(
        at,
        "graph photos --encoder hist,lbp -k 3 -o x.npz",
        &["(hist, lbp)", "--view"],
    );
}

#[test]
fn the_first_steps_name_the_views_of_descriptors() {
    let scene = scene();
    let at = scene.path();
    let ids = (0..12).flat_map(|i| {
        [
            format!("across/{i:02}.png,a\n"),
            format!("down/{i:02}.png,d\n"),
        ]
    });
    let labels = format!("id,label\n{}", ids.collect::<String>());
    std::fs::write(at.join("forty-labels.csv"), labels).unwrap();
    let help = runs(at, "--help");
    let examples = help.lines().map(str::trim);
    let mut examples = examples.filter(|line| line.starts_with("likewise fit photos/"));
    let example = examples.next().unwrap_or_else(|| panic!("{help}"));
    let line = example.trim_start_matches("likewise ");
    assert!(line.contains("--encoder gist,lbp"), "{line}");
    runs(at, &format!("{line} {FIT}"));
    let config = std::fs::read_to_string(at.join("run/config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    assert_eq!(config["view"], "gist+lbp");
}

#[test]
fn what_no_encoder_can_be_is_told() {
    let scene = scene();
    let at = scene.path();
    std::fs::write(at.join("t.csv"), "id,a\n1,2\n2,3\n").unwrap();
    for (line, words) in [
        (
            "graph photos --encoder gst -o x.npz",
            &[
                "no descriptor \"gst\"",
                "there are: hist, glcm, lbp, gist, phog, sift",
            ][..],
        ),
        (
            "graph photos --encoder hist,,lbp -o x.npz",
            &["no descriptor \"\""],
        ),
        (
            "graph photos --encoder hist,lite0.pth -o x.npz",
            &["net:FILE"],
        ),
        ("graph photos --encoder lbp,lbp -o x.npz", &["named twice"]),
        (
            "graph t.csv --encoder gist -o x.npz",
            &["--encoder goes with images", "t.csv"],
        ),
        (
            "graph photos --encoder gist --view hist -k 3 -o x.npz",
            &["no view \"hist\"", "gist"],
        ),
        (
            "graph photos --encoder hist,lbp --view hist --view gist -k 3 -o x.npz",
            &["no view \"gist\""],
        ),
        (
            "graph photos --encoder gist --squeeze -o x.npz",
            &["--squeeze has no effect"],
        ),
        (
            "graph photos --encoder gist --side 64 -o x.npz",
            &["--side has no effect"],
        ),
        (
            "graph photos --encoder gist --words 9 -o x.npz",
            &["--words has no effect"],
        ),
        (
            "graph photos --words 9 -o x.npz",
            &["--words has no effect"],
        ),
        (
            "graph photos --encoder sift --words 0 -o x.npz",
            &["--words 0: must be at least 1"],
        ),
        (
            "describe photos --with hist --words 9 -o x.npz",
            &["--words has no effect"],
        ),
        (
            "describe photos --with hist --encoder gist -o x.npz",
            &["--with names what is made"],
        ),
    ] {
        refuses(at, line, words);
    }
    let recipe = "learner.model = { kind = 'network', encoder = { name = 'cifar' } }\n";
    std::fs::write(at.join("net.toml"), recipe).unwrap();
    let fit = "fit photos --recipe net.toml --encoder gist -o x";
    refuses(
        at,
        fit,
        &["--encoder", "cifar itself", "one file of weights"],
    );
    // An index of embeddings knows no words.
    runs(at, "features photos --encoder dsift --words 9 -o f.npy");
    runs(at, "index f.npy -o index");
    let search = "search index --query photos/down/04.png --encoder dsift --words 9";
    refuses(at, search, &["words of dsift", "search a run"]);

    // What is not there, or has nothing to learn from.
    std::fs::create_dir_all(at.join("tiny/a")).unwrap();
    RgbImage::new(3, 2).save(at.join("tiny/a/1.png")).unwrap();
    RgbImage::new(9, 9).save(at.join("tiny/a/2.png")).unwrap();
    std::fs::create_dir(at.join("empty")).unwrap();
    std::fs::write(at.join("bad.pth"), "no weights").unwrap();
    for (line, word) in [
        ("doctor empty --encoder gist", "no images"),
        ("doctor photos --encoder absent.pth", "absent.pth"),
        // Said of the weights, and not of the images.
        ("doctor photos --encoder bad.pth", "error: bad.pth: neither"),
        ("doctor tiny --encoder sift", "too small or too flat"),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let output = likewise(at, &arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains(word), "{line}: no \"{word}\" in: {said}");
    }
}

#[test]
fn gray_tiny_and_unreadable_images_have_rows_or_are_left_out() {
    let scene = scene();
    let at = scene.path();
    let file = std::fs::File::create(at.join("photos/across/gray.png")).unwrap();
    let mut gray = png::Encoder::new(file, 20, 20);
    gray.set_color(png::ColorType::Grayscale);
    let pixels: Vec<u8> = (0..400_u32).map(|i| (i * i % 251) as u8).collect();
    gray.write_header()
        .unwrap()
        .write_image_data(&pixels)
        .unwrap();
    RgbImage::new(1, 1)
        .save(at.join("photos/down/tiny.png"))
        .unwrap();
    std::fs::write(at.join("photos/down/broken.png"), "no image").unwrap();
    let all = "features photos --encoder hist,glcm,lbp,gist,phog,sift,dsift,gb --words 5";
    let all = format!("{all} --view hist --view gist --view gb --view sift --json -o f.npy");
    let output = likewise(at, &all.split(' ').collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1) && said.contains("--skip-bad"),
        "{said}"
    );
    let answer: serde_json::Value =
        serde_json::from_str(&runs(at, &format!("{all} --skip-bad"))).unwrap();
    assert_eq!(answer["items"], 26);
    // The split is drawn over the images that can be read, and so are those that teach words.
    runs(
        at,
        &format!("fit photos --encoder dsift --words 9 --split item --skip-bad -o run {FIT}"),
    );
    runs(at, "search run --query photos/across/gray.png -k 1");
}
