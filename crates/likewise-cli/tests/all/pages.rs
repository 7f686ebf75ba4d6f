//! The commands and recipes of the pages for users, tried as they stand there.
//!
//! A block that cannot be tried says why, in a comment right above it that a reader does not see:
//!
//! ```text
//! <!-- not run: why -->
//! ```
//!
//! Blocks of Rust are tests of the documentation of `likewise`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use likewise::{Collection, Monitor};
use likewise_image::RgbImage;
use likewise_io::ReadOptions;
use likewise_study::Recipe;
use likewise_study::recipe::ModelConfig;
use ndarray::{ArrayView2, s};

use crate::program;

/// Lines between fences.
struct Block {
    /// Page and line.
    place: String,
    language: String,
    text: String,
    /// Why it is not tried.
    skip: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md and all of docs/.
fn pages() -> Vec<PathBuf> {
    let inside = fs::read_dir(root().join("docs")).unwrap();
    let mut pages: Vec<PathBuf> = inside.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// The blocks of these languages, of all pages.
fn blocks(languages: &[&str]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for page in pages() {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&page).unwrap();
        blocks.extend(of_page(&name, &text));
    }
    blocks.retain(|block| languages.contains(&block.language.as_str()));
    assert!(!blocks.is_empty());
    blocks
}

fn of_page(name: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut before = "";
    for (i, line) in text.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => {
                let skip = before.strip_prefix("<!-- not run: ");
                let skip = skip.and_then(|why| why.strip_suffix(" -->"));
                open = Some(Block {
                    place: format!("{name}:{}", i + 1),
                    language: language.to_owned(),
                    text: String::new(),
                    skip: skip.map(str::to_owned),
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text += &[line, "\n"].concat(),
            (None, None) => {}
        }
        before = line;
    }
    blocks
}

/// The bytes that numpy has for a matrix, or for a column of whole numbers.
pub(crate) fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend(values);
    bytes
}

pub(crate) fn npy_matrix(x: ArrayView2<f32>) -> Vec<u8> {
    let values: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
    npy("<f4", &format!("({}, {})", x.nrows(), x.ncols()), &values)
}

/// What the commands of the pages read: `items.npz` with the labels of half of the items,
/// `labels.csv` with those of some more, and `new-items.npy`; `pairs.npz` with two views and all
/// labels, and `new-images.npy`; `shirts.csv` with a column of text; `catalogue/` with photos and texts beside them, and
/// `letters/` with texts alone.
pub(crate) fn data(at: &Path) {
    let whole = likewise_io::read(
        likewise_testdata::digits(),
        &ReadOptions::default(),
        &Monitor::silent(),
    );
    let rows: Vec<usize> = (0..2000).step_by(8).collect();
    let part: Collection = whole.unwrap().select(&rows);
    let x = part.view(Some("kar")).unwrap().matrix.view();
    let labels = part.labels.as_ref().unwrap();
    let class = |i: usize| i64::from(labels[i].class().unwrap());
    let known = |i: usize| if i.is_multiple_of(2) { class(i) } else { -1 };
    let of_items: Vec<u8> = (0..200).flat_map(|i| known(i).to_le_bytes()).collect();

    let file = fs::File::create(at.join("items.npz")).unwrap();
    let mut archive = zip::ZipWriter::new(file);
    for (name, bytes) in [
        ("x.npy", npy_matrix(x.slice(s![..200, ..]))),
        ("label.npy", npy("<i8", "(200,)", &of_items)),
    ] {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(name, options).unwrap();
        archive.write_all(&bytes).unwrap();
    }
    archive.finish().unwrap();
    let other = part.view(Some("fou")).unwrap().matrix.view();
    let all: Vec<u8> = (0..250).flat_map(|i| class(i).to_le_bytes()).collect();
    let file = fs::File::create(at.join("pairs.npz")).unwrap();
    let mut archive = zip::ZipWriter::new(file);
    for (name, bytes) in [
        ("image.npy", npy_matrix(other)),
        ("text.npy", npy_matrix(x)),
        ("label.npy", npy("<i8", "(250,)", &all)),
    ] {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(name, options).unwrap();
        archive.write_all(&bytes).unwrap();
    }
    archive.finish().unwrap();
    let asks = npy_matrix(other.slice(s![..3, ..]));
    fs::write(at.join("new-images.npy"), asks).unwrap();
    let shirts = (0..60).map(|i| {
        let (color, kind) = (["red", "blue"][i % 2], ["shirt", "hose", "shoe"][i % 3]);
        let (size, price) = (i % 2 * 10 + i % 7, i % 3 * 20 + i % 5);
        format!("{i},{color} {kind} {},{color},{size},{price}\n", i % 10)
    });
    let shirts: String = shirts.collect();
    fs::write(
        at.join("shirts.csv"),
        format!("id,title,label,size,price\n{shirts}"),
    )
    .unwrap();
    texts(at);
    let lines = (0..120).map(|i| format!("{i},{}\n", class(i)));
    let lines: String = lines.collect();
    fs::write(at.join("labels.csv"), format!("id,label\n{lines}")).unwrap();
    let new = npy_matrix(x.slice(s![200.., ..]));
    fs::write(at.join("new-items.npy"), new).unwrap();
}

fn texts(at: &Path) {
    for i in 0..48_u8 {
        let kind = ["shirts", "hoses"][usize::from(i % 2)];
        let [shop, letters] = ["catalogue", "letters"].map(|folder| at.join(folder).join(kind));
        for folder in [&shop, &letters] {
            fs::create_dir_all(folder).unwrap();
        }
        let color = [200 - i % 2 * 150, 20 + i, 50 + i % 2 * 150];
        let photo = RgbImage::from_pixel(16, 16, color.into());
        photo.save(shop.join(format!("{i}.png"))).unwrap();
        let text = match i % 2 {
            0 => format!("a red shirt with {} buttons", i % 9),
            _ => format!("{} yards of garden hose", i % 7),
        };
        fs::write(shop.join(format!("{i}.txt")), &text).unwrap();
        fs::write(letters.join(format!("{i}.txt")), text).unwrap();
    }
}

#[test]
fn commands_of_the_pages_run() {
    let folder = tempfile::tempdir().unwrap();
    data(folder.path());
    let (mut run, mut skipped) = (0, 0);
    for block in blocks(&["sh"]) {
        let lines = block.text.lines();
        let lines = lines.map(|line| line.split(" #").next().unwrap_or_default().trim());
        for line in lines {
            // Installing and building is what runs this.
            let Some(arguments) = line.strip_prefix("likewise ") else {
                continue;
            };
            if let Some(why) = &block.skip {
                println!("{}: not run, {why}: {line}", block.place);
                skipped += 1;
                continue;
            }
            println!("{}: {line}", block.place);
            let arguments: Vec<&str> = arguments.split_whitespace().collect();
            program::succeeds(folder.path(), &arguments);
            run += 1;
        }
    }
    println!("{run} commands run, {skipped} not");
    assert!(run >= 4, "{run}");
}

#[test]
fn recipes_of_the_pages_are_recipes() {
    for block in blocks(&["toml"]) {
        if let Some(why) = &block.skip {
            println!("{}: not read, {why}", block.place);
            continue;
        }
        let recipe = Recipe::from_toml(&block.text);
        let recipe = recipe.unwrap_or_else(|e| panic!("{}: {e}", block.place));
        // What is read is what stands there, not the base alone.
        let base = match recipe.learner.gradient() {
            Some(gradient) => {
                let usual = matches!(gradient.model, ModelConfig::Mlp(_));
                usual && gradient.loss.single().is_some()
            }
            None => Recipe::named(&recipe.name).is_ok_and(|named| named == recipe),
        };
        assert!(!base, "{}", block.place);
    }
}

#[test]
fn blocks_of_rust_stand_on_pages_that_are_tested() {
    let tests = fs::read_to_string(root().join("crates/likewise/src/lib.rs")).unwrap();
    for block in blocks(&["rust", "", "no_run", "ignore"]) {
        let page = block.place.split(':').next().unwrap();
        assert!(tests.contains(&format!("/{page}\")")), "{}", block.place);
    }
}

#[test]
fn a_block_is_told_by_its_fences_and_what_stands_above() {
    let text = "a\n```sh\nb # c\n```\n\n<!-- not run: no d -->\n```toml\ne = 1\n```\n";
    let found = of_page("p.md", text);
    let [sh, toml] = &found[..] else {
        panic!("two blocks");
    };
    assert_eq!(
        (&*sh.place, &*sh.language, &*sh.text),
        ("p.md:2", "sh", "b # c\n")
    );
    assert_eq!(sh.skip, None);
    assert_eq!((&*toml.place, &*toml.language), ("p.md:7", "toml"));
    assert_eq!(toml.skip.as_deref(), Some("no d"));
}
