//! Counters of packets and datagrams that were dropped before they were read.
//!
//! Invariant: the 64-bit totals never decrease, although the kernel's 32-bit counters wrap.

use std::fmt;
use std::time::{Duration, Instant};

use crate::event::LogLine;

/// Counters of the packets that a capture on an interface lost since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drops {
    /// Number of packets that passed the filter but were dropped by the kernel because its buffer was full.
    ///
    /// To avoid these drops, read faster, or increase [`capture_buffer`](crate::live::CaptureOptions::capture_buffer)
    /// or [`capture_threads`](crate::live::CaptureOptions::capture_threads).
    pub buffer_full: u64,
    /// Number of packets that the network card or its driver dropped, as far as the system reports them.
    pub interface: u64,
}

impl Drops {
    /// Returns the total number of lost packets.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.buffer_full + self.interface
    }
}

/// Adds the drops of another capture to these drops.
impl std::ops::AddAssign for Drops {
    fn add_assign(&mut self, other: Self) {
        self.buffer_full += other.buffer_full;
        self.interface += other.interface;
    }
}

/// Writes both counts, with a description of each.
impl fmt::Display for Drops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffer_full, interface } = self;
        write!(f, "{buffer_full} packets dropped by the kernel, {interface} by the interface")
    }
}

/// Minimum interval between warnings about dropped packets.
const MINUTE: Duration = Duration::from_secs(60);

/// The last warning about dropped packets.
#[derive(Default)]
pub(crate) struct DropWarning {
    drops: u64,
    at: Option<Instant>,
}

impl DropWarning {
    /// Returns a warning about new drops, if one is due.
    pub(crate) fn of(&mut self, drops: Option<Drops>) -> Option<LogLine> {
        let drops = drops?.total();
        let is_due = self.at.is_none_or(|at| at.elapsed() >= MINUTE);
        let more = drops.checked_sub(self.drops).filter(|more| *more > 0 && is_due)?;
        *self = Self { drops, at: Some(Instant::now()) };
        Some(LogLine::warning(format!(
            "{more} packets dropped by the kernel or the interface; increase capture-buffer or capture-threads, \
             or select packets with filter"
        )))
    }
}

/// Total of a 32-bit counter that can wrap or be reset.
#[cfg(any(feature = "flow", feature = "live"))]
#[derive(Debug, Default)]
pub(crate) struct Sum {
    last: u32,
    sum: u64,
}

#[cfg(any(feature = "flow", feature = "live"))]
impl Sum {
    /// Adds the increase of the counter and returns the total. If the counter fell by at most 2^31, the driver has
    /// reset it, and nothing is added.
    pub(crate) fn add(&mut self, now: u32) -> u64 {
        let grown = now.wrapping_sub(self.last);
        self.sum += u64::from(if grown >> 31 == 0 { grown } else { 0 });
        self.last = now;
        self.sum
    }

    /// Creates a total of 0 for a counter whose current value is `now`.
    #[cfg(feature = "live")]
    pub(crate) const fn from(now: u32) -> Self {
        Self { last: now, sum: 0 }
    }

    #[cfg(feature = "flow")]
    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }
}

#[cfg(all(test, any(feature = "flow", feature = "live")))]
mod tests {
    use super::Sum;

    #[test]
    fn sums_go_on_where_counters_wrap() {
        let mut sum = Sum::default();
        let mut counter = 0_u32;
        for _ in 0..9 {
            counter = counter.wrapping_add(2_000_000_000);
            sum.add(counter);
        }
        assert_eq!(sum.add(counter), 18_000_000_000);
    }

    #[test]
    fn reset_counters_add_nothing() {
        let mut sum = Sum::default();
        assert_eq!([1_000, 10, 12].map(|now| sum.add(now)), [1_000, 1_000, 1_002]);
    }
}
