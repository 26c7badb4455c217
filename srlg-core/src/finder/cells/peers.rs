//! Sample peers: some opposite hosts of a host, out of its cells.
//!
//! Of each slot of a host the cell shows the pair that was touched last, unless a stranger touched it
//! later. So the peers of a host are at most η, and a sample of its *pairs*: a pair is
//! sampled, and gets its slot, by a keyed hash, whatever the addresses are; of the sampled pairs
//! of a slot that with the most recent contact is shown, of those with contacts in the same epoch the
//! one with the smallest hash, an order of the cell's own. Hence, among pairs whose last contact was in the same epoch, each is
//! shown with equal probability; a pair with a more recent contact with a higher one.
//!
//! An opposite host that is none of IPv4 has no room in a cell. In its place there is an address with which the host cannot
//! have touched that cell, and which is therefore not shown. IPv6 hosts have no sample: their cells spell them.

use super::params::{CellsParams, SLOTS};
use super::word::Spot;
use crate::pair::Address;

/// Names an opposite host, out of a cell, and tells the age of the contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The opposite host.
    pub host: Address,
    /// How many epochs ago the contact was.
    pub age: u32,
}

impl CellsParams {
    /// Returns where all slots of `host` go.
    #[must_use]
    pub fn spots(&self, host: Address) -> [Spot; SLOTS as usize] {
        core::array::from_fn(|slot| self.spot(host, slot as u32))
    }

    /// Returns the opposite host that `word`, which is in the cell of `spot`, shows of `host`, whose spot that is; `None` when
    /// others hold the cell, or nobody, or when the opposite host is none of IPv4.
    #[must_use]
    pub fn peer(&self, host: Address, spot: Spot, word: u64) -> Option<Peer> {
        let body = self.body(spot.place, word);
        let is_own = word != u64::MAX && !self.is_v6(body) && self.name(body) == spot.name;
        let peer = self.hash.unscramble(body as u32, self.peer_key);
        let is_shown = is_own && self.shows(host, peer, spot.name % SLOTS);
        is_shown.then_some(Peer { host: peer, age: self.age(word) })
    }
}
