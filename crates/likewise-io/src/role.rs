//! What the names of arrays and columns say about them.

use std::collections::HashMap;

use likewise::Monitor;

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
    /// Numbers of rows, as data frames write them, if their values look like it. Left out: the order of rows is no feature.
    Index,
    /// Ids by its name, where another column was asked for. Left out.
    SpareId,
    /// Left out because somebody said so.
    Dropped,
    /// None of the features: a view of its own, or beside one that is read alone.
    Apart,
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
    /// A first column without a name holds the ids if no other does, else numbers of rows: both if
    /// their values look like it. A
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
            set(&mut roles, Role::Id, Role::SpareId, place(name)?);
        }
        let unnamed = names.first().is_some_and(|name| name.trim().is_empty());
        if unnamed && roles[0] == Role::Feature {
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
            let column = place(name)?;
            if !asked.columns.is_empty() && roles[column] == Role::Feature {
                return Err(Error::parameter(format!(
                    "column \"{name}\" is asked for and left out as well"
                )));
            }
            roles[column] = Role::Dropped;
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

/// The column of a name. Capitals, and spaces around it, matter only where two names differ by them alone. A column without a
/// name is called by its place, `column 3`. Fails where two columns have it.
pub(crate) fn place_of(name: &str, names: &[&str]) -> Result<usize> {
    let places = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..names.len()).filter(|&place| is(names[place])).collect()
    };
    let mut found = places(&|own| own == name);
    if found.is_empty() {
        found = places(&|own| own.eq_ignore_ascii_case(name));
    }
    if found.is_empty() {
        found = places(&|own| own.trim() == name.trim());
    }
    if found.is_empty() {
        let called = |&place: &usize| names[place].trim().is_empty() && unnamed(place) == name;
        found = (0..names.len()).filter(called).collect();
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

/// Where a name stands that another file had. Some forms keep the spaces around it, others do not, so that they matter only
/// where two names differ by them alone.
pub(crate) fn same(name: &str, names: &[&str]) -> Option<usize> {
    let exact = names.iter().position(|own| *own == name);
    exact.or_else(|| names.iter().position(|own| own.trim() == name.trim()))
}

/// What a column without a name is called where it is a feature.
pub(crate) fn unnamed(place: usize) -> String {
    format!("column {}", place + 1)
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
        (Role::SpareId, "left out, as other ids:"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_columns_are() {
        use Role::{Category, Feature, Id, Index, Label, Split};
        let roles = |names: &[&str]| Role::of_columns(names, &TableOptions::default()).unwrap();
        assert_eq!(roles(&["", "a", "Split"]), [Id, Feature, Split]);
        assert_eq!(roles(&["", "id", "a"]), [Index, Id, Feature]);
        let frame = ["Unnamed: 0", "index", "IDX", "__index_level_0__", "a"];
        assert_eq!(roles(&frame), [Index, Index, Index, Index, Feature]);
        // Ids that others were preferred to are no numbers of rows.
        let asked = TableOptions {
            id_column: Some("sku".into()),
            ..TableOptions::default()
        };
        let names = ["", "id", "sku", "a"];
        let roles_then = Role::of_columns(&names, &asked).unwrap();
        assert_eq!(roles_then, [Index, Role::SpareId, Id, Feature]);
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
    fn a_column_is_not_asked_for_and_left_out() {
        use Role::{Dropped, Feature, Id};
        let asked = |columns: &[&str], drop: &[&str]| TableOptions {
            columns: columns.iter().map(|name| String::from(*name)).collect(),
            drop: drop.iter().map(|name| String::from(*name)).collect(),
            ..TableOptions::default()
        };
        let read = |asked| Role::of_columns(&["id", "a", "b"], &asked);
        let said = read(asked(&["a", "b"], &["b"])).unwrap_err().to_string();
        assert!(
            said.contains("column \"b\" is asked for and left out"),
            "{said}"
        );
        assert_eq!(read(asked(&["a"], &["b"])).unwrap(), [Id, Feature, Dropped]);
        assert_eq!(read(asked(&[], &["b"])).unwrap(), [Id, Feature, Dropped]);
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
        assert_eq!(place_of("column 2", &["a", ""]).unwrap(), 1);
        assert!(place_of("column 1", &["a", ""]).is_err());
        assert_eq!(repeated(&names), [("w", vec![1, 3])]);
        assert!(repeated(&["", "", "x"]).is_empty());
    }
}
