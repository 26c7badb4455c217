//! [`Params`]: a checked [`Config`](crate::Config) with everything derived from it.
//!
//! Three parts: what every detector has, the finder's and the counter's. Plain words in a fixed
//! layout, so that a GPU kernel can take a part by value.
//! [`Config::validate`](crate::Config::validate) is the only constructor, hence no
//! accessor can fail: every index that is built from these sizes is in range.

use crate::counter::CounterPart;
use crate::finder::FinderPart;
use crate::getters::getters;
use crate::hash::{Hash, Key};
use crate::pair::Address;

/// The sizes and keys of one detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Params {
    pub(crate) threshold: u32,
    pub(crate) window: u32,
    pub(crate) candidate_limit: u32,
    pub(crate) hash: Hash,
    /// Names the seed.
    pub(crate) seed_key: Key,
    pub(crate) finder: FinderPart,
    pub(crate) counter: CounterPart,
}

impl Params {
    getters! {
        /// θ, in distinct opposite hosts.
        threshold,
        /// k, in slices.
        window,
        /// Candidates that one search accepts.
        candidate_limit,
    }

    /// The finder's part.
    #[inline]
    #[must_use]
    pub const fn finder(&self) -> &FinderPart {
        &self.finder
    }

    /// The counter's part.
    #[inline]
    #[must_use]
    pub const fn counter(&self) -> &CounterPart {
        &self.counter
    }

    /// A hash of `host` by which hosts are put in an order that does not depend on their addresses.
    #[must_use]
    pub fn host_order(&self, host: Address) -> u32 {
        self.hash.of(host, self.seed_key)
    }

    /// The family of every hash.
    #[must_use]
    pub const fn hash_family(&self) -> Hash {
        self.hash
    }
}
