//! What `accuracy` prints: metrics of every stream as JSON, or their means over streams as a list or a row.
//!
//! Invariant: a metric that a stream has no value of is null in JSON, and no part of the mean; the
//! standard error of a mean is that of the streams, and there is none of one stream.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Accuracy, Run};
use crate::number;
use crate::table::Table;

/// What one stream came to.
pub(super) struct Stream {
    seed: u64,
    super_points: u64,
    recorder_bytes: usize,
    metrics: Vec<Metric>,
}

/// A figure of one stream.
struct Metric {
    name: &'static str,
    /// In a table; none where a table leaves the metric out.
    heading: Option<&'static str>,
    unit: &'static str,
    value: Option<f64>,
}

/// Prints what the streams came to, as the options ask.
pub(super) fn print(options: &Accuracy, streams: &[Stream]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if options.json {
        let objects = streams.iter().flat_map(|stream| stream.json(options));
        return objects.into_iter().try_for_each(|object| writeln!(out, "{object}"));
    }
    let metrics = streams[0].metrics.iter().enumerate();
    let means = metrics.map(|(number, metric)| {
        let values: Vec<f64> =
            streams.iter().filter_map(|stream| stream.metrics[number].value).collect();
        (metric, mean(&values))
    });
    if options.row {
        return write!(out, "{}", row(options, means));
    }
    for (metric, mean) in means {
        writeln!(out, "{:<20} {mean} {}", metric.name, metric.unit)?;
    }
    Ok(())
}

/// The setting, and all metrics that have a heading.
fn row<'a>(options: &Accuracy, means: impl Iterator<Item = (&'a Metric, String)>) -> Table {
    let shown = means.filter_map(|(metric, mean)| {
        let unit = if metric.unit == "%" { " %" } else { "" };
        Some((metric.heading?, format!("{mean}{unit}")))
    });
    let sizes = options
        .memory
        .map_or_else(|| options.preset.name(), |bytes| format!("{} MB", bytes as f64 / 1e6));
    let windows = format!("{} x {}", options.windows, options.stride);
    let setting = [
        ("distinct pairs per window", number::short(options.load)),
        ("model", options.synthetic.traffic.name().to_owned()),
        ("hosts", options.family.to_string()),
        ("sizes", sizes),
        ("streams", options.streams.to_string()),
        ("windows x stride", windows),
    ];
    let (headings, cells): (Vec<_>, Vec<_>) = setting.into_iter().chain(shown).unzip();
    let mut table = Table::new(&headings);
    table.row(cells);
    table
}

/// The mean with its standard error, if there are values for one.
fn mean(values: &[f64]) -> String {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    match values.len() {
        0 => "none".to_owned(),
        1 => format!("{mean:.3}"),
        _ => {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            format!("{mean:.3} ± {:.3}", (squares / (count - 1.0) / count).sqrt())
        }
    }
}

impl Stream {
    pub(super) fn of(run: &Run, options: &Accuracy) -> Self {
        Self {
            seed: run.seed,
            super_points: run.super_points,
            recorder_bytes: run.detector.memory_bytes(),
            metrics: run.metrics(options.windows),
        }
    }

    /// An object per metric.
    fn json(&self, options: &Accuracy) -> Vec<Value> {
        let object = |metric: &Metric| {
            let mut object = json!({
                "metric": metric.name,
                "value": metric.value,
                "unit": metric.unit,
                "load": options.load,
                "windows": options.windows,
                "stride": options.stride,
                "family": options.family.to_string(),
                "preset": options.memory.map_or(options.preset.name(), |_| "planned".to_owned()),
                "super_points": self.super_points,
                "recorder_bytes": self.recorder_bytes,
            });
            for (name, value) in options.synthetic.details() {
                object[name] = value;
            }
            object["seed"] = self.seed.into();
            object
        };
        self.metrics.iter().map(object).collect()
    }
}

impl Run {
    /// All figures of as many windows.
    fn metrics(&self, windows: u32) -> Vec<Metric> {
        let super_points = self.super_points;
        let missed = (super_points > 0).then(|| self.no_candidates as f64 / super_points as f64);
        let windows = f64::from(windows);
        let micros = (self.candidates > 0)
            .then(|| self.estimation.as_secs_f64() * 1e6 / self.candidates as f64);
        let percent = |name, heading, value: Option<f64>| Metric {
            name,
            heading,
            unit: "%",
            value: value.map(|ratio| ratio * 100.0),
        };
        let (low, high, rates) = (&self.low, &self.high, &self.rates);
        vec![
            percent("tfr_mean", Some("TFR"), rates.total()),
            percent("tfr_max", None, rates.worst()),
            percent("fpr_mean", Some("FPR"), rates.positive()),
            percent("fnr_mean", Some("FNR"), rates.negative()),
            percent("finder_miss", Some("missed by the finder"), missed),
            percent(
                "finder_miss_at_theta",
                Some("missed at θ, as reports say"),
                Some(self.miss_probability / windows),
            ),
            percent(
                "windows_overloaded",
                Some("windows overloaded"),
                Some(f64::from(self.overloaded) / windows),
            ),
            percent("rmse_low", Some("RMSE, θ to 4 θ"), low.mean(low.squares).map(f64::sqrt)),
            percent("rmse_high", Some("RMSE, above"), high.mean(high.squares).map(f64::sqrt)),
            percent("bias", Some("bias"), low.mean(low.sum)),
            percent("coverage95", Some("interval of 95 % held"), low.mean(low.covered)),
            Metric { name: "us_per_candidate", heading: None, unit: "us", value: micros },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_streams_has_their_standard_error() {
        assert_eq!(mean(&[]), "none");
        assert_eq!(mean(&[0.5]), "0.500");
        // Deviations of 1, 0 and 1: a variance of 1, and of the mean a third of that.
        assert_eq!(mean(&[1.0, 2.0, 3.0]), "2.000 ± 0.577");
    }
}
