//! `speed`: how fast a detector takes pairs and closes slices, beside what its machine can do.
//!
//! A [`Setting`] goes through one function per kind of metric; each hands its metrics to a [`Report`]. Traffic is made
//! before a clock runs. Every round of a metric does the same work again, and what the device still has to do when a call
//! returns belongs to the round.

mod capture;
mod entrants;
#[cfg(feature = "cuda")]
mod gpu;
mod ingest;
mod race;
mod report;
mod traffic;

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;
use srlg_core::{Config, IpPair};
use srlg_host::{Device, SlidingDetector};
use srlg_input::number;
use srlg_traffic::family::Family;
use srlg_traffic::synthetic::{Model, distinct_pairs};

use crate::feed::Feeder;
use crate::options::Preset;
use crate::sample::{Sample, seconds, stage_medians, stages_json, timed, timed_close};
use crate::system::stages;
use report::{Metric, Report};

/// More rounds would be more slices than there are.
const MOST_ROUNDS: u32 = 10_000;

/// Pairs of a call of ingest from ordinary memory.
const PAIRS_PER_CALL: usize = 1 << 14;

/// Calls with one pair in a round: no more, as a call may take microseconds.
const MOST_CALLS: u32 = 200_000;

/// Inside hosts of distinct pairs.
const HOSTS: u32 = 200_000;

#[derive(Args)]
pub(crate) struct Speed {
    /// Where the detector runs: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: Device,
    /// Sizes and sampling of the detector
    #[arg(long, value_enum, default_value = "default")]
    preset: Preset,
    /// Hosts of windows that close: of IPv4, of IPv6, or half of the inside hosts of either
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    /// Pairs of a round of ingest [default: 4M on a CPU, 64M on a GPU]
    #[arg(long, value_parser = number::count)]
    pairs: Option<u32>,
    /// Distinct pairs per window, about, for which slices are closed
    #[arg(long, default_value = "1M,2M,5M,10M", value_delimiter = ',', value_parser = number::count)]
    loads: Vec<u32>,
    /// Bytes of the capture file that is read, about
    #[arg(long, default_value = "128M", value_parser = number::count)]
    capture: u32,
    /// Rounds of which the median, the least and the most are told; of slow systems two
    #[arg(long, default_value = "5", value_parser = number::count)]
    repeat: u32,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
}

impl Speed {
    fn check(&self) -> Result<()> {
        let most = crate::MOST_PAIRS;
        let largest = self.loads.iter().max();
        ensure!(largest <= Some(&most), "--loads must be at most {most}");
        ensure!(self.pairs.is_none_or(|pairs| pairs >= 100), "--pairs must be at least 100");
        ensure!(self.pairs <= Some(1 << 30), "--pairs must be at most {}", 1 << 30);
        ensure!(self.repeat <= MOST_ROUNDS, "--repeat must be at most {MOST_ROUNDS}");
        Ok(())
    }
}

/// Measures one kind of metric.
type Measure = fn(&Setting<'_>, &mut Report<'_>) -> Result<()>;

const KINDS: &[(&str, Measure)] = &[
    ("reads of the CPU", entrants::reads),
    ("ingest", ingest::measure),
    #[cfg(feature = "cuda")]
    ("limits of the GPU", gpu::measure),
    ("calls", calls),
    ("capture", capture::measure),
    ("close", close_slices),
];

pub(crate) fn run(options: &Speed) -> Result<()> {
    options.check()?;
    let setting = Setting::new(options)?;
    let mut report = Report::new(&setting, KINDS.len());
    for &(kind, measure) in KINDS {
        report.begin(kind);
        measure(&setting, &mut report)?;
    }
    report.finish()
}

/// Options, and what follows from them and from the device that there is. Equal settings make equal pairs.
struct Setting<'a> {
    options: &'a Speed,
    config: Config,
    /// Never [`Device::Auto`].
    device: Device,
    /// Pairs of a round of ingest.
    pairs: u32,
    /// Bytes of the detector's recorders.
    recorder_bytes: usize,
}

impl<'a> Setting<'a> {
    fn new(options: &'a Speed) -> Result<Self> {
        let config = Config { seed: options.seed, ..options.preset.config() };
        let detector = SlidingDetector::new(config, options.device)?;
        let (device, recorder_bytes) = (detector.device(), detector.memory_bytes());
        let usual = if device == Device::Cpu { 4_000_000 } else { 64_000_000 };
        let pairs = options.pairs.unwrap_or(usual);
        Ok(Self { options, config, device, pairs, recorder_bytes })
    }

    /// A detector that has seen nothing.
    fn detector(&self) -> Result<SlidingDetector> {
        Ok(SlidingDetector::new(self.config, self.device)?)
    }

    /// `count` pairs of random hosts, no two of them equal.
    fn distinct(&self, count: u32) -> Vec<IpPair> {
        distinct_pairs(self.options.seed, HOSTS, count.into()).collect()
    }
}

/// Begins a slice in which no recorder has been touched: the first touch of each writes.
fn begin_untouched(detector: &mut SlidingDetector) -> Result<()> {
    let next = detector.slice() + u64::from(detector.params().counter_sizes().epoch_slices);
    detector.skip_to(next)?;
    Ok(detector.flush()?)
}

/// Nanoseconds of a call of `ingest` with one pair: what batches save.
fn calls(setting: &Setting<'_>, report: &mut Report<'_>) -> Result<()> {
    let calls = setting.pairs.min(MOST_CALLS);
    let pairs = setting.distinct(calls);
    let mut detector = setting.detector()?;
    let seconds = seconds(setting.options.repeat, || {
        begin_untouched(&mut detector)?;
        timed(|| {
            pairs.chunks(1).try_for_each(|pair| detector.ingest(pair))?;
            Ok(detector.flush()?)
        })
    })?;
    let sample = Sample::of(seconds.iter().map(|seconds| seconds * 1e9 / f64::from(calls)));
    report.add(&Metric::new("ingest_call_of_one_pair", "ns", 1, sample).load(calls));
    Ok(())
}

/// Milliseconds to close a slice, whole and by stage, of full windows of the backbone model.
fn close_slices(setting: &Setting<'_>, report: &mut Report<'_>) -> Result<()> {
    for &load in &setting.options.loads {
        let closes = closes(setting, load)?;
        let whole = Sample::of(closes.iter().map(|close| close.seconds * 1e3));
        let median = |value: fn(&Close) -> usize| {
            Sample::of(closes.iter().map(|close| value(close) as f64)).median
        };
        let stages: Vec<_> = closes.iter().map(|close| close.stages.clone()).collect();
        let metric = Metric::new("close_slice_ms", "ms", 1, whole).load(load);
        let metric = metric.detail("stages", stages_json(&stage_medians(&stages)));
        let metric = metric.detail("candidates", median(|close| close.candidates));
        report.add(&metric.detail("super_points", median(|close| close.super_points)));
    }
    Ok(())
}

/// What a close took and found.
struct Close {
    seconds: f64,
    stages: Vec<(&'static str, Duration)>,
    candidates: usize,
    super_points: usize,
}

/// The closes of consecutive full windows, without the first, for which a device grows its lists. Windows slide on while
/// they are measured: every close has a new slice of traffic, which the device has finished ingesting.
fn closes(setting: &Setting<'_>, load: u32) -> Result<Vec<Close>> {
    let Setting { options, config, .. } = setting;
    let mut detector = setting.detector()?;
    let mut feeder = Feeder::new(options.family);
    let mut closes = Vec::new();
    let slices = Model::Backbone.slices(options.seed, config.window + options.repeat, load);
    for (slice, packets) in (1..).zip(slices) {
        feeder.ingest(&detector, &packets)?;
        if slice < config.window {
            detector.skip_to(slice.into())?;
            continue;
        }
        detector.flush()?;
        let (report, seconds) = timed_close(&mut detector)?;
        closes.push(Close {
            seconds,
            stages: stages(report.stages).to_vec(),
            candidates: report.candidates,
            super_points: report.super_points.len(),
        });
    }
    closes.remove(0);
    Ok(closes)
}
