//! Packet counters of a capture, by outcome.
//!
//! Invariant: `packets == contacts + sum of skips`. A packet is counted only by [`PacketCounts::record`].

use std::fmt;
use std::ops::AddAssign;

use crate::packet::Skip;
use crate::reason::write_counts;

/// Counters of the packets that a reader has read so far, by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Number of complete frames, messages or rows. Skipped ones are included, but blank lines and header lines are
    /// not. Each direction of a logged conversation counts as a row. With `Tunnels::Both`, the inner packet of a tunnel
    /// also counts.
    pub packets: u64,
    /// Number of packets that were delivered as contacts or datagrams.
    pub contacts: u64,
    skips: [u64; Skip::ALL.len()],
}

impl PacketCounts {
    /// Returns the number of packets skipped for `reason`.
    pub fn skipped(&self, reason: Skip) -> u64 {
        self.skips[reason as usize]
    }

    /// Counts one packet and returns its result, or `None` if it was skipped.
    #[inline(always)]
    pub(crate) fn record<T>(&mut self, outcome: Result<T, Skip>) -> Option<T> {
        self.packets += 1;
        match &outcome {
            Ok(_) => self.contacts += 1,
            Err(reason) => self.skips[*reason as usize] += 1,
        }
        outcome.ok()
    }
}

impl AddAssign<&Self> for PacketCounts {
    fn add_assign(&mut self, other: &Self) {
        self.packets += other.packets;
        self.contacts += other.contacts;
        for (count, more) in self.skips.iter_mut().zip(other.skips) {
            *count += more;
        }
    }
}

/// Writes the totals and the reasons that occurred, in one line.
impl fmt::Display for PacketCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, contacts, .. } = self;
        write!(
            f,
            "{packets} packets or rows, {contacts} contacts, {} skipped",
            packets - contacts
        )?;
        write_counts(f, Skip::ALL.map(|reason| (reason.name(), self.skipped(reason))))
    }
}

#[cfg(test)]
mod tests {
    use super::PacketCounts;
    use crate::packet::Skip;

    #[test]
    fn every_reason_has_its_own_count_and_name() {
        let mut counts = PacketCounts::default();
        for reason in Skip::ALL {
            assert_eq!(counts.record::<()>(Err(reason)), None);
            assert_eq!(counts.skipped(reason), 1);
        }
        let mut names = Skip::ALL.map(Skip::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn summary_names_only_the_reasons_that_occurred() {
        let mut counts = PacketCounts::default();
        counts.record(Ok(()));
        let first = counts.to_string();
        counts.record::<()>(Err(Skip::CutHeader));
        counts.record::<()>(Err(Skip::NotIp));
        insta::assert_snapshot!(format!("{first}\n{counts}"));
    }
}
