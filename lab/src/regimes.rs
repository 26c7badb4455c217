//! The command `regimes`, which compares srlg with simple methods on equal memory, for hosts of several sizes.
//!
//! All pairs occur once. Pairs of background hosts come at a constant rate, and planted hosts have 1024 to a million
//! peers each, whose contacts are spread evenly over the window. Before the last slice of the second window closes,
//! every system estimates the cardinalities of the planted hosts. The errors therefore do not include misses.

use anyhow::{Context, Result, ensure};
use clap::Args;
use srlg_core::{Address, Config, Ipv4Pair};
use srlg_input::number;

use crate::giants::peer;
use crate::peers::{self, CompactTable, OwnCounters, SLOT_BYTES, SlidingMap};
use crate::results::{Cell, Column, Results, Row, details};
use crate::rivals::gse::{self, Gse};
use crate::sample::{Sample, processor_time};
use crate::study::{CommandLine, PageOptions, Study, Sweep};
use crate::system::{Counter, Srlg};
use crate::table::{machine, short};

/// Numbers of peers of planted hosts, one for each column of errors.
const SIZES: [u32; 5] = [1024, 4096, 10_000, 100_000, 1_000_000];

/// θ of all plans, and the size of the smallest planted hosts.
const THRESHOLD: u32 = SIZES[0];

/// Maximum number of planted hosts of each size.
const MOST_PLANTED: u32 = 64;

/// Address of the first planted host. Background hosts have smaller addresses.
const FIRST_PLANTED: Address = 0xc000_0000;

/// Number of peers of a background host, unless the number of hosts is given.
const FEW_PEERS: u32 = 10;

/// Number of closes at the end of a stream whose times are measured. All earlier slices close without a report.
const CLOSES: u32 = 3;

const COLUMNS: &[Column] = &[
    Column::percent("1024").metric("rmse_1024", "%"),
    Column::percent("4096").metric("rmse_4096", "%"),
    Column::percent("10k").metric("rmse_10k", "%"),
    Column::percent("100k").metric("rmse_100k", "%"),
    Column::percent("1M").metric("rmse_1m", "%"),
    Column::megabytes("memory, MB").metric("memory_bytes", "bytes"),
    Column::decimals(0, "ns per pair").metric("ingest_ns", "ns"),
    Column::decimals(0, "close, ms").metric("close_ms", "ms"),
];

#[derive(Args)]
pub(crate) struct Regimes {
    /// Memory of every system in bytes. The exact table may use more, and is left out if it needs much more
    #[arg(long, default_value = "8M", value_parser = number::count)]
    memory: u32,
    /// Distinct pairs per window, or a list of numbers
    #[arg(long, value_delimiter = ',', default_value = "1M,4M,10M", value_parser = number::count)]
    loads: Vec<u32>,
    /// Number of background hosts. A further system then has a counter for each host [default: hosts with 10 peers
    /// each]
    #[arg(long, value_parser = number::count)]
    hosts: Option<u32>,
    /// Slices per window. With windows of one slice, a further system is the virtual bitmap GSE
    #[arg(long, default_value = "300", value_parser = number::count)]
    window: u32,
    /// Number of streams of each row; the exact table gets one
    #[arg(long, default_value = "5", value_parser = number::count)]
    streams: u32,
    /// Seed of the first stream; the seed increases by one with each stream
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    #[command(flatten)]
    output: PageOptions,
}

#[derive(Clone, Copy, PartialEq)]
enum Method {
    Plan,
    Compact,
    Sampled,
    Own,
    /// The virtual bitmap GSE, with a fifteenth of the memory left for a finder.
    Bitmap,
}

struct Planted {
    host: Address,
    cardinality: u32,
    /// Index in [`SIZES`].
    size: usize,
}

/// The traffic of a row.
struct Traffic {
    window: u32,
    planted: Vec<Planted>,
    /// Number of background pairs per window.
    background: u64,
    background_hosts: u32,
}

/// Measurements of a method, collected over several streams.
#[derive(Default)]
struct Outcome {
    name: String,
    /// Number of estimates and sum of their squared relative errors, for each size.
    errors: [(u32, f64); SIZES.len()],
    memory_bytes: usize,
    ingest: Vec<f64>,
    closes: Vec<f64>,
}

pub(crate) fn run(options: &Regimes, line: CommandLine) -> Result<()> {
    let Regimes { window, seed, streams, .. } = *options;
    ensure!(window <= 10_000, "--window must be at most 10000");
    ensure!(seed.checked_add(streams.into()).is_some(), "--seed is too large");
    let most = options.loads.iter().copied().max().unwrap_or(0);
    ensure!(most <= crate::MOST_PAIRS, "--loads must be at most {}", crate::MOST_PAIRS);
    let mut study = Study::in_page(&options.output, &[options.place()])?;
    let of_load = |&load: &u32| options.methods(load).into_iter().map(move |method| (load, method));
    let steps = options.loads.iter().flat_map(of_load);
    let results = Results { above: format!("`{}`", line(&[])), ..options.results() };
    let sweep = Sweep { results, steps: steps.collect() };
    study.run(streams, vec![sweep], |&(load, method), results, bar| {
        let streams = if method == Method::Compact { 1 } else { streams };
        let traffic = Traffic::new(options, load);
        let mut outcome = Outcome::default();
        for seed in seed..seed + u64::from(streams) {
            match method.make(options, load, seed)? {
                Some(system) => outcome.add(system, &traffic),
                None => outcome.name = "srlg, no plan".to_owned(),
            }
            bar.inc(1);
        }
        results.rows.push(outcome.row(load));
        Ok(())
    })?;
    Ok(())
}

impl Regimes {
    fn place(&self) -> String {
        let mut place = format!("memory {}", short(self.memory));
        if let Some(hosts) = self.hosts {
            place += &format!(", {} hosts", short(hosts));
        }
        if self.window != 300 {
            place += &format!(", window {}", self.window);
        }
        place
    }

    /// Returns the methods to measure at a load. The exact table is left out if its pairs alone need more than twice
    /// the memory.
    fn methods(&self, load: u32) -> Vec<Method> {
        let pairs_bytes = u64::from(load) * SLOT_BYTES as u64;
        let exact = (pairs_bytes <= 2 * u64::from(self.memory)).then_some(Method::Compact);
        let own = self.hosts.map(|_| Method::Own);
        let bitmap = (self.window == 1).then_some(Method::Bitmap);
        let methods = [Method::Plan, Method::Sampled].into_iter();
        methods.chain(exact).chain(own).chain(bitmap).collect()
    }

    fn results(&self) -> Results {
        let details = details!(self => memory, window, streams, seed, hosts;);
        let place = self.place();
        Results {
            heading: format!("Errors by size of host, {place}"),
            place,
            setting: format!("Measured on {}", machine()),
            names: vec!["pairs", "system"],
            columns: COLUMNS,
            details,
            ..Results::default()
        }
    }
}

impl Method {
    /// Creates an empty system. Returns `None` if there is no plan for the load.
    fn make(self, options: &Regimes, load: u32, seed: u64) -> Result<Option<Box<dyn Counter>>> {
        let Regimes { memory, window, .. } = *options;
        let (bytes, threshold) = (memory as usize, THRESHOLD);
        let config = Config { window, threshold, seed, ..Config::default() };
        Ok(Some(match self {
            Self::Plan => {
                let Ok(plan) = Config::for_load(threshold, window, load.into(), bytes) else {
                    return Ok(None);
                };
                let label = format!("λ = {:.2}", plan.pairs_per_recorder);
                Box::new(Srlg::new(label, Config { seed, ..plan.config })?)
            }
            Self::Compact => Box::new(SlidingMap::new(
                window,
                threshold,
                CompactTable::<SLOT_BYTES>::least(window),
            )),
            Self::Sampled => peers::sampled(&config, bytes).context("--memory is too small")?,
            Self::Own => {
                let hosts = Traffic::new(options, load).hosts();
                Box::new(SlidingMap::new(
                    window,
                    threshold,
                    OwnCounters::with_memory(bytes, hosts, seed),
                ))
            }
            Self::Bitmap => {
                Box::new(Gse::new(gse::Config::with_memory(bytes / 15 * 14, threshold, seed)))
            }
        }))
    }
}

impl Traffic {
    /// Hosts of each size have about a twentieth of the load, but at least one host is planted if it has at most a
    /// quarter of the load.
    fn new(options: &Regimes, load: u32) -> Self {
        let mut planted = Vec::new();
        for (size, &cardinality) in SIZES.iter().enumerate() {
            let least = u32::from(u64::from(cardinality) * 4 <= u64::from(load));
            for _ in 0..(load / 20 / cardinality).clamp(least, MOST_PLANTED) {
                let host = FIRST_PLANTED + planted.len() as u32;
                planted.push(Planted { host, cardinality, size });
            }
        }
        let pairs: u64 = planted.iter().map(|it| u64::from(it.cardinality)).sum();
        let background = u64::from(load).saturating_sub(pairs);
        let hosts = options.hosts.unwrap_or((background / u64::from(FEW_PEERS)) as u32).max(1);
        Self { window: options.window, planted, background, background_hosts: hosts }
    }

    fn hosts(&self) -> u32 {
        self.background_hosts + self.planted.len() as u32
    }

    /// Returns the pairs of a slice. No pair occurs in two slices.
    fn slice(&self, slice: u32) -> Vec<Ipv4Pair> {
        let range = |per_window: u64| {
            let until = |slice: u32| per_window * u64::from(slice) / u64::from(self.window);
            until(slice)..until(slice + 1)
        };
        let hosts = u64::from(self.background_hosts);
        let pair =
            |host: u32, contact: u64| Ipv4Pair { inside: host, peer: peer(host, contact as u32) };
        let background =
            range(self.background).map(|number| pair((number % hosts) as u32, number / hosts));
        let planted = self
            .planted
            .iter()
            .flat_map(|it| range(it.cardinality.into()).map(|contact| pair(it.host, contact)));
        background.chain(planted).collect()
    }
}

impl Outcome {
    /// Measures a system in two windows of traffic.
    fn add(&mut self, mut system: Box<dyn Counter>, traffic: &Traffic) {
        let last = 2 * traffic.window - 1;
        let (mut seconds, mut pairs) = (0.0, 0);
        for slice in 0..=last {
            let contacts = traffic.slice(slice);
            let ingest = processor_time(|| {
                system.ingest(&contacts);
                system.flush();
            })
            .1;
            // In the first window, tables are still growing.
            if slice >= traffic.window {
                (seconds, pairs) = (seconds + ingest, pairs + contacts.len());
            }
            if slice == last {
                self.add_errors(system.as_ref(), &traffic.planted);
            }
            if slice + CLOSES > last {
                self.closes.push(processor_time(|| system.close_slice()).1);
            } else {
                system.skip_slice();
            }
        }
        self.ingest.push(seconds / pairs.max(1) as f64);
        self.memory_bytes = system.memory_bytes();
        self.name = system.name();
    }

    fn add_errors(&mut self, system: &dyn Counter, planted: &[Planted]) {
        let hosts: Vec<_> = planted.iter().map(|it| it.host).collect();
        for (planted, estimate) in planted.iter().zip(system.estimates(&hosts)) {
            let (count, squares) = &mut self.errors[planted.size];
            *count += 1;
            *squares += (estimate / f64::from(planted.cardinality) - 1.0).powi(2);
        }
    }

    fn row(&self, load: u32) -> Row {
        let Self { name, errors, memory_bytes, ingest, closes } = self;
        let rms = |&(count, squares): &(u32, f64)| {
            Cell::ratio((count > 0).then(|| (squares / f64::from(count)).sqrt()))
        };
        let median = |seconds: &[f64], unit: f64| -> Cell {
            (!seconds.is_empty()).then(|| Sample::of(seconds.iter().copied()).median / unit).into()
        };
        let mut cells: Vec<_> = errors.iter().map(rms).collect();
        let bytes = (*memory_bytes > 0).then_some(*memory_bytes as f64);
        cells.extend([bytes.into(), median(ingest, 1e-9), median(closes, 1e-3)]);
        Row::new(vec![short(load), name.clone()], cells, details!("system": name, "load": load))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::collections::HashSet;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Regimes,
    }

    fn options(hosts: Option<u32>, window: u32) -> Regimes {
        Regimes { hosts, window, ..Line::parse_from(["regimes"]).options }
    }

    #[test]
    fn pairs_of_a_window_are_distinct_and_as_many_as_the_load() {
        let traffic = Traffic::new(&options(None, 7), 100_000);
        // A host of 10,000 peers is planted, although it has more than a twentieth of the load. The two smaller sizes
        // have 4 and 1 hosts.
        let planted: Vec<_> = traffic.planted.iter().map(|it| it.cardinality).collect();
        assert_eq!(planted, [1024, 1024, 1024, 1024, 4096, 10_000]);
        let windows = [0..7, 7..14].map(|slices| slices.flat_map(|it| traffic.slice(it)));
        let windows = windows.map(HashSet::<Ipv4Pair>::from_iter);
        assert_eq!(windows.each_ref().map(HashSet::len), [100_000; 2]);
        assert!(windows[0].is_disjoint(&windows[1]));
        let peers = |host| windows[1].iter().filter(|pair| pair.inside == host).count();
        assert_eq!([peers(5), peers(FIRST_PLANTED), peers(FIRST_PLANTED + 5)], [10, 1024, 10_000]);
    }

    #[test]
    fn an_exact_table_has_no_errors_and_a_plan_has_small_ones() {
        let traffic = Traffic::new(&options(Some(10), 3), 20_000);
        let mut outcome = Outcome::default();
        outcome.add(Box::new(SlidingMap::new(3, THRESHOLD, CompactTable::<7>::least(3))), &traffic);
        assert_eq!(outcome.errors, [(1, 0.0), (1, 0.0), (0, 0.0), (0, 0.0), (0, 0.0)]);
        assert_eq!((outcome.closes.len(), outcome.ingest.len()), (3, 1));
        let config = Config { window: 3, ..Config::default() };
        let mut outcome = Outcome::default();
        outcome.add(Box::new(Srlg::new("default", config).unwrap()), &traffic);
        // At this light load, the standard error is below 1 %.
        assert!(outcome.errors[..2].iter().all(|&(count, squares)| count == 1 && squares < 1e-3));
    }

    #[test]
    fn hosts_have_counters_and_windows_of_a_slice_have_a_bitmap() {
        assert!(options(Some(5), 300).methods(1).ends_with(&[Method::Own]));
        assert!(options(None, 1).methods(1).ends_with(&[Method::Bitmap]));
        // Within 16 MB, there is room for 2.28 M pairs of 7 bytes.
        let [few, many] = [2_280_000, 2_290_000].map(|load| options(None, 300).methods(load));
        assert!(few == [Method::Plan, Method::Sampled, Method::Compact]);
        assert!(many == [Method::Plan, Method::Sampled]);
        assert_eq!(options(Some(1000), 1).place(), "memory 8M, 1k hosts, window 1");
    }
}
