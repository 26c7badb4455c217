//! The tables of `plans`: all plans, a row for each threshold, and what the planner says of sizes.

use srlg_core::{Config, ConfigError};

use super::{Place, Plans, Row, Trial};
use crate::table::{Table, percent, short};

/// Noise, as a share of an error, up to which the error of a plan tells something.
const CLEAR: f64 = 0.05;

/// Every plan in every traffic, and every refusal.
pub(super) fn all(rows: &[Row]) -> String {
    let headings = [
        "θ",
        "slices",
        "pairs",
        "memory",
        "traffic",
        "λ",
        "σ of θ",
        "measured over σ",
        "over that of the load as it acts",
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
    for row in rows {
        let Place { threshold, window, load, memory } = row.place;
        let mut cells: Vec<_> = [threshold, window, load, memory].map(short).into();
        match &row.plan {
            Err(refusal) => {
                cells.push(refusal.to_string());
                refused.row(cells);
            }
            Ok(trial) => {
                cells.extend(measured(trial));
                cells.push(if row.is_broken() { "broken".to_owned() } else { String::new() });
                table.row(cells);
            }
        }
    }
    format!("{table}\n{refused}")
}

fn measured(Trial { plan, background, outcome }: &Trial) -> [String; 11] {
    [
        background.name().to_owned(),
        format!("{:.2}", plan.pairs_per_recorder),
        percent(100.0 * (plan.std_error / f64::from(plan.config.threshold))),
        format!("{:.3} ± {:.3}", outcome.rms() / plan.std_error, outcome.noise()),
        format!("{:.3}", outcome.rms() / outcome.std_error),
        outcome.hosts.to_string(),
        outcome.missed.to_string(),
        outcome.high.to_string(),
        outcome.high_missed.to_string(),
        outcome.false_reports.to_string(),
        outcome.candidates.to_string(),
    ]
}

/// A row for each threshold: all plans in all traffics together.
pub(super) fn summary(rows: &[Row]) -> String {
    let headings = [
        "θ",
        "measured",
        "hosts of 2θ",
        "not reported",
        "hosts of θ/2 reported",
        "hosts of θ missed by the finder",
        "expected",
        "error over what was promised",
        "over what is expected",
        "refused: cells",
        "candidates",
        "load",
        "error",
        "memory",
    ];
    let mut table = Table::new(&headings);
    for rows in rows.chunk_by(|one, next| one.place.threshold == next.place.threshold) {
        let trials: Vec<&Trial> = rows.iter().filter_map(|row| row.plan.as_ref().ok()).collect();
        let sum = |of: fn(&Trial) -> u32| trials.iter().map(|it| of(it)).sum::<u32>().to_string();
        let [high, missed] = [sum(|it| it.outcome.high), sum(|it| it.outcome.high_missed)];
        let expected =
            trials.iter().map(|it| it.plan.miss_probability * f64::from(it.outcome.high));
        let range = |of: fn(&Trial) -> f64| {
            let clear = trials.iter().filter(|it| it.outcome.noise() < CLEAR);
            range(clear.map(|it| it.outcome.rms() / of(it)))
        };
        let mut cells = vec![
            short(rows[0].place.threshold),
            trials.len().to_string(),
            sum(|it| it.outcome.hosts),
            sum(|it| it.outcome.missed),
            sum(|it| it.outcome.false_reports),
            format!("{missed} of {high}"),
            format!("{:.1}", expected.sum::<f64>()),
            range(|it| it.plan.std_error),
            range(|it| it.outcome.std_error),
        ];
        let mut refused = [0; 5];
        let refusals = rows.iter().filter_map(|row| row.plan.as_ref().err());
        refusals.for_each(|refusal| refused[rule(refusal)] += 1);
        cells.extend(refused.map(|count: u32| count.to_string()));
        table.row(cells);
    }
    table.to_string()
}

/// The least and the most of some ratios.
fn range(ratios: impl Iterator<Item = f64>) -> String {
    let widen = |[least, most]: [f64; 2], ratio: f64| [least.min(ratio), most.max(ratio)];
    match ratios.fold([f64::INFINITY, 0.0], widen) {
        [_, 0.0] => "-".to_owned(),
        [least, most] => format!("{least:.2} to {most:.2}"),
    }
}

/// The column of a refusal.
fn rule(refusal: &ConfigError) -> usize {
    match refusal {
        ConfigError::PlanCells { .. } => 0,
        ConfigError::PlanCandidates { .. } => 1,
        ConfigError::PlanLoad { .. } => 2,
        ConfigError::PlanError { .. } => 3,
        _ => 4,
    }
}

/// The plans by memory, load and threshold, without any measurement: a table for each window.
pub(super) fn sizes(options: &Plans) -> String {
    let tables = options.windows.iter().map(|&window| {
        let slices = if window == 1 { "one slice".to_owned() } else { format!("{window} slices") };
        format!("Windows of {slices}:\n\n{}\n", sizes_of(options, window))
    });
    tables.collect()
}

/// The plans of all thresholds and loads in all memories.
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

/// Percent with the digits that say something of few hosts.
fn rounded_up(percent: f64) -> String {
    let decimals = if percent < 0.1 { 3 } else { 1 };
    let scale = 10_f64.powi(decimals);
    format!("{:.*} %", decimals as usize, (percent * scale).ceil() / scale)
}
