//! [`Front`]: where the network is, whatever the clock of a single probe says.
//!
//! Shape: per probe the slice that it spoke of last. The front is their lower median, over the
//! probes that are not silent. Invariant: less than half of the probes that speak cannot move it
//! beyond where the others are.

use std::collections::VecDeque;
use std::time::Duration;

use super::Moment;

#[derive(Debug)]
pub(super) struct Front {
    quiet: Duration,
    heard: Vec<Option<LastWord>>,
    /// How far the front has been and since when, both ascending.
    reached: VecDeque<(u64, Moment)>,
}

/// The slice that a probe spoke of last.
#[derive(Clone, Copy, Debug)]
struct LastWord {
    slice: u64,
    at: Moment,
}

impl Front {
    pub(super) fn new(probes: usize, quiet: Duration) -> Self {
        Self { quiet, heard: vec![None; probes], reached: VecDeque::new() }
    }

    /// `probe` spoke of `slice`. Its last word counts, not its highest: a clock may be put right.
    pub(super) fn hear(&mut self, probe: usize, slice: u64, at: Moment) {
        self.heard[probe] = Some(LastWord { slice, at });
    }

    /// The lower median; none where all are silent.
    pub(super) fn at(&self, now: Moment) -> Option<u64> {
        let spoke = self.heard.iter().flatten().filter(|heard| heard.at + self.quiet > now);
        lower_median(spoke.map(|heard| heard.slice).collect())
    }

    /// The same over all that ever spoke.
    pub(super) fn of_all(&self) -> Option<u64> {
        lower_median(self.heard.iter().flatten().map(|heard| heard.slice).collect())
    }

    /// The front is at `slice` now; it never goes back.
    pub(super) fn advance(&mut self, slice: u64, now: Moment) {
        if self.furthest().is_none_or(|furthest| furthest < slice) {
            self.reached.push_back((slice, now));
        }
    }

    /// How far it has been.
    pub(super) fn furthest(&self) -> Option<u64> {
        self.reached.back().map(|&(slice, _)| slice)
    }

    /// When it first reached `slice`, or went beyond.
    pub(super) fn reached(&self, slice: u64) -> Option<Moment> {
        let first = self.reached.iter().find(|(furthest, _)| *furthest >= slice)?;
        Some(first.1)
    }

    /// Forgets what was reached before `slice`.
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

    /// Whether every probe has spoken.
    pub(super) fn is_whole(&self) -> bool {
        self.heard.iter().all(Option::is_some)
    }
}

fn lower_median(mut slices: Vec<u64>) -> Option<u64> {
    let middle = slices.len().checked_sub(1)? / 2;
    let (_, median, _) = slices.select_nth_unstable(middle);
    Some(*median)
}
