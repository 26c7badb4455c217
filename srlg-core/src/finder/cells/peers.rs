//! Sample peers: some peers of a host, read from its cells.
//!
//! The cell of each slot of a host shows the pair that was touched last, unless another host touched it later. A host
//! therefore has at most η sample peers, and they are a sample of its *pairs*. A keyed hash samples a pair and selects
//! its slot, independently of the structure of addresses. Of the sampled pairs of a slot, the one with the most recent
//! contact is shown. If several have contacts in the same epoch, the one with the smallest hash is shown, in an order
//! that differs from cell to cell. Pairs whose last contact was in the same epoch are therefore shown with equal
//! probability, and pairs with a more recent contact with a higher one.
//!
//! An IPv6 peer does not fit into a cell. It is replaced by an address with which the host cannot have touched that
//! cell, so it is not shown. IPv6 hosts have no sample, because their cells spell their address.

use super::params::{CellsParams, SLOTS};
use super::word::Spot;
use crate::pair::Address;

/// A peer that a cell shows, with the age of the contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Address of the peer.
    pub host: Address,
    /// Age of the contact, in epochs.
    pub age: u32,
}

impl CellsParams {
    /// Returns the spots of all slots of `host`.
    #[must_use]
    pub fn spots(&self, host: Address) -> [Spot; SLOTS as usize] {
        core::array::from_fn(|slot| self.spot(host, slot as u32))
    }

    /// Returns the peer of `host` that `word` shows. `word` is in the cell of `spot`, which is a spot of that host.
    /// Returns `None` if another host or no host holds the cell, or if the peer is an IPv6 host.
    #[must_use]
    pub fn peer(&self, host: Address, spot: Spot, word: u64) -> Option<Peer> {
        let body = self.body(spot.place, word);
        let is_own = word != u64::MAX && !self.is_v6(body) && self.name(body) == spot.name;
        let peer = self.hash.unscramble(body as u32, self.peer_key);
        let is_shown = is_own && self.shows(host, peer, spot.name % SLOTS);
        is_shown.then_some(Peer { host: peer, age: self.age(word) })
    }
}
