//! Share of a host's peers that only try to connect.
//!
//! Peers are judged rather than contacts, because a busy server sends and receives any number of packets with few
//! clients while many forged clients send one SYN each.

use serde::{Deserialize, Serialize};

use crate::top::at_most;

/// Maximum number of sampled peers of a period.
const MOST: usize = 32;

/// Samples of the peers of the last two periods: the peers with the smallest hashes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Attempts {
    now: Sample,
    before: Sample,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sample(
    /// Hashes of peers in ascending order, and whether all contacts with the peer were attempts to connect.
    #[serde(deserialize_with = "at_most::<MOST, _, _>")]
    Vec<(u64, bool)>,
);

impl Attempts {
    /// Adds a contact with the peer that has the hash `peer`.
    pub(super) fn add(&mut self, peer: u64, is_attempt: bool) {
        self.now.add(peer, is_attempt);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.now.merge(&other.now);
        self.before.merge(&other.before);
    }

    /// Begins a period.
    pub(super) fn age(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }

    /// Returns the share of the sampled peers whose contacts were all attempts to connect.
    pub(super) fn share(&self) -> f64 {
        let mut all = self.now.clone();
        all.merge(&self.before);
        let attempts = all.0.iter().filter(|(_, is_attempt)| *is_attempt).count();
        attempts as f64 / all.0.len().max(1) as f64
    }
}

impl Sample {
    fn add(&mut self, peer: u64, is_attempt: bool) {
        match self.0.binary_search_by_key(&peer, |(peer, _)| *peer) {
            Ok(at) => self.0[at].1 &= is_attempt,
            Err(at) if at < MOST => {
                self.0.truncate(MOST - 1);
                self.0.insert(at, (peer, is_attempt));
            }
            Err(_) => {}
        }
    }

    /// Merges `other`, whose list may be in any order because it can come from another machine.
    fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(peer, is_attempt)| self.add(*peer, *is_attempt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a hash that is spread over all numbers.
    fn hash(peer: u64) -> u64 {
        peer.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn peers_that_only_try_are_a_share_of_the_peers_and_not_of_their_packets() {
        let mut attempts = Attempts::default();
        for client in 0..100 {
            attempts.add(hash(client), true);
            (0..1_000).for_each(|_| attempts.add(hash(client), false));
        }
        assert_eq!(attempts.share(), 0.0);
        (100..400).for_each(|forged| attempts.add(hash(forged), true));
        // Of 400 peers, 300 only try. The bounds are five standard deviations of a sample of 32.
        assert!((0.37..1.0).contains(&attempts.share()), "{}", attempts.share());
        attempts.age();
        attempts.age();
        assert_eq!(attempts.share(), 0.0, "the flood is over");
        assert!(attempts.now.0.is_empty() && attempts.before.0.is_empty());
    }

    #[test]
    fn samples_of_threads_and_sites_are_the_sample_of_their_union() {
        let (mut whole, mut parts) =
            (Attempts::default(), [Attempts::default(), Attempts::default()]);
        for peer in 0..200 {
            let is_attempt = peer % 3 == 0;
            whole.add(hash(peer), is_attempt);
            parts[(peer % 2) as usize].add(hash(peer), is_attempt);
        }
        let [mut one, other] = parts;
        one.merge(&other);
        assert_eq!((one.now.0.len(), &one), (MOST, &whole));
    }
}
