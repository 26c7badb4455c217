//! Tables and plots of the sweeps.
//!
//! Shape: a [`section`] of docs/growth/README.md and the [`plots`] beside it for each sweep, and
//! its [`metrics`] as JSON. Invariant: everything shown comes from the rows; a load that a
//! system was left out of has no row.

use super::measure::{Close, Row};
use super::{Growth, Results};
use crate::number::short;
use crate::plot::{Axis, Chart, Plot, Point, Scale, Series};
use crate::table::{Table, machine};
use serde_json::{Map, Value, json};

pub(super) const TITLE: &str = "How time and memory grow";

/// A value of a row.
type Of = fn(&Row) -> Option<f64>;

/// What the y axis of a chart shows.
struct Measure {
    name: &'static str,
    label: &'static str,
    of: Of,
}

const INGEST: Measure =
    Measure { name: "ingest", label: "ingest, ns per pair", of: |row| Some(row.ingest_ns) };
const CLOSE: Measure = Measure {
    name: "close",
    label: "close, ms",
    of: |row| row.close.as_ref().map(|close| close.ms),
};
const MEMORY: Measure =
    Measure { name: "memory", label: "memory, MB", of: |row| Some(row.memory_bytes as f64 / 1e6) };

fn measures(result: &Results) -> Vec<Measure> {
    if result.sweep.closes { vec![INGEST, CLOSE, MEMORY] } else { vec![INGEST] }
}

pub(super) fn setup(options: &Growth) -> String {
    format!(
        "```sh\n{}\n```\n\n{}. `Config::default()` on the CPU, beside exact maps; medians of {} \
         slices of full windows, in which every pair is a new one. Hosts as in model A. The hash \
         map of hash maps is left out above {} pairs. With several threads srlg is shared; of \
         the maps each thread has one, with hosts of its own.",
        options.command(),
        machine(),
        options.closes,
        short(options.most_sets),
    )
}

/// The setting, how much grew, the charts and the table of a sweep.
pub(super) fn section(result: &Results) -> String {
    let image = |plot: &Plot| {
        format!("![{}: {}]({})\n\n", result.sweep.heading, plot.chart.y.label, plot.file)
    };
    let images: String = plots(result).iter().map(image).collect();
    format!("{}.\n\n{}\n{images}{}", result.sweep.setting, growths(result).concat(), table(result))
}

/// How much each system's values grew along the sweep: a line for each.
fn growths(result: &Results) -> Vec<String> {
    let line = |name: String| {
        let rows: Vec<&Row> = rows_of(result, &name).collect();
        let [first, .., last] = rows[..] else { return String::new() };
        let factor = |measure: Measure| {
            let factor = (measure.of)(last)? / (measure.of)(first)?;
            Some(format!("{} {factor:.2}", measure.name))
        };
        let factors: Vec<_> = measures(result).into_iter().filter_map(factor).collect();
        let longest = last.close.as_ref().and_then(longest).unwrap_or_default();
        let ends = [first, last].map(|row| short(row.step.x));
        format!(
            "- {name}, from {} to {}, times: {}{longest}.\n",
            ends[0],
            ends[1],
            factors.join(", ")
        )
    };
    systems(result).into_iter().map(line).collect()
}

/// The stage that takes most of a close.
fn longest(close: &Close) -> Option<String> {
    let &(name, ms) = close.stages_ms.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(format!("; there the stage {name} is {:.0} % of a close", 100.0 * ms / close.ms))
}

/// A row per system and place.
pub(super) fn table(result: &Results) -> Table {
    let headings = [
        "system",
        result.sweep.x,
        "ingest, ns per pair",
        "close, ms",
        "stages, ms",
        "all searched",
        "memory, MB",
    ];
    let mut table = Table::new(&headings);
    for row in &result.rows {
        let of_close = |text: fn(&Close) -> String| row.close.as_ref().map_or("-".into(), text);
        table.row(vec![
            row.step.system.name(),
            short(row.step.x),
            format!("{:.1}", row.ingest_ns),
            of_close(|close| format!("{:.2}", close.ms)),
            of_close(stages),
            of_close(|close| if close.is_complete { "yes" } else { "no" }.into()),
            format!("{:.1}", row.memory_bytes as f64 / 1e6),
        ]);
    }
    table
}

fn stages(close: &Close) -> String {
    let stages = close.stages_ms.iter().map(|(name, ms)| format!("{name} {ms:.2}"));
    stages.collect::<Vec<_>>().join(", ")
}

/// The charts and their files: one for each measure, and one of the stages of a close.
pub(super) fn plots(result: &Results) -> Vec<Plot> {
    let of_all = |measure: Measure| {
        let series = systems(result).into_iter().map(|name| {
            let points = points(rows_of(result, &name), measure.of);
            Series { name, points }
        });
        plot(result, measure.name, measure.label, series.collect())
    };
    let mut plots: Vec<Plot> = measures(result).into_iter().map(of_all).collect();
    if result.sweep.closes {
        plots.push(plot(result, "stages", "stage of a close, ms", stage_series(result)));
    }
    plots
}

fn plot(result: &Results, name: &str, label: &'static str, series: Vec<Series>) -> Plot {
    let sweep = &result.sweep;
    let title = format!("{}: {}", sweep.heading, sweep.setting);
    let axis = |label| Axis { label, scale: Scale::Logarithmic };
    let chart = Chart { title, x: axis(sweep.x), y: axis(label), series };
    Plot { file: format!("{}-{name}.svg", sweep.name), chart }
}

/// A line for each stage of the systems that tell them.
fn stage_series(result: &Results) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for row in &result.rows {
        for &(name, y) in row.close.iter().flat_map(|close| &close.stages_ms) {
            let point = Point { x: row.step.x.into(), y, error: 0.0 };
            match series.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => series.push(Series { name: name.to_owned(), points: vec![point] }),
            }
        }
    }
    series
}

fn points<'a>(rows: impl Iterator<Item = &'a Row>, of: Of) -> Vec<Point> {
    let point = |row: &Row| Some(Point { x: row.step.x.into(), y: of(row)?, error: 0.0 });
    rows.filter_map(point).collect()
}

/// Names in the order of appearance.
fn systems(result: &Results) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in result.rows.iter().map(|row| row.step.system.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn rows_of<'a>(result: &'a Results, name: &'a str) -> impl Iterator<Item = &'a Row> {
    result.rows.iter().filter(move |row| row.step.system.name() == name)
}

/// An object for each metric of each row.
pub(super) fn metrics(options: &Growth, result: &Results) -> Vec<Value> {
    let of_row = |row: &Row| {
        let object = |metric, value, unit| {
            with_settings(json!({ "metric": metric, "value": value, "unit": unit }), options, row)
        };
        let mut objects = vec![
            object("ingest_ns_per_pair", row.ingest_ns, "ns"),
            object("memory_bytes", row.memory_bytes as f64, "bytes"),
        ];
        if let Some(close) = &row.close {
            let mut whole = object("close_slice_ms", close.ms, "ms");
            let stages = close.stages_ms.iter().map(|&(name, ms)| (name.to_owned(), ms.into()));
            whole["stages"] = stages.collect::<Map<String, Value>>().into();
            whole["complete"] = close.is_complete.into();
            objects.push(whole);
        }
        objects
    };
    let mut objects: Vec<Value> = result.rows.iter().flat_map(of_row).collect();
    objects.iter_mut().for_each(|object| object["sweep"] = result.sweep.name.into());
    objects
}

/// A metric's object with everything that it depends on.
fn with_settings(mut object: Value, options: &Growth, row: &Row) -> Value {
    object["system"] = row.step.system.name().into();
    object["load"] = row.step.load.into();
    object["window"] = row.step.window.into();
    object["threads"] = row.step.threads.into();
    object["closes"] = options.closes.into();
    object["seed"] = options.seed.into();
    object["quick"] = options.quick.into();
    object
}
