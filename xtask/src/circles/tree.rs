//! The modules of a crate, what each of them names, and where a path leads.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use syn::{ImplItem, Item};

use super::syntax::{attributes, is_for_tests, leaves, path_of, text};
use crate::data::Result;

/// All files of a crate.
pub(crate) struct Tree {
    pub(crate) files: Vec<Source>,
    modules: Vec<Module>,
    /// Files of associated items, by module and name of the type, and name of the item.
    members: HashMap<(usize, String, String), BTreeSet<usize>>,
    /// Modules of `macro_rules!`, by name: their scope goes by the order of the text.
    macros: HashMap<String, usize>,
    imports: usize,
}

pub(crate) struct Source {
    /// Below the folder of the crate's root.
    pub(crate) name: String,
    pub(crate) module: usize,
    pub(crate) code: Rc<syn::File>,
}

struct Module {
    file: usize,
    parent: Option<usize>,
    names: HashMap<String, Vec<Name>>,
    globs: Vec<Import>,
    /// Type and names of the items of each `impl` without a trait.
    impls: Vec<(Vec<String>, Vec<String>)>,
    /// A macro is called for its items: there may be names that the text does not show.
    has_hidden_names: bool,
}

enum Name {
    Module(usize),
    Type,
    /// A function, constant or macro.
    Other,
    Import(Import),
}

struct Import {
    id: usize,
    path: Vec<String>,
}

/// The imports that are being followed, a glob with the name that is sought: one may lead back
/// to itself.
type Active = Vec<(usize, Option<String>)>;

/// Where a path leads within the crate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Module(usize),
    Item {
        module: usize,
        name: String,
        is_type: bool,
        /// Of a type: a variant, or a function or constant of an `impl`.
        member: Option<String>,
    },
}

impl Tree {
    /// Reads the files that belong to the crate of this root.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self {
            files: Vec::new(),
            modules: Vec::new(),
            members: HashMap::new(),
            macros: HashMap::new(),
            imports: 0,
        };
        let folder = root.parent().unwrap_or(Path::new(""));
        tree.file(root, folder, folder, None)?;
        tree.find_members();
        Ok(tree)
    }

    /// The module `name` that `module` declares.
    pub(crate) fn child(&self, module: usize, name: &str) -> Option<usize> {
        self.modules[module]
            .names
            .get(name)?
            .iter()
            .find_map(|n| match n {
                Name::Module(child) => Some(*child),
                _ => None,
            })
    }

    /// The files that define what the target is; none for a module.
    pub(crate) fn files_of(&self, target: &Target) -> BTreeSet<usize> {
        let Target::Item {
            module,
            name,
            member,
            ..
        } = target
        else {
            return BTreeSet::new();
        };
        let mut files = BTreeSet::from([self.modules[*module].file]);
        if let Some(member) = member {
            let key = (*module, name.clone(), member.clone());
            files.extend(self.members.get(&key).into_iter().flatten());
        }
        files
    }

    pub(crate) fn file_of(&self, module: usize) -> usize {
        self.modules[module].file
    }

    /// The macro of this name, wherever it is in the crate.
    pub(crate) fn macro_named(&self, name: &str) -> Option<Target> {
        self.macros
            .get(name)
            .map(|&module| item(module, name, false))
    }

    /// Where a path in `module` leads: nowhere if it is of another crate, to several places if
    /// a name has several meanings.
    pub(crate) fn resolve(&self, module: usize, path: &[String]) -> Vec<Target> {
        self.follow(module, path, &mut Vec::new())
    }

    /// One name further.
    pub(crate) fn step(&self, from: &Target, name: &str) -> Vec<Target> {
        self.step_by(from, name, &mut Vec::new())
    }

    fn follow(&self, module: usize, path: &[String], active: &mut Active) -> Vec<Target> {
        let Some((head, mut rest)) = path.split_first() else {
            return Vec::new();
        };
        let mut targets = match head.as_str() {
            "crate" => vec![Target::Module(0)],
            "self" => vec![Target::Module(module)],
            "super" => {
                let mut above = self.modules[module].parent;
                while let Some((name, further)) = rest.split_first()
                    && name == "super"
                {
                    above = above.and_then(|m| self.modules[m].parent);
                    rest = further;
                }
                above.map(Target::Module).into_iter().collect()
            }
            name => self.look_up(module, name, active),
        };
        for name in rest {
            targets = targets
                .iter()
                .flat_map(|target| self.step_by(target, name, active))
                .collect();
        }
        targets
    }

    fn step_by(&self, from: &Target, name: &str, active: &mut Active) -> Vec<Target> {
        match from {
            Target::Module(module) => {
                let found = self.look_up(*module, name, active);
                if found.is_empty() && self.modules[*module].has_hidden_names {
                    return vec![item(*module, name, true)];
                }
                found
            }
            Target::Item { is_type: false, .. } => Vec::new(),
            Target::Item {
                module,
                name: of,
                member,
                ..
            } => vec![Target::Item {
                module: *module,
                name: of.clone(),
                is_type: true,
                member: member.clone().or_else(|| Some(name.to_owned())),
            }],
        }
    }

    /// What `name` is in the scope of `module`; a glob gives only what nothing else does.
    fn look_up(&self, module: usize, name: &str, active: &mut Active) -> Vec<Target> {
        let mut targets = Vec::new();
        for meaning in self.modules[module].names.get(name).into_iter().flatten() {
            match meaning {
                Name::Module(child) => targets.push(Target::Module(*child)),
                Name::Type => targets.push(item(module, name, true)),
                Name::Other => targets.push(item(module, name, false)),
                Name::Import(import) => targets.extend(self.import(module, import, active)),
            }
        }
        if targets.is_empty() {
            for glob in &self.modules[module].globs {
                let key = (glob.id, Some(name.to_owned()));
                if active.contains(&key) {
                    continue;
                }
                active.push(key);
                for from in self.follow(module, &glob.path, active) {
                    // What a type holds is not listed; a glob of one names the type itself.
                    if let Target::Module(source) = from {
                        targets.extend(self.look_up(source, name, active));
                    }
                }
                active.pop();
            }
        }
        targets.dedup();
        targets
    }

    fn import(&self, module: usize, import: &Import, active: &mut Active) -> Vec<Target> {
        let key = (import.id, None);
        if active.contains(&key) {
            return Vec::new();
        }
        active.push(key);
        let targets = self.follow(module, &import.path, active);
        active.pop();
        targets
    }

    /// `children` is the folder of the files of the modules that this one declares.
    fn file(
        &mut self,
        path: &Path,
        children: &Path,
        top: &Path,
        parent: Option<usize>,
    ) -> Result<usize> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let code = syn::parse_file(&text).map_err(|e| {
            let at = e.span().start();
            format!("{}:{}:{}: {e}", path.display(), at.line, at.column + 1)
        })?;
        let name = path
            .strip_prefix(top)
            .unwrap_or(path)
            .to_string_lossy()
            .replace('\\', "/");
        let file = self.files.len();
        let module = self.module(file, parent);
        let code = Rc::new(code);
        self.files.push(Source {
            name,
            module,
            code: Rc::clone(&code),
        });
        self.items(module, &code.items, children, top)?;
        Ok(module)
    }

    fn module(&mut self, file: usize, parent: Option<usize>) -> usize {
        self.modules.push(Module {
            file,
            parent,
            names: HashMap::new(),
            globs: Vec::new(),
            impls: Vec::new(),
            has_hidden_names: false,
        });
        self.modules.len() - 1
    }

    fn items(&mut self, module: usize, items: &[Item], folder: &Path, top: &Path) -> Result<()> {
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            if let Item::Mod(inner) = item {
                let name = text(&inner.ident);
                let below = folder.join(&name);
                let child = if let Some((_, items)) = &inner.content {
                    let child = self.module(self.modules[module].file, Some(module));
                    self.items(child, items, &below, top)?;
                    child
                } else {
                    let beside = folder.join(format!("{name}.rs"));
                    let inside = below.join("mod.rs");
                    let path = if inside.is_file() { inside } else { beside };
                    self.file(&path, &below, top, Some(module))?
                };
                self.name(module, name, Name::Module(child));
            } else if let Item::Use(import) = item {
                for leaf in leaves(import) {
                    self.imports += 1;
                    let import = Import {
                        id: self.imports,
                        path: leaf.path,
                    };
                    match leaf.name {
                        Some(name) => self.name(module, name, Name::Import(import)),
                        None => self.modules[module].globs.push(import),
                    }
                }
            } else {
                self.define(module, item);
            }
        }
        Ok(())
    }

    fn define(&mut self, module: usize, item: &Item) {
        let (ident, meaning) = match item {
            Item::Enum(i) => (&i.ident, Name::Type),
            Item::Struct(i) => (&i.ident, Name::Type),
            Item::Trait(i) => (&i.ident, Name::Type),
            Item::Type(i) => (&i.ident, Name::Type),
            Item::Union(i) => (&i.ident, Name::Type),
            Item::Const(i) => (&i.ident, Name::Other),
            Item::Static(i) => (&i.ident, Name::Other),
            Item::Fn(i) => (&i.sig.ident, Name::Other),
            Item::Macro(i) => {
                let Some(ident) = &i.ident else {
                    self.modules[module].has_hidden_names = true;
                    return;
                };
                self.macros.insert(text(ident), module);
                (ident, Name::Other)
            }
            Item::Impl(i) if i.trait_.is_none() => {
                if let Some(of) = path_of(&i.self_ty) {
                    let members = i.items.iter().filter_map(member).collect();
                    self.modules[module].impls.push((of, members));
                }
                return;
            }
            _ => return,
        };
        self.name(module, text(ident), meaning);
    }

    fn name(&mut self, module: usize, name: String, meaning: Name) {
        self.modules[module]
            .names
            .entry(name)
            .or_default()
            .push(meaning);
    }

    fn find_members(&mut self) {
        let mut members: HashMap<_, BTreeSet<usize>> = HashMap::new();
        for (at, module) in self.modules.iter().enumerate() {
            for (of, items) in &module.impls {
                for target in self.resolve(at, of) {
                    let Target::Item {
                        module: home, name, ..
                    } = target
                    else {
                        continue;
                    };
                    for member in items {
                        let key = (home, name.clone(), member.clone());
                        members.entry(key).or_default().insert(module.file);
                    }
                }
            }
        }
        self.members = members;
    }
}

fn item(module: usize, name: &str, is_type: bool) -> Target {
    Target::Item {
        module,
        name: name.to_owned(),
        is_type,
        member: None,
    }
}

fn member(item: &ImplItem) -> Option<String> {
    match item {
        ImplItem::Fn(i) => Some(text(&i.sig.ident)),
        ImplItem::Const(i) => Some(text(&i.ident)),
        _ => None,
    }
}
