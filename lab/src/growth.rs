//! The command `growth`, which measures how time and memory grow with distinct pairs, slices in the window, and
//! threads.
//!
//! In each sweep, one parameter varies. All systems ingest the same pairs on the CPU. They run one after the other, so
//! that only one system is in memory at a time. Loads that are too large for a system and families that the system does
//! not support are omitted.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use srlg_core::{Config, Ipv4Pair};
use srlg_host::ingest::PairBatch;
use srlg_host::{Device, SlidingDetector};
use srlg_input::number;
use srlg_traffic::family::Family;
use srlg_traffic::synthetic::Stream;

use crate::feed::{batches, in_parallel, split_by_host};
use crate::peers::Peer;
use crate::plot::{Axis, Point, Scale, Series};
use crate::results::{Cell, Column, Results, Row, details};
use crate::sample::{Sample, stage_medians, stages_json, timed};
use crate::study::{CommandLine, FolderOptions, Study, Sweep, round};
use crate::system::{Srlg, System};
use crate::table::{machine, short};

/// Maximum number of distinct pairs in a window. A `Stream` repeats itself after 2^32 pairs.
const MOST_PAIRS: u32 = 1_000_000_000;

const INGEST: Column =
    Column::decimals(1, "ingest, ns per pair").metric("ingest_ns_per_pair", "ns").chart("ingest");
const MEMORY: Column = Column::megabytes("memory, MB").metric("memory_bytes", "bytes");
const CLOSES: &[Column] = &[
    INGEST,
    Column::decimals(2, "close, ms").metric("close_slice_ms", "ms").chart("close"),
    Column::decimals(0, "stages, ms"),
    Column::decimals(0, "all searched"),
    MEMORY.chart("memory"),
];
const INGESTS: &[Column] = &[INGEST, MEMORY];

#[derive(Args)]
pub(crate) struct Growth {
    /// Maximum number of distinct pairs in the window
    #[arg(long, default_value = "100M", value_parser = number::count)]
    most: u32,
    /// Maximum number of distinct pairs for the hash map of hash maps, which is slow and large
    #[arg(long, default_value = "30M", value_parser = number::count)]
    most_sets: u32,
    /// Number of closes per setting; their median duration is printed
    #[arg(long, default_value = "7", value_parser = number::count)]
    closes: u32,
    /// Address family of the traffic: IPv4, IPv6, or mixed (half of the inside hosts in each family); maps are
    /// measured with IPv4 only
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Use tiny sizes to test the command; the resulting figures are meaningless
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    output: FolderOptions,
}

#[derive(Clone, Copy)]
struct Step {
    system: Option<Peer>,
    x: u32,
    /// Number of distinct pairs in the window.
    load: u32,
    window: u32,
    threads: u32,
    /// Whether the step closes slices. Otherwise, it only ingests pairs.
    closes: bool,
}

/// The measured systems. `None` is srlg.
const SYSTEMS: [Option<Peer>; 3] = [None, Some(Peer::Pairs), Some(Peer::Sets)];

fn name(system: Option<Peer>) -> String {
    system.map_or("srlg".to_owned(), |peer| peer.make(&Config::default(), 0).name())
}

pub(crate) fn run(options: &Growth, line: CommandLine) -> Result<()> {
    ensure!(options.most <= MOST_PAIRS, "--most must be at most {MOST_PAIRS}");
    ensure!(options.most >= 100_000, "--most must be at least 100k, the smallest load");
    ensure!(options.closes <= 1000, "--closes must be at most 1000");
    let sweeps = options.sweeps();
    Study::in_folder(&options.output, "docs/growth", "Growth of time and memory", &sweeps)?
        .set_up(line, &options.text())?
        .run(1, sweeps, |step, results, _| {
            add(results, step, &cost(step, options)?);
            Ok(())
        })?;
    Ok(())
}

impl Growth {
    fn text(&self) -> String {
        let beside = match self.family {
            Family::V4 => "is compared with exact maps",
            Family::V6 => "tracks IPv6 hosts",
            Family::Mixed => "tracks inside hosts, half of which have IPv6 addresses",
        };
        let mut text = format!(
            "Measured on {}. `Config::default()` on the CPU {beside}. Every time is the median of {} slices, \
             measured with a full window and new pairs only. Hosts have the cardinalities of model A \
             (`srlg_traffic::synthetic`).",
            machine(),
            self.closes,
        );
        if self.family == Family::V4 {
            text += &format!(
                " The hash map of hash maps is not measured above {} pairs. Several threads share one srlg detector. \
                 For exact maps, each thread has its own map with its own share of the hosts.",
                short(self.most_sets),
            );
        }
        text
    }

    fn sweeps(&self) -> Vec<Sweep<Step>> {
        let (load, window) = if self.quick { (20_000, 10) } else { (2_000_000, 60) };
        let (least, most) = if self.quick { (10_000, 30_000) } else { (100_000, self.most) };
        let base = Step { system: None, x: 0, load, window, threads: 1, closes: true };
        let windows = [1, 10, 60, 300, 1000, 6000, 60_000];
        let windows = if self.quick { &windows[..2] } else { &windows };
        let loads = round(least).take_while(|&load| load <= most);
        let loads = loads.map(|load| Step { x: load, load, ..base });
        let windows = windows.iter().map(|&window| Step { x: window, window, ..base });
        let threads = [1, 2, 4].map(|threads| Step { x: threads, threads, closes: false, ..base });
        let [pairs, slices] = ["distinct pairs in the window", "slices in the window"];
        let setting = format!("{} {pairs}", short(load));
        let of_loads = format!("{window} {slices}, 1 thread");
        let of_windows = format!("{setting}, 1 thread");
        let of_threads = format!("{setting}, ingest only");
        vec![
            self.sweep("load", "distinct pairs", pairs, &of_loads, loads.collect()),
            self.sweep("window", slices, slices, &of_windows, windows.collect()),
            self.sweep("threads", "threads", "threads", &of_threads, threads.into()),
        ]
    }

    /// Returns a sweep that measures every system at each of the `places`. Loads that are too large for a system and
    /// families that the system does not support are omitted.
    fn sweep(
        &self,
        place: &str,
        what: &str,
        x: &'static str,
        setting: &str,
        places: Vec<Step>,
    ) -> Sweep<Step> {
        let of_all = |step: Step| SYSTEMS.map(|system| Step { system, ..step });
        let fits = |step: &Step| match step.system {
            None => true,
            Some(Peer::Sets) if step.load > self.most_sets => false,
            Some(_) => self.family == Family::V4,
        };
        let steps: Vec<Step> = places.into_iter().flat_map(of_all).filter(fits).collect();
        let columns = if steps[0].closes { CLOSES } else { INGESTS };
        let family = self.family.to_string();
        let details = details!(self => closes, seed, quick; "family": family);
        let heading = format!("Growth with {what}");
        Sweep::new(place, &heading, setting, ["system", x], columns, details, steps)
    }
}

/// Adds the row and the stages of a step.
fn add(results: &mut Results, step: &Step, cost: &Cost) {
    let name = name(step.system);
    let details = details!(step => load, window, threads; "system": name);
    let mut cells = vec![cost.ingest_ns.into()];
    if let Some(close) = &cost.close {
        cells.extend(close.cells());
        add_stages(results, step.x, close);
    }
    cells.push(cost.memory_bytes.into());
    results.rows.push(Row::new(vec![name, short(step.x)], cells, details).at(step.x));
}

fn add_stages(results: &mut Results, x: u32, close: &Close) {
    let y = Axis { label: "time per stage of a close, ms", scale: Scale::Logarithmic };
    let mut plot = results.plots.pop().unwrap_or_else(|| results.plot_of("stages", y, Vec::new()));
    for &(stage, y) in &close.stages_ms {
        Series::add(&mut plot.chart.series, stage, Point { x: x.into(), y, error: 0.0 });
    }
    results.plots.push(plot);
}

impl Close {
    fn cells(&self) -> [Cell; 3] {
        let stages = self.stages_ms.iter().map(|(name, ms)| format!("{name} {ms:.2}"));
        let details =
            details!("stages": stages_json(&self.stages_ms), "complete": self.is_complete);
        [
            Cell::from(self.ms).details(details),
            stages.collect::<Vec<_>>().join(", ").into(),
            if self.is_complete { "yes" } else { "no" }.to_owned().into(),
        ]
    }
}

const PAIRS_PER_CALL: usize = 1 << 14;
/// Maximum number of pairs that [`Trial::ingest`] generates at once. The generation is not timed.
const PAIRS_PER_BLOCK: usize = 1 << 20;

/// Costs of a system. The durations are medians.
struct Cost {
    ingest_ns: f64,
    /// Costs of a close, or `None` if no slice was closed.
    close: Option<Close>,
    memory_bytes: usize,
}

struct Close {
    ms: f64,
    stages_ms: Vec<(&'static str, f64)>,
    is_complete: bool,
}

fn cost(step: &Step, options: &Growth) -> Result<Cost> {
    let seed = options.seed;
    let config = Config { window: step.window, seed, ..Config::default() };
    let trial = Trial { step, options, config, traffic: Stream::new(seed, step.load) };
    match step.system {
        _ if step.closes => trial.slices(),
        None => trial.shared(),
        Some(_) => trial.sharded(),
    }
}

struct Trial<'a> {
    step: &'a Step,
    options: &'a Growth,
    config: Config,
    traffic: Stream,
}

impl Trial<'_> {
    fn system(&self) -> Result<Box<dyn System + Send>> {
        Ok(match self.step.system {
            None => Box::new(Srlg::new("preset default", self.config)?),
            Some(peer) => peer.make(&self.config, 0),
        })
    }

    /// Fills the window, then measures the ingest and the close of consecutive slices.
    fn slices(mut self) -> Result<Cost> {
        let mut system = self.system()?;
        let pairs = (self.step.load / self.step.window).max(1) as usize;
        for _ in 1..self.step.window {
            self.ingest(&mut *system, pairs);
            system.skip_slice();
        }
        let (mut ingests, mut whole, mut stages) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..=self.options.closes {
            let time = self.ingest(&mut *system, pairs);
            ingests.push(time.as_secs_f64() * 1e9 / pairs as f64);
            let start = Instant::now();
            system.close_slice();
            whole.push(start.elapsed().as_secs_f64() * 1e3);
            stages.push(system.stages().to_vec());
        }
        let median = |times: Vec<f64>| Sample::of(times.into_iter().skip(1)).median;
        let close = Close {
            ms: median(whole),
            stages_ms: stage_medians(&stages[1..]),
            is_complete: system.is_complete(),
        };
        let (ingest_ns, memory_bytes) = (median(ingests), system.memory_bytes());
        Ok(Cost { ingest_ns, close: Some(close), memory_bytes })
    }

    /// Ingests `pairs` pairs and returns the time that the system took.
    fn ingest(&mut self, system: &mut dyn System, pairs: usize) -> Duration {
        let mut time = Duration::ZERO;
        let mut left = pairs;
        while left > 0 {
            let block: Vec<Ipv4Pair> =
                self.traffic.by_ref().take(left.min(PAIRS_PER_BLOCK)).collect();
            left -= block.len();
            let batches = batches(self.options.family, &block, PAIRS_PER_CALL);
            let start = Instant::now();
            batches.iter().for_each(|batch| system.ingest_batch(batch));
            time += start.elapsed();
        }
        let start = Instant::now();
        system.flush();
        time + start.elapsed()
    }

    /// Measures one detector that all threads share.
    fn shared(self) -> Result<Cost> {
        let mut detector = SlidingDetector::new(self.config, Device::Cpu)?;
        let ingest_ns = self.ns_per_pair(|shares| {
            detector.skip_to(detector.slice() + 1)?;
            timed(|| {
                in_parallel(shares, |share| {
                    share.iter().try_for_each(|batch| Ok(batch.ingest(&detector)?))
                })?;
                Ok(detector.flush()?)
            })
        })?;
        Ok(Cost { ingest_ns, close: None, memory_bytes: detector.memory_bytes() })
    }

    /// Measures one system per thread. The systems have separate hosts.
    fn sharded(self) -> Result<Cost> {
        let systems = (0..self.step.threads).map(|_| self.system());
        let mut systems = systems.collect::<Result<Vec<_>, _>>()?;
        let ingest_ns = self.ns_per_pair(|shares| {
            timed(|| {
                in_parallel(systems.iter_mut().zip(shares), |(system, share)| {
                    share.iter().for_each(|batch| system.ingest_batch(batch));
                    Ok(())
                })
            })
        })?;
        let memory_bytes = systems.iter().map(|system| system.memory_bytes()).sum();
        Ok(Cost { ingest_ns, close: None, memory_bytes })
    }

    /// Returns the median time per ingested pair, in nanoseconds. A first round fills the window and is not counted.
    /// Each further round ingests a quarter of the window, which takes much longer than starting a thread. The few
    /// rounds in which a table grows do not affect the median.
    fn ns_per_pair(
        mut self,
        mut ingest: impl FnMut(&[Vec<PairBatch>]) -> Result<f64>,
    ) -> Result<f64> {
        let Step { load, threads, .. } = *self.step;
        let mut round = |pairs: u32| {
            let pairs: Vec<Ipv4Pair> = self.traffic.by_ref().take(pairs as usize).collect();
            let shares = split_by_host(&pairs, threads);
            let batches =
                |share: &Vec<Ipv4Pair>| batches(self.options.family, share, PAIRS_PER_CALL);
            let seconds = ingest(&shares.iter().map(batches).collect::<Vec<_>>())?;
            Ok(seconds * 1e9 / pairs.len() as f64)
        };
        round(load)?;
        let times = (0..self.options.closes).map(|_| round((load / 4).max(1)));
        Ok(Sample::of(times.collect::<Result<Vec<_>>>()?).median)
    }
}
