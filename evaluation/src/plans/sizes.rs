//! The table of plans: by memory, load and threshold, without any measurement.

use srlg_core::{Config, ConfigError};

use super::Plans;
use crate::number::short;
use crate::table::{Table, percent};

/// A table for each window.
pub(super) fn tables(options: &Plans) -> String {
    let tables = options.windows.iter().map(|&window| {
        let slices = if window == 1 { "one slice".to_owned() } else { format!("{window} slices") };
        format!("Windows of {slices}:\n\n{}\n", table(options, window))
    });
    tables.collect()
}

/// The plans of all thresholds and loads in all memories.
fn table(options: &Plans, window: u32) -> Table {
    let megabytes = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
    let memories = options.memories.iter().map(|&memory| megabytes(memory.into()));
    let headings: Vec<_> =
        ["θ", "pairs", "least"].map(str::to_owned).into_iter().chain(memories).collect();
    let mut table = Table::new(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    for &threshold in &options.thresholds {
        for &load in &options.loads {
            let plan = |memory| Config::for_load(threshold, window, load.into(), memory);
            let least = plan(0).err().and_then(least);
            let least = least.map_or("none".to_owned(), |bytes| megabytes(bytes as f64));
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

/// The least memory of a plan, where there is one.
fn least(refusal: ConfigError) -> Option<usize> {
    match refusal {
        ConfigError::Memory { least, .. } => Some(least),
        _ => None,
    }
}
