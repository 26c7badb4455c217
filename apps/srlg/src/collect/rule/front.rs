//! Front of the network: the slice that most probes have reached.
//!
//! The front is the lower median of the probes' last slices, over all probes that are not silent. Invariant: if fewer
//! than half of these probes have an incorrect clock, the front lies between the lowest and the highest slice of the
//! probes with a correct clock.

use std::collections::VecDeque;
use std::time::Duration;

use super::Moment;

#[derive(Debug)]
pub(super) struct Front {
    quiet: Duration,
    heard: Vec<Option<LastWord>>,
    /// Slices that the front has reached, in ascending order, each with the time at which it was reached.
    reached: VecDeque<(u64, Moment)>,
}

/// Last slice that a probe sent.
#[derive(Clone, Copy, Debug)]
struct LastWord {
    slice: u64,
    at: Moment,
}

impl Front {
    pub(super) fn new(probes: usize, quiet: Duration) -> Self {
        Self { quiet, heard: vec![None; probes], reached: VecDeque::new() }
    }

    /// Notes that `probe` has sent `slice`. The most recently sent slice counts, even if a higher slice was sent
    /// before, because a clock may be corrected.
    pub(super) fn record(&mut self, probe: usize, slice: u64, at: Moment) {
        self.heard[probe] = Some(LastWord { slice, at });
    }

    /// Returns the front at `now`, or `None` if all probes are silent.
    pub(super) fn at(&self, now: Moment) -> Option<u64> {
        let spoke = self.heard.iter().flatten().filter(|heard| heard.at + self.quiet > now);
        lower_median(spoke.map(|heard| heard.slice).collect())
    }

    /// Returns the lower median of the last slices of all probes, including silent ones.
    pub(super) fn of_all(&self) -> Option<u64> {
        lower_median(self.heard.iter().flatten().map(|heard| heard.slice).collect())
    }

    /// Notes that the front has reached `slice`. If it has already reached this or a higher slice, nothing changes.
    pub(super) fn advance(&mut self, slice: u64, now: Moment) {
        if self.furthest().is_none_or(|furthest| furthest < slice) {
            self.reached.push_back((slice, now));
        }
    }

    pub(super) fn furthest(&self) -> Option<u64> {
        self.reached.back().map(|&(slice, _)| slice)
    }

    /// Returns the time at which the front first reached or passed `slice`.
    pub(super) fn reached(&self, slice: u64) -> Option<Moment> {
        let first = self.reached.iter().find(|(furthest, _)| *furthest >= slice)?;
        Some(first.1)
    }

    pub(super) fn forget_before(&mut self, slice: u64) {
        let kept = self.reached.partition_point(|&(furthest, _)| furthest < slice);
        self.reached.drain(..kept);
    }

    pub(super) fn newest(&self, probe: usize) -> Option<u64> {
        self.heard[probe].map(|heard| heard.slice)
    }

    pub(super) fn is_silent(&self, probe: usize, now: Moment) -> bool {
        self.heard[probe].is_none_or(|heard| heard.at + self.quiet <= now)
    }

    /// Returns whether every probe has sent a slice.
    pub(super) fn is_whole(&self) -> bool {
        self.heard.iter().all(Option::is_some)
    }
}

fn lower_median(mut slices: Vec<u64>) -> Option<u64> {
    let middle = slices.len().checked_sub(1)? / 2;
    let (_, median, _) = slices.select_nth_unstable(middle);
    Some(*median)
}
