//! What the rule is told, and what it says.

use std::time::Duration;

use crate::subjects::Part;

/// A point in time, since the collector was started; time rests while it catches up.
pub(in super::super) type Moment = Duration;

/// The bounds of a rule.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Limits {
    /// How long a slice waits for the last probes once the front has reached it.
    pub(in super::super) deadline: Duration,
    /// A probe that was not heard for so long is silent: it has no say in where the front is.
    pub(in super::super) quiet: Duration,
    /// A delta more slices than this ahead of the front is refused.
    pub(in super::super) max_skew: u64,
    /// Bytes of deltas that wait for their slice; those of more than a window ahead get half of it.
    pub(in super::super) max_pending: usize,
    /// Slices in the window: older deltas are of no use.
    pub(in super::super) window: u64,
}

/// A part of a delta, as it arrives. `T` is the delta itself: the rule never looks into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Arrival<T> {
    /// Number of the probe.
    pub(in super::super) probe: usize,
    pub(in super::super) slice: u64,
    pub(in super::super) part: Part,
    /// Of the message in its stream.
    pub(in super::super) sequence: u64,
    /// What it takes to hold it.
    pub(in super::super) bytes: usize,
    pub(in super::super) delta: T,
}

/// The decision about an arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Verdict<T> {
    /// Merge it: it is of the running slice, or so many slices late.
    Merge {
        delta: T,
        late: u64,
    },
    /// It waits for its slice.
    Held,
    /// It was delivered before: there is nothing to do.
    Repeated,
    Refused(Refusal),
}

/// The reason why an arrival is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum Refusal {
    #[error("slice {slice} has left the window, {running} is running")]
    Old { slice: u64, running: u64 },
    #[error(
        "slice {slice} is {skew} slices ahead of most probes, which are in slice {front}: set the clock of the probe, or let a probe of a file run at --pace real"
    )]
    Ahead { slice: u64, skew: u64, front: u64 },
    #[error("a delta of {count} parts was announced: no delta has more than {most}")]
    Parts { count: u32, most: u32 },
}

/// The next step of a collector.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Step<T> {
    /// The first slice runs: skip to it, and deliver what waited for it.
    Begin { slice: u64, waiting: Vec<Arrival<T>> },
    /// The first slice after a long silence runs: skip to it, and `merge`.
    Skip { slice: u64, merge: Vec<T> },
    /// The running slice closes; then `merge` is of the next one.
    Close { close: Close, merge: Vec<T> },
}

/// The close of a slice, with the numbers of probes in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Close {
    pub(in super::super) slice: u64,
    pub(in super::super) cause: Cause,
    /// Delivered all of it.
    pub(in super::super) delivered: Vec<usize>,
    /// Did not, and were heard of recently.
    pub(in super::super) late: Vec<usize>,
    /// Did not, and are silent.
    pub(in super::super) missing: Vec<usize>,
    /// Every probe has delivered all slices of the window that ends with this one.
    pub(in super::super) is_window_whole: bool,
}

/// The reason why a slice closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Cause {
    Complete,
    Deadline,
    /// What waits for it fills the memory.
    Crowded,
}
