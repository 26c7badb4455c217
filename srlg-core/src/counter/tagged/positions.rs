//! [`Positions`]: the positions of one host, one by one.

use super::decoder::PositionDecoder;
use super::line::HostLayout;
use super::lines::Lines;
use super::params::LINE;
use crate::epoch::Span;
use crate::ids::HostId;
use crate::recorder::ReadRecorder;

/// Reads the positions of one host one by one: each may be the work of a thread of its own.
#[derive(Debug)]
pub struct Positions<'a, R> {
    lines: Lines<'a, R>,
    host: HostLayout,
    decoder: PositionDecoder,
    ages: u32,
}

impl<'a, R: ReadRecorder<Word = u16>> Lines<'a, R> {
    /// Returns the positions of `host` over `span`.
    #[inline(always)]
    #[must_use]
    pub fn positions(self, host: HostId, span: Span) -> Positions<'a, R> {
        let (host, decoder) =
            (HostLayout::new(self.params, host), PositionDecoder::new(self.params));
        Positions { lines: self, host, decoder, ages: span.ages }
    }
}

impl<R: ReadRecorder<Word = u16>> Positions<'_, R> {
    /// Returns the bin of `position`, one of those of the [span](Span::bins), or `None` when it is not in the
    /// window.
    #[inline(always)]
    #[must_use]
    pub fn bin(&self, position: u32) -> Option<u32> {
        let touch = self.host.places.line(self.lines.params, position) + position % LINE;
        let word = |place: u32| self.lines.recorders[place as usize].word();
        let (touch, echo) = (word(touch), word(touch ^ self.host.places.twist));
        let tags = self.host.tagger.tags(position as u16);
        let (age, kind) = self.decoder.age_and_kind(touch, echo, tags);
        (u32::from(age) < self.ages).then(|| u32::from(kind) * self.ages + u32::from(age))
    }
}
