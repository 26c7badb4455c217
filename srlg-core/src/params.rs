//! [`Params`]: a checked [`Config`](crate::Config) with all derived values.
//!
//! `Params` has three parts: a common part, the finder and the counter. All parts consist of plain words in a fixed
//! layout, so that a GPU kernel can take a part by value. [`Config::validate`](crate::Config::validate) is the only
//! constructor, so accessors cannot fail, and every index computed from these sizes is in range.

use core::net::IpAddr;

use crate::counter::CounterPart;
use crate::finder::FinderPart;
use crate::getters::getters;
use crate::hash::{HashFamily, Key, by_family, hashing};
use crate::ids::{HostId, IdKeys, Ip6Batch, Ip6Ids};
use crate::pair::{BATCH, IpPair, limbs};

/// The checked sizes and the keys of one detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Params {
    pub(crate) threshold: u32,
    pub(crate) window: u32,
    pub(crate) candidate_limit: u32,
    pub(crate) hash: HashFamily,
    /// Key of the seed fingerprint and of [`host_order`](Self::host_order).
    pub(crate) seed_key: Key,
    pub(crate) id_keys: IdKeys,
    pub(crate) finder: FinderPart,
    pub(crate) counter: CounterPart,
}

impl Params {
    getters! {
        /// Returns θ, in distinct peers.
        threshold,
        /// Returns k, the length of the window, in slices.
        window,
        /// Returns the maximum number of candidates that a search may return.
        candidate_limit,
    }

    /// Returns the params of the finder.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub const fn finder(&self) -> &FinderPart {
        &self.finder
    }

    /// Returns the params of the counter.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub const fn counter(&self) -> &CounterPart {
        &self.counter
    }

    /// Returns the ID of `host`.
    #[doc(hidden)]
    #[must_use]
    pub fn host_id(&self, host: IpAddr) -> HostId {
        self.id_keys.id(self.hash, limbs(host))
    }

    /// Returns `pair` with the IDs of its hosts.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn pair_ids(&self, pair: IpPair) -> Ip6Ids {
        self.id_keys.ids(self.hash, pair)
    }

    /// Returns `pairs` with the IDs of their hosts.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn ids<'a>(&self, pairs: &'a [IpPair; BATCH]) -> Ip6Batch<'a> {
        by_family!(self, |params| Ip6Batch::new(pairs, params.hash, &params.id_keys))
    }

    /// Returns a hash of `host` that orders hosts independently of their addresses.
    #[doc(hidden)]
    #[must_use]
    pub fn host_order(&self, host: IpAddr) -> u32 {
        self.hash.of(self.host_id(host).lo, self.seed_key)
    }
}

hashing!(Params);
