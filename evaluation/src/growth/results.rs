//! Rows of what was measured, and how much it grew.
//!
//! Shape: [`of`], from a [`Sweep`] and the [`Cost`]s of its steps to [`Results`]. Invariant: a load
//! or a family that a system was left out of has no row.

use super::Growth;
use super::measure::{Close, Cost};
use super::sweeps::{SYSTEMS, Step, Sweep};
use crate::number::short;
use crate::plot::{Axis, Plot, Point, Scale, Series};
use crate::sample::stages_json;
use crate::study::{Cell, Column, Results, Row};

const INGEST: Column =
    Column::decimals(1, "ingest, ns per pair").metric("ingest_ns_per_pair", "ns").chart("ingest");
const MEMORY: Column = Column::megabytes("memory, MB").metric("memory_bytes", "bytes");
/// Where slices are closed.
const CLOSES: &[Column] = &[
    INGEST,
    Column::decimals(2, "close, ms").metric("close_slice_ms", "ms").chart("close"),
    Column::decimals(0, "stages, ms"),
    Column::decimals(0, "all searched"),
    MEMORY.chart("memory"),
];
/// Where pairs are ingested alone.
const INGESTS: &[Column] = &[INGEST, MEMORY];

pub(super) fn of(sweep: &Sweep, costs: &[(Step, Cost)], options: &Growth) -> Results {
    let mut results = Results {
        place: sweep.name.to_owned(),
        heading: sweep.heading.to_owned(),
        setting: sweep.setting.clone(),
        names: vec!["system", sweep.x],
        columns: if sweep.closes { CLOSES } else { INGESTS },
        rows: costs.iter().map(|(step, cost)| row(step, cost)).collect(),
        details: vec![
            ("sweep", sweep.name.into()),
            ("closes", options.closes.into()),
            ("seed", options.seed.into()),
            ("family", options.family.to_string().into()),
            ("quick", options.quick.into()),
        ],
        ..Results::default()
    };
    results.above = growths(&results, costs);
    results.plots = sweep.closes.then(|| stages_plot(&results, costs)).into_iter().collect();
    results
}

fn row(step: &Step, cost: &Cost) -> Row {
    let name = step.system.name();
    let details = vec![
        ("system", name.clone().into()),
        ("load", step.load.into()),
        ("window", step.window.into()),
        ("threads", step.threads.into()),
    ];
    let mut cells = vec![cost.ingest_ns.into()];
    cells.extend(cost.close.iter().flat_map(close_cells));
    cells.push((cost.memory_bytes as f64).into());
    Row { names: vec![name, short(step.x)], x: step.x.into(), cells, details, ..Row::default() }
}

fn close_cells(close: &Close) -> [Cell; 3] {
    let stages = close.stages_ms.iter().map(|(name, ms)| format!("{name} {ms:.2}"));
    let details =
        vec![("stages", stages_json(&close.stages_ms)), ("complete", close.is_complete.into())];
    let searched = if close.is_complete { "yes" } else { "no" };
    [
        Cell::from(close.ms).details(details),
        stages.collect::<Vec<_>>().join(", ").into(),
        searched.to_owned().into(),
    ]
}

/// A line for each stage of the systems that tell them.
fn stages_plot(results: &Results, costs: &[(Step, Cost)]) -> Plot {
    let closes = costs.iter().filter_map(|(step, cost)| Some((step.x, cost.close.as_ref()?)));
    let points = closes.flat_map(|(x, close)| {
        let stages = close.stages_ms.iter();
        stages.map(move |&(name, y)| (name.to_owned(), Point { x: x.into(), y, error: 0.0 }))
    });
    let y = Axis { label: "stage of a close, ms", scale: Scale::Logarithmic };
    results.plot_of("stages", y, Series::by_name(points))
}

/// How much the charted values of each system grew along the sweep: a line for each system.
fn growths(results: &Results, costs: &[(Step, Cost)]) -> String {
    let line = |system| {
        let rows = results.rows.iter().zip(costs).filter(|(_, (step, _))| step.system == system);
        let rows: Vec<_> = rows.collect();
        let [(first, _), .., (last, (_, cost))] = rows[..] else { return String::new() };
        growth(results.columns, first, last, cost.close.as_ref())
    };
    SYSTEMS.into_iter().map(line).collect()
}

/// From the `first` to the `last` row of a system, whose last close is `close`.
fn growth(columns: &[Column], first: &Row, last: &Row, close: Option<&Close>) -> String {
    let cells = first.cells.iter().zip(&last.cells);
    let factors = columns.iter().zip(cells).filter_map(|(column, (first, last))| {
        Some(format!("{} {:.2}", column.curve()?.file, last.value? / first.value?))
    });
    let factors: Vec<_> = factors.collect();
    format!(
        "- {}, from {} to {}, times: {}{}.\n",
        first.names[0],
        first.names[1],
        last.names[1],
        factors.join(", "),
        close.and_then(longest).unwrap_or_default()
    )
}

/// The stage that takes most of a close.
fn longest(close: &Close) -> Option<String> {
    let &(name, ms) = close.stages_ms.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(format!("; there the stage {name} is {:.0} % of a close", 100.0 * ms / close.ms))
}
