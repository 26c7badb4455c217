//! Synthetic backbone traffic of which everything is known.
//!
//! Model A, per period of 300 s: 99.4 % of the hosts have Pareto(1, 2.2)
//! cardinalities and are new in every period; 0.6 % have Pareto(48, 1.1), stay,
//! and vary by 15 % from period to period; a tenth of those scan, three tenths
//! are active for 30 to 150 s only. A pair is one flow: Pareto(1, 0.8) packets over
//! Pareto(0.5 s, 0.8), at most 900 s.
//!
//! Memory is that of the flows of one period, 24 bytes each. Equal parameters give equal packets in equal order on every
//! machine.

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
use srlg_core::{Address, IpPair};

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
    /// Slices to generate; at most 2^23 together with two periods.
    pub slices: u32,
    /// Slices per model period of 300 s, at least 1: with 300, a slice is one second.
    pub period: u32,
    /// Distinct pairs of the background in `period` consecutive slices: within 2 % from
    /// the first slice of a period, within about 6 % from others, by bursts that it cuts.
    pub pairs: u32,
    /// Mean number of packets of a pair: 46 in model A.
    pub packets_per_pair: u32,
    /// Hosts of known cardinality, each at most once; the background does not use them.
    pub planted: Vec<PlantedHost>,
}

impl Default for Backbone {
    /// 300 slices of one second with a million distinct pairs of 10 packets, nothing planted.
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

/// A host whose cardinality is known because nothing else uses it.
///
/// It contacts each of its peers once in every `min(period, slices)` slices, at
/// the same place of each: its cardinality in any window of so many slices, and
/// in the whole stream, is exactly [`PlantedHost::cardinality`].
#[derive(Clone, Copy, Debug)]
pub struct PlantedHost {
    /// The host, for example an [`inside_host`]: then no opposite host equals it.
    pub host: Address,
    /// Number of its distinct opposite hosts.
    pub cardinality: u32,
    /// What its opposite hosts look like.
    pub kind: Kind,
}

impl Backbone {
    /// The packets of each slice, in random order; a pair repeats for each of its packets.
    ///
    /// # Panics
    /// When `period` is 0 or the stream is longer than 2^23 slices with two periods.
    #[must_use]
    pub fn slices(&self) -> Slices {
        let planted: Vec<Address> = self.planted.iter().map(|point| point.host).collect();
        let background = Background::new(self, begun_per_period(self.pairs), &planted);
        Slices::of(self, vec![Box::new(background)])
    }
}

/// `count` distinct pairs for benchmarks: random ones of the first `hosts` inside hosts.
///
/// Distinct by construction: the opposite host is a bijection of the counter, so
/// `count` is limited to 2^32 and opposite hosts may have any address. `hosts`
/// must not exceed [`INSIDE_HOSTS`]; with 0 hosts all pairs are of the first one.
pub fn distinct_pairs(seed: u64, hosts: u32, count: u64) -> impl Iterator<Item = IpPair> {
    let mut rng = Rng::new(seed, hosts.into());
    let key = mix(seed) as u32;
    (0..count.min(1 << 32)).map(move |counter| IpPair {
        inside: inside_host(rng.below(hosts)),
        opposite: scatter(counter as u32 ^ key),
    })
}

/// A bijection of 32-bit integers: the finaliser of murmur3.
const fn scatter(value: u32) -> u32 {
    let mut x = value;
    x = (x ^ (x >> 16)).wrapping_mul(0x85EB_CA6B);
    x = (x ^ (x >> 13)).wrapping_mul(0xC2B2_AE35);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests;
