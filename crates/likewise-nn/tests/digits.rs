//! The whole study on the committed digits.
use burn::tensor::Device;
use likewise::Monitor;
use likewise_nn::Recipe;
use likewise_nn::study::{Plan, Protocol, SplitKind};

#[test]
fn scratch() {
    let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/digits.npz")).unwrap();
    let collection = likewise_io::read_bytes(likewise_io::Form::Npz, &bytes, &Default::default()).unwrap();
    let recipe = Recipe::default();
    for view in std::env::var("VIEWS").unwrap_or("fac".into()).split(',') {
        for split in [SplitKind::Item, SplitKind::ZeroShot] {
            let protocol = Protocol { labels_per_class: Some(5), draws: 5, split, ..Default::default() };
            let v = collection.view(Some(view)).unwrap();
            let plan = Plan { collection: &collection, features: v.matrix.view(), recipe: &recipe, protocol: &protocol, checkpoints: None, data_digest: String::new(), device: Device::flex() };
            let t = std::time::Instant::now();
            let study = plan.run(&Monitor::silent()).unwrap();
            println!("{view} {split:?} {:?}", t.elapsed());
            for (name, row) in study.results.rows() {
                println!("  {name:22} R@1 {:.3} MAP@R {:.3} {:?} NMI {:.3}", row.recall[&1], row.map_at_r.unwrap(), row.ci["map_at_r"], row.nmi.unwrap());
            }
            for l in &study.results.verdict { println!("  {l}"); }
            for d in &study.results.per_draw { println!("  draw {} eps {:?} acc {:?} epochs {} {} val {:.3?}", d.draw, d.shrinkage, d.pseudo_label_accuracy, d.labels_only_epoch, d.epoch, d.validation.iter().map(|v| v.unwrap_or(-1.)).collect::<Vec<_>>()); }
        }
    }
}
