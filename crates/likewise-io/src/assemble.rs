//! From the arrays or columns of a file to a collection: which is what, by name.

use std::collections::{HashMap, HashSet};

use likewise::{Collection, Label, Labels, Monitor, Part, View};
use ndarray::{Array2, ArrayView2};

use crate::layout::Layout;
use crate::options::{ReadOptions, TableOptions};
use crate::{Error, Result};

/// What the name of an array or column says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Id,
    Label,
    Split,
    /// Names of the classes, for labels that are indices into them.
    Classes,
    /// The labels, where none have the role `Label`. Never a feature: it would tell the class.
    Category,
    /// Numbers of rows, as data frames write them. Left out: the order of rows is no feature.
    Index,
    /// Left out because somebody said so.
    Dropped,
    Feature,
}

impl Role {
    /// The one place that says what names mean. Capitals do not matter.
    pub(crate) fn of(name: &str) -> Self {
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            "id" | "ids" => Role::Id,
            "label" | "labels" | "y" | "target" | "targets" => Role::Label,
            "split" => Role::Split,
            "classes" => Role::Classes,
            "class" | "category" | "class_name" | "class_id" | "class_label" => Role::Category,
            "index" | "idx" => Role::Index,
            // An index without a name, as pandas writes it to Parquet and reads it from csv.
            _ if name.starts_with("__index_level_") || name.starts_with("unnamed: 0") => {
                Role::Index
            }
            _ => Role::Feature,
        }
    }

    /// The roles of the columns of a table, by their names and by what was `asked` for.
    ///
    /// A first column without a name holds the ids if no other does, else numbers of rows. A
    /// table has no place for names of classes: such a column is a category. The first
    /// category is the labels if no other column is. Fails where two columns mean the same, and
    /// where no column has a name that was asked for.
    pub(crate) fn of_columns(names: &[&str], asked: &TableOptions) -> Result<Vec<Self>> {
        let mut roles: Vec<Self> = names
            .iter()
            .map(|name| match Self::of(name) {
                Role::Classes => Role::Category,
                role => role,
            })
            .collect();
        let place = |name: &String| place_of(name, names);
        if let Some(name) = &asked.id_column {
            set(&mut roles, Role::Id, Role::Index, place(name)?);
        } else if names.first().is_some_and(|name| name.trim().is_empty()) {
            let named = roles.contains(&Role::Id);
            roles[0] = if named { Role::Index } else { Role::Id };
        }
        if let Some(name) = &asked.label_column {
            set(&mut roles, Role::Label, Role::Category, place(name)?);
        }
        for role in [Role::Id, Role::Label, Role::Split] {
            let mut of_role = names.iter().zip(&roles).filter(|&(_, &r)| r == role);
            if let (Some((a, _)), Some((b, _))) = (of_role.next(), of_role.next()) {
                return Err(Error::format(format!(
                    "columns \"{a}\" and \"{b}\" mean the same; keep one of them"
                )));
            }
        }
        if !roles.contains(&Role::Label)
            && let Some(category) = roles.iter().position(|&r| r == Role::Category)
        {
            roles[category] = Role::Label;
        }
        if !asked.columns.is_empty() {
            for role in roles.iter_mut().filter(|role| **role == Role::Feature) {
                *role = Role::Dropped;
            }
            for name in &asked.columns {
                let column = place(name)?;
                let is = |asked: &Option<String>| asked.as_ref() == Some(name);
                if is(&asked.id_column) || is(&asked.label_column) {
                    return Err(Error::parameter(format!(
                        "column \"{name}\" cannot be a feature and the ids or labels as well"
                    )));
                }
                roles[column] = Role::Feature;
            }
        }
        for name in &asked.drop {
            roles[place(name)?] = Role::Dropped;
        }
        Ok(roles)
    }
}

/// Gives a column a role; what had it by its name is `before` from now on.
fn set(roles: &mut [Role], role: Role, before: Role, column: usize) {
    for old in roles.iter_mut().filter(|old| **old == role) {
        *old = before;
    }
    roles[column] = role;
}

/// The column of a name. Capitals matter only where two names differ by them alone. Fails where
/// two columns have it.
pub(crate) fn place_of(name: &str, names: &[&str]) -> Result<usize> {
    let places = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..names.len()).filter(|&place| is(names[place])).collect()
    };
    let mut found = places(&|own| own == name);
    if found.is_empty() {
        found = places(&|own| own.eq_ignore_ascii_case(name));
    }
    match found[..] {
        [place] => Ok(place),
        [] => Err(Error::parameter(format!(
            "no column \"{name}\"; the columns are: {}",
            some(names)
        ))),
        _ => Err(Error::parameter(format!(
            "{}; rename one of them",
            called(name, &found)
        ))),
    }
}

/// Says which columns have one name; they are counted from 1.
pub(crate) fn called(name: &str, places: &[usize]) -> String {
    let numbers: Vec<String> = places.iter().map(|place| (place + 1).to_string()).collect();
    let count = match places.len() {
        2 => "two".to_owned(),
        more => more.to_string(),
    };
    format!(
        "{count} columns are called \"{name}\" (columns {})",
        numbers.join(" and ")
    )
}

/// Names that stand more than once, each with its places, in the order of the first. Columns
/// without a name are told apart by their place.
pub(crate) fn repeated<'a>(names: &[&'a str]) -> Vec<(&'a str, Vec<usize>)> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, name) in names
        .iter()
        .enumerate()
        .filter(|(_, name)| !name.is_empty())
    {
        places.entry(name).or_default().push(place);
    }
    let mut repeated: Vec<(&str, Vec<usize>)> = (places.into_iter())
        .filter(|(_, places)| places.len() > 1)
        .collect();
    repeated.sort_unstable_by_key(|(_, places)| places[0]);
    repeated
}

/// Says which columns of a table were taken for what, and warns of those left out that
/// could have been meant as features.
pub(crate) fn tell(names: &[&str], roles: &[Role], options: &ReadOptions, monitor: &Monitor) {
    let of = |role: Role| {
        let columns = names.iter().zip(roles).filter(move |&(_, &r)| r == role);
        columns.map(|(&name, _)| name).collect::<Vec<&str>>()
    };
    let features = of(Role::Feature);
    let mut said = format!(
        "features are {} columns: {}",
        features.len(),
        some(&features)
    );
    for (role, what) in [
        (Role::Id, "ids are column"),
        (Role::Label, "labels are column"),
        (Role::Split, "the split is column"),
        (Role::Index, "left out, as numbers of rows:"),
        (Role::Dropped, "left out as asked for:"),
    ] {
        if !of(role).is_empty() {
            said = format!("{said}; {what} {}", some(&of(role)));
        }
    }
    monitor.note(said);
    for (name, places) in repeated(names) {
        let features = places.iter().all(|&place| roles[place] == Role::Feature);
        if !features || options.layout.is_some() {
            continue;
        }
        monitor.warn(format!(
            "{}, and all of them are taken; rename them, or remove those that are no features",
            called(name, &places)
        ));
    }
    let given = options.labels.is_some();
    let told = names.iter().zip(roles).filter(|&(name, &role)| {
        role == Role::Category || (given && role == Role::Label && Role::of(name) != Role::Label)
    });
    let told: Vec<&str> = told.map(|(&name, _)| name).collect();
    if !told.is_empty() {
        monitor.warn(format!(
            "column {} is left out: by its name it holds classes, and labels are given \
             elsewhere; rename it if it is a feature",
            some(&told)
        ));
    }
}

/// Names in quotes; of many the first and the last.
pub(crate) fn some(names: &[&str]) -> String {
    let quoted = |names: &[&str]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        quoted.join(", ")
    };
    match names {
        [first @ .., last] if names.len() > 6 => {
            format!("{} ... \"{last}\"", quoted(&first[..4]))
        }
        _ => quoted(names),
    }
}

/// The ids in a first column without a name, or `None` if they are only numbers of rows,
/// which stand twice where tables were joined.
pub(crate) fn unnamed_ids(ids: Vec<String>, monitor: &Monitor) -> Option<Vec<String>> {
    let mut distinct = std::collections::HashSet::new();
    if ids.iter().all(|id| distinct.insert(id.as_str())) {
        return Some(ids);
    }
    monitor.note(
        "the first column, which has no name, is left out: it holds values twice, so they \
         are no ids; items are numbered by row",
    );
    None
}

/// Labels from words, with warnings of those that may mean something else.
pub(crate) fn parse_labels(words: &[String], monitor: &Monitor) -> Labels {
    for remark in Labels::remarks(words) {
        monitor.warn(remark);
    }
    Labels::parse(words)
}

/// What a file holds, from its headers where possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Number of items.
    pub items: usize,
    /// Name and dimension of each view, or of the one that was asked for.
    pub views: Vec<(String, usize)>,
    /// Length of the file; of all files together for a folder.
    pub bytes_on_disk: u64,
}

impl Shape {
    pub(crate) fn one(view: &str, items: usize, columns: usize) -> Self {
        Self {
            items,
            views: vec![(view.to_owned(), columns)],
            bytes_on_disk: 0,
        }
    }

    /// Memory that the features of all views take once read, in bytes.
    pub fn memory(&self) -> u64 {
        let columns = self.views.iter().map(|&(_, d)| d as u64);
        let columns = columns.fold(0, u64::saturating_add);
        (self.items as u64)
            .saturating_mul(columns)
            .saturating_mul(4)
    }
}

/// The pieces of a collection, before they are checked against each other.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) views: Vec<View>,
    pub(crate) labels: Option<Labels>,
    pub(crate) split: Option<Vec<Part>>,
    /// Names of the columns of the view `features`, where it comes from a table.
    pub(crate) columns: Vec<String>,
    /// How the table was read.
    pub(crate) layout: Option<Layout>,
}

/// The largest feature: beyond it, sums and differences of few features leave the range of
/// `f32`, and what is computed from them is NaN.
const LARGEST: f32 = f32::MAX / 8.0;

/// Fails where there are no items or no dimensions.
pub(crate) fn check_size(name: &str, rows: usize, columns: usize) -> Result<()> {
    if rows > 0 && columns > 0 {
        return Ok(());
    }
    Err(Error::value(format!(
        "view {name} is empty ({rows} x {columns}); at least one item and one dimension are \
         needed"
    )))
}

/// Fails where a value is not finite, or too large to compute with.
pub(crate) fn check_values(name: &str, matrix: ArrayView2<f32>) -> Result<()> {
    likewise::matrix::check_finite(matrix, &format!("view {name}")).map_err(|e| {
        let infinite = matrix
            .iter()
            .find(|v| !v.is_finite())
            .is_some_and(|v| v.is_infinite());
        let e = Error::from(e);
        if infinite {
            let more = "numbers that are too large for a 32-bit float (more than 3.4e38) are read \
                        as infinite, too";
            return Error::new(e.kind(), format!("{e}; {more}"));
        }
        e
    })?;
    let (columns, values) = (matrix.ncols(), matrix.to_slice().unwrap_or_default());
    match values.iter().position(|v| v.abs() > LARGEST) {
        None => Ok(()),
        Some(at) => Err(Error::value(format!(
            "view {name}: row {}, column {} is {:e}, too large to compute with (more than \
             {LARGEST:.1e}); scale the features down",
            at / columns,
            at % columns,
            values[at]
        ))),
    }
}

impl Parts {
    /// Adds a matrix given in row order; it must not be empty, and its values be finite and
    /// such that one can compute with them.
    pub(crate) fn add_view(
        &mut self,
        name: &str,
        rows: usize,
        columns: usize,
        values: Vec<f32>,
    ) -> Result<()> {
        check_size(name, rows, columns)?;
        let matrix = Array2::from_shape_vec((rows, columns), values)
            .map_err(|e| Error::format(format!("view {name}: {e}")))?;
        check_values(name, matrix.view())?;
        self.views.push(View {
            name: name.to_owned(),
            matrix,
            present: None,
        });
        Ok(())
    }

    /// Turns words into parts of a split. All words empty: there is no split.
    pub(crate) fn set_split(&mut self, words: &[String]) -> Result<()> {
        if words.iter().all(|w| w.trim().is_empty()) {
            return Ok(());
        }
        let parse = |(row, word): (usize, &String)| {
            Part::parse(word).ok_or_else(|| {
                Error::value(format!(
                    "row {row}: split \"{word}\" is none of train, validation, query, gallery, \
                     test; correct it or remove the split"
                ))
            })
        };
        let parts = words.iter().enumerate().map(parse);
        self.split = Some(parts.collect::<Result<_>>()?);
        Ok(())
    }

    pub(crate) fn rows(&self) -> usize {
        self.views.first().map_or(0, |v| v.matrix.nrows())
    }

    /// Checks the pieces against each other; ids default to row numbers.
    pub(crate) fn into_collection(self) -> Result<Collection> {
        let n = self.rows();
        let ids = self
            .ids
            .unwrap_or_else(|| (0..n).map(|i| i.to_string()).collect());
        let mismatch = |what: &str, len: usize| {
            Error::value(format!(
                "there are {len} {what}, but {n} items; every item needs one"
            ))
        };
        if let Some(row) = ids.iter().position(String::is_empty) {
            return Err(Error::value(format!(
                "row {row}: the id is empty; every item needs one"
            )));
        }
        let mut collection = Collection::new(ids, self.views)?;
        if let Some(labels) = &self.labels
            && labels.len() != n
        {
            return Err(mismatch("labels", labels.len()));
        }
        if let Some(split) = &self.split
            && split.len() != n
        {
            return Err(mismatch("split words", split.len()));
        }
        collection.labels = self.labels;
        collection.split = self.split;
        Ok(collection)
    }
}

/// Labels from their words, and the class names where the file gives them.
///
/// With names, labels 0, 1, 2 ... are indices into them (-1 and -2 keep their meaning),
/// unless the names are themselves numbers that name all the labels.
pub(crate) fn name_labels(
    words: &[String],
    classes: Option<Vec<String>>,
    monitor: &Monitor,
) -> Result<Labels> {
    let plain = parse_labels(words, monitor);
    let Some(classes) = classes else {
        return Ok(plain);
    };
    let numbers = |names: &[String]| names.iter().all(|c| c.parse::<i64>().is_ok());
    let known = |name: &String| classes.contains(name);
    if !numbers(plain.classes()) || (numbers(&classes) && plain.classes().iter().all(known)) {
        return Ok(plain);
    }
    let mut distinct = std::collections::HashSet::new();
    if let Some(twice) = classes.iter().find(|c| !distinct.insert(c.as_str())) {
        return Err(Error::value(format!(
            "class name \"{twice}\" stands twice among the classes; names must be unique"
        )));
    }
    let name = |(row, &label): (usize, &Label)| match label {
        Label::Known(class) => {
            let written = &plain.classes()[class as usize];
            written
                .parse::<u32>()
                .ok()
                .filter(|&index| (index as usize) < classes.len())
                .map(Label::Known)
                .ok_or_else(|| {
                    Error::value(format!(
                        "row {row}: label {written} is no index into the {} classes; \
                         number them from 0, or use -1 for unknown",
                        classes.len()
                    ))
                })
        }
        other => Ok(other),
    };
    let items: Result<Vec<Label>> = plain.items().iter().enumerate().map(name).collect();
    Ok(Labels::new(classes, items?)?)
}

/// An array of a file that holds several.
#[derive(Debug, Clone)]
pub(crate) struct Array {
    pub(crate) name: String,
    /// Rows and columns, for a matrix of numbers.
    pub(crate) matrix: Option<(usize, usize)>,
    /// Length, for a list of numbers or words.
    pub(crate) list: Option<usize>,
    /// Lengths of its sides, for an array of numbers.
    pub(crate) shape: Vec<usize>,
    /// Shape and type of the elements, for messages.
    pub(crate) stored: String,
}

impl Array {
    /// Fails where this is no list though its role needs one.
    pub(crate) fn check_list(&self, role: Role) -> Result<()> {
        let advice = match role {
            _ if self.list.is_some() => return Ok(()),
            Role::Label if self.matrix.is_some() => {
                "for rows with a 1 at the class, take .argmax(axis=1)"
            }
            Role::Label => "take whole numbers, or words as with .astype(str)",
            Role::Id | Role::Split | Role::Classes => "take words, as with .astype(str)",
            Role::Category | Role::Index | Role::Dropped | Role::Feature => return Ok(()),
        };
        Err(Error::value(format!(
            "array {} ({}) is not a list of numbers or words, though its name says {}; \
             {advice}, or rename it",
            self.name,
            self.stored,
            match role {
                Role::Label => "labels",
                Role::Split => "split",
                Role::Classes => "names of classes",
                _ => "ids",
            }
        )))
    }
}

/// Arrays that are left out and named one by one; more are counted.
const NOTED: usize = 5;

/// How the arrays of a file make up a collection. Arrays are named by their position.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) rows: usize,
    pub(crate) views: Vec<Stack>,
    /// Suffix, part and number of items, where arrays come in parts; else empty.
    pub(crate) parts: Vec<(String, Part, usize)>,
    /// The labels of all items, or of each part; `None` for a part without. Empty: no labels.
    pub(crate) labels: Vec<Option<usize>>,
    pub(crate) ids: Option<usize>,
    pub(crate) split: Option<usize>,
    pub(crate) classes: Option<usize>,
}

/// A view, and the arrays whose rows follow each other in it.
#[derive(Debug, PartialEq)]
pub(crate) struct Stack {
    pub(crate) name: String,
    pub(crate) columns: usize,
    pub(crate) arrays: Vec<usize>,
}

impl Plan {
    /// Decides which arrays are views, labels, ids, split and class names.
    ///
    /// A matrix is a view if it has the common row count: that of the labels or ids if any
    /// matrix has it, else the most frequent one. If all matrices come in parts
    /// (`image_train`, `image_test`), the parts are stacked and become the split. Matrices
    /// of other row counts are left out with a remark. Fails where an array is named as
    /// labels, ids, split or class names, but cannot be read as such.
    pub(crate) fn new(arrays: &[Array], options: &ReadOptions, monitor: &Monitor) -> Result<Self> {
        let features = arrays.iter().enumerate().filter_map(|(i, a)| {
            let (rows, columns) = a.matrix?;
            (Role::of(&a.name) == Role::Feature).then_some((i, rows, columns))
        });
        let features: Vec<(usize, usize, usize)> = features.collect();
        if features.is_empty() {
            let mut names: Vec<&str> = arrays.iter().map(|a| a.name.as_str()).collect();
            if names.len() > 10 {
                names.truncate(10);
                names.push("...");
            }
            let deep = arrays.iter().find(|array| array.shape.len() > 2);
            let advice = deep.map_or_else(String::new, |array| {
                let (items, each) = (array.shape[0], &array.shape[1..]);
                let sides: Vec<String> = array.shape.iter().map(usize::to_string).collect();
                format!(
                    "; \"{}\" is {}: reshape it to {items} x {}, or write pictures to a folder",
                    array.name,
                    sides.join(" x "),
                    each.iter().product::<usize>()
                )
            });
            return Err(Error::value(format!(
                "no feature matrix; at least one array must be 2-dimensional and numeric \
                 (items x dimensions); the arrays are: {}{advice}",
                names.join(", ")
            )));
        }
        for array in arrays {
            match Role::of(&array.name) {
                // Labels in a file of their own replace them.
                Role::Label if options.labels.is_some() => {}
                role => array.check_list(role)?,
            }
        }
        let mut plan = match Self::in_parts(arrays, &features, options, monitor)? {
            Some(plan) => plan,
            None => Self::whole(arrays, &features, options, monitor)?,
        };
        for (i, array) in arrays.iter().enumerate() {
            let (Some((r, c)), false) = (array.matrix, plan.labels.contains(&Some(i))) else {
                continue;
            };
            let left = |what| {
                let name = &array.name;
                format!(
                    "array {name} ({r} x {c}) is left out: by its name it holds {what}; rename \
                     it if it is a view"
                )
            };
            match Role::of(&array.name) {
                Role::Index => monitor.note(left("numbers of rows")),
                Role::Category => monitor.warn(left("classes")),
                _ => {}
            }
        }
        let names: Vec<&str> = plan.views.iter().map(|v| v.name.as_str()).collect();
        options.choose(&names)?;
        plan.views.retain(|v| options.wants(&v.name));
        plan.classes = find(arrays, Role::Classes);
        Ok(plan)
    }

    fn whole(
        arrays: &[Array],
        features: &[(usize, usize, usize)],
        options: &ReadOptions,
        monitor: &Monitor,
    ) -> Result<Self> {
        let ids = find(arrays, Role::Id);
        let mut with_rows: HashMap<usize, usize> = HashMap::new();
        for &(_, rows, _) in features {
            *with_rows.entry(rows).or_default() += 1;
        }
        let asked = options.view.as_deref().and_then(|name| {
            let mut exact = features.iter().filter(|f| arrays[f.0].name == name);
            let mut wanted = features.iter().filter(|f| options.wants(&arrays[f.0].name));
            let asked = exact.next().or_else(|| wanted.next())?;
            Some(asked.1)
        });
        // A list named like a category may be something else; the labels may not.
        let category = |rows: usize| {
            let fits = |a: &Array| a.list == Some(rows) && Role::of(&a.name) == Role::Category;
            arrays.iter().position(fits)
        };
        let labels = find(arrays, Role::Label);
        let listed = [labels, ids].into_iter().flatten();
        let listed = listed
            .filter_map(|i| arrays[i].list)
            .find(|n| with_rows.contains_key(n));
        let frequent = with_rows.iter().map(|(&n, &count)| (count, n)).max();
        let frequent = frequent.map(|(_, n)| n);
        let rows = asked.or(listed).or(frequent).unwrap_or(0);
        let labels = labels.or_else(|| category(rows));
        let others = || features.iter().filter(|f| f.1 != rows);
        // Who asks for a view leaves the others out.
        let say = |text: String| match asked {
            Some(_) => monitor.note(text),
            None => monitor.warn(text),
        };
        for &(i, r, c) in others().take(NOTED) {
            say(format!(
                "array {} ({r} x {c}) is left out: it has {r} rows, but the items are {rows}",
                arrays[i].name
            ));
        }
        if let more @ 1.. = others().count().saturating_sub(NOTED) {
            say(format!("{more} more arrays are left out"));
        }
        if let Some(i) = labels
            && let Some(len) = arrays[i].list
            && len != rows
        {
            return Err(Error::value(format!(
                "{} holds {len} labels, but the matrices have {rows} rows; they must agree",
                arrays[i].name
            )));
        }
        let views = features.iter().filter(|f| f.1 == rows);
        Ok(Self {
            rows,
            views: views
                .map(|&(i, _, columns)| Stack {
                    name: arrays[i].name.clone(),
                    columns,
                    arrays: vec![i],
                })
                .collect(),
            labels: labels.into_iter().map(Some).collect(),
            ids,
            split: find(arrays, Role::Split),
            ..Self::default()
        })
    }

    /// A plan of stacked parts, if every matrix has a part's name and all parts agree.
    fn in_parts(
        arrays: &[Array],
        features: &[(usize, usize, usize)],
        options: &ReadOptions,
        monitor: &Monitor,
    ) -> Result<Option<Self>> {
        let Some(mut plan) = Self::stacked(arrays, features) else {
            return Ok(None);
        };
        let words: Vec<&str> = plan.parts.iter().map(|p| p.0.as_str()).collect();
        let role = |a: &Array| match part_of(&a.name) {
            Some((base, word, _)) if words.contains(&word) => Role::of(base),
            _ => Role::of(&a.name),
        };
        let mut used: Vec<usize> = Vec::new();
        let mut labels = Vec::new();
        for (word, _, rows) in &plan.parts {
            let of_part = |wanted: Role| {
                arrays.iter().position(|a| {
                    role(a) == wanted && part_of(&a.name).is_some_and(|(_, w, _)| w == *word)
                })
            };
            let found = of_part(Role::Label).or_else(|| of_part(Role::Category));
            used.extend(found);
            if let Some(i) = found.filter(|_| options.labels.is_none()) {
                arrays[i].check_list(Role::Label)?;
                if let Some(len) = arrays[i].list.filter(|len| len != rows) {
                    return Err(Error::value(format!(
                        "{} holds {len} labels, but the matrices of part {word} have {rows} \
                         rows; they must agree",
                        arrays[i].name
                    )));
                }
            }
            labels.push(found);
        }
        if labels.iter().any(Option::is_some) {
            let without = words.iter().zip(&labels).filter(|(_, l)| l.is_none());
            for (word, _) in without {
                monitor.warn(format!(
                    "the items of part {word} have no labels: there is no array like \
                     label_{word} or y_{word}"
                ));
            }
            plan.labels = labels;
        }
        for (i, array) in arrays.iter().enumerate() {
            if matches!(role(array), Role::Id | Role::Label | Role::Split) && !used.contains(&i) {
                monitor.warn(format!(
                    "array {} is left out: the items come in parts ({}), which have their \
                     split from that, ids of their own, and labels like y_{}",
                    array.name,
                    plan.parts
                        .iter()
                        .map(|p| p.0.as_str())
                        .collect::<Vec<_>>()
                        .join(", "),
                    plan.parts[0].0,
                ));
            }
        }
        Ok(Some(plan))
    }

    /// The parts and views of a plan of stacked parts.
    fn stacked(arrays: &[Array], features: &[(usize, usize, usize)]) -> Option<Self> {
        let mut plan = Self::default();
        let mut views = HashSet::new();
        let mut named: HashMap<&str, (usize, usize)> = HashMap::new();
        for &(i, rows, columns) in features {
            let (base, word, part) = part_of(&arrays[i].name)?;
            // Of two arrays of one name the first one counts.
            named.entry(&arrays[i].name).or_insert((i, columns));
            // There are few words for parts.
            match plan.parts.iter().find(|p| p.0 == word) {
                None => plan.parts.push((word.to_owned(), part, rows)),
                Some(known) if known.2 != rows => return None,
                Some(_) => {}
            }
            if views.insert(base) {
                plan.views.push(Stack {
                    name: base.to_owned(),
                    columns,
                    arrays: Vec::new(),
                });
            }
        }
        if plan.parts.len() < 2 {
            return None;
        }
        plan.parts.sort_by_key(|p| p.1 as u8);
        for (word, _, rows) in &plan.parts {
            for view in &mut plan.views {
                let name = format!("{}_{word}", view.name);
                let &(i, columns) = named.get(name.as_str())?;
                if columns != view.columns {
                    return None;
                }
                view.arrays.push(i);
            }
            plan.rows = plan.rows.checked_add(*rows)?;
        }
        Some(plan)
    }

    /// Reads what the plan says besides the views; `words` reads an array as words.
    pub(crate) fn read_lists(
        &self,
        parts: &mut Parts,
        options: &ReadOptions,
        monitor: &Monitor,
        mut words: impl FnMut(usize) -> Result<Vec<String>>,
    ) -> Result<()> {
        if options.labels.is_none() && !self.labels.is_empty() {
            let mut written = Vec::new();
            for (part, array) in self.labels.iter().enumerate() {
                if let Some(array) = array {
                    written.extend(words(*array)?);
                } else {
                    let rows = self.parts.get(part).map_or(0, |p| p.2);
                    written.resize(written.len() + rows, String::new());
                }
            }
            let classes = self.classes.map(&mut words).transpose()?;
            parts.labels = Some(name_labels(&written, classes, monitor)?);
        }
        if let Some(array) = self.ids {
            parts.ids = Some(words(array)?);
        }
        if let Some(array) = self.split {
            parts.set_split(&words(array)?)?;
        }
        Ok(())
    }

    /// Sets ids and split of stacked parts: `train-0`, `train-1` ... `test-0` ...
    pub(crate) fn name_parts(&self, parts: &mut Parts) {
        if self.parts.is_empty() {
            return;
        }
        let mut ids = Vec::with_capacity(self.rows);
        let mut split = Vec::with_capacity(self.rows);
        for (word, part, rows) in &self.parts {
            ids.extend((0..*rows).map(|i| format!("{word}-{i}")));
            split.extend(std::iter::repeat_n(*part, *rows));
        }
        parts.ids = Some(ids);
        parts.split = Some(split);
    }

    pub(crate) fn shape(&self) -> Shape {
        let views = self.views.iter();
        Shape {
            items: self.rows,
            views: views.map(|v| (v.name.clone(), v.columns)).collect(),
            bytes_on_disk: 0,
        }
    }
}

/// The name of an array without its part, the part's word, and the part: `x_train`.
fn part_of(name: &str) -> Option<(&str, &str, Part)> {
    let (base, word) = name.rsplit_once('_')?;
    let part = Part::parse(word).filter(|_| !base.is_empty())?;
    Some((base, word, part))
}

fn find(arrays: &[Array], role: Role) -> Option<usize> {
    arrays
        .iter()
        .position(|a| a.list.is_some() && Role::of(&a.name) == role)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|w| (*w).to_owned()).collect()
    }

    #[test]
    fn class_names_are_indices_unless_they_are_the_labels_themselves() {
        let named = |labels: &[&str], classes: &[&str]| {
            name_labels(&words(labels), Some(words(classes)), &Monitor::silent())
        };
        let labels = named(&["1", "0", "-1", "-2"], &["b", "a", "unused"]).unwrap();
        assert_eq!(labels.classes(), ["b", "a", "unused"]);
        let expected = [
            Label::Known(1),
            Label::Known(0),
            Label::Unknown,
            Label::Outside,
        ];
        assert_eq!(labels.items(), expected);
        // Digits: the label is the class, whatever the order of the names.
        assert_eq!(
            named(&["1", "2"], &["2", "1"]).unwrap().classes(),
            ["1", "2"]
        );
        // Class 9 has index 1: the numbers do not name the labels, so they are indices.
        assert_eq!(
            named(&["1", "0"], &["7", "9"]).unwrap().classes(),
            ["7", "9"]
        );
        assert_eq!(named(&["x"], &["a", "x"]).unwrap().classes(), ["x"]);
        let e = named(&["0", "2"], &["a", "b"]).unwrap_err();
        assert!(e.to_string().contains("row 1: label 2"), "{e}");
        assert!(named(&["0"], &["a", "a"]).is_err());
    }

    #[test]
    fn names_say_what_columns_are() {
        use Role::{Category, Feature, Id, Index, Label, Split};
        let roles = |names: &[&str]| Role::of_columns(names, &TableOptions::default()).unwrap();
        assert_eq!(roles(&["", "a", "Split"]), [Id, Feature, Split]);
        assert_eq!(roles(&["", "id", "a"]), [Index, Id, Feature]);
        let frame = ["Unnamed: 0", "index", "IDX", "__index_level_0__", "a"];
        assert_eq!(roles(&frame), [Index, Index, Index, Index, Feature]);
        // The first category is the labels, if there are none; it is never a feature.
        assert_eq!(roles(&["category", "class"]), [Label, Category]);
        assert_eq!(
            roles(&["class", "y", "classes"]),
            [Category, Label, Category]
        );
        assert_eq!(roles(&["classify", "index of x"]), [Feature, Feature]);
        assert!(Role::of_columns(&["id", "ids"], &TableOptions::default()).is_err());
    }

    #[test]
    fn a_name_that_two_columns_have_names_none() {
        let names = ["id", "w", "v", "w", "A", "a", "Bc", "bC"];
        assert_eq!(place_of("v", &names).unwrap(), 2);
        assert_eq!(place_of("a", &names).unwrap(), 5);
        let said = |name: &str| place_of(name, &names).unwrap_err().to_string();
        let words = "two columns are called \"w\" (columns 2 and 4); rename one of them";
        assert_eq!(said("w"), words);
        assert_eq!(said("W"), words.replace("\"w\"", "\"W\""));
        assert!(said("bc").contains("(columns 7 and 8)"));
        assert_eq!(repeated(&names), [("w", vec![1, 3])]);
        assert!(repeated(&["", "", "x"]).is_empty());
    }

    #[test]
    fn lists_that_cannot_be_read_are_not_passed_over() {
        let whole = |name: &str, shape: &[usize]| plan(&[array("a", &[5, 2]), array(name, shape)]);
        for name in ["label", "id", "split", "classes"] {
            let e = whole(name, &[5, 3]).unwrap_err().to_string();
            assert!(e.contains(&format!("array {name} ([5, 3])")), "{e}");
        }
        let e = whole("y", &[5, 3]).unwrap_err().to_string();
        assert!(e.contains(".argmax(axis=1)"), "{e}");
        // Labels in a file of their own replace these.
        let options = ReadOptions {
            labels: Some("l.csv".into()),
            ..ReadOptions::default()
        };
        let arrays = [array("a", &[5, 2]), array("y", &[5, 3])];
        assert!(Plan::new(&arrays, &options, &Monitor::silent()).is_ok());
    }

    #[test]
    fn a_category_is_the_labels_where_there_are_none() {
        let arrays = [array("class", &[5]), array("a", &[5, 2])];
        assert_eq!(plan(&arrays).unwrap().labels, [Some(0)]);
        let arrays = [
            array("class", &[4]),
            array("a", &[5, 2]),
            array("index", &[5, 1]),
        ];
        let found = plan(&arrays).unwrap();
        assert!(found.labels.is_empty());
        assert_eq!(found.shape().views, [("a".into(), 2)]);
    }

    fn array(name: &str, shape: &[usize]) -> Array {
        Array {
            name: name.to_owned(),
            matrix: (shape.len() == 2).then(|| (shape[0], shape[1])),
            list: (shape.len() == 1).then(|| shape[0]),
            shape: shape.to_vec(),
            stored: format!("{shape:?}"),
        }
    }

    #[test]
    fn pictures_in_one_array_are_named_with_what_to_do() {
        let said = plan(&[array("images", &[400, 112, 92]), array("label", &[400])]);
        let said = said.err().unwrap().to_string();
        let wanted = "\"images\" is 400 x 112 x 92: reshape it to 400 x 10304, or write";
        assert!(said.contains(wanted), "{said}");
    }

    fn plan(arrays: &[Array]) -> Result<Plan> {
        Plan::new(arrays, &ReadOptions::default(), &Monitor::silent())
    }

    #[test]
    fn the_common_row_count_decides() {
        let arrays = [
            array("label", &[5]),
            array("index", &[9]),
            array("a", &[5, 2]),
            array("b", &[5, 3]),
            array("other", &[9, 3]),
        ];
        let found = plan(&arrays).unwrap();
        assert_eq!(found.shape().views, [("a".into(), 2), ("b".into(), 3)]);
        assert_eq!((found.rows, found.labels), (5, vec![Some(0)]));
        assert!(plan(&arrays[..2]).is_err());
        let e = plan(&[array("y", &[4]), array("a", &[5, 2])]).unwrap_err();
        assert!(e.to_string().contains("4 labels"), "{e}");
    }

    /// Compared each with each, these would take minutes.
    #[test]
    fn many_arrays_cost_no_more_than_their_number() {
        const N: usize = 100_000;
        let arrays: Vec<Array> = (0..N).map(|i| array(&format!("a{i}"), &[i, 2])).collect();
        let (monitor, heard) = crate::read::listening();
        let found = Plan::new(&arrays, &ReadOptions::default(), &monitor).unwrap();
        assert_eq!((found.rows, found.views.len()), (N - 1, 1));
        assert_eq!(heard.lock().unwrap().len(), NOTED + 1);
        let half = (0..N / 2).map(|i| array(&format!("a{i}_train"), &[2, 1]));
        let other = (0..N / 2).map(|i| array(&format!("a{i}_test"), &[3, 1]));
        let found = plan(&half.chain(other).collect::<Vec<_>>()).unwrap();
        assert_eq!((found.rows, found.views.len()), (5, N / 2));
    }

    #[test]
    fn parts_are_stacked_train_first() {
        let arrays = [
            array("image_test", &[2, 4]),
            array("image_train", &[3, 4]),
            array("text_train", &[3, 1]),
            array("text_test", &[2, 1]),
            array("label_train", &[3]),
            array("label_test", &[2]),
        ];
        let found = plan(&arrays).unwrap();
        assert_eq!(found.rows, 5);
        assert_eq!(found.labels, [Some(4), Some(5)]);
        assert_eq!(found.views[0].arrays, [1, 0]);
        assert_eq!(found.views[1].arrays, [2, 3]);
        let mut parts = Parts::default();
        found.name_parts(&mut parts);
        assert_eq!(parts.ids.unwrap()[2..4], ["train-2", "test-0"]);
        // Labels of one part only, and of a wrong length.
        let some = plan(&arrays[..5]).unwrap();
        assert_eq!(some.labels, [Some(4), None]);
        let mut wrong = arrays.clone();
        wrong[5] = array("label_test", &[3]);
        let e = plan(&wrong).unwrap_err().to_string();
        assert!(
            e.contains("label_test holds 3 labels") && e.contains("2 rows"),
            "{e}"
        );
        // A view without a test part: nothing to stack.
        assert!(plan(&arrays[1..3]).unwrap().parts.is_empty());
    }
}
