//! The tool chain that compiles Rust to PTX: rustc, the source of its `core`, and an LLVM bitcode linker with its LLVM
//! tools.
//!
//! It consists either of Debian packages and the programs that `scripts/gpu-toolchain.sh` installs, or of a nightly
//! tool chain from rustup. The Debian packages are preferred, because they stay the same for months and therefore
//! produce the same PTX.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// Folder of the programs that `scripts/gpu-toolchain.sh` installs, relative to the root of the workspace. It does not
/// depend on `CARGO_TARGET_DIR`.
pub(super) const BIN: &str = "target/gpu-toolchain/bin";

#[derive(Debug)]
pub(super) struct Toolchain {
    /// Versions of rustc and of the LLVM that emits the PTX, in one line.
    pub(super) compiler: String,
    pub(super) cargo: PathBuf,
    pub(super) rustc: PathBuf,
    /// Folder of the bitcode linker, followed by the folder of the LLVM tools.
    pub(super) folders: Vec<PathBuf>,
}

impl Toolchain {
    /// Returns Debian's tool chain if it is complete, and the nightly tool chain of rustup otherwise. Returns an error
    /// if both are incomplete.
    pub(super) fn find(root: &Path) -> Result<Self> {
        let debian = match Self::debian(root) {
            Ok(toolchain) => return Ok(toolchain),
            Err(missing) => missing,
        };
        let rustup = match Self::rustup() {
            Ok(toolchain) => return Ok(toolchain),
            Err(missing) => missing,
        };
        bail!(
            "cannot find a tool chain for GPU kernels: {debian}, and {rustup}; on Debian, run scripts/gpu-toolchain.sh; \
             elsewhere, run rustup toolchain install nightly -c rust-src -c llvm-tools -c llvm-bitcode-linker"
        )
    }

    fn debian(root: &Path) -> Result<Self> {
        let rustc = existing("/usr/bin/rustc".into())?;
        let version = output(Command::new(&rustc).arg("-vV"))?;
        let major = field(&version, "LLVM version: ")?.split('.').next().unwrap_or_default();
        let folders = vec![root.join(BIN), format!("/usr/lib/llvm-{major}/bin").into()];
        Self::complete("/usr/bin/cargo".into(), rustc, folders, &version)
    }

    fn rustup() -> Result<Self> {
        let tool =
            |tool| output(Command::new("rustup").args(["which", "--toolchain", "nightly", tool]));
        let rustc = existing(tool("rustc")?.trim().into())?;
        let version = output(Command::new(&rustc).arg("-vV"))?;
        let host = field(&version, "host: ")?;
        let bin = sysroot(&rustc)?.join("lib/rustlib").join(host).join("bin");
        let folders = vec![bin.join("self-contained"), bin];
        Self::complete(tool("cargo")?.trim().into(), rustc, folders, &version)
    }

    fn complete(
        cargo: PathBuf,
        rustc: PathBuf,
        folders: Vec<PathBuf>,
        version: &str,
    ) -> Result<Self> {
        existing(sysroot(&rustc)?.join("lib/rustlib/src/rust/library/Cargo.lock"))?;
        existing(folders[0].join("llvm-bitcode-linker"))?;
        for tool in ["llvm-link", "opt", "llc"] {
            existing(folders[1].join(tool))?;
        }
        let rustc_line = version.lines().next().unwrap_or_default();
        let llc = output(Command::new(folders[1].join("llc")).arg("--version"))?;
        let compiler = format!("{rustc_line}, LLVM {}", field(&llc, "LLVM version ")?);
        Ok(Self { compiler, cargo: existing(cargo)?, rustc, folders })
    }
}

fn existing(path: PathBuf) -> Result<PathBuf> {
    ensure!(path.is_file(), "{} is missing", path.display());
    Ok(path)
}

fn sysroot(rustc: &Path) -> Result<PathBuf> {
    Ok(output(Command::new(rustc).args(["--print", "sysroot"]))?.trim().into())
}

fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {program}"))?;
    let reason = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program}: {}", reason.lines().next().unwrap_or("failed"));
    String::from_utf8(output.stdout)
        .with_context(|| format!("the output of {program} is not UTF-8"))
}

/// Returns the text that follows `name` in the first line of `text` that contains `name`.
fn field<'a>(text: &'a str, name: &str) -> Result<&'a str> {
    let value = text.lines().find_map(|line| line.split_once(name)).map(|(_, value)| value.trim());
    value.with_context(|| format!("cannot find a version: no line contains \"{name}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_rustc_and_from_llc() {
        let rustc = "rustc 1.96.0 (ac68faa20 2026-05-25)\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.8\n";
        assert_eq!(field(rustc, "LLVM version: ").expect("a version"), "22.1.8");
        assert_eq!(field(rustc, "host: ").expect("a host"), "x86_64-unknown-linux-gnu");
        let llc = "Debian LLVM version 22.1.8\n  Optimized build.\n";
        assert_eq!(field(llc, "LLVM version ").expect("a version"), "22.1.8");
        assert!(field("rustc 1.96.0\n", "LLVM version: ").is_err());
    }

    #[test]
    fn reason_of_a_program_is_its_first_line() {
        let error = output(Command::new("rustc").arg("--no-such-flag")).expect_err("no such flag");
        assert!(error.to_string().starts_with("rustc: error: "), "{error}");
    }
}
