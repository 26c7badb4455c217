//! Counters of packets and datagrams that were dropped before they were read.
//!
//! Invariant: the kernel counts in 32 bits, which wrap; sums of 64 bits never fall.

/// Packets of an interface that were lost since the capture was opened.
#[cfg(feature = "live")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drops {
    /// Packets that passed the filter and that the kernel dropped, as its buffer was full: read faster, or give a larger
    /// [`capture_buffer`](crate::live::CaptureOptions::capture_buffer).
    pub buffer_full: u64,
    /// Packets that the network card or its driver dropped, as far as the system reports them.
    pub interface: u64,
}

/// The sum of a counter of 32 bits.
#[derive(Debug, Default)]
pub(super) struct Sum {
    last: u32,
    sum: u64,
}

impl Sum {
    /// Adds what the counter has grown by, and returns the sum. A counter that went back by less than 2^31 was reset, as drivers
    /// do with theirs, and adds nothing.
    pub(super) fn add(&mut self, now: u32) -> u64 {
        let grown = now.wrapping_sub(self.last);
        self.sum += u64::from(if grown >> 31 == 0 { grown } else { 0 });
        self.last = now;
        self.sum
    }

    #[cfg(feature = "flow")]
    pub(super) fn sum(&self) -> u64 {
        self.sum
    }
}

#[cfg(test)]
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
    fn counters_that_were_reset_add_nothing() {
        let mut sum = Sum::default();
        assert_eq!([1_000, 10, 12].map(|now| sum.add(now)), [1_000, 1_000, 1_002]);
    }
}
