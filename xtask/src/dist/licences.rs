//! Licences of the packages that are compiled into the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::program::cargo;

/// Starts of the names of files with licences or copyright notices, in lower case.
const NAMES: [&str; 6] = ["copying", "copyright", "licence", "license", "notice", "unlicense"];

/// Returns a list of all packages with their licences, followed by each text with the packages that contain it.
pub(super) fn of_packages(root: &Path) -> Result<String> {
    let mut packages = BTreeSet::new();
    let mut texts = BTreeMap::<String, BTreeSet<String>>::new();
    for (package, folder) in folders(root)? {
        packages.insert(package.clone());
        for text in texts_in(&folder)? {
            texts.entry(text).or_default().insert(package.clone());
        }
    }
    // Debian's source package of libpcap has one folder, whose name contains the version.
    let libpcap = fs::read_dir(root.join("target/libpcap")).into_iter().flatten().flatten();
    for folder in libpcap.filter(|entry| entry.path().is_dir()) {
        let licence = folder.path().join("LICENSE");
        if licence.exists() {
            let text = fs::read_to_string(licence)?;
            texts.entry(text).or_default().insert("libpcap".to_owned());
        }
    }
    let mut all = packages.into_iter().collect::<Vec<_>>().join("\n") + "\n";
    for (text, packages) in texts {
        let packages = packages.into_iter().collect::<Vec<_>>().join(", ");
        all += &format!("\n{}\n{packages}\n\n{}\n", "=".repeat(80), text.trim_end());
    }
    Ok(all)
}

/// Returns the packages of other authors in the program, each with its licence and the folder of its sources.
fn folders(root: &Path) -> Result<Vec<(String, PathBuf)>> {
    let target = super::TARGET;
    let tree = ["tree", "--locked", "-p=srlg-cli", "--all-features", "-e=normal", "--prefix=none"];
    let tree =
        run(root, &[&tree[..], &["--no-dedupe", "--format={p}", "--target", target]].concat())?;
    // A line is a name and a version, followed by remarks.
    let names = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let linked: BTreeSet<String> = tree.lines().map(names).collect();
    let metadata = run(root, &["metadata", "--locked", "--format-version=1", "--all-features"])?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut folders = Vec::new();
    for package in packages.iter().filter(|package| !package["source"].is_null()) {
        let name = format!("{} v{}", text(&package["name"]), text(&package["version"]));
        if linked.contains(&name) {
            let manifest = PathBuf::from(text(&package["manifest_path"]));
            let folder = manifest.parent().context("a package has no folder")?.to_owned();
            folders.push((format!("{name} ({})", text(&package["license"])), folder));
        }
    }
    ensure!(!folders.is_empty(), "cargo metadata lists none of the packages that cargo tree lists");
    Ok(folders)
}

fn texts_in(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for file in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let file = file?;
        let name = file.file_name().to_string_lossy().to_lowercase();
        if file.path().is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            texts.push(String::from_utf8_lossy(&fs::read(file.path())?).into_owned());
        }
    }
    Ok(texts)
}

fn run(root: &Path, arguments: &[&str]) -> Result<String> {
    let output = cargo().current_dir(root).args(arguments).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
