//! `cargo xtask circles`: files of one crate that import each other.
//!
//! A file imports another when its code names an item that the other defines, by a private `use` or
//! by a path; a re-export stands for the file that defines the item. Declarations of modules,
//! re-exports, methods and tests import nothing; the uses that a file makes of what it re-exports
//! do. Nor does a module import what the modules around it define, of which it is a part. Each target of the workspace is looked at by
//! itself: cargo allows no circle between crates. There must be no circle, so that each file can be
//! read after those below it, and without those above it.

mod graph;
mod names;
mod source;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use graph::Graph;
use serde_json::Value;

use crate::program::cargo;

/// Prints the circles of all targets of the workspace at `root`.
///
/// # Errors
/// When there is a circle, and when a source cannot be read.
pub(crate) fn run(root: &Path) -> Result<()> {
    let (mut files, mut circles) = (BTreeSet::new(), 0);
    for (package, start) in targets(root)? {
        let target = source::read(&start)?;
        let graph = Graph::new(&target);
        for circle in graph.circles() {
            circles += 1;
            println!("{package}, a circle of {} files:", circle.len());
            graph.within(&circle).for_each(|import| println!("    {}", shown(&import, root)));
        }
        files.extend(target.files);
    }
    ensure!(
        circles == 0,
        "files that import each other, circles: {circles}; move what both sides need to a file that \
         imports neither"
    );
    println!("no import circles among {} files", files.len());
    Ok(())
}

/// One import as a line, with paths from `root`.
fn shown(import: &graph::Import<'_>, root: &Path) -> String {
    let [from, to] = [import.from, import.to].map(|file| file.strip_prefix(root).unwrap_or(file));
    let items: Vec<_> = import.items.iter().map(String::as_str).collect();
    format!("{} imports {} of {}", from.display(), items.join(", "), to.display())
}

/// Package and first file of each library, program, example and benchmark of the workspace.
fn targets(root: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut command = cargo();
    command.current_dir(root).stderr(Stdio::inherit());
    command.args(["metadata", "--locked", "--no-deps", "--format-version=1"]);
    let output = command.output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo metadata does not know the workspace's targets");
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let mut targets = Vec::new();
    for package in metadata["packages"].as_array().context("cargo metadata has no packages")? {
        let name = package["name"].as_str().context("a package has no name")?;
        for target in package["targets"].as_array().context("a package has no targets")? {
            let start = target["src_path"].as_str().context("a target has no file")?;
            if target["kind"] != serde_json::json!(["test"]) {
                targets.push((name.to_owned(), start.into()));
            }
        }
    }
    Ok(targets)
}
