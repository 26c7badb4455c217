//! The command `accuracy`, which compares a detector with the exact answer, window by window.
//!
//! A detector and an exact counter process each stream of traffic. From the first full window on, the report of every
//! `--stride`-th slice is scored. Candidates come from the detector and never from the exact answer. A host is
//! therefore missing from a report if it was not a candidate, or if its estimate was too low.
//!
//! False rates are unweighted means over the scored windows that have a super point. `tfr_max` is the largest TFR of a
//! scored window. The probability of missing a host with θ peers is the mean of the probabilities in the reports.
//! Errors, times, and the shares of missed hosts and overloaded windows are computed over all scored windows together.
//! If a figure cannot be computed for a stream, it is null in JSON and is left out of the mean over streams.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use indicatif::ProgressBar;
use srlg_core::{Config, Ipv4Pair};
use srlg_host::report::Estimate;
use srlg_host::{Device, SlidingDetector};
use srlg_input::number;
use srlg_traffic::family::Family;
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::score::{MeanRates, Score};

use crate::feed::Feeder;
use crate::missed;
use crate::options::{Sizes, Synthetic};
use crate::output::UNWRITTEN;
use crate::results::{Cell, Column, Metric, Results, Row, details};
use crate::study::{Form, Study, Sweep};
use crate::system::points;
use crate::table::{Table, short};

/// The table of `--row` omits columns without a heading.
const COLUMNS: &[Column] = &[
    Column::percent("TFR").metric("tfr_mean", "%"),
    Column::percent("").metric("tfr_max", "%"),
    Column::percent("FPR").metric("fpr_mean", "%"),
    Column::percent("FNR").metric("fnr_mean", "%"),
    Column::percent("missed by the finder").metric("finder_miss", "%"),
    Column::percent("stated miss probability at θ").metric("finder_miss_at_theta", "%"),
    Column::percent("windows overloaded").metric("windows_overloaded", "%"),
    Column::percent("RMSE, θ to 4 θ").metric("rmse_low", "%"),
    Column::percent("RMSE, above").metric("rmse_high", "%"),
    Column::percent("bias").metric("bias", "%"),
    Column::percent("in the 95 % interval").metric("coverage95", "%"),
    Column::decimals(3, "").metric("us_per_candidate", "us"),
];

#[derive(Args)]
pub(crate) struct Accuracy {
    /// Approximate number of distinct pairs per 300 slices
    #[arg(long, default_value = "1M", value_parser = number::count)]
    load: u32,
    /// Number of scored windows
    #[arg(long, default_value = "8", value_parser = number::count)]
    windows: u32,
    /// Number of slices from one scored window to the next
    #[arg(long, default_value = "13", value_parser = number::count)]
    stride: u32,
    #[command(flatten)]
    synthetic: Synthetic,
    /// Address family of the traffic: IPv4, IPv6, or mixed (half of the inside hosts in each family)
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    #[command(flatten)]
    sizes: Sizes,
    /// Number of traffic streams; their seeds for traffic and hashes are consecutive, starting at --seed
    #[arg(long, default_value = "1", value_parser = number::count)]
    streams: u32,
    /// Print one JSON object per metric and stream
    #[arg(long)]
    json: bool,
    /// Print a table with one row
    #[arg(long, conflicts_with = "json")]
    row: bool,
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
    let mut details = options.synthetic.details();
    details.extend(details!(
        options => load, windows, stride;
        "family": options.family.to_string(), "preset": options.sizes.name()
    ));
    let results = Results { columns: COLUMNS, details, ..Results::default() };
    let steps: Vec<u64> = (seed..).take(options.streams as usize).collect();
    let form = if options.json { Form::Figures } else { Form::Unprinted };
    let sweep = Sweep { results, steps };
    let all = Study::printed(form).run(slices, vec![sweep], |&seed, results, bar| {
        results.rows.push(stream(options, seed, slices, bar)?);
        Ok(())
    })?;
    if options.json { Ok(()) } else { print(options, &all[0]).context(UNWRITTEN) }
}

fn stream(options: &Accuracy, seed: u64, slices: u32, bar: &ProgressBar) -> Result<Row> {
    let Synthetic { window, threshold, traffic, .. } = options.synthetic;
    // The load is per 300 slices. For another window length, the load per window is a guess.
    let sizes = options.synthetic.config(options.sizes.preset);
    let config = Config { seed, ..options.sizes.config(sizes, options.load)? };
    let mut detector = SlidingDetector::new(config, Device::Auto)?;
    let mut feeder = Feeder::new(options.family);
    let mut exact = ExactWindow::new(window);
    let mut tally = Tally::default();
    let traffic = traffic.slices(seed, slices, options.load);
    for (slice, packets) in (1..).zip(traffic) {
        feeder.ingest(&detector, &packets)?;
        packets.iter().for_each(|&pair: &Ipv4Pair| exact.touch(pair));
        if slice >= window && (slice - window).is_multiple_of(options.stride) {
            let truth = exact.super_points(threshold);
            tally.score(&mut detector, &truth, options)?;
        } else {
            detector.skip_to(detector.slice() + 1)?;
        }
        exact.skip(1);
        bar.inc(1);
    }
    let recorder_bytes = detector.memory_bytes();
    let details = details!(tally => super_points; "seed": seed, "recorder_bytes": recorder_bytes);
    Ok(Row::new(Vec::new(), tally.cells(options.windows.into()), details))
}

#[derive(Default)]
struct Tally {
    rates: MeanRates,
    super_points: u64,
    /// Errors of hosts with at least θ and fewer than 4θ peers.
    low: Errors,
    /// Errors of hosts with at least 4θ peers. If the cardinality of a host is beyond the range of the estimator, the
    /// lower bound is used as the estimate.
    high: Errors,
    /// Number of unreported super points with an estimate of at least θ. The finder missed them, and the previous
    /// report did not contain them.
    no_candidates: u64,
    /// Probability that the finder misses a host with θ peers, summed over all reports.
    miss_probability: f64,
    overloaded: u32,
    candidates: usize,
    /// Time that the closes spent on estimating candidates.
    estimation: Duration,
}

/// Sums over the relative errors of estimates. `covered` is the number of 95 % intervals that contain the true value.
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

impl Tally {
    /// Estimates the cardinalities of the true super points of the window, closes the slice and scores its report.
    fn score(
        &mut self,
        detector: &mut SlidingDetector,
        truth: &[(u32, u32)],
        options: &Accuracy,
    ) -> Result<()> {
        let threshold = options.synthetic.threshold;
        let mut high = Vec::new();
        for &(host, truth) in truth {
            let estimate = detector.cardinality(options.family.host(host))?;
            let is_low = u64::from(truth) < 4 * u64::from(threshold);
            if is_low { &mut self.low } else { &mut self.high }.add(estimate, truth);
            if estimate.cardinality >= threshold.into() {
                high.push(host);
            }
        }
        let report = detector.close_slice()?;
        self.candidates += report.candidates;
        self.estimation += report.stages.estimate;
        self.miss_probability += missed::at_threshold(&report.health.finder, options.family);
        self.overloaded += u32::from(report.health.finder.overload.is_some());
        let reported = points(&report);
        high.retain(|&host| reported.iter().all(|&(reported, _)| reported != host));
        self.no_candidates += high.len() as u64;
        self.rates.add(&Score::of(truth, &reported, threshold));
        self.super_points += truth.len() as u64;
        Ok(())
    }

    /// Returns a cell for each of the [`COLUMNS`].
    fn cells(&self, windows: f64) -> Vec<Cell> {
        let Self { rates, low, high, .. } = self;
        let has_super_points = self.super_points > 0;
        let missed = has_super_points.then(|| self.no_candidates as f64 / self.super_points as f64);
        let ratios = [
            rates.total(),
            rates.worst(),
            rates.positive(),
            rates.negative(),
            missed,
            Some(self.miss_probability / windows),
            Some(f64::from(self.overloaded) / windows),
            low.mean(low.squares).map(f64::sqrt),
            high.mean(high.squares).map(f64::sqrt),
            low.mean(low.sum),
            low.mean(low.covered),
        ];
        let micros = || self.estimation.as_secs_f64() * 1e6 / self.candidates as f64;
        let micros = (self.candidates > 0).then(micros);
        ratios.into_iter().map(Cell::ratio).chain([micros.into()]).collect()
    }
}

/// Prints the means over streams as a list or, with `--row`, as a table.
fn print(options: &Accuracy, results: &Results) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let means = COLUMNS.iter().enumerate().map(|(number, column)| {
        let values = results.rows.iter().filter_map(|row| row.cells[number].value);
        (column, mean(&values.collect::<Vec<_>>()))
    });
    if options.row {
        return write!(out, "{}", row(options, means));
    }
    for (column, mean) in means {
        let Metric { name, unit } = column.metric.expect("every column has a metric");
        writeln!(out, "{name:<20} {mean} {unit}")?;
    }
    Ok(())
}

/// Returns a table with one row: the settings, and the means of all columns that have a heading.
fn row(options: &Accuracy, means: impl Iterator<Item = (&'static Column, String)>) -> Table {
    let means = means.filter(|(column, _)| !column.heading.is_empty());
    let means = means.map(|(column, mean)| (column.heading, format!("{mean} %")));
    let memory = options.sizes.memory.map(|bytes| format!("{} MB", bytes as f64 / 1e6));
    let setting = [
        ("distinct pairs per window", short(options.load)),
        ("model", options.synthetic.traffic.name().to_owned()),
        ("hosts", options.family.to_string()),
        ("sizes", memory.unwrap_or_else(|| options.sizes.preset.name())),
        ("streams", options.streams.to_string()),
        ("windows x stride", format!("{} x {}", options.windows, options.stride)),
    ];
    let (headings, cells): (Vec<_>, Vec<_>) = setting.into_iter().chain(means).unzip();
    let mut table = Table::new(&headings);
    table.row(cells);
    table
}

/// Formats the mean, with its standard error if there are at least two values.
fn mean(values: &[f64]) -> String {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    match values.len() {
        0 => "none".to_owned(),
        1 => format!("{mean:.3}"),
        _ => {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            format!("{mean:.3} ± {:.3}", (squares / (count - 1.0) / count).sqrt())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_streams_has_their_standard_error() {
        assert_eq!(mean(&[]), "none");
        assert_eq!(mean(&[0.5]), "0.500");
        // Deviations of 1, 0 and 1 have a variance of 1. The variance of the mean is a third of 1.
        assert_eq!(mean(&[1.0, 2.0, 3.0]), "2.000 ± 0.577");
    }
}
