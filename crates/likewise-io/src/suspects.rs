//! Columns that are features, though they may be ids.

use crate::Result;
use crate::number::push;
use crate::role::Role;

/// Fewer different numbers prove nothing.
const LEAST: usize = 5;

/// Large numbers of a column that are compared.
const COMPARED: usize = 256;

/// Beyond this a 32-bit float cannot tell all whole numbers apart.
const EXACT: u64 = 1 << 24;

/// What was seen of a column.
#[derive(Debug)]
pub(crate) struct Suspect {
    /// All values, as long as they are whole numbers, of a column that is called like an id.
    named: Option<Vec<i64>>,
    /// Some of the numbers that are too large for a feature to tell them apart.
    large: Vec<i64>,
}

/// All columns, of which nothing was seen yet.
pub(crate) fn suspects(names: &[String], roles: &[Role]) -> Vec<Suspect> {
    let both = names.iter().zip(roles);
    both.map(|(name, role)| Suspect {
        named: (*role == Role::Feature && is_called_so(name)).then(Vec::new),
        large: Vec::new(),
    })
    .collect()
}

impl Suspect {
    /// Takes the next cell into account: a whole number, or anything else.
    pub(crate) fn see(&mut self, number: Option<i64>) -> Result<()> {
        let Some(number) = number else {
            self.named = None;
            return Ok(());
        };
        if let Some(all) = &mut self.named {
            push(all, number)?;
        }
        if number.unsigned_abs() > EXACT && self.large.len() < COMPARED {
            push(&mut self.large, number)?;
        }
        Ok(())
    }

    /// Whether a number so large is of use, or any.
    pub(crate) fn wants(&self, value: f32) -> bool {
        self.named.is_some() || value.abs() >= EXACT as f32
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let named = self.named.as_ref().map_or(0, Vec::len);
        8 * (named + self.large.len()) as u64
    }

    /// What is to be said of the column of this name, if it may hold ids.
    pub(crate) fn remark(mut self, name: &str) -> Option<String> {
        self.large.sort_unstable();
        let mut pairs = self.large.windows(2);
        let same = |a: i64, b: i64| a != b && (a as f32).to_bits() == (b as f32).to_bits();
        let lost = pairs.find(|pair| same(pair[0], pair[1]));
        let ids = self.named.take().is_some_and(|mut all| {
            all.sort_unstable();
            all.len() >= LEAST && all.windows(2).all(|pair| pair[0] != pair[1])
        });
        let why = match lost {
            Some(pair) => format!(
                "whole numbers that a feature, a 32-bit float, cannot tell apart, such as {} and {}",
                pair[0], pair[1]
            ),
            None if ids => "another whole number in every line".to_owned(),
            None => return None,
        };
        Some(format!(
            "column \"{name}\" is a feature, but may be an id: it holds {why}; name it with `id_column \
             {name}`, or leave it out with `drop {name}`"
        ))
    }
}

/// Whether a column is called like an id or a number of a list.
pub(crate) fn is_called_so(name: &str) -> bool {
    let name = name.trim().trim_end_matches('.');
    let camel = name.strip_suffix("Id").or_else(|| name.strip_suffix("ID"));
    let camel = camel.is_some_and(|before| before.ends_with(|c: char| c.is_lowercase()));
    let lower = name.to_lowercase();
    let last = lower.rsplit(['_', '-', ' ']).next().unwrap_or("");
    let word = ["nr", "no", "key", "number", "uid"].contains(&last);
    camel || word || (last == "id" && lower.len() > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, numbers: &[i64]) -> Option<String> {
        let mut all = suspects(&[name.to_owned()], &[Role::Feature]);
        for number in numbers {
            all[0].see(Some(*number)).unwrap();
        }
        all.remove(0).remark(name)
    }

    #[test]
    fn ids_are_told_by_name_and_by_values() {
        let ids = [700_000, 700_013, 700_026, 700_039, 700_052];
        for name in [
            "customer_id",
            "Nr.",
            "No",
            "key",
            "order-no",
            "customerId",
            "row number",
        ] {
            assert!(said(name, &ids).is_some(), "{name}");
        }
        for name in ["w", "valid", "android", "pinot noir", "paid"] {
            assert!(said(name, &ids).is_none(), "{name}");
        }
        assert!(said("customer_id", &ids[..4]).is_none());
        assert!(said("customer_id", &[1, 2, 3, 4, 4]).is_none());
        let mut gaps = suspects(&["nr".to_owned()], &[Role::Feature]);
        for number in [Some(1), None, Some(3), Some(4), Some(5), Some(6)] {
            gaps[0].see(number).unwrap();
        }
        assert!(gaps.remove(0).remark("nr").is_none());
    }

    #[test]
    fn numbers_that_a_float_cannot_tell_apart_are_named_whatever_the_name() {
        let said = |numbers: &[i64]| said("w", numbers);
        let lost = said(&[16_777_217, 3, 16_777_218, 16_777_219, 16_777_220]);
        assert!(lost.unwrap().contains("such as 16777219 and 16777220"));
        assert_eq!(said(&[16_777_218, 16_777_220, 16_777_220]), None);
    }
}
