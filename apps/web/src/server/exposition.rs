//! Metrics in the Prometheus text format, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// Metrics and their values. The text is sorted by name, as the values of a metric must be adjacent.
#[derive(Default)]
pub(super) struct Exposition {
    metrics: BTreeMap<&'static str, Metric>,
}

struct Metric {
    kind: &'static str,
    lines: String,
}

/// Labels and their values.
type Labels<'a> = &'a [(&'static str, &'a str)];

impl Exposition {
    /// Adds a count, which only increases.
    pub(super) fn counter(&mut self, name: &'static str, labels: Labels<'_>, value: u64) {
        self.add(name, "counter", labels, value);
    }

    /// Adds a value, which increases and decreases.
    pub(super) fn gauge(&mut self, name: &'static str, labels: Labels<'_>, value: f64) {
        self.add(name, "gauge", labels, value);
    }

    /// Adds a gauge that is 1 if `is_set`, and 0 otherwise.
    pub(super) fn flag(&mut self, name: &'static str, labels: Labels<'_>, is_set: bool) {
        self.add(name, "gauge", labels, u8::from(is_set));
    }

    fn add(
        &mut self,
        name: &'static str,
        kind: &'static str,
        labels: Labels<'_>,
        value: impl fmt::Display,
    ) {
        let metric = self.metrics.entry(name);
        let lines = &mut metric.or_insert(Metric { kind, lines: String::new() }).lines;
        lines.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            lines.push_str(if at == 0 { "{" } else { "," });
            lines.push_str(label);
            lines.push_str("=\"");
            for letter in value.chars() {
                match letter {
                    '\n' => lines.push_str("\\n"),
                    '"' | '\\' => lines.extend(['\\', letter]),
                    _ => lines.push(letter),
                }
            }
            lines.push('"');
        }
        lines.push_str(if labels.is_empty() { " " } else { "} " });
        writeln!(lines, "{value}").expect("a string accepts any text");
    }
}

impl fmt::Display for Exposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.metrics.iter().try_for_each(|(name, Metric { kind, lines })| {
            write!(f, "# TYPE {name} {kind}\n{lines}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_metric_are_adjacent_and_their_labels_escaped() {
        let mut metrics = Exposition::default();
        metrics.counter("slices_total", &[("view", "in")], u64::MAX);
        metrics.gauge("load", &[], 0.25);
        metrics.counter("slices_total", &[("view", "a\"b\\c\nd"), ("why", "")], 0);
        metrics.flag("live", &[], true);
        insta::assert_snapshot!(metrics.to_string());
    }
}
