//! Synthetic backbone traffic with known properties.
//!
//! Model A describes a period of 300 s. Pareto(m, a) is the Pareto distribution with minimum m and tail index a. 99.4 %
//! of the hosts have Pareto(1, 2.2) cardinalities and are new in every period. The remaining 0.6 % are the *staying*
//! hosts, which exist in every period. Their cardinalities are Pareto(48, 1.1), multiplied by a random factor from 0.85
//! to 1.15 in each period. A tenth of the staying hosts are scanners, and three tenths are active for only 30 to 150 s
//! of a period. In a period, each pair has one flow of Pareto(1, 0.8) packets. The duration of a flow with more than
//! one packet is Pareto(0.5 s, 0.8), at most 900 s.
//!
//! The flows of one period are kept in memory and need 24 bytes each. Equal parameters produce the same packets in the
//! same order on every machine.

mod calendar;
mod flow;
mod hosts;
mod model;
mod network;
mod peers;
mod rng;
mod stream;

pub use calendar::Slices;
pub use model::{Model, UnknownModel};
pub use network::{INSIDE_HOSTS, inside_host};
pub use peers::Kind;
pub use rng::mix;
pub use stream::Stream;

use hosts::{Background, begun_per_period};
use rng::Rng;
use srlg_core::{Address, Ipv4Pair};

/// Parameters of the synthetic traffic.
///
/// ```
/// use srlg_traffic::synthetic::{Backbone, Kind, PlantedHost, inside_host};
/// let victim = PlantedHost { host: inside_host(7), cardinality: 2000, kind: Kind::FloodVictim };
/// let traffic = Backbone { slices: 30, pairs: 10_000, planted: vec![victim], ..Backbone::default() };
/// let packets: usize = traffic.slices().map(|slice| slice.len()).sum();
/// assert!(packets > 10_000);
/// ```
#[derive(Clone, Debug)]
pub struct Backbone {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of slices to generate. The sum of `slices` and `period`, rounded up to a multiple of `period`, must be at
    /// most 2^23.
    pub slices: u32,
    /// Number of slices per model period of 300 s, at least 1. If it is 300, a slice lasts one second.
    pub period: u32,
    /// Number of distinct background pairs in `period` consecutive slices. If these slices are exactly one model
    /// period, the number is accurate to within 2 %. If they span two periods, it is accurate to within about 6 %,
    /// because bursts may be cut off.
    pub pairs: u32,
    /// Mean number of packets per pair. Model A has 46.
    pub packets_per_pair: u32,
    /// Hosts with known cardinalities. Each host may be listed only once. The background does not use these hosts as
    /// inside hosts.
    pub planted: Vec<PlantedHost>,
}

impl Default for Backbone {
    /// Returns parameters for 300 slices of one second, a million distinct pairs, 10 packets per pair, and no planted
    /// hosts.
    fn default() -> Self {
        Self {
            seed: 1,
            slices: 300,
            period: 300,
            pairs: 1_000_000,
            packets_per_pair: 10,
            planted: Vec::new(),
        }
    }
}

/// A host with a known cardinality. The background does not use it as an inside host.
///
/// In every cycle of `min(period, slices)` slices, the host contacts each of its peers once, always in the same slice
/// of the cycle. In any window as long as a cycle, and in the whole stream, its cardinality is exactly
/// [`PlantedHost::cardinality`].
#[derive(Clone, Copy, Debug)]
pub struct PlantedHost {
    /// Address of the host, for example an [`inside_host`]. An inside host is never the peer of another host.
    pub host: Address,
    /// Number of distinct peers.
    pub cardinality: u32,
    /// Kind of host, which determines its peers.
    pub kind: Kind,
}

impl Backbone {
    /// Returns the packets of each slice, as pairs in random order.
    ///
    /// # Panics
    /// Panics if `period` is 0, or if `slices + period`, rounded up to a multiple of `period`, is more than 2^23.
    #[must_use]
    pub fn slices(&self) -> Slices {
        let planted: Vec<Address> = self.planted.iter().map(|point| point.host).collect();
        let background = Background::new(self, begun_per_period(self.pairs), &planted);
        Slices::of(self, vec![Box::new(background)])
    }
}

/// Returns `count` distinct pairs for benchmarks. Their inside hosts are drawn at random from the first `hosts` inside
/// hosts.
///
/// A bijection converts a counter to the address of each peer. The pairs are therefore distinct, and a peer can have
/// any address, including that of an inside host. At most 2^32 pairs are returned. `hosts` must be at most
/// [`INSIDE_HOSTS`]. If `hosts` is 0, all pairs have the first inside host.
pub fn distinct_pairs(seed: u64, hosts: u32, count: u64) -> impl Iterator<Item = Ipv4Pair> {
    let mut rng = Rng::new(seed, hosts.into());
    let key = mix(seed) as u32;
    (0..count.min(1 << 32)).map(move |counter| Ipv4Pair {
        inside: inside_host(rng.below(hosts)),
        peer: scatter(counter as u32 ^ key),
    })
}

/// Applies the finaliser of murmur3, which is a bijection, to a 32-bit integer.
const fn scatter(value: u32) -> u32 {
    let mut x = value;
    x = (x ^ (x >> 16)).wrapping_mul(0x85EB_CA6B);
    x = (x ^ (x >> 13)).wrapping_mul(0xC2B2_AE35);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests;
