//! What of the manifests and of cargo's configuration shapes the PTX.
//!
//! They are read as TOML, so that comments and layout do not count. A manifest of a crate loses
//! what serves its tests, that of the workspace keeps what a build of the kernels looks up there.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use serde_json::{Map, Value, json};

use super::{ARGUMENTS, CRATES, Files};

/// Tables of dependencies that are built for the kernels, or run to build them.
const DEPENDENCIES: [&str; 2] = ["dependencies", "build-dependencies"];

/// Tables of targets that are not part of the library.
const OTHER_TARGETS: [&str; 3] = ["bench", "example", "test"];

/// The manifests of the workspace and of [`CRATES`], and the configuration, without what does
/// not shape the PTX.
pub(super) struct Settings {
    workspace: Value,
    crates: [Value; CRATES.len()],
    configuration: Value,
}

impl Settings {
    /// The settings among `files`.
    ///
    /// # Errors
    /// When one is no TOML.
    pub(super) fn read(files: &Files) -> Result<Self> {
        let workspace = parse(files, "Cargo.toml")?;
        let mut configuration = parse(files, ".cargo/config.toml")?;
        remove(&mut configuration, "alias");
        let mut crates = CRATES.map(|_| Value::Null);
        for (name, manifest) in CRATES.iter().zip(&mut crates) {
            *manifest = parse(files, &format!("{name}/Cargo.toml"))?;
        }
        let optional = asks_for_features(&workspace, &crates);
        crates.iter_mut().for_each(|manifest| leave_library(manifest, optional));
        Ok(Self { workspace: used_of_workspace(&workspace, &crates), crates, configuration })
    }

    /// Equal texts for equal settings.
    pub(super) fn text(&self) -> String {
        let Self { workspace, crates, configuration } = self;
        let mut all = json!([workspace, crates, configuration]);
        remove_empty(&mut all);
        // Another crate of the workspace may ask serde_json for the order of the files.
        all.sort_all_objects();
        all.to_string()
    }

    /// Packages, by their names, that `name` of [`CRATES`] uses itself; `None` for others.
    pub(super) fn direct(&self, name: &str) -> Option<BTreeSet<&str>> {
        let at = CRATES.iter().position(|of| *of == name)?;
        let packages = declarations(&self.crates[at]).map(|(key, declared)| {
            let inherited = &self.workspace["dependencies"][key]["package"];
            declared["package"].as_str().or(inherited.as_str()).unwrap_or(key)
        });
        Some(packages.collect())
    }
}

/// What a build of `crates` looks up in the manifest of the workspace.
fn used_of_workspace(manifest: &Value, crates: &[Value]) -> Value {
    let used = crates.iter().flat_map(declarations);
    let declared = &manifest["workspace"]["dependencies"];
    let declared: Map<_, _> = used.map(|(key, _)| (key.clone(), declared[key].clone())).collect();
    json!({
        "cargo-features": manifest["cargo-features"],
        "dependencies": declared,
        "package": manifest["workspace"]["package"],
        "patch": manifest["patch"],
        "release": manifest["profile"]["release"],
        "replace": manifest["replace"],
        "resolver": manifest["workspace"]["resolver"],
    })
}

/// A file as TOML; an empty one where there is none.
///
/// # Errors
/// When it is no TOML: one line, where the error of the parser has more.
pub(super) fn parse(files: &Files, name: &str) -> Result<Value> {
    let Some(text) = files.get(name) else { return Ok(json!({})) };
    toml::from_str(text).map_err(|error| anyhow!("{name} is no TOML: {}", error.message()))
}

/// Whether the build of the kernels may turn on a feature of one of [`CRATES`], and with it an
/// optional dependency.
fn asks_for_features(workspace: &Value, crates: &[Value]) -> bool {
    let declared_in_workspace = objects(&workspace["workspace"]["dependencies"]);
    let mut declared = crates.iter().flat_map(declarations).chain(declared_in_workspace);
    let of_crates =
        |key: &str, declared: &Value| CRATES.contains(&declared["package"].as_str().unwrap_or(key));
    ARGUMENTS.iter().any(|argument| argument.contains("features"))
        || crates.iter().any(|manifest| !manifest["features"]["default"].is_null())
        || declared
            .any(|(key, declared)| of_crates(key, declared) && !declared["features"].is_null())
}

/// Keys and values of the dependencies in a manifest, for any target.
fn declarations(manifest: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let targets = objects(&manifest["target"]).map(|(_, target)| target);
    let owners = std::iter::once(manifest).chain(targets);
    owners.flat_map(|owner| DEPENDENCIES.map(|kind| &owner[kind])).flat_map(objects)
}

/// Removes from a crate's manifest what its library is built without: optional dependencies too,
/// unless they may be on.
fn leave_library(manifest: &mut Value, optional: bool) {
    OTHER_TARGETS.iter().for_each(|kind| remove(manifest, kind));
    leave_built(manifest, optional);
    let targets = manifest.get_mut("target").and_then(Value::as_object_mut);
    targets.into_iter().flatten().for_each(|(_, target)| leave_built(target, optional));
}

fn leave_built(owner: &mut Value, optional: bool) {
    remove(owner, "dev-dependencies");
    for kind in DEPENDENCIES {
        let declared = owner.get_mut(kind).and_then(Value::as_object_mut);
        if let Some(declared) = declared.filter(|_| !optional) {
            declared.retain(|_, declared| declared["optional"] != true);
        }
    }
}

fn remove(table: &mut Value, key: &str) {
    table.as_object_mut().and_then(|table| table.remove(key));
}

/// Removes tables with nothing in them: the same as none.
fn remove_empty(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(remove_empty),
        Value::Object(table) => {
            table.values_mut().for_each(remove_empty);
            table.retain(|_, value| !value.as_object().is_some_and(Map::is_empty));
        }
        _ => {}
    }
}

fn objects(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}
