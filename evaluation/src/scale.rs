//! `scale`: what many nodes cost: bytes between them, the collector's time, a tree of collectors.
//!
//! Shape: [`traffic`], [`nodes`] and [`tree`] are a sweep each, of nodes and
//! [`Collector`](collector::Collector)s that hand each other the bytes that a network would carry.
//! Invariant: every node is simulated, one after the other, and clocks run in the library's own
//! calls alone; a tree's answer is that of one collector, bit for bit, or the command fails.

mod collector;
mod node;
mod nodes;
mod traffic;
mod tree;

use crate::study::{CommandLine, Details, FolderOptions, Results, Row, StudyOutput};
use crate::table::machine;
use crate::{number, progress};
use anyhow::{Result, ensure};
use clap::Args;
use indicatif::ProgressBar;
use srlg_core::Config;
use srlg_traffic::family::Family;

/// Most nodes, each of which is simulated.
const MOST_NODES: u32 = 100_000;

#[derive(Args)]
pub(crate) struct Scale {
    /// Most nodes
    #[arg(long, default_value = "1k", value_parser = number::count)]
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
    /// Repetitions of short measurements, of which the median counts
    #[arg(long, default_value = "5", value_parser = number::count)]
    repeat: u32,
    /// Hosts of the traffic: of IPv4, of IPv6, or half of the inside hosts of either
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

pub(crate) fn run(options: &Scale, line: CommandLine) -> Result<()> {
    ensure!(options.nodes <= MOST_NODES, "--nodes must be at most {MOST_NODES}");
    ensure!(options.most <= crate::MOST_PAIRS, "--most must be at most {}", crate::MOST_PAIRS);
    ensure!(options.repeat <= 1000, "--repeat must be at most 1000");
    let (nodes, pairs) = (u64::from(options.nodes), u64::from(options.pairs));
    let most = u64::from(crate::MOST_PAIRS);
    ensure!(nodes * pairs <= most, "--nodes times --pairs must be at most {most}");
    let setting = Setting { options, config: options.config()? };
    let names = SWEEPS.map(|(name, _)| name);
    let title = "What many nodes cost";
    let mut output = StudyOutput::in_folder(&options.output, "docs/scaling", title, names)?;
    let bar = progress::bar(SWEEPS.len() as u64, "");
    let mut results = Vec::new();
    for (name, measure) in SWEEPS {
        bar.set_message(name);
        let result = measure(&setting, &bar)?;
        let details = options.details(name, result.names[1]);
        results.push(Results { place: name.to_owned(), details, ..result });
        bar.inc(1);
    }
    drop(bar);
    output.set_up(line, &setting.text()?)?;
    output.tell(&results)
}

impl Setting<'_> {
    fn text(&self) -> Result<String> {
        Ok(format!(
            "{}. {:.1} MB of recorders, θ = {}, {} slices in the window, on the CPU. A node sends \
             the delta of a slice, a collector reads it from its bytes and merges it; nothing is \
             sent over a network.",
            machine(),
            self.config.validate()?.recorder_bytes() as f64 / 1e6,
            self.config.threshold,
            self.config.window,
        ))
    }
}

/// The row of a series at the place `x`, with its `values`.
fn row(series: &str, x: u32, values: impl IntoIterator<Item = f64>) -> Row {
    Row {
        names: vec![series.to_owned(), number::short(x)],
        x: x.into(),
        cells: values.into_iter().map(Into::into).collect(),
        details: vec![("series", series.into()), ("x", x.into())],
        ..Row::default()
    }
}

impl Scale {
    fn config(&self) -> Result<Config> {
        let base = Config { seed: self.seed, ..Config::default() };
        let (Some(load), Some(memory)) = (self.load, self.memory) else { return Ok(base) };
        let plan = Config::for_load(base.threshold, base.window, load, memory.try_into()?)?;
        Ok(Config { seed: self.seed, ..plan.config })
    }

    /// What the results of a sweep along `of` depend on.
    fn details(&self, sweep: &str, of: &str) -> Details {
        vec![
            ("sweep", sweep.into()),
            ("of", of.into()),
            ("nodes", self.nodes.into()),
            ("pairs", self.pairs.into()),
            ("load", self.load.into()),
            ("memory", self.memory.into()),
            ("repeat", self.repeat.into()),
            ("seed", self.seed.into()),
            ("family", self.family.to_string().into()),
            ("quick", self.quick.into()),
        ]
    }
}
