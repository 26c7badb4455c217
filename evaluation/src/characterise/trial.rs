//! The measurement: the errors of many hosts at the end of a window.
//!
//! Shape: every step of a sweep is run with every seed; its configurations see the same
//! packets, and the same hosts are asked for. Hosts come from the truth, so that errors are
//! those of estimates alone; false rates come from the report, with everything in them.

use super::sweeps::{Entrant, Setting, Step, Sweep};
use crate::accuracy::Errors;
use crate::progress;
use crate::system;
use anyhow::Result;
use srlg_core::{Address, Config};
use srlg_host::{Device, SlidingDetector};
use srlg_traffic::family::ip;
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::score::{MeanRates, Score};
use srlg_traffic::synthetic::Backbone;
use std::ops::Range;

/// A point of a sweep: a row of its table.
pub(super) struct Point {
    pub(super) series: String,
    pub(super) x: f64,
    pub(super) errors: Errors,
    /// Mean total false rate of the windows; none without a super point.
    pub(super) total_false_rate: Option<f64>,
    pub(super) memory_bytes: usize,
}

/// What came of a configuration.
struct Outcome {
    /// By band.
    errors: Vec<Errors>,
    rates: MeanRates,
    memory_bytes: usize,
}

/// The points of a sweep, in the order of its steps, measured with `streams` seeds from `first`.
pub(super) fn run(sweep: &Sweep, first: u64, streams: u32) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    let trials = sweep.steps.len() as u64 * u64::from(streams);
    let bar = progress::bar(trials, sweep.name);
    for step in &sweep.steps {
        let mut outcomes: Vec<_> = step.entrants.iter().map(|_| Outcome::new(step)).collect();
        for seed in first..first + u64::from(streams) {
            measure(step, seed, &mut outcomes)?;
            bar.inc(1);
        }
        for (entrant, outcome) in step.entrants.iter().zip(outcomes) {
            points.extend(outcome.points(entrant, &step.setting.bands));
        }
    }
    Ok(points)
}

/// Adds what one stream tells.
fn measure(step: &Step, seed: u64, outcomes: &mut [Outcome]) -> Result<()> {
    let Setting { load, window, threshold, .. } = step.setting;
    let detector = |entrant: &Entrant| {
        let config = Config { threshold, window, seed, ..entrant.config };
        SlidingDetector::new(config, Device::Auto)
    };
    let mut detectors = step.entrants.iter().map(detector).collect::<Result<Vec<_>, _>>()?;
    let mut exact = ExactWindow::new(window);
    let traffic = Backbone {
        seed,
        slices: window,
        period: window,
        pairs: load,
        packets_per_pair: 2,
        planted: Vec::new(),
    };
    for (slice, pairs) in (0..).zip(traffic.slices()) {
        exact.skip(u64::from(slice > 0));
        pairs.iter().for_each(|&pair| exact.touch(pair));
        for detector in &mut detectors {
            detector.skip_to(slice)?;
            detector.ingest(&pairs)?;
        }
    }
    let asked = asked(&step.setting, &exact);
    let truth = exact.super_points(threshold);
    for (detector, outcome) in detectors.iter_mut().zip(outcomes) {
        outcome.ask(detector, &asked)?;
        let report = system::points(&detector.close_slice()?);
        outcome.rates.add(&Score::of(&truth, &report, threshold));
        outcome.memory_bytes = detector.memory_bytes();
    }
    Ok(())
}

/// Of each band the first hosts by address, which says nothing of their traffic.
fn asked(setting: &Setting, exact: &ExactWindow) -> Vec<Vec<(Address, u32)>> {
    let hosts = |band: &Range<u32>| {
        let hosts = exact.super_points(band.start).into_iter();
        hosts.filter(|(_, truth)| band.contains(truth)).take(setting.most_hosts).collect()
    };
    setting.bands.iter().map(hosts).collect()
}

impl Outcome {
    fn new(step: &Step) -> Self {
        let errors = step.setting.bands.iter().map(|_| Errors::default()).collect();
        Self { errors, rates: MeanRates::default(), memory_bytes: 0 }
    }

    fn ask(&mut self, detector: &SlidingDetector, asked: &[Vec<(Address, u32)>]) -> Result<()> {
        for (errors, hosts) in self.errors.iter_mut().zip(asked) {
            for &(host, truth) in hosts {
                errors.add(detector.cardinality(ip(host))?, truth);
            }
        }
        Ok(())
    }

    fn points(self, entrant: &Entrant, bands: &[Range<u32>]) -> impl Iterator<Item = Point> {
        let (total_false_rate, memory_bytes) = (self.rates.total(), self.memory_bytes);
        self.errors.into_iter().zip(bands).map(move |(errors, band)| Point {
            series: entrant.series.clone(),
            x: entrant.x.unwrap_or_else(|| middle(band)),
            errors,
            total_false_rate,
            memory_bytes,
        })
    }
}

/// As many times the begin as the end is of it.
fn middle(band: &Range<u32>) -> f64 {
    libm::sqrt(f64::from(band.start) * f64::from(band.end))
}

#[cfg(test)]
mod tests {
    use super::super::sweeps;
    use super::*;

    #[test]
    fn hosts_are_asked_by_their_true_cardinality() {
        let mut exact = ExactWindow::new(1);
        for (host, peers) in [(7, 5), (3, 9), (5, 10), (1, 19), (2, 20), (9, 12)] {
            (0..peers)
                .for_each(|opposite| exact.touch(srlg_core::IpPair { inside: host, opposite }));
        }
        let setting = Setting {
            load: 0,
            window: 1,
            threshold: 10,
            bands: vec![10..20, 20..40],
            most_hosts: 2,
        };
        assert_eq!(asked(&setting, &exact), [vec![(1, 19), (5, 10)], vec![(2, 20)]]);
    }

    #[test]
    fn a_sweep_has_a_point_for_every_place_of_every_series() {
        let sweep = sweeps::all(true).unwrap().swap_remove(0);
        let rows = run(&sweep, 1, 2).unwrap();
        let bands = sweep.steps[0].setting.bands.len();
        assert_eq!(rows.len(), 2 * bands);
        let places: Vec<_> = rows[..bands].iter().map(|row| row.x).collect();
        assert!(places.is_sorted() && places[0] > 4.0 && places[0] < 8.0, "{places:?}");
        // The same hosts were asked of both presets, at most ten times per stream and band.
        for (one, other) in rows[..bands].iter().zip(&rows[bands..]) {
            assert_eq!((one.x, one.errors.count), (other.x, other.errors.count));
            assert_ne!(one.series, other.series);
        }
        assert!(rows[0].errors.count > 0.0);
    }
}
