//! The command `paper`, which repeats the experiments of section 5 of the paper on synthetic traffic.
//!
//! A discrete window is one slice, and shares no data with the next window. All systems are measured in discrete
//! windows. Sliding windows consist of one-second slices, and only the presets of srlg support them. All systems
//! process the same packets and are scored against the exact answer. Each system recovers the hosts from its sketch,
//! except GSE, which stores an exact set of the hosts. The results of two runs with equal options can differ only in
//! the name of the machine and in the times.

mod bits;
mod strides;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use srlg_core::Ipv4Pair;
use srlg_input::number;
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::score::Score;

use crate::options::{Preset, Synthetic};
use crate::plot::{Axis, Chart, Plot, Point, Scale, Series};
use crate::results::{Cell, Column, Results, Row, details};
use crate::rivals::{dcds, gse, vbfa};
use crate::study::{CommandLine, FolderOptions, Study, Sweep};
use crate::system::{Srlg, System};
use crate::table::{Table, machine, short};
use crate::track::{Quality, Track};

#[derive(Args)]
pub(crate) struct Paper {
    /// Approximate number of distinct pairs per 300 slices; each number in a list has its own tables and plots. The
    /// sweep over δ' uses the first number
    #[arg(long, default_value = "500k,2M", value_delimiter = ',', value_parser = number::count)]
    load: Vec<u32>,
    /// Memory sizes of each rival, in bytes
    #[arg(long, default_value = "2M,8M,32M,64M,128M", value_delimiter = ',')]
    #[arg(value_parser = number::count)]
    rival_memory: Vec<u32>,
    /// Number of discrete windows
    #[arg(long, default_value = "12", value_parser = number::count)]
    windows: u32,
    /// Number of consecutive sliding windows
    #[arg(long, default_value = "300", value_parser = number::count)]
    sliding_windows: u32,
    #[command(flatten)]
    synthetic: Synthetic,
    #[command(flatten)]
    output: FolderOptions,
}

/// Sizes of the paper's scheme with one bit per recorder: the same number of recorders as the paper, and four times as
/// many, which need as much memory as the smallest rivals.
const DOUBLINGS_OF_BITS: [u32; 2] = [0, 2];

/// Size of the traffic in a discrete window.
struct Traffic {
    packets: usize,
    pairs: usize,
    hosts: usize,
    super_points: usize,
}

/// A function that runs an experiment at one load and adds its rows to the results.
type Trial = fn(&Paper, u32, &mut Results) -> Result<()>;

pub(crate) fn run(options: &Paper, line: CommandLine) -> Result<()> {
    options.check()?;
    let sweep = |trial: Trial, loads: &[u32], results: fn(&Paper, u32) -> Results| {
        let of_load = move |&load: &u32| Sweep {
            results: results(options, load),
            steps: vec![(trial, load)],
        };
        loads.iter().map(of_load).collect::<Vec<_>>()
    };
    let loads = options.load.as_slice();
    let mut sweeps = sweep(discrete, loads, |options, load| results(options, false, load));
    sweeps.extend(sweep(strides::trial, &loads[..1], strides::results));
    sweeps.extend(sweep(sliding, loads, |options, load| results(options, true, load)));
    let seed = options.synthetic.seed;
    Study::in_folder(&options.output, "docs/paper", "The paper's experiments", &sweeps)?
        .set_up(line, &format!("The seed is {seed}. Times were measured on {}.", machine()))?
        .run(1, sweeps, |&(trial, load), results, _| trial(options, load, results))?;
    Ok(())
}

impl Paper {
    fn check(&self) -> Result<()> {
        let (most, Synthetic { window, threshold, .. }) = (crate::MOST_SLICES, self.synthetic);
        let discrete = self.windows.checked_mul(window);
        let sliding = self.sliding_windows.checked_add(window);
        let slices = discrete.zip(sliding).map(|(discrete, sliding)| discrete.max(sliding));
        ensure!(
            slices.is_some_and(|slices| slices < most),
            "--windows, --sliding-windows or --window is too large"
        );
        let load = self.load.iter().copied().max().unwrap_or(0);
        ensure!(load <= crate::MOST_PAIRS, "--load must be at most {}", crate::MOST_PAIRS);
        check_memory(&self.rival_memory, threshold)
    }
}

/// Rejects memory sizes that are too small for a rival.
///
/// In the least memory that is sufficient, DCDS has 8 arrays of about 128 vectors, and each vector has 4θ bits. VBFA
/// needs a word for each of 40,960 vectors.
fn check_memory(memories: &[u32], threshold: u32) -> Result<()> {
    let least = threshold.saturating_mul(1000).max(400_000);
    ensure!(
        memories.iter().all(|&bytes| bytes >= least),
        "--rival-memory must be at least {} at this threshold",
        short(least)
    );
    Ok(())
}

fn discrete(options: &Paper, load: u32, results: &mut Results) -> Result<()> {
    let Synthetic { threshold, seed, window, traffic: model } = options.synthetic;
    let memories = options.rival_memory.iter();
    let mut rivals: Vec<_> = memories.flat_map(|&bytes| rivals(bytes, threshold, seed)).collect();
    // Tables show the sizes of a rival next to each other, in ascending order.
    rivals.sort_by_key(|track| track.system.name());
    let mut tracks = srlg(&Synthetic { window: 1, ..options.synthetic })?;
    for doublings in DOUBLINGS_OF_BITS {
        let bits = bits::Bits::new(&options.synthetic, doublings)?;
        tracks.push(Track::new(Box::new(bits)));
    }
    tracks.extend(rivals);
    let mut seconds = model.slices(seed, options.windows * window, load);
    let mut traffic = Vec::new();
    for _ in 0..options.windows {
        let slices: Vec<_> = seconds.by_ref().take(window as usize).collect();
        traffic.push(score(&mut tracks, &slices, threshold));
    }
    add_discrete(results, &traffic, &tracks);
    Ok(())
}

/// Scores all systems in the window that consists of `slices`, and returns the size of its traffic.
fn score(tracks: &mut [Track], slices: &[Vec<Ipv4Pair>], threshold: u32) -> Traffic {
    let mut exact = ExactWindow::new(1);
    slices.iter().flatten().for_each(|&pair| exact.touch(pair));
    let truth = exact.super_points(threshold);
    let traffic = Traffic {
        packets: slices.iter().map(Vec::len).sum(),
        pairs: exact.distinct_pairs(),
        hosts: exact.super_points(1).len(),
        super_points: truth.len(),
    };
    drop(exact);
    for track in tracks {
        slices.iter().for_each(|pairs| track.ingest(pairs));
        track.score(&truth, threshold);
    }
    traffic
}

/// Measures consecutive sliding windows with the presets of srlg. Seconds are numbered from 1, and the first window
/// ends with second `window`.
fn sliding(options: &Paper, load: u32, results: &mut Results) -> Result<()> {
    let Synthetic { threshold, seed, window, traffic } = options.synthetic;
    let mut tracks = srlg(&options.synthetic)?;
    let mut exact = ExactWindow::new(window);
    let traffic = traffic.slices(seed, window + options.sliding_windows - 1, load);
    for (second, pairs) in (1..).zip(traffic) {
        pairs.iter().for_each(|&pair| exact.touch(pair));
        tracks.iter_mut().for_each(|track| track.ingest(&pairs));
        if second < window {
            tracks.iter_mut().for_each(Track::skip);
        } else {
            let truth = exact.super_points(threshold);
            tracks.iter_mut().for_each(|track| track.score(&truth, threshold));
        }
        exact.skip(1);
    }
    add_sliding(results, window, load, &tracks);
    Ok(())
}

fn srlg(options: &Synthetic) -> Result<Vec<Track>> {
    let track = |&preset: &Preset| {
        let srlg = Srlg::new(preset.label(), options.config(preset))?;
        Ok(Track::new(Box::new(srlg)))
    };
    Preset::value_variants().iter().map(track).collect()
}

/// Returns the systems of the paper, each with `bytes` bytes of memory.
fn rivals(bytes: u32, threshold: u32, seed: u64) -> [Track; 3] {
    let bytes = bytes as usize;
    let dcds = dcds::Dcds::new(&dcds::Config::with_memory(bytes, threshold, seed));
    let vbfa = vbfa::Vbfa::new(&vbfa::Config::with_memory(bytes, threshold, seed));
    let gse = gse::Gse::new(gse::Config::with_memory(bytes, threshold, seed));
    let rivals: [Box<dyn System>; 3] = [Box::new(dcds), Box::new(vbfa), Box::new(gse)];
    rivals.map(Track::new)
}

/// An accuracy measure of the paper, which is plotted over time.
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

fn results(options: &Paper, slides: bool, load: u32) -> Results {
    let Paper { windows, sliding_windows, synthetic, .. } = options;
    let Synthetic { window, .. } = *synthetic;
    let (place, load_text) = (if slides { "sliding" } else { "discrete" }, short(load));
    let mut details = synthetic.details();
    let [windows, slices, seconds] =
        if slides { [*sliding_windows, window, 1] } else { [*windows, 1, window] };
    details.extend(details!(
        "experiment": place, "load": load, "windows": windows, "window": slices,
        "slice_seconds": seconds
    ));
    Results {
        place: place.to_owned(),
        heading: format!(
            "{load_text} distinct pairs per window{}",
            if slides { ", sliding" } else { "" }
        ),
        setting: match slides {
            false => format!("{windows} consecutive windows of {window} s"),
            true => {
                format!(
                    "{windows} windows, one per slice. Each window has {window} slices of one second"
                )
            }
        },
        names: vec!["system"],
        columns: COLUMNS,
        details,
        ..Results::default()
    }
}

fn add_discrete(results: &mut Results, traffic: &[Traffic], tracks: &[Track]) {
    let mut table =
        Table::new(&["window", "packets", "distinct pairs", "inside hosts", "super points"]);
    for (number, it) in (1..).zip(traffic) {
        let cells = [number, it.packets, it.pairs, it.hosts, it.super_points];
        table.row(cells.iter().map(usize::to_string).collect());
    }
    results.below = format!("Traffic of the windows:\n\n{table}");
    results.rows.extend(tracks.iter().map(row));
}

fn add_sliding(results: &mut Results, window: u32, load: u32, tracks: &[Track]) {
    let plot = |measure| plot(window, &short(load), tracks, measure);
    results.plots = MEASURES.iter().map(plot).collect();
    results.rows.extend(tracks.iter().map(row));
}

fn row(track: &Track) -> Row {
    let (name, windows) = (track.system.name(), &track.windows);
    let (rates, memory_bytes) = (Quality::of(windows).rates, track.system.memory_bytes());
    let super_points: u64 = windows.iter().map(|window| window.score.true_super_points).sum();
    let stopped = windows.iter().filter(|window| !window.is_complete).count();
    let search = match stopped {
        0 => "-".to_owned(),
        stopped => format!("stopped in {stopped} of {}", windows.len()),
    };
    let seconds: f64 = windows.iter().map(|window| window.ingest + window.close).sum();
    let cells = vec![
        memory_bytes.into(),
        Cell::ratio(rates.positive()),
        Cell::ratio(rates.negative()),
        Cell::ratio(rates.total()),
        search.into(),
        (seconds / windows.len() as f64).into(),
    ];
    let details = details!(
        "system": name, "recorder_bytes": memory_bytes,
        "super_points": super_points, "searches_stopped": stopped
    );
    Row::new(vec![name], cells, details)
}

/// Returns the plot of a measure, with one point per window. The first window ends with second `window`.
fn plot(window: u32, load: &str, tracks: &[Track], measure: &Measure) -> Plot {
    let Measure { name, meaning, label, of } = *measure;
    let series = tracks.iter().map(|track| {
        let ends = (window..).zip(&track.windows);
        let points = ends.filter_map(|(second, window)| {
            Some(Point { x: second.into(), y: of(&window.score)? * 100.0, error: 0.0 })
        });
        Series { name: track.system.name(), points: points.collect() }
    });
    let chart = Chart {
        title: format!("{name}, {meaning}, in sliding windows of {load} distinct pairs"),
        x: Axis { label: "end of the window, seconds", scale: Scale::Linear },
        y: Axis { label, scale: Scale::Linear },
        series: series.collect(),
    };
    Plot { file: format!("sliding-{load}-{name}.svg").to_lowercase(), chart }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_memory_that_passes_the_check_makes_rivals() {
        for threshold in [1_u32, 17, 100, 399, 401, 1000, 1024, 5000, 32_768] {
            let least = threshold.saturating_mul(1000).max(400_000);
            assert!(check_memory(&[least], threshold).is_ok());
            assert!(check_memory(&[least, least - 1], threshold).is_err());
            assert_eq!(rivals(least, threshold, 1).len(), 3);
        }
    }
}
