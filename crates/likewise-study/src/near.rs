//! Names that are spelled nearly alike.

/// Letters that may be wrong in a name of so many: a third of them.
fn most(letters: usize) -> usize {
    (letters / 3).max(1)
}

/// How many letters tell `name` from what was `wanted`, where that is few.
pub(crate) fn letters(wanted: &str, name: &str) -> Option<usize> {
    let letters = strsim::osa_distance(wanted, name);
    (letters <= most(wanted.chars().count())).then_some(letters)
}

/// Names that are listed in full, and how many are where there are more.
const MOST_LISTED: usize = 40;
const FIRST: usize = 8;

/// The likest of these names, where one is like `wanted` at all.
pub fn likest<'a, S: AsRef<str>>(wanted: &str, names: &'a [S]) -> Option<&'a str> {
    let plain = wanted.to_lowercase().replace(['_', ' '], "-");
    let names = names.iter().map(AsRef::as_ref);
    let near = names.filter_map(|name| Some((letters(&plain, name)?, name)));
    near.min().map(|(_, likest)| likest)
}

/// What is to be said of a name that is none of these: the likest one, and all of them.
pub fn there_are<S: AsRef<str>>(wanted: &str, names: &[S]) -> String {
    let likest = likest(wanted, names);
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let all = match names.len() {
        // Nobody reads ninety names; the most useful stand first.
        n if n > MOST_LISTED => format!(
            "{} and {} more (`likewise explain` lists them)",
            names[..FIRST].join(", "),
            n - FIRST
        ),
        _ => names.join(", "),
    };
    match likest {
        Some(likest) => format!("did you mean {likest}? There are: {all}"),
        None => format!("there are: {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_and_another_word_is_not() {
        let names = ["mixed-lp", "mixed-rca", "start"];
        for slip in ["mixd-lp", "mixed_lp", "Mixed-LP", "mixed-pl"] {
            assert!(
                there_are(slip, &names).starts_with("did you mean mixed-lp? There are: mixed-lp,")
            );
        }
        assert_eq!(
            there_are("boosting", &names),
            "there are: mixed-lp, mixed-rca, start"
        );
        let many: Vec<String> = (0..90).map(|i| format!("recipe-{i}")).collect();
        let said = there_are("boosting", &many);
        assert!(
            said.contains("recipe-7 and 82 more") && !said.contains("recipe-8"),
            "{said}"
        );
        assert!(there_are("recipe89", &many).starts_with("did you mean recipe-89?"));
    }
}
