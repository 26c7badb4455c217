//! The SHA-256 hash of everything in the workspace that affects the compilation of the kernels.
//!
//! The sources and manifests of [`CRATES`], except test files, and the file `.cargo/config.toml` are hashed completely,
//! including comments. Only the parts of the workspace manifest and of the lock file that affect the kernels are
//! hashed. Dependencies of other workspace members therefore have no effect.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::build::{ARGUMENTS, FLAGS};
use super::hexadecimal;

/// Folders of the workspace crates that are compiled to PTX.
const CRATES: [&str; 2] = ["srlg-core", "srlg-kernels"];

/// Files that are only partly hashed.
const SHARED: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// Contents of files, keyed by path relative to the root of the workspace.
type Files = BTreeMap<String, String>;

/// Returns the fingerprint of the workspace at `root`, in hexadecimal digits.
pub(super) fn of(root: &Path) -> Result<String> {
    fingerprint(&read(root)?)
}

fn read(root: &Path) -> Result<Files> {
    let mut files = Files::new();
    for path in CRATES.iter().chain(&SHARED).chain(&[".cargo/config.toml"]) {
        insert(&mut files, root, path)?;
    }
    Ok(files)
}

/// Inserts the file at `path`, or all sources and manifests in the folder at `path` except tests.
fn insert(files: &mut Files, root: &Path, path: &str) -> Result<()> {
    let (full, failure) = (root.join(path), || format!("cannot read {path}"));
    if full.is_dir() {
        for entry in fs::read_dir(full).with_context(failure)? {
            let name = entry.with_context(failure)?.file_name().to_string_lossy().into_owned();
            let stem = name.trim_end_matches(".rs");
            if stem != "tests" && !stem.ends_with("_tests") {
                insert(files, root, &format!("{path}/{name}"))?;
            }
        }
    } else if [".rs", ".toml", ".lock"].iter().any(|end| path.ends_with(end)) {
        let text = fs::read_to_string(full).with_context(failure)?;
        files.insert(path.to_owned(), text.replace("\r\n", "\n"));
    }
    Ok(())
}

fn fingerprint(files: &Files) -> Result<String> {
    let packages = packages(files)?;
    let settings = settings(files, &packages)?;
    let whole = files.iter().filter(|(path, _)| !SHARED.contains(&path.as_str()));
    let texts = whole.flat_map(|(path, text)| [path.as_str(), text]);
    let texts = texts.chain([&*settings]).chain(packages.iter().map(String::as_str));
    let mut hash = Sha256::new();
    for text in texts.chain(FLAGS).chain(ARGUMENTS) {
        // The length before each text ensures that one text cannot be mistaken for the end of another.
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    Ok(hexadecimal(&hash.finalize()))
}

/// Returns the name, version, source and checksum of each package that is compiled into srlg-kernels.
fn packages(files: &Files) -> Result<BTreeSet<String>> {
    let lock = parse(files, "Cargo.lock")?;
    let mut found = BTreeSet::new();
    let mut waiting = CRATES.map(str::to_owned).to_vec();
    while let Some(reference) = waiting.pop() {
        // A reference consists of a name, or of a name and a version.
        let is_meant = |package: &&Value| {
            reference.split(' ').zip(["name", "version"]).all(|(given, key)| package[key] == given)
        };
        let package = elements(&lock["package"])
            .find(is_meant)
            .with_context(|| format!("Cargo.lock has no {reference}; run cargo check"))?;
        let identity = ["name", "version", "source", "checksum"].map(|key| text(package, key));
        if found.insert(identity.join(" ")) {
            waiting.extend(dependencies(files, package)?);
        }
    }
    Ok(found)
}

/// Returns the dependencies of `package`, as the lock file names them. For [`CRATES`], dev-dependencies and optional
/// dependencies are excluded, because the kernels are built without them. For all other packages, optional dependencies
/// are included, because the lock file does not list the enabled features.
fn dependencies(files: &Files, package: &Value) -> Result<Vec<String>> {
    let path = format!("{}/Cargo.toml", text(package, "name"));
    let manifest = if files.contains_key(&path) { parse(files, &path)? } else { Value::Null };
    let is_built = |reference: &&str| {
        let name = reference.split(' ').next().unwrap_or_default();
        let declared = &manifest["dependencies"][name];
        let is_for_tests = declared.is_null() && !manifest["dev-dependencies"][name].is_null();
        declared["optional"] != true && !is_for_tests
    };
    let references = elements(&package["dependencies"]).filter_map(Value::as_str);
    Ok(references.filter(is_built).map(str::to_owned).collect())
}

/// Returns the settings in the workspace manifest that affect the build of `packages`.
fn settings(files: &Files, packages: &BTreeSet<String>) -> Result<String> {
    let manifest = parse(files, "Cargo.toml")?;
    let workspace = &manifest["workspace"];
    let is_built = |name| packages.iter().any(|package| package.split(' ').next() == Some(name));
    let dependencies = workspace["dependencies"].as_object().into_iter().flatten();
    let dependencies: BTreeMap<_, _> = dependencies.filter(|(name, _)| is_built(name)).collect();
    let mut settings = json!([
        [manifest["profile"]["release"], manifest["patch"], manifest["replace"]],
        [workspace["package"], workspace["resolver"], dependencies],
    ]);
    // Another workspace member may enable the feature of serde_json that keeps the order of the file.
    settings.sort_all_objects();
    Ok(settings.to_string())
}

/// Parses a file as TOML. The error message has only one line, unlike that of the TOML parser.
fn parse(files: &Files, path: &str) -> Result<Value> {
    toml::from_str(&files[path])
        .map_err(|error| anyhow!("cannot parse {path}: {}", error.message()))
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn edited(path: &str, old: &str, new: &str) -> Files {
        let mut files = read(crate::root()).expect("this workspace");
        let text = files.get_mut(path).expect("a file of the workspace");
        assert!(text.contains(old), "{path} has no {old:?}");
        *text = text.replacen(old, new, 1);
        files
    }

    fn is_changed(path: &str, old: &str, new: &str) -> bool {
        let before = of(crate::root()).expect("this workspace");
        fingerprint(&edited(path, old, new)).expect("files that can be read") != before
    }

    #[test]
    fn sources_and_settings_of_the_kernels_change_it_and_those_of_others_do_not() {
        assert!(is_changed("srlg-core/src/lib.rs", "pub use", "pub  use"));
        assert!(is_changed("srlg-core/Cargo.toml", "libm.workspace", "libm .workspace"));
        assert!(is_changed("Cargo.toml", "edition = \"2024\"", "edition = \"2021\""));
        assert!(is_changed("Cargo.toml", "[profile.dev]", "[profile.release]\nlto = false"));
        assert!(is_changed("Cargo.toml", "libm = { version = \"0", "libm = { version = \"1"));
        assert!(!is_changed("Cargo.toml", "anyhow = \"1", "anyhow = \"2"));
        assert!(!is_changed("Cargo.toml", "todo = \"warn\"", "todo = \"deny\""));
    }

    #[test]
    fn packages_of_the_kernels_change_it_and_others_do_not() {
        let updated = |name: &str| {
            let version = format!("name = \"{name}\"\nversion = \"");
            is_changed("Cargo.lock", &version, &format!("{version}9"))
        };
        assert!(["libm", "proc-macro2", "zerocopy-derive"].iter().all(|name| updated(name)));
        assert!(!["netflow_parser", "proptest", "serde"].iter().any(|name| updated(name)));
        let more = "[[package]]\nname = \"unrelated\"\nversion = \"1.0.0\"\n\n[[package]]";
        assert!(!is_changed("Cargo.lock", "[[package]]", more));
    }

    #[test]
    fn packages_are_those_that_cargo_builds_and_files_are_without_tests() {
        let files = read(crate::root()).expect("this workspace");
        assert!(files.contains_key("srlg-core/src/counter/tagged/lines.rs"));
        assert!(!files.keys().any(|path| path.contains("tests")));
        let tree = "tree --locked --package=srlg-kernels --edges=normal,build --prefix=none";
        let tree = Command::new(env!("CARGO")).args(tree.split(' ')).output().expect("cargo");
        let tree = String::from_utf8(tree.stdout).expect("names");
        let packages = packages(&files).expect("a lock file");
        assert!(tree.contains("\nlibm v") && tree.contains("\nproc-macro2 v"), "{tree}");
        for line in tree.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let start = format!("{} {} ", words[0], words[1].trim_start_matches('v'));
            assert!(packages.iter().any(|package| package.starts_with(&start)), "{line}");
        }
    }

    #[test]
    fn broken_lock_file_is_refused_in_one_line() {
        let result = |old, new| fingerprint(&edited("Cargo.lock", old, new));
        let reason = |old, new| result(old, new).expect_err("a broken lock file").to_string();
        insta::assert_snapshot!("hole", reason("name = \"libm\"", "name = \"libn\""));
        insta::assert_snapshot!("conflict", reason("[[package]]", "<<<<<<< HEAD"));
    }
}
