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
    let exported: Vec<String> = host.iter().filter_map(|item| exported(item)).collect();
    let core = items(root, "srlg-core", "serde,bytemuck")?;
    let is_exported = |item: &str| exported.iter().any(|name| names(item, name));
    let all = host.iter().chain(core.iter().filter(|item| is_exported(item)));
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

/// Returns the path in `srlg-core` of the item that the line `item` re-exports.
fn exported(item: &str) -> Option<String> {
    let (_, name) = item.strip_prefix("pub use ")?.rsplit_once("::")?;
    Some(format!("srlg_core::{name}"))
}

/// Returns whether the line `item` is about the item with path `name`.
fn names(item: &str, name: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    item.match_indices(name).any(|(at, _)| is_end(&item[at + name.len()..]))
}
