//! The conversion of slices to [`Ages`] and [`Span`]s.

use crate::epoch::{Ages, Span};
use crate::params::Params;

impl Params {
    /// Returns, for each array, the number of epochs that start after the slice `from` and not after the slice `to`.
    #[doc(hidden)]
    #[must_use]
    pub fn ages_between(&self, from: u64, to: u64) -> Ages {
        let begun = |epoch_slices: u32| {
            let epoch_slices = u64::from(epoch_slices);
            // Recorders saturate, so any number above their largest age has the same effect.
            u32::try_from((to / epoch_slices).saturating_sub(from / epoch_slices))
                .unwrap_or(u32::MAX)
        };
        Ages {
            finder: begun(self.finder.epoch_slices()),
            counter: begun(self.counter_sizes().epoch_slices),
        }
    }

    /// Returns the age of an event that happened `late` slices before `slice`. For an event before slice 0, returns
    /// [`Ages::FOREVER`].
    #[doc(hidden)]
    #[must_use]
    pub fn ages(&self, slice: u64, late: u32) -> Ages {
        match slice.checked_sub(late.into()) {
            Some(then) => self.ages_between(then, slice),
            None => Ages::FOREVER,
        }
    }

    /// Returns the window of the last `window` slices, up to and including `slice`.
    #[doc(hidden)]
    #[must_use]
    pub fn span(&self, slice: u64, window: u32) -> Span {
        let epoch = u64::from(self.counter_sizes().epoch_slices);
        // The running epoch has this many slices up to `slice`. The epochs before it are whole.
        let running = slice % epoch + 1;
        let before = u64::from(window).saturating_sub(running);
        let ages = 1 + before.div_ceil(epoch);
        let (oldest, length) = match before {
            0 => (u64::from(window), running),
            _ => (before - (ages - 2) * epoch, epoch),
        };
        let finder_epoch = u64::from(self.finder.epoch_slices());
        let finder_running = slice % finder_epoch + 1;
        let finder_before = u64::from(window).saturating_sub(finder_running);
        let finder_youngest = finder_running.min(window.into());
        let finder_oldest = match finder_before {
            0 => finder_youngest,
            _ => (finder_before - 1) % finder_epoch + 1,
        };
        Span {
            finder_ages: 1 + finder_before.div_ceil(finder_epoch) as u32,
            finder_youngest: finder_youngest as u32,
            finder_oldest: finder_oldest as u32,
            ages: ages as u32,
            oldest_slices: oldest as u32,
            oldest_length: length as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{COUNTER, Config, Scheme};
    extern crate std;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn tagged(window: u32, tags: u32) -> Params {
        let scheme = Scheme::Tagged { cell_bits: 12, lines: 2304, tags };
        Config { window, scheme, ..Config::default() }.validate().unwrap()
    }

    #[test]
    fn epochs_are_as_short_as_the_tags_allow() {
        for (window, least, epoch, tags, finder_epoch) in [
            (1, 64, 1, 32_767, 1),
            (60, 64, 1, 546, 2),
            (255, 64, 1, 128, 9),
            (256, 64, 1, 127, 9),
            (300, 64, 1, 109, 10),
            (300, 110, 2, 217, 10),
            (300, 218, 3, 324, 10),
            (511, 64, 1, 64, 18),
            (512, 64, 2, 127, 18),
            (60_000, 64, 118, 64, 2000),
        ] {
            let params = tagged(window, least);
            let counter = params.counter_sizes();
            let found = (counter.epoch_slices, counter.tags, params.finder().epoch_slices());
            assert_eq!(found, (epoch, tags, finder_epoch), "{window} {least}");
        }
        let paper = Config::paper().validate().unwrap();
        let counter = paper.counter_sizes();
        assert_eq!((counter.epoch_slices, counter.tags, paper.finder().epoch_slices()), (1, 1, 1));
    }

    proptest! {
        // The expected values come from counting the slices of the window one by one.
        #[test]
        fn span_covers_the_slices_of_the_window_and_no_other(
            window in 1u32..1500,
            asked in 1u32..1500,
            tags in 64u32..2000,
            slice in 1500u64..100_000,
        ) {
            let params = tagged(window, tags);
            let asked = asked.min(window);
            let ages: Vec<Ages> = (0..asked).map(|late| params.ages(slice, late)).collect();
            let oldest = *ages.last().unwrap();
            let span = params.span(slice, asked);
            prop_assert_eq!((span.ages, span.finder_ages), (oldest.counter + 1, oldest.finder + 1));
            let in_oldest = ages.iter().filter(|ages| ages.counter == oldest.counter).count();
            prop_assert_eq!(span.oldest_slices as usize, in_oldest);
            let epoch = |slice| slice / u64::from(params.counter_sizes().epoch_slices);
            let so_far = (0..=slice).rev().take_while(|&other| epoch(other) == epoch(slice));
            let whole = oldest.counter > 0;
            let length = if whole { params.counter_sizes().epoch_slices } else { so_far.count() as u32 };
            prop_assert_eq!(span.oldest_length, length);
            // In both arrays, the words of touches in the window and of their echoes are below the word for "long ago".
            let counter = span.ages + params.counter_sizes().echo_delay;
            let longest = Ages { counter, ..Ages::FOREVER };
            prop_assert!(params.age_steps(longest)[COUNTER] <= u16::MAX.into());
            prop_assert!(span.ages <= params.counter_sizes().echo_delay);
            prop_assert!(span.finder_ages <= params.finder().cells().unwrap().most_ages());
        }
    }

    #[test]
    fn what_happened_before_time_began_has_the_largest_age() {
        let params = Config::default().validate().unwrap();
        assert_eq!(params.ages(5, 6), Ages::FOREVER);
        assert_eq!(params.ages(u64::MAX, u32::MAX), Ages::FOREVER);
    }
}
