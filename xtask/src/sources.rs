//! Files that git knows, and what attributes of Rust say: for chores that read them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Files that match the `pattern` of git, relative to `root`.
pub(crate) fn tracked(root: &Path, pattern: &str) -> Result<Vec<PathBuf>> {
    let output = Command::new("git").args(["ls-files", pattern]).current_dir(root).output();
    let output = output.context("cannot run git")?;
    ensure!(output.status.success(), "git ls-files failed: run this in a checkout");
    Ok(String::from_utf8(output.stdout)?.lines().map(PathBuf::from).collect())
}

/// Sources of what people run, without tests.
pub(crate) fn of_programs(root: &Path) -> Result<Vec<PathBuf>> {
    let is_of_tests = |path: &PathBuf| {
        let path = path.to_string_lossy();
        path.contains("test") || path.contains("benches/") || path.contains("fuzz/")
    };
    Ok(tracked(root, "*.rs")?.into_iter().filter(|path| !is_of_tests(path)).collect())
}

/// The lines of documentation among the attributes.
pub(crate) fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether the item is for tests alone.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "test")
    })
}
