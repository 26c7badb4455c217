//! `srlg check`: a dry run of a configuration.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use srlg_host::SlidingDetector;
use srlg_host::config::Params;

use crate::config::source::SourceOptions;
use crate::config::{Checked, Config, General, Task};
use crate::measure::pipeline::VIEW_BYTES;
use crate::network::options::NetworkOptions;
use crate::network::site_sizes;
use srlg_alerts::Tracker;
use srlg_alerts::exporters::Exporter;
use srlg_alerts::manager::view::ViewConfig;
use srlg_system::machine;

/// Memory of the process, a reader thread with all templates that it accepts, and messages of brokers, in bytes.
const BASE: usize = 256_000_000;

/// Options of `srlg check`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Configuration file; a source given here replaces its `[input]`
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// Source of contacts, as for `srlg run`.
    #[command(flatten)]
    pub source: SourceOptions,
}

/// Returns a summary of the configuration in `args`, with all notes and warnings. The error lists all problems.
pub fn check(args: &Args) -> Result<String> {
    let Checked { config, notes } = Config::check(&args.config, &args.source)?;
    let mut text = String::new();
    let (mut all, mut largest) = (0, 0);
    for ViewConfig { name, sizes, rules, .. } in &config.views {
        let memory = sizes.validate()?.recorder_bytes();
        all += memory;
        largest = largest.max(memory);
        let window = |slices| humantime::format_duration(config.general.slice * slices).to_string();
        let windows: Vec<String> = rules.windows().into_iter().map(window).collect();
        let mut names: Vec<&str> = rules.rules().iter().map(|rule| rule.name.as_str()).collect();
        // The default rules of the two IP versions have the same name.
        names.dedup();
        writeln!(
            text,
            "view {name}: rules {}; windows {}; reports hosts with {} or more peers; {:.1} MB",
            names.join(", "),
            windows.join(", "),
            sizes.threshold,
            memory as f64 / 1e6
        )?;
    }
    for Exporter { name, networks, interfaces } in config.names.exporters.all() {
        let networks: Vec<String> = networks.iter().map(ToString::to_string).collect();
        let interfaces = interfaces.len();
        writeln!(text, "exporter {name}: {}; named interfaces: {interfaces}", networks.join(", "))?;
    }
    let path = args.config.display();
    if !notes.is_empty() {
        writeln!(text, "{notes}")?;
    }
    if let Some(shortage) = machine::available_memory().and_then(|bytes| shortage(all, bytes)) {
        writeln!(text, "{path}: {shortage}")?;
    }
    if config.source.is_live() {
        let memory = VIEW_BYTES as f64 / 1e6;
        writeln!(text, "each reader thread uses up to {memory:.1} MB per view")?;
    }
    if let Task::Probe(_) = &config.task {
        writeln!(text, "{path} is valid; the collector determines the detectors and their memory")?;
        return Ok(text);
    }
    let mut messages = 0;
    if let Task::Collector(NetworkOptions { most_pairs, pending_mb, .. }) = config.task {
        // States that wait, and states that are being decoded.
        messages = 2 * (pending_mb << 20);
        let sizes = config.views.iter().map(|view| site_sizes(view.sizes).validate());
        let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
        let site: usize = sizes.iter().map(Params::recorder_bytes).sum();
        // When a slice closes, the list, its pairs and the bytes to be sent are in memory at the same time.
        let lists = 3 * SlidingDetector::list_bytes(most_pairs) * config.views.len();
        let limit = (BASE + site + lists + all).div_ceil(1_000_000);
        writeln!(
            text,
            "a probe needs up to {:.1} MB for its views, and the memory of a view while a slice of it has more than {most_pairs} distinct pairs; in its systemd unit, set MemoryMax={limit}M or more",
            (site + lists) as f64 / 1e6
        )?;
    }
    let General { as_file, country_file, .. } = &config.general;
    let per_alert = if as_file.is_some() || country_file.is_some() { 12_000 } else { 3_000 };
    let alerts = config.views.len() * Tracker::MOST_HOSTS * per_alert;
    let limit = (messages + alerts + memory_limit(all, largest)).div_ceil(1_000_000);
    writeln!(
        text,
        "{path} is valid: the detectors need {:.1} MB; in a systemd unit, set MemoryMax={limit}M or more",
        all as f64 / 1e6
    )?;
    Ok(text)
}

/// Returns the memory that a service may need without alerts, in bytes, if its views need `all` bytes and the largest
/// one `largest`.
fn memory_limit(all: usize, largest: usize) -> usize {
    // The checkpoint of one view at a time is in memory, and needs up to three times the memory of the view.
    BASE + all + 3 * largest
}

fn shortage(needed: usize, available: u64) -> Option<String> {
    (needed as u64 > available).then(|| {
        let (needed, available) = (needed as f64 / 1e6, available as f64 / 1e6);
        format!("warning: the views need {needed:.1} MB, but only {available:.1} MB are available")
    })
}

#[cfg(test)]
mod tests;
