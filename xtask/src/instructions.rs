//! `cargo xtask instructions`: what ingest and close take, in instructions.
//!
//! Times on a shared machine vary by half; counts of valgrind's callgrind are the same within a
//! thousandth whenever the same program runs. Each [`Work`] of the program `instructions` of
//! srlg-benches runs twice, one round and two, and the difference is what a round takes,
//! without start-up, allocation and the making of traffic. `--check` compares with the [`bounds`].
//!
//! The counts are of AVX2 code, the widest vectors that valgrind knows, on whatever processor.
//! They see neither the memory's latency nor mispredicted branches: benchmarks remain.

mod bounds;
mod callgrind;

use std::path::Path;

use anyhow::{Result, bail, ensure};
use bounds::{Count, WORKS, Work};

use crate::program;

/// What to do with the counts.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fail when a count is above its bound.
    #[arg(long)]
    check: bool,
}

/// Counts all instructions, prints them, and compares them with their bounds where asked to.
///
/// # Errors
/// Without valgrind or AVX2, when the program does not build or run, and when a check finds a
/// count above its bound.
pub(crate) fn run(arguments: &Arguments, root: &Path) -> Result<()> {
    ensure!(has_avx2(), "the bounds are of AVX2 code, and this processor has none: use another");
    callgrind::find()?;
    let program = program::build(root, "instructions")?;
    println!("{}", bounds::HEADER);
    let mut counts = Vec::new();
    for work in &WORKS {
        let count = count(&program, work)?;
        println!("{count}");
        counts.push(count);
    }
    counts.iter().filter_map(Count::slack).for_each(|slack| println!("{slack}"));
    match bounds::fault(&counts) {
        Some(fault) if arguments.check => bail!(fault),
        _ => Ok(()),
    }
}

/// What a round of `work` takes per unit: the difference between two rounds and one.
fn count(program: &Path, work: &'static Work) -> Result<Count> {
    let (one, _) = callgrind::count(program, work.name, 1)?;
    let (two, units) = callgrind::count(program, work.name, 2)?;
    ensure!(two > one && units > 0, "two rounds of {} take no more than one", work.name);
    Ok(Count { work, instructions: (two - one) as f64 / units as f64 })
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::is_x86_feature_detected!("avx2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}
