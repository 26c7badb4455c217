//! Traffic of exactly a plan's load: many small hosts, and hosts of known numbers of opposite hosts.
//!
//! Shape: [`Traffic`], windows of slices, one after the other, with new hosts in each. Invariant: a window
//! has its load of pairs, all different (but for chance among random ones), evenly over its slices.

use srlg_core::{Address, IpPair};
use srlg_traffic::synthetic::mix;

/// Planted hosts are numbered from here on, others below.
const FIRST_PLANTED: u32 = 1 << 31;

/// What is not planted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Background {
    /// Hosts of some ten opposite hosts each.
    Small,
    /// Hosts of 1, 2, 4 and so on opposite hosts, up to θ/2, each size with as many pairs.
    Tailed,
}

impl Background {
    pub(super) const ALL: [Self; 2] = [Self::Small, Self::Tailed];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Tailed => "tailed",
        }
    }

    /// Mean numbers of opposite hosts, of each of which there are as many pairs.
    fn sizes(self, threshold: u32) -> Vec<u32> {
        match self {
            Self::Small => vec![10],
            Self::Tailed => {
                let most = threshold / 2;
                let powers = (0..32).map(|power| 1 << power).take_while(|&size| size < most);
                powers.chain([most]).collect()
            }
        }
    }
}

/// Windows of traffic.
pub(super) struct Traffic {
    seed: u64,
    load: u32,
    window: u32,
    sizes: Vec<u32>,
    /// Opposite hosts of the planted, and how many of each there are in a window.
    planted: [u32; 3],
    each: u32,
}

impl Traffic {
    /// Of `load` pairs, at least 4θ, in windows of `window` slices; a quarter of them, or what `each` hosts of θ/2, of θ and of 2θ
    /// have, are of planted hosts.
    pub(super) fn new(
        seed: u64,
        (load, window): (u32, u32),
        threshold: u32,
        background: Background,
        each: u32,
    ) -> Self {
        let planted = [threshold / 2, threshold, 2 * threshold];
        // A load has room for one of each.
        let each = each.min(load / 4 / planted.iter().sum::<u32>()).max(1);
        Self { seed, load, window, sizes: background.sizes(threshold), planted, each }
    }

    /// Planted hosts of each kind in a window.
    pub(super) const fn each(&self) -> u32 {
        self.each
    }

    /// The pairs of a window as they act on recorders, where estimators have `width` of them: a host that touches
    /// much of its estimator touches some of it twice.
    pub(super) fn acting(&self, width: u32) -> u64 {
        let width = f64::from(width);
        let touched = |contacts: u32| width * (1.0 - (-f64::from(contacts) / width).exp());
        let share = |&size: &u32| touched(size) / f64::from(size) / self.sizes.len() as f64;
        let planted: f64 = self.planted.iter().map(|&contacts| touched(contacts)).sum();
        let background = f64::from(self.load - self.planted_pairs());
        (background * self.sizes.iter().map(share).sum::<f64>() + f64::from(self.each) * planted)
            as u64
    }

    /// Pairs of planted hosts in a window.
    fn planted_pairs(&self) -> u32 {
        self.each * self.planted.iter().sum::<u32>()
    }

    /// The planted hosts of a kind in a window from 1 on: 0 of θ/2, 1 of θ, 2 of 2θ.
    pub(super) fn planted(&self, window: u32, kind: u32) -> impl Iterator<Item = Address> + use<> {
        let first = FIRST_PLANTED + (window * self.planted.len() as u32 + kind) * self.each;
        first..first + self.each
    }

    /// The pairs of a slice of a window. In window 0 none are of planted hosts.
    pub(super) fn slice(&self, window: u32, slice: u32) -> Vec<IpPair> {
        let planted = if window == 0 { 0 } else { self.planted_pairs() };
        let background = u64::from(self.load - planted);
        let until = |slice: u32| background * u64::from(slice) / u64::from(self.window);
        let numbers = until(slice)..until(slice + 1);
        let mut pairs: Vec<_> =
            numbers.map(|number| self.background(background, window, number)).collect();
        if window > 0 {
            for (kind, &contacts) in (0..).zip(&self.planted) {
                for host in self.planted(window, kind) {
                    self.plant(&mut pairs, host, contacts, slice);
                }
            }
        }
        pairs
    }

    fn background(&self, pairs: u64, window: u32, number: u64) -> IpPair {
        let random = mix(self.seed ^ mix((u64::from(window) << 40) | number));
        let class = ((random >> 48) as usize * self.sizes.len()) >> 16;
        let hosts = (pairs / (self.sizes.len() as u64 * u64::from(self.sizes[class]))).max(1);
        let host = ((random & 0xffff_ffff) * hosts) >> 32;
        let host = mix(self.seed ^ ((host << 32) | (u64::from(window) << 8) | class as u64)) as u32;
        IpPair { inside: host % FIRST_PLANTED, opposite: mix(random) as u32 }
    }

    /// The contacts of a planted host in a slice, evenly over those of a window.
    fn plant(&self, pairs: &mut Vec<IpPair>, host: Address, contacts: u32, slice: u32) {
        let random = mix(self.seed ^ u64::from(host));
        // The first contact is at a random place of the time between two contacts.
        let window = u64::from(self.window);
        let place = random % window;
        let until = |slice: u32| (u64::from(slice) * u64::from(contacts) + place) / window;
        let peer =
            |contact: u64| (contact as u32).wrapping_mul(0x9e37_79b1) ^ (random >> 32) as u32;
        pairs.extend(
            (until(slice)..until(slice + 1))
                .map(|contact| IpPair { inside: host, opposite: peer(contact) }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn a_window_has_its_load_and_its_planted_hosts_have_their_opposite_hosts() {
        for (background, slices) in [(Background::Small, 10), (Background::Tailed, 7)] {
            let traffic = Traffic::new(1, (50_000, slices), 100, background, 1000);
            // A quarter of the load in hosts of 50, 100 and 200.
            assert_eq!(traffic.each(), 35);
            let pairs: Vec<_> = (0..slices).flat_map(|slice| traffic.slice(2, slice)).collect();
            assert_eq!(pairs.len(), 50_000);
            let distinct: HashSet<_> =
                pairs.iter().map(|pair| (pair.inside, pair.opposite)).collect();
            // Of hosts of 50 opposite hosts among 2^32 hardly one has the same twice.
            assert!(distinct.len() > 49_990);
            let mut hosts = HashMap::new();
            distinct.iter().for_each(|(host, _)| *hosts.entry(*host).or_insert(0) += 1);
            for (kind, contacts) in [(0, 50), (1, 100), (2, 200)] {
                assert!(traffic.planted(2, kind).all(|host| hosts[&host] == contacts));
            }
            let others = hosts.iter().filter(|&(&host, _)| host < FIRST_PLANTED);
            let most = others.map(|(_, &contacts)| contacts).max().unwrap();
            // Poisson numbers of mean 10 or 50 of some thousand hosts.
            assert!(
                most < if matches!(background, Background::Small) { 35 } else { 100 },
                "{most}"
            );
        }
    }
}
