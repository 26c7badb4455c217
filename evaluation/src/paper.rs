//! `paper`: the experiments of the paper's section 5, on synthetic traffic.
//!
//! Shape: [`discrete`] windows of all [`contenders`], [`sliding`] windows of srlg's presets,
//! each a list of [`Track`]s; [`document`] makes tables and plots of them. Invariant: all
//! systems see the same packets, find the hosts themselves (but for GSE, which cannot), and
//! are scored against the exact truth; everything but times follows from the options.

mod contenders;
mod discrete;
mod document;
mod sliding;
mod track;

use crate::number;
use crate::page::{self, Page};
use anyhow::{Context, Result, ensure};
use clap::Args;
use srlg_traffic::synthetic::Model;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use track::Track;

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
    /// Seconds in a window: the slice of a discrete one, slices of a sliding one
    #[arg(long, default_value = "300", value_parser = number::count)]
    window: u32,
    /// Distinct opposite hosts that make a super point
    #[arg(long, default_value = "1024", value_parser = number::count)]
    threshold: u32,
    /// Model of the traffic: backbone, metro, flood, slow-scan, flash-crowd or persistent
    #[arg(long, default_value = "backbone")]
    traffic: Model,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Folder for README.md and the plots [default: docs/paper, none with --json]
    #[arg(long)]
    output: Option<PathBuf>,
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
}

/// The results for one load.
struct Results {
    load: u32,
    discrete: discrete::Discrete,
    sliding: Vec<Track>,
}

pub(crate) fn run(options: &Paper) -> Result<()> {
    options.check()?;
    let target = options.target();
    let page = target.map(open).transpose()?;
    let mut results = Vec::new();
    for &load in &options.load {
        let discrete = discrete::run(options, load)?;
        results.push(Results { load, discrete, sliding: sliding::run(options, load)? });
    }
    if let Some((target, page)) = target.zip(page) {
        write(target, page, options, &results)?;
    }
    print(options, &results).context("cannot write to the standard output")
}

fn open(target: &Path) -> Result<Page> {
    fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    Page::open_or_begin(&target.join("README.md"), document::TITLE, &document::SECTIONS)
}

fn write(target: &Path, mut page: Page, options: &Paper, results: &[Results]) -> Result<()> {
    for plot in document::plots(options, results) {
        page::write(&target.join(&plot.file), &plot.chart.svg()?)?;
    }
    for (section, content) in
        document::SECTIONS.into_iter().zip(document::contents(options, results))
    {
        page.fill(section, &content)?;
    }
    page.write()
}

fn print(options: &Paper, results: &[Results]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if !options.json {
        return document::summaries(results).iter().try_for_each(|table| writeln!(out, "{table}"));
    }
    for result in results {
        for (experiment, tracks) in
            [("discrete", &result.discrete.tracks), ("sliding", &result.sliding)]
        {
            for object in tracks.iter().flat_map(Track::metrics) {
                writeln!(out, "{}", options.with_settings(object, experiment, result.load))?;
            }
        }
    }
    Ok(())
}

impl Paper {
    fn check(&self) -> Result<()> {
        let most = crate::MOST_SLICES;
        let discrete = self.windows.checked_mul(self.window);
        let sliding = self.sliding_windows.checked_add(self.window);
        let slices = discrete.zip(sliding).map(|(discrete, sliding)| discrete.max(sliding));
        ensure!(
            slices.is_some_and(|slices| slices < most),
            "--windows, --sliding-windows or --window is too large"
        );
        let load = self.load.iter().copied().max().unwrap_or(0);
        ensure!(load <= crate::MOST_PAIRS, "--load must be at most {}", crate::MOST_PAIRS);
        contenders::check_memory(&self.rival_memory, self.threshold)
    }

    /// The folder to write to.
    fn target(&self) -> Option<&Path> {
        let default = (!self.json).then_some(Path::new("docs/paper"));
        self.output.as_deref().or(default)
    }

    /// The command that repeats the results.
    fn command(&self) -> String {
        let list = |numbers: &[u32]| {
            numbers.iter().map(|&number| number::short(number)).collect::<Vec<_>>().join(",")
        };
        format!(
            "cargo run --release -p srlg-evaluation -- paper --load {} --rival-memory {} \
             --windows {} --sliding-windows {} --window {} --threshold {} --traffic {} --seed {}",
            list(&self.load),
            list(&self.rival_memory),
            self.windows,
            self.sliding_windows,
            self.window,
            self.threshold,
            self.traffic,
            self.seed,
        )
    }

    /// A metric's object with everything that it depends on.
    fn with_settings(
        &self,
        mut object: serde_json::Value,
        experiment: &str,
        load: u32,
    ) -> serde_json::Value {
        let (windows, slices, seconds) = match experiment {
            "discrete" => (self.windows, 1, self.window),
            _ => (self.sliding_windows, self.window, 1),
        };
        object["experiment"] = experiment.into();
        object["load"] = load.into();
        object["windows"] = windows.into();
        object["window"] = slices.into();
        object["slice_seconds"] = seconds.into();
        object["threshold"] = self.threshold.into();
        object["traffic"] = self.traffic.name().into();
        object["seed"] = self.seed.into();
        object
    }
}
