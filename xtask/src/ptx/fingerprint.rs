//! One number for everything in the workspace that shapes the PTX.
//!
//! [`read`] gathers files, [`fingerprint`] hashes of each what can reach a compiler of kernels:
//! of a source its code without its tests and comments, of what cargo reads the parts that
//! [`settings`] picks, of the lock file the packages of [`packages`], and the flags of the build.
//! Line ends do not matter, nor does the layout of a manifest.

mod packages;
mod settings;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use settings::Settings;
use sha2::{Digest, Sha256};

use super::build::{ARGUMENTS, FLAGS};
use super::hexadecimal;

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
    insert_existing(&mut files, root, ".cargo/config.toml".into())?;
    for name in CRATES {
        insert(&mut files, root, format!("{name}/Cargo.toml"))?;
        insert_existing(&mut files, root, format!("{name}/build.rs"))?;
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

/// A file that need not be there.
fn insert_existing(files: &mut Files, root: &Path, name: String) -> Result<()> {
    if root.join(&name).exists() { insert(files, root, name) } else { Ok(()) }
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
        } else if name.ends_with(".rs") && !is_of_tests(&name) {
            insert(files, root, name)?;
        }
    }
    Ok(())
}

/// Whether a file has tests and nothing else: `tests.rs`, `pinned_tests.rs`.
fn is_of_tests(name: &str) -> bool {
    name.ends_with("/tests.rs") || name.ends_with("_tests.rs")
}

/// The SHA-256 of what shapes the PTX, in hexadecimal digits.
///
/// # Errors
/// When a manifest, the configuration or the lock file is none.
pub(super) fn fingerprint(files: &Files) -> Result<String> {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        // Its length tells where a text ends: none can pass for the end of another.
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".rs")) {
        add(name);
        add(&code(text));
    }
    let settings = Settings::read(files)?;
    add(&settings.text());
    let packages = packages::packages(files, &settings)?;
    packages.iter().for_each(|package| add(package));
    FLAGS.iter().chain(&ARGUMENTS).for_each(|flag| add(flag));
    Ok(hexadecimal(&hash.finalize()))
}

/// A source without its comments, without the module of tests that ends it, and without lines that declare
/// another.
fn code(text: &str) -> String {
    let mut all: Vec<&str> = text.lines().collect();
    let declares_tests = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].ends_with("_tests;");
    while let Some(at) = all.windows(2).position(declares_tests) {
        all.drain(at..at + 2);
    }
    let begins_tests =
        |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests");
    let end = all.windows(2).position(begins_tests).unwrap_or(all.len());
    lines(all[..end].iter().copied().filter(|line| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with("//")
    }))
}

fn lines<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests;
