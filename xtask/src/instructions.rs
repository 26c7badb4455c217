//! The chore `cargo xtask instructions`, which counts the CPU instructions of ingest and close.
//!
//! Times on a shared machine vary by 50 %, but repeated counts by callgrind, a tool of valgrind, agree to within 0.1 %.
//! Each workload ([`Work`]) of the program `instructions` in srlg-benches is run twice, once with one round and once
//! with two. The difference between the two runs is the cost of a round, without start-up, allocation and traffic
//! generation. With `--check`, the chore fails if this cost exceeds its [`bounds`].
//!
//! The processor must have AVX2. The AVX2 code is counted even if the processor has AVX-512, because valgrind does not
//! support AVX-512. The counts do not reflect memory latency or mispredicted branches, so benchmarks are still
//! needed.

mod bounds;
mod callgrind;

use std::path::Path;

use anyhow::{Result, bail, ensure};
use bounds::{Count, WORKS, Work};

use crate::program;

/// Options of the chore.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fail if a count is above its bound.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &Arguments, root: &Path) -> Result<()> {
    ensure!(
        has_avx2(),
        "cannot count instructions: this processor does not have AVX2; use another machine"
    );
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

fn count(program: &Path, work: &'static Work) -> Result<Count> {
    let run = |rounds| callgrind::count(program, work.name, rounds);
    let ((one, _), (two, units)) = program::one_and_two(run)?;
    ensure!(
        two > one && units > 0,
        "two rounds of {} did not execute more instructions than one",
        work.name
    );
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
