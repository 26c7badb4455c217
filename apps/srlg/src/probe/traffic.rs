//! Generated traffic of a whole network, and the share of each router.
//!
//! All probes use the same [`Traffic`], except for the share. Invariant: every pair belongs to exactly one share, so
//! all shares together form the whole traffic. A hash spreads the peers of a host evenly over the shares. Therefore a
//! host with clearly fewer than nθ peers has fewer than θ peers at each of n routers.

use srlg_host::IpPair;
use srlg_input::number;
use srlg_traffic::family::Family;
use srlg_traffic::synthetic::{Backbone, Kind, PlantedHost, inside_host};

use crate::network::subjects::Part;

/// Cardinalities of the planted hosts.
pub const PLANTED: [u32; 9] = [400, 700, 1300, 1600, 2000, 2400, 2800, 5000, 12_000];

/// Generated traffic that every probe can reproduce.
#[derive(Clone, Debug, clap::Args)]
pub struct Traffic {
    /// Generate backbone-like traffic with this many distinct pairs in 300 consecutive slices, such as 300k or 2M
    #[arg(long, value_name = "PAIRS", value_parser = number::count)]
    pub generate: Option<u32>,

    /// Number of generated slices
    #[arg(long, value_name = "N", default_value_t = 60, requires = "generate")]
    pub slices: u32,

    /// Number of the first generated slice [default: the current slice by the system clock]; a collector rejects slices
    /// that are more than a day ahead of its system clock
    #[arg(long, value_name = "SLICE", requires = "generate")]
    pub first_slice: Option<u64>,

    /// Share of the pairs that this probe sees, as I/N, where I is from 1 to N
    #[arg(long, value_name = "I/N", default_value = "1/1", requires = "generate")]
    pub share: Part,

    /// Address family of the generated hosts; with `mixed`, half of the inside hosts use IPv4 and half use IPv6
    #[arg(long, value_name = "4|6|mixed", default_value_t, requires = "generate")]
    pub family: Family,

    /// Seed of the generated traffic
    #[arg(long, value_name = "N", default_value_t = 1, requires = "generate")]
    pub traffic_seed: u64,
}

fn is_of(share: Part, pair: IpPair) -> bool {
    let IpPair { inside, opposite } = pair;
    // This is the finaliser of murmur3. Its constants differ from the constants of the detector's hashes.
    let mut x = inside.wrapping_mul(0x9E37_79B1) ^ opposite;
    x = (x ^ (x >> 16)).wrapping_mul(0x7FEB_352D);
    x = (x ^ (x >> 15)).wrapping_mul(0x846C_A68B);
    x ^= x >> 16;
    (u64::from(x) * u64::from(share.count)) >> 32 == u64::from(share.number - 1)
}

impl Traffic {
    /// Returns the pairs of the share, slice by slice.
    pub fn slices(&self) -> impl Iterator<Item = Vec<IpPair>> + use<> {
        let share = self.share;
        let traffic = Backbone {
            seed: self.traffic_seed,
            slices: self.slices,
            pairs: self.generate.unwrap_or(0),
            planted: planted(),
            ..Backbone::default()
        };
        traffic.slices().map(move |mut pairs| {
            pairs.retain(|&pair| is_of(share, pair));
            pairs
        })
    }
}

/// Returns the planted hosts.
#[must_use]
pub fn planted() -> Vec<PlantedHost> {
    let kinds = [Kind::FloodVictim, Kind::Scanner, Kind::Server];
    let plant = |(index, &cardinality): (usize, &u32)| PlantedHost {
        host: inside_host(index as u32),
        cardinality,
        kind: kinds[index % kinds.len()],
    };
    PLANTED.iter().enumerate().map(plant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn traffic(share: &str) -> Traffic {
        let (generate, share) = (Some(20_000), share.parse().unwrap());
        Traffic {
            generate,
            slices: 5,
            first_slice: None,
            share,
            family: Family::V4,
            traffic_seed: 3,
        }
    }

    #[test]
    fn the_shares_of_three_routers_are_the_traffic_each_pair_once() {
        let mut whole: Vec<IpPair> = traffic("1/1").slices().flatten().collect();
        let shares = ["1/3", "2/3", "3/3"].map(traffic);
        let mut parts: Vec<IpPair> =
            shares.iter().flat_map(|share| share.slices().flatten()).collect();
        let key = |pair: &IpPair| (pair.inside, pair.opposite);
        whole.sort_unstable_by_key(key);
        parts.sort_unstable_by_key(key);
        assert_eq!(parts, whole);
    }

    #[test]
    fn planted_hosts_of_less_than_three_thresholds_are_below_it_at_each_of_three_routers() {
        for share in ["1/3", "2/3", "3/3"] {
            let mut pairs: Vec<IpPair> = traffic(share).slices().flatten().collect();
            pairs.sort_unstable_by_key(|pair| (pair.inside, pair.opposite));
            pairs.dedup();
            let mut counts = BTreeMap::<u32, u32>::new();
            pairs.iter().for_each(|pair| *counts.entry(pair.inside).or_default() += 1);
            for host in planted().iter().filter(|host| host.cardinality <= 2800) {
                let seen = counts.get(&host.host).copied().unwrap_or(0);
                assert!(seen < 1024, "{} of {} at {share}", seen, host.cardinality);
            }
        }
    }
}
