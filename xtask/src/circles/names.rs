//! What the code of a file names: each name that another file defines is an arrow to it.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, Item, Pat, Stmt, Token};

use super::syntax::{Leaf, attributes, is_for_tests, is_re_export, leaves, names, path_of, text};
use super::tree::{Target, Tree};

/// From file to file, by their places in the tree.
pub(crate) type Arrows = BTreeMap<(usize, usize), Arrow>;

/// Why a file needs another one.
pub(crate) struct Arrow {
    /// The first line that does.
    pub(crate) line: usize,
    /// The path as it is written there.
    pub(crate) example: String,
    /// What the example stands for.
    pub(crate) first: String,
    /// All items that are named.
    pub(crate) items: BTreeSet<String>,
}

/// All arrows of the crate.
pub(crate) fn arrows(tree: &Tree) -> Arrows {
    let mut found = Arrows::new();
    for source in &tree.files {
        let mut walk = Walk {
            tree,
            module: source.module,
            own: Vec::new(),
            values: Vec::new(),
            types: Vec::new(),
            imports: Vec::new(),
            found: &mut found,
        };
        walk.visit_file(&source.code);
    }
    found
}

struct Walk<'t> {
    tree: &'t Tree,
    module: usize,
    /// What `Self` is.
    own: Vec<String>,
    /// Variables, which hide what has the same name outside.
    values: Vec<String>,
    /// Parameters and items of a function.
    types: Vec<String>,
    /// Names of the `use` lines of a function, and where they lead; no name for a glob.
    imports: Vec<(Option<String>, Vec<Target>)>,
    found: &'t mut Arrows,
}

impl Walk<'_> {
    /// What is brought into scope inside is gone afterwards.
    fn scope(&mut self, inside: impl FnOnce(&mut Self)) {
        let held = (self.values.len(), self.types.len(), self.imports.len());
        inside(self);
        self.values.truncate(held.0);
        self.types.truncate(held.1);
        self.imports.truncate(held.2);
    }

    fn targets(&self, path: &[String]) -> Vec<Target> {
        let Some((head, rest)) = path.split_first() else {
            return Vec::new();
        };
        if self.types.contains(head) {
            return Vec::new();
        }
        if head == "Self" {
            if self.own.is_empty() {
                return Vec::new();
            }
            let path = [&self.own, rest].concat();
            return self.tree.resolve(self.module, &path);
        }
        let from = |targets: &[Target], rest: &[String]| {
            rest.iter().fold(targets.to_vec(), |targets, name| {
                let next = targets.iter().flat_map(|t| self.tree.step(t, name));
                next.collect()
            })
        };
        for (name, targets) in self.imports.iter().rev() {
            let found = match name {
                Some(name) if name == head => from(targets, rest),
                Some(_) => continue,
                None => from(targets, path),
            };
            if !found.is_empty() {
                return found;
            }
        }
        self.tree.resolve(self.module, path)
    }

    fn path(&mut self, path: &[String], span: Span) {
        for target in self.targets(path) {
            self.arrow(&target, path, span);
        }
    }

    fn arrow(&mut self, target: &Target, path: &[String], span: Span) {
        let Target::Item { name, .. } = target else {
            return;
        };
        let from = self.tree.file_of(self.module);
        for to in self.tree.files_of(target) {
            if to == from {
                continue;
            }
            let line = span.start().line;
            let arrow = self.found.entry((from, to)).or_insert_with(|| Arrow {
                line,
                example: path.join("::"),
                first: name.clone(),
                items: BTreeSet::new(),
            });
            arrow.items.insert(name.clone());
        }
    }

    fn leaf(&mut self, leaf: &Leaf) {
        self.path(&leaf.path, leaf.span);
    }

    /// Paths and names in capitals in tokens that need not be Rust; `absolute` for those of
    /// `crate` and `super` only.
    fn tokens(&mut self, tokens: TokenStream, absolute: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if let TokenTree::Group(group) = &tokens[at] {
                self.tokens(group.stream(), absolute);
            }
            let TokenTree::Ident(head) = &tokens[at] else {
                at += 1;
                continue;
            };
            let before = at.checked_sub(1).map(|before| &tokens[before]);
            let is_variable = is_punct(before, '$') && head != "crate";
            let is_further = is_punct(before, '.') || at > 1 && is_double_colon(&tokens[at - 2..]);
            let mut path = vec![text(head)];
            at += 1;
            while is_double_colon(&tokens[at..])
                && let Some(TokenTree::Ident(next)) = tokens.get(at + 2)
            {
                path.push(text(next));
                at += 3;
            }
            let is_absolute = head == "crate" || head == "super";
            let is_told = path.len() > 1 || path[0].starts_with(char::is_uppercase);
            if is_told && !is_variable && !is_further && (is_absolute || !absolute) {
                self.path(&path, head.span());
            }
        }
    }

    /// The arguments of a macro, as what most macros take or else as tokens.
    fn arguments(&mut self, tokens: &TokenStream) {
        let list = Punctuated::<Expr, Token![,]>::parse_terminated;
        let repeated = |input: ParseStream| {
            let value: Expr = input.parse()?;
            input.parse::<Token![;]>()?;
            Ok((value, input.parse::<Expr>()?))
        };
        let matched = |input: ParseStream| {
            let value: Expr = input.parse()?;
            input.parse::<Token![,]>()?;
            let pattern = Pat::parse_multi_with_leading_vert(input)?;
            let guard = match input.parse::<Option<Token![if]>>()? {
                Some(_) => Some(input.parse::<Expr>()?),
                None => None,
            };
            input.parse::<Option<Token![,]>>()?;
            Ok((value, pattern, guard))
        };
        if let Ok(values) = list.parse2(tokens.clone()) {
            for value in &values {
                self.visit_expr(value);
            }
        } else if let Ok((value, count)) = repeated.parse2(tokens.clone()) {
            self.visit_expr(&value);
            self.visit_expr(&count);
        } else if let Ok((value, pattern, guard)) = matched.parse2(tokens.clone()) {
            self.scope(|walk| {
                walk.visit_expr(&value);
                walk.visit_pat(&pattern);
                if let Some(guard) = &guard {
                    walk.visit_expr(guard);
                }
            });
        } else if let Ok(statements) = Block::parse_within.parse2(tokens.clone()) {
            self.scope(|walk| walk.statements(&statements));
        } else {
            self.tokens(tokens.clone(), false);
        }
    }

    fn statements(&mut self, statements: &[Stmt]) {
        // Items are in scope above their line, too.
        for statement in statements {
            match statement {
                Stmt::Item(Item::Use(import)) => {
                    for leaf in leaves(import) {
                        let targets = self.targets(&leaf.path);
                        self.imports.push((leaf.name, targets));
                    }
                }
                Stmt::Item(item) => self.types.extend(name_of(item)),
                _ => {}
            }
        }
        for statement in statements {
            self.visit_stmt(statement);
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        match item {
            Item::Mod(inner) => {
                let child = self.tree.child(self.module, &text(&inner.ident));
                if let (Some((_, items)), Some(child)) = (&inner.content, child) {
                    let outside = std::mem::replace(&mut self.module, child);
                    for item in items {
                        self.visit_item(item);
                    }
                    self.module = outside;
                }
            }
            Item::Use(import) if is_re_export(import) => {}
            Item::Use(import) => {
                for leaf in leaves(import) {
                    self.leaf(&leaf);
                }
            }
            Item::Macro(item) if item.ident.is_some() => {
                self.tokens(item.mac.tokens.clone(), true);
            }
            Item::Impl(item) => {
                let own = path_of(&item.self_ty).unwrap_or_default();
                let outside = std::mem::replace(&mut self.own, own);
                self.scope(|walk| visit::visit_item_impl(walk, item));
                self.own = outside;
            }
            _ => {
                // `Self` is the type itself, or whatever has the trait.
                let outside = std::mem::take(&mut self.own);
                self.scope(|walk| visit::visit_item(walk, item));
                self.own = outside;
            }
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attributes: &[Attribute] = match item {
            syn::ImplItem::Const(i) => &i.attrs,
            syn::ImplItem::Fn(i) => &i.attrs,
            syn::ImplItem::Type(i) => &i.attrs,
            syn::ImplItem::Macro(i) => &i.attrs,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            self.scope(|walk| visit::visit_impl_item(walk, item));
        }
    }

    fn visit_trait_item(&mut self, item: &'ast syn::TraitItem) {
        self.scope(|walk| visit::visit_trait_item(walk, item));
    }

    fn visit_generics(&mut self, generics: &'ast syn::Generics) {
        for parameter in &generics.params {
            match parameter {
                syn::GenericParam::Type(p) => self.types.push(text(&p.ident)),
                syn::GenericParam::Const(p) => self.types.push(text(&p.ident)),
                syn::GenericParam::Lifetime(_) => {}
            }
        }
        visit::visit_generics(self, generics);
    }

    fn visit_block(&mut self, block: &'ast Block) {
        self.scope(|walk| walk.statements(&block.stmts));
    }

    /// The value first: it does not see the names that it gets.
    fn visit_local(&mut self, local: &'ast syn::Local) {
        if is_for_tests(&local.attrs) {
            return;
        }
        if let Some(init) = &local.init {
            self.visit_expr(&init.expr);
            if let Some((_, diverge)) = &init.diverge {
                self.visit_expr(diverge);
            }
        }
        self.visit_pat(&local.pat);
    }

    fn visit_expr_let(&mut self, node: &'ast syn::ExprLet) {
        self.visit_expr(&node.expr);
        self.visit_pat(&node.pat);
    }

    fn visit_expr_if(&mut self, node: &'ast syn::ExprIf) {
        self.scope(|walk| visit::visit_expr_if(walk, node));
    }

    fn visit_expr_while(&mut self, node: &'ast syn::ExprWhile) {
        self.scope(|walk| visit::visit_expr_while(walk, node));
    }

    fn visit_expr_for_loop(&mut self, node: &'ast syn::ExprForLoop) {
        self.visit_expr(&node.expr);
        self.scope(|walk| {
            walk.visit_pat(&node.pat);
            walk.visit_block(&node.body);
        });
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.scope(|walk| visit::visit_arm(walk, arm));
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.scope(|walk| visit::visit_expr_closure(walk, closure));
    }

    /// A name in capitals is a constant or a variant: what is bound begins small.
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        let name = text(&pattern.ident);
        if name.starts_with(char::is_uppercase) {
            self.path(&[name], pattern.ident.span());
        } else {
            self.values.push(name);
        }
        if let Some((_, inner)) = &pattern.subpat {
            self.visit_pat(inner);
        }
    }

    fn visit_expr_path(&mut self, node: &'ast syn::ExprPath) {
        let is_variable = node.qself.is_none()
            && node
                .path
                .get_ident()
                .is_some_and(|i| self.values.contains(&text(i)));
        if !is_variable {
            visit::visit_expr_path(self, node);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none()
            && let Some(first) = path.segments.first()
        {
            self.path(&names(path), first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let path = names(&call.path);
        let span = call.path.segments[0].ident.span();
        let (head, name) = (&path[0], &path[path.len() - 1]);
        if (path.len() == 1 || head == "crate")
            && self.targets(&path).is_empty()
            && let Some(target) = self.tree.macro_named(name)
        {
            self.arrow(&target, &path, span);
        } else {
            self.path(&path, span);
        }
        self.arguments(&call.tokens);
    }

    /// `pub(in path)` names a module only.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone(), false);
            self.quoted(&list.tokens);
        }
    }
}

/// Attributes whose text is a path, as serde has them.
const PATHS: [&str; 10] = [
    "default",
    "deserialize_with",
    "from",
    "getter",
    "into",
    "remote",
    "serialize_with",
    "skip_serializing_if",
    "try_from",
    "with",
];

impl Walk<'_> {
    fn quoted(&mut self, tokens: &TokenStream) {
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                    self.quoted(&group.stream());
                }
                TokenTree::Ident(key) if PATHS.iter().any(|path| key == path) => {
                    if is_punct(tokens.get(at + 1), '=')
                        && let Some(TokenTree::Literal(value)) = tokens.get(at + 2)
                        && let Ok(value) = syn::parse_str::<syn::LitStr>(&value.to_string())
                        && let Ok(path) = value.parse::<syn::Path>()
                    {
                        self.quoted_path(&names(&path), key.span());
                    }
                }
                _ => {}
            }
        }
    }

    /// `with` names a module and means functions in it.
    fn quoted_path(&mut self, path: &[String], span: Span) {
        for target in self.targets(path) {
            if let Target::Module(_) = target {
                for inner in ["serialize", "deserialize"] {
                    for target in self.tree.step(&target, inner) {
                        self.arrow(&target, path, span);
                    }
                }
            } else {
                self.arrow(&target, path, span);
            }
        }
    }
}

fn name_of(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(i) => &i.ident,
        Item::Enum(i) => &i.ident,
        Item::Fn(i) => &i.sig.ident,
        Item::Static(i) => &i.ident,
        Item::Struct(i) => &i.ident,
        Item::Trait(i) => &i.ident,
        Item::Type(i) => &i.ident,
        Item::Union(i) => &i.ident,
        _ => return None,
    };
    Some(text(ident))
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == wanted)
}

fn is_double_colon(tokens: &[TokenTree]) -> bool {
    let joint = |p: &proc_macro2::Punct| p.as_char() == ':' && p.spacing() == Spacing::Joint;
    matches!(tokens.first(), Some(TokenTree::Punct(p)) if joint(p)) && is_punct(tokens.get(1), ':')
}
