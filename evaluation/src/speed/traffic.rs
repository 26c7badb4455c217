//! The pairs of a round of ingest.
//!
//! A [`Traffic`] has a name and slices, with as many pairs as a round has. Equal settings make equal pairs.
//!
//! - `distinct`: no pair comes twice, all of them in one slice: each touches random recorders
//!   that nothing touched before in this slice.
//! - `packets`: consecutive seconds of a busy link, a slice each. Model A with its own mean of
//!   46 packets for each pair of five minutes; [`SECOND`] packets each second on average, hence
//!   6.5 M distinct pairs in the window of 300 s. Few flows have most of the packets: a slice of
//!   0.6 to 0.8 M, as most are, has 37,000 pairs.
//! - `flood`: the same seconds, in which four packets of five are for one victim, each from a
//!   spoofed source of its own.

use srlg_core::{Ip6Pair, IpPair};
use srlg_host::Device;
use srlg_host::ingest::PairBatch;
use srlg_traffic::family::{Family, v6_pairs};
use srlg_traffic::synthetic::{Backbone, distinct_pairs};

use super::{PAIRS_PER_CALL, Setting};
use crate::feed::batches;

/// Packets of a second of the link, about; fewer where a round is shorter.
const SECOND: u32 = 1_000_000;
/// Seconds of a window.
const WINDOW: u32 = 300;
/// Mean packets of a pair, those of model A.
const PACKETS_PER_PAIR: u32 = 46;
/// One packet in so many is not for the victim of a flood.
const BACKGROUND: usize = 5;

/// Slices of pairs.
pub(super) struct Traffic {
    pub(super) name: &'static str,
    /// What systems that remember pairs hold before the first round, once each: the window of
    /// the link. A flood that lasts has most of the window itself.
    pub(super) before: Vec<IpPair>,
    pub(super) slices: Vec<Vec<IpPair>>,
}

impl Traffic {
    /// The slices, all hosts of IPv6.
    pub(super) fn v6(&self) -> Vec<Vec<Ip6Pair>> {
        self.slices.iter().map(|slice| v6_pairs(slice)).collect()
    }

    /// The slices, half of the inside hosts of IPv6, in batches: a victim of a flood is of either family.
    pub(super) fn mixed(&self) -> Vec<Vec<PairBatch>> {
        let batches = |slice: &Vec<IpPair>| batches(Family::Mixed, slice, PAIRS_PER_CALL);
        self.slices.iter().map(batches).collect()
    }
}

/// All kinds.
pub(super) fn all(setting: &Setting<'_>) -> [Traffic; 3] {
    let packets = packets(setting);
    let flood = flood(setting.options.seed, &packets);
    // On a GPU nothing runs that remembers pairs.
    let before = if setting.device == Device::Cpu { before(setting) } else { Vec::new() };
    let distinct = vec![setting.distinct(setting.pairs)];
    [
        Traffic { name: "distinct", before: Vec::new(), slices: distinct },
        Traffic { name: "packets", before, slices: packets },
        Traffic { name: "flood", before: Vec::new(), slices: flood },
    ]
}

/// The link.
fn link(setting: &Setting<'_>) -> Backbone {
    let second = setting.pairs.min(SECOND);
    Backbone {
        seed: setting.options.seed,
        // Seconds differ: more of them than should be needed, which costs little.
        slices: 2 * setting.pairs.div_ceil(second) + 8,
        period: WINDOW,
        pairs: (second / PACKETS_PER_PAIR + 1) * WINDOW,
        packets_per_pair: PACKETS_PER_PAIR,
        planted: Vec::new(),
    }
}

fn packets(setting: &Setting<'_>) -> Vec<Vec<IpPair>> {
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

/// As many pairs of hosts like those of the link as it has in a window.
fn before(setting: &Setting<'_>) -> Vec<IpPair> {
    let model = Backbone { slices: WINDOW, packets_per_pair: 1, ..link(setting) };
    model.slices().flatten().collect()
}

fn flood(seed: u64, packets: &[Vec<IpPair>]) -> Vec<Vec<IpPair>> {
    let count: usize = packets.iter().map(Vec::len).sum();
    // Of no host but the first.
    let mut spoofed = distinct_pairs(seed, 0, count as u64);
    let mut slice = |packets: &Vec<IpPair>| {
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
        let packets: Vec<IpPair> =
            (0..1000).map(|opposite| IpPair { inside: 7, opposite }).collect();
        let flood = flood(1, &[packets[..400].to_vec(), packets[400..].to_vec()]);
        assert_eq!(flood.iter().map(Vec::len).collect::<Vec<_>>(), [400, 600]);
        let victim: Vec<_> = flood.iter().flatten().filter(|pair| pair.inside != 7).collect();
        assert!(victim.len() == 800 && victim.iter().all(|pair| pair.inside == victim[0].inside));
        assert_eq!(victim.iter().map(|pair| pair.opposite).collect::<HashSet<_>>().len(), 800);
    }
}
