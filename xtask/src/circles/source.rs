//! What the files of a target define and name, without their tests.
//!
//! Modules stand in the order in which they are found, the root first. Every path of the code is
//! kept as it is written, with the module in which it stands: [`names`](super::names) finds what it
//! means. `use` statements and items within functions count as their module's. What a macro is
//! called with, and its rules, are searched for paths as tokens.

mod test;
mod tokens;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ImplItemFn, Item, ItemMod, ItemUse, Macro, UseTree, Visibility};

/// A library, a program, an example or a benchmark.
#[derive(Default)]
pub(super) struct Target {
    pub(super) files: Vec<PathBuf>,
    pub(super) modules: Vec<Module>,
    /// Each path of the code, after the module in which it stands. Re-exports are none.
    pub(super) paths: Vec<(usize, Vec<String>)>,
}

impl Target {
    /// Whether `module`, or a module around it, stands in `file`.
    pub(super) fn stands_in(&self, module: usize, file: usize) -> bool {
        let outwards = std::iter::successors(Some(module), |inner| self.modules[*inner].parent);
        outwards.into_iter().any(|module| self.modules[module].file == file)
    }
}

/// A module, in a file of its own or not.
pub(super) struct Module {
    /// The file in which it stands, an index in [`Target::files`].
    pub(super) file: usize,
    /// The module around it; `None` for the root.
    pub(super) parent: Option<usize>,
    /// What its names mean: more than one thing where an item and a module have the same, or `cfg`
    /// chooses.
    pub(super) names: BTreeMap<String, Vec<Meaning>>,
    /// Modules of which it has all names.
    pub(super) globs: Vec<Vec<String>>,
}

/// What a name stands for in a module.
pub(super) enum Meaning {
    /// An item of this file.
    Item(usize),
    /// This module.
    Module(usize),
    /// Whatever this path means.
    Use(Vec<String>),
}

/// Reads the target whose first file is `start`.
///
/// # Errors
/// When a file is missing, or is no Rust.
pub(super) fn read(start: &Path) -> Result<Target> {
    let folder = start.parent().context("a file stands in no folder")?;
    let mut reader = Reader::default();
    reader.add_module(None, 0);
    reader.add_file(0, start.to_owned(), folder.to_owned());
    while let Some((module, folder)) = reader.waiting.pop_front() {
        let path = &reader.target.files[reader.target.modules[module].file];
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let file =
            syn::parse_file(&text).with_context(|| format!("cannot parse {}", path.display()))?;
        (reader.module, reader.folder) = (module, folder);
        reader.visit_file(&file);
    }
    Ok(reader.target)
}

#[derive(Default)]
struct Reader {
    target: Target,
    /// The module that is read, and the folder with the files of the modules in it.
    module: usize,
    folder: PathBuf,
    /// Modules in files that are yet to be read, each with its folder.
    waiting: VecDeque<(usize, PathBuf)>,
}

impl Reader {
    /// Adds a module that stands in `file`, and returns its index.
    fn add_module(&mut self, parent: Option<usize>, file: usize) -> usize {
        let (names, globs) = (BTreeMap::new(), Vec::new());
        self.target.modules.push(Module { file, parent, names, globs });
        self.target.modules.len() - 1
    }

    fn add_file(&mut self, module: usize, path: PathBuf, folder: PathBuf) {
        self.target.files.push(path);
        self.waiting.push_back((module, folder));
    }

    fn define(&mut self, module: usize, name: String, meaning: Meaning) {
        self.target.modules[module].names.entry(name).or_default().push(meaning);
    }

    /// Adds what `tree` imports, below the path `prefix`.
    fn import(&mut self, tree: &UseTree, mut prefix: Vec<String>, private: bool) {
        let name = match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                return self.import(&path.tree, prefix, private);
            }
            UseTree::Group(group) => {
                let trees = group.items.iter();
                return trees.for_each(|tree| self.import(tree, prefix.clone(), private));
            }
            UseTree::Glob(_) => None,
            UseTree::Name(name) => Some((&name.ident, &name.ident)),
            UseTree::Rename(name) => Some((&name.ident, &name.rename)),
        };
        self.import_one(name, prefix, private);
    }

    /// Adds the import of `name`, and the name that it has here, from the module or item `path`, or
    /// of all names there.
    fn import_one(&mut self, name: Option<(&Ident, &Ident)>, mut path: Vec<String>, private: bool) {
        if let Some((ident, _)) = name.filter(|(ident, _)| *ident != "self") {
            path.push(ident.to_string());
        }
        if private {
            self.target.paths.push((self.module, path.clone()));
        }
        match (name, path.last().cloned()) {
            (None, _) => self.target.modules[self.module].globs.push(path),
            (Some((_, here)), Some(last)) => {
                let here = if here == "self" { last } else { here.to_string() };
                self.define(self.module, here, Meaning::Use(path));
            }
            (Some(_), None) => {}
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = head(item);
        if test::only(attributes) {
            return;
        }
        let file = self.target.modules[self.module].file;
        let exported = attributes.iter().any(|it| it.path().is_ident("macro_export"));
        if let Some(name) = name {
            let module = if exported { 0 } else { self.module };
            self.define(module, name.to_string(), Meaning::Item(file));
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let name = module.ident.to_string();
        let folder = self.folder.join(&name);
        let file = match module.content {
            Some(_) => self.target.modules[self.module].file,
            None if test::named(&name) => return,
            None => self.target.files.len(),
        };
        let inner = self.add_module(Some(self.module), file);
        self.define(self.module, name, Meaning::Module(inner));
        let Some((_, items)) = &module.content else {
            let flat = folder.with_extension("rs");
            let path = if flat.exists() { flat } else { folder.join("mod.rs") };
            return self.add_file(inner, path, folder);
        };
        let outer = (self.module, std::mem::replace(&mut self.folder, folder));
        self.module = inner;
        items.iter().for_each(|item| self.visit_item(item));
        (self.module, self.folder) = outer;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_none() {
            let private = matches!(item.vis, Visibility::Inherited);
            self.import(&item.tree, Vec::new(), private);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !test::only(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names = path.segments.iter().map(|segment| segment.ident.to_string());
            self.target.paths.push((self.module, names.collect()));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        let paths = tokens::paths(call).into_iter();
        self.target.paths.extend(paths.map(|path| (self.module, path)));
    }

    /// Nothing of it is an item of this workspace.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// The attributes of `item`, and the name that it defines, where that is neither a module nor
/// imported.
fn head(item: &Item) -> (&[Attribute], Option<&Ident>) {
    match item {
        Item::Const(it) => (&it.attrs, Some(&it.ident)),
        Item::Enum(it) => (&it.attrs, Some(&it.ident)),
        Item::Fn(it) => (&it.attrs, Some(&it.sig.ident)),
        Item::Impl(it) => (&it.attrs, None),
        Item::Macro(it) => (&it.attrs, it.ident.as_ref()),
        Item::Mod(it) => (&it.attrs, None),
        Item::Static(it) => (&it.attrs, Some(&it.ident)),
        Item::Struct(it) => (&it.attrs, Some(&it.ident)),
        Item::Trait(it) => (&it.attrs, Some(&it.ident)),
        Item::Type(it) => (&it.attrs, Some(&it.ident)),
        Item::Union(it) => (&it.attrs, Some(&it.ident)),
        Item::Use(it) => (&it.attrs, None),
        _ => (&[], None),
    }
}
