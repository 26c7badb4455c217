//! Packet counters of a capture, by outcome.
//!
//! Invariant: a packet is counted only by [`PacketCounts::record`], once, and either yields contacts or is skipped.

use std::fmt;
use std::ops::AddAssign;

use crate::capture::frame::Frame;
use crate::packet::ether_type::{self, ARP};
use crate::packet::{Headers, Skip, frame, link};
use crate::reason::write_counts;

/// Counters of the packets that a reader has read so far, by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Number of complete frames, messages or rows. Skipped ones are included, but blank lines and header lines are
    /// not. Each direction of a logged conversation counts as a row.
    pub packets: u64,
    /// Number of contacts or datagrams that were delivered. With `Tunnels::Both`, a packet in a tunnel yields two
    /// contacts.
    pub contacts: u64,
    skips: [u64; Skip::ALL.len()],
    /// Packets that yield a contact although a tunnel in them was not entered.
    closed_tunnels: [u64; Skip::ALL.len()],
    first_ether_type: Option<u16>,
    first_link_type: Option<u16>,
}

impl PacketCounts {
    /// Returns the number of packets skipped for `reason`.
    pub fn skipped(&self, reason: Skip) -> u64 {
        self.skips[reason as usize]
    }

    /// Returns the number of packets that yield a contact of tunnel endpoints, because for `reason` the tunnel could not
    /// be entered.
    pub fn closed_tunnels(&self, reason: Skip) -> u64 {
        self.closed_tunnels[reason as usize]
    }

    /// Returns the EtherType of the first packet that was skipped as [`Skip::NotIp`] and has an EtherType. Headers that
    /// can be read are passed over. ARP is returned only if there is no other EtherType, because ARP accompanies IP on every Ethernet.
    pub fn first_ether_type(&self) -> Option<u16> {
        self.first_ether_type
    }

    /// Returns the link type of the first packet that was skipped as [`Skip::LinkType`].
    pub fn first_link_type(&self) -> Option<u16> {
        self.first_link_type
    }

    /// Finds the outermost IP header of a frame. If there is none, records the type of the frame.
    #[inline(always)]
    pub(crate) fn headers<'a>(&mut self, frame: &Frame<'a>) -> Result<Headers<'a>, Skip> {
        let headers = frame::headers(frame.link_type, frame.bytes);
        if let Err(reason) = headers {
            self.record_type(reason, frame.link_type, frame.bytes);
        }
        headers
    }

    #[cold]
    fn record_type(&mut self, reason: Skip, link_type: u16, frame: &[u8]) {
        match reason {
            Skip::NotIp => {
                self.record_ether_type(|| frame::last_types(link_type, frame).ether_type);
            }
            Skip::LinkType => {
                let number = || frame::last_types(link_type, frame).link_type;
                self.first_link_type.get_or_insert_with(number);
            }
            _ => {}
        }
    }

    fn record_ether_type(&mut self, ether_type: impl FnOnce() -> Option<u16>) {
        if self.first_ether_type.is_none_or(|first| first == ARP) {
            self.first_ether_type = ether_type().or(self.first_ether_type);
        }
    }

    #[cold]
    pub(crate) fn record_closed_tunnel(&mut self, reason: Skip) {
        self.closed_tunnels[reason as usize] += 1;
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
        let counts = self.skips.iter_mut().chain(&mut self.closed_tunnels);
        for (count, more) in counts.zip(other.skips.iter().chain(&other.closed_tunnels)) {
            *count += more;
        }
        self.record_ether_type(|| other.first_ether_type);
        self.first_link_type = self.first_link_type.or(other.first_link_type);
    }
}

/// Writes the totals, the reasons that occurred, and the first types of frames that cannot be read, in one line.
impl fmt::Display for PacketCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, contacts, .. } = self;
        let skipped: u64 = self.skips.iter().sum();
        write!(f, "{packets} packets or rows, {contacts} contacts, {skipped} skipped")?;
        write_counts(f, Skip::ALL.map(|reason| (reason.name(), self.skipped(reason))))?;
        let closed: u64 = self.closed_tunnels.iter().sum();
        if closed > 0 {
            write!(f, "; {closed} tunnels not entered")?;
            write_counts(f, Skip::ALL.map(|reason| (reason.name(), self.closed_tunnels(reason))))?;
        }
        if let Some(kind) = self.first_ether_type {
            write!(f, "; first EtherType other than IP: {kind:#06x}")?;
            write_name(f, ether_type::name(kind))?;
        }
        if let Some(number) = self.first_link_type {
            write!(f, "; first unsupported link type: {number}")?;
            write_name(f, link::name(number))?;
        }
        Ok(())
    }
}

fn write_name(f: &mut fmt::Formatter<'_>, name: Option<&str>) -> fmt::Result {
    name.map_or(Ok(()), |name| write!(f, " ({name})"))
}

#[cfg(test)]
mod tests {
    use super::PacketCounts;
    use crate::capture::frame::Frame;
    use crate::packet::Skip;

    /// Counts an Ethernet frame of `kind` and a frame of `link_type`.
    fn count(counts: &mut PacketCounts, kind: u16, link_type: u16) {
        let ethernet = [&[0; 12][..], &kind.to_be_bytes(), &[0; 46]].concat();
        for link_type in [1, link_type] {
            let frame = Frame { time_ns: 0, link_type, bytes: &ethernet, original: 60 };
            let outcome = counts.headers(&frame).map(drop);
            assert_eq!(counts.record(outcome), None);
        }
    }

    #[test]
    fn the_first_unknown_types_are_kept_and_arp_gives_way() {
        let mut counts = PacketCounts::default();
        assert_eq!((counts.first_ether_type(), counts.first_link_type()), (None, None));
        count(&mut counts, 0x0026, 195); // LLC has no EtherType
        assert_eq!((counts.first_ether_type(), counts.first_link_type()), (None, Some(195)));
        count(&mut counts, 0x0806, 147);
        assert_eq!(counts.first_ether_type(), Some(0x0806));
        count(&mut counts, 0x88cc, 147);
        count(&mut counts, 0x1234, 147);
        count(&mut counts, 0x0806, 147);
        assert_eq!(
            (counts.first_ether_type(), counts.first_link_type()),
            (Some(0x88cc), Some(195))
        );
        assert_eq!((counts.skipped(Skip::NotIp), counts.skipped(Skip::LinkType)), (5, 5));
    }

    #[test]
    fn sums_of_counts_keep_the_first_unknown_types() {
        let mut parts = [(0x0806, 147), (0x88cc, 195), (0x1234, 189)].map(|(kind, link_type)| {
            let mut counts = PacketCounts::default();
            count(&mut counts, kind, link_type);
            counts
        });
        let mut sum = PacketCounts::default();
        parts.iter().for_each(|part| sum += part);
        assert_eq!((sum.first_ether_type(), sum.first_link_type()), (Some(0x88cc), Some(147)));
        insta::assert_snapshot!(sum);
        parts[2] += &PacketCounts::default();
        assert_eq!(parts[2].first_ether_type(), Some(0x1234));
    }

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
