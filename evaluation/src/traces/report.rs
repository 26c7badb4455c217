//! What `traces` prints: tables, or JSON.
//!
//! Shape: [`page`] and [`json`], from a [`Section`] to text. Invariant: rows in which
//! nothing was to be found and nothing was reported are named below the table, not in it.

use std::fmt::Write;

use serde_json::{Value, json};

use super::Traces;
use super::replay::{Row, Section};
use crate::number;
use crate::table::{Table, percent};

const HEADINGS: [&str; 9] =
    ["trace", "θ", "windows", "super points", "TFR", "FPR", "FNR", "RMSE", "largest error"];

/// The table, its command, and what is not in it.
pub(super) fn page(section: &Section, options: &Traces) -> String {
    let (quiet, rows): (Vec<_>, Vec<_>) = section.rows.iter().partition(|row| row.is_quiet());
    let mut table = Table::new(&HEADINGS);
    rows.into_iter().for_each(|row| table.row(cells(row)));
    let mut text = format!("`{}`\n\n{table}\n", command(section, options));
    let quiet: Vec<_> = quiet.chunk_by(|a, b| a.trace == b.trace).map(quiet_trace).collect();
    let most = number::short(options.most_slices);
    for (what, traces) in [
        ("No super point, and none reported", &quiet),
        ("Shorter than a window", &section.too_short),
        (&format!("Left out, more than {most} slices"), &section.too_long),
    ] {
        if !traces.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{what}: {}.\n", traces.join(", "));
        }
    }
    text
}

/// A trace, and the thresholds at which nothing was to be found.
fn quiet_trace(rows: &[&Row]) -> String {
    let thresholds: Vec<_> = rows.iter().map(|row| row.threshold.to_string()).collect();
    format!("{} (θ = {})", rows[0].trace, thresholds.join(", "))
}

fn command(section: &Section, options: &Traces) -> String {
    let thresholds: Vec<_> = options.threshold.iter().map(ToString::to_string).collect();
    format!(
        "cargo run --release -p srlg-evaluation -- traces --data DIR --preset {} --cut {}x{} \
         --threshold {} --stride {} --most-slices {}",
        section.preset.name(),
        section.cut.seconds,
        section.cut.window,
        thresholds.join(","),
        options.stride,
        number::short(options.most_slices),
    )
}

fn cells(row: &Row) -> Vec<String> {
    let score = &row.score;
    let alone = || format!("{} of 0", score.false_positives);
    vec![
        row.trace.clone(),
        row.threshold.to_string(),
        row.windows.to_string(),
        score.true_super_points.to_string(),
        percent(score.total_false_rate()),
        score.false_positive_ratio().map_or_else(alone, |ratio| percent(Some(ratio))),
        percent(score.false_negative_ratio()),
        percent(score.rmse()),
        percent(score.max_error()),
    ]
}

impl Row {
    /// Whether there was nothing to find, and nothing was found.
    fn is_quiet(&self) -> bool {
        self.score.true_super_points == 0 && self.score.reported == 0
    }
}

/// One line for every metric of every row.
pub(super) fn json(section: &Section, options: &Traces) -> String {
    let line = |row: &Row, (metric, ratio): (&str, Option<f64>)| -> Value {
        json!({
            "metric": metric,
            "value": ratio.map(|ratio| ratio * 100.0),
            "unit": "%",
            "trace": row.trace,
            "preset": section.preset.name(),
            "slice_s": section.cut.seconds,
            "window": section.cut.window,
            "threshold": row.threshold,
            "stride": options.stride,
            "windows": row.windows,
            "super_points": row.score.true_super_points,
            "false_positives": row.score.false_positives,
        })
    };
    let lines = |row| metrics(row).map(|metric| format!("{}\n", line(row, metric)));
    section.rows.iter().flat_map(lines).collect()
}

fn metrics(row: &Row) -> [(&'static str, Option<f64>); 5] {
    let score = &row.score;
    [
        ("tfr", score.total_false_rate()),
        ("fpr", score.false_positive_ratio()),
        ("fnr", score.false_negative_ratio()),
        ("rmse", score.rmse()),
        ("largest_error", score.max_error()),
    ]
}
