//! `paper`: the experiments of the paper's section 5, on synthetic traffic.
//!
//! Discrete windows are one slice each, and nothing is carried over to the next: all systems take part. Windows of
//! one-second slices slide: only srlg's presets can. All systems see the same packets, find the hosts themselves (but for
//! GSE, which cannot), and are scored against the exact truth. Of equal options only the machine and the times may differ.

mod tables;
mod track;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use srlg_core::IpPair;
use srlg_input::number;
use srlg_traffic::oracle::ExactWindow;

use crate::options::{Preset, Synthetic};
use crate::output;
use crate::results::Results;
use crate::rivals::{dcds, gse, vbfa};
use crate::study::{CommandLine, FolderOptions, Study, Sweep};
use crate::system::Srlg;
use crate::table::{machine, short};
use track::Track;

#[derive(Args)]
pub(crate) struct Paper {
    /// Distinct pairs per 300 slices, about; every load gets tables and plots of its own
    #[arg(long, default_value = "500k,2M", value_delimiter = ',', value_parser = number::count)]
    load: Vec<u32>,
    /// Bytes of each rival
    #[arg(long, default_value = "8M,32M,64M,128M", value_delimiter = ',')]
    #[arg(value_parser = number::count)]
    rival_memory: Vec<u32>,
    /// Discrete windows
    #[arg(long, default_value = "12", value_parser = number::count)]
    windows: u32,
    /// Consecutive sliding windows
    #[arg(long, default_value = "300", value_parser = number::count)]
    sliding_windows: u32,
    #[command(flatten)]
    synthetic: Synthetic,
    #[command(flatten)]
    output: FolderOptions,
}

/// What a discrete window holds.
struct Traffic {
    packets: usize,
    pairs: usize,
    hosts: usize,
    super_points: usize,
}

pub(crate) fn run(options: &Paper, line: CommandLine) -> Result<()> {
    options.check()?;
    let Paper { windows, sliding_windows, synthetic, .. } = *options;
    let Synthetic { window, seed, .. } = synthetic;
    let sweep = |slides| {
        let of_load = move |&load: &u32| Sweep {
            results: tables::results(options, slides, load),
            steps: vec![load],
        };
        options.load.iter().map(of_load)
    };
    let sweeps: Vec<_> = [false, true].into_iter().flat_map(sweep).collect();
    let slices = u64::from(windows * window + sliding_windows + window - 1);
    let bar = output::bar(slices * options.load.len() as u64, "");
    Study::in_folder(&options.output, "docs/paper", "The paper's experiments", &sweeps)?
        .set_up(line, &format!("Seed {seed}; times on {}.", machine()))?
        .run(bar, sweeps, |&load, results, bar| match results.place.as_str() {
            "sliding" => sliding(options, load, results, bar),
            _ => discrete(options, load, results, bar),
        })
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

/// Rejects memories for which a rival has no sizes.
///
/// DCDS wants 8 arrays of at least 128 vectors, of 4 bits per opposite host of the threshold;
/// VBFA wants a word for each of 40,960 vectors.
fn check_memory(memories: &[u32], threshold: u32) -> Result<()> {
    let least = threshold.saturating_mul(1000).max(400_000);
    ensure!(
        memories.iter().all(|&bytes| bytes >= least),
        "--rival-memory must be at least {} at this threshold",
        short(least)
    );
    Ok(())
}

/// Discrete windows: the stream of seconds is cut into windows, and the packets of each go through every system.
fn discrete(options: &Paper, load: u32, results: &mut Results, bar: &ProgressBar) -> Result<()> {
    let Synthetic { threshold, seed, window, traffic: model } = options.synthetic;
    let memories = options.rival_memory.iter();
    let mut rivals: Vec<_> = memories.flat_map(|&bytes| rivals(bytes, threshold, seed)).collect();
    // The same rival at growing memory, side by side.
    rivals.sort_by_key(Track::name);
    let mut tracks = srlg(&Synthetic { window: 1, ..options.synthetic })?;
    tracks.extend(rivals);
    let mut seconds = model.slices(seed, options.windows * window, load);
    let mut traffic = Vec::new();
    for _ in 0..options.windows {
        let slices: Vec<_> = seconds.by_ref().take(window as usize).collect();
        traffic.push(score(&mut tracks, &slices, threshold));
        bar.inc(window.into());
    }
    tables::add_discrete(results, &traffic, &tracks);
    Ok(())
}

/// Scores all systems in a window of these slices.
fn score(tracks: &mut [Track], slices: &[Vec<IpPair>], threshold: u32) -> Traffic {
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

/// Consecutive sliding windows of srlg's presets, of which the first ends with the second number `window`.
fn sliding(options: &Paper, load: u32, results: &mut Results, bar: &ProgressBar) -> Result<()> {
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
        bar.inc(1);
    }
    tables::add_sliding(results, window, load, &tracks);
    Ok(())
}

/// Srlg's presets.
fn srlg(options: &Synthetic) -> Result<Vec<Track>> {
    let track =
        |&preset: &Preset| Ok(Track::new(Srlg::new(preset.name(), options.config(preset))?));
    Preset::value_variants().iter().map(track).collect()
}

/// The systems that the paper compares with, at `bytes` of memory each.
fn rivals(bytes: u32, threshold: u32, seed: u64) -> [Track; 3] {
    let bytes = bytes as usize;
    [
        Track::new(dcds::Dcds::new(dcds::Config::with_memory(bytes, threshold, seed))),
        Track::new(vbfa::Vbfa::new(vbfa::Config::with_memory(bytes, threshold, seed))),
        Track::new(gse::Gse::new(gse::Config::with_memory(bytes, threshold, seed))),
    ]
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
