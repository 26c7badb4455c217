//! Sliding windows of one-second slices, of srlg's presets alone: no rival can slide.

use super::track::Track;
use super::{Paper, contenders};
use crate::progress;
use crate::synthetic::Synthetic;
use anyhow::Result;
use srlg_traffic::oracle::ExactWindow;

/// How the presets fared in consecutive windows, of which the first ends with the second
/// number `window`.
pub(super) fn run(options: &Paper, load: u32) -> Result<Vec<Track>> {
    let Synthetic { threshold, seed, window, traffic } = options.synthetic;
    let mut tracks = contenders::srlg(window, threshold, seed)?;
    let mut exact = ExactWindow::new(window);
    let seconds = window + options.sliding_windows - 1;
    let traffic = traffic.slices(seed, seconds, load);
    let bar = progress::bar(seconds.into(), "slices of sliding windows");
    for (second, pairs) in (1..).zip(bar.wrap_iter(traffic)) {
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
    Ok(tracks)
}
