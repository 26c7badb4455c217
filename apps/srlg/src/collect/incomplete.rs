//! Log lines about slices that close without the data of all probes.
//!
//! Invariant: a line is logged when this begins, when the probes concerned change, and when it ends, but not for each
//! slice.

use std::collections::BTreeMap;

use super::rule::Close;

/// Time after which a probe that delivers whole slices again is no longer concerned, in milliseconds. A probe that is
/// late now and then would otherwise cause two lines each time.
const QUIET_MS: u64 = 60_000;

/// A change that must be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Slices are incomplete from now on.
    Starts,
    /// A probe is late or silent that was not, or a late probe is now silent.
    Spreads,
    /// These probes deliver whole slices again, but others do not.
    Shrinks(Vec<usize>),
    /// All probes deliver whole slices again.
    Ends {
        /// Number of incomplete slices.
        slices: u64,
    },
}

/// The probes whose data has been missing recently.
#[derive(Debug, Default)]
pub(super) struct IncompleteSlices {
    probes: BTreeMap<usize, Lack>,
    /// Number of incomplete slices since they started; 0 if slices are complete.
    slices: u64,
}

#[derive(Debug, Default)]
struct Lack {
    is_silent: bool,
    /// Number of whole slices since the last one that the probe did not deliver.
    whole: u64,
}

impl IncompleteSlices {
    /// Returns the change that `close` causes, if it causes one. `slice_ms` is the length of a slice.
    pub(super) fn close(&mut self, close: &Close, slice_ms: u64) -> Option<Change> {
        let is_first = self.slices == 0;
        self.probes.values_mut().for_each(|lack| lack.whole += 1);
        self.slices += u64::from(close.late.len() + close.missing.len() > 0);
        let mut has_more = false;
        for (probes, is_silent) in [(&close.late, false), (&close.missing, true)] {
            for probe in probes {
                has_more |= !self.probes.contains_key(probe);
                let lack = self.probes.entry(*probe).or_default();
                has_more |= is_silent && !lack.is_silent;
                *lack = Lack { is_silent: lack.is_silent || is_silent, whole: 0 };
            }
        }
        let is_back = |_: &usize, lack: &mut Lack| lack.whole * slice_ms >= QUIET_MS;
        let back: Vec<usize> =
            self.probes.extract_if(.., is_back).map(|(probe, _)| probe).collect();
        if has_more {
            return Some(if is_first { Change::Starts } else { Change::Spreads });
        }
        if back.is_empty() {
            return None;
        }
        if !self.probes.is_empty() {
            return Some(Change::Shrinks(back));
        }
        Some(Change::Ends { slices: std::mem::take(&mut self.slices) })
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
