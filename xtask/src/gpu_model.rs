//! `cargo xtask gpu-model`: what the kernels take of a GPU, by an interpreter of their PTX.
//!
//! Each [`Work`] of the program `gpu_model` of srlg-benches runs twice, one round and two, and the difference is what a
//! round takes. `--check` compares with the [`bounds`]. Where the interpreter's sources are not at hand nothing is
//! counted, which is said.
//!
//! The model: a kernel takes as long as its instructions do where all processors issue all that they can, or as the
//! sectors of 32 bytes do that it moves, whichever is longer. What it leaves out: waiting, main memory, threads of one
//! warp at one address. Only a GPU tells these.

mod bounds;
mod report;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use bounds::{Count, Taken, WORKS, Work};

use crate::program;

/// What to do with the counts.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fail when a count is above its bound.
    #[arg(long)]
    check: bool,
    /// Count one work alone, and print its kernels.
    #[arg(long)]
    work: Option<String>,
}

/// Counts what all works take, prints it, and compares it with the bounds where asked to.
///
/// # Errors
/// When the interpreter or the program does not build or run, and when a check finds a count above its bound.
pub(crate) fn run(arguments: &Arguments, root: &Path) -> Result<()> {
    if let Some(asked) = &arguments.work {
        let names = WORKS.iter().map(|work| work.name).collect::<Vec<_>>();
        ensure!(
            names.contains(&asked.as_str()),
            "no work is {asked}: give one of {}",
            names.join(", ")
        );
    }
    let Some(interpreter) = interpreter(root)? else { return Ok(()) };
    let program = program::build(root, "gpu_model")?;
    println!("{}", bounds::HEADER);
    let mut counts = Vec::new();
    for work in &WORKS {
        if arguments.work.as_ref().is_some_and(|asked| asked != work.name) {
            continue;
        }
        let kernels = count(&program, &interpreter, work)?;
        let count = Count { work, taken: kernels.iter().map(|(_, taken)| *taken).sum() };
        println!("{count}");
        if arguments.work.is_some() {
            kernels.iter().for_each(|(name, taken)| println!("  {name:17}{taken}"));
        }
        counts.push(count);
    }
    counts.iter().filter_map(Count::slack).for_each(|slack| println!("{slack}"));
    match bounds::fault(&counts) {
        Some(fault) if arguments.check => bail!(fault),
        _ => Ok(()),
    }
}

/// Builds the interpreter; the folder of its `libcuda.so`, `None` where its sources are not at hand.
fn interpreter(root: &Path) -> Result<Option<PathBuf>> {
    let sources =
        std::env::var_os("SRLG_PTXRUN").map_or("../shared/tools/ptxrun".into(), PathBuf::from);
    let manifest = root.join(sources).join("Cargo.toml");
    if !manifest.exists() {
        println!("skipped: no {} (SRLG_PTXRUN names its folder)", manifest.display());
        return Ok(None);
    }
    let target = root.join("target/ptxrun");
    let mut command = program::cargo();
    command.args(["build", "--release", "--locked", "--quiet", "--manifest-path"]).arg(manifest);
    command.env("CARGO_TARGET_DIR", &target);
    let status = command.status().context("cargo does not run")?;
    ensure!(status.success(), "the interpreter of PTX does not build");
    Ok(Some(target.join("release")))
}

/// What each kernel takes of a round of `work`, per unit.
fn count(program: &Path, interpreter: &Path, work: &Work) -> Result<Vec<(String, Taken)>> {
    let run = |rounds| run_of(program, interpreter, work, rounds);
    // At once: the interpreter has one thread.
    let (one, two) = std::thread::scope(|scope| {
        let one = scope.spawn(|| run(1));
        let two = run(2);
        (one.join().expect("a run does not panic"), two)
    });
    let ((one, units), (two, _)) = (one?, two?);
    let kernels = report::difference(&one, &two)?;
    ensure!(!kernels.is_empty(), "a second round of {} runs no kernel", work.name);
    let kernels = kernels.into_iter().map(|(name, sums)| (name, Taken::of(&sums, units)));
    let copies = Taken::of_copies(report::copied(&one, &two)?, units);
    Ok(kernels.chain([("copies".to_owned(), copies)]).collect())
}

/// The report of a run of so many rounds, and the units of a round.
fn run_of(program: &Path, interpreter: &Path, work: &Work, rounds: u32) -> Result<(String, f64)> {
    let report = program.with_extension(format!("{}.{rounds}.report", work.name));
    let mut command = Command::new(program);
    command.args([work.name, &rounds.to_string()]).stderr(Stdio::inherit());
    command.env("LD_LIBRARY_PATH", interpreter).env("PTXRUN_REPORT", &report);
    // As many processors as an H200 has: the shapes of launches follow from them.
    command.envs([("PTXRUN_MEASURE", "1"), ("PTXRUN_DETAIL", "1"), ("PTXRUN_PROCESSORS", "132")]);
    let output = command.output().context("the program gpu_model does not run")?;
    ensure!(output.status.success(), "{} by the interpreter: {}", work.name, output.status);
    let said = String::from_utf8_lossy(&output.stdout);
    let units = said.lines().last().and_then(|line| line.trim().parse().ok());
    let units = units.with_context(|| format!("{} says no number of units", work.name))?;
    let text = std::fs::read_to_string(&report)
        .with_context(|| format!("the interpreter wrote no {}", report.display()))?;
    Ok((text, units))
}
