//! The packages that become PTX, or run to make it, as the lock file has them.
//!
//! They are found from [`CRATES`], of which the manifests tell dependencies from those of tests.
//! From there on the lock file is followed: it has no dependencies of tests of packages from
//! elsewhere. It knows neither features nor targets, so there may be one too many, never too few.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::Value;

use super::settings::{Settings, parse};
use super::{CRATES, Files};

/// Name, version, source and checksum of each package, sorted, one text for each.
///
/// # Errors
/// When the lock file misses a package, or is no TOML.
pub(super) fn packages(files: &Files, settings: &Settings) -> Result<BTreeSet<String>> {
    let lock = parse(files, "Cargo.lock")?;
    let mut found = BTreeSet::new();
    let mut waiting = CRATES.to_vec();
    while let Some(reference) = waiting.pop() {
        let package = elements(&lock["package"])
            .find(|package| refers_to(reference, package))
            .with_context(|| format!("Cargo.lock has no {reference}: run cargo check"))?;
        if found.insert(identity(package)) {
            waiting.extend(used(package, settings));
        }
    }
    Ok(found)
}

fn identity(package: &Value) -> String {
    ["name", "version", "source", "checksum"].map(|key| text(package, key)).join(" ")
}

/// References to the packages that `package` needs, without those of its tests.
fn used<'a>(package: &'a Value, settings: &Settings) -> impl Iterator<Item = &'a str> {
    let direct = settings.direct(text(package, "name"));
    let references = elements(&package["dependencies"]).filter_map(Value::as_str);
    references.filter(move |reference| {
        let name = reference.split(' ').next().unwrap_or_default();
        direct.as_ref().is_none_or(|direct| direct.contains(name))
    })
}

/// Whether `reference` is the name of `package`, or its name and version, or these and its source:
/// as much as tells it from others.
fn refers_to(reference: &str, package: &Value) -> bool {
    let source = format!("({})", text(package, "source"));
    let known = [text(package, "name"), text(package, "version"), &source];
    reference.split(' ').zip(known).all(|(said, known)| said == known)
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
