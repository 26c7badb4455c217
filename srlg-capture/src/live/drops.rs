//! Packets that were lost before they were seen.
//!
//! Shape: counters of libpcap, of 32 bits that wrap, added up in 64 bits.
//! Invariant: sums never fall.

/// Counts packets of an interface that were lost since capturing began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drops {
    /// Packets that passed the filter and that the kernel dropped, as its buffer was full: read faster, or give a larger
    /// [`buffer_bytes`](crate::LiveOptions::buffer_bytes).
    pub buffer_full: u64,
    /// Packets that the network card or its driver dropped, as far as the system tells.
    pub interface: u64,
}

/// Adds up what libpcap counts.
#[derive(Debug, Default)]
pub(crate) struct DropSums {
    last: [u32; 2],
    sums: [u64; 2],
}

impl DropSums {
    /// Takes the counters that libpcap shows now: of the full buffer, of the interface.
    pub(crate) fn take(&mut self, counters: [u32; 2]) -> Drops {
        for ((sum, last), now) in self.sums.iter_mut().zip(&mut self.last).zip(counters) {
            *sum += u64::from(grown(*last, now));
            *last = now;
        }
        let [buffer_full, interface] = self.sums;
        Drops { buffer_full, interface }
    }
}

/// What a counter grew by from `last` to `now`. One that went back by less than 2^31 was reset, as drivers do with theirs, and
/// grew by nothing that is known.
fn grown(last: u32, now: u32) -> u32 {
    let difference = now.wrapping_sub(last);
    if difference >> 31 == 0 { difference } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{DropSums, Drops};

    #[test]
    fn sums_go_on_where_counters_wrap() {
        let mut sums = DropSums::default();
        let mut counter = 0_u32;
        for _ in 0..9 {
            counter = counter.wrapping_add(2_000_000_000);
            sums.take([counter, 7]);
        }
        let drops = sums.take([counter, 7]);
        assert_eq!(drops, Drops { buffer_full: 18_000_000_000, interface: 7 });
    }

    #[test]
    fn counters_that_were_reset_add_nothing() {
        let mut sums = DropSums::default();
        sums.take([5, 1_000]);
        assert_eq!(sums.take([5, 10]), Drops { buffer_full: 5, interface: 1_000 });
        assert_eq!(sums.take([6, 12]), Drops { buffer_full: 6, interface: 1_002 });
    }
}
