//! `characterise`: how the error depends on cardinality, load, memory, window, threshold and tags.
//!
//! Shape: [`sweeps`] lists what is measured, [`trial`] measures, [`results`] makes a row of every
//! point. Invariant: everything follows from the options; one thing
//! varies along a sweep, and its series see the same packets.

mod results;
mod sweeps;
mod trial;
mod variations;

use crate::number;
use crate::study::{CommandLine, FolderOptions, StudyOutput};
use anyhow::{Result, ensure};
use clap::Args;

#[derive(Args)]
pub(crate) struct Characterise {
    /// Streams of every setting: the more, the shorter the bars of the plots
    #[arg(long, default_value = "3", value_parser = number::count)]
    streams: u32,
    /// Seed of the first stream and its hashes; the next streams have the next ones
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Tiny sizes, to see that the command works: the figures mean nothing
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    output: FolderOptions,
}

pub(crate) fn run(options: &Characterise, line: CommandLine) -> Result<()> {
    let end = options.seed.checked_add(options.streams.into());
    ensure!(end.is_some(), "--seed is too large");
    let sweeps = sweeps::all(options.quick)?;
    let names = sweeps.iter().map(|sweep| sweep.name);
    let title = "How large the errors are";
    let mut output = StudyOutput::in_folder(&options.output, "docs/characterise", title, names)?;
    let mut all = Vec::new();
    for sweep in sweeps {
        let points = trial::run(&sweep, options.seed, options.streams)?;
        all.push(results::of(&sweep, points, options));
    }
    let Characterise { seed, streams, .. } = *options;
    let last = seed + u64::from(streams) - 1;
    let text = format!("Streams of traffic per setting: {streams}, of the seeds {seed} to {last}.");
    output.set_up(line, &text)?;
    output.tell(&all)
}
