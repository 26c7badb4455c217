//! The plans that are measured, and what came of each.

use std::fmt::Write;

use serde_json::{Value, json};
use srlg_core::{ConfigError, Plan};

use super::Plans;
use super::traffic::Background;
use super::trial::Outcome;
use crate::number::short;
use crate::study::CommandLine;
use crate::table::{Table, percent};

/// Share by which the root mean square error may differ from the standard error that was promised.
const TOLERANCE: f64 = 0.1;

/// Share of the hosts of 2θ that a plan may miss.
const MAY_MISS: f64 = 1e-3;

/// What is asked of the planner.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) threshold: u32,
    pub(super) window: u32,
    pub(super) load: u32,
    pub(super) memory: u32,
}

/// All places: each threshold, load and memory with one window, in turn.
pub(super) fn places(options: &Plans) -> Vec<Place> {
    let mut places = Vec::new();
    for (row, &threshold) in options.thresholds.iter().enumerate() {
        for (column, &load) in options.loads.iter().enumerate() {
            for (layer, &memory) in options.memories.iter().enumerate() {
                let window = options.windows[(row + column + layer) % options.windows.len()];
                places.push(Place { threshold, window, load, memory });
            }
        }
    }
    places
}

/// A plan and how it did, or a refusal.
pub(super) struct Row {
    place: Place,
    plan: Result<(Plan, Background, Outcome), ConfigError>,
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
        outcome.errs_otherwise(plan) || outcome.misses_more()
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
    fn rms(&self) -> f64 {
        (self.squares / f64::from(self.hosts)).sqrt()
    }

    /// Standard deviation of the root mean square, as a share of it: of the mean of squares it is that of squares over
    /// the root of their number, and of its root half as much. 1/sqrt(2n) of normal errors; small ones are lumpy.
    fn noise(&self) -> f64 {
        let hosts = f64::from(self.hosts);
        let kurtosis = self.fourths * hosts / (self.squares * self.squares);
        ((kurtosis - 1.0) / hosts).sqrt() / 2.0
    }

    /// Whether errors differ from the promise by more than the tolerance and by more than chance.
    fn errs_otherwise(&self, plan: &Plan) -> bool {
        let differs = (self.rms() / plan.std_error - 1.0).abs();
        differs > TOLERANCE && differs > 3.0 * self.noise()
    }

    /// Whether more hosts of 2θ are missed than a plan may miss, by a chance below 1 in 1,000.
    fn misses_more(&self) -> bool {
        let mean = MAY_MISS * f64::from(self.hosts);
        // Poisson: at least as many as were missed.
        let mut term = (-mean).exp();
        let mut fewer = 0.0;
        for count in 0..self.missed {
            fewer += term;
            term *= mean / f64::from(count + 1);
        }
        1.0 - fewer < 1e-3
    }
}

/// The tables of what was measured and of what was refused.
pub(super) fn text(rows: &[Row], line: CommandLine) -> String {
    let headings = [
        "θ",
        "slices",
        "pairs",
        "memory",
        "traffic",
        "λ",
        "σ of θ",
        "measured over σ",
        "hosts of each kind",
        "2θ missed",
        "θ high",
        "of these missed",
        "θ/2 reported",
        "candidates",
        "",
    ];
    let mut table = Table::new(&headings);
    let mut refused = Table::new(&["θ", "slices", "pairs", "memory", "refusal"]);
    let (mut hosts, mut missed, mut false_reports) = (0, 0, 0);
    for row in rows {
        let Place { threshold, window, load, memory } = row.place;
        let mut cells: Vec<_> = [threshold, window, load, memory].map(short).into();
        match &row.plan {
            Err(refusal) => {
                cells.push(refusal.to_string());
                refused.row(cells);
            }
            Ok((plan, background, outcome)) => {
                hosts += outcome.hosts;
                missed += outcome.missed;
                false_reports += outcome.false_reports;
                cells.extend(outcome.cells(plan, *background, row.is_broken()));
                table.row(cells);
            }
        }
    }
    let mut text = format!("`{}`\n\n{table}\n", line(&[]));
    let share = percent(100.0 * f64::from(missed) / f64::from(hosts.max(1)));
    writeln!(text, "Of {hosts} hosts of 2θ {missed} were not reported, {share}; of as many hosts of θ/2 {false_reports} were.\n\n{refused}")
        .expect("a string takes all");
    text
}

impl Outcome {
    fn cells(&self, plan: &Plan, background: Background, is_broken: bool) -> [String; 11] {
        let error = plan.std_error / f64::from(plan.config.threshold);
        [
            background.name().to_owned(),
            format!("{:.2}", plan.pairs_per_recorder),
            percent(100.0 * error),
            format!("{:.3} ± {:.3}", self.rms() / plan.std_error, self.noise()),
            self.hosts.to_string(),
            self.missed.to_string(),
            self.high.to_string(),
            self.high_missed.to_string(),
            self.false_reports.to_string(),
            self.candidates.to_string(),
            if is_broken { "broken".to_owned() } else { String::new() },
        ]
    }
}
