//! TOML: recipes, files of flags, experiments.

use super::data;
use super::kind::{Case, Mutated};
use super::place::Place;
use crate::data::Result;

/// Recipes as `explain` prints them, one of each part that a recipe may have.
const RECIPES: [&str; 14] = [
    "mixed-lp",
    "mixed-lp-paper",
    "mixed-rca",
    "rca",
    "dssml",
    "affinity-triplet",
    "triplet",
    "soft-triple",
    "proxy-anchor",
    "multi-similarity",
    "roadmap",
    "deep-cluster",
    "sdec",
    "nce",
];

/// A small head, so that a fit takes no time; what the seeds of a run are made with, too.
pub(super) const SMALL: &str = "base = \"mixed-lp\"\n\
    [start]\nrank = 4\npower = 1.0\n\
    [pseudo_labels]\nkind = \"propagation\"\non = \"start\"\ngraph = { k = 5 }\n\
    [learner.model]\nkind = \"mlp\"\nhidden = 8\nkeep = 0.3\nwidth = 4\n\
    [learner.train]\nsteps = 5\nbatch = 16\nlearning_rate = 0.001\n\
    [rounds]\nepochs = 1\nfolds = 2\n";

pub(super) fn recipes(place: &Place) -> Result<Mutated> {
    let mut seeds = vec![SMALL.to_owned()];
    for name in RECIPES {
        let page = place.said(&format!("explain {name}"))?;
        let file = page
            .lines()
            .skip_while(|line| !line.starts_with("Its settings"));
        let lines = file.filter_map(|line| line.strip_prefix("    "));
        let settings = lines.collect::<Vec<_>>().join("\n") + "\n";
        // Names of losses explain the loss instead.
        if settings.len() > 1 {
            seeds.push(settings);
        }
    }
    let case = |(i, recipe): (usize, &String)| {
        // What takes long by its nature is bounded by flags: it would be no finding.
        let fit = "fit x.csv --recipe r.toml --labels-per-class 5 -q --threads 1";
        let command = match i % 2 {
            0 => format!("{fit} --draws 1 --epochs 1 -o out"),
            _ => format!("{fit} --dry-run"),
        };
        let files = data::files([
            ("x.csv", data::table(',')),
            ("r.toml", recipe.clone().into()),
        ]);
        Case::new(&command, files).only(|file| file == "r.toml")
    };
    // Each is fitted, and each is only looked at.
    let twice = seeds.iter().flat_map(|seed| [seed, seed]).enumerate();
    Ok(Mutated::new("recipes", twice.map(case).collect()))
}

pub(super) fn files_of_flags() -> Mutated {
    let seeds = [
        (
            "doctor x.csv --config c.toml",
            "threads = 1\nquiet = true\nseed = 3\n[doctor]\nk = 5\n",
        ),
        (
            "propagate x.csv --config c.toml -o b.npz",
            "threads = 1\nk = 5\ngamma = 3\n[propagate]\nmethod = \"mixed\"\nbeta = 0.5\nlambda = 3\nmu = 0.01\n\
             tolerance = 1e-8\nmass = \"estimated\"\nlabels-per-class = 5\n",
        ),
        (
            "propagate x.csv --config c.toml -o b.npz",
            "threads = 1\nk = 5\nset = [\"gamma=100\"]\nsymmetrize = \"mean\"\nprecision = \"i16\"\nrecall = 0.9\n",
        ),
        (
            "fit x.csv --config c.toml --epochs 1 --draws 1 -o out",
            "threads = 1\nlabels-per-class = 5\nk = 5\ngate = [\"recall@1=0.1\"]\nsplit = \"item\"\n\
             [recipe.start]\nrank = 4\n[recipe.learner.model]\nwidth = 4\n",
        ),
        (
            "eval x.csv --config c.toml",
            "threads = 1\nat = \"1,2,4\"\nmetric = \"euclidean\"\nloss = \"triplet\"\nno-nmi = true\nmax-memory = \"1GiB\"\n",
        ),
    ];
    let case = |(command, flags): (&str, &str)| {
        let files = data::files([("x.csv", data::table(',')), ("c.toml", flags.into())]);
        // A thousand million threads would hurt the machine more than the program.
        Case::new(&format!("{command} -q --threads 1"), files).only(|file| file == "c.toml")
    };
    Mutated::new("flags in a file", seeds.into_iter().map(case).collect())
}

pub(super) fn experiments() -> Mutated {
    let head = "title = \"t\"\nprotocol = \"p\"\ndraws = 1\n";
    let propagation = format!(
        "{head}labels_per_class = 5\nk = 5\ngamma = 3\n\
         [[data]]\nname = \"x\"\nfile = \"x.csv\"\nimbalance = 2\nmax_items = 50\nfirst_draw = 0\n\
         [[method]]\nname = \"LP\"\nmethod = \"lgc\"\nmass = \"uniform\"\n\
         [[method]]\nname = \"M\"\nmethod = \"mixed\"\nlambda = 3\nbeta = 0.3\nscale = \"standardised\"\n"
    );
    // Nothing bounds the epochs of an experiment but its file, so they are not in it.
    let retrieval = format!(
        "{head}kind = \"retrieval\"\n\
         [recipe]\nrounds.folds = 0\nlearner.train.batch = 8\n\
         [[data]]\nname = \"x\"\nfile = \"x.csv\"\nsplit = \"item\"\nlabels_per_class = 5\n\
         [[method]]\nname = \"a\"\nbase = \"mixed-lp\"\n\
         [[method]]\nname = \"b\"\nbase = \"rca\"\n"
    );
    let case = |experiment: String| {
        let files = data::files([("x.csv", data::table(',')), ("e.toml", experiment.into())]);
        let command = "reproduce e.toml --data . --draws 1 -o out -q --threads 1";
        Case::new(command, files).only(|file| file == "e.toml")
    };
    Mutated::new("experiments", [propagation, retrieval].map(case).into())
}
