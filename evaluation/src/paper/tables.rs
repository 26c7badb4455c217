//! Tables and charts of both experiments, made of the [`Track`]s at one load.

use srlg_traffic::score::Score;

use super::track::Track;
use super::{Paper, Traffic};
use crate::options::Synthetic;
use crate::plot::{Axis, Chart, Plot, Point, Scale, Series};
use crate::results::{Cell, Column, Results, Row};
use crate::table::{Table, percent, short};

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

/// The results of an experiment at one load, before anything is measured.
pub(super) fn results(options: &Paper, slides: bool, load: u32) -> Results {
    let Paper { windows, sliding_windows, synthetic, .. } = options;
    let Synthetic { window, .. } = *synthetic;
    let (place, load_text) = (if slides { "sliding" } else { "discrete" }, short(load));
    let mut details = synthetic.details();
    let [windows, slices, seconds] =
        if slides { [*sliding_windows, window, 1] } else { [*windows, 1, window] };
    details.extend([
        ("experiment", place.into()),
        ("load", load.into()),
        ("windows", windows.into()),
        ("window", slices.into()),
        ("slice_seconds", seconds.into()),
    ]);
    Results {
        place: place.to_owned(),
        heading: format!(
            "{load_text} distinct pairs per window{}",
            if slides { ", sliding" } else { "" }
        ),
        setting: match slides {
            false => format!("{windows} windows of {window} s, one after the other"),
            true => {
                format!("{windows} windows of {window} slices of one second, one after every slice")
            }
        },
        names: vec!["system"],
        columns: COLUMNS,
        details,
        ..Results::default()
    }
}

pub(super) fn add_discrete(results: &mut Results, traffic: &[Traffic], tracks: &[Track]) {
    let mut table =
        Table::new(&["window", "packets", "distinct pairs", "inside hosts", "super points"]);
    for (number, it) in (1..).zip(traffic) {
        let cells = [number, it.packets, it.pairs, it.hosts, it.super_points];
        table.row(cells.iter().map(usize::to_string).collect());
    }
    results.below = format!(
        "The traffic of the windows:\n\n{table}\nFPR / FNR of every window:\n\n{}",
        by_window(tracks)
    );
    results.rows.extend(tracks.iter().map(row));
}

pub(super) fn add_sliding(results: &mut Results, window: u32, load: u32, tracks: &[Track]) {
    let plot = |measure| plot(window, &short(load), tracks, measure);
    results.plots = MEASURES.iter().map(plot).collect();
    results.rows.extend(tracks.iter().map(row));
}

fn row(track: &Track) -> Row {
    let rates = track.rates();
    let super_points: u64 = track.scores.iter().map(|score| score.true_super_points).sum();
    Row {
        names: vec![track.name()],
        cells: vec![
            track.memory_bytes().into(),
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
