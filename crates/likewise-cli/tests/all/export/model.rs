//! Models: ONNX, and the folder of Hugging Face. Each must embed as `likewise embed` does.

use ndarray::Array2;

use super::{Scene, lines, matrix, near};

/// Recipes by what their model is, and what they learn from.
const RECIPES: [(&str, &str); 6] = [
    ("logistic", ""),
    ("label-rca", ""),
    ("hds", ""),
    ("rca", ""),
    ("itml", " --pairs pairs.csv"),
    ("oasis", " --triplets triplets.csv"),
];

fn scene() -> Scene {
    let scene = Scene::new();
    scene.good("mine items.npz --from labels --kind pairs -q -o pairs.csv");
    scene.good("mine items.npz --from labels --kind triplets -q -o triplets.csv");
    scene
}

fn fit(scene: &Scene, recipe: &str, more: &str) {
    scene.good(&format!(
        "fit items.npz --recipe {recipe}{more} -q -o {recipe}"
    ));
    scene.good(&format!("embed {recipe} new-items.npy -q -o {recipe}.npy"));
}

/// By the lines that were printed, from `features` to `out.npy`.
fn by_onnx(scene: &Scene, usage: &str) -> Option<Array2<f32>> {
    let code = format!(
        "import numpy as np\nfeatures = np.load('new-items.npy')\n{usage}\n\
         np.save('out.npy', embedding)"
    );
    scene.python(&code)?;
    Some(matrix(&scene.path("out.npy")))
}

#[test]
fn onnx_embeds_as_the_model_does() {
    let scene = scene();
    for (recipe, more) in RECIPES {
        fit(&scene, recipe, more);
        let report = scene.json(&format!("export {recipe} --to onnx -o m.onnx"));
        let Some(found) = by_onnx(&scene, &lines(&report["usage"])) else {
            return;
        };
        println!("{recipe}: {}", report["compared"]);
        near(&found, &matrix(&scene.path(&format!("{recipe}.npy"))));
    }
}

#[test]
#[cfg(feature = "networks")]
fn onnx_embeds_as_a_head_does() {
    let scene = scene();
    for (name, kind) in [
        ("mlp", "{ kind = 'mlp' }"),
        ("linear", "{ kind = 'linear' }"),
        ("orthogonal", "{ kind = 'orthogonal', dim = 8 }"),
    ] {
        let recipe = format!("base = 'mixed-lp'\nlearner.model = {kind}\n");
        std::fs::write(scene.path(&format!("{name}.toml")), recipe).unwrap();
        scene.good(&format!(
            "fit items.npz --recipe {name}.toml --epochs 3 -q -o {name}"
        ));
        scene.good(&format!("embed {name} new-items.npy -q -o {name}.npy"));
        let expected = matrix(&scene.path(&format!("{name}.npy")));
        let report = scene.json(&format!("export {name} --to onnx -o m.onnx"));
        scene.good(&format!("export {name} --to huggingface -o hf-{name}"));
        let Some(found) = by_onnx(&scene, &lines(&report["usage"])) else {
            return;
        };
        near(&found, &expected);
        near(&by_card(&scene, &format!("hf-{name}")).unwrap(), &expected);
    }
}

/// By the block of Python in the card, run beside the files of the folder.
fn by_card(scene: &Scene, folder: &str) -> Option<Array2<f32>> {
    let card = std::fs::read_to_string(scene.path(folder).join("README.md")).unwrap();
    assert!(card.starts_with("---\nlibrary_name: likewise\n"), "{card}");
    let block = card.split("```python\n").nth(1).unwrap();
    let block = block.split("\n```").next().unwrap();
    // A few lines, as the page says.
    assert!(block.lines().count() <= 10, "{block}");
    let code = format!(
        "import os, numpy as np\nx = np.load('new-items.npy')\nos.chdir('{folder}')\n{block}\n\
         np.save('../out.npy', z)"
    );
    scene.python(&code)?;
    Some(matrix(&scene.path("out.npy")))
}

/// Distances of all rows from the first.
fn distances(rows: &Array2<f32>) -> Array2<f32> {
    let first = rows.row(0);
    let of = |row: ndarray::ArrayView1<f32>| (&row - &first).mapv(|v| v * v).sum().sqrt();
    Array2::from_shape_fn((rows.nrows(), 1), |(i, _)| of(rows.row(i)))
}

#[test]
fn the_lines_of_a_card_embed_as_the_model_does() {
    let scene = scene();
    for (recipe, more) in RECIPES {
        fit(&scene, recipe, more);
        let folder = format!("hf-{recipe}");
        scene.good(&format!("export {recipe} --to huggingface -o {folder}"));
        let config = std::fs::read_to_string(scene.path(&folder).join("config.json")).unwrap();
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        assert_eq!(config["model_type"], "likewise");
        // Nothing says where the data lay.
        let card = std::fs::read_to_string(scene.path(&folder).join("README.md")).unwrap();
        let place = scene.path("").display().to_string();
        assert!(
            !card.contains(&place) && card.contains("items.npz"),
            "{card}"
        );
        let expected = matrix(&scene.path(&format!("{recipe}.npy")));
        let Some(found) = by_card(&scene, &folder) else {
            return;
        };
        println!("{recipe}");
        if recipe == "itml" {
            // Of a matrix any root will do.
            near(&distances(&found), &distances(&expected));
        } else {
            near(&found, &expected);
        }
    }
}

#[test]
fn a_folder_that_holds_an_export_is_replaced_only_when_told() {
    let scene = Scene::with_run();
    let line = "export run --to huggingface -o hf";
    scene.good(line);
    let said = scene.bad(line, 2, &["hf", "--overwrite"]);
    assert!(said.contains("holds an export"), "{said}");
    scene.good(&format!("{line} --overwrite"));
    std::fs::write(scene.path("hf/mine.txt"), "").unwrap();
    scene.bad(
        &format!("{line} --overwrite"),
        2,
        &["mine.txt", "name another folder"],
    );
    assert!(scene.path("hf/mine.txt").exists());
}

#[test]
fn the_encoder_of_each_view_is_an_onnx_file() {
    for recipe in ["gsph", "cca"] {
        let scene = Scene::across(recipe);
        let report = scene.json("export run --to onnx --view image -o m.onnx");
        let code = format!(
            "import numpy as np\nfeatures = np.load('pairs.npz')['image']\n{}\n\
             n = len(features)\n\
             if '{recipe}' == 'gsph':\n\
             \x20   codes = np.unpackbits(np.load('run/codes.npy')[:n], axis=1, bitorder='little')\n\
             \x20   same = (embedding > 0) == codes[:, :embedding.shape[1]]\n\
             \x20   assert set(np.unique(embedding)) == {{-1, 1}} and same.mean() > 0.9999, same.mean()\n\
             else:\n\
             \x20   e = np.load('run/embeddings.npy')[:n]\n\
             \x20   e = e / np.linalg.norm(e, axis=1, keepdims=True)\n\
             \x20   assert np.abs(e - embedding).max() < 1e-4, np.abs(e - embedding).max()\n",
            lines(&report["usage"])
        );
        if scene.python(&code).is_none() {
            return;
        }
    }
}
