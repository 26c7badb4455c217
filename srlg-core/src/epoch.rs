//! Epochs: the unit of ages.
//!
//! An age of few bits cannot count every slice of a long window, so ages count epochs of
//! [`Params::epoch_slices`] slices (one in the paper's scheme). Epochs are aligned to the
//! absolute number of a slice, so that all nodes age their recorders at the same time. A
//! window that does not begin with an epoch holds a part of its oldest one: a [`Span`]
//! says how many of its slices, and an estimate counts that epoch pro rata.

use crate::params::Params;

/// A window in epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Span {
    /// Ages in the window: 0 to `ages - 1`, the oldest of which may be there in part.
    pub ages: u32,
    /// Slices of the oldest epoch that are in the window, at least 1.
    pub oldest_slices: u32,
    /// Slices that the oldest epoch has, or has had so far if it is the running one.
    pub oldest_length: u32,
}

impl Params {
    /// The epoch that `slice` belongs to.
    #[must_use]
    pub const fn epoch(&self, slice: u64) -> u64 {
        slice / self.epoch_slices as u64
    }

    /// Age in epochs of what happened `late` slices before `slice`; before slice 0 there is
    /// no epoch, and the age is the largest.
    #[must_use]
    pub fn age(&self, slice: u64, late: u32) -> u32 {
        let Some(then) = slice.checked_sub(late.into()) else { return u32::MAX };
        u32::try_from(self.epoch(slice) - self.epoch(then)).unwrap_or(u32::MAX)
    }

    /// By how much the word of a SLEA recorder grows in `epochs`.
    #[must_use]
    pub fn step(&self, epochs: u32) -> u32 {
        // More epochs than 16 bits can count are as good as that.
        epochs.min(u16::MAX.into()) << self.tag_bits
    }

    /// The last `window` slices, the last of which is `slice`.
    #[must_use]
    pub fn span(&self, slice: u64, window: u32) -> Span {
        let epoch = u64::from(self.epoch_slices);
        // Slices of the running epoch up to `slice`, and whole epochs before it.
        let running = slice % epoch + 1;
        let before = u64::from(window).saturating_sub(running);
        let ages = 1 + before.div_ceil(epoch);
        let (oldest, length) = match before {
            0 => (u64::from(window), running),
            _ => (before - (ages - 2) * epoch, epoch),
        };
        Span { ages: ages as u32, oldest_slices: oldest as u32, oldest_length: length as u32 }
    }
}

impl Span {
    /// Share of the oldest epoch that is in the window.
    pub(crate) fn oldest_share(self) -> f64 {
        f64::from(self.oldest_slices) / f64::from(self.oldest_length)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Scheme};
    extern crate std;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn epochs_are_as_short_as_the_bits_of_an_age_allow() {
        for (window, age_bits, epoch) in [
            (1, 8, 1),
            (254, 8, 1),
            (255, 8, 2),
            (300, 8, 2),
            (300, 7, 3),
            (300, 4, 22),
            (60_000, 8, 237),
        ] {
            let config = Config { window, scheme: Scheme::Tagged { age_bits }, ..Config::tagged() };
            assert_eq!(config.validate().unwrap().epoch_slices(), epoch, "{window} {age_bits}");
        }
        assert_eq!(Config::paper().validate().unwrap().epoch_slices(), 1);
    }

    proptest! {
        // Counts the slices of the window one by one.
        #[test]
        fn span_covers_the_slices_of_the_window_and_no_other(
            window in 1u32..700,
            asked in 1u32..700,
            age_bits in 4u32..=8,
            slice in 700u64..100_000,
        ) {
            let scheme = Scheme::Tagged { age_bits };
            let params = Config { window, scheme, ..Config::tagged() }.validate().unwrap();
            let ages: Vec<u32> = (0..asked.min(window)).map(|late| params.age(slice, late)).collect();
            let oldest = *ages.last().unwrap();
            let span = params.span(slice, asked.min(window));
            prop_assert_eq!(span.ages, oldest + 1);
            let in_oldest = ages.iter().filter(|&&age| age == oldest).count();
            prop_assert_eq!(span.oldest_slices as usize, in_oldest);
            let so_far = (0..=slice).rev().take_while(|&other| params.epoch(other) == params.epoch(slice));
            let length = if oldest > 0 { params.epoch_slices() } else { so_far.count() as u32 };
            prop_assert_eq!(span.oldest_length, length);
            // All ages of a window fit, below the one that means 'long ago'.
            prop_assert!(span.ages < 1 << age_bits);
        }
    }

    #[test]
    fn what_happened_before_time_began_has_the_largest_age() {
        let params = Config::tagged().validate().unwrap();
        assert_eq!(params.age(5, 6), u32::MAX);
        assert_eq!(params.age(u64::MAX, u32::MAX), u32::MAX / 2);
    }
}
