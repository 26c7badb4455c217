//! The build of `srlg-kernels`, a single run of cargo for the target `nvptx64-nvidia-cuda`.
//!
//! The result depends only on the sources, the [`FLAGS`], the [`ARGUMENTS`] and the compiler. Flags and profiles in the
//! environment are ignored.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::toolchain::Toolchain;

/// Flags for rustc that apply to the kernels, their dependencies and `core`.
///
/// - A panic is an immediate trap without a message. The kernels therefore contain no calls, strings or formatting.
/// - sm_70 is the first GPU architecture with a memory model. Later architectures accept PTX for sm_70.
/// - Loops with a constant number of iterations, such as loops over rows, are unrolled. In a loop that is not
///   unrolled, each thread would copy all arguments to its stack to look up the key of a row. With LLVM's default
///   threshold of 300, one loop over the rows of the paper's counter is not unrolled. A threshold of 600 is enough to
///   unroll all loops, and 1000 leaves room for future kernels.
pub(super) const FLAGS: [&str; 4] = [
    "-Zunstable-options",
    "-Cpanic=immediate-abort",
    "-Ctarget-cpu=sm_70",
    "-Cllvm-args=-unroll-threshold=1000",
];

/// Arguments for cargo. The crate type is set here, because a cdylib in the manifest would need a panic handler on
/// every target. All crates are optimised as one codegen unit, because calls are expensive on a GPU. The result is
/// therefore also independent of the division into codegen units.
pub(super) const ARGUMENTS: [&str; 10] = [
    "rustc",
    "--locked",
    "--package=srlg-kernels",
    "--lib",
    "--release",
    "--target=nvptx64-nvidia-cuda",
    "--crate-type=cdylib",
    "-Zbuild-std=core",
    "--config=profile.release.lto='fat'",
    "--config=profile.release.codegen-units=1",
];

/// Target folder, relative to the root of the workspace. It is separate from the workspace's target folder, because the
/// workspace uses a different compiler.
const TARGET: &str = "target/ptx";

/// Prefixes of environment variables that would change the compiler or its output.
const OUTSIDE: [&str; 8] = [
    "CARGO_BUILD_",
    "CARGO_ENCODED_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "CARGO_UNSTABLE_",
    "RUSTC",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];

/// Files to which cargo writes the PTX, relative to [`TARGET`]. Both have the same content.
const OUTPUTS: [&str; 2] = [
    "nvptx64-nvidia-cuda/release/deps/srlg_kernels.ptx",
    "nvptx64-nvidia-cuda/release/srlg_kernels.ptx",
];

pub(super) fn ptx(toolchain: &Toolchain, root: &Path) -> Result<String> {
    let outputs = OUTPUTS.map(|output| root.join(TARGET).join(output));
    for output in outputs.iter().filter(|output| output.exists()) {
        // Cargo does not notice if the LLVM tools that the linker uses are updated.
        fs::remove_file(output).with_context(|| format!("cannot remove {}", output.display()))?;
    }
    let status = command(toolchain, root)?.status().context("cannot run cargo")?;
    ensure!(status.success(), "cannot compile srlg-kernels for nvptx64-nvidia-cuda");
    let path = &outputs[1];
    fs::read_to_string(path)
        .with_context(|| format!("cannot read cargo's output {}", path.display()))
}

fn command(toolchain: &Toolchain, root: &Path) -> Result<Command> {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let folders = toolchain.folders.iter().cloned().chain(std::env::split_paths(&inherited));
    let path = std::env::join_paths(folders)
        .context("the path of a tool chain folder contains a colon")?;
    let mut command = Command::new(&toolchain.cargo);
    for (name, _) in std::env::vars_os() {
        if OUTSIDE.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
        .current_dir(root)
        .args(ARGUMENTS)
        .arg("--target-dir")
        .arg(root.join(TARGET))
        .env("PATH", path)
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        // Unlike RUSTFLAGS, this variable also overrides flags in a configuration file.
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
    Ok(command)
}
