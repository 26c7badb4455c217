//! Tables and plots of the sweeps.
//!
//! Shape: a [`section`] of docs/characterise/README.md and the [`plots`] beside it for each
//! sweep, and its [`metrics`] as JSON. Invariant: equal results give equal bytes.

use super::trial::Row;
use super::{Characterise, Results};
use crate::accuracy::Errors;
use crate::plot::{Axis, Chart, Plot, Point, Scale, Series};
use crate::table::{Table, percent};
use serde_json::{Value, json};

pub(super) const TITLE: &str = "How large the errors are";

/// Standard errors on either side of a mean that hold the truth with 95 %.
const INTERVAL: f64 = 1.96;

/// What the y axis of a chart shows.
struct Measure {
    name: &'static str,
    label: &'static str,
    scale: Scale,
    /// The value, and half the length of its interval.
    of: fn(&Row) -> Option<(f64, f64)>,
}

const RMSE: Measure = Measure {
    name: "rmse",
    label: "relative error (RMSE), %",
    scale: Scale::Logarithmic,
    of: |row| rmse(&row.errors).map(|(rmse, error)| (100.0 * rmse, 100.0 * error)),
};

const BIAS: Measure = Measure {
    name: "bias",
    label: "mean relative error, %",
    scale: Scale::Linear,
    of: |row| bias(&row.errors).map(|(bias, error)| (100.0 * bias, 100.0 * error)),
};

const TOTAL_FALSE_RATE: Measure = Measure {
    name: "tfr",
    label: "total false rate, %",
    scale: Scale::Logarithmic,
    of: |row| row.total_false_rate.map(|rate| (100.0 * rate, 0.0)),
};

/// The charts of a sweep. Along cardinalities there is one false rate, of all of them.
fn measures(result: &Results) -> [Measure; 2] {
    let varies = result.sweep.steps.iter().flat_map(|step| &step.entrants).any(|it| it.x.is_some());
    [RMSE, if varies { TOTAL_FALSE_RATE } else { BIAS }]
}

pub(super) fn setup(options: &Characterise) -> String {
    let Characterise { seed, streams, .. } = *options;
    let command = options.command();
    format!(
        "```sh\n{command}\n```\n\n\
         Streams of traffic per setting: {streams}, of the seeds {seed} to {}.",
        seed + u64::from(streams) - 1
    )
}

/// The setting, the charts and the table of a sweep.
pub(super) fn section(result: &Results) -> String {
    let images = measures(result).map(|measure| {
        let (label, heading) = (measure.label, result.sweep.heading);
        format!("![{heading}: {label}]({})\n\n", file(result, &measure))
    });
    format!("{}.\n\n{}{}", result.sweep.setting, images.concat(), table(result))
}

/// A row per point.
pub(super) fn table(result: &Results) -> Table {
    let x = result.sweep.x.label;
    let headings =
        ["series", x, "hosts", "RMSE", "bias", "in the interval of 95 %", "TFR", "memory"];
    let mut table = Table::new(&headings);
    for row in &result.rows {
        let errors = &row.errors;
        table.row(vec![
            row.series.clone(),
            format!("{:.1}", row.x).trim_end_matches(".0").to_owned(),
            format!("{}", errors.count),
            percent(rmse(errors).map(|(rmse, _)| rmse)),
            signed(errors.mean(errors.sum)),
            percent(errors.mean(errors.covered)),
            percent(row.total_false_rate),
            format!("{:.1} MB", row.memory_bytes as f64 / 1e6),
        ]);
    }
    table
}

/// The charts and their files.
pub(super) fn plots(result: &Results) -> [Plot; 2] {
    measures(result).map(|measure| Plot {
        file: file(result, &measure),
        chart: Chart {
            title: format!("{}: {}", result.sweep.heading, result.sweep.setting),
            x: Axis { label: result.sweep.x.label, scale: result.sweep.x.scale },
            y: Axis { label: measure.label, scale: measure.scale },
            series: series(&result.rows, &measure),
        },
    })
}

/// An object for each metric of each row.
pub(super) fn metrics(options: &Characterise, result: &Results) -> Vec<Value> {
    let of_row = |row: &Row| {
        let errors = &row.errors;
        let values = [
            ("rmse", rmse(errors).map(|(rmse, _)| rmse)),
            ("bias", errors.mean(errors.sum)),
            ("coverage95", errors.mean(errors.covered)),
            ("tfr_mean", row.total_false_rate),
        ];
        values.map(|(metric, value)| {
            json!({
                "metric": metric,
                "value": value.map(|ratio| 100.0 * ratio),
                "unit": "%",
                "sweep": result.sweep.name,
                "series": row.series,
                "x": row.x,
                "hosts": errors.count,
                "recorder_bytes": row.memory_bytes,
                "streams": options.streams,
                "seed": options.seed,
                "quick": options.quick,
            })
        })
    };
    result.rows.iter().flat_map(of_row).collect()
}

/// One line per name, in the order of appearance.
fn series(rows: &[Row], measure: &Measure) -> Vec<Series> {
    let mut lines: Vec<Series> = Vec::new();
    for row in rows {
        let Some((y, error)) = (measure.of)(row) else { continue };
        let point = Point { x: row.x, y, error };
        match lines.iter_mut().find(|line| line.name == row.series) {
            Some(line) => line.points.push(point),
            None => lines.push(Series { name: row.series.clone(), points: vec![point] }),
        }
    }
    lines
}

fn file(result: &Results, measure: &Measure) -> String {
    format!("{}-{}.svg", result.sweep.name, measure.name)
}

/// Of normal errors, the RMSE of m has a standard error of its 1 / sqrt(2 m)-th part.
fn rmse(errors: &Errors) -> Option<(f64, f64)> {
    let rmse = libm::sqrt(errors.mean(errors.squares)?);
    Some((rmse, INTERVAL * rmse / libm::sqrt(2.0 * errors.count)))
}

/// The mean, whose standard error is the standard deviation's sqrt(m)-th part.
fn bias(errors: &Errors) -> Option<(f64, f64)> {
    let bias = errors.mean(errors.sum)?;
    let variance = (errors.mean(errors.squares)? - bias * bias).max(0.0);
    Some((bias, INTERVAL * libm::sqrt(variance / errors.count)))
}

fn signed(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), |ratio| format!("{:+.2} %", 100.0 * ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_shrink_with_the_root_of_the_hosts() {
        // Relative errors of +10 % and -10 %, as many of both.
        let errors = |count: f64| Errors { count, sum: 0.0, squares: count / 100.0, covered: 0.0 };
        let (value, half) = rmse(&errors(50.0)).unwrap();
        assert!((value - 0.1).abs() < 1e-12 && (half - 0.0196).abs() < 1e-12);
        let (value, half) = bias(&errors(100.0)).unwrap();
        assert!(value.abs() < 1e-12 && (half - 0.0196).abs() < 1e-12);
        assert_eq!((rmse(&Errors::default()), bias(&Errors::default())), (None, None));
    }

    #[test]
    fn rows_of_one_name_make_a_line() {
        let row = |series: &str, x, rate| Row {
            series: series.into(),
            x,
            errors: Errors::default(),
            total_false_rate: rate,
            memory_bytes: 0,
        };
        let rows = [row("a", 1.0, Some(0.5)), row("b", 1.0, None), row("a", 2.0, Some(0.25))];
        let lines = series(&rows, &TOTAL_FALSE_RATE);
        assert_eq!(lines.len(), 1);
        let places: Vec<_> = lines[0].points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(places, [(1.0, 50.0), (2.0, 25.0)]);
    }
}
