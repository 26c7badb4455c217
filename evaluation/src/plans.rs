//! `plans`: whether detectors keep what [`Config::for_load`] promises; and a table of its plans.
//!
//! Each plan is [measured](trial) in traffic of exactly its load, of which planted hosts are a part, and judged by what it
//! says itself.

mod tables;
mod trial;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::{Value, json};
use srlg_core::{Config, ConfigError, Plan};
use srlg_input::number;

use crate::output::{self, Page, UNWRITTEN};
use crate::study::CommandLine;
use trial::{Background, Outcome};

/// Share by which the root mean square error may differ from the standard error that is to be expected.
const TOLERANCE: f64 = 0.1;

/// Share of the hosts of 2θ that a plan may miss.
const MAY_MISS: f64 = 1e-3;

#[derive(Args)]
pub(crate) struct Plans {
    /// Thresholds
    #[arg(long, value_delimiter = ',', default_value = "8,32,64,200,1024,10k,100k", value_parser = number::count)]
    thresholds: Vec<u32>,
    /// Distinct pairs per window
    #[arg(long, value_delimiter = ',', default_value = "100k,1M,5M,20M", value_parser = number::count)]
    loads: Vec<u32>,
    /// Bytes of recorders
    #[arg(long, value_delimiter = ',', default_value = "500k,1M,2M,4M,8M,31700k,60M", value_parser = number::count)]
    memories: Vec<u32>,
    /// Slices in the window; each plan has one of them in turn, so that all go with all else
    #[arg(long, value_delimiter = ',', default_value = "1,10,300", value_parser = number::count)]
    windows: Vec<u32>,
    /// Hosts of 2θ, and as many of θ and of θ/2, to plant per plan and traffic, if --work allows
    #[arg(long, default_value = "1k", value_parser = number::count)]
    hosts: u32,
    /// Pairs to ingest per plan and traffic, at most; a pass over 800 bytes of recorders counts as one. Two windows at
    /// least
    #[arg(long, default_value = "80M", value_parser = number::integer)]
    work: u64,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Print the table of plans by memory, load and threshold, and measure nothing
    #[arg(long, conflicts_with = "json")]
    table: bool,
    /// Print one JSON object per plan and traffic
    #[arg(long)]
    json: bool,
    /// Put the table between its line `<!-- table: NAME -->` and the next `<!-- end -->` of this page: sizes with
    /// --table; without, plans, a row for each threshold
    #[arg(long)]
    write: Option<PathBuf>,
}

/// What is asked of the planner.
#[derive(Clone, Copy)]
struct Place {
    threshold: u32,
    window: u32,
    load: u32,
    memory: u32,
}

/// A plan and how it did, or a refusal.
struct Row {
    place: Place,
    plan: Result<Trial, ConfigError>,
}

/// A plan that was measured in some traffic.
struct Trial {
    plan: Plan,
    background: Background,
    outcome: Outcome,
}

pub(crate) fn run(options: &Plans, line: CommandLine) -> Result<()> {
    ensure!(options.hosts <= 1 << 20, "--hosts must be at most 1048576");
    let place = if options.table { "sizes" } else { "plans" };
    let mut page = options.write.as_ref().map(|page| Page::open(page, &[place])).transpose()?;
    let command = format!("`{}`", line(&[]));
    let rows = if options.table { Vec::new() } else { rows(options)? };
    let (written, more) = match options.table {
        true => (tables::sizes(options), String::new()),
        false => (tables::summary(&rows), tables::all(&rows)),
    };
    let written = format!("{command}\n\n{written}");
    if let Some(page) = &mut page {
        page.fill(place, &written)?;
        page.write()?;
    }
    if !options.json {
        let text = format!("{written}\n{more}");
        writeln!(io::stdout(), "{}", text.trim_end()).context(UNWRITTEN)?;
    }
    let broken = rows.iter().filter(|row| row.is_broken()).count();
    ensure!(broken == 0, "{broken} plans do not keep what they promise");
    Ok(())
}

/// Measures all plans, and prints their JSON at once: a long run is worth something wherever it ends.
fn rows(options: &Plans) -> Result<Vec<Row>> {
    let places = options.places();
    let bar = output::bar(places.len() as u64, "plans");
    let mut rows = Vec::new();
    for place in places {
        for row in place.rows(options)? {
            if options.json {
                writeln!(io::stdout(), "{}", row.json(options)).context(UNWRITTEN)?;
            }
            rows.push(row);
        }
        bar.inc(1);
    }
    Ok(rows)
}

impl Plans {
    /// All places: each threshold, load and memory with one window, in turn; but for loads that have no room for the
    /// planted hosts.
    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for (row, &threshold) in self.thresholds.iter().enumerate() {
            for (column, &load) in self.loads.iter().enumerate() {
                for (layer, &memory) in self.memories.iter().enumerate() {
                    let window = self.windows[(row + column + layer) % self.windows.len()];
                    if load / 4 >= threshold {
                        places.push(Place { threshold, window, load, memory });
                    }
                }
            }
        }
        places
    }
}

impl Place {
    /// A row for each traffic, or one of a refusal.
    fn rows(self, options: &Plans) -> Result<Vec<Row>> {
        let Self { threshold, window, load, memory } = self;
        let plan = match Config::for_load(threshold, window, load.into(), memory as usize) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(vec![Row { place: self, plan: Err(refusal) }]),
        };
        let measure = |background| {
            let outcome = trial::run(options, &self, &plan, background)?;
            Ok(Row { place: self, plan: Ok(Trial { plan, background, outcome }) })
        };
        Background::ALL.into_iter().map(measure).collect()
    }
}

impl Row {
    /// Whether the plan was measured not to keep what it says, by more than chance.
    fn is_broken(&self) -> bool {
        self.plan.as_ref().is_ok_and(|trial| trial.errs_otherwise() || trial.misses_more())
    }

    fn json(&self, options: &Plans) -> Value {
        let Place { threshold, window, load, memory } = self.place;
        let mut object = json!({
            "threshold": threshold,
            "window": window,
            "load": load,
            "memory": memory,
            "seed": options.seed,
            "refused": self.plan.as_ref().err().map(ToString::to_string),
        });
        let Ok(Trial { plan, background, outcome }) = &self.plan else { return object };
        let params = plan.config.validate().ok();
        let measured = json!({
            "traffic": background.name(),
            "cells": params.and_then(|it| Some(1 << it.finder().cells()?.cell_bits())),
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

impl Trial {
    /// Whether errors are larger than was promised, or smaller than is to be expected of the load as it acts in the end,
    /// by more than the tolerance and by more than chance. At first giants act as all others do.
    fn errs_otherwise(&self) -> bool {
        let Self { plan, outcome, .. } = self;
        let most = TOLERANCE.max(3.0 * outcome.noise());
        outcome.rms() > plan.std_error * (1.0 + most)
            || outcome.rms() < outcome.std_error * (1.0 - most)
    }

    /// Whether more hosts are missed than a plan may miss of 2θ, or says of θ, which a chance below 1 in 1,000 would do.
    fn misses_more(&self) -> bool {
        let Self { plan, outcome, .. } = self;
        let too_many = |missed, hosts, share| at_least(missed, share * f64::from(hosts)) < 1e-3;
        too_many(outcome.missed, outcome.hosts, MAY_MISS)
            || too_many(outcome.high_missed, outcome.high, plan.miss_probability)
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
