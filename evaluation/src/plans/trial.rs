//! The measurement of one plan: planted hosts of windows, one after the other, in one detector.
//!
//! Shape: a window of background, as many pairs as the plan is for, so that as much has left the window as is in
//! it; then windows with planted hosts, new ones in each, of which the last slice is closed. Invariant: no
//! report before has kept a host.

use srlg_traffic::family::{self, ip};
use std::collections::HashSet;

use anyhow::Result;
use srlg_core::{Config, Plan};
use srlg_host::{Device, SliceReport, SlidingDetector};

use super::traffic::{Background, Traffic};
use super::{Place, Plans};

/// Bytes over which a pass takes as long as it takes to ingest a pair, some 50 ns.
const BYTES_PER_PAIR: u64 = 800;

/// What became of the planted hosts of all windows.
#[derive(Default)]
pub(super) struct Outcome {
    /// Planted hosts of each kind.
    pub(super) hosts: u32,
    /// Sum of the errors of hosts of θ, of their squares, and of the squares of these.
    pub(super) errors: f64,
    pub(super) squares: f64,
    pub(super) fourths: f64,
    /// Hosts of θ whose estimate reaches θ, and those of them that were not reported.
    pub(super) high: u32,
    pub(super) high_missed: u32,
    /// Hosts of 2θ that were not reported.
    pub(super) missed: u32,
    /// Hosts of θ/2 that were reported.
    pub(super) false_reports: u32,
    /// Candidates of the last report.
    pub(super) candidates: usize,
    /// What the last report said that it misses of hosts of θ.
    pub(super) miss_probability: f64,
    /// Standard error to expect at θ of the load as it acts.
    pub(super) std_error: f64,
}

pub(super) fn run(
    options: &Plans,
    place: &Place,
    plan: &Plan,
    background: Background,
) -> Result<Outcome> {
    let Place { threshold, window, load, .. } = *place;
    let traffic = Traffic::new(options.seed, (load, window), threshold, background, options.hosts);
    let mut detector =
        SlidingDetector::new(Config { seed: options.seed, ..plan.config }, Device::Cpu)?;
    let passes = u64::from(window) * (detector.memory_bytes() as u64 / BYTES_PER_PAIR);
    let affordable = options.work / (u64::from(load) + passes);
    let wanted = u64::from(options.hosts.div_ceil(traffic.each()));
    let windows = wanted.min(affordable.saturating_sub(1)).max(1) as u32;
    let params = detector.params();
    let acting = traffic.acting(plan.config.linear_width);
    let std_error =
        params.expected_error(threshold, acting).expect("the tagged scheme has a formula");
    let mut outcome = Outcome { std_error, ..Outcome::default() };
    for number in 0..=windows {
        for slice in 0..window {
            detector.ingest(&traffic.slice(number, slice))?;
            if number == 0 || slice + 1 < window {
                detector.skip_to(detector.slice() + 1)?;
            }
        }
        if number > 0 {
            outcome.window(&mut detector, &traffic, number)?;
        }
    }
    Ok(outcome)
}

impl Outcome {
    /// Asks for the planted hosts of a window, and closes it.
    fn window(
        &mut self,
        detector: &mut SlidingDetector,
        traffic: &Traffic,
        number: u32,
    ) -> Result<()> {
        let threshold = f64::from(detector.params().threshold());
        let mut high = Vec::new();
        for host in traffic.planted(number, 1) {
            let cardinality = detector.cardinality(ip(host))?.cardinality;
            let error = cardinality - threshold;
            self.errors += error;
            self.squares += error.powi(2);
            self.fourths += error.powi(4);
            if cardinality >= threshold {
                high.push(host);
            }
        }
        let report: SliceReport = detector.close_slice()?;
        let reported: HashSet<u32> =
            report.super_points.iter().map(|point| family::number(point.host)).collect();
        let reported = |host: &u32| reported.contains(host);
        self.hosts += traffic.each();
        self.high += high.len() as u32;
        self.high_missed += high.iter().filter(|host| !reported(host)).count() as u32;
        self.missed += traffic.planted(number, 2).filter(|host| !reported(host)).count() as u32;
        self.false_reports += traffic.planted(number, 0).filter(reported).count() as u32;
        self.candidates = report.candidates;
        self.miss_probability = report.health.finder.miss_probability;
        Ok(())
    }
}
