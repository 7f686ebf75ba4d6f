//! `likewise duplicates`

use likewise_study::duplicates::{Found, Request};
use likewise_study::plain;
use likewise_study::table::aligned;
use likewise_terminal::{Context, Failure, output};

use crate::args::Duplicates;

/// Groups that are printed, and items of each.
const GROUPS: usize = 10;
const ITEMS: usize = 4;

pub(crate) fn run(args: &Duplicates, at: &Context) -> Result<(), Failure> {
    let request = Request {
        data: args.data.asked(at.common.seed)?,
        threshold: args.threshold,
        out: args.out.clone(),
        seed: at.common.seed,
    };
    output::beside(args.out.as_deref());
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    at.tell(&request.run(&at.env)?, print)
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
