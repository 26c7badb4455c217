//! [`CellsParams`]: the checked sizes and keys of an array of cells.
//!
//! Plain 32-bit words in a fixed layout, so that a GPU kernel can take them by value. Invariant:
//! [`CellsParams::new`] is the only constructor, so every index that is built from them is in range.

use crate::config::Config;
use crate::epoch::shortest_epoch;
use crate::error::ConfigError;
use crate::getters::getters;
use crate::hash::{HashFamily, Key, Keys, hashing};
use crate::ids::{IdKeys, Ip6Ids};
use crate::pair::{ADDRESS_BITS, Ip6Pair};
use crate::sizes::Size;
use crate::view::ArrayParams;

/// η: slots of a host, each of which names one cell. Twice the samples of a host of θ: half as many
/// would be shared by too many samples, twice as many would let hosts of many contacts take more cells.
pub const SLOTS: u32 = 64;

/// Samples of a host of θ opposite hosts, at least, where it has so many opposite hosts.
const SAMPLES: u32 = SLOTS / 2;

/// Hosts of fewer opposite hosts hold too few cells to be told from any other.
const LEAST_THRESHOLD: u32 = 8;

/// Bits of a name in 2^18 cells and more, and of the fingerprint of an IPv6 host.
const LEAST_NAME_BITS: u32 = 20;

/// Bits of the number of a cell below those that are the same in all cells of an IPv6 host, its bank: so in more cells than
/// 2^18 as many hosts as in 2^18 share a fingerprint.
const BANK_BITS: u32 = 18;

/// Bits of a word below its name: the peer, or a symbol.
pub(super) const PEER_BITS: u32 = 32;

/// Holds the sizes and keys of an array of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CellsParams {
    pub(crate) cell_bits: u32,
    pub(crate) lsb_threshold: u32,
    pub(crate) epoch_slices: u32,
    pub(crate) threshold: u32,
    pub(crate) candidate_limit: u32,
    pub(crate) hash: HashFamily,
    /// Of hosts and of opposite hosts, to sample pairs.
    pub(crate) host_key: Key,
    pub(crate) opposite_key: Key,
    /// Of the bijections of hosts and of opposite hosts.
    pub(crate) owner_key: Key,
    pub(crate) peer_key: Key,
    /// Of names, to find their cells.
    pub(crate) place_key: Key,
    /// Of the words of an IPv6 address.
    pub(crate) id_keys: IdKeys,
}

impl CellsParams {
    /// Checks the rules of `2^cell_bits` cells.
    pub(crate) fn new(cell_bits: u32, config: &Config, keys: &Keys) -> Result<Self, ConfigError> {
        if !(12..=24).contains(&cell_bits) {
            return Err(ConfigError::CellBits { bits: cell_bits });
        }
        let Config { threshold, window, hash, candidate_limit, .. } = *config;
        if threshold < LEAST_THRESHOLD {
            return Err(ConfigError::CellsThreshold { threshold, least: LEAST_THRESHOLD });
        }
        let epoch_slices = shortest_epoch(window, most_ages(cell_bits));
        let [owner_key, peer_key, place_key] = keys.cells;
        Ok(Self {
            cell_bits,
            lsb_threshold: (threshold / SAMPLES).checked_ilog2().unwrap_or(0),
            epoch_slices,
            threshold,
            candidate_limit,
            hash,
            host_key: keys.columns[0],
            opposite_key: keys.position,
            owner_key,
            peer_key,
            place_key,
            id_keys: IdKeys(keys.limbs),
        })
    }
}

/// Bits of the name of a host and a slot: the rest of the host's image, and the slot.
const fn name_bits(cell_bits: u32) -> u32 {
    let bits = ADDRESS_BITS - cell_bits + SLOTS.ilog2();
    if bits < LEAST_NAME_BITS { LEAST_NAME_BITS } else { bits }
}

/// Bits of an age: what the family, the name and the peer leave of a word.
const fn age_bits(cell_bits: u32) -> u32 {
    u64::BITS - 1 - name_bits(cell_bits) - PEER_BITS
}

/// The most ages that words tell apart; the largest age is that of untouched cells.
const fn most_ages(cell_bits: u32) -> u32 {
    (1 << age_bits(cell_bits)) - 1
}

impl CellsParams {
    /// By which two arrays of cells are compared.
    pub(crate) fn sizes(&self) -> [Size; 7] {
        [
            Size::shaping("cell_bits", self.cell_bits),
            Size::shaping("lsb_threshold", self.lsb_threshold),
            Size::shaping("finder_epoch_slices", self.epoch_slices),
            Size::none(),
            Size::none(),
            Size::none(),
            Size::none(),
        ]
    }
}

hashing!(CellsParams);

impl ArrayParams for CellsParams {
    fn recorders(&self) -> usize {
        1 << self.cell_bits
    }
}

impl CellsParams {
    getters! {
        /// m: there are `2^m` cells.
        cell_bits,
        /// τ: one pair in `2^τ` is sampled.
        lsb_threshold,
        /// Slices per epoch: the unit of ages.
        epoch_slices,
        /// θ, in distinct opposite hosts.
        threshold,
        /// Candidates that a search returns at most.
        candidate_limit,
    }

    /// Returns `pair` with its ids.
    #[inline(always)]
    #[must_use]
    pub fn ids(&self, pair: Ip6Pair) -> Ip6Ids {
        self.id_keys.ids(self.hash, pair)
    }

    /// Bits of a name.
    #[inline(always)]
    pub(super) const fn name_bits(&self) -> u32 {
        name_bits(self.cell_bits)
    }

    /// Bits of the number of a cell below its bank.
    #[inline(always)]
    pub(super) const fn bank_bits(&self) -> u32 {
        if self.cell_bits < BANK_BITS { self.cell_bits } else { BANK_BITS }
    }

    /// Bits of the number of a bank.
    #[inline(always)]
    pub(super) const fn banks(&self) -> u32 {
        self.cell_bits - self.bank_bits()
    }

    /// Bits of a word below its age.
    #[inline(always)]
    pub(super) const fn body_bits(&self) -> u32 {
        u64::BITS - age_bits(self.cell_bits)
    }

    /// Returns by how much a word grows in one epoch.
    #[must_use]
    pub const fn age_step(&self) -> u64 {
        1 << self.body_bits()
    }

    /// Returns the most ages that words tell apart: 2047 in 2^18 cells and more.
    #[must_use]
    pub const fn most_ages(&self) -> u32 {
        most_ages(self.cell_bits)
    }
}
