//! Sample peers: peers of a host that are read from its cells.
//!
//! The cell of each slot shows the host's pair that touched it last, unless another host touched it later. A host
//! therefore has at most η sample peers. A keyed hash samples *pairs* and selects their slots, independently of the
//! structure of addresses. Of the sampled pairs in a slot, the pair with the most recent contact is shown. If several
//! pairs had their most recent contact in the same epoch, the pair with the smallest word is shown. Words are veiled,
//! so each cell orders pairs differently. Pairs whose last contact was in the same epoch are therefore shown with equal
//! probability. The more recent the last contact of a pair, the more likely the pair is to be shown.
//!
//! An IPv6 peer does not fit into a cell. Instead, the cell contains an IPv4 address with which the host could not have
//! touched this cell, so no peer is shown. IPv6 hosts have no sample peers, because their cells spell their own
//! addresses.

use super::params::{CellsParams, SLOTS};
use super::word::Spot;
use crate::pair::Address;

/// A peer that a cell shows, with the age of the last contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Address of the peer.
    pub host: Address,
    /// Age of the last contact, in epochs.
    pub age: u32,
}

impl CellsParams {
    /// Returns the spots of all slots of `host`.
    #[must_use]
    pub fn spots(&self, host: Address) -> [Spot; SLOTS as usize] {
        core::array::from_fn(|slot| self.spot(host, slot as u32))
    }

    /// Returns the peer of `host` that `word` shows. `spot` must be a spot of `host`, and `word` must be the word of
    /// its cell. Returns `None` if another host or no host holds the cell, or if the host touched the cell for an IPv6
    /// peer.
    #[must_use]
    pub fn peer(&self, host: Address, spot: Spot, word: u64) -> Option<Peer> {
        let body = self.body(spot.place, word);
        let is_own = word != u64::MAX && !self.is_v6(body) && self.name(body) == spot.name;
        let peer = self.hash.unscramble(body as u32, self.peer_key);
        let is_shown = is_own && self.shows(host, peer, spot.name % SLOTS);
        is_shown.then_some(Peer { host: peer, age: self.age(word) })
    }
}
