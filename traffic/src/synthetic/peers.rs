//! The peers of one inside host in one period.
//!
//! The kind of the host determines how a peer is chosen. If the chosen peer has already occurred, a random peer
//! replaces it. The peers of a host are therefore distinct.

use super::network::{is_peer, peer_from, random_peer};
use super::rng::Rng;
use rustc_hash::FxHashSet;
use srlg_core::Address;

/// Number of popular servers. They account for 30 % of a client's peers (model A).
const SERVERS: f64 = 100_000.0;

/// Number of hosts from which the clients of a busy server are drawn.
const CLIENTS: f64 = 10_000_000.0;

/// Number of networks that contain ordinary peers (model A). Each network has 2^12 addresses.
const PEER_NETWORKS: u32 = 60_000;

/// Kind of an inside host, which determines how its peers are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An ordinary host. 30 % of its peers are popular servers, and 70 % are ordinary hosts in 60,000 networks.
    Client,
    /// A peer-to-peer host. All of its peers are ordinary hosts in 60,000 networks.
    PeerToPeer,
    /// A scanner of consecutive addresses.
    Scanner,
    /// The victim of a flood from uniformly random, spoofed sources.
    FloodVictim,
    /// A busy server. It shares some of its clients with other busy servers.
    Server,
}

/// A source of distinct peers for one inside host.
pub(crate) struct Peers {
    kind: Kind,
    /// Address that a scanner tries next.
    next: Address,
    seen: FxHashSet<Address>,
}

impl Peers {
    pub(crate) fn new(kind: Kind, rng: &mut Rng) -> Self {
        Self { kind, next: random_peer(rng), seen: FxHashSet::default() }
    }

    pub(crate) fn draw(&mut self, rng: &mut Rng) -> Address {
        let mut peer = match self.kind {
            Kind::Client if rng.below(10) < 3 => peer_from(rng.popular_rank(SERVERS)),
            Kind::Client | Kind::PeerToPeer => networked(rng.bits()),
            Kind::Scanner => self.scan(),
            Kind::FloodVictim => random_peer(rng),
            // A multiplication by an odd number is a bijection and spreads the ranks over the networks.
            Kind::Server => {
                networked(rng.popular_rank(CLIENTS).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            }
        };
        while !self.seen.insert(peer) {
            peer = random_peer(rng);
        }
        peer
    }

    fn scan(&mut self) -> Address {
        while !is_peer(self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let peer = self.next;
        self.next = peer.wrapping_add(1);
        peer
    }
}

/// Returns the address of an ordinary peer. The high half of `bits` selects one of [`PEER_NETWORKS`] networks.
fn networked(bits: u64) -> Address {
    let network = ((bits >> 32) * u64::from(PEER_NETWORKS)) >> 32;
    // Reserved and inside networks are whole multiples of 2^12 addresses. If one address of a network can be a peer,
    // all of its addresses can.
    let base = peer_from(network ^ (1 << 63)) & !0xFFF;
    base | (bits as Address & 0xFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_of_one_host_are_distinct_and_outside() {
        let kinds =
            [Kind::Client, Kind::PeerToPeer, Kind::Scanner, Kind::FloodVictim, Kind::Server];
        for kind in kinds {
            let mut rng = Rng::new(3, 0);
            let mut peers = Peers::new(kind, &mut rng);
            let drawn: FxHashSet<Address> = (0..50_000).map(|_| peers.draw(&mut rng)).collect();
            assert_eq!(drawn.len(), 50_000, "{kind:?}");
            assert!(drawn.iter().all(|&peer| is_peer(peer)), "{kind:?}");
        }
    }

    #[test]
    fn scanners_step_over_networks_that_no_peer_can_have() {
        let mut rng = Rng::new(3, 0);
        let mut peers = Peers::new(Kind::Scanner, &mut rng);
        // After 126.255.255.255, the scanner skips the network 127.0.0.0/8.
        peers.next = 0x7EFF_FFFF;
        assert_eq!([peers.draw(&mut rng), peers.draw(&mut rng)], [0x7EFF_FFFF, 0x8000_0000]);
    }
}
