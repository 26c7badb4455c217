//! What `speed` prints: an object per metric as soon as it is known, or a table at the end.
//!
//! Invariant: a metric is named by `metric`, `device`, `threads` and `load`; a
//! `load` that there is none of is null, or `-`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::sample::Sample;
use super::setting::Setting;
use crate::table::{Table, machine};
use crate::{number, progress};

const HEADINGS: [&str; 8] =
    ["metric", "device", "threads", "pairs", "median", "least", "most", "unit"];

/// One figure.
pub(super) struct Metric {
    pub(super) name: String,
    pub(super) unit: &'static str,
    /// Threads that call the detector.
    pub(super) threads: u32,
    /// Pairs of a round, or distinct pairs in the window; none where there are no pairs.
    pub(super) load: Option<u32>,
    pub(super) sample: Sample,
}

/// All figures so far.
pub(super) struct Report<'a> {
    setting: &'a Setting<'a>,
    bar: ProgressBar,
    table: Table,
    /// The last sample of each metric.
    samples: BTreeMap<String, Sample>,
    broken: Option<io::Error>,
}

impl<'a> Report<'a> {
    pub(super) fn new(setting: &'a Setting<'a>, kinds: usize) -> Self {
        let bar = progress::bar(kinds as u64, "");
        Self { setting, bar, table: Table::new(&HEADINGS), samples: BTreeMap::new(), broken: None }
    }

    /// Tells whoever watches what comes next.
    pub(super) fn begin(&self, kind: &'static str) {
        self.bar.inc(u64::from(!self.bar.message().is_empty()));
        self.bar.set_message(kind);
    }

    pub(super) fn add(&mut self, metric: &Metric) {
        self.table.row(self.cells(metric));
        self.samples.insert(metric.name.clone(), metric.sample);
        if self.setting.options.json {
            let line = self.json(metric);
            let written = self.bar.suspend(|| writeln!(io::stdout(), "{line}"));
            self.broken = self.broken.take().or(written.err());
        }
    }

    /// What was measured of `metric` last.
    #[cfg(feature = "cuda")]
    pub(super) fn sample(&self, metric: &str) -> Option<Sample> {
        self.samples.get(metric).copied()
    }

    pub(super) fn finish(self) -> Result<()> {
        drop(self.bar);
        let table = match self.broken {
            Some(error) => Err(error),
            None if self.setting.options.json => Ok(()),
            None => writeln!(io::stdout(), "{}.\n\n{}", machine(), self.table),
        };
        table.context("cannot write to the standard output")
    }

    fn cells(&self, metric: &Metric) -> Vec<String> {
        let Metric { sample: Sample { median, min, max }, load, .. } = *metric;
        vec![
            metric.name.clone(),
            self.setting.device.to_string(),
            metric.threads.to_string(),
            load.map_or("-".to_owned(), number::short),
            digits(median),
            digits(min),
            digits(max),
            metric.unit.to_owned(),
        ]
    }

    fn json(&self, metric: &Metric) -> Value {
        let options = self.setting.options;
        json!({
            "metric": metric.name,
            "value": metric.sample.median,
            "min": metric.sample.min,
            "max": metric.sample.max,
            "unit": metric.unit,
            "device": self.setting.device.to_string(),
            "threads": metric.threads,
            "load": metric.load,
            "preset": options.preset.name(),
            "repeat": options.repeat,
            "seed": options.seed,
        })
    }
}

/// A value with three digits or more.
fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_three_digits() {
        assert_eq!(
            [1234.5, 99.94, 3.1234, 0.01234].map(digits),
            ["1234", "99.9", "3.12", "0.0123"]
        );
    }
}
