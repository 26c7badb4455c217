//! [`TaggedParams`]: the checked sizes and keys of the tagged counter.
//!
//! Plain 32-bit words in a fixed layout, so that a GPU kernel can take them by value. Invariant:
//! [`TaggedParams::new`] is the only constructor, so every index that is built from them is in
//! range.

use super::region::Regions;
use crate::config::Config;
use crate::counter::rules::{check_recorders, check_width};
use crate::epoch::{LARGEST_AGE, shortest_epoch, window_ages};
use crate::error::ConfigError;
use crate::getters::getters;
use crate::hash::{HashFamily, Key, Keys, hashing};
use crate::ids::{IdKeys, Ip6Ids};
use crate::pair::Ip6Pair;
use crate::view::ArrayParams;

/// Recorders of a line: 64 bytes, a line of common caches.
pub const LINE: u32 = 32;

/// Positions of the longest fine region: with the coarse one behind it 16 bits number all positions, of which a
/// tag is a function.
pub(crate) const MOST_POSITIONS: u32 = (1 << 16) - (1 << 13);

/// Ages that a tally tells apart; a window has fewer.
pub const AGES: usize = 512;

/// Fewer tags need more ages than a tally has bins.
pub(crate) const LEAST_TAGS: u32 = (LARGEST_AGE + 1) / (2 * AGES as u32);

/// With more tags not even two ages, of a touch and of an echo, fit into 16 bits.
const MOST_TAGS: u32 = LARGEST_AGE / 4;

/// Holds the sizes and keys of an array of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct TaggedParams {
    pub(crate) lines: u32,
    pub(crate) width: u32,
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
    /// Of the words of an IPv6 address.
    pub(crate) id_keys: IdKeys,
}

impl TaggedParams {
    /// Checks the rules of `lines` lines whose words tell at least `tags` tags apart.
    pub(crate) fn new(
        lines: u32,
        tags: u32,
        config: &Config,
        keys: &Keys,
    ) -> Result<Self, ConfigError> {
        let Config { threshold, window, linear_width: width, hash, .. } = *config;
        // First: no width is enough for a larger threshold.
        if threshold > 2 * MOST_POSITIONS {
            return Err(ConfigError::TaggedThreshold { threshold, max: 2 * MOST_POSITIONS });
        }
        check_width(config)?;
        if width > MOST_POSITIONS || !width.is_multiple_of(LINE) {
            return Err(ConfigError::TaggedWidth { width, max: MOST_POSITIONS });
        }
        let regions = Regions::new(width);
        let least = regions.positions() / LINE;
        if lines < least {
            return Err(ConfigError::Lines { lines, least });
        }
        if !(LEAST_TAGS..=MOST_TAGS).contains(&tags) {
            return Err(ConfigError::Tags { tags });
        }
        check_recorders(u64::from(lines) * u64::from(LINE))?;
        // Ages of touches, then as many of echoes; the largest word stands for 'long ago'. As few
        // slices per age as the window and the tags allow.
        let epoch_slices = shortest_epoch(window, LARGEST_AGE / (2 * tags));
        let ages = window_ages(window, epoch_slices);
        Ok(Self {
            lines,
            width,
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

impl ArrayParams for TaggedParams {
    fn recorders(&self) -> usize {
        self.lines as usize * LINE as usize
    }
}

impl TaggedParams {
    getters! {
        /// Lines of [`LINE`] recorders.
        lines,
        /// η': fine positions of a host's linear estimator.
        width,
        /// Tags that a word tells apart: a word is `age * tags + tag`.
        tags,
        /// Ages by which the echo of a touch looks older than the touch: the most ages that a
        /// window holds, so that no echo hides a touch in the window.
        echo_delay,
        /// Slices per epoch: the unit of ages.
        epoch_slices,
    }

    /// Returns by how much the word of a recorder grows in `epochs`.
    #[inline]
    #[must_use]
    pub fn step(&self, epochs: u32) -> u32 {
        // More epochs than 16 bits can count are as good as that.
        epochs.min(LARGEST_AGE) * self.tags
    }

    /// Returns the fine and the coarse regions of a linear estimator.
    #[inline]
    #[must_use]
    pub const fn regions(&self) -> &Regions {
        &self.regions
    }

    /// Returns the number of positions of a linear estimator, fine and coarse.
    #[inline]
    #[must_use]
    pub const fn positions(&self) -> u32 {
        self.regions.positions()
    }

    /// Returns `pair` with its ids.
    #[inline(always)]
    #[must_use]
    pub fn ids(&self, pair: Ip6Pair) -> Ip6Ids {
        self.id_keys.ids(self.hash, pair)
    }

    /// Returns `H3(opposite)`: the position of a linear estimator that the `opposite` host of that id touches, in any region.
    #[inline(always)]
    #[must_use]
    pub fn position(&self, opposite: u32) -> u32 {
        self.regions.position(self.hash.of(opposite, self.position_key))
    }
}
