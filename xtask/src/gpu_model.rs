//! The chore `cargo xtask gpu-model`, which runs the PTX of the kernels in an interpreter and counts the GPU resources
//! that they use.
//!
//! Each workload ([`Work`]) of the program `gpu_model` in srlg-benches is run twice, once with one round and once with
//! two. The difference between the two runs is the cost of a round. With `--check`, the chore fails if this cost
//! exceeds its [`bounds`]. The interpreter is in the folder `ptxrun`.
//!
//! In the model, the time of a kernel is its issue time or its transfer time, whichever is longer. The issue time is
//! the time in which all multiprocessors issue the instructions of the kernel at full rate. The transfer time is the
//! time to transfer the 32-byte sectors that the kernel accesses. The model ignores stalls, main memory, and contention
//! between the threads of a warp for one address. These effects can be measured only on a GPU.

mod bounds;
mod report;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use bounds::{Count, Usage, WORKS, Work};

use crate::program;

/// Options of the chore.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fail if a count is above its bound.
    #[arg(long)]
    check: bool,
    /// Count only this workload, and print the cost of each kernel.
    #[arg(long)]
    work: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, root: &Path) -> Result<()> {
    if let Some(asked) = &arguments.work {
        let names = WORKS.iter().map(|work| work.name).collect::<Vec<_>>();
        ensure!(
            names.contains(&asked.as_str()),
            "unknown workload {asked}: must be one of {}",
            names.join(", ")
        );
    }
    let interpreter = interpreter(root)?;
    let program = program::build(root, "gpu_model")?;
    println!("{}", bounds::HEADER);
    let mut counts = Vec::new();
    for work in &WORKS {
        if arguments.work.as_ref().is_some_and(|asked| asked != work.name) {
            continue;
        }
        let kernels = count(&program, &interpreter, work)?;
        let count = Count { work, usage: kernels.iter().map(|(_, usage)| *usage).sum() };
        println!("{count}");
        if arguments.work.is_some() {
            kernels.iter().for_each(|(name, usage)| println!("  {name:17}{usage}"));
        }
        counts.push(count);
    }
    counts.iter().filter_map(Count::slack).for_each(|slack| println!("{slack}"));
    match bounds::fault(&counts) {
        Some(fault) if arguments.check => bail!(fault),
        _ => Ok(()),
    }
}

/// Builds the interpreter and returns the folder of its `libcuda.so`.
fn interpreter(root: &Path) -> Result<PathBuf> {
    let manifest = root.join("ptxrun/Cargo.toml");
    let target = root.join("target/ptxrun");
    let mut command = program::cargo();
    command.args(["build", "--release", "--locked", "--quiet", "--manifest-path"]).arg(manifest);
    command.env("CARGO_TARGET_DIR", &target);
    let status = command.status().context("cannot run cargo")?;
    ensure!(status.success(), "cannot build the PTX interpreter");
    Ok(target.join("release"))
}

/// Returns the cost per unit of each kernel that `work` runs. The last item is the cost of copies.
fn count(program: &Path, interpreter: &Path, work: &Work) -> Result<Vec<(String, Usage)>> {
    let run = |rounds| run_of(program, interpreter, work, rounds);
    let ((one, units), (two, _)) = program::one_and_two(run)?;
    let kernels = report::difference(&one, &two)?;
    ensure!(!kernels.is_empty(), "the second round of {} did not run a kernel", work.name);
    let kernels = kernels.into_iter().map(|(name, sums)| (name, Usage::of(&sums, units)));
    let copies = Usage::of_copies(report::copied(&one, &two)?, units);
    Ok(kernels.chain([("copies".to_owned(), copies)]).collect())
}

/// Returns the interpreter's report of a run with `rounds` rounds, and the number of units in a round.
fn run_of(program: &Path, interpreter: &Path, work: &Work, rounds: u32) -> Result<(String, f64)> {
    let report = program.with_extension(format!("{}.{rounds}.report", work.name));
    let mut command = Command::new(program);
    command.args([work.name, &rounds.to_string()]).stderr(Stdio::inherit());
    command.env("LD_LIBRARY_PATH", interpreter).env("PTXRUN_REPORT", &report);
    // The launch sizes depend on the number of processors. An H200 has 132 of them.
    command.envs([("PTXRUN_MEASURE", "1"), ("PTXRUN_DETAIL", "1"), ("PTXRUN_PROCESSORS", "132")]);
    let output = command.output().context("cannot run the program gpu_model")?;
    ensure!(output.status.success(), "{} failed in the interpreter: {}", work.name, output.status);
    let said = String::from_utf8_lossy(&output.stdout);
    let units = said.lines().last().and_then(|line| line.trim().parse().ok());
    let units = units.with_context(|| format!("{} did not print a number of units", work.name))?;
    let text = std::fs::read_to_string(&report)
        .with_context(|| format!("cannot read the report {}", report.display()))?;
    Ok((text, units))
}
