//! `growth`: how time and memory grow with distinct pairs, slices in the window, and threads.
//!
//! Shape: [`sweeps`] lists what is measured, [`measure`] measures, [`results`] makes rows of
//! it. Invariant: one thing varies along a sweep; all systems take equal
//! pairs, one system after the other, each alone in memory. All of it runs on the CPU.

mod measure;
mod results;
mod sweeps;

use crate::number::short;
use crate::study::{CommandLine, FolderOptions, StudyOutput};
use crate::table::machine;
use crate::{number, progress};
use anyhow::{Result, ensure};
use clap::Args;
use srlg_traffic::family::Family;

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
    /// Closes of every setting, of which the median counts
    #[arg(long, default_value = "7", value_parser = number::count)]
    closes: u32,
    /// Hosts of the traffic: of IPv4, of IPv6, or half of the inside hosts of either; maps are of IPv4 alone
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Tiny sizes, to see that the command works: the figures mean nothing
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    output: FolderOptions,
}

pub(crate) fn run(options: &Growth, line: CommandLine) -> Result<()> {
    ensure!(options.most <= MOST_PAIRS, "--most must be at most {MOST_PAIRS}");
    ensure!(options.most >= 100_000, "--most must be at least 100k, the least load");
    ensure!(options.closes <= 1000, "--closes must be at most 1000");
    let sweeps = sweeps::all(options);
    let names = sweeps.iter().map(|sweep| sweep.name);
    let title = "How time and memory grow";
    let mut output = StudyOutput::in_folder(&options.output, "docs/growth", title, names)?;
    let steps: usize = sweeps.iter().map(|sweep| sweep.steps.len()).sum();
    let bar = progress::bar(steps as u64, "");
    let mut all = Vec::new();
    for sweep in sweeps {
        let mut costs = Vec::new();
        for step in &sweep.steps {
            bar.set_message(format!("{}, {}", sweep.name, step.system.name()));
            costs.push((*step, measure::cost(step, sweep.closes, options)?));
            bar.inc(1);
        }
        all.push(results::of(&sweep, &costs, options));
    }
    drop(bar);
    output.set_up(line, &options.text())?;
    output.tell(&all)
}

impl Growth {
    fn text(&self) -> String {
        let beside = match self.family {
            Family::V4 => "beside exact maps",
            Family::V6 => "all hosts of IPv6",
            Family::Mixed => "half of the inside hosts of IPv6",
        };
        let mut text = format!(
            "{}. `Config::default()` on the CPU, {beside}; medians of {} slices of full windows, in \
             which every pair is a new one. Hosts as in model A.",
            machine(),
            self.closes,
        );
        if self.family == Family::V4 {
            text += &format!(
                " The hash map of hash maps is left out above {} pairs. With several threads srlg is \
                 shared; of the maps each thread has one, with hosts of its own.",
                short(self.most_sets),
            );
        }
        text
    }
}
