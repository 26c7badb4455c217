//! `characterise`: how the error depends on cardinality, load, memory, window and tags.
//!
//! Shape: [`sweeps`] lists what is measured, [`trial`] measures, [`document`] makes a table
//! and two charts of every sweep. Invariant: everything follows from the options; one thing
//! varies along a sweep, and its series see the same packets.

mod document;
mod sweeps;
mod trial;
mod variations;

use crate::number;
use crate::study::{self, Told};
use anyhow::{Result, ensure};
use clap::Args;
use std::path::{Path, PathBuf};
use sweeps::Sweep;
use trial::Row;

#[derive(Args)]
pub(crate) struct Characterise {
    /// Streams of every setting: the more, the shorter the bars of the plots
    #[arg(long, default_value = "3", value_parser = number::count)]
    streams: u32,
    /// Seed of the first stream and its hashes; the next streams have the next ones
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Tiny sizes, to see that it works: the figures mean nothing
    #[arg(long)]
    quick: bool,
    /// Folder for README.md and the plots [default: docs/characterise, none with --json]
    #[arg(long)]
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

pub(crate) fn run(options: &Characterise) -> Result<()> {
    let last = options.seed.checked_add(options.streams.into());
    ensure!(last.is_some(), "--seed is too large");
    let sweeps = sweeps::all(options.quick)?;
    let target = options.target();
    let names = sweeps.iter().map(|sweep| sweep.name);
    let page = target.map(|target| study::open(target, document::TITLE, names)).transpose()?;
    let mut results = Vec::new();
    for sweep in sweeps {
        let rows = trial::run(&sweep, options.seed, options.streams)?;
        results.push(Results { sweep, rows });
    }
    let (setup, told) = (document::setup(options), told(options, &results));
    study::tell(target.zip(page), &setup, &told, options.json)
}

fn told(options: &Characterise, results: &[Results]) -> Vec<Told> {
    let told = |result: &Results| Told {
        name: result.sweep.name,
        heading: result.sweep.heading,
        section: document::section(result),
        table: document::table(result),
        plots: document::plots(result).into(),
        metrics: document::metrics(options, result),
    };
    results.iter().map(told).collect()
}

impl Characterise {
    /// The folder to write to.
    fn target(&self) -> Option<&Path> {
        let default = (!self.json).then_some(Path::new("docs/characterise"));
        self.output.as_deref().or(default)
    }

    /// The command that repeats the results.
    fn command(&self) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        let Self { streams, seed, .. } = self;
        format!(
            "cargo run --release -p srlg-evaluation -- characterise \
             --streams {streams} --seed {seed}{quick}"
        )
    }
}
