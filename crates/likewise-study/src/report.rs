//! `report.html`: one page that shows a study to people, and asks for nothing.
//!
//! The page holds its style, charts and pictures; no script, no font, no other file. What
//! comes from data (ids, class names, the command) is text, whatever it contains: the
//! templates escape it, and a content policy forbids anything from outside as well.

mod across;
mod calibration;
mod chart;
mod choices;
mod classes;
mod collapse;
pub(crate) mod compared;
mod fitted;
mod gallery;
mod ground;
mod map;
mod place;
mod selections;
mod sure;
mod table;
mod thumbnail;
pub(crate) mod tiles;
mod training;

use likewise::eval::split;
use likewise::eval::summary::Summary;
use likewise::{Collection, Label, Labels};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ndarray::ArrayView2;

pub use crate::inputs::Map;
use crate::study::{Results, Row, SplitKind, Study};
use crate::{Error, Result, plain};
pub use across::{Shown, across};
use ground::{Ground, percent};
use thumbnail::Pictures;
pub use thumbnail::{Rows, Thumbnails, pictures};

const STYLE: &str = include_str!("report/style.css");
/// The page may use its own style and its own pictures, nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// What a page is about, where many lie in many tabs.
#[derive(Debug, Clone, Copy, Default)]
pub struct About<'a> {
    /// The data, in a word; may be empty.
    pub data: &'a str,
    /// The day; may be empty.
    pub date: &'a str,
    /// The command that made it; may be empty.
    pub command: &'a str,
    /// How the map places its items.
    pub map: Map,
}

impl About<'_> {
    fn title(&self, recipe: &str) -> String {
        match self.data {
            "" => format!("Likewise: {recipe}"),
            data => format!("{data}: {recipe} · Likewise"),
        }
    }
}

/// The page of `study`, complete and the same for the same input.
///
/// `collection` and `features` (one row an item) are those of the plan; `thumbnails` are
/// shown instead of ids; `about` stands in title and footer; `second` are results under another
/// split, shown as a second table with its verdict.
///
/// Fails if the sizes of study, collection, features and thumbnails differ, and on NaN.
///
/// Cost: an exact search of at most 400 queries in both spaces, and the principal
/// directions of at most 3000 items (cubic in the dimensions). The page takes about 0.1 MB
/// and 200 bytes a tested item.
pub fn html<'a>(
    study: &Study,
    collection: &'a Collection,
    features: ArrayView2<f32>,
    thumbnails: Option<Thumbnails<'a>>,
    about: About,
    second: Option<&Results>,
) -> Result<String> {
    let results = &study.results;
    let unknown = Labels::unknown(collection.len());
    let labels = collection.labels.as_ref().unwrap_or(&unknown);
    let n = collection.len();
    for (what, size) in [
        ("parts", study.parts.len()),
        ("embeddings", study.embeddings.nrows()),
        ("rows of features", features.nrows()),
        ("labels", labels.len()),
    ] {
        if size != n {
            return Err(Error::data(format!(
                "report: {size} {what} for {n} items; give the collection that was studied"
            )));
        }
    }
    let pictures = match thumbnails {
        Some(of) => Some(Pictures::new(of, collection.ids())?),
        None => None,
    };
    let everything = results.split == SplitKind::Folds;
    let spread;
    let (labels, queries, gallery) = if everything {
        spread = spread_labels(study)?;
        let labeled = (0..n).filter(|&item| study.beliefs.labeled[item]);
        (&spread, labeled.collect(), (0..n).collect())
    } else {
        let (mut queries, mut gallery) = split::roles(&study.parts);
        let known = |&item: &usize| labels[item].class().is_some();
        queries.retain(known);
        gallery.retain(known);
        (labels, queries, gallery)
    };
    let believed = if everything {
        study
            .beliefs
            .labeled
            .iter()
            .map(|labeled| !labeled)
            .collect()
    } else {
        vec![]
    };
    let beliefs = study.beliefs.confidence.iter().zip(&believed);
    let surest = beliefs.filter(|(_, believed)| **believed);
    let surest = surest.fold(0.0, |most, (&sure, _)| f32::max(most, sure));
    let mut tested = [queries.as_slice(), gallery.as_slice()].concat();
    tested.sort_unstable();
    tested.dedup();
    let ground = Ground {
        study,
        results,
        collection,
        labels,
        believed,
        surest,
        features,
        queries,
        gallery,
        tested,
    };
    let page = page(&ground, pictures.as_ref(), about, second)?;
    Ok(plain::page(page.into_string()))
}

/// The labels, and the class that spread to every other item.
fn spread_labels(study: &Study) -> Result<Labels> {
    let of = |class: &Option<u32>| class.map_or(Label::Unknown, Label::Known);
    let items = study.beliefs.pseudo_label.iter().map(of).collect();
    Labels::new(study.classes.clone(), items)
}

fn page(
    ground: &Ground,
    pictures: Option<&Pictures>,
    about: About,
    second: Option<&Results>,
) -> Result<Markup> {
    let results = ground.results;
    Ok(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (about.title(&results.recipe)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    header {
                        h1 { (about.title(&results.recipe)) }
                        @if !about.date.is_empty() {
                            p.note { (about.date) ", " (ground.collection.len()) " items" }
                        }
                        (verdict(results))
                    }
                    (section("results", "Results", &html! {
                        @if results.summary.n_queries > 0 {
                            (table::metrics(results))
                            (table::legend(results))
                        } @else {
                            p.empty { "Nothing could be measured." }
                        }
                        @if let Some(second) = second {
                            h3 { "Tested on items " (table::split_in_words(second.split)) }
                            (verdict(second))
                            (table::metrics(second))
                        }
                    }))
                    @if !results.tried.is_empty() {
                        (section("choice", "How the recipe was chosen", &choices::table(results)))
                    }
                    (section("fitted", "What was fitted on", &fitted::facts(results, ground.collection)))
                    (section("training", "Training", &training::curves(results)?))
                    (section("pseudo-labels", "Pseudo-labels", &calibration::histogram(&results.calibration)?))
                    (section("map", "Map", &map::maps(ground, about.map)?))
                    @if !ground.believed.is_empty() {
                        (section("beliefs", "Beliefs", &sure::ends(ground, pictures)?))
                    }
                    (section("neighbours", "Nearest neighbours", &gallery::neighbors(ground, pictures)?))
                    @if !results.classes.is_empty() {
                        (section("classes", "Classes", &classes::weakest(&results.classes)))
                    }
                    (section("collapse", "Collapse meter", &collapse::meter(results)))
                }
                footer {
                    @if !about.command.is_empty() { p { code { (about.command) } } }
                    p { "likewise " (env!("CARGO_PKG_VERSION")) }
                }
            }
        }
    })
}

fn section(id: &str, title: &str, content: &Markup) -> Markup {
    html! { section id=(id) { h2 { (title) } (content) } }
}

/// The answers: the first large, the others as a list.
fn verdict(results: &Results) -> Markup {
    let mut lines = results.verdict.iter();
    let first = lines.next();
    html! {
        p.verdict.good[results.learning_helped] {
            @if let Some(first) = first { b { (first) } }
            (numbers(results))
        }
        ul.verdicts {
            @for line in lines { li { (line) } }
            @if let Some(kept) = results.columns_in_words() { li { (kept) } }
            @if let Some(selected) = results.selections_in_words() { li { (selected) } }
        }
    }
}

/// R@1 beside that of the raw features.
fn numbers(results: &Results) -> Markup {
    let recall = |row: &Summary| row.recall.get(&1).copied();
    let raw = results.baselines.get(&Row::Raw).and_then(recall);
    html! {
        @if let (Some(after), Some(before)) = (recall(&results.summary), raw) {
            " The nearest neighbour is of the right class for " (percent(after))
            " of the queries (" (Row::Raw.title()) ": " (percent(before)) ")."
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::study::{
        Collapses, ColumnName, Delivered, DrawLog, Epoch, Finding, Next, Tried, Verdict, Why,
    };
    use likewise::eval::by_class::ClassResult;
    use likewise::eval::calibration::{BINS, Bin, Calibration};
    use likewise::eval::collapse::Collapse;
    use likewise::linear::Affine;
    use likewise::{Beliefs, Convergence, Part, View};
    use ndarray::{Array1, Array2};

    use super::*;

    const SECTIONS: [&str; 8] = [
        "results",
        "fitted",
        "training",
        "pseudo-labels",
        "map",
        "neighbours",
        "classes",
        "collapse",
    ];

    fn summary(value: f64) -> Summary {
        Summary {
            recall: BTreeMap::from([(1, value), (8, value + 0.05)]),
            map_at_r: Some(value - 0.1),
            nmi: Some(value - 0.2),
            n_queries: 12,
            n_gallery: 12,
            draws: 2,
            ci: BTreeMap::from([
                ("recall@1".into(), [value - 0.01, value + 0.01]),
                ("recall@8".into(), [value, value + 0.4]),
            ]),
            ..Summary::default()
        }
    }

    fn log(draw: usize) -> DrawLog {
        let epoch = |epoch: usize| Epoch {
            epoch,
            loss: (epoch > 0).then(|| 1.0 / epoch as f64),
            validation: None,
            validation_error: None,
            effective_rank: 2.5 + epoch as f64,
            mean_cosine: 0.1,
        };
        DrawLog {
            draw,
            labels: 6,
            validation_labels: 0,
            shrinkage: (draw > 0).then_some(0.3),
            standardized: false,
            pseudo_label_accuracy: Some(0.75),
            labels_only_epoch: Some(1),
            epoch: 2,
            why: Why::Validated,
            validation: vec![Some(0.5), Some(0.6), Some(0.7), None],
            training: (0..4).map(epoch).collect(),
            propagation: Convergence::default(),
            selections: vec![],
        }
    }

    fn calibration(measured: usize) -> Calibration {
        let mut bins = [Bin::default(); BINS];
        bins[8] = Bin {
            count: measured,
            confidence: 0.85,
            accuracy: 0.75,
        };
        Calibration {
            bins,
            expected_error: (measured > 0).then_some(0.1),
            accuracy: (measured > 0).then_some(0.75),
            measured,
            unreached: 1,
            skipped: 0,
        }
    }

    fn collapses() -> Collapses {
        let meter = Collapse {
            effective_rank: 2.0,
            mean_cosine: 0.2,
            dimensions: 3,
        };
        Collapses {
            learned: meter,
            raw: meter,
        }
    }

    /// 24 items of 3 classes, every second one tested; the embedding tells classes apart,
    /// the features do so less.
    fn case(classes: [&str; 3]) -> (Study, Collection) {
        let n = 24;
        let labels = Labels::parse((0..n).map(|i| classes[i % 3]));
        let features = Array2::from_shape_fn((n, 3), |(i, j)| ((i * 7 + j * 5) % 11) as f32);
        let embeddings = Array2::from_shape_fn((n, 3), |(i, j)| {
            f32::from(u8::from(i % 3 == j)) + 0.01 * (i % 5) as f32
        });
        let view = View {
            name: "x".into(),
            matrix: features,
            present: None,
        };
        let ids = (0..n).map(|i| format!("item <{i}>")).collect();
        let mut collection = Collection::new(ids, vec![view]).unwrap();
        collection.labels = Some(labels);
        let results = Results {
            summary: summary(0.8),
            baselines: BTreeMap::from([
                (Row::Raw, summary(0.6)),
                (Row::Whitened, summary(0.65)),
                (Row::LabelsOnly, summary(0.7)),
                (Row::AllLabels, summary(0.95)),
            ]),
            differences: BTreeMap::new(),
            verdict: vec![
                "Did the labels help? Yes: MAP@R 0.500 -> 0.700.".into(),
                "Did spreading them to other items add to that? Not clearly.".into(),
            ],
            answers: Verdict {
                taught_by: "labels".into(),
                learns: true,
                labels: None,
                spreading: None,
                falls: vec![],
                sure: None,
                not_measured: None,
                validation: None,
                delivered: Delivered::Learned,
                bound: false,
                next: Next::Nothing,
            },
            learning_helped: true,
            tried: vec![],
            recipe: "mixed-lp".into(),
            split: SplitKind::Item,
            parts: BTreeMap::from([("train".into(), 12), ("test".into(), 12)]),
            classes: vec![ClassResult {
                class: "<cat>".into(),
                queries: 4,
                recall_at_1: 0.75,
                map_at_r: None,
                nearest: BTreeMap::from([("<cat>".into(), 3), ("dog & co".into(), 1)]),
            }],
            labels_per_class: Some(2),
            seed: 3,
            per_draw: vec![log(0), log(1)],
            calibration: calibration(20),
            collapse: collapses(),
            leaks: vec![Finding {
                what: "identical items within a part".into(),
                count: 2,
                examples: vec![("item <1>".into(), "item <2>".into())],
            }],
            kept_columns: vec![ColumnName::Number(1), ColumnName::Name("hue <1>".into())],
            n_columns: Some(3),
        };
        let parts = (0..n).map(|i| if i % 2 == 0 { Part::Test } else { Part::Train });
        let study = Study {
            results,
            parts: parts.collect(),
            model: likewise::model::Model::linear(
                likewise::matrix::Reading::default(),
                Affine {
                    mean: Array1::zeros(3),
                    matrix: Array2::eye(3),
                },
            )
            .into(),
            train: (0..n).filter(|i| i % 2 == 1).collect(),
            beliefs: Beliefs {
                scores: Array2::zeros((0, 3)),
                pseudo_label: vec![],
                confidence: vec![],
                labeled: vec![],
                convergence: Convergence::default(),
            },
            classes: classes.map(String::from).to_vec(),
            embeddings,
            voted: None,
            triplets: None,
            drawn: vec![],
            measured: None,
        };
        (study, collection)
    }

    fn about(command: &str) -> About<'_> {
        About {
            data: "x.npz",
            date: "2026-01-31",
            command,
            map: Map::default(),
        }
    }

    fn render(study: &Study, collection: &Collection) -> String {
        let features = collection.views()[0].matrix.view();
        html(
            study,
            collection,
            features,
            None,
            about("likewise fit x.npz"),
            None,
        )
        .unwrap()
    }

    /// Whether every tag that opens closes again, in order.
    fn balanced(page: &str) -> bool {
        const VOID: [&str; 2] = ["meta", "img"];
        let mut open = Vec::new();
        for tag in page.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap();
            let name = tag.split([' ', '\n']).next().unwrap();
            if let Some(name) = name.strip_prefix('/') {
                if open.pop() != Some(name) {
                    return false;
                }
            } else if !tag.ends_with('/') && !VOID.contains(&name) && !name.starts_with('!') {
                open.push(name);
            }
        }
        open.is_empty()
    }

    #[test]
    fn every_section_stands_in_its_place() {
        let (study, collection) = case(["a", "b", "c"]);
        let page = render(&study, &collection);
        let places: Vec<usize> = SECTIONS
            .iter()
            .map(|id| page.find(&format!("<section id=\"{id}\"")).unwrap())
            .collect();
        assert!(places.is_sorted());
        assert!(balanced(&page));
        for text in [
            "<p class=\"verdict good\"><b>Did the labels help? Yes: MAP@R 0.500 -&gt; 0.700.</b> The \
             nearest neighbour is of the right class for 80.0 % of the queries (raw features: \
             60.0 %).</p>",
            "<li>Did spreading them to other items add to that? Not clearly.</li>",
            "<li>kept 2 of 3 columns: 1, hue &lt;1&gt;</li>",
            "<th scope=\"row\">mixed-lp <span class=\"star\" title=\"best row\">★</span>",
            "0.790–0.810",
            "0.800–1.000",
            "all labels (oracle)",
            "identical items within a part: 2 (first: item &lt;1&gt; and item &lt;2&gt;)",
            "<b>75.0 %</b> are right",
            "12 tested items",
            "2.0 of 3",
            "likewise fit x.npz",
            "<title>x.npz: mixed-lp · Likewise</title>",
            "2026-01-31, 24 items",
            env!("CARGO_PKG_VERSION"),
        ] {
            assert!(page.contains(text), "{text}");
        }
        // Three curves, two bar charts, two maps.
        assert_eq!(page.matches("<svg class=\"chart\"").count(), 7);
        assert_eq!(page.matches("<article").count(), 6);
        assert!(page.contains("<span class=\"sign\" title=\"right\">✓</span>"));
        assert!(page.contains("<span class=\"sign\" title=\"wrong\">✗</span>"));
    }

    #[test]
    fn the_choice_is_shown_where_there_was_one() {
        let (mut study, collection) = case(["a", "b", "c"]);
        let page = render(&study, &collection);
        assert!(!page.contains("How the recipe was chosen"));
        let tried = |recipe: &str, value| Tried {
            recipe: recipe.into(),
            r_precision: Some(value),
            gain: None,
            rounds: 5,
        };
        study.results.tried = vec![tried("start", 0.5), tried("mixed-lp", 0.625)];
        let page = render(&study, &collection);
        assert!(balanced(&page));
        assert!(page.contains("How the recipe was chosen") && page.contains("<td>0.625</td>"));
        assert!(page.contains("mixed-lp <span class=\"star\" title=\"chosen\">"));
    }

    #[test]
    fn what_comes_from_data_is_text() {
        let evil = "<script>alert('\"&')</script>";
        let (mut study, collection) = case([evil, "\" onload=\"x", "</style><img src=x>"]);
        study.results.recipe = "</title><script>".into();
        study.results.verdict.push(evil.into());
        study.results.leaks[0].examples[0].0 = evil.into();
        let features = collection.views()[0].matrix.view();
        let second = study.results.clone();
        let page = html(
            &study,
            &collection,
            features,
            None,
            about(evil),
            Some(&second),
        )
        .unwrap();
        assert!(!page.contains("<script") && !page.contains("\" onload=\"x"));
        assert_eq!(page.matches("</style>").count(), 1);
        assert_eq!(
            page.split("<body>")
                .next()
                .unwrap()
                .matches("</title>")
                .count(),
            1
        );
        assert!(!page.contains("<img"));
        assert!(page.contains("&lt;script&gt;alert('&quot;&amp;')&lt;/script&gt;"));
        assert!(balanced(&page));
    }

    #[test]
    fn nothing_is_loaded_from_anywhere() {
        let (study, collection) = case(["a", "b", "c"]);
        let page = render(&study, &collection);
        for outside in [
            "http://", "https://", "//", "url(", "@import", "<script", "<link", "src=",
        ] {
            let found = page.find(outside);
            assert!(
                found.is_none(),
                "{outside}: {:?}",
                found.map(|at| &page[at..at + 60])
            );
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn the_ring_tells_its_rule() {
        let (study, collection) = case(["a", "b", "c"]);
        let page = render(&study, &collection);
        // It may stand on a lower point than the highest, which must not look like a mistake.
        let rule = "the last one that is as good as the best, within the luck of the validation";
        assert!(page.contains(rule));
        assert!(page.contains("Epoch 0 is the start"));
    }

    #[test]
    fn thumbnails_are_inline_pictures() {
        let (study, collection) = case(["a", "b", "c"]);
        let features = collection.views()[0].matrix.view();
        let pixels = Array2::from_shape_fn((24, 6), |(i, j)| (i + j) as f32);
        let rows = Rows {
            pixels: pixels.view(),
            width: 3,
            height: 2,
        };
        let thumbnails = Some(Thumbnails::Rows(rows));
        let page = html(&study, &collection, features, thumbnails, about(""), None).unwrap();
        assert_eq!(
            page.matches("<img class=\"coarse\" src=\"data:image/png;base64,")
                .count(),
            6 * 17
        );
        assert_eq!(page.matches("<img").count(), 6 * 17);
        assert!(balanced(&page));
        let wrong = Some(Thumbnails::Rows(Rows { width: 4, ..rows }));
        assert!(html(&study, &collection, features, wrong, about(""), None).is_err());
    }

    #[test]
    fn numbers_are_read_back_as_they_were_written() {
        let (study, _) = case(["a", "b", "c"]);
        let text = serde_json::to_string(&study.results).unwrap();
        let read = crate::study::Results::read(&text).unwrap();
        assert_eq!(read, study.results);
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        for broken in ["", "{}", &text.replacen("\"verdict\"", "\"verdikt\"", 1)] {
            let said = crate::study::Results::read(broken).unwrap_err().to_string();
            assert!(said.starts_with("broken: "), "{said}");
        }
    }

    #[test]
    fn what_was_not_measured_is_said_not_drawn() {
        let (mut study, mut collection) = case(["a", "b", "c"]);
        study.results.calibration = calibration(0);
        for row in study.results.baselines.values_mut() {
            row.nmi = None;
            row.map_at_r = None;
        }
        study.results.summary.nmi = None;
        study.results.summary.map_at_r = None;
        study.results.learning_helped = false;
        study.results.labels_per_class = None;
        study.results.leaks.clear();
        for log in &mut study.results.per_draw {
            log.validation = vec![None; 4];
            log.training.truncate(1);
            log.pseudo_label_accuracy = None;
        }
        let page = render(&study, &collection);
        assert!(
            balanced(&page) && !page.contains("NaN") && !page.contains("<th scope=\"col\">NMI")
        );
        assert!(page.contains("there is nothing to compare the confidence with"));
        assert!(page.contains("no duplicates and no leaks found"));
        assert_eq!(page.matches("not measured in this run").count(), 2);

        // No label at all, and no test part.
        collection.labels = None;
        let page = render(&study, &collection);
        assert!(page.matches("there is nothing to show").count() == 2);
        study.parts = vec![Part::Train; 24];
        study.results.per_draw.clear();
        study.results.baselines.clear();
        let page = render(&study, &collection);
        assert!(
            SECTIONS
                .iter()
                .all(|id| page.contains(&format!("<section id=\"{id}\"")))
        );
        assert!(balanced(&page));
    }

    #[test]
    fn without_a_test_part_what_is_only_believed_is_never_called_wrong() {
        let (mut study, collection) = case(["a", "b", "c"]);
        study.results.split = SplitKind::Folds;
        study.results.summary = Summary {
            r_precision: Some(0.5),
            n_queries: 6,
            ..Summary::default()
        };
        study.results.classes.clear();
        study.results.baselines.clear();
        study.parts = vec![Part::Train; 24];
        study.train = (0..24).collect();
        study.beliefs = Beliefs {
            scores: Array2::zeros((24, 3)),
            pseudo_label: (0..24).map(|i| Some((i / 8) as u32)).collect(),
            confidence: vec![0.5; 24],
            labeled: (0..24).map(|i| i < 6).collect(),
            convergence: Convergence::default(),
        };
        let page = render(&study, &collection);
        // Who is labeled has a ring, and both ends of what is believed are shown.
        assert_eq!(page.matches("class=\"ring\"").count(), 2 * 6);
        assert!(page.contains("surest") && page.contains("spread to 8 items"));
        assert!(balanced(&page) && page.contains("24 items.") && page.contains("R-precision"));
        assert!(page.contains("it is of items of the labeled classes alone"));
        assert!(page.contains("Of 6 queries,") && page.contains("b?"));
        // Signs stand at labeled answers only: items 0 to 5.
        for (sign, next) in [("title=\"right\"", "✓"), ("title=\"wrong\"", "✗")] {
            for part in page.split(sign).skip(1) {
                let class = part.split("</span> ").nth(1).unwrap_or_default();
                assert!(part.contains(next) && !class.starts_with("b?"), "{class}");
            }
        }
        assert!(!page.contains("R@1"));
    }

    #[test]
    fn one_class_and_queries_apart_from_the_gallery() {
        let (mut study, mut collection) = case(["a", "b", "c"]);
        collection.labels = Some(Labels::parse(["only"; 24]));
        let page = render(&study, &collection);
        assert!(balanced(&page) && !page.contains("class=\"tile wrong\""));
        for (item, part) in study.parts.iter_mut().enumerate() {
            *part = [Part::Query, Part::Gallery, Part::Train][item % 3];
        }
        let page = render(&study, &collection);
        assert!(page.contains("16 tested items") && page.contains("Of 8 queries,"));
        assert!(balanced(&page));
    }

    #[test]
    fn the_page_is_the_same_for_any_number_of_threads() {
        let (study, collection) = case(["a", "b", "c"]);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build()
                .unwrap()
                .install(|| render(&study, &collection))
        };
        assert_eq!(run(1), run(2));
    }

    #[test]
    fn data_of_another_study_are_refused() {
        let (study, collection) = case(["a", "b", "c"]);
        let features = collection.views()[0].matrix.slice(ndarray::s![..3, ..]);
        let error = html(&study, &collection, features, None, about(""), None).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("3 rows of features for 24 items")
        );
        let few = collection.select(&[0, 1]);
        assert!(
            html(
                &study,
                &few,
                few.views()[0].matrix.view(),
                None,
                about(""),
                None
            )
            .is_err()
        );
    }
}
