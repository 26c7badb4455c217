//! The plans that are measured, and what came of each.

use serde_json::{Value, json};
use srlg_core::{ConfigError, Plan};

use super::traffic::Background;
use super::trial::Outcome;
use super::{Place, Plans};

/// Share by which the root mean square error may differ from the standard error that is to be expected.
const TOLERANCE: f64 = 0.1;

/// Share of the hosts of 2θ that a plan may miss.
const MAY_MISS: f64 = 1e-3;

/// All places: each threshold, load and memory with one window, in turn; but for loads that have no room for the planted
/// hosts.
pub(super) fn places(options: &Plans) -> Vec<Place> {
    let mut places = Vec::new();
    for (row, &threshold) in options.thresholds.iter().enumerate() {
        for (column, &load) in options.loads.iter().enumerate() {
            for (layer, &memory) in options.memories.iter().enumerate() {
                let window = options.windows[(row + column + layer) % options.windows.len()];
                if load / 4 >= threshold {
                    places.push(Place { threshold, window, load, memory });
                }
            }
        }
    }
    places
}

/// A plan and how it did, or a refusal.
pub(super) struct Row {
    pub(super) place: Place,
    pub(super) plan: Result<(Plan, Background, Outcome), ConfigError>,
}

impl Row {
    pub(super) const fn refused(place: Place, refusal: ConfigError) -> Self {
        Self { place, plan: Err(refusal) }
    }

    pub(super) const fn measured(
        place: Place,
        plan: Plan,
        background: Background,
        outcome: Outcome,
    ) -> Self {
        Self { place, plan: Ok((plan, background, outcome)) }
    }

    /// Whether the plan was measured not to keep what it says, by more than chance.
    pub(super) fn is_broken(&self) -> bool {
        let Ok((plan, _, outcome)) = &self.plan else { return false };
        outcome.errs_otherwise(plan) || outcome.misses_more(plan)
    }

    pub(super) fn json(&self, options: &Plans) -> Value {
        let Place { threshold, window, load, memory } = self.place;
        let mut object = json!({
            "threshold": threshold,
            "window": window,
            "load": load,
            "memory": memory,
            "seed": options.seed,
            "refused": self.plan.as_ref().err().map(ToString::to_string),
        });
        let Ok((plan, background, outcome)) = &self.plan else { return object };
        let measured = json!({
            "traffic": background.name(),
            "cells": plan.config.validate().ok().and_then(|it| Some(1 << it.finder().cells()?.cell_bits())),
            "linear_width": plan.config.linear_width,
            "candidate_limit": plan.config.candidate_limit,
            "pairs_per_recorder": plan.pairs_per_recorder,
            "std_error": plan.std_error,
            "miss_probability": plan.miss_probability,
            "double_miss_probability": plan.double_miss_probability,
            "hosts": outcome.hosts,
            "bias": outcome.errors / f64::from(outcome.hosts),
            "rms_error": outcome.rms(),
            "rms_noise": outcome.noise(),
            "acting_std_error": outcome.std_error,
            "high": outcome.high,
            "high_missed": outcome.high_missed,
            "missed": outcome.missed,
            "false_reports": outcome.false_reports,
            "candidates": outcome.candidates,
            "health_miss_probability": outcome.miss_probability,
            "is_broken": self.is_broken(),
        });
        let Value::Object(measured) = measured else { unreachable!("a JSON object") };
        object.as_object_mut().expect("a JSON object").extend(measured);
        object
    }
}

impl Outcome {
    pub(super) fn rms(&self) -> f64 {
        (self.squares / f64::from(self.hosts)).sqrt()
    }

    /// Standard deviation of the root mean square, as a share of it: of the mean of squares it is that of squares over
    /// the root of their number, and of its root half as much. 1/sqrt(2n) of normal errors, whose kurtosis is 3; small errors
    /// are whole hosts, at times: the kurtosis of a Poisson number is 3 and one over its variance.
    pub(super) fn noise(&self) -> f64 {
        let hosts = f64::from(self.hosts);
        let measured = self.fourths * hosts / (self.squares * self.squares);
        let lumpy = 3.0 + 1.0 / (self.std_error * self.std_error);
        // Where no host errs there is nothing to measure, and no number.
        ((lumpy.max(measured) - 1.0) / hosts).sqrt() / 2.0
    }

    /// Whether errors are larger than was promised, or smaller than is to be expected of the load as it acts in the end, by more
    /// than the tolerance and by more than chance. At first giants act as all others do.
    fn errs_otherwise(&self, plan: &Plan) -> bool {
        let most = TOLERANCE.max(3.0 * self.noise());
        self.rms() > plan.std_error * (1.0 + most) || self.rms() < self.std_error * (1.0 - most)
    }

    /// Whether more hosts are missed than a plan may miss of 2θ, or says of θ, which a chance below 1 in 1,000 would do.
    fn misses_more(&self, plan: &Plan) -> bool {
        let too_many = |missed, hosts, share| at_least(missed, share * f64::from(hosts)) < 1e-3;
        too_many(self.missed, self.hosts, MAY_MISS)
            || too_many(self.high_missed, self.high, plan.miss_probability)
    }
}

/// Probability that a Poisson variable of this `mean` is `count` or more.
fn at_least(count: u32, mean: f64) -> f64 {
    let (mut fewer, mut term) = (0.0, (-mean).exp());
    for number in 0..count {
        fewer += term;
        term *= mean / f64::from(number + 1);
    }
    1.0 - fewer
}
