//! The chore `cargo xtask ptx`, which compiles the GPU kernels to a text file that is committed.
//!
//! The crate `srlg-kernels` is compiled to [`COMMITTED`]. Because this file is committed, users of the library do not
//! need a GPU tool chain. The file starts with a [`Stamp`]: the compiler, a hash of the sources and settings, and a
//! hash of the text. A test computes both hashes again, and fails if the sources changed after the PTX was built, or if
//! the PTX was edited. With `--check`, the chore verifies both hashes, rebuilds the PTX and assembles it.

mod assembly;
mod build;
mod fingerprint;
mod listing;
mod space;
mod stamp;
mod toolchain;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use assembly::ARCHITECTURES;
use stamp::{Stamp, StampedPtx};
use toolchain::Toolchain;

/// Path of the committed PTX, relative to the root of the workspace.
const COMMITTED: &str = "srlg-host/ptx/srlg.ptx";

/// Path of the PTX that `--check` builds, relative to the root of the workspace.
const REBUILT: &str = "target/ptx/srlg.ptx";

const STALE: &str = "the PTX is older than its sources; run cargo xtask ptx";

const TOUCHED: &str = "the PTX was edited; run cargo xtask ptx";

/// Options of the chore.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Check the committed PTX instead of writing it: compare it with a new build by the same compiler, and assemble it
    /// with ptxas.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &Arguments, root: &Path) -> Result<()> {
    if arguments.check {
        return check(root);
    }
    let stamp = build(root, COMMITTED)?;
    println!("{COMMITTED}: written by {}", stamp.compiler);
    Ok(())
}

fn build(root: &Path, file: &str) -> Result<Stamp> {
    let toolchain = Toolchain::find(root)?;
    let sources = fingerprint::of(root)?;
    let ptx = space::global(&build::ptx(&toolchain, root)?)?;
    let stamp = Stamp { compiler: toolchain.compiler, sources };
    let path = root.join(file);
    fs::create_dir_all(path.parent().expect("a file in a folder"))
        .and_then(|()| fs::write(&path, stamp.on(&ptx)))
        .with_context(|| format!("cannot write {file}"))?;
    Ok(stamp)
}

fn check(root: &Path) -> Result<()> {
    let committed = up_to_date(root)?;
    let rebuilt = build(root, REBUILT)?;
    if rebuilt.compiler == committed.compiler {
        let same = read(root, COMMITTED)? == read(root, REBUILT)?;
        ensure!(same, "{COMMITTED} differs from a new build; run cargo xtask ptx");
        println!("{COMMITTED}: the new build is identical");
        return inspect(root, COMMITTED);
    }
    println!(
        "{COMMITTED}: written by {}, not compared with a build by {}",
        committed.compiler, rebuilt.compiler
    );
    inspect(root, REBUILT)?;
    inspect(root, COMMITTED)
}

/// Returns the stamp of the committed PTX, or an error if the PTX was edited or is older than its sources.
fn up_to_date(root: &Path) -> Result<Stamp> {
    let sources = fingerprint::of(root)?;
    verified(&read(root, COMMITTED)?, &sources)
}

/// Returns the stamp of `text`, or an error if the text was edited or was not built from `sources`.
fn verified(text: &str, sources: &str) -> Result<Stamp> {
    let stamped = StampedPtx::read(text);
    let StampedPtx { stamp, untouched } = stamped
        .with_context(|| format!("{COMMITTED} has no complete stamp; run cargo xtask ptx"))?;
    ensure!(untouched, TOUCHED);
    ensure!(stamp.sources == sources, STALE);
    Ok(stamp)
}

fn read(root: &Path, file: &str) -> Result<String> {
    let text = fs::read_to_string(root.join(file)).ok();
    text.with_context(|| format!("cannot read {file}; run cargo xtask ptx"))
}

/// Assembles `file` and prints the register counts of its kernels. Returns an error if a fault is found.
fn inspect(root: &Path, file: &str) -> Result<()> {
    let ptx = read(root, file)?;
    let kernels = listing::kernels(&ptx);
    ensure!(!kernels.is_empty(), "{file} contains no kernels");
    let mut faults = listing::faults(&ptx);
    let mut columns = Vec::new();
    for architecture in ARCHITECTURES {
        let needs = assembly::assemble(root, &root.join(file), architecture)
            .with_context(|| file.to_owned())?;
        faults.extend(assembly::faults(&needs, &kernels, architecture)?);
        columns.push((architecture, needs));
    }
    println!("{file}\n{}", assembly::table(&columns));
    faults.iter().for_each(|fault| eprintln!("{file}: {fault}"));
    if !faults.is_empty() {
        bail!("{file}: number of faults: {}", faults.len());
    }
    Ok(())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_ptx_is_as_it_was_written_and_as_new_as_its_sources() {
        if let Err(reason) = up_to_date(crate::root()) {
            panic!("{reason:#}");
        }
    }

    #[test]
    fn committed_kernels_are_integer_code_without_calls() {
        let ptx = read(crate::root(), COMMITTED).expect("the committed PTX");
        assert!(!listing::kernels(&ptx).is_empty());
        assert_eq!(listing::faults(&ptx), [""; 0]);
    }

    #[test]
    fn ptx_that_is_old_or_touched_or_without_stamp_names_the_command() {
        let stamp = Stamp { compiler: "rustc 1.96.0".into(), sources: "00ff".into() };
        let text = stamp.on("ret;\n");
        let reason =
            |text: &str, sources| verified(text, sources).expect_err("a fault").to_string();
        assert_eq!(verified(&text, "00ff").expect("no fault"), stamp);
        assert_eq!(reason(&text, "00fe"), STALE);
        assert_eq!(reason(&text.replace("ret", "trap"), "00ff"), TOUCHED);
        insta::assert_snapshot!([STALE, TOUCHED, &reason("ret;\n", "00ff")].join("\n"));
    }
}
