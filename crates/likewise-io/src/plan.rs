//! How the arrays of a file that holds several make up a collection.

use std::collections::{HashMap, HashSet};

use likewise::{Monitor, Part};

use crate::assemble::{Parts, Shape, name_labels};
use crate::options::ReadOptions;
use crate::role::Role;
use crate::{Error, Result};

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
                "for rows with a 1 at the class, take .argmax(axis=1); for several labels an item, give this file \
                 as `labels`, with `multi_label`"
            }
            Role::Label => "take whole numbers, or words as with .astype(str)",
            Role::Id | Role::Split | Role::Classes => "take words, as with .astype(str)",
            Role::Category
            | Role::Index
            | Role::SpareId
            | Role::Dropped
            | Role::Apart
            | Role::Feature => return Ok(()),
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
            parts.labels = Some(name_labels(&written, classes, &options.table, monitor)?);
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
