//! Ids: what stands for a host in all arrays, whatever family it is of.
//!
//! An IPv4 host is its address, in both halves of its id. An IPv6 host is 64 keyed bits ([`limbs`](crate::hash)): the low
//! half names its lines, the high half its tags. Two IPv6 hosts share lines with the probability 2^-32, as if one were a
//! little of the other, and both with 2^-64. An opposite host is 32 bits: of n of them a share of some
//! n/2^33 is taken for another, 0.1 % of ten million, none of them if they are IPv4.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::hash::{HashFamily, Key};
use crate::pair::{Address, BATCH, Ip6Pair, IpPair, Limbs, unmapped};

/// The keys of ids of IPv6 hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct IdKeys(pub(crate) [Key; 2]);

impl IdKeys {
    /// The id of the host of `limbs`, by hashes of the family `hash`.
    #[inline(always)]
    pub(crate) fn id(&self, hash: HashFamily, limbs: Limbs) -> HostId {
        let [lo, hi] = hash.of_limbs(limbs, &self.0);
        match unmapped(limbs) {
            Some(host) => host.into(),
            None => HostId { lo, hi },
        }
    }

    /// The same of an address as it is in memory, as two words.
    #[inline(always)]
    fn id_of_words(&self, hash: HashFamily, words: [u64; 2]) -> HostId {
        // The first of two words of an address is the low half here, and the high one on other machines.
        let [high, low] =
            words.map(|word| if cfg!(target_endian = "big") { word.rotate_left(32) } else { word });
        let limbs = [high as u32, (high >> 32) as u32, low as u32, (low >> 32) as u32];
        self.id(hash, limbs)
    }

    /// `pair` with its ids, by hashes of the family `hash`.
    #[inline(always)]
    pub(crate) fn ids(&self, hash: HashFamily, pair: Ip6Pair) -> Ip6Ids {
        let Ip6Pair { inside, opposite } = pair;
        Ip6Ids {
            inside,
            host: self.id(hash, inside),
            opposite: self.id(hash, opposite).lo,
            is_opposite_v4: unmapped(opposite).is_some(),
        }
    }
}

/// Stands for an inside host by two words; of an IPv4 host both words are the address.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct HostId {
    /// By which its positions are found.
    pub lo: u32,
    /// By which its tags are made.
    pub hi: u32,
}

impl From<Address> for HostId {
    #[inline(always)]
    fn from(host: Address) -> Self {
        Self { lo: host, hi: host }
    }
}

/// Gives a pair as arrays take pairs: with its ids.
pub trait PairIds: Copy + Default + Send + Sync {
    /// Returns the id of the inside host.
    fn host(&self) -> HostId;

    /// Returns the id of the opposite host.
    fn opposite(&self) -> u32;

    /// Returns the address of an inside host that is none of IPv4.
    fn limbs(&self) -> Option<Limbs>;

    /// Returns whether the id of the opposite host is its address.
    fn is_opposite_v4(&self) -> bool;
}

impl PairIds for IpPair {
    #[inline(always)]
    fn host(&self) -> HostId {
        self.inside.into()
    }

    #[inline(always)]
    fn opposite(&self) -> u32 {
        self.opposite
    }

    #[inline(always)]
    fn limbs(&self) -> Option<Limbs> {
        None
    }

    #[inline(always)]
    fn is_opposite_v4(&self) -> bool {
        true
    }
}

/// Holds the ids of an [`Ip6Pair`], with the address of its inside host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ip6Ids {
    inside: Limbs,
    host: HostId,
    opposite: u32,
    is_opposite_v4: bool,
}

impl PairIds for Ip6Ids {
    #[inline(always)]
    fn host(&self) -> HostId {
        self.host
    }

    #[inline(always)]
    fn opposite(&self) -> u32 {
        self.opposite
    }

    #[inline(always)]
    fn limbs(&self) -> Option<Limbs> {
        match unmapped(self.inside) {
            Some(_) => None,
            None => Some(self.inside),
        }
    }

    #[inline(always)]
    fn is_opposite_v4(&self) -> bool {
        self.is_opposite_v4
    }
}

/// Gives the pairs of a batch as arrays take pairs: with their ids.
pub trait Batch {
    /// A pair of it.
    type Pair: PairIds;

    /// Returns pair number `i`.
    ///
    /// # Panics
    /// When `i` is not below [`BATCH`].
    fn get(&self, i: usize) -> Self::Pair;
}

impl<P: PairIds> Batch for [P; BATCH] {
    type Pair = P;

    #[inline(always)]
    fn get(&self, i: usize) -> P {
        self[i]
    }
}

impl<B: Batch> Batch for &B {
    type Pair = B::Pair;

    #[inline(always)]
    fn get(&self, i: usize) -> B::Pair {
        (**self).get(i)
    }
}

/// Holds the [`Ip6Pair`]s of a batch with their ids: an array for each part of an id, which vectorises.
#[derive(Debug)]
pub struct Ip6Batch<'a> {
    pairs: &'a [Ip6Pair; BATCH],
    lo: [u32; BATCH],
    hi: [u32; BATCH],
    opposite: [u32; BATCH],
}

impl<'a> Ip6Batch<'a> {
    /// `pairs` with their ids, by hashes of the family `hash`.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index into several arrays vectorises")]
    pub(crate) fn new(pairs: &'a [Ip6Pair; BATCH], hash: HashFamily, keys: &IdKeys) -> Self {
        let (mut lo, mut hi, mut opposite) = ([0; BATCH], [0; BATCH], [0; BATCH]);
        // Words of 64 bits, as products of 32 bits have so many: their lanes are those of vectors.
        let words: [[u64; 4]; BATCH] = zerocopy::transmute!(*pairs);
        for i in 0..BATCH {
            let HostId { lo: low, hi: high } = keys.id_of_words(hash, [words[i][0], words[i][1]]);
            (lo[i], hi[i]) = (low, high);
        }
        for i in 0..BATCH {
            opposite[i] = keys.id_of_words(hash, [words[i][2], words[i][3]]).lo;
        }
        Self { pairs, lo, hi, opposite }
    }
}

impl Batch for Ip6Batch<'_> {
    type Pair = Ip6Ids;

    #[inline(always)]
    fn get(&self, i: usize) -> Ip6Ids {
        let Ip6Pair { inside, opposite } = self.pairs[i];
        Ip6Ids {
            inside,
            host: HostId { lo: self.lo[i], hi: self.hi[i] },
            opposite: self.opposite[i],
            is_opposite_v4: unmapped(opposite).is_some(),
        }
    }
}
