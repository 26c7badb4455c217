//! `cargo xtask ptx`: GPU kernels as a committed text file.
//!
//! rustc makes [`COMMITTED`] of the crate `srlg-kernels`; users of the library need no GPU tool
//! chain. The file begins with a [`Stamp`]: the compiler, and a fingerprint of what shaped it.
//! A test recomputes the fingerprint, so that no change of a kernel goes in without its PTX.

mod build;
mod toolchain;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toolchain::Toolchain;

/// The kernels as the library holds them, from the root of the workspace.
const COMMITTED: &str = "srlg-host/ptx/srlg.ptx";

/// What to do with the kernels.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

/// Builds the PTX and writes it.
///
/// # Errors
/// When there is no tool chain, or it fails.
pub(crate) fn run(_arguments: &Arguments, root: &Path) -> Result<()> {
    let toolchain = Toolchain::find(root)?;
    let ptx = format!("// compiler: {}\n{}", toolchain.compiler, build::ptx(&toolchain, root)?);
    let path = root.join(COMMITTED);
    fs::create_dir_all(path.parent().expect("a file in a folder"))
        .and_then(|()| fs::write(&path, ptx))
        .with_context(|| format!("cannot write {COMMITTED}"))?;
    println!("{COMMITTED}: written by {}", toolchain.compiler);
    Ok(())
}
