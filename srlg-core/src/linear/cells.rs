//! What two recorders say of one cell: the maths of a tally, for vectors and for single threads.

use super::histograms::Kind;
use super::lines::Host;
use super::{LINE, Slea};
use crate::epoch::Span;
use crate::pair::Address;
use crate::params::Params;
use crate::recorder::ReadRecorder;

/// The cells of one host, looked at one by one: each may be the work of a thread of its own.
#[derive(Debug)]
pub struct Cells<'a, R> {
    slea: Slea<'a, R>,
    host: Host,
    sorter: Sorter,
    ages: u32,
}

impl<'a, R: ReadRecorder<Word = u16>> Slea<'a, R> {
    /// The cells of `aip` over `span`; of the tagged scheme alone.
    #[inline(always)]
    #[must_use]
    pub fn cells(self, aip: Address, span: Span) -> Cells<'a, R> {
        debug_assert!(self.params.is_tagged(), "cells are of the tagged scheme");
        let (host, sorter) = (Host::new(self.params, aip), Sorter::new(self.params));
        Cells { slea: self, host, sorter, ages: span.ages }
    }
}

impl<R: ReadRecorder<Word = u16>> Cells<'_, R> {
    /// The bin of `cell`, one of those of the [span](Span::bins), or `None` when it is not in the
    /// window.
    #[inline(always)]
    #[must_use]
    pub fn bin(&self, cell: u32) -> Option<u32> {
        let touch = self.host.places.line(self.slea.params, cell) + cell % LINE;
        let word = |place: u32| self.slea.recorders[place as usize].word();
        let (touch, echo) = (word(touch), word(touch ^ self.host.places.twist));
        let tags = self.host.tagger.tags(cell as u16);
        let (age, kind) = self.sorter.age_and_kind(touch, echo, tags);
        (u32::from(age) < self.ages).then(|| u32::from(kind) * self.ages + u32::from(age))
    }
}

/// Reads the two words of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sorter {
    tags: u16,
    /// Multiplying by it divides by `tags`, or is one short.
    reciprocal: u16,
    /// What an echo's word has more than its touch's, tags aside.
    delay: u16,
}

impl Sorter {
    #[inline(always)]
    pub(super) fn new(params: &Params) -> Self {
        Self {
            tags: params.tags as u16,
            reciprocal: ((1u32 << 16) / params.tags) as u16,
            delay: params.step(params.echo_delay) as u16,
        }
    }

    /// The older of two words in the places of a cell's touch and of its echo, as that of a touch.
    #[inline(always)]
    pub(super) fn oldest(self, touch: u16, echo: u16) -> u16 {
        touch.max(echo.saturating_sub(self.delay))
    }

    /// The age of the older of `touch` and `echo`, the words in the places of a cell's touch and
    /// of its echo, and what they say of an own touch of that age, a [`Kind`].
    ///
    /// All values are 16 bits wide and all choices are selections, so that loops vectorise.
    #[inline(always)]
    pub(super) fn age_and_kind(self, touch: u16, echo: u16, tags: (u16, u16)) -> (u16, u16) {
        let oldest = self.oldest(touch, echo);
        let short = ((u32::from(oldest) * u32::from(self.reciprocal)) >> 16) as u16;
        let rest = oldest.wrapping_sub(short.wrapping_mul(self.tags));
        let is_short = rest >= self.tags;
        let age = short + u16::from(is_short);
        let base = oldest - if is_short { rest.wrapping_sub(self.tags) } else { rest };
        let own = base.saturating_add(tags.0);
        let echo_base = base.saturating_add(self.delay);
        let own_echo = echo_base.saturating_add(tags.1);
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
