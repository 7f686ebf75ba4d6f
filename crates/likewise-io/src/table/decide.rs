//! What becomes of each column of a table.

use super::cells::Rows;
use super::survey::{Survey, Tally};
use super::thousands::{Thousands, remark_on_groups, remark_on_thousands};
use crate::layout::{Column, DateOrder, Decimal, Layout, Missing, TEXT, Taken};
use crate::options::TableOptions;
use crate::role::{Role, called, repeated};
use crate::{Error, Result};

/// Items that a word of a category stands for on average, at least.
const ITEMS_A_WORD: usize = 3;

/// Share of numbers from which on a column is one of numbers, with mistakes in it.
const MOSTLY: f64 = 0.8;

/// Why text is left out of which no word stands twice.
pub(super) const DIFFERENT: &str = "text, all different; ids by `id_column`, or words by `text`?";

/// What was decided of a table.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) layout: Layout,
    /// Places of the columns of the layout in the table.
    pub(super) places: Vec<usize>,
    /// Columns that are left out, and why.
    pub(super) left: Vec<(String, String)>,
    /// How the numbers of each column are written.
    pub(super) decimals: Vec<Decimal>,
    /// Whether the features are numbers alone, and none is missing: then they stay as they are.
    pub(super) plain: bool,
    /// Columns that could be labels.
    pub(super) classes: Vec<String>,
    /// What is to be said of points that may stand between thousands.
    pub(super) thousands: Option<String>,
}

/// What a column can become.
enum Kind {
    Number,
    Date(Option<DateOrder>),
    Category(Vec<String>),
    Text,
    /// Nothing, for this reason.
    Nothing(&'static str),
}

/// Decides by what the columns hold and what was asked for.
pub(super) fn decide(
    rows: &dyn Rows,
    names: &[String],
    roles: &[Role],
    survey: &Survey,
    asked: &TableOptions,
) -> Result<Decided> {
    let usual = usual(rows, survey, asked, None);
    let decimals: Vec<Decimal> = (survey.columns.iter())
        .map(|tally| decimal(tally, usual, asked))
        .collect();
    let commas_between = rows.separator() == Some(',');
    let mut kinds = Vec::new();
    for (place, (tally, role)) in survey.columns.iter().zip(roles).enumerate() {
        if *role == Role::Feature {
            let clear = || match asked.decimal {
                None if !commas_between => one_mark(tally),
                _ => Ok(()),
            };
            let kind = clear().and_then(|()| kind(tally, decimals[place], asked));
            let kind = kind.map_err(|e| {
                of_names(rows, tally).unwrap_or_else(|| e.within(named(&names[place])))
            })?;
            kinds.push((place, kind));
        }
    }
    let is_text = |(_, kind): &(usize, Kind)| matches!(kind, Kind::Text);
    if asked.text && explicit(asked) && !kinds.iter().any(is_text) {
        return Err(Error::parameter(
            "`text` has no effect: none of the columns that are asked for holds text; leave it out",
        ));
    }
    let complete = |(place, kind): &(usize, Kind)| match kind {
        Kind::Number => survey.columns[*place].numbers(decimals[*place]) == survey.rows,
        Kind::Category(_) => false,
        Kind::Date(_) => !explicit(asked),
        Kind::Text => !asked.text,
        Kind::Nothing(_) => true,
    };
    let plain = kinds.iter().all(complete);
    let mut decided = Decided {
        layout: Layout {
            id: asked.id_column.clone(),
            label: asked.label_column.clone(),
            missing: asked.missing.unwrap_or_default(),
            lenient: asked.missing.is_some(),
            decimal: usual,
            beside_vectors: false,
            columns: Vec::new(),
        },
        places: Vec::new(),
        left: Vec::new(),
        decimals,
        plain,
        classes: Vec::new(),
        thousands: None,
    };
    for (place, kind) in kinds {
        let tally = &survey.columns[place];
        if let Kind::Category(_) = kind {
            decided.classes.push(names[place].clone());
        }
        let taken = taken(kind, tally, plain, asked).map_err(|e| e.within(named(&names[place])))?;
        match taken {
            Ok(taken) => {
                decided.places.push(place);
                decided.layout.columns.push(Column {
                    name: names[place].clone(),
                    taken,
                });
            }
            Err(why) => decided.left.push((names[place].clone(), why)),
        }
    }
    twice(names, &decided.places)?;
    decided.thousands = remark(rows, names, survey, &decided, asked);
    Ok(decided)
}

/// What is wrong where a word among numbers stands in a second line of names.
fn of_names(rows: &dyn Rows, tally: &Tally) -> Option<Error> {
    let (first, last) = rows.several_lines_of_names()?;
    let mut odd = tally.odd.iter().flatten();
    odd.any(|(place, _)| place.number <= last).then(|| {
        Error::value(format!(
            "lines {first} to {last} all hold words above the numbers, as names do, or units; a table \
             has one line of names: keep one of them, with a name for each column, and delete the others"
        ))
    })
}

/// What is to be said of marks in the numbers that are taken, which may stand between thousands.
/// Where a comma stands between columns, it does not stand before decimals, too.
fn remark(
    rows: &dyn Rows,
    names: &[String],
    survey: &Survey,
    decided: &Decided,
    asked: &TableOptions,
) -> Option<String> {
    let usual = decided.layout.decimal;
    let proven = survey.columns.iter().any(|tally| tally.only_comma > 0);
    let open = matches!(rows.separator(), Some(';' | '\t' | '|'));
    if !open || proven || asked.decimal.is_some() {
        return None;
    }
    let number = Taken::plain();
    let columns = decided.places.iter().zip(&decided.layout.columns);
    let numbers = columns
        .filter(|&(&place, column)| column.taken == number && decided.decimals[place] == usual);
    let (names, seen): (Vec<String>, Vec<Thousands>) = numbers
        .map(|(&place, _)| {
            (
                names[place].clone(),
                survey.columns[place].thousands.clone(),
            )
        })
        .unzip();
    let proven = survey.columns.iter().any(|tally| tally.only_point > 0);
    let groups = (usual == Decimal::Point && !proven).then(|| remark_on_groups(&names, &seen));
    groups
        .flatten()
        .or_else(|| remark_on_thousands(&names, &seen, usual))
}

/// Fails where the numbers of a column have a point before three digits here, and a comma there, and
/// nothing tells which of the two stands before the decimals.
fn one_mark(tally: &Tally) -> Result<()> {
    let numbers = tally.points.max(tally.commas) + tally.typed;
    let told = tally.only_point + tally.only_comma > 0;
    match &tally.unclear {
        [Some((at, point)), Some((there, comma))] if !told && mostly(numbers, tally.held) => {
            Err(Error::value(format!(
                "{at}: \"{point}\" has a point before three digits, and \"{comma}\" in {there} a \
                 comma, so which of the two stands before decimals is not clear; write all numbers in \
                 one way, or say it with `decimal .` or `decimal ,`"
            )))
        }
        _ => Ok(()),
    }
}

fn explicit(asked: &TableOptions) -> bool {
    !asked.columns.is_empty()
}

fn named(name: &str) -> String {
    format!("column \"{name}\"")
}

/// Fails where a column that is taken shares its name: a new table could not tell them apart.
pub(super) fn twice(names: &[String], taken: &[usize]) -> Result<()> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut all = repeated(&names).into_iter();
    match all.find(|(_, places)| places.iter().any(|place| taken.contains(place))) {
        None => Ok(()),
        Some((name, places)) => Err(Error::format(format!(
            "{}; rename one of them",
            called(name, &places)
        ))),
    }
}

/// How numbers are written in most columns. `before` is how they were in the fitted table.
pub(super) fn usual(
    rows: &dyn Rows,
    survey: &Survey,
    asked: &TableOptions,
    before: Option<Decimal>,
) -> Decimal {
    if let Some(decimal) = asked.decimal {
        return decimal;
    }
    let numeric = |tally: &&Tally| {
        let most = tally.points.max(tally.commas);
        tally.texts > 0 && most as f64 >= MOSTLY * tally.texts as f64
    };
    let numeric = || survey.columns.iter().filter(numeric);
    let points: usize = numeric().map(|tally| tally.only_point).sum();
    let commas: usize = numeric().map(|tally| tally.only_comma).sum();
    let either: usize = numeric().map(|tally| tally.either).sum();
    if points != commas {
        return if commas > points {
            Decimal::Comma
        } else {
            Decimal::Point
        };
    }
    if let Some(before) = before {
        return before;
    }
    // Where a comma stands between columns, a number with one has groups of digits; also where the
    // numbers beside it are such that only groups explain them.
    let grouped = commas == 0 && numeric().any(|tally| tally.thousands.commas_divide());
    match rows.separator() {
        Some(separator) if separator != ',' && either > 0 && !grouped => Decimal::Comma,
        _ => Decimal::Point,
    }
}

/// How the numbers of a column are written: as those of the table, unless they cannot be.
pub(super) fn decimal(tally: &Tally, usual: Decimal, asked: &TableOptions) -> Decimal {
    if asked.decimal.is_some() {
        return usual;
    }
    match (tally.only_point, tally.only_comma) {
        (1.., 0) => Decimal::Point,
        (0, 1..) => Decimal::Comma,
        _ => usual,
    }
}

fn kind(tally: &Tally, decimal: Decimal, asked: &TableOptions) -> Result<Kind> {
    let Tally { held, texts, .. } = *tally;
    if held == 0 {
        return Ok(Kind::Nothing("empty"));
    }
    if tally.others > 0 {
        return Ok(Kind::Nothing("lists or records"));
    }
    let numbers = tally.numbers(decimal);
    if numbers == held || (numbers > 0 && asked.missing.is_some() && mostly(numbers, held)) {
        return Ok(Kind::Number);
    }
    if tally.dates == held {
        return Ok(Kind::Date(Some(DateOrder::YearFirst)));
    }
    if texts == held && tally.orders.any() {
        return Ok(Kind::Date(tally.orders.order()));
    }
    if mostly(numbers, held)
        && let Some((place, text)) = &tally.odd[usize::from(decimal == Decimal::Comma)]
    {
        return Err(Error::value(format!(
            "{place}: \"{text}\" is not a number, as {numbers} of {held} values are; correct it, \
             or leave the column out with `drop`, or take such words as missing with \
             `missing median` or `missing drop`"
        )));
    }
    Ok(match &tally.words {
        Some(words) if words.len() == 1 => Kind::Nothing("the same in every item"),
        Some(words) if words.len() * ITEMS_A_WORD <= held || tally.flags == held => {
            Kind::Category(words.keys().cloned().collect())
        }
        _ => Kind::Text,
    })
}

fn mostly(numbers: usize, held: usize) -> bool {
    numbers as f64 >= MOSTLY * held as f64
}

/// What a column becomes, or why it is left out. Fails where it was asked for by name and cannot
/// be taken.
fn taken(
    kind: Kind,
    tally: &Tally,
    plain: bool,
    asked: &TableOptions,
) -> Result<Result<Taken, String>> {
    let explicit = explicit(asked);
    let number = |date| Taken::Number {
        date,
        median: None,
        mean: 0.0,
        deviation: 1.0,
    };
    let out = |why: &str| Ok(Err(why.to_owned()));
    match kind {
        Kind::Number if plain || explicit => Ok(Ok(number(None))),
        Kind::Number if tally.counts() => out("numbers of rows"),
        Kind::Number => Ok(Ok(number(None))),
        Kind::Date(None) if explicit => Err(Error::parameter(
            "in a column of dates, a day may as well be a month; write them as 2024-05-31",
        )),
        Kind::Date(order) if explicit => Ok(Ok(number(order))),
        Kind::Date(_) => out("dates; days if named in `columns`"),
        Kind::Category(values) => Ok(Ok(Taken::Category { values })),
        Kind::Text if asked.text => Ok(Ok(Taken::Text { dimensions: TEXT })),
        Kind::Text if explicit => Err(Error::parameter(
            "text, and no categories; take it with `text`, or leave it out",
        )),
        Kind::Text if !tally.repeats && tally.texts == tally.held => out(DIFFERENT),
        Kind::Text => out("text; taken with `text`"),
        Kind::Nothing(why) => out(why),
    }
}

/// Whether a line is left out where this column is missing.
pub(super) fn drops(layout: &Layout, taken: &Taken) -> bool {
    layout.missing == Missing::Drop && !matches!(taken, Taken::Text { .. })
}
