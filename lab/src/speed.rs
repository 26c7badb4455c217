//! The command `speed`, which measures how fast a detector ingests pairs and closes slices, compared with the limits of
//! the machine.
//!
//! [`KINDS`] lists the functions that measure the metrics. Traffic is generated before each measurement. All rounds of
//! a metric do the same work. A round ends only when the device has finished its work.

mod capture;
mod entrants;
#[cfg(feature = "cuda")]
mod gpu;
mod ingest;
mod traffic;

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;
use srlg_core::{Config, Ipv4Pair};
use srlg_host::{Device, SlidingDetector};
use srlg_input::number;
use srlg_traffic::family::Family;
use srlg_traffic::synthetic::{Model, distinct_pairs};

use crate::feed::Feeder;
use crate::options::Preset;
use crate::output::UNWRITTEN;
use crate::results::{Results, Row, details};
use crate::sample::{Sample, seconds, stage_medians, stages_json, timed, timed_close};
use crate::study::{Form, Study, Sweep};
use crate::system::stages;
use crate::table::{machine, short};

const HEADINGS: [&str; 10] = [
    "metric", "system", "device", "threads", "pairs", "median", "least", "most", "unit", "details",
];

/// Maximum number of rounds. Close times need one slice per round, and the number of generated slices is limited.
const MOST_ROUNDS: u32 = 10_000;

const PAIRS_PER_CALL: usize = 1 << 14;

/// Maximum number of single-pair calls in a round. It is limited because a call may take several microseconds.
const MOST_CALLS: u32 = 200_000;

/// Number of inside hosts from which distinct pairs are generated.
const HOSTS: u32 = 200_000;

#[derive(Args)]
pub(crate) struct Speed {
    /// Device of the detector: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: Device,
    /// Scheme and sizes of the detector
    #[arg(long, value_enum, default_value = "default")]
    preset: Preset,
    /// Address family of the traffic for close times: IPv4, IPv6, or mixed (half of the inside hosts in each)
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    /// Pairs per round of ingest [default: 4M on a CPU, 64M on a GPU]
    #[arg(long, value_parser = number::count)]
    pairs: Option<u32>,
    /// Approximate numbers of distinct pairs per window for close times
    #[arg(long, default_value = "1M,2M,5M,10M", value_delimiter = ',', value_parser = number::count)]
    loads: Vec<u32>,
    /// Approximate size of the capture file, in bytes
    #[arg(long, default_value = "128M", value_parser = number::count)]
    capture: u32,
    /// Number of rounds, whose median, minimum and maximum are printed; slow systems run two rounds
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

type Measure = fn(&Setting<'_>, &mut Vec<Metric>) -> Result<()>;

const KINDS: &[(&str, Measure)] = &[
    ("CPU reads", entrants::reads),
    ("ingest", ingest::measure),
    #[cfg(feature = "cuda")]
    ("GPU limits", gpu::measure),
    ("calls", calls),
    ("capture", capture::measure),
    ("close", close_slices),
];

pub(crate) fn run(options: &Speed) -> Result<()> {
    options.check()?;
    let setting = Setting::new(options)?;
    let results = Results { names: HEADINGS.into(), ..Results::default() };
    let sweep = Sweep { results, steps: KINDS.to_vec() };
    let form = if options.json { Form::Objects } else { Form::Unprinted };
    let mut metrics = Vec::new();
    let all = Study::printed(form).run(1, vec![sweep], |&(kind, measure), results, bar| {
        bar.set_message(kind);
        let known = metrics.len();
        measure(&setting, &mut metrics)?;
        results.rows.extend(metrics[known..].iter().map(|metric| metric.row(&setting)));
        Ok(())
    })?;
    if options.json {
        return Ok(());
    }
    writeln!(io::stdout(), "Measured on {}.\n\n{}", machine(), all[0].table()).context(UNWRITTEN)
}

/// A measured figure. In the output, it is identified by `metric`, `system`, `device`, `threads`, `load` and details
/// such as `kind`, `of` and `traffic`.
struct Metric {
    name: String,
    system: String,
    unit: &'static str,
    threads: u32,
    /// Number of pairs in a round, or approximate number of distinct pairs in the window. The value is `None` if the
    /// figure does not depend on pairs.
    load: Option<u32>,
    sample: Sample,
    details: Vec<(&'static str, Value)>,
}

impl Metric {
    /// Creates a figure for srlg, without a load or details.
    fn new(name: &str, unit: &'static str, threads: u32, sample: Sample) -> Self {
        let (name, system) = (name.to_owned(), "srlg".to_owned());
        Self { name, system, unit, threads, load: None, sample, details: Vec::new() }
    }

    fn load(self, load: u32) -> Self {
        Self { load: Some(load), ..self }
    }

    fn system(self, system: &str) -> Self {
        Self { system: system.to_owned(), ..self }
    }

    fn detail(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.details.push((name, value.into()));
        self
    }

    fn row(&self, setting: &Setting<'_>) -> Row {
        let Self { sample: Sample { median, min, max, rounds }, load, threads, unit, .. } = *self;
        let texts = self.details.iter().map(|(name, value)| detail(name, value));
        let names = vec![
            self.name.clone(),
            self.system.clone(),
            setting.device.to_string(),
            threads.to_string(),
            load.map_or("-".to_owned(), short),
            digits(median),
            digits(min),
            digits(max),
            unit.to_owned(),
            texts.collect::<Vec<_>>().join(", "),
        ];
        let mut details = details!(
            self => system, unit, threads, load; setting.options => seed;
            "metric": self.name, "value": median, "min": min, "max": max, "repeat": rounds,
            "device": setting.device.to_string(), "preset": setting.options.preset.name()
        );
        details.extend(self.details.iter().cloned());
        Row::new(names, Vec::new(), details)
    }
}

/// Options, with values that are derived from them and from the device. Equal settings generate the same pairs.
struct Setting<'a> {
    options: &'a Speed,
    config: Config,
    /// The actual device, which is never [`Device::Auto`].
    device: Device,
    pairs: u32,
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

    fn detector(&self) -> Result<SlidingDetector> {
        Ok(SlidingDetector::new(self.config, self.device)?)
    }

    /// Creates a figure for srlg whose load is the number of pairs in a round of ingest.
    fn metric(&self, name: &str, unit: &'static str, threads: u32, sample: Sample) -> Metric {
        Metric::new(name, unit, threads, sample).load(self.pairs)
    }

    fn distinct(&self, count: u32) -> Vec<Ipv4Pair> {
        distinct_pairs(self.options.seed, HOSTS, count.into()).collect()
    }
}

/// Starts a slice in a new epoch, in which no recorder has been touched. The first touch of each recorder therefore
/// writes to it.
fn begin_untouched(detector: &mut SlidingDetector) -> Result<()> {
    let next = detector.slice() + u64::from(detector.params().counter_sizes().epoch_slices);
    detector.skip_to(next)?;
    Ok(detector.flush()?)
}

/// Measures the duration of an `ingest` call with one pair, in nanoseconds. The result shows the benefit of batches.
fn calls(setting: &Setting<'_>, metrics: &mut Vec<Metric>) -> Result<()> {
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
    metrics.push(Metric::new("ingest_call_of_one_pair", "ns", 1, sample).load(calls));
    Ok(())
}

/// Measures the total duration of a close and the durations of its stages, in milliseconds. Windows are full and
/// contain the traffic of [`Model::Backbone`].
fn close_slices(setting: &Setting<'_>, metrics: &mut Vec<Metric>) -> Result<()> {
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
        metrics.push(metric.detail("super_points", median(|close| close.super_points)));
    }
    Ok(())
}

struct Close {
    seconds: f64,
    stages: Vec<(&'static str, Duration)>,
    candidates: usize,
    super_points: usize,
}

/// Returns the closes of consecutive full windows. The first close is left out, because the device grows its lists
/// during this close. Before each close, the device has completely ingested a new slice of traffic, so the window
/// slides.
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

/// Formats a detail for the table. Objects are printed without braces.
fn detail(name: &str, value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| detail(name, value));
            fields.collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => format!("{name} {text}"),
        value => format!("{name} {}", value.as_f64().map_or_else(|| value.to_string(), digits)),
    }
}

/// Formats a value with at least three significant digits, or with four decimals if it is below 1.
fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_three_digits() {
        assert_eq!(
            [1234.5, 99.94, 3.1234, 0.01234].map(digits),
            ["1234", "99.9", "3.12", "0.0123"]
        );
    }
}
