//! `scale`: what many nodes cost: bytes between them, the collector's time, a tree of collectors.
//!
//! Shape: [`traffic`], [`nodes`] and [`tree`] are a sweep each, of [`Node`](node::Node)s and
//! [`Collector`](collector::Collector)s that hand each other the bytes that a network would carry;
//! [`document`] makes a table and charts of them. Invariant: every node is simulated, one after
//! the other, and clocks run in the library's own calls alone; a tree's answer is that of one
//! collector, bit for bit, or the command fails.

mod collector;
mod document;
mod node;
mod nodes;
mod traffic;
mod tree;

use crate::study::{self, Told};
use crate::{number, progress};
use anyhow::{Result, ensure};
use clap::Args;
use document::Results;
use indicatif::ProgressBar;
use srlg_core::Config;
use std::path::{Path, PathBuf};

/// Most nodes, each of which is simulated.
const MOST_NODES: u32 = 100_000;

#[derive(Args)]
pub(crate) struct Scale {
    /// Most nodes
    #[arg(long, default_value = "1000", value_parser = number::count)]
    nodes: u32,
    /// Distinct pairs that a node sees in a slice
    #[arg(long, default_value = "2k", value_parser = number::count)]
    pairs: u32,
    /// Most distinct pairs of a node and slice, where that varies
    #[arg(long, default_value = "3M", value_parser = number::count)]
    most: u32,
    /// Distinct pairs per window of the whole network, for which the sizes are planned; with --memory
    #[arg(long, requires = "memory", value_parser = number::integer)]
    load: Option<u64>,
    /// Bytes of recorders that the plan may take [default: Config::default() in 31.6 MB]
    #[arg(long, requires = "load", value_parser = number::integer)]
    memory: Option<u64>,
    /// Repetitions of which the median is told, where one is short
    #[arg(long, default_value = "5", value_parser = number::count)]
    repeat: u32,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Tiny sizes, to see that it works: the figures mean nothing
    #[arg(long)]
    quick: bool,
    /// Folder for README.md and the plots [default: docs/scaling, none with --json]
    #[arg(long, alias = "out")]
    output: Option<PathBuf>,
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
}

/// Measures one sweep; each step is one of its places.
type Measure = fn(&Setting<'_>, &ProgressBar) -> Result<Results>;

const SWEEPS: [(&str, Measure); 3] =
    [("traffic", traffic::measure), ("nodes", nodes::measure), ("tree", tree::measure)];

/// What all sweeps share.
struct Setting<'a> {
    options: &'a Scale,
    /// The sizes of every node and collector.
    config: Config,
}

pub(crate) fn run(options: &Scale) -> Result<()> {
    ensure!(options.nodes <= MOST_NODES, "--nodes must be at most {MOST_NODES}");
    ensure!(options.most <= crate::MOST_PAIRS, "--most must be at most {}", crate::MOST_PAIRS);
    ensure!(options.repeat <= 1000, "--repeat must be at most 1000");
    let (nodes, pairs) = (u64::from(options.nodes), u64::from(options.pairs));
    let most = u64::from(crate::MOST_PAIRS);
    ensure!(nodes * pairs <= most, "--nodes times --pairs must be at most {most}");
    let setting = Setting { options, config: options.config()? };
    let target = options.target();
    let names = SWEEPS.map(|(name, _)| name);
    let page = target.map(|target| study::open(target, document::TITLE, names)).transpose()?;
    let bar = progress::bar(SWEEPS.len() as u64, "");
    let mut results = Vec::new();
    for (name, measure) in SWEEPS {
        bar.set_message(name);
        results.push((name, measure(&setting, &bar)?));
        bar.inc(1);
    }
    drop(bar);
    let told: Vec<Told> =
        results.iter().map(|(name, result)| document::told(options, name, result)).collect();
    study::tell(target.zip(page), &document::setup(&setting), &told, options.json)
}

impl Scale {
    fn config(&self) -> Result<Config> {
        let base = Config { seed: self.seed, ..Config::default() };
        let (Some(load), Some(memory)) = (self.load, self.memory) else { return Ok(base) };
        let plan = Config::for_load(base.threshold, base.window, load, memory.try_into()?)?;
        Ok(Config { seed: self.seed, ..plan.config })
    }

    /// The folder to write to.
    fn target(&self) -> Option<&Path> {
        let default = (!self.json).then_some(Path::new("docs/scaling"));
        self.output.as_deref().or(default)
    }

    /// The command that repeats the results.
    fn command(&self) -> String {
        let sizes = match (self.load, self.memory) {
            (Some(load), Some(memory)) => format!(" --load {load} --memory {memory}"),
            _ => String::new(),
        };
        let quick = if self.quick { " --quick" } else { "" };
        let [nodes, pairs, most] = [self.nodes, self.pairs, self.most].map(number::short);
        format!(
            "cargo run --release -p srlg-evaluation -- scale --nodes {nodes} --pairs {pairs} \
             --most {most}{sizes} --repeat {} --seed {}{quick}",
            self.repeat, self.seed
        )
    }
}
