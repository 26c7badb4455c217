//! [`RsraParams`]: the checked sizes and keys of an RSRA.
//!
//! `RsraParams` consists of 32-bit words in a fixed layout, so that a GPU kernel can take it by value.
//! [`RsraParams::new`] is the only constructor, so every index computed from these params is in range.

use crate::config::{Config, RsraSizes};
use crate::epoch::{LARGEST_AGE, shortest_epoch};
use crate::error::ConfigError;
use crate::getters::getters;
use crate::hash::{self, HashFamily, Key, Keys, hashing};
use crate::pair::{ADDRESS_BITS, Address};
use crate::sizes::Size;
use crate::view::ArrayParams;

/// The sizes and keys of an RSRA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RsraParams {
    pub(crate) rows: u32,
    pub(crate) column_bits: u32,
    pub(crate) width: u32,
    pub(crate) bit_stride: u32,
    pub(crate) lsb_threshold: u32,
    pub(crate) hot_weight: u32,
    pub(crate) hot_limit: u32,
    pub(crate) epoch_slices: u32,
    pub(crate) hash: HashFamily,
    pub(crate) peer_key: Key,
    pub(crate) low_key: Key,
    pub(crate) high_key: Key,
}

impl RsraParams {
    pub(crate) fn new(sizes: RsraSizes, config: &Config, keys: &Keys) -> Result<Self, ConfigError> {
        check(sizes)?;
        let RsraSizes { rows, column_bits, width, bit_stride, hot_limit } = sizes;
        Ok(Self {
            rows,
            column_bits,
            width,
            bit_stride,
            lsb_threshold: lsb_threshold(config.threshold, width)?,
            hot_weight: hot_weight(width),
            hot_limit,
            epoch_slices: shortest_epoch(config.window, LARGEST_AGE),
            hash: config.hash,
            peer_key: keys.peer,
            low_key: keys.low,
            high_key: keys.high,
        })
    }
}

/// Returns τ by equation 1 (`eq_getLsbThreshold`), `ceil(log2(θ/η))`.
fn lsb_threshold(threshold: u32, width: u32) -> Result<u32, ConfigError> {
    if threshold < width {
        return Err(ConfigError::Threshold { threshold, width });
    }
    // τ is at most 32 - log2(η), so sampling does not use the high bits of the hash, which H2 uses.
    Ok(threshold.div_ceil(width).next_power_of_two().trailing_zeros())
}

fn check(sizes: RsraSizes) -> Result<(), ConfigError> {
    let RsraSizes { rows, column_bits: bits, width, bit_stride: stride, hot_limit } = sizes;
    if !(12..=24).contains(&bits) {
        return Err(ConfigError::RoughColumnBits { bits });
    }
    if !(3..=16).contains(&rows) {
        return Err(ConfigError::RoughRows { rows });
    }
    if ![2, 4, 8].contains(&width) {
        return Err(ConfigError::RoughWidth { width });
    }
    if stride == 0 || stride >= bits {
        return Err(ConfigError::BitStride { stride, bits });
    }
    let covered = (rows - 2) * stride + bits;
    if covered < ADDRESS_BITS {
        return Err(ConfigError::UncoveredBits { covered });
    }
    if hot_limit == 0 {
        return Err(ConfigError::HotLimit);
    }
    Ok(())
}

/// Returns `ceil(ρη)` with ρ = 0.99(1 - e^(-1/3)) = 0.28063... The result is 1, 2 or 3 for η = 2, 4 or 8.
const fn hot_weight(width: u32) -> u32 {
    const RHO_PER_MILLION: u32 = 280_634;
    (width * RHO_PER_MILLION).div_ceil(1_000_000)
}

impl RsraParams {
    pub(crate) fn sizes(&self) -> [Size; 7] {
        [
            Size::shaping("rsra_rows", self.rows),
            Size::shaping("rsra_column_bits", self.column_bits),
            Size::shaping("rsra_width", self.width),
            Size::shaping("rsra_bit_stride", self.bit_stride),
            Size::shaping("lsb_threshold", self.lsb_threshold),
            Size::shaping("finder_epoch_slices", self.epoch_slices),
            Size::reading("hot_limit", self.hot_limit),
        ]
    }
}

hashing!(RsraParams);

impl ArrayParams for RsraParams {
    fn recorders(&self) -> usize {
        self.estimators() * self.width as usize
    }
}

impl RsraParams {
    getters! {
        /// Returns r, the number of rows.
        rows,
        /// Returns q, the binary logarithm of the number of columns in a row.
        column_bits,
        /// Returns η, the number of recorders in a rough estimator.
        width,
        /// Returns δ, the number of address bits by which the RHFG shifts from one row to the next.
        bit_stride,
        /// Returns τ of equation 1. Peers with `LSB(H1(peer)) < τ` are not sampled.
        lsb_threshold,
        /// Returns `ceil(ρη)`, the minimum weight of a hot rough estimator.
        hot_weight,
        /// Returns the maximum number of hot columns per row that a search accepts.
        hot_limit,
        /// Returns the number of slices per epoch. An epoch is the unit of ages.
        epoch_slices,
    }

    /// Returns the number of columns in a row, `2^q`.
    #[inline]
    #[must_use]
    pub const fn columns(&self) -> u32 {
        1 << self.column_bits
    }

    /// Returns the number of rough estimators in all rows.
    #[must_use]
    pub const fn estimators(&self) -> usize {
        (self.rows as usize) << self.column_bits
    }

    /// Returns `H2(peer)`, the number of the recorder that `peer` touches in a rough estimator, in
    /// `0..η`. Returns `None` if the peer is not sampled, that is, if `LSB(H1(peer)) < τ` (algorithm 1).
    ///
    /// H1 uses the low bits and H2 the high bits of one 32-bit hash. Their bits do not overlap.
    #[inline]
    #[must_use]
    pub fn slot(&self, peer: Address) -> Option<u32> {
        let hash = self.hash.of(peer, self.peer_key);
        (hash::lsb(hash) >= self.lsb_threshold).then(|| hash::reduce(hash, self.width))
    }

    /// Returns whether `peer` is sampled and therefore has a [`slot`](Self::slot).
    #[inline(always)]
    #[must_use]
    pub(crate) fn is_sampled(&self, peer: Address) -> bool {
        // This form of LSB >= τ vectorises. It is valid because τ is less than 32.
        self.hash.of(peer, self.peer_key) & ((1 << self.lsb_threshold) - 1) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn hot_weight_is_rho_times_the_width_rounded_up() {
        let rho = 0.99 * (1.0 - libm::exp(-1.0 / 3.0));
        for width in [2, 4, 8] {
            assert_eq!(f64::from(hot_weight(width)), libm::ceil(rho * f64::from(width)));
        }
    }

    // The expected values come from an independent Python implementation (seed 0, Config::paper()).
    #[test]
    fn slots_equal_the_pinned_vectors() {
        let rsra = *Config::paper().validate().unwrap().finder().rsra().unwrap();
        for address in [0x0a00_0001, 0xc0a8_0101, 0xffff_ffff] {
            assert_eq!(rsra.slot(address), None);
        }
        let sampled = [(0x0a00_0069, 1), (0x0a00_02cb, 5), (0x0a00_035f, 3), (0x0a00_03dd, 1)];
        for (address, slot) in sampled {
            assert_eq!(rsra.slot(address), Some(slot), "{address:#x}");
        }
    }

    #[test]
    fn one_address_in_two_to_the_tau_is_sampled_and_slots_are_even() {
        let rsra = *Config::paper().validate().unwrap().finder().rsra().unwrap();
        let mut slots = [0u32; 8];
        for slot in (0..1 << 20).filter_map(|address| rsra.slot(address)) {
            slots[slot as usize] += 1;
        }
        // Binomial(2^20, 2^-7 / 8) has the mean 1024 and the standard deviation 32. The tolerance is six deviations.
        assert!(slots.iter().all(|&n| n.abs_diff(1024) < 6 * 32), "{slots:?}");
    }
}
