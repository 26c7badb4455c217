//! Resources that the kernels need on each architecture, as reported by NVIDIA's assembler `ptxas`.
//!
//! Like the GPU driver, `ptxas` compiles PTX to machine code. It reports the resource needs of each kernel and does not
//! require a GPU.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::toolchain::BIN;

/// Architectures that the kernels must run on: Turing, Ampere, Hopper, and two variants of Blackwell.
pub(super) const ARCHITECTURES: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"];

/// Maximum number of registers per thread. With more registers, fewer than half of the 2,048 threads of a Hopper
/// multiprocessor could be active.
const MOST_REGISTERS: u32 = 64;

/// Resource needs of one kernel on one architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Number of registers per thread.
    pub(super) registers: Option<u32>,
    /// Sizes of a thread's stack frame, spill stores and spill loads, in bytes.
    pub(super) stack: Option<[u32; 3]>,
}

pub(super) type Kernels = BTreeMap<String, Needs>;

pub(super) fn assemble(root: &Path, ptx: &Path, architecture: &str) -> Result<Kernels> {
    let own = root.join(BIN).join("ptxas");
    let program = if own.is_file() { own } else { "ptxas".into() };
    let mut command = Command::new(program);
    command.args(["--verbose", "--output-file", "/dev/null", "--gpu-name", architecture]).arg(ptx);
    let output = command
        .output()
        .context("cannot run ptxas; install it with scripts/gpu-toolchain.sh ptxas")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!(
            "ptxas rejects the PTX for {architecture}: {}",
            said.lines().next().unwrap_or("without a reason")
        );
    }
    Ok(parse(&said))
}

/// Parses the output of `ptxas --verbose`.
fn parse(said: &str) -> Kernels {
    let mut kernels = Kernels::new();
    let mut current = String::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            current = rest.split('\'').next().unwrap_or_default().into();
            kernels.insert(current.clone(), Needs::default());
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            current = name.trim().into();
        }
        let Some(needs) = kernels.get_mut(&current) else { continue };
        if line.contains("bytes stack frame") {
            needs.stack = numbers(line).try_into().ok();
        } else if let Some((_, rest)) = line.split_once(": Used ") {
            needs.registers = numbers(rest).first().copied();
        }
    }
    kernels
}

fn numbers(line: &str) -> Vec<u32> {
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Returns one line for each resource need of `kernels` on `architecture` that exceeds its limit. Returns an error if
/// `kernels` are not exactly the `expected` ones, or if a need is unknown.
pub(super) fn faults(
    kernels: &Kernels,
    expected: &[&str],
    architecture: &str,
) -> Result<Vec<String>> {
    ensure!(
        kernels.len() == expected.len(),
        "ptxas reports {} kernels instead of {}",
        kernels.len(),
        expected.len()
    );
    let mut faults = Vec::new();
    for name in expected {
        let needs =
            kernels.get(*name).with_context(|| format!("ptxas does not report kernel {name}"))?;
        let (Some(registers), Some([stack, stores, loads])) = (needs.registers, needs.stack) else {
            bail!("ptxas does not report the needs of kernel {name} on {architecture}");
        };
        let mut limit = |value: u32, most: u32, what: &str| {
            if value > most {
                faults.push(format!("kernel {name}, {architecture}: {value} {what}, limit {most}"));
            }
        };
        limit(registers, MOST_REGISTERS, "registers");
        limit(stack, 0, "bytes of stack frame");
        limit(stores, 0, "bytes of spill stores");
        limit(loads, 0, "bytes of spill loads");
    }
    Ok(faults)
}

/// Formats the register counts as a table with one line per kernel and one column per architecture.
pub(super) fn table(columns: &[(&str, Kernels)]) -> String {
    let names: Vec<&String> = columns.iter().flat_map(|(_, kernels)| kernels.keys()).collect();
    let width = names.iter().map(|name| name.len()).max().unwrap_or(0).max("registers".len());
    let mut text = format!("{:width$}", "registers");
    columns.iter().for_each(|(architecture, _)| text += &format!("{architecture:>8}"));
    let first = columns.first().map(|(_, kernels)| kernels.keys());
    for name in first.into_iter().flatten() {
        text += &format!("\n{name:width$}");
        for (_, kernels) in columns {
            let registers = kernels.get(name).and_then(|needs| needs.registers);
            text += &format!("{:>8}", registers.map_or("?".into(), |number| number.to_string()));
        }
    }
    text
}

#[cfg(test)]
mod tests;
