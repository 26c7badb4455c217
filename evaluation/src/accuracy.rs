//! `accuracy`: a detector against the exact truth, window by window.
//!
//! Shape: each stream of traffic flows through a detector and through the oracle; once the window is
//! full every report is scored. Candidates come from the detector, never from the truth. What the streams came to is
//! told by [`metrics`].
//! Invariant: what is not reported is split into hosts that were no candidates and hosts whose
//! estimate was too low. False rates are means over the windows that have a super point, each with
//! the same weight; the probability that the finder misses a host of θ is the mean of what the
//! windows say themselves; all else is taken of all windows together.

mod metrics;

use std::time::Duration;

use crate::system::points;
use anyhow::{Context, Result, ensure};
use clap::Args;
use srlg_core::{Config, IpPair};
use srlg_host::report::Estimate;
use srlg_host::{Device, SlidingDetector};
use srlg_traffic::family::Family;
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::score::{MeanRates, Score};

use metrics::Stream;

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
    /// Streams of traffic, of the seed and those after it, each with hashes of its own
    #[arg(long, default_value = "1", value_parser = number::count)]
    streams: u32,
    /// Print one JSON object per metric and stream
    #[arg(long)]
    json: bool,
    /// Print a table with one row
    #[arg(long, conflicts_with = "json")]
    row: bool,
}

/// A detector, the truth, and how they compare so far.
struct Run {
    detector: SlidingDetector,
    feeder: Feeder,
    family: Family,
    exact: ExactWindow,
    threshold: u32,
    /// Of the traffic and of the hashes.
    seed: u64,
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
    let Synthetic { window, seed, .. } = options.synthetic;
    let scored = (options.windows - 1).checked_mul(options.stride);
    let slices = scored.and_then(|scored| window.checked_add(scored));
    let slices = slices.context("--windows, --stride or --window is too large")?;
    ensure!(slices < crate::MOST_SLICES, "--windows, --stride or --window is too large");
    ensure!(
        seed.checked_add(options.streams.into()).is_some(),
        "--seed is too large for --streams"
    );
    let mut streams = Vec::new();
    for seed in (seed..).take(options.streams as usize) {
        streams.push(stream(options, seed, slices)?);
    }
    metrics::print(options, &streams).context("cannot write to the standard output")
}

/// What one stream of traffic came to.
fn stream(options: &Accuracy, seed: u64, slices: u32) -> Result<Stream> {
    let Synthetic { window, threshold, traffic, .. } = options.synthetic;
    let config = Config { threshold, window, seed, ..options.sizes()? };
    let mut run = Run {
        detector: SlidingDetector::new(config, Device::Auto)?,
        feeder: Feeder::new(options.family),
        family: options.family,
        exact: ExactWindow::new(window),
        threshold,
        seed,
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
    Ok(Stream::of(&run, options))
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
        self.miss_probability += report.health.finder.miss_probability;
        self.overloaded += u32::from(report.health.finder.overload.is_some());
        let reported = points(&report);
        let is_reported = |host| reported.iter().any(|&(reported, _)| reported == host);
        let high = estimates.iter().filter(|(_, estimate)| *estimate >= self.threshold.into());
        self.no_candidates += high.filter(|(host, _)| !is_reported(*host)).count() as u64;
        self.rates.add(&Score::of(&truth, &reported, self.threshold));
        self.super_points += truth.len() as u64;
        self.exact.skip(1);
        Ok(())
    }
}
