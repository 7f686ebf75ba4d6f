//! What is asked of the source of an item alone.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Token, Type, UseTree, Visibility};

/// One name of a `use`; without a name for all names of the path.
pub(crate) struct Leaf {
    pub(crate) path: Vec<String>,
    pub(crate) name: Option<String>,
    pub(crate) span: Span,
}

/// What a `use` brings in; nothing if it says itself that it is of another crate.
pub(crate) fn leaves(import: &syn::ItemUse) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    if import.leading_colon.is_none() {
        gather(&import.tree, &mut Vec::new(), &mut leaves);
    }
    leaves
}

fn gather(tree: &UseTree, path: &mut Vec<String>, leaves: &mut Vec<Leaf>) {
    let mut leaf = |ident: &syn::Ident, name: &syn::Ident| {
        let mut path = path.clone();
        let is_self = ident == "self" && !path.is_empty();
        if !is_self {
            path.push(text(ident));
        }
        let name = if is_self && name == "self" {
            path.last().cloned()
        } else {
            Some(text(name))
        };
        leaves.push(Leaf {
            path,
            name,
            span: ident.span(),
        });
    };
    match tree {
        UseTree::Path(inner) => {
            path.push(text(&inner.ident));
            gather(&inner.tree, path, leaves);
            path.pop();
        }
        UseTree::Name(inner) => leaf(&inner.ident, &inner.ident),
        UseTree::Rename(inner) => leaf(&inner.ident, &inner.rename),
        UseTree::Glob(inner) => leaves.push(Leaf {
            path: path.clone(),
            name: None,
            span: inner.star_token.spans[0],
        }),
        UseTree::Group(inner) => {
            for tree in &inner.items {
                gather(tree, path, leaves);
            }
        }
    }
}

/// Whether a `use` is for others: such a line is no arrow.
pub(crate) fn is_re_export(import: &syn::ItemUse) -> bool {
    !matches!(import.vis, Visibility::Inherited)
}

/// The names of a type that is written as a path.
pub(crate) fn path_of(of: &Type) -> Option<Vec<String>> {
    match of {
        Type::Path(of) if of.qself.is_none() => Some(names(&of.path)),
        _ => None,
    }
}

pub(crate) fn names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|s| text(&s.ident)).collect()
}

/// Without the `r#` of a raw name: files are not called so.
pub(crate) fn text(ident: &syn::Ident) -> String {
    ident.unraw().to_string()
}

/// Whether only tests have what bears these attributes.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        path.is_ident("test")
            || path.is_ident("cfg")
                && attribute
                    .parse_args()
                    .is_ok_and(|condition| needs_test(&condition))
    })
}

fn needs_test(condition: &Meta) -> bool {
    let Meta::List(list) = condition else {
        return condition.path().is_ident("test");
    };
    let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    parts.is_ok_and(|parts| {
        list.path.is_ident("all") && parts.iter().any(needs_test)
            || list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(needs_test)
    })
}

pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::ExternCrate(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::ForeignMod(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::TraitAlias(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Union(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}
