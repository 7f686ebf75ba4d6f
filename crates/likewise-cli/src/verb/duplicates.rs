//! `likewise duplicates`

use likewise_study::duplicates::{self, Found};
use likewise_study::graph::DataShape;
use likewise_study::plain;
use likewise_study::report::{Thumbnails, pictures};
use likewise_study::run_folder::{check_output, ending_of};
use likewise_study::source::with_view;
use likewise_study::table::aligned;

use crate::args::{Duplicates, joined};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Groups that are printed, and items of each.
const GROUPS: usize = 10;
const ITEMS: usize = 4;

pub(crate) fn run(args: &Duplicates, at: &Context) -> Result<(), Failure> {
    let out = args.out.as_deref();
    check_output(out, &[Some(args.data.path()), args.data.labels.as_deref()])?;
    let ending = out.map(|out| ending_of(out, "groups are written", &["csv", "html"]));
    let ending = ending.transpose()?;
    duplicates::check(args.threshold)?;
    output::beside(out);
    let source = args.data.source(at.common.seed)?;
    let estimate = duplicates::estimate(&DataShape::of(&source, &at.env)?);
    if args.dry_run {
        return at.print(estimate);
    }
    estimate.check(at.env.max_memory)?;
    let collection = source.load(&at.env)?;
    let wanted = joined(&args.data.view);
    let (collection, name) = with_view(collection, wanted.as_deref(), at.env.monitor)?;
    let view = collection.view(Some(&name))?;
    let found = duplicates::find(
        &collection,
        view.matrix.view(),
        args.threshold,
        at.common.seed,
        at.env.monitor,
    )?;
    match (out, ending) {
        (Some(out), Some("html")) => {
            let photos = source.photos();
            let thumbnails = match &photos {
                Some(photos) => Some(Thumbnails::Photos(photos)),
                None => pictures(view),
            };
            let page = duplicates::page(&found, &collection, thumbnails)?;
            likewise_io::atomic::write(out, |file| {
                Ok(std::io::Write::write_all(file, page.as_bytes())?)
            })?;
        }
        (Some(out), _) => {
            let lines = found.groups.iter().flat_map(|group| {
                group.items.iter().map(|item| {
                    [
                        item.id.clone(),
                        group.group.to_string(),
                        item.similarity.to_string(),
                        item.label.clone().unwrap_or_default(),
                    ]
                })
            });
            likewise_io::write_lines(out, &["id", "group", "similarity", "label"], lines)?;
        }
        (None, _) => {}
    }
    if at.common.json {
        return output::json(&found);
    }
    print(&found)
}

fn print(found: &Found) -> Result<(), Failure> {
    output::line(found.in_words())?;
    if found.centered {
        output::line(
            "all items point the same way, so their mean was taken off before they were compared",
        )?;
    }
    if found.scaled {
        output::line(
            "columns are of different units, so they were brought to one size before items were compared",
        )?;
    }
    if found.approximate {
        output::line("the search was approximate: a few may have been missed")?;
    }
    if found.groups.is_empty() {
        return Ok(());
    }
    let header = ["group", "items", "ids", "least similar", "labels"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for group in found.groups.iter().take(GROUPS) {
        let ids = group.items.iter().take(ITEMS);
        let mut ids: Vec<String> = ids.map(|item| plain::name(&item.id).into_owned()).collect();
        if group.items.len() > ITEMS {
            ids.push("...".into());
        }
        let least = group.items.iter().map(|item| item.similarity);
        let mut labels: Vec<&str> = group
            .items
            .iter()
            .filter_map(|i| i.label.as_deref())
            .collect();
        labels.sort_unstable();
        labels.dedup();
        lines.push(vec![
            group.group.to_string(),
            group.items.len().to_string(),
            ids.join(", "),
            format!("{:.4}", least.fold(1.0, f32::min)),
            match labels[..] {
                [] => "-".into(),
                [one] => one.to_owned(),
                _ => format!("! {}", labels.join(", ")),
            },
        ]);
    }
    output::text(aligned(&lines))?;
    if found.groups.len() > GROUPS {
        output::line(format!(
            "and {} more groups; -o FILE.csv writes them all",
            found.groups.len() - GROUPS
        ))?;
    }
    Ok(())
}
