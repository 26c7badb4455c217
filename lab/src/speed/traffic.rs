//! Traffic for the measurement of ingest.
//!
//! A [`Traffic`] has a name and the slices of one round. Equal settings generate the same pairs.
//!
//! - `distinct`: all pairs are distinct and belong to one slice. Pairs touch random recorders. At the start of the
//!   slice, no recorder has been touched.
//! - `packets`: consecutive seconds of a busy link. Each second is a slice. The traffic is that of model A, which has a
//!   mean of 46 packets per pair in five minutes. A second has [`SECOND`] packets on average, so a window of 300 s has
//!   6.5 million distinct pairs. A few pairs account for most of the packets. Most slices have 0.6 to 0.8 million
//!   packets and about 37,000 distinct pairs.
//! - `flood`: the slices of `packets`, in which four out of five packets are replaced by packets to one victim. Each
//!   packet to the victim has a different spoofed source.

use srlg_core::{IpPair, Ipv4Pair};
use srlg_host::Device;
use srlg_host::ingest::PairBatch;
use srlg_traffic::family::{Family, v6_pairs};
use srlg_traffic::synthetic::{Backbone, distinct_pairs};

use super::{PAIRS_PER_CALL, Setting};
use crate::feed::batches;

/// Approximate number of packets per second on the link. A round with fewer pairs contains about one second of
/// traffic.
const SECOND: u32 = 1_000_000;
/// Length of a window, in seconds.
const WINDOW: u32 = 300;
/// Mean number of packets per pair in model A.
const PACKETS_PER_PAIR: u32 = 46;
/// In a flood, one packet in `BACKGROUND` is background traffic, which is not sent to the victim.
const BACKGROUND: usize = 5;

pub(super) struct Traffic {
    pub(super) name: &'static str,
    /// All pairs in one window of link traffic, which alternatives ingest once before the first round. The list is
    /// empty for `distinct`, and for `flood`, which fills most of the window itself. It is also empty on a GPU.
    pub(super) before: Vec<Ipv4Pair>,
    pub(super) slices: Vec<Vec<Ipv4Pair>>,
}

impl Traffic {
    pub(super) fn v6(&self) -> Vec<Vec<IpPair>> {
        self.slices.iter().map(|slice| v6_pairs(slice)).collect()
    }

    /// Returns the slices as batches of both families. Half of the inside hosts are IPv6 hosts. The victim of a flood
    /// is either an IPv4 or an IPv6 host, depending on its number.
    pub(super) fn mixed(&self) -> Vec<Vec<PairBatch>> {
        let batches = |slice: &Vec<Ipv4Pair>| batches(Family::Mixed, slice, PAIRS_PER_CALL);
        self.slices.iter().map(batches).collect()
    }
}

pub(super) fn all(setting: &Setting<'_>) -> [Traffic; 3] {
    let packets = packets(setting);
    let flood = flood(setting.options.seed, &packets);
    // On a GPU, no alternatives are measured.
    let before = if setting.device == Device::Cpu { before(setting) } else { Vec::new() };
    let distinct = vec![setting.distinct(setting.pairs)];
    [
        Traffic { name: "distinct", before: Vec::new(), slices: distinct },
        Traffic { name: "packets", before, slices: packets },
        Traffic { name: "flood", before: Vec::new(), slices: flood },
    ]
}

fn link(setting: &Setting<'_>) -> Backbone {
    let second = setting.pairs.min(SECOND);
    Backbone {
        seed: setting.options.seed,
        // Seconds have different numbers of packets, so there are spare slices, which cost little.
        slices: 2 * setting.pairs.div_ceil(second) + 8,
        period: WINDOW,
        pairs: (second / PACKETS_PER_PAIR + 1) * WINDOW,
        packets_per_pair: PACKETS_PER_PAIR,
        planted: Vec::new(),
    }
}

fn packets(setting: &Setting<'_>) -> Vec<Vec<Ipv4Pair>> {
    let mut left = setting.pairs as usize;
    let mut slices = Vec::new();
    for mut slice in link(setting).slices() {
        slice.truncate(left);
        left -= slice.len();
        slices.push(slice);
        if left == 0 {
            break;
        }
    }
    slices
}

/// Returns all pairs in one window of link traffic. Each pair has one packet.
fn before(setting: &Setting<'_>) -> Vec<Ipv4Pair> {
    let model = Backbone { slices: WINDOW, packets_per_pair: 1, ..link(setting) };
    model.slices().flatten().collect()
}

fn flood(seed: u64, packets: &[Vec<Ipv4Pair>]) -> Vec<Vec<Ipv4Pair>> {
    let count: usize = packets.iter().map(Vec::len).sum();
    // All spoofed pairs have the first host as their inside host.
    let mut spoofed = distinct_pairs(seed, 0, count as u64);
    let mut slice = |packets: &Vec<Ipv4Pair>| {
        let packets = packets.iter().enumerate().map(|(number, &packet)| {
            let background = number.is_multiple_of(BACKGROUND).then_some(packet);
            background.or_else(|| spoofed.next()).unwrap_or(packet)
        });
        packets.collect()
    };
    packets.iter().map(&mut slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn four_packets_of_five_of_a_flood_are_for_one_host_and_no_two_from_one_source() {
        let packets: Vec<Ipv4Pair> = (0..1000).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
        let flood = flood(1, &[packets[..400].to_vec(), packets[400..].to_vec()]);
        assert_eq!(flood.iter().map(Vec::len).collect::<Vec<_>>(), [400, 600]);
        let victim: Vec<_> = flood.iter().flatten().filter(|pair| pair.inside != 7).collect();
        assert!(victim.len() == 800 && victim.iter().all(|pair| pair.inside == victim[0].inside));
        assert_eq!(victim.iter().map(|pair| pair.peer).collect::<HashSet<_>>().len(), 800);
    }
}
