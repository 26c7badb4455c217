//! [`TaggedParams`]: the checked sizes and keys of the tagged counter.
//!
//! `TaggedParams` consists of 32-bit words in a fixed layout, so that a GPU kernel can take it by value.
//! [`TaggedParams::new`] is the only constructor and checks all sizes, so every index that is computed from the params
//! is in range.

use super::full;
use super::region::Regions;
use super::sizes::{LEAST_TAGS, LINE, MOST_POSITIONS, MOST_TAGS};
use crate::config::Config;
use crate::counter::rules::{check_recorders, check_width};
use crate::epoch::{LARGEST_AGE, shortest_epoch, window_ages};
use crate::error::ConfigError;
use crate::getters::getters;
use crate::hash::{HashFamily, Key, Keys, hashing};
use crate::ids::{IdKeys, Ip6Ids};
use crate::pair::IpPair;
use crate::view::ArrayParams;

/// The sizes and keys of an array of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct TaggedParams {
    pub(crate) lines: u32,
    pub(crate) share: u32,
    pub(crate) regions: Regions,
    pub(crate) tags: u32,
    pub(crate) echo_delay: u32,
    pub(crate) epoch_slices: u32,
    pub(crate) threshold: u32,
    pub(crate) hash: HashFamily,
    pub(crate) position_key: Key,
    pub(crate) host_key: Key,
    pub(crate) line_key: Key,
    pub(crate) tag_key: Key,
    pub(crate) id_keys: IdKeys,
}

impl TaggedParams {
    /// Creates the params of an array of `lines` lines with at least `tags` tags.
    pub(crate) fn new(
        lines: u32,
        tags: u32,
        config: &Config,
        keys: &Keys,
    ) -> Result<Self, ConfigError> {
        let Config { threshold, window, linear_width: width, share, hash, .. } = *config;
        // This rule is checked first, because no width is sufficient for a larger threshold.
        if threshold > 2 * MOST_POSITIONS {
            return Err(ConfigError::TaggedThreshold { threshold, max: 2 * MOST_POSITIONS });
        }
        check_width(config)?;
        if width > MOST_POSITIONS || !width.is_multiple_of(LINE) {
            return Err(ConfigError::TaggedWidth { width, max: MOST_POSITIONS });
        }
        check_share(width, share, threshold)?;
        let regions = Regions::new(width, share);
        let least = regions.positions() / LINE;
        if lines < least {
            return Err(ConfigError::Lines { lines, least });
        }
        if !(LEAST_TAGS..=MOST_TAGS).contains(&tags) {
            return Err(ConfigError::Tags { tags });
        }
        check_recorders(u64::from(lines) * u64::from(LINE))?;
        // Word values encode the ages of touches, followed by the same number of ages for echoes. The largest word
        // means "long ago". An epoch has as few slices as the window and the tags allow.
        let epoch_slices = shortest_epoch(window, LARGEST_AGE / (2 * tags));
        let ages = window_ages(window, epoch_slices);
        Ok(Self {
            lines,
            share,
            regions,
            tags: LARGEST_AGE / (2 * ages),
            echo_delay: ages,
            epoch_slices,
            threshold,
            hash,
            position_key: keys.position,
            host_key: keys.columns[0],
            line_key: keys.line,
            tag_key: keys.tag,
            id_keys: IdKeys(keys.limbs),
        })
    }
}

hashing!(TaggedParams);

fn check_share(width: u32, share: u32, threshold: u32) -> Result<(), ConfigError> {
    let max = most_share(threshold);
    if !share.is_power_of_two() || share > max {
        return Err(ConfigError::Share { share, max });
    }
    let least = full::least_width(width, share, threshold);
    if width < least {
        return Err(ConfigError::FullEstimator { width, threshold, least });
    }
    Ok(())
}

/// Minimum number of counted peers of a host with θ peers, unless every pair is counted. The standard error of the
/// estimate is then at most 18 % of θ, apart from other errors.
const COUNTED: u32 = 32;

/// Returns the largest share with the threshold θ.
pub(crate) const fn most_share(threshold: u32) -> u32 {
    match (threshold / COUNTED).checked_ilog2() {
        Some(bits) => 1 << bits,
        None => 1,
    }
}

impl ArrayParams for TaggedParams {
    fn recorders(&self) -> usize {
        self.lines as usize * LINE as usize
    }
}

impl TaggedParams {
    getters! {
        /// Returns the number of lines, each of [`LINE`] recorders.
        lines,
        /// Returns the number of tags. A word is `age * tags + tag`.
        tags,
        /// Returns the number of ages by which an echo looks older than its touch. A window has at most this
        /// number of ages, so an echo never hides a touch in the window.
        echo_delay,
        /// Returns the number of slices per epoch. An epoch is the unit of ages.
        epoch_slices,
    }

    /// Returns the same params while one pair in `share` is counted, and estimates use the positions of `largest`.
    pub(crate) fn with_shares(&self, share: u32, largest: u32) -> Result<Self, ConfigError> {
        let width = self.regions.fine().full;
        check_share(width, share, self.threshold)?;
        check_share(width, largest, self.threshold)?;
        Ok(Self { regions: self.regions.with_shares(share, largest), ..*self })
    }

    /// Returns the number of fine positions of a linear estimator that estimates use.
    #[inline]
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.regions.fine().width
    }

    /// Returns the amount by which the word of a recorder grows in `epochs` epochs.
    #[inline]
    #[must_use]
    pub fn step(&self, epochs: u32) -> u32 {
        // Any number of epochs above the largest age has the same effect.
        epochs.min(LARGEST_AGE) * self.tags
    }

    /// Returns the fine and the coarse regions of a linear estimator.
    #[inline]
    #[must_use]
    pub const fn regions(&self) -> &Regions {
        &self.regions
    }

    /// Returns the number of positions of a linear estimator, fine and coarse, if every pair is counted.
    #[inline]
    #[must_use]
    pub const fn positions(&self) -> u32 {
        self.regions.positions()
    }

    /// Returns `pair` with its IDs.
    #[inline(always)]
    #[must_use]
    pub fn ids(&self, pair: IpPair) -> Ip6Ids {
        self.id_keys.ids(self.hash, pair)
    }
}
