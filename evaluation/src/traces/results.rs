//! Rows of a table, a trace at a threshold each.
//!
//! Shape: [`of`], from a [`Section`] to [`Results`]. Invariant: rows in which nothing was to be
//! found and nothing was reported are named below the table, not in it.

use super::Traces;
use super::replay::{self, Section};
use crate::number::short;
use crate::study::{Cell, Column, CommandLine, Results, Row};

const COLUMNS: &[Column] = &[
    Column::decimals(0, "windows"),
    Column::decimals(0, "super points"),
    Column::percent("TFR").metric("tfr", "%"),
    Column::percent("FPR").metric("fpr", "%"),
    Column::percent("FNR").metric("fnr", "%"),
    Column::percent("RMSE").metric("rmse", "%"),
    Column::percent("largest error").metric("largest_error", "%"),
];

pub(super) fn of(place: String, section: &Section, options: &Traces, line: CommandLine) -> Results {
    let (cut, preset) = (section.cut, section.preset.name());
    let cut_text = format!("{}x{}", cut.seconds, cut.window);
    let instead = [("data", "DIR"), ("preset", preset.as_str()), ("cut", cut_text.as_str())];
    Results {
        heading: format!("Real traffic, {place}"),
        place,
        setting: format!("Slices of {} s, windows of {}, preset {preset}", cut.seconds, cut.window),
        above: format!("`{}`", line(&instead)),
        below: left_out(section, options),
        names: vec!["trace", "θ"],
        columns: COLUMNS,
        rows: section.rows.iter().map(row).collect(),
        details: vec![
            ("preset", preset.into()),
            ("slice_s", cut.seconds.into()),
            ("window", cut.window.into()),
            ("stride", options.stride.into()),
        ],
        ..Results::default()
    }
}

/// What is not in the table.
fn left_out(section: &Section, options: &Traces) -> String {
    let quiet: Vec<_> = section.rows.iter().filter(|row| row.is_quiet()).collect();
    let quiet: Vec<_> = quiet.chunk_by(|a, b| a.trace == b.trace).map(quiet_trace).collect();
    let too_long = format!("Left out, more than {} slices", short(options.most_slices));
    let lines = [
        ("No super point, and none reported", &quiet),
        ("Shorter than a window", &section.too_short),
        (&too_long, &section.too_long),
    ];
    let lines = lines.into_iter().filter(|(_, traces)| !traces.is_empty());
    let lines = lines.map(|(what, traces)| format!("{what}: {}.", traces.join(", ")));
    lines.collect::<Vec<_>>().join("\n\n")
}

/// A trace, and the thresholds at which nothing was to be found.
fn quiet_trace(rows: &[&replay::Row]) -> String {
    let thresholds: Vec<_> = rows.iter().map(|row| row.threshold.to_string()).collect();
    format!("{} (θ = {})", rows[0].trace, thresholds.join(", "))
}

fn row(row: &replay::Row) -> Row {
    let score = &row.score;
    let alone = format!("{} of 0", score.false_positives);
    Row {
        names: vec![row.trace.clone(), row.threshold.to_string()],
        cells: vec![
            f64::from(row.windows).into(),
            (score.true_super_points as f64).into(),
            Cell::ratio(score.total_false_rate()),
            Cell::ratio(score.false_positive_ratio()).or(alone),
            Cell::ratio(score.false_negative_ratio()),
            Cell::ratio(score.rmse()),
            Cell::ratio(score.max_error()),
        ],
        details: vec![
            ("trace", row.trace.clone().into()),
            ("threshold", row.threshold.into()),
            ("windows", row.windows.into()),
            ("super_points", score.true_super_points.into()),
            ("false_positives", score.false_positives.into()),
        ],
        json_only: row.is_quiet(),
        ..Row::default()
    }
}

impl replay::Row {
    /// Whether there was nothing to find, and nothing was found.
    fn is_quiet(&self) -> bool {
        self.score.true_super_points == 0 && self.score.reported == 0
    }
}
