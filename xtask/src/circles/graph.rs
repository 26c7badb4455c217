//! Which file imports which, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::names::{Meant, Search};
use super::source::Target;

/// The imports of a target's files.
pub(super) struct Graph<'a> {
    files: &'a [PathBuf],
    /// The items that the first file imports of the second; none without items, none of itself.
    imports: BTreeMap<(usize, usize), BTreeSet<String>>,
}

/// What one file imports of another.
pub(super) struct Import<'a> {
    pub(super) from: &'a Path,
    pub(super) to: &'a Path,
    pub(super) items: &'a BTreeSet<String>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(target: &'a Target) -> Self {
        let mut imports = BTreeMap::<_, BTreeSet<_>>::new();
        for (module, path) in &target.paths {
            let from = target.modules[*module].file;
            for meant in Search::new(target).path(*module, path) {
                match meant {
                    Meant::Item(to, name) if !target.stands_in(*module, to) => {
                        imports.entry((from, to)).or_default().insert(name);
                    }
                    Meant::Item(..) | Meant::Module(_) => {}
                }
            }
        }
        Self { files: &target.files, imports }
    }

    /// The sets of files, of two or more, each of which reaches all others of its set by imports.
    pub(super) fn circles(&self) -> Vec<BTreeSet<usize>> {
        let reached: Vec<_> = (0..self.files.len()).map(|file| self.reached(file)).collect();
        let circle = |file: usize| -> BTreeSet<usize> {
            reached[file].iter().copied().filter(|other| reached[*other].contains(&file)).collect()
        };
        let circles: BTreeSet<_> = (0..self.files.len()).map(circle).collect();
        circles.into_iter().filter(|circle| !circle.is_empty()).collect()
    }

    /// All files that `file` reaches by one import or more.
    fn reached(&self, file: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![file];
        while let Some(from) = waiting.pop() {
            let edges = self.imports.range((from, 0)..=(from, usize::MAX));
            waiting.extend(edges.map(|((_, to), _)| *to).filter(|to| reached.insert(*to)));
        }
        reached
    }

    /// The imports from and to files of `circle`.
    pub(super) fn within(&self, circle: &BTreeSet<usize>) -> impl Iterator<Item = Import<'_>> {
        let inner = |(from, to): &(usize, usize)| circle.contains(from) && circle.contains(to);
        let imports = self.imports.iter().filter(move |(ends, _)| inner(ends));
        imports.map(|((from, to), items)| {
            let [from, to] = [from, to].map(|file| self.files[*file].as_path());
            Import { from, to, items }
        })
    }
}
