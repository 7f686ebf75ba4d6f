//! Circles of modules within a crate. Arrows between the files of a crate go one way: what is
//! in a circle can only be read, tested and moved as a whole.
//!
//! A node is a file. There is an arrow from A to B where code of A names an item that B
//! defines: in a `use`, or by a path in code such as `super::x::f()`. Re-exports are followed
//! to the file that defines the item. A `mod` line and a `pub use` are no arrows by themselves:
//! a parent may list its children. Its own code that names what is a child's is an arrow.
//! Items for tests only are left out.
//!
//! Names are resolved from the source alone, so this cannot see:
//! - methods and fields of values whose type is not named, and methods of a trait that comes in
//!   by a glob;
//! - what the body of a macro names, but for paths that begin with `crate` or `super`, and
//!   single small names in the arguments of a macro that are no expressions, pattern or block;
//! - items that a macro makes: they are taken to be of the file where the macro is called.
//!
//! All code counts whatever its `cfg` is, but for `cfg(test)`.

mod names;
pub(crate) mod syntax;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use self::names::Arrow;
use self::tree::Tree;
use crate::data::Result;

/// Prints the circles of all crates of the workspace, or of the named ones. True if there are
/// none.
///
/// With `--rooms` it prints those of files and folders directly below the root, which is a look
/// from further away: they fail nothing.
///
/// Fails if a file cannot be read or is no Rust, or if there is no such crate.
pub(crate) fn circles(arguments: &[String]) -> Result<bool> {
    let mut named: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let by_room = named.contains(&"--rooms");
    named.retain(|&name| name != "--rooms");
    let crates = crates()?;
    if let Some(name) = named
        .iter()
        .find(|&&n| crates.iter().all(|(name, _)| name != n))
    {
        return Err(format!("there is no crate {name} in the workspace").into());
    }
    let mut clean = true;
    for (name, root) in &crates {
        if !named.is_empty() && !named.contains(&name.as_str()) {
            continue;
        }
        let tree = Tree::read(root)?;
        let (count, page) = report(&tree, by_room)?;
        let s = if count == 1 { "" } else { "s" };
        println!("{name}: {count} circle{s}");
        print!("{page}");
        clean &= by_room || count == 0;
    }
    Ok(clean)
}

/// Name and root file of each crate of the workspace.
fn crates() -> Result<Vec<(String, PathBuf)>> {
    let mut folders = vec![PathBuf::from("xtask")];
    for entry in std::fs::read_dir("crates")? {
        folders.push(entry?.path());
    }
    let mut crates = Vec::new();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        for root in ["src/lib.rs", "src/main.rs"] {
            if folder.join(root).is_file() {
                crates.push((name.to_string(), folder.join(root)));
            }
        }
    }
    crates.sort();
    Ok(crates)
}

/// How many circles the crate has, and what they are: one line a circle and one line an arrow.
fn report(tree: &Tree, by_room: bool) -> Result<(usize, String)> {
    let node = |file: usize| match tree.files[file].name.as_str() {
        name if by_room => room(name),
        name => name,
    };
    let mut arrows: BTreeMap<(&str, &str), Vec<Why<'_>>> = BTreeMap::new();
    let found = names::arrows(tree);
    for (&(from, to), arrow) in &found {
        if node(from) != node(to) {
            let whys = arrows.entry((node(from), node(to))).or_default();
            whys.push((&tree.files[from].name, arrow));
        }
    }
    let circles = components(&arrows.keys().copied().collect());
    let mut page = String::new();
    for circle in &circles {
        let names: Vec<&str> = circle.iter().copied().collect();
        writeln!(page, "  {} of: {}", names.len(), names.join(", "))?;
        for ((from, to), whys) in &arrows {
            if circle.contains(from) && circle.contains(to) {
                let (file, Arrow { line, example, .. }) = whys[0];
                write!(page, "    {from} -> {to}: {file}:{line} {example}")?;
                let first = &whys[0].1.first;
                let others: BTreeSet<&str> = (whys.iter())
                    .flat_map(|(_, arrow)| arrow.items.iter().map(String::as_str))
                    .filter(|name| name != first)
                    .collect();
                if !others.is_empty() {
                    let others: Vec<&str> = others.into_iter().collect();
                    write!(page, " (also {})", others.join(", "))?;
                }
                writeln!(page)?;
            }
        }
    }
    Ok((circles.len(), page))
}

/// A file, and what it names of another.
type Why<'a> = (&'a str, &'a Arrow);

/// `train` of `train.rs` and of `train/log.rs`.
fn room(file: &str) -> &str {
    let end = file.find('/').unwrap_or(file.len());
    file[..end].trim_end_matches(".rs")
}

/// The strongly connected components of two or more nodes.
fn components<'a>(arrows: &BTreeSet<(&'a str, &'a str)>) -> BTreeSet<BTreeSet<&'a str>> {
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for &(start, _) in arrows {
        if reached.contains_key(start) {
            continue;
        }
        let (mut seen, mut next) = (BTreeSet::new(), vec![start]);
        while let Some(at) = next.pop() {
            for &(_, to) in arrows.range((at, "")..).take_while(|(from, _)| *from == at) {
                if seen.insert(to) {
                    next.push(to);
                }
            }
        }
        reached.insert(start, seen);
    }
    let is_back = |from: &str, to: &str| reached.get(from).is_some_and(|seen| seen.contains(to));
    (reached.iter())
        .filter(|(start, seen)| seen.contains(*start))
        .map(|(start, seen)| {
            seen.iter()
                .copied()
                .filter(|to| is_back(to, start))
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate of these files; without a root, one that declares the others.
    fn tree(files: &[(&str, &str)]) -> Tree {
        let folder = tempfile::tempdir().unwrap();
        let mut root = String::new();
        for (name, _) in files.iter().filter(|(name, _)| !name.contains('/')) {
            writeln!(root, "mod {};", name.trim_end_matches(".rs")).unwrap();
        }
        for (name, text) in files {
            if *name == "lib.rs" {
                root = (*text).to_owned();
                continue;
            }
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let path = folder.path().join("lib.rs");
        std::fs::write(&path, root).unwrap();
        Tree::read(&path).unwrap()
    }

    fn page(files: &[(&str, &str)]) -> String {
        report(&tree(files), false).unwrap().1
    }

    /// `from -> to` for each arrow of the crate.
    fn drawn(files: &[(&str, &str)]) -> Vec<String> {
        let tree = tree(files);
        let name = |file: usize| &tree.files[file].name;
        let arrows = names::arrows(&tree);
        let drawn = arrows
            .keys()
            .map(|&(from, to)| format!("{} -> {}", name(from), name(to)));
        let mut drawn: Vec<String> = drawn.collect();
        drawn.sort();
        drawn
    }

    #[test]
    fn a_circle_of_two_files_is_shown_with_the_lines_that_make_it() {
        let files = [
            (
                "a.rs",
                "use crate::b::{Other, Thing};\npub struct Own(Thing, Other);",
            ),
            (
                "b.rs",
                "pub struct Thing;\npub struct Other;\npub fn f() { let _ = super::a::Own::new(); }",
            ),
            ("c.rs", "use crate::a::Own;"),
        ];
        let expected = "  2 of: a.rs, b.rs\n    \
            a.rs -> b.rs: a.rs:1 crate::b::Other (also Thing)\n    \
            b.rs -> a.rs: b.rs:3 super::a::Own::new\n";
        assert_eq!(page(&files), expected);
    }

    #[test]
    fn arrows_that_go_one_way_are_no_circle() {
        let files = [
            (
                "a.rs",
                "use crate::b::B; use crate::c::C; pub struct A(B, C);",
            ),
            ("b.rs", "use crate::c; pub struct B(c::C);"),
            ("c.rs", "pub struct C;"),
        ];
        assert_eq!(page(&files), "");
        assert_eq!(
            drawn(&files),
            ["a.rs -> b.rs", "a.rs -> c.rs", "b.rs -> c.rs"]
        );
    }

    #[test]
    fn a_circle_of_three_and_one_of_two_are_told_apart() {
        let files = [
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", "use crate::{a::A, d::D}; pub struct C;"),
            ("d.rs", "use crate::e::E; pub struct D;"),
            ("e.rs", "use crate::d::D as Dee; pub struct E;"),
        ];
        let (count, page) = report(&tree(&files), false).unwrap();
        assert_eq!(count, 2);
        assert!(page.contains("  3 of: a.rs, b.rs, c.rs\n"), "{page}");
        assert!(page.contains("  2 of: d.rs, e.rs\n"), "{page}");
    }

    #[test]
    fn a_re_export_is_followed_to_the_file_that_defines() {
        let files = [
            (
                "lib.rs",
                "mod a; mod b; mod room; pub use a::A; pub use room::*;",
            ),
            ("a.rs", "use crate::Deep; use crate::B; pub struct A(Deep);"),
            ("b.rs", "pub struct B;"),
            (
                "room.rs",
                "mod deep; pub use self::deep::Inner as Deep; pub use super::b::B;",
            ),
            ("room/deep.rs", "use crate::A as Renamed; pub struct Inner;"),
        ];
        let expected = [
            "a.rs -> b.rs",
            "a.rs -> room/deep.rs",
            "room/deep.rs -> a.rs",
        ];
        assert_eq!(drawn(&files), expected);
        assert!(page(&files).starts_with("  2 of: a.rs, room/deep.rs\n"));
    }

    #[test]
    fn a_parent_that_declares_and_re_exports_is_in_no_circle() {
        let files = [
            (
                "room.rs",
                "mod one; pub mod two; pub use one::One; pub(crate) use two::*;\n\
                pub struct Shared;",
            ),
            ("room/one.rs", "use super::Shared; pub struct One(Shared);"),
            ("room/two.rs", "use super::*; pub struct Two(Shared, One);"),
        ];
        let expected = [
            "room/one.rs -> room.rs",
            "room/two.rs -> room.rs",
            "room/two.rs -> room/one.rs",
        ];
        assert_eq!(drawn(&files), expected);
        assert_eq!(page(&files), "");
    }

    #[test]
    fn a_parent_whose_code_uses_a_child_that_uses_the_parent_is() {
        for code in [
            "fn f() -> One { todo!() }",
            "fn f() { one::one(); }",
            "fn f() { let one = self::one::one(); }",
            "fn f() { println!(\"{}\", one::one()); }",
            "fn f(x: u8) -> bool { matches!(x, One) }",
            "fn f() { use one::one as renamed; renamed(); }",
            "mod inner { fn f() { super::one::one() } }",
            "list! { \"one\" One, \"not Rust\"; }",
            "#[derive(Deserialize)] struct S { #[serde(default = \"one::one\")] x: u8 }",
            "use one as other; fn f() { other::one(); }",
            "macro_rules! m { () => { $crate::room::one::one() } }",
            "impl Shared { fn f() -> impl Fn(One) { |_| () } }",
        ] {
            let room = format!("mod one; pub use one::One; pub struct Shared;\n{code}");
            let child = "use super::Shared; pub struct One; pub fn one() {}";
            let page = page(&[("room.rs", &room), ("room/one.rs", child)]);
            assert!(
                page.starts_with("  2 of: room.rs, room/one.rs\n"),
                "{code}: {page}"
            );
        }
    }

    #[test]
    fn what_is_not_of_a_file_makes_no_arrow_to_it() {
        for code in [
            "#[cfg(test)] mod tests { use super::one::One; fn f() { one() } }",
            "#[cfg(all(test, unix))] use one::One;",
            "#[test] fn f() { one::one(); }",
            "impl Shared { #[cfg(test)] fn f() { one::one(); } }",
            "use std::one::One;",
            "use ::one::One;",
            "fn f(one: u8) -> u8 { one }",
            "fn f() -> u8 { let one = 1; let g = |both: u8| both + one; g(2) }",
            "fn f(x: Option<u8>) { if let Some(one) = x { g(one) } }",
            "fn f<One>(x: One) -> One { x }",
            "fn f() { struct One; let x = One; }",
            "struct S { one: u8 } fn f(s: S) -> u8 { s.one }",
            "/// Not [`one::One`].\nfn f() {}",
            "#[serde(rename = \"one\")] struct S;",
            "fn f() { let text = \"one::One\"; }",
            "pub(in crate::room) fn f() {}",
            "macro_rules! m { ($one:ident) => { $one::one() } }",
        ] {
            let room = format!("mod one; pub use one::{{One, one}}; pub struct Shared;\n{code}");
            let child = "pub struct One; pub fn one() {}";
            let drawn = drawn(&[("room.rs", &room), ("room/one.rs", child)]);
            assert!(drawn.is_empty(), "{code}: {drawn:?}");
        }
    }

    #[test]
    fn names_by_a_glob_count_where_they_are_used() {
        let things = (
            "things.rs",
            "pub enum Kind { A, B } pub fn f() {} pub struct Unit;",
        );
        let of = |code: &str| drawn(&[things, ("user.rs", code)]);
        assert!(of("use crate::things::*;").is_empty());
        assert!(of("use crate::things as other;").is_empty());
        assert!(of("use crate::things::*; fn g() { let f = 1; f; }").is_empty());
        assert_eq!(
            of("use crate::things::*; fn g() { f() }"),
            ["user.rs -> things.rs"]
        );
        assert_eq!(
            of("use crate::things::*; fn g(x: Kind) {}"),
            ["user.rs -> things.rs"]
        );
        assert_eq!(of("use crate::things::Kind::*;"), ["user.rs -> things.rs"]);
        assert_eq!(
            of("fn g() { use crate::things::*; f() }"),
            ["user.rs -> things.rs"]
        );
    }

    #[test]
    fn an_item_of_a_type_is_of_the_file_of_its_impl_too() {
        let files = [
            ("a.rs", "pub struct A; impl A { fn go() { Self::read() } }"),
            ("read.rs", "use crate::a::A; impl A { pub fn read() {} }"),
            ("user.rs", "fn f() { crate::a::A::read() }"),
        ];
        let expected = [
            "a.rs -> read.rs",
            "read.rs -> a.rs",
            "user.rs -> a.rs",
            "user.rs -> read.rs",
        ];
        assert_eq!(drawn(&files), expected);
    }

    #[test]
    fn a_macro_is_of_the_file_that_defines_it_and_its_items_of_the_one_that_calls() {
        let files = [
            ("lib.rs", "#[macro_use] mod list; mod kinds; mod user;"),
            (
                "list.rs",
                "macro_rules! kinds { ($($name:ident)*) => { pub enum Kind { $($name),* } } }",
            ),
            ("kinds.rs", "kinds! { First Second }"),
            ("user.rs", "use crate::kinds::Kind; fn f(x: Kind) {}"),
        ];
        assert_eq!(
            drawn(&files),
            ["kinds.rs -> list.rs", "user.rs -> kinds.rs"]
        );
    }

    #[test]
    fn imports_that_lead_to_each_other_end() {
        let files = [
            (
                "a.rs",
                "pub use crate::b::*; pub use crate::b::Lost; fn f(x: Nothing, y: Lost) {}",
            ),
            ("b.rs", "pub use crate::a::*; pub use crate::a::Lost;"),
        ];
        assert!(drawn(&files).is_empty());
    }

    #[test]
    fn rooms_may_form_a_circle_where_files_do_not() {
        let files = [
            (
                "net.rs",
                "mod head; mod model; pub use head::Head; pub use model::Model;",
            ),
            ("net/head.rs", "pub struct Head;"),
            (
                "net/model.rs",
                "use crate::recipe::Recipe; pub struct Model;",
            ),
            (
                "recipe.rs",
                "use crate::net::Head; pub struct Recipe(Head);",
            ),
        ];
        assert_eq!(page(&files), "");
        let expected = "  2 of: net, recipe\n    \
            net -> recipe: net/model.rs:1 crate::recipe::Recipe\n    \
            recipe -> net: recipe.rs:1 crate::net::Head\n";
        assert_eq!(
            report(&tree(&files), true).unwrap(),
            (1, expected.to_owned())
        );
    }

    #[test]
    fn a_file_that_is_no_rust_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("lib.rs");
        std::fs::write(&root, "fn f() {}\nfn {").unwrap();
        let error = Tree::read(&root).err().unwrap().to_string();
        assert!(error.contains("lib.rs:2:4: "), "{error}");
        std::fs::write(&root, "mod gone;").unwrap();
        let error = Tree::read(&root).err().unwrap().to_string();
        assert!(error.contains("gone.rs"), "{error}");
    }
}
