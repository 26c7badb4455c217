//! Tables and charts of both experiments.
//!
//! Shape: [`discrete`] and [`sliding`], from the [`Track`]s at one load to [`Results`]. Invariant:
//! of equal options only the machine and the column of times may differ.

use super::Paper;
use super::discrete::Discrete;
use super::track::Track;
use crate::number::short;
use crate::plot::{Axis, Chart, Plot, Point, Scale, Series};
use crate::study::{Cell, Column, Details, Results, Row};
use crate::synthetic::Synthetic;
use crate::table::{Table, percent};
use srlg_traffic::score::Score;

/// One of the paper's measures, in time.
struct Measure {
    name: &'static str,
    meaning: &'static str,
    label: &'static str,
    of: fn(&Score) -> Option<f64>,
}

const MEASURES: [Measure; 3] = [
    Measure {
        name: "FPR",
        meaning: "false positive ratio",
        label: "FPR, % of the true super points",
        of: Score::false_positive_ratio,
    },
    Measure {
        name: "FNR",
        meaning: "false negative ratio",
        label: "FNR, % of the true super points",
        of: Score::false_negative_ratio,
    },
    Measure {
        name: "TFR",
        meaning: "total false rate",
        label: "TFR, % of the true super points",
        of: Score::total_false_rate,
    },
];

const COLUMNS: &[Column] = &[
    Column::megabytes("memory, MB").metric("memory_bytes", "B"),
    Column::percent("FPR").metric("fpr_mean", "%"),
    Column::percent("FNR").metric("fnr_mean", "%"),
    Column::percent("TFR").metric("tfr_mean", "%"),
    Column::decimals(0, "search"),
    Column::decimals(3, "s per window").metric("seconds_per_window", "s"),
];

pub(super) fn discrete(options: &Paper, load: u32, found: &Discrete) -> Results {
    let Paper { windows, synthetic: Synthetic { window, .. }, .. } = *options;
    let mut traffic =
        Table::new(&["window", "packets", "distinct pairs", "inside hosts", "super points"]);
    for (number, it) in (1..).zip(&found.traffic) {
        let cells = [number, it.packets, it.pairs, it.hosts, it.super_points];
        traffic.row(cells.iter().map(usize::to_string).collect());
    }
    Results {
        place: "discrete".to_owned(),
        heading: format!("{} distinct pairs per window", short(load)),
        setting: format!("{windows} windows of {window} s, one after the other"),
        below: format!(
            "The traffic of the windows:\n\n{traffic}\nFPR / FNR of every window:\n\n{}",
            by_window(&found.tracks)
        ),
        details: details(options, load, "discrete", [windows, 1, window]),
        ..results(&found.tracks)
    }
}

pub(super) fn sliding(options: &Paper, load: u32, tracks: &[Track]) -> Results {
    let Paper { sliding_windows, synthetic: Synthetic { window, .. }, .. } = *options;
    let load_text = short(load);
    let plot = |measure| plot(window, &load_text, tracks, measure);
    Results {
        place: "sliding".to_owned(),
        heading: format!("{load_text} distinct pairs per window, sliding"),
        setting: format!(
            "{sliding_windows} windows of {window} slices of one second, one after every slice"
        ),
        plots: MEASURES.iter().map(plot).collect(),
        details: details(options, load, "sliding", [sliding_windows, window, 1]),
        ..results(tracks)
    }
}

fn details(options: &Paper, load: u32, experiment: &str, windows: [u32; 3]) -> Details {
    let [windows, slices, seconds] = windows;
    let mut details = options.synthetic.details();
    details.extend([
        ("experiment", experiment.into()),
        ("load", load.into()),
        ("windows", windows.into()),
        ("window", slices.into()),
        ("slice_seconds", seconds.into()),
    ]);
    details
}

/// A row of means per system.
fn results(tracks: &[Track]) -> Results {
    let rows = tracks.iter().map(row).collect();
    Results { names: vec!["system"], columns: COLUMNS, rows, ..Results::default() }
}

fn row(track: &Track) -> Row {
    let rates = track.rates();
    let super_points: u64 = track.scores.iter().map(|score| score.true_super_points).sum();
    Row {
        names: vec![track.name()],
        cells: vec![
            (track.memory_bytes() as f64).into(),
            Cell::ratio(rates.positive()),
            Cell::ratio(rates.negative()),
            Cell::ratio(rates.total()),
            search(track).into(),
            track.seconds_per_window().into(),
        ],
        details: vec![
            ("system", track.name().into()),
            ("recorder_bytes", track.memory_bytes().into()),
            ("super_points", super_points.into()),
            ("searches_stopped", track.stopped.into()),
        ],
        ..Row::default()
    }
}

fn search(track: &Track) -> String {
    let windows = track.scores.len();
    match track.stopped {
        0 => "complete".into(),
        stopped => format!("stopped in {stopped} of {windows}"),
    }
}

fn by_window(tracks: &[Track]) -> Table {
    let windows = tracks.first().map_or(0, |track| track.scores.len());
    let numbers: Vec<_> = (1..=windows).map(|window| window.to_string()).collect();
    let fixed = ["system", "memory, MB"].into_iter();
    let headings: Vec<_> = fixed.chain(numbers.iter().map(String::as_str)).collect();
    let mut table = Table::new(&headings);
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| percent(100.0 * ratio));
    let cell = |score: &Score| {
        format!("{} / {}", ratio(score.false_positive_ratio()), ratio(score.false_negative_ratio()))
    };
    for track in tracks {
        let memory = format!("{:.1}", track.memory_bytes() as f64 / 1e6);
        let scores = track.scores.iter().map(cell);
        table.row([track.name(), memory].into_iter().chain(scores).collect());
    }
    table
}

/// A measure of every window, of which the first ends with the second number `window`.
fn plot(window: u32, load: &str, tracks: &[Track], measure: &Measure) -> Plot {
    let Measure { name, meaning, label, of } = *measure;
    let series = tracks.iter().map(|track| {
        let ends = (window..).zip(&track.scores);
        let points = ends.filter_map(|(second, score)| {
            Some(Point { x: second.into(), y: of(score)? * 100.0, error: 0.0 })
        });
        Series { name: track.name(), points: points.collect() }
    });
    let chart = Chart {
        title: format!("{name}, {meaning}: sliding windows of {load} distinct pairs"),
        x: Axis { label: "end of the window, s", scale: Scale::Linear },
        y: Axis { label, scale: Scale::Linear },
        series: series.collect(),
    };
    Plot { file: format!("sliding-{load}-{name}.svg").to_lowercase(), chart }
}
