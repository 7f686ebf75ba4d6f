//! Values of the library by their names.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A value: its name, what it is, and itself. A name of which nothing is said is understood, but not listed.
pub(super) type Named<T> = (&'static str, &'static str, T);

/// Reads the name of one of these values.
pub(super) fn named<T>(all: &'static [Named<T>]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let values = all.iter().map(|(name, about, _)| {
        let value = PossibleValue::new(*name).hide(about.is_empty());
        if about.is_empty() {
            value
        } else {
            value.help(*about)
        }
    });
    PossibleValuesParser::new(values).try_map(|given| {
        let own = all.iter().find(|(name, ..)| *name == given);
        own.map(|(_, _, value)| *value).ok_or("unknown")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [Named<u8>; 3] = [("small", "Little", 1), ("large", "Much", 2), ("big", "", 2)];

    #[test]
    fn a_name_of_before_is_understood_but_not_listed() {
        let command =
            || clap::Command::new("x").arg(clap::Arg::new("size").value_parser(named(&SIZES)));
        let read = |name| command().try_get_matches_from(["x", name]);
        for (name, size) in [("small", 1), ("large", 2), ("big", 2)] {
            assert_eq!(read(name).unwrap().get_one::<u8>("size"), Some(&size));
        }
        let said = read("huge").unwrap_err().to_string();
        assert!(
            said.contains("small, large") && !said.contains("big"),
            "{said}"
        );
    }
}
