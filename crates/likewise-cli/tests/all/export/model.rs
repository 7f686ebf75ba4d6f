//! Models: ONNX, and the folder of Hugging Face. Each must embed as `likewise embed` does.

use likewise_nn::Model;
use ndarray::{Array1, Array2};

use super::{Scene, lines, matrix, near};

/// Recipes by what their model is, and what they learn from.
const RECIPES: [(&str, &str); 8] = [
    ("logistic", ""),
    ("lda", ""),
    ("joined", ""),
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
    by_card_of(scene, folder, "x = np.load('new-items.npy')")
}

/// The same, of what this line reads.
fn by_card_of(scene: &Scene, folder: &str, read: &str) -> Option<Array2<f32>> {
    let card = std::fs::read_to_string(scene.path(folder).join("README.md")).unwrap();
    assert!(card.starts_with("---\nlibrary_name: likewise\n"), "{card}");
    let block = card.split("```python\n").nth(1).unwrap();
    let block = block.split("\n```").next().unwrap();
    // A few lines, as the page says, of each model that is a part.
    let parts = block.matches("parts.append(").count().max(1);
    assert!(block.lines().count() <= 10 * parts, "{block}");
    let code = format!(
        "import os, numpy as np\n{read}\nos.chdir('{folder}')\n{block}\n\
         np.save('../out.npy', z)"
    );
    scene.python(&code)?;
    Some(matrix(&scene.path("out.npy")))
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
        near(&found, &expected);
    }
}

/// By another root rows would have the same distances among themselves, and wrong ones from the rows
/// that other exports of the run hold.
#[test]
fn a_metric_of_a_matrix_comes_with_the_root_that_it_embeds_by() {
    let scene = scene();
    for recipe in ["itml", "gmml", "isdml"] {
        fit(&scene, recipe, " --pairs pairs.csv");
        let report = scene.json(&format!("export {recipe} --to huggingface -o hf-{recipe}"));
        let read =
            |folder: &str| std::fs::read(scene.path(folder).join("model.safetensors")).unwrap();
        let bytes = read(&format!("hf-{recipe}"));
        let (arrays, _) = likewise_io::arrays::from_safetensors(&bytes).unwrap();
        let transform = arrays.matrix64("transform").unwrap();
        let mean = (arrays.vector64("mean")).unwrap_or_else(|_| Array1::zeros(transform.ncols()));
        let x = matrix(&scene.path("new-items.npy")).mapv(f64::from);
        let rows = (x - mean).dot(&transform.t()).mapv(|v| v as f32);
        let usage = lines(&report["usage"]);
        let last = usage.lines().last().unwrap();
        assert_eq!(last, "z = (x - m.get(\"mean\", 0)) @ m[\"transform\"].T");
        near(&rows, &matrix(&scene.path(&format!("{recipe}.npy"))));
        // It is the same model still.
        let own = Model::open(&read(recipe)).unwrap();
        assert_eq!(Model::open(&bytes).unwrap(), own);
    }
}

#[test]
fn views_side_by_side_become_the_input_by_the_lines_that_are_printed() {
    let scene = Scene::new();
    let views = "--view image --view text";
    let recipes = ["logistic", "rca", "itml"];
    for recipe in recipes {
        scene.good(&format!(
            "fit pairs.npz {views} --recipe {recipe} --labels-per-class 5 --draws 1 -q -o {recipe}"
        ));
        let onnx = scene.json(&format!("export {recipe} --to onnx -o {recipe}.onnx"));
        let card = scene.json(&format!("export {recipe} --to huggingface -o hf-{recipe}"));
        for usage in [&onnx["usage"], &card["usage"]] {
            let usage = lines(usage);
            for said in [
                "for name in [\"image\", \"text\"]",
                " = np.hstack([v / ",
                " / len(views) ** 0.5",
            ] {
                assert!(usage.contains(said), "no {said} in: {usage}");
            }
        }
        let folder = scene.path(&format!("hf-{recipe}"));
        let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        assert_eq!(config["views"], serde_json::json!(["image", "text"]));
        let card = std::fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(
            card.contains("the views `image`, `text` side by side"),
            "{card}"
        );
        std::fs::write(scene.path(&format!("{recipe}.py")), lines(&onnx["usage"])).unwrap();
    }
    // An item of which a view holds nothing but zeros stays finite.
    let zeros = "import numpy as np\nd = dict(np.load('pairs.npz'))\nd['text'][3] = 0\n\
                 np.savez('new.npz', **d)";
    if scene.python(zeros).is_none() {
        return;
    }
    scene.good(&format!("features new.npz {views} -q -o features.npy"));
    for recipe in recipes {
        scene.good(&format!("embed {recipe} new.npz -q -o {recipe}.npy"));
        let expected = matrix(&scene.path(&format!("{recipe}.npy")));
        let code = format!(
            "import numpy as np\ndata = np.load('new.npz')\n{}\n\
             assert np.abs(features - np.load('features.npy')).max() < 1e-6\n\
             np.save('out.npy', embedding)",
            std::fs::read_to_string(scene.path(&format!("{recipe}.py"))).unwrap()
        );
        scene.python(&code).unwrap();
        near(&matrix(&scene.path("out.npy")), &expected);
        let read = "data = np.load('new.npz')";
        let found = by_card_of(&scene, &format!("hf-{recipe}"), read).unwrap();
        near(&found, &expected);
    }
}

/// What a table lacks, and words in it, are filled and scaled as it is read: so must be what its model is asked by.
#[test]
fn the_columns_of_a_table_are_asked_by_as_they_stand_in_it() {
    let scene = Scene::new();
    let mut csv = "id,a,b,when,colour,label\n".to_owned();
    for i in 0..60 {
        let kind = i % 3;
        // Milliseconds since 1970: single precision, in which a run reads, tells them apart by 131072.
        let b = (i != 7).then(|| {
            1_700_000_000_000 + 900_000 * i64::from(kind) + (i64::from(i) * 37_000) % 400_000
        });
        let b = b.map_or_else(String::new, |b| b.to_string());
        let a = 0.01 * f64::from((i * 29) % 17) + 0.05 * f64::from(kind);
        let colour = ["red", "blue"][i as usize % 2];
        let line = format!(
            "i{i},{a},{b},2024-0{}-1{},{colour},c{kind}\n",
            1 + i % 9,
            i % 7
        );
        csv.push_str(&line);
    }
    std::fs::write(scene.path("shop.csv"), csv).unwrap();
    let read = "\
import csv, datetime, numpy as np
def row(of):
    days = (datetime.date.fromisoformat(of['when']) - datetime.date(2000, 1, 1)).days
    return [float(of['a']), float(of['b'] or 'nan'), days, of['colour'] == 'blue', of['colour'] == 'red']
x = np.array([row(of) for of in csv.DictReader(open('shop.csv'))])
features = x.astype('float32')
";
    scene.good("mine shop.csv --from labels --kind pairs -q -o pairs.csv");
    for (recipe, more) in [
        ("label-rca", ""),
        ("joined", ""),
        ("itml", " --pairs pairs.csv"),
    ] {
        scene.good(&format!(
            "fit shop.csv --columns a,b,when,colour --recipe {recipe}{more} -q -o {recipe}"
        ));
        scene.good(&format!("embed {recipe} shop.csv -q -o e.npy"));
        let expected = matrix(&scene.path("e.npy"));
        let folder = format!("hf-{recipe}");
        scene.good(&format!("export {recipe} --to huggingface -o {folder}"));
        let config = std::fs::read_to_string(scene.path(&folder).join("config.json")).unwrap();
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        let names = ["a", "b", "when", "colour = blue", "colour = red"];
        assert_eq!(config["features"], serde_json::json!(names));
        let report = scene.json(&format!("export {recipe} --to onnx -o m.onnx"));
        let usage = lines(&report["usage"]);
        assert!(usage.contains("\"when\", \"colour = blue\""), "{usage}");
        let Some(found) = by_card_of(&scene, &folder, read) else {
            return;
        };
        near(&found, &expected);
        scene
            .python(&format!("{read}\n{usage}\nnp.save('out.npy', embedding)"))
            .unwrap();
        near(&matrix(&scene.path("out.npy")), &expected);
    }
}

#[test]
fn letters_of_a_text_are_in_no_file_of_a_model() {
    let scene = Scene::new();
    scene.good("fit shirts.csv --text --recipe label-rca -q -o run");
    for to in ["onnx -o m.onnx", "huggingface -o hf"] {
        scene.bad(
            &format!("export run --to {to}"),
            1,
            &["is text", "likewise embed"],
        );
    }
    scene.good("export run --to parquet -o out.parquet");
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
             \x20   assert (codes == np.load('run/codes.npy')[:n]).mean() > 0.99\n\
             \x20   codes = np.unpackbits(np.load('run/codes.npy')[:n], axis=1, bitorder='little')\n\
             \x20   same = (embedding > 0) == codes[:, :embedding.shape[1]]\n\
             \x20   assert set(np.unique(embedding)) == {{-1, 1}} and same.mean() > 0.9999, same.mean()\n\
             else:\n\
             \x20   e = np.load('run/embeddings.npy')[:n]\n\
             \x20   e = e / np.linalg.norm(e, axis=1, keepdims=True)\n\
             \x20   assert np.abs(e - embedding).max() < 1e-4, np.abs(e - embedding).max()\n",
            lines(&report["usage"])
        );
        let packs =
            code.contains("codes = np.packbits(embedding >= 0, axis=1, bitorder=\"little\")");
        assert_eq!(packs, recipe == "gsph", "{code}");
        if scene.python(&code).is_none() {
            return;
        }
    }
}
