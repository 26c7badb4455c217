//! The tables of what was measured: of all plans, and a row for each threshold.

use srlg_core::{ConfigError, Plan};

use super::Place;
use super::grid::Row;
use super::traffic::Background;
use super::trial::Outcome;
use crate::number::short;
use crate::table::{Table, percent};

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
            Ok((plan, background, outcome)) => {
                cells.extend(measured(plan, *background, outcome));
                cells.push(if row.is_broken() { "broken".to_owned() } else { String::new() });
                table.row(cells);
            }
        }
    }
    format!("{table}\n{refused}")
}

fn measured(plan: &Plan, background: Background, outcome: &Outcome) -> [String; 11] {
    let error = plan.std_error / f64::from(plan.config.threshold);
    [
        background.name().to_owned(),
        format!("{:.2}", plan.pairs_per_recorder),
        percent(100.0 * error),
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
        let measured = || rows.iter().filter_map(|row| row.plan.as_ref().ok());
        let sum = |of: fn(&Outcome) -> u32| measured().map(|it| of(&it.2)).sum::<u32>().to_string();
        let expected = measured().map(|it| it.0.miss_probability * f64::from(it.2.high));
        let clear = || measured().filter(|it| it.2.noise() < CLEAR);
        let promised = range(clear().map(|(plan, _, it)| it.rms() / plan.std_error));
        let expected_error = range(clear().map(|(_, _, it)| it.rms() / it.std_error));
        let mut cells = vec![
            short(rows[0].place.threshold),
            measured().count().to_string(),
            sum(|outcome| outcome.hosts),
            sum(|outcome| outcome.missed),
            sum(|outcome| outcome.false_reports),
            format!("{} of {}", sum(|outcome| outcome.high_missed), sum(|outcome| outcome.high)),
            format!("{:.1}", expected.sum::<f64>()),
            promised,
            expected_error,
        ];
        let refusals = rows.iter().filter_map(|row| row.plan.as_ref().err());
        let mut refused = [0; 5];
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
