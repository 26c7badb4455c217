//! Rows of the comparison, a system each.
//!
//! Shape: [`of`], from measurements to [`Results`]. Invariant: a value that there is none of is `-`
//! or null, never 0.

use super::measure::Measured;
use super::{Peers, Truth};
use crate::study::{Cell, Column, Results, Row};
use crate::table::machine;

const COLUMNS: &[Column] = &[
    Column::percent("TFR").metric("tfr_mean", "%"),
    Column::percent("RMSE").metric("rmse", "%"),
    Column::percent("RMSE, θ to 4θ").metric("rmse_low", "%"),
    Column::percent("TFR, every second").metric("tfr_every_slice", "%"),
    Column::percent("RMSE, every second").metric("rmse_every_slice", "%"),
    Column::megabytes("memory, MB").metric("memory_bytes", "bytes"),
    Column::decimals(2, "ingest, ms per slice").metric("ingest_ms", "ms"),
    Column::decimals(1, "ingest, M pairs/s").metric("ingest_mpairs_per_s", "M pairs/s"),
    Column::decimals(2, "close, ms per slice").metric("close_ms", "ms"),
];

pub(super) fn of(place: String, measured: &[Measured], truth: &Truth, options: &Peers) -> Results {
    let (windows, super_points) = (truth.len(), truth.iter().map(Vec::len).sum::<usize>());
    let mut details = options.synthetic.details();
    details.extend([
        ("load", options.load.into()),
        ("windows", options.windows.into()),
        ("super_points", super_points.into()),
    ]);
    Results {
        heading: format!("Beside what users have today, {place}"),
        place,
        setting: format!(
            "{super_points} super points in all {windows} windows together; {}",
            machine()
        ),
        names: vec!["system"],
        columns: COLUMNS,
        rows: measured.iter().map(row).collect(),
        details,
        ..Results::default()
    }
}

fn row(system: &Measured) -> Row {
    let (whole, every) = (&system.whole, &system.every);
    Row {
        names: vec![system.name.clone()],
        cells: vec![
            Cell::ratio(whole.rates.total()),
            Cell::ratio(whole.errors.rmse()),
            Cell::ratio(whole.low_errors.rmse()),
            Cell::ratio(every.rates.total()),
            Cell::ratio(every.errors.rmse()),
            (system.memory_bytes as f64).into(),
            system.ingest_ms().into(),
            system.ingest_mpairs_per_s().into(),
            system.close_ms().into(),
        ],
        details: vec![("system", system.name.clone().into())],
        ..Row::default()
    }
}
