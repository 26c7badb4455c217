//! What the comparison prints: a table with what it takes to make it again, or JSON.
//!
//! Shape: [`page`] and [`json`], from measurements to text. Invariant: either has the
//! seed and all settings; a value that there is none of is `-` or null, never 0.

use serde_json::{Value, json};

use super::measure::Measured;
use super::{Peers, Truth};
use crate::number;
use crate::table::{Table, machine, percent};

const HEADINGS: [&str; 10] = [
    "system",
    "TFR",
    "RMSE",
    "RMSE, θ to 4θ",
    "TFR, every second",
    "RMSE, every second",
    "memory, MB",
    "ingest, ms per slice",
    "ingest, M pairs/s",
    "close, ms per slice",
];

/// The table, its command and its machine.
pub(super) fn page(measured: &[Measured], truth: &Truth, options: &Peers) -> String {
    let mut table = Table::new(&HEADINGS);
    measured.iter().for_each(|system| table.row(cells(system)));
    let &Peers { window, threshold, seed, windows, .. } = options;
    let (load, traffic) = (number::short(options.load), options.traffic);
    format!(
        "`cargo run --release -p srlg-evaluation -- peers --load {load} --window {window} \
         --threshold {threshold} --traffic {traffic} --seed {seed} --windows {windows}`\n\n\
         {} super points in all {} windows together; {}.\n\n{table}",
        super_points(truth),
        truth.len(),
        machine(),
    )
}

fn cells(system: &Measured) -> Vec<String> {
    let (whole, every) = (&system.whole, &system.every);
    vec![
        system.name.clone(),
        percent(whole.rates.total()),
        percent(whole.errors.rmse()),
        percent(whole.low_errors.rmse()),
        percent(every.rates.total()),
        percent(every.errors.rmse()),
        format!("{:.1}", system.memory_bytes as f64 / 1e6),
        format!("{:.2}", system.ingest_ms()),
        format!("{:.1}", system.ingest_mpairs_per_s()),
        format!("{:.2}", system.close_ms()),
    ]
}

/// One line for every metric of every system.
pub(super) fn json(measured: &[Measured], truth: &Truth, options: &Peers) -> String {
    let line = |system: &Measured, (metric, value, unit): (&str, Option<f64>, &str)| -> Value {
        json!({
            "metric": metric,
            "value": value,
            "unit": unit,
            "system": system.name,
            "load": options.load,
            "window": options.window,
            "threshold": options.threshold,
            "traffic": options.traffic.name(),
            "seed": options.seed,
            "windows": options.windows,
            "super_points": super_points(truth),
        })
    };
    let lines = |system| metrics(system).map(|metric| format!("{}\n", line(system, metric)));
    measured.iter().flat_map(lines).collect()
}

fn metrics(system: &Measured) -> [(&'static str, Option<f64>, &'static str); 9] {
    let (whole, every) = (&system.whole, &system.every);
    let percent = |ratio: Option<f64>| ratio.map(|ratio| ratio * 100.0);
    [
        ("tfr_mean", percent(whole.rates.total()), "%"),
        ("rmse", percent(whole.errors.rmse()), "%"),
        ("rmse_low", percent(whole.low_errors.rmse()), "%"),
        ("tfr_every_slice", percent(every.rates.total()), "%"),
        ("rmse_every_slice", percent(every.errors.rmse()), "%"),
        ("memory_bytes", Some(system.memory_bytes as f64), "bytes"),
        ("ingest_ms", Some(system.ingest_ms()), "ms"),
        ("ingest_mpairs_per_s", Some(system.ingest_mpairs_per_s()), "M pairs/s"),
        ("close_ms", Some(system.close_ms()), "ms"),
    ]
}

fn super_points(truth: &Truth) -> usize {
    truth.iter().map(Vec::len).sum()
}
