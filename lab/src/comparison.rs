//! The command `peers`, which compares srlg with common alternatives on the same traffic.
//!
//! The exact answer for every full window is computed once. The systems then run one after the other, because together
//! they would not fit into memory and would share the caches. For each system, the traffic is generated again from its
//! seed. Every system ingests the same packets and closes every slice. Reports on full windows are scored against the
//! exact answers. A missing value is printed as `-` or null, never as 0.

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use srlg_core::{Address, Ipv4Pair};
use srlg_input::number;
use srlg_traffic::oracle::ExactWindow;

use crate::options::{Preset, Synthetic, planned};
use crate::output;
use crate::peers::Peer;
use crate::results::{Cell, Column, Results, Row, details};
use crate::sample::Sample;
use crate::study::{CommandLine, PageOptions, Study, Sweep};
use crate::system::{Srlg, System};
use crate::table::{machine, short};
use crate::track::{Quality, Track, Window};

/// Maximum number of slices per window. A ring has one sketch per slice. With more slices, each sketch would have
/// almost no memory.
const LONGEST_WINDOW: u32 = 10_000;

/// Number of memory measurements per window. The number is small, because some systems take a long time to compute
/// their memory usage.
const LOOKS: u32 = 4;

const COLUMNS: &[Column] = &[
    Column::percent("TFR").metric("tfr_mean", "%"),
    Column::percent("RMSE").metric("rmse", "%"),
    Column::percent("RMSE, θ to 4θ").metric("rmse_low", "%"),
    Column::percent("TFR, every second").metric("tfr_every_slice", "%"),
    Column::percent("RMSE, every second").metric("rmse_every_slice", "%"),
    Column::megabytes("memory, MB").metric("memory_bytes", "bytes"),
    Column::decimals(2, "ingest, ms per slice").metric("ingest_ms", "ms"),
    Column::decimals(1, "ingest, M pairs/s").metric("ingest_mpairs_per_s", "M pairs/s"),
    Column::decimals(2, "close, ms per slice").metric("close_ms", "ms"),
];

#[derive(Args)]
pub(crate) struct Peers {
    /// Approximate number of distinct pairs per 300 slices
    #[arg(long, default_value = "500k", value_parser = number::count)]
    load: u32,
    #[command(flatten)]
    synthetic: Synthetic,
    /// Number of consecutive windows of traffic
    #[arg(long, default_value = "2", value_parser = number::count)]
    windows: u32,
    #[command(flatten)]
    output: PageOptions,
}

enum Contender {
    Srlg(Preset),
    /// srlg, planned for the load and this many bytes of recorders.
    Planned(usize),
    Table(Peer),
    /// A sketch with this many times the memory of srlg's default preset.
    Times(Peer, usize),
    /// A sketch with this many bytes of memory.
    Sketch(Peer, usize),
}

/// Small memory budget, in bytes.
const LITTLE: usize = 4_000_000;
/// Smallest memory budget, in bytes, with which papers after the original one evaluate RGS-Sketch.
const LEAST: usize = 500_000;

/// Super points of every full window of the stream. Slices are numbered from 1, and the first full window ends with
/// slice `window`.
type Truth = Vec<Vec<(Address, u32)>>;

pub(crate) fn run(options: &Peers, line: CommandLine) -> Result<()> {
    let window = options.synthetic.window;
    ensure!(window <= LONGEST_WINDOW, "--window must be at most {LONGEST_WINDOW}");
    ensure!(options.load <= crate::MOST_PAIRS, "--load must be at most {}", crate::MOST_PAIRS);
    let slices = options.windows.checked_mul(window);
    let slices = slices.filter(|&slices| slices < crate::MOST_SLICES);
    let slices = slices.context("--windows or --window is too large")?;
    let place = format!("load {}", short(options.load));
    let mut study = Study::in_page(&options.output, std::slice::from_ref(&place))?;
    let presets = Preset::value_variants().iter().copied().map(Contender::Srlg);
    let tables = Peer::TABLES.into_iter().map(Contender::Table);
    let sketches = [
        Contender::Sketch(Peer::Sampled, LITTLE),
        Contender::Times(Peer::Ring, 1),
        Contender::Times(Peer::Ring, 10),
        Contender::Times(Peer::Zones, 1),
        Contender::Sketch(Peer::Rgs, LEAST),
        Contender::Sketch(Peer::Rgs, LITTLE),
    ];
    let steps: Vec<_> =
        presets.chain([Contender::Planned(LITTLE)]).chain(tables).chain(sketches).collect();
    let truth = truth(options, slices);
    let results = Results { above: format!("`{}`", line(&[])), ..options.results(place, &truth) };
    study.run(slices, vec![Sweep { results, steps }], |contender, results, bar| {
        let system = contender.make(options)?;
        bar.set_message(system.name());
        results.rows.push(row(system, &truth, options, bar));
        Ok(())
    })?;
    Ok(())
}

impl Contender {
    fn make(&self, options: &Peers) -> Result<Box<dyn System>> {
        let Peers { load, synthetic, .. } = options;
        let config = synthetic.config(Preset::Default);
        let recorder_bytes = config.validate()?.recorder_bytes();
        Ok(match *self {
            Self::Srlg(preset) => Box::new(Srlg::new(preset.label(), synthetic.config(preset))?),
            Self::Planned(bytes) => {
                let config = planned(config, (*load).into(), bytes as u64)?;
                Box::new(Srlg::new(format!("plan for {} MB", bytes / 1_000_000), config)?)
            }
            Self::Table(peer) => peer.make(&config, 0),
            Self::Times(peer, times) => peer.make(&config, times * recorder_bytes),
            Self::Sketch(peer, bytes) => peer.make(&config, bytes),
        })
    }
}

impl Peers {
    fn results(&self, place: String, truth: &Truth) -> Results {
        let (windows, super_points) = (truth.len(), truth.iter().map(Vec::len).sum::<usize>());
        let mut details = self.synthetic.details();
        details.extend(details!(self => load, windows; "super_points": super_points));
        Results {
            heading: format!("Comparison with common alternatives, {place}"),
            place,
            setting: format!(
                "The {windows} windows contain {super_points} super points in total. Measured on {}",
                machine()
            ),
            names: vec!["system"],
            columns: COLUMNS,
            details,
            ..Results::default()
        }
    }

    fn slices(&self) -> impl Iterator<Item = Vec<Ipv4Pair>> {
        let Synthetic { window, traffic, seed, .. } = self.synthetic;
        traffic.slices(seed, self.windows * window, self.load)
    }
}

fn truth(options: &Peers, slices: u32) -> Truth {
    let Synthetic { window, threshold, .. } = options.synthetic;
    let mut exact = ExactWindow::new(window);
    let mut truth = Vec::new();
    let slices = output::bar(slices.into(), "truth").wrap_iter(options.slices());
    for (slice, packets) in (1..).zip(slices) {
        packets.iter().for_each(|&pair| exact.touch(pair));
        if slice >= window {
            truth.push(exact.super_points(threshold));
        }
        exact.skip(1);
    }
    truth
}

/// Processes the traffic with a system and returns its row.
///
/// Times are medians over the slices with a full window. In earlier slices, tables are still growing.
fn row(system: Box<dyn System>, truth: &Truth, options: &Peers, bar: &ProgressBar) -> Row {
    let Synthetic { window, threshold, .. } = options.synthetic;
    let (mut track, mut memory_bytes) = (Track::new(system), 0);
    for (slice, packets) in (1..).zip(options.slices()) {
        track.ingest(&packets);
        // The memory is measured before the close, because some systems discard their data when a window closes.
        if slice % window.div_ceil(LOOKS) == 0 || slice % window == 0 {
            memory_bytes = memory_bytes.max(track.system.memory_bytes());
        }
        match slice.checked_sub(window) {
            Some(full) => track.score(&truth[full as usize], threshold),
            None => track.skip(),
        }
        bar.inc(1);
    }
    let every = Quality::of(&track.windows);
    // A system that restarts every k slices has seen a whole window at the ends of slices k, 2k and so on.
    let whole = Quality::of(track.windows.iter().step_by(window as usize));
    let [ingest_ms, mpairs_per_s, close_ms] = medians(&track.windows);
    let name = track.system.name();
    let details = details!("system": name);
    let cells = vec![
        Cell::ratio(whole.rates.total()),
        Cell::ratio(whole.errors.rmse()),
        Cell::ratio(whole.low_errors.rmse()),
        Cell::ratio(every.rates.total()),
        Cell::ratio(every.errors.rmse()),
        memory_bytes.into(),
        ingest_ms.into(),
        mpairs_per_s.into(),
        close_ms.into(),
    ];
    Row::new(vec![name], cells, details)
}

/// Returns three medians: milliseconds of ingest per slice, millions of packets per second, and milliseconds per close.
fn medians(windows: &[Window]) -> [f64; 3] {
    let median = |of: fn(&Window) -> f64| Sample::of(windows.iter().map(of)).median;
    let per_packet = median(|it| it.ingest / it.packets.max(1) as f64);
    [median(|it| it.ingest) * 1e3, 1e-6 / per_packet, median(|it| it.close) * 1e3]
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn one_slow_slice_changes_no_time() {
        let times = [(10, 0.001, 0.02), (1000, 9.0, 9.0), (30, 0.002, 0.01)];
        let windows = times.map(|(packets, ingest, close)| Window {
            packets,
            ingest,
            close,
            ..Window::default()
        });
        // The rates are 10, 0.1 and 15 packets per millisecond. A division and a product are each rounded.
        for (median, expected) in medians(&windows).into_iter().zip([2.0, 0.01, 20.0]) {
            assert_relative_eq!(median, expected, max_relative = 4.0 * f64::EPSILON);
        }
    }
}
