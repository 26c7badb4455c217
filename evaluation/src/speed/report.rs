//! What `speed` prints: an object per metric as soon as it is known, or a table at the end.
//!
//! A metric is named by `metric`, `system`, `device`, `threads`, `load` and details
//! such as `kind`, `of` and `traffic`; a `load` that there is none of is null, or `-`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::Setting;
use crate::output::{self, UNWRITTEN};
use crate::sample::Sample;
use crate::table::{Table, machine, short};

const HEADINGS: [&str; 10] = [
    "metric", "system", "device", "threads", "pairs", "median", "least", "most", "unit", "details",
];

/// One figure.
pub(super) struct Metric {
    name: String,
    system: String,
    unit: &'static str,
    /// Threads that do the work.
    threads: u32,
    /// Pairs of a round, or distinct pairs in the window; none where there are no pairs.
    load: Option<u32>,
    sample: Sample,
    details: Vec<(&'static str, Value)>,
}

impl Metric {
    /// Of srlg, without a load and details.
    pub(super) fn new(name: &str, unit: &'static str, threads: u32, sample: Sample) -> Self {
        let (name, system) = (name.to_owned(), "srlg".to_owned());
        Self { name, system, unit, threads, load: None, sample, details: Vec::new() }
    }

    pub(super) fn load(self, load: u32) -> Self {
        Self { load: Some(load), ..self }
    }

    pub(super) fn system(self, system: &str) -> Self {
        Self { system: system.to_owned(), ..self }
    }

    pub(super) fn detail(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.details.push((name, value.into()));
        self
    }
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
        let bar = output::bar(kinds as u64, "");
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
        table.context(UNWRITTEN)
    }

    fn cells(&self, metric: &Metric) -> Vec<String> {
        let Metric { sample: Sample { median, min, max, .. }, load, .. } = *metric;
        let details = metric.details.iter().map(|(name, value)| detail(name, value));
        let details: Vec<_> = details.collect();
        vec![
            metric.name.clone(),
            metric.system.clone(),
            self.setting.device.to_string(),
            metric.threads.to_string(),
            load.map_or("-".to_owned(), short),
            digits(median),
            digits(min),
            digits(max),
            metric.unit.to_owned(),
            details.join(", "),
        ]
    }

    fn json(&self, metric: &Metric) -> Value {
        let options = self.setting.options;
        let mut object = json!({
            "metric": metric.name,
            "system": metric.system,
            "value": metric.sample.median,
            "min": metric.sample.min,
            "max": metric.sample.max,
            "unit": metric.unit,
            "device": self.setting.device.to_string(),
            "threads": metric.threads,
            "load": metric.load,
            "preset": options.preset.name(),
            "repeat": metric.sample.rounds,
            "seed": options.seed,
        });
        for (name, value) in &metric.details {
            object[name] = value.clone();
        }
        object
    }
}

/// A detail for the eye: objects without their braces.
fn detail(name: &str, value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| detail(name, value));
            fields.collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => format!("{name} {text}"),
        value => format!("{name} {}", value.as_f64().map_or_else(|| value.to_string(), digits)),
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
