//! `growth`: how time and memory grow with distinct pairs, slices in the window, and threads.
//!
//! Shape: [`sweeps`] lists what is measured, [`measure`] measures, [`document`] makes a table
//! and charts of every sweep. Invariant: one thing varies along a sweep; all systems take equal
//! pairs, one system after the other, each alone in memory. All of it runs on the CPU.

mod document;
mod measure;
mod sweeps;

use crate::study::{self, Told};
use crate::{number, progress};
use anyhow::{Result, ensure};
use clap::Args;
use measure::Row;
use std::path::{Path, PathBuf};
use sweeps::Sweep;

/// Most distinct pairs in a window: a `Stream` repeats itself after 2^32 pairs.
const MOST_PAIRS: u32 = 1_000_000_000;

#[derive(Args)]
pub(crate) struct Growth {
    /// Most distinct pairs in the window
    #[arg(long, default_value = "100M", value_parser = number::count)]
    most: u32,
    /// Most distinct pairs for the hash map of hash maps, which is slow and large
    #[arg(long, default_value = "30M", value_parser = number::count)]
    most_sets: u32,
    /// Closes of every setting, of which the median is told
    #[arg(long, default_value = "7", value_parser = number::count)]
    closes: u32,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Tiny sizes, to see that it works: the figures mean nothing
    #[arg(long)]
    quick: bool,
    /// Folder for README.md and the plots [default: docs/growth, none with --json]
    #[arg(long, alias = "out")]
    output: Option<PathBuf>,
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
}

/// A sweep and what came out.
struct Results {
    sweep: Sweep,
    rows: Vec<Row>,
}

pub(crate) fn run(options: &Growth) -> Result<()> {
    ensure!(options.most <= MOST_PAIRS, "--most must be at most {MOST_PAIRS}");
    ensure!(options.most >= 100_000, "--most must be at least 100k, the least load");
    ensure!(options.closes <= 1000, "--closes must be at most 1000");
    let sweeps = sweeps::all(options);
    let target = options.target();
    let names = sweeps.iter().map(|sweep| sweep.name);
    let page = target.map(|target| study::open(target, document::TITLE, names)).transpose()?;
    let steps: usize = sweeps.iter().map(|sweep| sweep.steps.len()).sum();
    let bar = progress::bar(steps as u64, "");
    let mut results = Vec::new();
    for sweep in sweeps {
        let mut rows = Vec::new();
        for step in &sweep.steps {
            bar.set_message(format!("{}, {}", sweep.name, step.system.name()));
            rows.push(measure::row(step, sweep.closes, options)?);
            bar.inc(1);
        }
        results.push(Results { sweep, rows });
    }
    drop(bar);
    let (setup, told) = (document::setup(options), told(options, &results));
    study::tell(target.zip(page), &setup, &told, options.json)
}

fn told(options: &Growth, results: &[Results]) -> Vec<Told> {
    let told = |result: &Results| Told {
        name: result.sweep.name,
        heading: result.sweep.heading,
        section: document::section(result),
        table: document::table(result),
        plots: document::plots(result),
        metrics: document::metrics(options, result),
    };
    results.iter().map(told).collect()
}

impl Growth {
    /// The folder to write to.
    fn target(&self) -> Option<&Path> {
        let default = (!self.json).then_some(Path::new("docs/growth"));
        self.output.as_deref().or(default)
    }

    /// The command that repeats the results.
    fn command(&self) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        let [most, most_sets] = [self.most, self.most_sets].map(number::short);
        format!(
            "cargo run --release -p srlg-evaluation -- growth --most {most} \
             --most-sets {most_sets} --closes {} --seed {}{quick}",
            self.closes, self.seed
        )
    }
}
