//! `accuracy`: a detector against the exact truth, window by window.
//!
//! Shape: the traffic flows through a detector and through the oracle; once the window is
//! full every report is scored. Candidates come from the detector, never from the truth.
//! Invariant: what is not reported is split into hosts that the rough estimators missed
//! and hosts whose estimate was too low.

use std::io::{self, Write};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use srlg_core::{Address, Config, IpPair};
use srlg_evaluation::oracle::ExactWindow;
use srlg_evaluation::score::Score;
use srlg_evaluation::traffic::Backbone;
use srlg_host::{Device, SlidingDetector};

use crate::number;

#[derive(Args)]
pub(crate) struct Accuracy {
    /// Distinct pairs per 300 slices, about
    #[arg(long, default_value = "1M", value_parser = number::count)]
    load: u32,
    /// Windows that are scored, one slice apart
    #[arg(long, default_value = "101", value_parser = number::count)]
    windows: u32,
    /// Slices of one second in a window
    #[arg(long, default_value = "300", value_parser = number::count)]
    window: u32,
    /// Distinct opposite hosts that make a super point
    #[arg(long, default_value = "1024", value_parser = number::count)]
    threshold: u32,
    /// Sizes and sampling of the detector
    #[arg(long, value_enum, default_value = "default")]
    preset: Preset,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Preset {
    Paper,
    Default,
}

/// A detector, the truth, and how they compare so far.
struct Run {
    detector: SlidingDetector,
    exact: ExactWindow,
    threshold: u32,
    score: Score,
    /// Super points that were never candidates.
    missed_by_search: u64,
    background: f64,
}

pub(crate) fn run(options: &Accuracy) -> Result<()> {
    let slices = options.window.checked_add(options.windows).context("--window is too large")?;
    ensure!(slices < crate::MOST_SLICES, "--windows is too large");
    let preset = match options.preset {
        Preset::Paper => Config::paper(),
        Preset::Default => Config::default(),
    };
    let (threshold, window, seed) = (options.threshold, options.window, options.seed);
    let config = Config { threshold, window, seed, ..preset };
    let mut run = Run {
        detector: SlidingDetector::new(config, Device::Auto)?,
        exact: ExactWindow::new(window),
        threshold,
        score: Score::default(),
        missed_by_search: 0,
        background: 0.0,
    };
    let traffic = Backbone {
        seed,
        slices: slices - 1,
        pairs: options.load,
        packets_per_pair: 2,
        ..Backbone::default()
    };
    for (slice, packets) in (1..).zip(traffic.slices()) {
        run.slice(&packets, slice >= window)?;
    }
    run.print(options).context("cannot write to the standard output")
}

impl Run {
    fn slice(&mut self, packets: &[IpPair], scored: bool) -> Result<()> {
        self.detector.ingest(packets)?;
        packets.iter().for_each(|&pair| self.exact.touch(pair));
        if !scored {
            self.detector.skip_to(self.detector.slice() + 1)?;
            self.exact.skip(1);
            return Ok(());
        }
        let truth = self.exact.super_points(self.threshold);
        let estimate = |host: &Address| self.detector.cardinality((*host).into());
        let estimates: Vec<(Address, f64)> = truth
            .iter()
            .map(|(host, _)| Ok((*host, estimate(host)?.cardinality)))
            .collect::<Result<_>>()?;
        let report = self.detector.close_slice()?;
        let reported: Vec<(Address, f64)> = report
            .super_points
            .iter()
            .map(|point| (point.host.to_bits(), point.cardinality))
            .collect();
        let is_reported = |host| reported.iter().any(|&(reported, _)| reported == host);
        let high = estimates.iter().filter(|(_, estimate)| *estimate >= self.threshold.into());
        self.missed_by_search += high.filter(|(host, _)| !is_reported(*host)).count() as u64;
        self.score += Score::of(&truth, &reported, self.threshold);
        self.background = self.background.max(report.health.background);
        self.exact.skip(1);
        Ok(())
    }

    fn print(&self, options: &Accuracy) -> io::Result<()> {
        let score = &self.score;
        let missed = (score.true_super_points > 0)
            .then(|| self.missed_by_search as f64 / score.true_super_points as f64);
        let metrics = [
            ("tfr_mean", score.total_false_rate()),
            ("fpr_mean", score.false_positive_ratio()),
            ("fnr_mean", score.false_negative_ratio()),
            ("sre_miss", missed),
            ("rmse", score.rmse()),
            ("bias", score.bias()),
            ("background_max", Some(self.background)),
        ];
        let mut out = io::stdout().lock();
        for (metric, value) in metrics {
            let percent = value.map(|ratio| ratio * 100.0);
            if options.json {
                writeln!(out, "{}", self.json(metric, percent, options))?;
            } else {
                let value = percent.map_or("no super point".to_owned(), |p| format!("{p:.3} %"));
                writeln!(out, "{metric:<16} {value}")?;
            }
        }
        Ok(())
    }

    fn json(&self, metric: &str, value: Option<f64>, options: &Accuracy) -> serde_json::Value {
        serde_json::json!({
            "metric": metric,
            "value": value,
            "unit": "%",
            "load": options.load,
            "windows": options.windows,
            "window": options.window,
            "threshold": options.threshold,
            "preset": format!("{:?}", options.preset).to_lowercase(),
            "seed": options.seed,
            "super_points": self.score.true_super_points,
            "recorder_bytes": self.detector.memory_bytes(),
        })
    }
}
