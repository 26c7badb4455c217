//! Tables, charts and JSON of the sweeps.
//!
//! Shape: [`told`], from [`Results`] to what a study tells. Invariant: everything shown comes from
//! the rows, of which each has a value for each column.

use super::{Scale, Setting};
use crate::plot::{self, Axis, Chart, Plot, Point, Series};
use crate::study::Told;
use crate::table::{Table, machine};
use serde_json::{Value, json};

pub(super) const TITLE: &str = "What many nodes cost";

/// A sweep and what came out.
pub(super) struct Results {
    pub(super) heading: &'static str,
    /// What all rows have in common.
    pub(super) setting: String,
    pub(super) x: &'static str,
    pub(super) columns: &'static [Column],
    pub(super) rows: Vec<Row>,
}

/// One place of one series.
pub(super) struct Row {
    pub(super) series: String,
    pub(super) x: u32,
    /// The place, as tables say it.
    pub(super) name: String,
    /// One for each column.
    pub(super) values: Vec<f64>,
}

/// A value that every row has.
pub(super) struct Column {
    /// Its name as a metric.
    metric: &'static str,
    heading: &'static str,
    unit: &'static str,
    decimals: usize,
    is_charted: bool,
}

impl Column {
    pub(super) const fn new(
        metric: &'static str,
        heading: &'static str,
        unit: &'static str,
        decimals: usize,
    ) -> Self {
        Self { metric, heading, unit, decimals, is_charted: false }
    }

    /// One that has a chart, too.
    pub(super) const fn charted(
        metric: &'static str,
        heading: &'static str,
        unit: &'static str,
        decimals: usize,
    ) -> Self {
        Self { is_charted: true, ..Self::new(metric, heading, unit, decimals) }
    }
}

pub(super) fn setup(setting: &Setting<'_>) -> String {
    let bytes = setting.config.validate().map_or(0, |params| params.recorder_bytes());
    format!(
        "```sh\n{}\n```\n\n{}. {:.1} MB of recorders, θ = {}, {} slices in the window, on the CPU. \
         A node sends the delta of a slice, a collector reads it from its bytes and merges it; \
         nothing is sent over a network.",
        setting.options.command(),
        machine(),
        bytes as f64 / 1e6,
        setting.config.threshold,
        setting.config.window,
    )
}

pub(super) fn told(options: &Scale, name: &'static str, result: &Results) -> Told {
    Told {
        name,
        heading: result.heading,
        section: section(name, result),
        table: table(result),
        plots: plots(name, result),
        metrics: metrics(options, name, result),
    }
}

fn section(name: &str, result: &Results) -> String {
    let image =
        |plot: Plot| format!("![{}: {}]({})\n\n", result.heading, plot.chart.y.label, plot.file);
    let images: String = plots(name, result).into_iter().map(image).collect();
    format!("{}.\n\n{images}{}", result.setting, table(result))
}

/// A row for each place of each series.
fn table(result: &Results) -> Table {
    let headings: Vec<_> =
        ["", result.x].into_iter().chain(result.columns.iter().map(|it| it.heading)).collect();
    let mut table = Table::new(&headings);
    for row in &result.rows {
        let values = result.columns.iter().zip(&row.values);
        let values = values.map(|(column, value)| format!("{value:.*}", column.decimals));
        table.row([row.series.clone(), row.name.clone()].into_iter().chain(values).collect());
    }
    table
}

fn plots(name: &str, result: &Results) -> Vec<Plot> {
    let charted = result.columns.iter().enumerate().filter(|(_, column)| column.is_charted);
    let plot = |(number, column): (usize, &Column)| {
        let axis = |label| Axis { label, scale: plot::Scale::Logarithmic };
        let title = format!("{}: {}", result.heading, result.setting);
        let series = series(result, number);
        let chart = Chart { title, x: axis(result.x), y: axis(column.heading), series };
        Plot { file: format!("{name}-{}.svg", column.metric.replace('_', "-")), chart }
    };
    charted.map(plot).collect()
}

/// A line for each series of rows, in the order of appearance.
fn series(result: &Results, column: usize) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for row in &result.rows {
        let point = Point { x: row.x.into(), y: row.values[column], error: 0.0 };
        match series.iter_mut().find(|line| line.name == row.series) {
            Some(line) => line.points.push(point),
            None => series.push(Series { name: row.series.clone(), points: vec![point] }),
        }
    }
    series
}

/// An object for each value, with everything that it depends on.
fn metrics(options: &Scale, name: &str, result: &Results) -> Vec<Value> {
    let of_row = |row: &Row| {
        let values = result.columns.iter().zip(&row.values);
        let object = |(column, value): (&Column, &f64)| {
            json!({
                "metric": column.metric, "value": value, "unit": column.unit,
                "sweep": name, "series": row.series, "x": row.x, "of": result.x,
                "nodes": options.nodes, "pairs": options.pairs, "load": options.load,
                "memory": options.memory, "repeat": options.repeat, "seed": options.seed,
                "quick": options.quick,
            })
        };
        values.map(object).collect::<Vec<_>>()
    };
    result.rows.iter().flat_map(of_row).collect()
}
