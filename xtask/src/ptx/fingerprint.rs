//! One number for everything in the workspace that shapes the PTX.
//!
//! [`read`] gathers files, [`fingerprint`] hashes of each what can reach a compiler of kernels:
//! of a source its code without its tests and comments, of the workspace its release profile and
//! the dependencies of `srlg-core`, and the flags of the build. Line ends do not matter.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::build::{ARGUMENTS, FLAGS};

/// Crates that become PTX, as folders of the workspace.
const CRATES: [&str; 2] = ["srlg-core", "srlg-kernels"];

/// Texts by their path from the root of the workspace, with `/` on every system.
pub(super) type Files = BTreeMap<String, String>;

/// Every file that [`fingerprint`] looks into.
///
/// # Errors
/// When one cannot be read.
pub(super) fn read(root: &Path) -> Result<Files> {
    let mut files = Files::new();
    for name in ["Cargo.toml", "Cargo.lock"] {
        insert(&mut files, root, name.into())?;
    }
    for name in CRATES {
        insert(&mut files, root, format!("{name}/Cargo.toml"))?;
        insert_sources(&mut files, root, &format!("{name}/src"))?;
    }
    Ok(files)
}

fn insert(files: &mut Files, root: &Path, name: String) -> Result<()> {
    let text =
        fs::read_to_string(root.join(&name)).with_context(|| format!("cannot read {name}"))?;
    files.insert(name, text);
    Ok(())
}

/// Sources in `folder` and below it, without files of tests.
fn insert_sources(files: &mut Files, root: &Path, folder: &str) -> Result<()> {
    let entries =
        fs::read_dir(root.join(folder)).with_context(|| format!("cannot read {folder}"))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {folder}"))?;
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            insert_sources(files, root, &name)?;
        } else if name.ends_with(".rs") && !name.ends_with("/tests.rs") {
            insert(files, root, name)?;
        }
    }
    Ok(())
}

/// The SHA-256 of what shapes the PTX, in hexadecimal digits.
pub(super) fn fingerprint(files: &Files) -> String {
    let dependencies = dependencies(files);
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        // Its length tells where a text ends: none can pass for the end of another.
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    for (name, text) in files {
        add(name);
        add(&match name.as_str() {
            "Cargo.toml" => workspace(text, &dependencies),
            "Cargo.lock" => versions(text, &dependencies),
            name if name.ends_with(".rs") => code(text),
            _ => lines(text.lines()),
        });
    }
    FLAGS.iter().chain(&ARGUMENTS).for_each(|flag| add(flag));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A source without its comments, and without the module of tests that ends it.
fn code(text: &str) -> String {
    let all: Vec<&str> = text.lines().collect();
    let begins_tests =
        |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests");
    let end = all.windows(2).position(begins_tests).unwrap_or(all.len());
    lines(all[..end].iter().copied().filter(|line| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with("//")
    }))
}

/// Names under `[dependencies]` of the crates that become PTX.
fn dependencies(files: &Files) -> Vec<&str> {
    let manifests = CRATES.iter().filter_map(|name| files.get(&format!("{name}/Cargo.toml")));
    manifests.flat_map(|manifest| table(manifest, "[dependencies]")).filter_map(key).collect()
}

/// Of the workspace's manifest: the release profile, and the lines of `dependencies`.
fn workspace(manifest: &str, dependencies: &[&str]) -> String {
    let used = |line: &&str| key(line).is_some_and(|name| dependencies.contains(&name));
    let declared = table(manifest, "[workspace.dependencies]").filter(used);
    lines(table(manifest, "[profile.release]").chain(declared))
}

/// Of the lock file: the lines of names and versions of `dependencies`.
fn versions(lock: &str, dependencies: &[&str]) -> String {
    let text: Vec<&str> = lock.lines().collect();
    let used = |pair: &&[&str]| {
        let name = pair[0].strip_prefix("name = \"").and_then(|rest| rest.strip_suffix('"'));
        name.is_some_and(|name| dependencies.contains(&name))
    };
    lines(text.windows(2).filter(used).flatten().copied())
}

/// The lines of one table of a manifest.
fn table<'a>(manifest: &'a str, header: &str) -> impl Iterator<Item = &'a str> {
    let rest = manifest.lines().skip_while(move |line| line.trim_end() != header).skip(1);
    rest.take_while(|line| !line.starts_with('['))
}

/// The first part of the key of a line of a manifest.
fn key(line: &str) -> Option<&str> {
    let end =
        line.find(|letter: char| !letter.is_alphanumeric() && letter != '-' && letter != '_')?;
    Some(&line[..end]).filter(|name| !name.is_empty())
}

fn lines<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests;
