//! `accuracy`: a detector against the exact truth, window by window.
//!
//! Shape: the traffic flows through a detector and through the oracle; once the window is
//! full every report is scored. Candidates come from the detector, never from the truth.
//! Invariant: what is not reported is split into hosts that were no candidates and hosts whose
//! estimate was too low. False rates are means over the windows that have a super point, each with
//! the same weight; the probability that the finder misses a host of θ is the mean of what the
//! windows say themselves; all else is taken of all windows together.

use std::io::{self, Write};
use std::time::Duration;

use crate::system::points;
use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::{Value, json};
use srlg_core::{Config, IpPair};
use srlg_host::{Device, Estimate, SlidingDetector};
use srlg_traffic::family::Family;
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::score::{MeanRates, Score};

use crate::family::Feeder;
use crate::preset::Preset;
use crate::synthetic::Synthetic;
use crate::{number, progress};

#[derive(Args)]
pub(crate) struct Accuracy {
    /// Distinct pairs per 300 slices, about
    #[arg(long, default_value = "1M", value_parser = number::count)]
    load: u32,
    /// Windows that are scored
    #[arg(long, default_value = "8", value_parser = number::count)]
    windows: u32,
    /// Slices from one scored window to the next
    #[arg(long, default_value = "13", value_parser = number::count)]
    stride: u32,
    #[command(flatten)]
    synthetic: Synthetic,
    /// Hosts of the traffic: of IPv4, of IPv6, or half of the inside hosts of either
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    /// Sizes and sampling of the detector
    #[arg(long, value_enum, default_value = "default")]
    preset: Preset,
    /// Plan the sizes for the load and this many bytes of recorders
    #[arg(long, value_parser = number::integer, conflicts_with = "preset")]
    memory: Option<u64>,
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
}

/// A detector, the truth, and how they compare so far.
struct Run {
    detector: SlidingDetector,
    feeder: Feeder,
    family: Family,
    exact: ExactWindow,
    threshold: u32,
    rates: MeanRates,
    /// True super points of all windows.
    super_points: u64,
    /// Of hosts with θ to 4θ opposite hosts.
    low: Errors,
    /// Of hosts with 4θ or more; of those beyond range, of the lower bound.
    high: Errors,
    /// Super points that were no candidates: the finder missed them, and so had the report before.
    no_candidates: u64,
    /// Sum of what the windows say that the finder misses of hosts of θ.
    miss_probability: f64,
    overloaded: u32,
    candidates: usize,
    /// Time that went into tallies and estimates of the candidates.
    estimation: Duration,
}

/// Relative errors of estimates, and how often the stated interval held the truth.
#[derive(Default)]
pub(crate) struct Errors {
    pub(crate) count: f64,
    pub(crate) sum: f64,
    pub(crate) squares: f64,
    pub(crate) covered: f64,
}

impl Errors {
    pub(crate) fn add(&mut self, estimate: Estimate, truth: u32) {
        let error = estimate.cardinality - f64::from(truth);
        let relative = error / f64::from(truth);
        self.count += 1.0;
        self.sum += relative;
        self.squares += relative * relative;
        self.covered += f64::from(u8::from(error.abs() <= 1.96 * estimate.std_error));
    }

    pub(crate) fn mean(&self, sum: f64) -> Option<f64> {
        (self.count > 0.0).then(|| sum / self.count)
    }
}

pub(crate) fn run(options: &Accuracy) -> Result<()> {
    let Synthetic { window, threshold, traffic, seed } = options.synthetic;
    let scored = (options.windows - 1).checked_mul(options.stride);
    let slices = scored.and_then(|scored| window.checked_add(scored));
    let slices = slices.context("--windows, --stride or --window is too large")?;
    ensure!(slices < crate::MOST_SLICES, "--windows, --stride or --window is too large");
    let config = Config { threshold, window, seed, ..options.sizes()? };
    let mut run = Run {
        detector: SlidingDetector::new(config, Device::Auto)?,
        feeder: Feeder::new(options.family),
        family: options.family,
        exact: ExactWindow::new(window),
        threshold,
        rates: MeanRates::default(),
        super_points: 0,
        low: Errors::default(),
        high: Errors::default(),
        no_candidates: 0,
        miss_probability: 0.0,
        overloaded: 0,
        candidates: 0,
        estimation: Duration::ZERO,
    };
    let traffic = traffic.slices(seed, slices, options.load);
    for (slice, packets) in (1..).zip(progress::bar(slices.into(), "slices").wrap_iter(traffic)) {
        let scored = slice >= window && (slice - window).is_multiple_of(options.stride);
        run.slice(&packets, scored)?;
    }
    run.print(options).context("cannot write to the standard output")
}

impl Accuracy {
    fn sizes(&self) -> Result<Config> {
        let Some(memory) = self.memory else { return Ok(self.preset.config()) };
        let memory = usize::try_from(memory).context("--memory is too large")?;
        // The load is that of 300 slices: of another window it is a guess.
        let Synthetic { threshold, window, .. } = self.synthetic;
        let plan = Config::for_load(threshold, window, self.load.into(), memory)?;
        Ok(plan.config)
    }
}

impl Run {
    fn slice(&mut self, packets: &[IpPair], scored: bool) -> Result<()> {
        self.feeder.ingest(&self.detector, packets)?;
        packets.iter().for_each(|&pair| self.exact.touch(pair));
        if !scored {
            self.detector.skip_to(self.detector.slice() + 1)?;
            self.exact.skip(1);
            return Ok(());
        }
        let truth = self.exact.super_points(self.threshold);
        let mut estimates = Vec::new();
        for &(host, truth) in &truth {
            let estimate = self.detector.cardinality(self.family.host(host))?;
            let is_low = u64::from(truth) < 4 * u64::from(self.threshold);
            if is_low { &mut self.low } else { &mut self.high }.add(estimate, truth);
            estimates.push((host, estimate.cardinality));
        }
        let report = self.detector.close_slice()?;
        self.candidates += report.candidates;
        self.estimation += report.stages.estimate;
        self.miss_probability += report.health.miss_probability;
        self.overloaded += u32::from(report.health.overload.is_some());
        let reported = points(&report);
        let is_reported = |host| reported.iter().any(|&(reported, _)| reported == host);
        let high = estimates.iter().filter(|(_, estimate)| *estimate >= self.threshold.into());
        self.no_candidates += high.filter(|(host, _)| !is_reported(*host)).count() as u64;
        self.rates.add(&Score::of(&truth, &reported, self.threshold));
        self.super_points += truth.len() as u64;
        self.exact.skip(1);
        Ok(())
    }

    fn print(&self, options: &Accuracy) -> io::Result<()> {
        let missed =
            (self.super_points > 0).then(|| self.no_candidates as f64 / self.super_points as f64);
        let windows = f64::from(options.windows);
        let percent = |value: Option<f64>| value.map(|ratio| ratio * 100.0);
        let micros = (self.candidates > 0)
            .then(|| self.estimation.as_secs_f64() * 1e6 / self.candidates as f64);
        let metrics = [
            ("tfr_mean", percent(self.rates.total()), "%"),
            ("tfr_max", percent(self.rates.worst()), "%"),
            ("fpr_mean", percent(self.rates.positive()), "%"),
            ("fnr_mean", percent(self.rates.negative()), "%"),
            ("finder_miss", percent(missed), "%"),
            ("finder_miss_at_theta", percent(Some(self.miss_probability / windows)), "%"),
            ("windows_overloaded", percent(Some(f64::from(self.overloaded) / windows)), "%"),
            ("rmse_low", percent(self.low.mean(self.low.squares).map(f64::sqrt)), "%"),
            ("rmse_high", percent(self.high.mean(self.high.squares).map(f64::sqrt)), "%"),
            ("bias", percent(self.low.mean(self.low.sum)), "%"),
            ("coverage95", percent(self.low.mean(self.low.covered)), "%"),
            ("us_per_candidate", micros, "us"),
        ];
        let mut out = io::stdout().lock();
        for (metric, value, unit) in metrics {
            if options.json {
                writeln!(out, "{}", self.json(metric, value, unit, options))?;
            } else {
                let value = value.map_or("none".to_owned(), |value| format!("{value:.3} {unit}"));
                writeln!(out, "{metric:<20} {value}")?;
            }
        }
        Ok(())
    }

    fn json(&self, metric: &str, value: Option<f64>, unit: &str, options: &Accuracy) -> Value {
        let mut object = json!({
            "metric": metric,
            "value": value,
            "unit": unit,
            "load": options.load,
            "windows": options.windows,
            "stride": options.stride,
            "family": options.family.to_string(),
            "preset": options.memory.map_or(options.preset.name(), |_| "planned".to_owned()),
            "super_points": self.super_points,
            "recorder_bytes": self.detector.memory_bytes(),
        });
        for (name, value) in options.synthetic.details() {
            object[name] = value;
        }
        object
    }
}
