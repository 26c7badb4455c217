//! The command `scale`, which measures the cost of many nodes: the bytes that they send, and the merge and close times
//! of a collector and of trees of collectors.
//!
//! Nodes and [`Collector`]s are simulated one after the other. They exchange the bytes that a network would carry, and
//! only library calls are timed. The command fails unless the root of a tree has exactly the same state as a single
//! collector.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use indicatif::ProgressBar;
use srlg_core::{Config, Ipv4Pair};
use srlg_host::state::Delta;
use srlg_host::{Device, SlidingDetector};
use srlg_input::number;
use srlg_traffic::family::Family;
use srlg_traffic::synthetic::Stream;

use crate::feed::Feeder;
use crate::options::planned;
use crate::results::{Column, Details, Results, Row, details};
use crate::sample::Sample;
use crate::study::{CommandLine, FolderOptions, Study, Sweep, round};
use crate::table::{machine, short};

/// Maximum number of nodes. It is limited, because each node is simulated.
const MOST_NODES: u32 = 100_000;

const OF_TRAFFIC: &[Column] = &[
    Column::decimals(0, "recorders touched").metric("recorders", ""),
    Column::decimals(0, "bytes of the delta").metric("delta_bytes", "bytes").chart("delta-bytes"),
    Column::decimals(2, "bytes per pair").metric("delta_bytes_per_pair", "bytes"),
    Column::decimals(2, "making the delta, ms")
        .metric("delta_make_ms", "ms")
        .chart("delta-make-ms"),
    Column::decimals(2, "merging the delta, ms")
        .metric("delta_merge_ms", "ms")
        .chart("delta-merge-ms"),
];
const OF_NODES: &[Column] = &[
    Column::decimals(0, "bytes to the collector")
        .metric("collector_bytes", "bytes")
        .chart("collector-bytes"),
    Column::decimals(0, "bytes per delta").metric("delta_bytes", "bytes"),
    Column::decimals(1, "merging all deltas, ms")
        .metric("collector_merge_ms", "ms")
        .chart("collector-merge-ms"),
    Column::decimals(0, "deltas per second").metric("deltas_per_second", "1/s"),
    Column::decimals(1, "close, ms").metric("collector_close_ms", "ms"),
];
const OF_TREES: &[Column] = &[
    Column::decimals(0, "levels").metric("tree_levels", ""),
    Column::decimals(0, "collectors").metric("tree_collectors", ""),
    Column::decimals(0, "bytes to the root")
        .metric("tree_root_bytes", "bytes")
        .chart("tree-root-bytes"),
    Column::decimals(0, "bytes on all links").metric("tree_bytes", "bytes"),
    Column::decimals(1, "root, ms").metric("tree_root_ms", "ms"),
    Column::decimals(1, "from the nodes to the report, ms")
        .metric("tree_latency_ms", "ms")
        .chart("tree-latency-ms"),
];

#[derive(Args)]
pub(crate) struct Scale {
    /// Maximum number of nodes
    #[arg(long, default_value = "1k", value_parser = number::count)]
    nodes: u32,
    /// Distinct pairs per node and slice
    #[arg(long, default_value = "2k", value_parser = number::count)]
    pairs: u32,
    /// Maximum number of distinct pairs per node and slice in the sweep over this number
    #[arg(long, default_value = "3M", value_parser = number::count)]
    most: u32,
    /// Distinct pairs per window in the whole network, for which sizes are planned; requires --memory
    #[arg(long, requires = "memory", value_parser = number::integer)]
    load: Option<u64>,
    /// Maximum size of the recorders in the plan, in bytes [default: the sizes of Config::default(), 31.6 MB]
    #[arg(long, requires = "load", value_parser = number::integer)]
    memory: Option<u64>,
    /// Number of repetitions of short measurements, whose median is printed
    #[arg(long, default_value = "5", value_parser = number::count)]
    repeat: u32,
    /// Address family of the traffic: IPv4, IPv6, or mixed (half of the inside hosts in each family)
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Use tiny sizes to test the command. The figures have no meaning
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    output: FolderOptions,
}

enum Step {
    /// A node with this number of distinct pairs.
    Pairs(u32),
    /// A collector that receives the deltas of `nodes` nodes.
    Nodes {
        series: &'static str,
        nodes: u32,
        /// Total number of pairs of all nodes.
        pairs: u64,
    },
    /// Trees of collectors over this number of nodes, with different numbers of children per collector.
    Trees(u32),
}

pub(crate) fn run(options: &Scale, line: CommandLine) -> Result<()> {
    ensure!(options.nodes <= MOST_NODES, "--nodes must be at most {MOST_NODES}");
    ensure!(options.most <= crate::MOST_PAIRS, "--most must be at most {}", crate::MOST_PAIRS);
    ensure!(options.repeat <= 1000, "--repeat must be at most 1000");
    let most = u64::from(crate::MOST_PAIRS);
    ensure!(
        options.pairs_of(options.nodes) <= most,
        "--nodes times --pairs must be at most {most}"
    );
    let setting = Setting { options, config: options.config()? };
    let sweeps = setting.sweeps();
    Study::in_folder(&options.output, "docs/scaling", "The cost of many nodes", &sweeps)?
        .set_up(line, &setting.text()?)?
        .run(1, sweeps, |step, results, bar| {
            match *step {
                Step::Pairs(pairs) => results.rows.push(setting.delta(pairs)?),
                Step::Nodes { series, nodes, pairs } => {
                    results.rows.push(setting.collector(series, nodes, pairs)?);
                }
                Step::Trees(nodes) => setting.trees(nodes, results, bar)?,
            }
            Ok(())
        })?;
    Ok(())
}

impl Scale {
    fn config(&self) -> Result<Config> {
        let base = Config { seed: self.seed, ..Config::default() };
        let (Some(load), Some(memory)) = (self.load, self.memory) else { return Ok(base) };
        planned(base, load, memory)
    }

    /// Returns the fields that the JSON objects of a sweep over `of` share.
    fn details(&self, of: &str) -> Details {
        details!(
            self => nodes, pairs, load, memory, repeat, seed, quick;
            "of": of, "family": self.family.to_string()
        )
    }

    fn pairs_of(&self, nodes: u32) -> u64 {
        u64::from(nodes) * u64::from(self.pairs)
    }
}

struct Setting<'a> {
    options: &'a Scale,
    config: Config,
}

impl Setting<'_> {
    fn text(&self) -> Result<String> {
        Ok(format!(
            "The figures were measured on {}, with {:.1} MB of recorders, θ = {} and windows of {} slices. Detectors \
             ran on the CPU. A node sends the delta of a slice as bytes, and a collector decodes and merges the \
             delta. No network is involved.",
            machine(),
            self.config.validate()?.recorder_bytes() as f64 / 1e6,
            self.config.threshold,
            self.config.window,
        ))
    }

    fn sweeps(&self) -> Vec<Sweep<Step>> {
        let Scale { nodes, pairs, most, quick, .. } = *self.options;
        let (most, of_collector, of_tree) =
            if quick { (3_000, 3, 8) } else { (most, nodes, nodes) };
        let (each, shared) = (short(pairs), self.options.pairs_of(of_collector));
        let deltas = round(1_000).take_while(|&pairs| pairs <= most).map(Step::Pairs);
        let places = || round(1).take_while(|&nodes| nodes < of_collector).chain([of_collector]);
        let own = places().map(|nodes| Step::Nodes {
            series: "separate traffic",
            nodes,
            pairs: self.options.pairs_of(nodes),
        });
        let series = "shared traffic";
        let shares = places().map(|nodes| Step::Nodes { series, nodes, pairs: shared });
        let of_traffic = "One node sends one slice in which every pair is new";
        let of_nodes = format!(
            "One slice is merged with one thread. In separate traffic, each node has {each} pairs. In shared \
             traffic, {shared} pairs are divided among the nodes"
        );
        let of_trees = format!(
            "Each of {} nodes sends one slice of {each} pairs that no other node sends. Collectors at the \
             same level work in parallel, each with one thread",
            short(of_tree)
        );
        let sweep = |place, heading, x, setting, columns, steps| {
            let details = self.options.details(x);
            Sweep::new(place, heading, setting, ["", x], columns, details, steps)
        };
        let (of_slice, below) = ("distinct pairs in the slice", "below each collector");
        let trees = vec![Step::Trees(of_tree)];
        let (deltas, collectors) = (deltas.collect(), own.chain(shares).collect());
        vec![
            sweep("traffic", "Deltas by traffic", of_slice, of_traffic, OF_TRAFFIC, deltas),
            sweep("nodes", "Collector by nodes", "nodes", &of_nodes, OF_NODES, collectors),
            sweep("tree", "A tree of collectors", below, &of_trees, OF_TREES, trees),
        ]
    }

    /// Measures the delta of a node that has this number of distinct pairs: its size, and the times to make and merge
    /// it.
    fn delta(&self, pairs: u32) -> Result<Row> {
        let stream = Stream::new(self.options.seed, pairs.max(1000));
        let all: Vec<Ipv4Pair> = stream.take(pairs as usize).collect();
        let rounds = (0..self.options.repeat).map(|_| {
            let message = self.node(&all)?;
            let mut collector = Collector::new(self.config)?;
            collector.take(&message.bytes)?;
            let bytes = message.bytes.len() as f64;
            let (make, merge) =
                (message.time.as_secs_f64() * 1e3, collector.time.as_secs_f64() * 1e3);
            Ok([message.recorders as f64, bytes, bytes / f64::from(pairs), make, merge])
        });
        let rounds = rounds.collect::<Result<Vec<_>>>()?;
        let median = |value| Sample::of(rounds.iter().map(|round: &[f64; 5]| round[value])).median;
        Ok(row("a node", pairs, (0..OF_TRAFFIC.len()).map(median)))
    }

    /// Returns the delta of a node that has processed only these pairs, all in the running slice. If the window were
    /// full, the pairs would change fewer recorders, so this delta is as large as possible.
    fn node(&self, pairs: &[Ipv4Pair]) -> Result<Message> {
        let mut detector = detector(self.config)?;
        Feeder::new(self.options.family).ingest(&detector, pairs)?;
        detector.flush()?;
        Message::of(&mut detector)
    }

    /// Returns the deltas of `nodes` nodes for a slice with `pairs` pairs in total. All nodes have the same number of
    /// pairs.
    fn nodes(&self, nodes: u32, pairs: u64) -> Result<Vec<Message>> {
        let mut stream = Stream::new(self.options.seed, (pairs as u32).max(1000));
        let share = (pairs / u64::from(nodes)).max(1) as usize;
        let send = |_| self.node(&stream.by_ref().take(share).collect::<Vec<_>>());
        (0..nodes).map(send).collect()
    }

    /// Measures a collector that receives the deltas of `nodes` nodes with `pairs` pairs in total.
    fn collector(&self, series: &str, nodes: u32, pairs: u64) -> Result<Row> {
        let mut collector = Collector::of(self.config, &self.nodes(nodes, pairs)?)?;
        let close = collector.close()?.as_secs_f64();
        let (bytes, merge) = (collector.bytes as f64, collector.time.as_secs_f64());
        let count = f64::from(nodes);
        Ok(row(series, nodes, [bytes, bytes / count, merge * 1e3, count / merge, close * 1e3]))
    }

    /// Measures trees over `nodes` nodes and adds a row for each number of children per collector.
    fn trees(&self, nodes: u32, results: &mut Results, bar: &ProgressBar) -> Result<()> {
        let sent = self.nodes(nodes, self.options.pairs_of(nodes))?;
        let flat = Collector::of(self.config, &sent)?.detector.snapshot()?;
        for fan_in in [2, 3, 10, 30, 100, 300].into_iter().filter(|&it| it < nodes).chain([nodes]) {
            bar.set_message(format!("tree, {fan_in} children per collector"));
            let mut tree = Tree::default();
            let root = tree.grow(self.config, &sent, fan_in as usize)?;
            ensure!(
                root.detector.snapshot()? == flat,
                "a tree with {fan_in} children per collector differs from a single collector"
            );
            results.rows.push(row("tree", fan_in, tree.figures(root)?));
        }
        Ok(())
    }
}

fn row(series: &str, x: u32, values: impl IntoIterator<Item = f64>) -> Row {
    let cells = values.into_iter().map(Into::into).collect();
    Row::new(vec![series.to_owned(), short(x)], cells, details!("series": series, "x": x)).at(x)
}

/// The running slice of all nodes and collectors.
///
/// An epoch starts with this slice, so that the position of the slice in its epoch does not affect the results.
const SLICE: u64 = 1 << 32;

fn detector(config: Config) -> Result<SlidingDetector> {
    let mut detector = SlidingDetector::new(config, Device::Cpu)?;
    detector.skip_to(SLICE)?;
    Ok(detector)
}

/// The delta of the running slice, as a node or a collector sends it.
struct Message {
    bytes: Vec<u8>,
    recorders: usize,
    /// Time to make and encode the delta.
    time: Duration,
}

impl Message {
    fn of(detector: &mut SlidingDetector) -> Result<Self> {
        let start = Instant::now();
        let delta = detector.delta(1)?;
        let bytes = delta.to_bytes()?;
        let time = start.elapsed();
        Ok(Self { bytes, recorders: delta.recorders(), time })
    }
}

/// A detector that merges the deltas of nodes, or of the collectors below it.
struct Collector {
    detector: SlidingDetector,
    /// Time spent on decoding and merging deltas.
    time: Duration,
    bytes: usize,
}

impl Collector {
    fn new(config: Config) -> Result<Self> {
        Ok(Self { detector: detector(config)?, time: Duration::ZERO, bytes: 0 })
    }

    fn of(config: Config, sent: &[Message]) -> Result<Self> {
        let mut collector = Self::new(config)?;
        sent.iter().try_for_each(|message| collector.take(&message.bytes))?;
        Ok(collector)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let start = Instant::now();
        let delta = Delta::from_bytes(bytes, self.detector.params())?;
        self.detector.merge_delta(&delta)?;
        self.time += start.elapsed();
        self.bytes += bytes.len();
        Ok(())
    }

    fn close(&mut self) -> Result<Duration> {
        let start = Instant::now();
        self.detector.close_slice()?;
        Ok(start.elapsed())
    }
}

/// The cost of a tree of collectors. Collectors at the same level are assumed to work in parallel.
#[derive(Default)]
struct Tree {
    levels: u32,
    collectors: usize,
    bytes: usize,
    /// Sum of the times of the slowest node and of the slowest collector at each level below the root.
    latency: Duration,
}

impl Tree {
    /// Builds levels of collectors with up to `fan_in` children each, until a level has only one collector. Returns
    /// this collector, the root.
    fn grow(&mut self, config: Config, nodes: &[Message], fan_in: usize) -> Result<Collector> {
        self.latency = slowest(nodes.iter().map(|message| message.time));
        let mut level = self.level(config, nodes, fan_in)?;
        while level.len() > 1 {
            let send = |collector: &mut Collector| Message::of(&mut collector.detector);
            let sent = level.iter_mut().map(send).collect::<Result<Vec<_>>>()?;
            let times = level.iter().zip(&sent);
            self.latency +=
                slowest(times.map(|(collector, message)| collector.time + message.time));
            level = self.level(config, &sent, fan_in)?;
        }
        Ok(level.remove(0))
    }

    fn level(
        &mut self,
        config: Config,
        below: &[Message],
        fan_in: usize,
    ) -> Result<Vec<Collector>> {
        let level = below.chunks(fan_in).map(|group| Collector::of(config, group));
        let level = level.collect::<Result<Vec<_>>>()?;
        self.levels += 1;
        self.collectors += level.len();
        self.bytes += level.iter().map(|collector| collector.bytes).sum::<usize>();
        Ok(level)
    }

    /// Returns the figures for the columns [`OF_TREES`], with times in milliseconds.
    fn figures(&self, mut root: Collector) -> Result<[f64; 6]> {
        let last = root.time + root.close()?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let [levels, collectors] = [self.levels.into(), self.collectors as f64];
        let [to_root, all] = [root.bytes, self.bytes].map(|bytes| bytes as f64);
        Ok([levels, collectors, to_root, all, ms(last), ms(self.latency + last)])
    }
}

fn slowest(times: impl Iterator<Item = Duration>) -> Duration {
    times.max().unwrap_or_default()
}
