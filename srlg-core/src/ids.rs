//! IDs, which represent hosts of both address families in all arrays.
//!
//! The ID of an IPv4 host contains its address in both halves. The ID of an IPv6 host is a keyed 64-bit hash of its
//! address. The low half selects the lines of the host, and the high half generates its tags. With a probability of
//! about 2^-32, two IPv6 hosts have the same lines. A few touches of each host are then counted for both. With a
//! probability of about 2^-64, both lines and tags are the same.
//!
//! The ID of a peer has 32 bits. If a host has n IPv6 peers, a share of about n/2^33 is not counted, because two or
//! more peers have the same ID. This share is 0.1 % for ten million peers.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::hash::{HashFamily, Key};
use crate::pair::{Address, BATCH, IpPair, Ipv4Pair, Limbs, unmapped};

/// The keys of the hash that computes the IDs of IPv6 hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct IdKeys(pub(crate) [Key; 2]);

impl IdKeys {
    #[inline(always)]
    pub(crate) fn id(&self, hash: HashFamily, limbs: Limbs) -> HostId {
        let [lo, hi] = hash.of_limbs(limbs, &self.0);
        match unmapped(limbs) {
            Some(host) => host.into(),
            None => HostId { lo, hi },
        }
    }

    /// Returns the ID of the address that consists of the bytes of `words` in memory.
    #[inline(always)]
    fn id_of_words(&self, hash: HashFamily, words: [[u8; 8]; 2]) -> HostId {
        let [high, low] = words.map(u64::from_le_bytes);
        let limbs = [high as u32, (high >> 32) as u32, low as u32, (low >> 32) as u32];
        let limbs = if cfg!(target_endian = "big") { limbs.map(u32::swap_bytes) } else { limbs };
        self.id(hash, limbs)
    }

    #[inline(always)]
    pub(crate) fn ids(&self, hash: HashFamily, pair: IpPair) -> Ip6Ids {
        let IpPair { inside, peer } = pair;
        Ip6Ids {
            inside,
            host: self.id(hash, inside),
            peer: self.id(hash, peer).lo,
            is_peer_v4: unmapped(peer).is_some(),
        }
    }
}

/// The ID of an inside host: two words. For an IPv4 host, both words are the address.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct HostId {
    /// Word that selects the lines, columns and cells of the host.
    pub lo: u32,
    /// Word from which the tags and the fingerprint of the host are generated.
    pub hi: u32,
}

impl From<Address> for HostId {
    #[inline(always)]
    fn from(host: Address) -> Self {
        Self { lo: host, hi: host }
    }
}

/// A pair with the IDs of its hosts.
pub trait PairIds: Copy + Default + Send + Sync {
    /// Returns the ID of the inside host.
    fn host(&self) -> HostId;

    /// Returns the ID of the peer.
    fn peer(&self) -> u32;

    /// Returns the address of the inside host if it is an IPv6 host, or `None` if it is an IPv4 host.
    fn limbs(&self) -> Option<Limbs>;

    /// Returns whether the peer is an IPv4 host, whose ID is its address.
    fn is_peer_v4(&self) -> bool;
}

#[doc(hidden)]
impl PairIds for Ipv4Pair {
    #[inline(always)]
    fn host(&self) -> HostId {
        self.inside.into()
    }

    #[inline(always)]
    fn peer(&self) -> u32 {
        self.peer
    }

    #[inline(always)]
    fn limbs(&self) -> Option<Limbs> {
        None
    }

    #[inline(always)]
    fn is_peer_v4(&self) -> bool {
        true
    }
}

/// The IDs of an [`IpPair`], with the address of the inside host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ip6Ids {
    inside: Limbs,
    host: HostId,
    peer: u32,
    is_peer_v4: bool,
}

impl PairIds for Ip6Ids {
    #[inline(always)]
    fn host(&self) -> HostId {
        self.host
    }

    #[inline(always)]
    fn peer(&self) -> u32 {
        self.peer
    }

    #[inline(always)]
    fn limbs(&self) -> Option<Limbs> {
        match unmapped(self.inside) {
            Some(_) => None,
            None => Some(self.inside),
        }
    }

    #[inline(always)]
    fn is_peer_v4(&self) -> bool {
        self.is_peer_v4
    }
}

/// A batch of pairs with the IDs of their hosts.
pub trait Batch {
    /// Type of a pair.
    type Pair: PairIds;

    /// Returns pair number `i` of the batch.
    ///
    /// # Panics
    /// Panics if `i` is not below [`BATCH`].
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

/// A batch of [`IpPair`]s with the IDs of their hosts. Each part of an ID has a separate array, so that loops
/// vectorise.
#[derive(Debug)]
pub struct Ip6Batch<'a> {
    pairs: &'a [IpPair; BATCH],
    lo: [u32; BATCH],
    hi: [u32; BATCH],
    peer: [u32; BATCH],
}

impl<'a> Ip6Batch<'a> {
    #[inline(always)]
    #[allow(
        clippy::needless_range_loop,
        reason = "a loop with one index into several arrays vectorises"
    )]
    pub(crate) fn new(pairs: &'a [IpPair; BATCH], hash: HashFamily, keys: &IdKeys) -> Self {
        let (mut lo, mut hi, mut peer) = ([0; BATCH], [0; BATCH], [0; BATCH]);
        // Pairs are read as words of 64 bits, because products have 64 bits. One loop reads all words of a pair: a loop
        // that skips words would need a scalar part at the end, where a vector would exceed the array.
        for i in 0..BATCH {
            let IpPair { inside, peer: other } = pairs[i];
            let HostId { lo: low, hi: high } = keys.id_of_words(hash, zerocopy::transmute!(inside));
            (lo[i], hi[i]) = (low, high);
            peer[i] = keys.id_of_words(hash, zerocopy::transmute!(other)).lo;
        }
        Self { pairs, lo, hi, peer }
    }
}

impl Batch for Ip6Batch<'_> {
    type Pair = Ip6Ids;

    #[inline(always)]
    fn get(&self, i: usize) -> Ip6Ids {
        let IpPair { inside, peer } = self.pairs[i];
        Ip6Ids {
            inside,
            host: HostId { lo: self.lo[i], hi: self.hi[i] },
            peer: self.peer[i],
            is_peer_v4: unmapped(peer).is_some(),
        }
    }
}
