//! The encoding of contacts as words of cells, and the decoding of these words.

use super::params::{CellsParams, PEER_BITS, SLOTS};
use crate::hash::{by_family, mix64};
use crate::ids::PairIds;
use crate::pair::{ADDRESS_BITS, Address, BATCH};

/// Number of low bits of a name that contain the slot.
const SLOT_BITS: u32 = SLOTS.ilog2();

/// The cell for a host's contacts in one slot, and the name that represents the host and the slot in that cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Number of the cell.
    pub place: u32,
    pub(super) name: u32,
}

/// The identity of the host that holds a cell, which is the same in all cells of a host. For an IPv4 host, the identity
/// is the image of its address under a bijection. For an IPv6 host, it consists of the fingerprint of the host and the
/// bank of its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(u64);

/// Bit that is set if an owner is a fingerprint.
const V6: u64 = 1 << 32;

impl Owner {
    /// Returns a uniform hash of this owner, by which owners can be sorted in a random order.
    #[must_use]
    pub const fn order(self) -> u32 {
        // The image of an IPv4 host is already uniform, but a fingerprint has fewer bits.
        if self.is_fingerprint() { (mix64(self.0) >> 32) as u32 } else { self.0 as u32 }
    }

    /// Returns the first entry to try for this owner in a hash table of `2^bits` entries.
    #[inline(always)]
    #[must_use]
    pub const fn entry(self, bits: u32) -> usize {
        self.0 as usize & ((1 << bits) - 1)
    }

    /// Returns a number that identifies this owner. It is at least 1 and below 2^63.
    #[inline(always)]
    #[must_use]
    pub const fn key(self) -> u64 {
        self.0 + 1
    }

    /// Returns the owner with this `key`, or `None` if `key` is 0.
    #[inline(always)]
    #[must_use]
    pub const fn of_key(key: u64) -> Option<Self> {
        if key == 0 { None } else { Some(Self(key - 1)) }
    }

    /// Returns whether this is the fingerprint of an IPv6 host. Several hosts may have the same fingerprint.
    #[inline(always)]
    #[must_use]
    pub const fn is_fingerprint(self) -> bool {
        self.0 & V6 != 0
    }
}

impl CellsParams {
    /// Returns a hash of `pair`, combined from the hashes of both addresses. The tagged counter also computes these two
    /// hashes.
    #[inline(always)]
    pub(super) fn pair_hash(&self, pair: &impl PairIds) -> u32 {
        self.hash_of_ids(pair.host().lo, pair.peer())
    }

    #[inline(always)]
    fn hash_of_ids(&self, host: u32, peer: u32) -> u32 {
        join(self.hash.of(host, self.host_key), self.hash.of(peer, self.peer_hash_key))
    }

    /// Returns whether the pair of the IPv4 `host` and `peer` is sampled and touches a cell in `slot`.
    #[inline(always)]
    pub(super) fn shows(&self, host: Address, peer: Address, slot: u32) -> bool {
        let hash = self.hash_of_ids(host, peer);
        self.is_sampled(hash) && slot_of(hash) == slot
    }

    /// Returns whether pairs with this hash are sampled, that is, whether its highest τ bits are 0.
    #[inline(always)]
    pub(super) const fn is_sampled(&self, pair_hash: u32) -> bool {
        pair_hash <= u32::MAX >> self.lsb_threshold
    }

    /// Returns the spot for contacts of `host` in `slot`.
    #[inline(always)]
    #[must_use]
    pub fn spot(&self, host: Address, slot: u32) -> Spot {
        let image = self.hash.scramble(host, self.owner_key);
        let low_bits = ADDRESS_BITS - self.cell_bits;
        let name = (image & ((1 << low_bits) - 1)) << SLOT_BITS | slot;
        Spot { place: image >> low_bits ^ self.shift(name), name }
    }

    /// Returns the cell number and the word for a contact of `pair`, `age` epochs ago.
    #[inline(always)]
    pub(super) fn touch_of(&self, pair: &impl PairIds, pair_hash: u32, age: u32) -> (u32, u64) {
        let (host, slot) = (pair.host(), slot_of(pair_hash));
        if let Some(limbs) = pair.limbs() {
            return self.touch_of_id(limbs, host, slot, age);
        }
        let mut peer = pair.peer();
        if !pair.is_peer_v4() {
            // An IPv6 peer is replaced by an address with which the host cannot have a contact in this slot.
            while self.shows(host.lo, peer, slot) {
                peer = peer.wrapping_add(1);
            }
        }
        let spot = self.spot(host.lo, slot);
        let peer = self.hash.scramble(peer, self.peer_key);
        let body = u64::from(spot.name) << PEER_BITS | u64::from(peer);
        (spot.place, self.word(spot.place, body, age))
    }

    /// Returns the number of the cell that `pair` touches, and the owner of the cell after the touch. Returns `None` if
    /// the pair is not sampled.
    #[must_use]
    pub fn touched_cell(&self, pair: &impl PairIds) -> Option<(u32, Owner)> {
        let hash = self.pair_hash(pair);
        self.is_sampled(hash).then(|| {
            let (place, word) = self.touch_of(pair, hash, 0);
            (place, self.owner(place, word))
        })
    }

    /// Returns the word that encodes `body` in cell number `place`, for a contact `age` epochs ago. If the age does not
    /// fit, the result is the largest word, which ageing would also produce.
    #[inline(always)]
    pub(super) fn word(&self, place: u32, body: u64, age: u32) -> u64 {
        let aged = u64::from(age).saturating_mul(self.age_step());
        aged.saturating_add(body ^ self.veil(place))
    }

    /// Returns the age of `word`.
    #[inline(always)]
    #[must_use]
    pub const fn age(&self, word: u64) -> u32 {
        (word >> self.body_bits()) as u32
    }

    /// Returns the body of `word` in cell number `place`: the bits below the age, without the veil.
    #[inline(always)]
    pub(super) const fn body(&self, place: u32, word: u64) -> u64 {
        (word & (self.age_step() - 1)) ^ self.veil(place)
    }

    /// Returns the owner of cell number `place`, which contains `word`.
    #[inline(always)]
    #[must_use]
    pub fn owner(&self, place: u32, word: u64) -> Owner {
        let body = self.body(place, word);
        let name = self.name(body);
        let low_bits = ADDRESS_BITS - self.cell_bits;
        let image = (place ^ self.shift(name)) << low_bits | name >> SLOT_BITS;
        let bank = place >> self.bank_bits() << self.name_bits();
        Owner(if self.is_v6(body) { V6 | u64::from(bank | name) } else { image.into() })
    }

    /// Returns the owners of the consecutive cells from number `first` on, which contain `words`.
    #[inline(always)]
    #[allow(
        clippy::needless_range_loop,
        reason = "a loop with one index into both arrays vectorises"
    )]
    #[must_use]
    pub fn owners(&self, first: u32, words: &[u64; BATCH]) -> [Owner; BATCH] {
        by_family!(self, |params| {
            let mut owners = [Owner::default(); BATCH];
            for i in 0..BATCH {
                owners[i] = params.owner(first + i as u32, words[i]);
            }
            owners
        })
    }

    /// Returns the IPv4 host that `owner` identifies, or `None` if `owner` is a fingerprint.
    #[inline(always)]
    #[must_use]
    pub fn host(&self, owner: Owner) -> Option<Address> {
        let image = u32::try_from(owner.0).ok()?;
        Some(self.hash.unscramble(image, self.owner_key))
    }

    /// Returns the owner that identifies the IPv4 `host`.
    #[inline(always)]
    #[must_use]
    pub fn owner_of(&self, host: Address) -> Owner {
        Owner(self.hash.scramble(host, self.owner_key).into())
    }

    #[inline(always)]
    pub(super) const fn name(&self, body: u64) -> u32 {
        (body >> PEER_BITS) as u32 & ((1 << self.name_bits()) - 1)
    }

    /// Returns whether `body` belongs to an IPv6 host, that is, whether its highest bit is 1.
    #[inline(always)]
    pub(super) const fn is_v6(&self, body: u64) -> bool {
        body >> (PEER_BITS + self.name_bits()) != 0
    }

    /// Returns the veil of cell number `place`, a constant that is xored with the bodies in this cell. Because of the
    /// veil, the winner of a tie between two hosts depends on the cell.
    #[inline(always)]
    const fn veil(&self, place: u32) -> u64 {
        let spread = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        spread >> (u64::BITS - self.body_bits())
    }

    /// Returns the hash of `name` that is xored with the high bits of the host's image to select the cell.
    #[inline(always)]
    fn shift(&self, name: u32) -> u32 {
        self.hash.of(name, self.place_key) >> (u32::BITS - self.cell_bits)
    }
}

#[inline(always)]
const fn join(host: u32, peer: u32) -> u32 {
    let mut t = host.wrapping_mul(0x9e37_79b1) ^ peer;
    t ^= t >> 15;
    t = t.wrapping_mul(0x85eb_ca6b);
    t ^= t >> 13;
    t.wrapping_mul(0xc2b2_ae35)
}

/// Returns the slot of a sampled pair. Sampling uses only the τ highest bits of the hash, with τ at most 11, and
/// therefore no bits of the slot.
#[inline(always)]
pub(super) const fn slot_of(pair_hash: u32) -> u32 {
    pair_hash >> 12 & (SLOTS - 1)
}
