//! The command `plans`, which checks the guarantees of [`Config::for_load`], or prints a table of its plans.
//!
//! Each plan is [measured](trial) with traffic that has the load of the plan and contains planted hosts. The results
//! are compared with the guarantees of the plan.

mod trial;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;
use srlg_core::{Config, ConfigError, Plan};
use srlg_input::number;
use srlg_traffic::family::Family;
use trial::{Background, Outcome};

use crate::output::{Page, UNWRITTEN};
use crate::results::{Cell, Column, Results, Row, details};
use crate::study::{CommandLine, Form, Study, Sweep};
use crate::table::{Table, percent, short};

/// Relative difference by which the root mean square error may always exceed its upper limit or fall below its lower
/// limit.
const TOLERANCE: f64 = 0.1;

#[derive(Args)]
pub(crate) struct Plans {
    /// Thresholds of the plans
    #[arg(long, value_delimiter = ',', default_value = "8,32,64,200,1024,10k,100k", value_parser = number::count)]
    thresholds: Vec<u32>,
    /// Distinct pairs per window
    #[arg(long, value_delimiter = ',', default_value = "100k,1M,5M,20M", value_parser = number::count)]
    loads: Vec<u32>,
    /// Bytes of recorders
    #[arg(long, value_delimiter = ',', default_value = "500k,1M,2M,4M,8M,31700k,60M", value_parser = number::count)]
    memories: Vec<u32>,
    /// Measure each plan with the minimum memory that it needs, instead of --memories
    #[arg(long)]
    least: bool,
    /// Slices per window. Consecutive measured plans use these values in turn
    #[arg(long, value_delimiter = ',', default_value = "1,10,300", value_parser = number::count)]
    windows: Vec<u32>,
    /// Number of hosts of each size (2θ, θ and θ/2 peers) to plant per plan and kind of traffic, as far as --work
    /// allows
    #[arg(long, default_value = "1k", value_parser = number::count)]
    hosts: u32,
    /// Maximum number of pairs to ingest per plan and kind of traffic; at least two windows are always ingested. A pass
    /// over 800 bytes of recorders counts as one pair
    #[arg(long, default_value = "80M", value_parser = number::integer)]
    work: u64,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Address family of the traffic: IPv4, IPv6, or mixed (half of the inside hosts in each family)
    #[arg(long, value_name = "4|6|mixed", default_value_t)]
    family: Family,
    /// Print the table of plans by memory, load and threshold, without any measurement
    #[arg(long, conflicts_with_all = ["json", "least"])]
    table: bool,
    /// Print one JSON object per plan and kind of traffic
    #[arg(long)]
    json: bool,
    /// Page in which to replace the table between `<!-- table: NAME -->` and the next `<!-- end -->`. NAME is sizes
    /// with --table, least with --least, and plans otherwise
    #[arg(long)]
    write: Option<PathBuf>,
}

/// The input of the planner.
#[derive(Clone, Copy)]
struct Place {
    threshold: u32,
    window: u32,
    load: u32,
    memory: u32,
}

/// A measured plan, or the reason why the planner rejected its input.
struct Answer {
    place: Place,
    plan: Result<Trial, ConfigError>,
}

/// A plan that was measured with one kind of traffic.
struct Trial {
    plan: Plan,
    background: Background,
    outcome: Outcome,
}

pub(crate) fn run(options: &Plans, line: CommandLine) -> Result<()> {
    ensure!(options.hosts <= 1 << 20, "--hosts must be at most 1048576");
    let place = match options {
        Plans { table: true, .. } => "sizes",
        Plans { least: true, .. } => "least",
        _ => "plans",
    };
    let mut page = options.write.as_ref().map(|page| Page::open(page, &[place])).transpose()?;
    let mut answers = Vec::new();
    let (written, more) = if options.table {
        (sizes(options), String::new())
    } else {
        // Objects are printed at once, so that a long run is useful even if it stops early.
        let form = if options.json { Form::Objects } else { Form::Unprinted };
        let sweep = Sweep { results: results(options), steps: options.places() };
        let measured = Study::printed(form).run(1, vec![sweep], |place, results, _| {
            let new = place.answers(options)?;
            results.rows.extend(new.iter().map(row));
            answers.extend(new);
            Ok(())
        })?;
        (summary(&answers), all(&measured[0]))
    };
    let written = format!("`{}`\n\n{written}", line(&[]));
    if let Some(page) = &mut page {
        page.fill(place, &written)?;
        page.write()?;
    }
    if !options.json {
        let text = format!("{written}\n{more}");
        writeln!(io::stdout(), "{}", text.trim_end()).context(UNWRITTEN)?;
    }
    let broken = answers.iter().filter(|answer| answer.is_broken()).count();
    ensure!(broken == 0, "{broken} measurements break guarantees: see the rows marked broken");
    Ok(())
}

impl Plans {
    /// Returns all combinations of threshold, load and memory, each with one of the windows in turn. With `--least`,
    /// the only memory of a combination is the minimum. Loads that are too small for the planted hosts are omitted.
    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for (row, &threshold) in self.thresholds.iter().enumerate() {
            for (column, &load) in self.loads.iter().enumerate() {
                let layers = if self.least { 1 } else { self.memories.len() };
                for layer in 0..layers {
                    let window = self.windows[(row + column + layer) % self.windows.len()];
                    let memory = match self.least {
                        true => least(threshold, window, load),
                        false => Some(self.memories[layer]),
                    };
                    let place = |memory| Place { threshold, window, load, memory };
                    places.extend(memory.map(place).filter(|_| load / 4 >= threshold));
                }
            }
        }
        places
    }
}

/// Returns the minimum memory of a plan, or `None` if no plan exists or it needs 4 GiB or more.
fn least(threshold: u32, window: u32, load: u32) -> Option<u32> {
    match Config::for_load(threshold, window, load.into(), 0) {
        Err(ConfigError::Memory { least, .. }) => least.try_into().ok(),
        _ => None,
    }
}

impl Place {
    /// Measures the plan with each kind of traffic. If the plan is rejected, returns a single answer.
    fn answers(&self, options: &Plans) -> Result<Vec<Answer>> {
        let place = *self;
        let Self { threshold, window, load, memory } = place;
        let plan = match Config::for_load(threshold, window, load.into(), memory as usize) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(vec![Answer { place, plan: Err(refusal) }]),
        };
        let measure = |background| {
            let outcome = trial::run(options, self, &plan, background)?;
            Ok(Answer { place, plan: Ok(Trial { plan, background, outcome }) })
        };
        Background::ALL.into_iter().map(measure).collect()
    }
}

impl Answer {
    /// Returns whether the measured plan breaks its guarantees by more than chance explains, or has a crowded window.
    fn is_broken(&self) -> bool {
        self.plan.as_ref().is_ok_and(|trial| {
            trial.errs_otherwise() || trial.misses_more() || trial.outcome.crowded > 0
        })
    }
}

impl Trial {
    /// Returns whether errors are larger than guaranteed, or smaller than expected for the effective load. The relative
    /// difference must exceed both [`TOLERANCE`] and three times the noise.
    fn errs_otherwise(&self) -> bool {
        let Self { plan, outcome, .. } = self;
        let most = TOLERANCE.max(3.0 * outcome.noise());
        outcome.rms() > plan.std_error * (1.0 + most)
            || outcome.rms() < outcome.std_error * (1.0 - most)
    }

    /// Returns whether significantly more hosts with 2θ or θ peers are missed than guaranteed. A difference is
    /// significant if its probability is below 1 in 1,000.
    fn misses_more(&self) -> bool {
        let Self { plan, outcome, .. } = self;
        let too_many = |missed, hosts, share| at_least(missed, share * f64::from(hosts)) < 1e-3;
        // A plan does not include the effect of the candidate limit on hosts with θ peers, but reports do.
        let miss_probability = match outcome.raised {
            0 => plan.miss_probability,
            _ => outcome.miss_probability,
        };
        too_many(outcome.missed, outcome.hosts, plan.double_miss_probability)
            || too_many(outcome.high_missed, outcome.high, miss_probability)
    }
}

/// Returns the probability that a Poisson variable with this `mean` is `count` or more.
fn at_least(count: u32, mean: f64) -> f64 {
    let (mut fewer, mut term) = (0.0, (-mean).exp());
    for number in 0..count {
        fewer += term;
        term *= mean / f64::from(number + 1);
    }
    1.0 - fewer
}

/// Limit on the relative noise of an error in the summary. Noisier errors are omitted.
const CLEAR: f64 = 0.05;

const COLUMNS: &[Column] = &[
    Column::decimals(2, "λ").metric("pairs_per_recorder", ""),
    Column::percent("σ of θ"),
    Column::decimals(0, "measured over σ"),
    Column::decimals(3, "measured over σ at the effective load"),
    Column::decimals(0, "hosts of each kind").metric("hosts", ""),
    Column::decimals(0, "2θ missed").metric("missed", ""),
    Column::decimals(0, "θ high").metric("high", ""),
    Column::decimals(0, "of these missed").metric("high_missed", ""),
    Column::decimals(0, "θ/2 reported").metric("false_reports", ""),
    Column::decimals(0, "candidates").metric("candidates", ""),
    Column::decimals(0, "windows crowded").metric("crowded", ""),
    Column::decimals(0, "raised").metric("raised", ""),
    Column::decimals(0, ""),
];

fn results(options: &Plans) -> Results {
    Results {
        place: "plans".to_owned(),
        names: vec!["θ", "slices", "pairs", "memory", "traffic"],
        columns: COLUMNS,
        details: details!(options => seed; "family": options.family.to_string()),
        ..Results::default()
    }
}

/// Returns the row of an answer. If the plan was rejected, the row has no figures, and the last of its names is the
/// reason.
fn row(answer: &Answer) -> Row {
    let Place { threshold, window, load, memory } = answer.place;
    let mut names = [threshold, window, load, memory].map(short).to_vec();
    let mut details = details!(answer.place => threshold, window, load, memory;);
    let Trial { plan, background, outcome } = match &answer.plan {
        Ok(trial) => trial,
        Err(refusal) => {
            details.push(("refused", refusal.to_string().into()));
            names.push(refusal.to_string());
            return Row { json_only: true, ..Row::new(names, Vec::new(), details) };
        }
    };
    names.push(background.name().to_owned());
    let params = plan.config.validate().ok();
    details.extend(details!(
        plan => std_error, miss_probability, double_miss_probability;
        plan.config => linear_width, share, candidate_limit;
        "refused": Value::Null,
        "traffic": background.name(),
        "cells": params.and_then(|it| Some(1 << it.finder().cells()?.cell_bits())),
        "bias": outcome.errors / f64::from(outcome.hosts),
        "rms_error": outcome.rms(),
        "rms_noise": outcome.noise(),
        "acting_std_error": outcome.std_error,
        "health_miss_probability": outcome.miss_probability,
        "is_broken": answer.is_broken(),
    ));
    let cells = vec![
        plan.pairs_per_recorder.into(),
        Cell::ratio(Some(plan.std_error / f64::from(plan.config.threshold))),
        format!("{:.3} ± {:.3}", outcome.rms() / plan.std_error, outcome.noise()).into(),
        (outcome.rms() / outcome.std_error).into(),
        outcome.hosts.into(),
        outcome.missed.into(),
        outcome.high.into(),
        outcome.high_missed.into(),
        outcome.false_reports.into(),
        outcome.candidates.into(),
        outcome.crowded.into(),
        outcome.raised.into(),
        if answer.is_broken() { "broken" } else { "" }.to_owned().into(),
    ];
    Row::new(names, cells, details)
}

/// Returns a table of all measurements, followed by a table of all rejections.
fn all(results: &Results) -> String {
    let mut refused = Table::new(&["θ", "slices", "pairs", "memory", "reason"]);
    let refusals = results.rows.iter().filter(|row| row.json_only);
    refusals.for_each(|row| refused.row(row.names.clone()));
    format!("{}\n{refused}", results.table())
}

const SUMMARY: [&str; 14] = [
    "θ",
    "measured",
    "hosts with 2θ peers",
    "not reported",
    "hosts with θ/2 peers reported",
    "hosts with θ peers missed by the finder",
    "expected",
    "error relative to the guarantee",
    "error relative to expectation",
    "rejected: cells",
    "candidates",
    "load",
    "error",
    "memory",
];

/// Returns a table that summarises the answers, with one row per threshold.
fn summary(answers: &[Answer]) -> String {
    let mut table = Table::new(&SUMMARY);
    for answers in answers.chunk_by(|one, next| one.place.threshold == next.place.threshold) {
        let trials: Vec<&Trial> = answers.iter().filter_map(|it| it.plan.as_ref().ok()).collect();
        let sum = |of: fn(&Trial) -> u32| trials.iter().map(|it| of(it)).sum::<u32>().to_string();
        let [high, missed] = [sum(|it| it.outcome.high), sum(|it| it.outcome.high_missed)];
        let expected =
            trials.iter().map(|it| it.plan.miss_probability * f64::from(it.outcome.high));
        let range = |of: fn(&Trial) -> f64| {
            let clear = trials.iter().filter(|it| it.outcome.noise() < CLEAR);
            range(clear.map(|it| it.outcome.rms() / of(it)))
        };
        let mut cells = vec![
            short(answers[0].place.threshold),
            trials.len().to_string(),
            sum(|it| it.outcome.hosts),
            sum(|it| it.outcome.missed),
            sum(|it| it.outcome.false_reports),
            format!("{missed} of {high}"),
            format!("{:.1}", expected.sum::<f64>()),
            range(|it| it.plan.std_error),
            range(|it| it.outcome.std_error),
        ];
        let refused = |column| {
            let refusals = answers.iter().filter_map(|it| it.plan.as_ref().err());
            refusals.filter(|refusal| rule(refusal) == column).count().to_string()
        };
        cells.extend((0..5).map(refused));
        table.row(cells);
    }
    table.to_string()
}

fn range(ratios: impl Iterator<Item = f64>) -> String {
    let widen = |[least, most]: [f64; 2], ratio: f64| [least.min(ratio), most.max(ratio)];
    match ratios.fold([f64::INFINITY, 0.0], widen) {
        [_, 0.0] => "-".to_owned(),
        [least, most] => format!("{least:.2} to {most:.2}"),
    }
}

/// Returns the index of the rejection column in which `refusal` is counted.
fn rule(refusal: &ConfigError) -> usize {
    match refusal {
        ConfigError::PlanCells { .. } => 0,
        ConfigError::PlanCandidates { .. } => 1,
        ConfigError::PlanLoad { .. } => 2,
        ConfigError::PlanError { .. } => 3,
        _ => 4,
    }
}

/// Returns one table of plans per window, without any measurement.
fn sizes(options: &Plans) -> String {
    let tables = options.windows.iter().map(|&window| {
        let slices = if window == 1 { "one slice".to_owned() } else { format!("{window} slices") };
        format!("Windows of {slices}:\n\n{}\n", sizes_of(options, window))
    });
    tables.collect()
}

fn sizes_of(options: &Plans, window: u32) -> Table {
    let megabytes = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
    let memories: Vec<_> = options.memories.iter().map(|&it| megabytes(it.into())).collect();
    let mut headings = vec!["θ", "pairs", "least"];
    headings.extend(memories.iter().map(String::as_str));
    let mut table = Table::new(&headings);
    for &threshold in &options.thresholds {
        for &load in &options.loads {
            let plan = |memory| Config::for_load(threshold, window, load.into(), memory);
            let least = match plan(0) {
                Err(ConfigError::Memory { least, .. }) => megabytes(least as f64),
                _ => "none".to_owned(),
            };
            let plans = options.memories.iter().map(|&memory| match plan(memory as usize) {
                Ok(plan) => {
                    let error = percent(100.0 * plan.std_error / f64::from(threshold));
                    format!("{error}, {}", rounded_up(100.0 * plan.miss_probability))
                }
                Err(_) => "-".to_owned(),
            });
            let names = [short(threshold), short(load), least];
            table.row(names.into_iter().chain(plans).collect());
        }
    }
    table
}

/// Formats a percentage, rounded up, with three decimals below 0.1 % and one decimal otherwise.
fn rounded_up(percent: f64) -> String {
    let decimals = if percent < 0.1 { 3 } else { 1 };
    let scale = 10_f64.powi(decimals);
    format!("{:.*} %", decimals as usize, (percent * scale).ceil() / scale)
}
