//! What a path means, through imports and re-exports, to the file that defines the item.
//!
//! Visibility is not looked at: the compiler has done so. Names of other crates mean nothing here.

use super::source::{Meaning, Module, Target};

/// What a path stands for.
#[derive(Clone)]
pub(super) enum Meant {
    /// An item, or something within it: its file and its name.
    Item(usize, String),
    /// A module, which alone is no import.
    Module(usize),
}

/// A walk along one path.
pub(super) struct Search<'a> {
    modules: &'a [Module],
    /// Names that are being looked up, with their modules: those that mean themselves end there.
    open: Vec<(usize, String)>,
}

impl<'a> Search<'a> {
    pub(super) fn new(target: &'a Target) -> Self {
        Self { modules: &target.modules, open: Vec::new() }
    }

    /// All that `path` means, as the code of `module` has it.
    pub(super) fn path(&mut self, module: usize, path: &[String]) -> Vec<Meant> {
        match path {
            [first, rest @ ..] => match self.keyword(module, first) {
                Some(start) => self.within(start, rest),
                None => {
                    let found = self.name(module, first);
                    self.beyond(found, rest)
                }
            },
            [] => Vec::new(),
        }
    }

    /// The module that `crate`, `self` or `super` means in `module`.
    fn keyword(&self, module: usize, name: &str) -> Option<usize> {
        match name {
            "crate" => Some(0),
            "self" => Some(module),
            "super" => self.modules[module].parent,
            _ => None,
        }
    }

    /// What `path` means in `module`, which the code names. A name that the module does not have is
    /// an item that a macro defines there.
    fn within(&mut self, module: usize, path: &[String]) -> Vec<Meant> {
        let [first, rest @ ..] = path else { return vec![Meant::Module(module)] };
        if let Some(start) = self.keyword(module, first) {
            return self.within(start, rest);
        }
        let found = self.name(module, first);
        if found.is_empty() {
            return vec![Meant::Item(self.modules[module].file, first.clone())];
        }
        self.beyond(found, rest)
    }

    /// What `rest` means after names that mean `found`: in modules, or in nothing but the item.
    fn beyond(&mut self, found: Vec<Meant>, rest: &[String]) -> Vec<Meant> {
        let modules: Vec<_> = found.iter().filter_map(Meant::module).collect();
        if rest.is_empty() || modules.is_empty() {
            return found;
        }
        modules.into_iter().flat_map(|module| self.within(module, rest)).collect()
    }

    /// What `name` means in `module`: what it defines or imports under this name, else what has
    /// this name where it imports all.
    fn name(&mut self, module: usize, name: &str) -> Vec<Meant> {
        let key = (module, name.to_owned());
        if self.open.contains(&key) {
            return Vec::new();
        }
        self.open.push(key);
        let Module { names, globs, .. } = &self.modules[module];
        let found = match names.get(name) {
            Some(meanings) => {
                meanings.iter().flat_map(|it| self.meaning(module, name, it)).collect()
            }
            None => globs.iter().flat_map(|glob| self.glob(module, glob, name)).collect(),
        };
        self.open.pop();
        found
    }

    fn meaning(&mut self, module: usize, name: &str, meaning: &Meaning) -> Vec<Meant> {
        match meaning {
            Meaning::Item(file) => vec![Meant::Item(*file, name.to_owned())],
            Meaning::Module(inner) => vec![Meant::Module(*inner)],
            Meaning::Use(path) => self.path(module, path),
        }
    }

    fn glob(&mut self, module: usize, glob: &[String], name: &str) -> Vec<Meant> {
        let sources = self.path(module, glob);
        sources
            .iter()
            .filter_map(Meant::module)
            .flat_map(|source| self.name(source, name))
            .collect()
    }
}

impl Meant {
    fn module(&self) -> Option<usize> {
        match self {
            Self::Module(module) => Some(*module),
            Self::Item(..) => None,
        }
    }
}
