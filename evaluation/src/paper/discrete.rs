//! Discrete windows: one slice each, and nothing is carried over to the next.
//!
//! Shape: the stream of seconds is cut into windows, one after the other; a window's
//! packets go through every system. Memory is that of the packets of a window and of all
//! systems together.

use super::track::Track;
use super::{Paper, contenders};
use crate::progress;
use crate::synthetic::Synthetic;
use anyhow::Result;
use srlg_core::IpPair;
use srlg_traffic::oracle::ExactWindow;

/// How all systems fared, and on what.
pub(super) struct Discrete {
    pub(super) traffic: Vec<Traffic>,
    pub(super) tracks: Vec<Track>,
}

/// What a window holds.
pub(super) struct Traffic {
    pub(super) packets: usize,
    pub(super) pairs: usize,
    pub(super) hosts: usize,
    pub(super) super_points: usize,
}

pub(super) fn run(options: &Paper, load: u32) -> Result<Discrete> {
    let Paper { windows, synthetic, .. } = *options;
    let Synthetic { threshold, seed, window, traffic: model } = synthetic;
    let memories = options.rival_memory.iter();
    let rivals = memories.flat_map(|&bytes| contenders::rivals(bytes, threshold, seed));
    let mut rivals: Vec<_> = rivals.collect();
    // The same rival at growing memory, side by side.
    rivals.sort_by_key(Track::name);
    let mut tracks = contenders::srlg(1, threshold, seed)?;
    tracks.extend(rivals);
    let length = windows * window;
    let bar = progress::bar(length.into(), "slices of discrete windows");
    let mut seconds = bar.wrap_iter(model.slices(seed, length, load));
    let mut traffic = Vec::new();
    for _ in 0..windows {
        let slices: Vec<_> = seconds.by_ref().take(window as usize).collect();
        traffic.push(score(&mut tracks, &slices, threshold));
    }
    Ok(Discrete { traffic, tracks })
}

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
