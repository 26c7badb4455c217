//! [`PositionDecoder`]: a decoder of the two recorders of a position, for vectorised loops on a CPU and for GPU
//! threads.

use super::histograms::Kind;
use super::params::TaggedParams;
use super::tag::{TagPair, high_product};

#[derive(Clone, Copy, Debug)]
pub(super) struct PositionDecoder {
    tags: u16,
    /// Factor for dividing a word by `tags`. The upper half of the product of a word and this factor is the
    /// quotient, or one less.
    reciprocal: u16,
    /// Difference between the word of an echo and the word of its touch, without the tags.
    pub(super) delay: u16,
}

impl PositionDecoder {
    #[inline(always)]
    pub(super) fn new(params: &TaggedParams) -> Self {
        Self {
            tags: params.tags as u16,
            reciprocal: ((1u32 << 16) / params.tags) as u16,
            delay: params.step(params.echo_delay) as u16,
        }
    }

    /// Returns the word of the older place of a position: `touch`, or `echo` minus `delay`, whichever is larger.
    #[inline(always)]
    pub(super) fn oldest(touch: u16, echo: u16, delay: u16) -> u16 {
        touch.max(echo.saturating_sub(delay))
    }

    /// Returns the age of the older of `touch` and `echo`, and the [`Kind`] of the position at that age. `touch` and
    /// `echo` are the words in the two places of a position.
    ///
    /// All values have 16 bits, and conditional selections replace branches, so that loops vectorise.
    #[inline(always)]
    pub(super) fn age_and_kind(self, touch: u16, echo: u16, tags: TagPair) -> (u16, u16) {
        let oldest = Self::oldest(touch, echo, self.delay);
        let short = high_product(oldest, self.reciprocal);
        let rest = oldest.wrapping_sub(short.wrapping_mul(self.tags));
        let is_short = rest >= self.tags;
        let age = short + u16::from(is_short);
        let base = oldest - if is_short { rest.wrapping_sub(self.tags) } else { rest };
        let own = base.saturating_add(tags.touch);
        let echo_base = base.saturating_add(self.delay);
        let own_echo = echo_base.saturating_add(tags.echo);
        let shown = (touch == own) | (echo == own_echo);
        let (excludes, echo_excludes) = (touch > own, echo > own_echo);
        let allowed = !(excludes | echo_excludes);
        let of_one_age = (touch >= base) & (echo >= echo_base);
        let twice = of_one_age & ((excludes & echo_excludes) | (allowed & !shown));
        let kind = Kind::HIDDEN * u16::from(allowed & !shown)
            + Kind::OWN * u16::from(allowed & shown)
            + Kind::TWICE * u16::from(twice);
        (age, kind)
    }
}
