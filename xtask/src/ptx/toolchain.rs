//! The tool chain that makes PTX of Rust: a rustc, the source of its `core`, and a linker of
//! LLVM bit code with the LLVM tools that it calls.
//!
//! There are two: Debian's packages with `scripts/gpu-toolchain.sh`, and a nightly of rustup.
//! Debian's comes first, because its packages stay the same for months: the same PTX again.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// Where `scripts/gpu-toolchain.sh` puts programs, from the root of the workspace: always there,
/// whatever `CARGO_TARGET_DIR` is.
pub(super) const BIN: &str = "target/gpu-toolchain/bin";

/// Programs that turn `srlg-kernels` into PTX.
#[derive(Debug)]
pub(super) struct Toolchain {
    /// Name and version of rustc and of its LLVM, in one line.
    pub(super) compiler: String,
    pub(super) cargo: PathBuf,
    pub(super) rustc: PathBuf,
    /// Folders of the bit code linker and of the LLVM tools.
    pub(super) folders: Vec<PathBuf>,
}

impl Toolchain {
    /// Debian's tool chain where it is complete, else that of rustup.
    ///
    /// # Errors
    /// When neither is complete: the one line says what to install.
    pub(super) fn find(root: &Path) -> Result<Self> {
        let Err(debian) = Self::debian(root) else { return Self::debian(root) };
        let Err(rustup) = Self::rustup() else { return Self::rustup() };
        bail!(
            "no tool chain for GPU kernels: run scripts/gpu-toolchain.sh on Debian ({debian}), elsewhere \
             rustup toolchain install nightly -c rust-src -c llvm-tools -c llvm-bitcode-linker ({rustup})"
        )
    }

    fn debian(root: &Path) -> Result<Self> {
        let rustc = existing("/usr/bin/rustc".into())?;
        let version = output(Command::new(&rustc).arg("-vV"))?;
        let major = llvm_version(&version)?.split('.').next().unwrap_or_default().to_owned();
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

    /// A tool chain whose parts are all there.
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
        let compiler = format!("{rustc_line}, LLVM {}", llvm_version(version)?);
        Ok(Self { compiler, cargo: existing(cargo)?, rustc, folders })
    }
}

/// `path`, if there is such a file.
fn existing(path: PathBuf) -> Result<PathBuf> {
    ensure!(path.is_file(), "no {}", path.display());
    Ok(path)
}

fn sysroot(rustc: &Path) -> Result<PathBuf> {
    Ok(output(Command::new(rustc).args(["--print", "sysroot"]))?.trim().into())
}

/// What a program prints when it succeeds.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {program}"))?;
    let reason = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program}: {}", reason.lines().next().unwrap_or("failed"));
    String::from_utf8(output.stdout).with_context(|| format!("{program} prints no text"))
}

fn llvm_version(version: &str) -> Result<&str> {
    field(version, "LLVM version: ")
}

/// What stands after `name` in what `rustc -vV` prints.
fn field<'a>(version: &'a str, name: &str) -> Result<&'a str> {
    let value = version.lines().find_map(|line| line.strip_prefix(name));
    value.with_context(|| format!("rustc -vV has no line \"{name}\""))
}
