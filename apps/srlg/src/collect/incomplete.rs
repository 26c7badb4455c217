//! Log lines about slices that close without the data of all probes.
//!
//! Invariant: a line is logged when this begins, when another probe is concerned, and when it ends, but not for each
//! slice.

use std::collections::BTreeSet;

use super::rule::Close;

/// Time without an incomplete slice after which slices count as complete again, in milliseconds. A probe that is late
/// now and then would otherwise cause two lines each time.
const QUIET_MS: u64 = 60_000;

/// A change that must be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Slices are incomplete from now on.
    Starts,
    /// A probe is late or silent that was not in this state before.
    Spreads,
    /// Slices are complete again.
    Ends {
        /// Number of incomplete slices.
        slices: u64,
    },
}

/// The probes whose data has been missing recently.
#[derive(Debug, Default)]
pub(super) struct IncompleteSlices {
    /// Probes that were late, and probes that were silent.
    named: [BTreeSet<usize>; 2],
    /// Number of incomplete slices since they started; 0 if slices are complete.
    slices: u64,
    /// Number of complete slices since the last incomplete one.
    complete: u64,
}

impl IncompleteSlices {
    /// Returns the change that `close` causes, if it causes one. `slice_ms` is the length of a slice.
    pub(super) fn close(&mut self, close: &Close, slice_ms: u64) -> Option<Change> {
        if close.late.is_empty() && close.missing.is_empty() {
            self.complete += 1;
            let is_over = self.slices > 0 && self.complete * slice_ms >= QUIET_MS;
            let slices = self.slices;
            return is_over.then(|| {
                *self = Self::default();
                Change::Ends { slices }
            });
        }
        let is_first = self.slices == 0;
        (self.slices, self.complete) = (self.slices + 1, 0);
        let mut has_more = false;
        for (named, probes) in self.named.iter_mut().zip([&close.late, &close.missing]) {
            probes.iter().for_each(|probe| has_more |= named.insert(*probe));
        }
        match (is_first, has_more) {
            (true, _) => Some(Change::Starts),
            (false, true) => Some(Change::Spreads),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::Cause;
    use super::*;

    fn close(late: &[usize], missing: &[usize]) -> Close {
        Close {
            slice: 0,
            cause: Cause::Deadline,
            delivered: Vec::new(),
            late: late.to_vec(),
            missing: missing.to_vec(),
            whole_slices: 0,
        }
    }

    /// Returns the changes of `closes`, with the numbers of their slices.
    fn changes<'a>(closes: impl IntoIterator<Item = &'a Close>) -> Vec<(usize, Change)> {
        let mut slices = IncompleteSlices::default();
        let changes = closes.into_iter().enumerate();
        changes.filter_map(|(at, it)| Some((at, slices.close(it, 1_000)?))).collect()
    }

    #[test]
    fn a_killed_probe_causes_three_lines_in_ten_minutes() {
        let (complete, late, silent) = (close(&[], &[]), close(&[1], &[]), close(&[], &[1]));
        let closes = [vec![&complete; 5], vec![&late; 3], vec![&silent; 500], vec![&complete; 92]];
        let expected =
            [(5, Change::Starts), (8, Change::Spreads), (567, Change::Ends { slices: 503 })];
        assert_eq!(changes(closes.concat()), expected);
    }

    #[test]
    fn a_probe_that_is_late_now_and_then_causes_one_line() {
        let (complete, late) = (close(&[], &[]), close(&[0], &[]));
        let closes = [vec![&late], vec![&complete; 20]].concat().repeat(30);
        assert_eq!(changes(closes), [(0, Change::Starts)]);
        // Each further probe causes another line.
        let others = [close(&[0], &[]), close(&[0, 1], &[]), close(&[1], &[0]), close(&[0], &[1])];
        let spreads = |at| (at, Change::Spreads);
        assert_eq!(changes(&others), [(0, Change::Starts), spreads(1), spreads(2), spreads(3)]);
    }
}
