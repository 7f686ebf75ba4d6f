//! The program without networks: what needs them says so in one sentence, all else is there.

use std::collections::BTreeMap;
use std::fs;

use likewise::arrays::Arrays;
use likewise::linear::Affine;
use likewise::matrix::Reading;
use likewise_nn::Model;
use likewise_nn::net::{Head, HeadConfig};
use ndarray::{Array1, Array2};

use crate::bad_input::Scene;

const HOW: &str = "this program was built without them; install it without --no-default-features";

#[test]
fn what_needs_networks_says_so_once() {
    let scene = Scene::new();
    let data = ["good.npy", "--labels", "good.csv"];
    let gradients = format!("a recipe by gradients needs networks, and {HOW}");
    for recipe in ["mixed-lp", "triplet", "affinity-triplet"] {
        let fit = [&["fit"], &data[..], &["--recipe", recipe, "-o", "run/"]].concat();
        scene.refuses(&fit, 2, &[&gradients]);
    }
    let graph = ["graph", "good.npy", "--device", "vulkan", "-o", "g.npz"];
    scene.refuses(
        &graph,
        2,
        &["a graphics card needs networks", "--features vulkan"],
    );
    let loss = [&["eval"], &data[..], &["--loss", "triplet"]].concat();
    scene.refuses(&loss, 2, &["the value of a loss needs networks", HOW]);

    fs::create_dir(scene.path("photos")).unwrap();
    let file = fs::File::create(scene.path("photos/a.png")).unwrap();
    let mut encoder = png::Encoder::new(file, 2, 2);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[90; 12]).unwrap();
    writer.finish().unwrap();
    scene.text("weights.pth", "any");
    let features = [
        "features",
        "photos",
        "--encoder",
        "weights.pth",
        "-o",
        "f.npy",
    ];
    scene.refuses(&features, 2, &["an encoder needs networks", HOW]);
}

#[test]
fn recipes_are_chosen_without_those_by_gradients_and_models_open_but_for_networks() {
    let scene = Scene::new();
    let output = scene.run(&["fit", "good.npy", "--labels", "good.csv", "-o", "run"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert_eq!(
        said.matches("a recipe by gradients needs networks").count(),
        1,
        "{said}"
    );
    let embed = ["embed", "run", "good.npy", "-o", "e.npy"];
    assert!(scene.run(&embed).status.success());

    // The runs of a program with networks, as far as their model goes.
    let head = Model::Head(Head {
        config: HeadConfig {
            width: 1,
            ..HeadConfig::default()
        },
        reading: Reading {
            power: 1.0,
            unit: false,
        },
        start: Affine {
            mean: Array1::zeros(4),
            matrix: Array2::eye(4),
        },
        residual: BTreeMap::from([
            ("input.weight".into(), Array2::ones((4, 3))),
            ("input.bias".into(), Array2::zeros((1, 3))),
            ("output.weight".into(), Array2::zeros((3, 4))),
        ]),
    });
    replace_model(&scene, &head.to_safetensors().unwrap());
    let output = scene.run(&embed);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    fs::remove_file(scene.path("e.npy")).unwrap();
    let mut arrays = Arrays::default();
    arrays.put_matrix32("map", &Array2::ones((1, 1)));
    let kind = r#"{"kind": "network", "keep": 0.0, "encoder": {"name": "mnist"}}"#;
    let metadata = BTreeMap::from([("model".to_owned(), kind.to_owned())]);
    let network = likewise_io::arrays::to_safetensors(&arrays, &metadata).unwrap();
    replace_model(&scene, &network);
    scene.refuses(&embed, 2, &["the model of this run needs networks", HOW]);
}

/// Puts another model into the run, and what the record says of its file.
fn replace_model(scene: &Scene, bytes: &[u8]) {
    let model = scene.path("run/model.safetensors");
    let record = scene.path("run/run.json");
    let told = || {
        let length = fs::metadata(&model).unwrap().len();
        let digest = likewise_io::digest(&model).unwrap();
        format!("{length} bytes {}", &digest[..32])
    };
    let before = told();
    fs::write(&model, bytes).unwrap();
    let text = fs::read_to_string(&record).unwrap();
    assert!(text.contains(&before), "{text}");
    fs::write(&record, text.replace(&before, &told())).unwrap();
}

#[test]
fn the_demo_runs_by_a_recipe_that_is_there() {
    let scene = Scene::new();
    let output = scene.run(&["demo", "--draws", "1", "-o", "demo"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let config = fs::read_to_string(scene.path("demo/config.json")).unwrap();
    assert!(config.contains("mild-joined"), "{config}");
}
