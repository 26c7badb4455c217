//! `paper`: the experiments of the paper's section 5, on synthetic traffic.
//!
//! Shape: [`discrete`] windows of all [`contenders`], [`sliding`] windows of srlg's presets,
//! each a list of [`Track`](track::Track)s; [`results`] makes tables and charts of them. Invariant:
//! all systems see the same packets, find the hosts themselves (but for GSE, which cannot), and
//! are scored against the exact truth; everything but times follows from the options.

mod contenders;
mod discrete;
mod results;
mod sliding;
mod track;

use crate::number;
use crate::study::{CommandLine, FolderOptions, StudyOutput};
use crate::synthetic::Synthetic;
use crate::table::machine;
use anyhow::{Result, ensure};
use clap::Args;

#[derive(Args)]
pub(crate) struct Paper {
    /// Distinct pairs per 300 slices, about; every load gets tables and plots of its own
    #[arg(long, default_value = "500k,2M", value_delimiter = ',', value_parser = number::count)]
    load: Vec<u32>,
    /// Bytes of each rival
    #[arg(long, default_value = "8M,32M,64M,128M", value_delimiter = ',')]
    #[arg(value_parser = number::count)]
    rival_memory: Vec<u32>,
    /// Discrete windows
    #[arg(long, default_value = "12", value_parser = number::count)]
    windows: u32,
    /// Consecutive sliding windows
    #[arg(long, default_value = "300", value_parser = number::count)]
    sliding_windows: u32,
    #[command(flatten)]
    synthetic: Synthetic,
    #[command(flatten)]
    output: FolderOptions,
}

pub(crate) fn run(options: &Paper, line: CommandLine) -> Result<()> {
    options.check()?;
    let (title, places) = ("The paper's experiments", ["discrete", "sliding"]);
    let mut output = StudyOutput::in_folder(&options.output, "docs/paper", title, places)?;
    let (mut discrete, mut sliding) = (Vec::new(), Vec::new());
    for &load in &options.load {
        discrete.push(results::discrete(options, load, &discrete::run(options, load)?));
        sliding.push(results::sliding(options, load, &sliding::run(options, load)?));
    }
    output.set_up(line, &format!("Seed {}; times on {}.", options.synthetic.seed, machine()))?;
    discrete.append(&mut sliding);
    output.tell(&discrete)
}

impl Paper {
    fn check(&self) -> Result<()> {
        let (most, Synthetic { window, threshold, .. }) = (crate::MOST_SLICES, self.synthetic);
        let discrete = self.windows.checked_mul(window);
        let sliding = self.sliding_windows.checked_add(window);
        let slices = discrete.zip(sliding).map(|(discrete, sliding)| discrete.max(sliding));
        ensure!(
            slices.is_some_and(|slices| slices < most),
            "--windows, --sliding-windows or --window is too large"
        );
        let load = self.load.iter().copied().max().unwrap_or(0);
        ensure!(load <= crate::MOST_PAIRS, "--load must be at most {}", crate::MOST_PAIRS);
        contenders::check_memory(&self.rival_memory, threshold)
    }
}
