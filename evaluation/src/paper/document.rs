//! Tables and plots of the results.
//!
//! Shape: [`contents`] of the sections of docs/paper/README.md, the [`plots`] beside it, and
//! [`summaries`] for the terminal. Invariant: equal results give equal bytes; of equal
//! options only the machine and the column of times may differ.

use super::discrete::Discrete;
use super::track::Track;
use super::{Paper, Results};
use crate::number;
use crate::plot::{Axis, Chart, Plot, Point, Scale, Series};
use crate::table::{Table, machine, percent};
use srlg_traffic::score::{MeanRates, Score};

pub(super) const TITLE: &str = "The paper's experiments";
pub(super) const SECTIONS: [&str; 3] = ["setup", "discrete", "sliding"];

/// One of the paper's measures.
struct Measure {
    name: &'static str,
    meaning: &'static str,
    of_window: fn(&Score) -> Option<f64>,
    mean: fn(&MeanRates) -> Option<f64>,
}

const MEASURES: [Measure; 3] = [
    Measure {
        name: "FPR",
        meaning: "false positive ratio",
        of_window: Score::false_positive_ratio,
        mean: MeanRates::positive,
    },
    Measure {
        name: "FNR",
        meaning: "false negative ratio",
        of_window: Score::false_negative_ratio,
        mean: MeanRates::negative,
    },
    Measure {
        name: "TFR",
        meaning: "total false rate",
        of_window: Score::total_false_rate,
        mean: MeanRates::total,
    },
];

/// The contents of all [`SECTIONS`].
pub(super) fn contents(options: &Paper, results: &[Results]) -> [String; 3] {
    let discrete = results.iter().map(|result| discrete(options, result)).collect();
    let sliding = results.iter().map(|result| sliding(options, result)).collect();
    [setup(options), discrete, sliding]
}

/// The tables of means.
pub(super) fn summaries(results: &[Results]) -> Vec<String> {
    let tables = results.iter().flat_map(|result| {
        let load = number::short(result.load);
        let title = |windows| format!("{load} distinct pairs, {windows} windows\n\n");
        [
            format!("{}{}", title("discrete"), summary(&result.discrete.tracks)),
            format!("{}{}", title("sliding"), summary(&result.sliding)),
        ]
    });
    tables.collect()
}

/// One chart per load and measure.
pub(super) fn plots(options: &Paper, results: &[Results]) -> Vec<Plot> {
    let of = |result| MEASURES.each_ref().map(|measure| plot(options, result, measure));
    results.iter().flat_map(of).collect()
}

fn setup(options: &Paper) -> String {
    let command = options.command();
    format!("```sh\n{command}\n```\n\nSeed {}; times on {}.", options.seed, machine())
}

fn discrete(options: &Paper, result: &Results) -> String {
    let load = number::short(result.load);
    let Discrete { traffic, tracks } = &result.discrete;
    let mut table =
        Table::new(&["window", "packets", "distinct pairs", "inside hosts", "super points"]);
    for (window, it) in (1..).zip(traffic) {
        let cells = [window, it.packets, it.pairs, it.hosts, it.super_points];
        table.row(cells.iter().map(usize::to_string).collect());
    }
    format!(
        "### {load} distinct pairs per window\n\n{}\n\
         The traffic of the {} windows of {} s:\n\n{table}\n\
         FPR / FNR of every window:\n\n{}\n",
        summary(tracks),
        options.windows,
        options.window,
        by_window(tracks),
    )
}

fn sliding(options: &Paper, result: &Results) -> String {
    let load = number::short(result.load);
    let images = MEASURES.each_ref().map(|Measure { name, meaning, .. }| {
        format!("![{name}, {meaning}, over time]({})\n\n", file(result.load, name))
    });
    let (slices, windows) = (options.window, options.sliding_windows);
    format!(
        "### {load} distinct pairs per window, sliding\n\n\
         {windows} windows of {slices} slices of one second, one after every slice.\n\n{}\n{}",
        summary(&result.sliding),
        images.concat()
    )
}

/// A row of means per system.
fn summary(tracks: &[Track]) -> Table {
    let mut table =
        Table::new(&["system", "memory", "FPR", "FNR", "TFR", "search", "s per window"]);
    for track in tracks {
        let rates = track.rates();
        let [fpr, fnr, tfr] = MEASURES.each_ref().map(|measure| percent((measure.mean)(&rates)));
        let seconds = track.seconds_per_window().map_or("-".into(), |s| format!("{s:.3}"));
        let cells = [track.name(), megabytes(track), fpr, fnr, tfr, search(track), seconds];
        table.row(cells.into());
    }
    table
}

fn by_window(tracks: &[Track]) -> Table {
    let windows = tracks.first().map_or(0, |track| track.scores.len());
    let numbers: Vec<_> = (1..=windows).map(|window| window.to_string()).collect();
    let fixed = ["system", "memory"].into_iter();
    let headings: Vec<_> = fixed.chain(numbers.iter().map(String::as_str)).collect();
    let mut table = Table::new(&headings);
    let cell = |score: &Score| {
        let [fpr, fnr] = [score.false_positive_ratio(), score.false_negative_ratio()];
        format!("{} / {}", percent(fpr), percent(fnr))
    };
    for track in tracks {
        let scores = track.scores.iter().map(cell);
        table.row([track.name(), megabytes(track)].into_iter().chain(scores).collect());
    }
    table
}

fn search(track: &Track) -> String {
    let windows = track.scores.len();
    match track.stopped {
        0 => "complete".into(),
        stopped => format!("stopped in {stopped} of {windows}"),
    }
}

fn megabytes(track: &Track) -> String {
    format!("{:.1} MB", track.memory_bytes() as f64 / 1e6)
}

fn plot(options: &Paper, result: &Results, measure: &Measure) -> Plot {
    let Measure { name, meaning, of_window, .. } = *measure;
    let series = result.sliding.iter().map(|track| {
        let ends = (options.window..).zip(&track.scores);
        let points = ends.filter_map(|(second, score)| {
            let y = of_window(score)? * 100.0;
            Some(Point { x: second.into(), y, error: 0.0 })
        });
        Series { name: track.name(), points: points.collect() }
    });
    let load = number::short(result.load);
    let chart = Chart {
        title: format!("{name}, {meaning}: sliding windows of {load} distinct pairs"),
        x: Axis { label: "end of the window, s", scale: Scale::Linear },
        y: Axis { label: "% of the true super points", scale: Scale::Linear },
        series: series.collect(),
    };
    Plot { file: file(result.load, name), chart }
}

fn file(load: u32, measure: &str) -> String {
    format!("sliding-{}-{}.svg", number::short(load), measure).to_lowercase()
}
