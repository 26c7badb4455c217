//! [`CellsParams`]: the checked sizes and keys of an array of cells.
//!
//! `CellsParams` consists of 32-bit words in a fixed layout, so that a GPU kernel can take it by value.
//! [`CellsParams::new`] is the only constructor and checks all sizes, so every index that is computed from the params
//! is in range.

use crate::config::Config;
use crate::epoch::shortest_epoch;
use crate::error::ConfigError;
use crate::getters::getters;
use crate::hash::{HashFamily, Key, Keys, hashing};
use crate::ids::{IdKeys, Ip6Ids};
use crate::pair::{ADDRESS_BITS, IpPair};
use crate::sizes::Size;
use crate::view::ArrayParams;

/// η: number of slots of a host, each of which determines one cell. If θ is at least 32, a host with θ peers has on
/// average at least half as many samples as slots. With half as many slots, too many samples would share a slot. With
/// twice as many slots, hosts with many contacts would occupy too many cells.
pub const SLOTS: u32 = 64;

/// Minimum average number of samples of a host with θ peers. If θ is below this number, the average is θ, because every
/// pair is sampled.
const SAMPLES: u32 = SLOTS / 2;

/// Minimum threshold. Hosts with fewer peers hold too few cells to be distinguished from other hosts.
const LEAST_THRESHOLD: u32 = 8;

/// Minimum length of a name, and of the fingerprint of an IPv6 host, in bits. Names have this length with 2^18 cells or
/// more.
const LEAST_NAME_BITS: u32 = 20;

/// Maximum number of low bits in which the numbers of an IPv6 host's cells differ. The bits above them are the host's
/// bank. Without banks, more hosts would share a fingerprint in an array of more than 2^18 cells.
const BANK_BITS: u32 = 18;

/// Number of low bits of a word that contain the peer or a symbol.
pub(super) const PEER_BITS: u32 = 32;

/// The sizes and keys of an array of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CellsParams {
    pub(crate) cell_bits: u32,
    pub(crate) lsb_threshold: u32,
    pub(crate) epoch_slices: u32,
    pub(crate) threshold: u32,
    pub(crate) candidate_limit: u32,
    pub(crate) hash: HashFamily,
    /// Key for hashing the inside host of a pair, to sample pairs and select their slots.
    pub(crate) host_key: Key,
    /// Key for hashing the peer of a pair, to sample pairs and select their slots.
    pub(crate) peer_hash_key: Key,
    /// Key of the bijection of IPv4 hosts, and of the hash that computes the fingerprints and banks of IPv6 hosts.
    pub(crate) owner_key: Key,
    /// Key of the bijection of peers.
    pub(crate) peer_key: Key,
    /// Key of the hash that selects cells.
    pub(crate) place_key: Key,
    pub(crate) id_keys: IdKeys,
}

impl CellsParams {
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
            peer_hash_key: keys.position,
            owner_key,
            peer_key,
            place_key,
            id_keys: IdKeys(keys.limbs),
        })
    }
}

/// Returns the number of bits of a name, which contains the slot and the low bits of the host's image.
const fn name_bits(cell_bits: u32) -> u32 {
    let bits = ADDRESS_BITS - cell_bits + SLOTS.ilog2();
    if bits < LEAST_NAME_BITS { LEAST_NAME_BITS } else { bits }
}

/// Returns the number of bits of an age: the bits of a word that the family bit, the name and the peer do not use.
const fn age_bits(cell_bits: u32) -> u32 {
    u64::BITS - 1 - name_bits(cell_bits) - PEER_BITS
}

/// Returns the number of ages that words distinguish. The largest age is not counted, because untouched cells have this
/// age.
const fn most_ages(cell_bits: u32) -> u32 {
    (1 << age_bits(cell_bits)) - 1
}

impl CellsParams {
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
        /// Returns m, the binary logarithm of the number of cells.
        cell_bits,
        /// Returns τ: one pair in `2^τ` is sampled.
        lsb_threshold,
        /// Returns the number of slices per epoch. An epoch is the unit of ages.
        epoch_slices,
        /// Returns θ, in distinct peers.
        threshold,
        /// Returns the maximum number of candidates that a search may return.
        candidate_limit,
    }

    /// Returns `pair` with the IDs of its hosts.
    #[inline(always)]
    #[must_use]
    pub fn ids(&self, pair: IpPair) -> Ip6Ids {
        self.id_keys.ids(self.hash, pair)
    }

    #[inline(always)]
    pub(super) const fn name_bits(&self) -> u32 {
        name_bits(self.cell_bits)
    }

    /// Returns the number of low bits of a cell number that select the cell within its bank.
    #[inline(always)]
    pub(super) const fn bank_bits(&self) -> u32 {
        if self.cell_bits < BANK_BITS { self.cell_bits } else { BANK_BITS }
    }

    #[inline(always)]
    pub(super) const fn banks(&self) -> u32 {
        self.cell_bits - self.bank_bits()
    }

    /// Returns the number of bits of a word below its age.
    #[inline(always)]
    pub(super) const fn body_bits(&self) -> u32 {
        u64::BITS - age_bits(self.cell_bits)
    }

    /// Returns the amount by which a word grows in one epoch.
    #[must_use]
    pub const fn age_step(&self) -> u64 {
        1 << self.body_bits()
    }

    /// Returns the number of ages that words distinguish, without the largest, which means "untouched": 2047 with 2^18
    /// cells or more.
    #[must_use]
    pub const fn most_ages(&self) -> u32 {
        most_ages(self.cell_bits)
    }
}
