//! What a fit is worth for classes that have no label.

use std::io::Write;

use likewise::eval::summary::Summary;
use likewise::{Collection, Monitor};
use likewise_study::Recipe;
use likewise_study::study::{Plan, Protocol, Row, SplitKind};

use super::Failed;
use super::sets::{self, MOST, SETS};

/// Further sets of many classes.
const MANY: [(&str, &str, &str); 9] = [
    ("digits fac", "", "fac"),
    ("digits fou", "", "fou"),
    ("digits pix", "", "pix"),
    ("faces, intensity", "multiview/ORL_4view.npz", "view0"),
    ("faces, Gabor", "multiview/ORL_4view.npz", "view2"),
    ("faces, view 3", "multiview/ORL_4view.npz", "view3"),
    ("leaves, margin", "multiview/100Leaves.npz", "view0"),
    ("leaves, texture", "multiview/100Leaves.npz", "view2"),
    ("letters", "classical/letter.npz", "X"),
];
/// Fewer leave no two classes each to fit, to validate and to test.
const LEAST: usize = 6;
const SPLITS: u64 = 5;
/// What counts as a loss.
const CLEAR: f64 = 0.005;
const ROWS: [Row; 3] = [Row::Raw, Row::Centered, Row::Whitened];

/// MAP@R on one split.
struct Values {
    rows: [f64; 3],
    start: f64,
    learned: f64,
    /// Whether `mixed-rca` was chosen.
    learns: bool,
}

/// Columns of numbers.
const COLUMNS: usize = ROWS.len() + 3;

impl Values {
    fn columns(&self) -> [f64; COLUMNS] {
        let [raw, centered, whitened] = self.rows;
        [
            raw,
            centered,
            whitened,
            self.start,
            self.learned,
            self.chosen(),
        ]
    }

    fn chosen(&self) -> f64 {
        if self.learns {
            self.learned
        } else {
            self.start
        }
    }
}

/// Writes the table.
pub(crate) fn write(out: &mut impl Write) -> Result<(), Failed> {
    writeln!(
        out,
        "# What a fit is worth for classes without labels\n\n\
         Written by `cargo run --release -p likewise-cli --example few_labels new-classes`. Of the classes of a set \
         two fifths are fitted with all of their labels, a fifth validates, and the others are searched: mean \
         MAP@R over {SPLITS} such splits. `start` and `mixed-rca` as named; `auto` chooses between the two by \
         the classes that validate, and in brackets is how often it took `mixed-rca`. Sets of more than {MOST} items are \
         thinned evenly.\n\n\
         | set | classes | raw | centred | whitened | `start` | `mixed-rca` | `auto` |\n|---|---|---|---|---|---|---|---|"
    )?;
    let mut sets = 0.0;
    let mut sums = [0.0; COLUMNS];
    let mut all: Vec<Values> = Vec::new();
    for (name, file, view) in SETS.into_iter().chain(MANY) {
        let Some((mut collection, labels)) = sets::read(file, view)? else {
            continue;
        };
        let classes = labels.n_classes();
        if classes < LEAST {
            continue;
        }
        collection.labels = Some(labels);
        let splits = (0..SPLITS).map(|seed| of_split(&collection, seed));
        let splits = splits.collect::<Result<Vec<Values>, Failed>>()?;
        write!(out, "| {name} | {classes} |")?;
        for (column, sum) in sums.iter_mut().enumerate() {
            let mean = splits.iter().map(|v| v.columns()[column]).sum::<f64>() / SPLITS as f64;
            write!(
                out,
                " {mean:.3}{}",
                if column + 1 < COLUMNS { " |" } else { "" }
            )?;
            *sum += mean;
        }
        let learns = splits.iter().filter(|v| v.learns).count();
        writeln!(out, " ({learns}) |")?;
        out.flush()?;
        sets += 1.0;
        all.extend(splits);
    }
    write!(out, "| mean | |")?;
    for sum in sums {
        write!(out, " {:.3} |", sum / sets)?;
    }
    let lost = |of: fn(&Values) -> f64| {
        let least = |v: &Values| of(v) - v.start;
        let worst = all.iter().map(least).fold(0.0, f64::min);
        let count = all.iter().filter(|v| least(v) < -CLEAR).count();
        format!("{count} of {} (by up to {:.3})", all.len(), -worst)
    };
    writeln!(
        out,
        "\n\nMore than {CLEAR} below `start`: `mixed-rca` in {}, `auto` in {}.",
        lost(|v| v.learned),
        lost(Values::chosen)
    )?;
    Ok(())
}

fn of_split(collection: &Collection, seed: u64) -> Result<Values, Failed> {
    let protocol = Protocol {
        split: SplitKind::ZeroShot,
        seed,
        nmi: false,
        ..Protocol::default()
    };
    let features = collection.views()[0].matrix.view();
    let device = likewise_nn::device("cpu")?;
    let silent = Monitor::silent();
    let study = |recipe: Recipe| {
        let recipe = recipe.fitting(collection.len());
        Plan::of(collection, features, &recipe, &protocol, device.clone()).run(&silent)
    };
    let (start, learned) = (study(Recipe::start())?, study(Recipe::mixed_rca())?);
    let any = Recipe::default();
    let plan = Plan::of(collection, features, &any, &protocol, device.clone());
    let choice = plan.choose_recipe(None, &silent)?;
    let map = |of: Option<&Summary>| of.and_then(|row| row.map_at_r).unwrap_or(f64::NAN);
    Ok(Values {
        rows: ROWS.map(|row| map(learned.results.baselines.get(&row))),
        start: map(Some(&start.results.summary)),
        learned: map(Some(&learned.results.summary)),
        learns: choice.recipe.name == learned.results.recipe,
    })
}
