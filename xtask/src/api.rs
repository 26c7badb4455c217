//! The chore `cargo xtask api`, which lists the public items of the crate `srlg` in docs/api.txt.
//!
//! The list shows each change of the API in a diff. Its items come from `srlg-host`, and from `srlg-core` if `srlg-host`
//! re-exports them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::program::clean_cargo;

/// The list, relative to the root.
const LIST: &str = "docs/api.txt";

/// Features of the crate `srlg` that the list contains. The feature `cust` needs a CUDA toolkit.
const FEATURES: &str = "cudarc,serde,bytemuck";

/// Options of the chore.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fail if the list differs from the items, instead of writing it.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &Arguments, root: &Path) -> Result<()> {
    let host = items(root, "srlg-host", FEATURES)?;
    let exported: Vec<&str> = host.iter().filter_map(|item| exported(item)).collect();
    let core = items(root, "srlg-core", "serde,bytemuck")?;
    let is_exported = |item: &&String| exported.iter().any(|name| is_of(item, name));
    let all = host.iter().chain(core.iter().filter(is_exported));
    let list = all.fold(String::new(), |list, item| list + item + "\n");
    let path = root.join(LIST);
    if arguments.check {
        let listed = fs::read_to_string(&path).with_context(|| format!("cannot read {LIST}"))?;
        ensure!(
            listed == list,
            "{LIST} differs from the public items of srlg; run cargo xtask api, and look at the difference"
        );
        return Ok(());
    }
    fs::write(&path, list).with_context(|| format!("cannot write {LIST}"))
}

/// Returns the public items of `package`, one line each.
fn items(root: &Path, package: &str, features: &str) -> Result<Vec<String>> {
    let mut command = clean_cargo(root);
    command.env("RUSTDOC", root.join("scripts/rustdoc-json.sh"));
    command.args(["rustdoc", "--locked", "--quiet", "--lib", "--package", package]);
    command.args(["--features", features, "--message-format=json-render-diagnostics"]);
    command.args(["--", "-Zunstable-options", "--output-format=json"]);
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let output = command.output().context("cannot run cargo")?;
    ensure!(
        output.status.success(),
        "cannot document {package}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let file = target.join("doc").join(package.replace('-', "_")).with_extension("json");
    let builder = public_api::Builder::from_rustdoc_json(file);
    let builder = builder.omit_blanket_impls(true).omit_auto_trait_impls(true);
    let api = builder.build().with_context(|| format!("cannot list the items of {package}"))?;
    Ok(api.items().map(ToString::to_string).collect())
}

/// Returns the name of the item that the line `item` re-exports.
fn exported(item: &str) -> Option<&str> {
    Some(item.strip_prefix("pub use ")?.rsplit_once("::")?.1)
}

/// Returns whether the line `item` is about an item of `srlg-core` with this `name`, or about a part or a trait of it.
fn is_of(item: &str, name: &str) -> bool {
    // In the line of a trait, the path of its type comes after `for`. The path ends before generics and arguments.
    let item = item.rsplit_once(" for ").map_or(item, |(_, of)| of);
    let path = item.split_whitespace().find(|word| word.starts_with("srlg_core::"));
    let path = path.map_or("", |path| path.split(['(', '<']).next().unwrap_or_default());
    let mut parts = path.split("::").map(|part| part.trim_end_matches([':', ',', ';']));
    // Modules come first. The names of types and constants begin with a capital letter.
    parts.find(|part| *part == name || part.starts_with(char::is_uppercase)) == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_about_the_item_whose_part_or_trait_they_show() {
        for line in [
            "pub struct srlg_core::Estimate",
            "pub srlg_core::Estimate::range: srlg_core::EstimateRange",
            "impl srlg_core::counter::estimate::Estimate",
            "pub fn srlg_core::counter::estimate::Estimate::lower(&self, f64) -> f64",
            "impl core::clone::Clone for srlg_core::counter::estimate::Estimate",
        ] {
            assert!(is_of(line, "Estimate"), "{line}");
        }
        for line in [
            "pub fn srlg_core::Params::estimate(&self) -> srlg_core::Estimate",
            "pub struct srlg_core::EstimateRange",
            "impl core::convert::From<srlg_core::Estimate> for f64",
            "pub type srlg_core::counter::tagged::Bins::Estimate = srlg_core::Estimate",
        ] {
            assert!(!is_of(line, "Estimate"), "{line}");
        }
    }
}
