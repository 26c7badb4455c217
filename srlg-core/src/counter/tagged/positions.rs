//! [`Positions`]: access to individual positions of one host.

use super::decoder::PositionDecoder;
use super::histograms::Grouping;
use super::line::HostLayout;
use super::lines::Lines;
use super::sizes::LINE;
use crate::ids::HostId;
use crate::recorder::ReadRecorder;

/// The positions of one host. Each position can be read by a different thread.
#[derive(Debug)]
pub struct Positions<'a, R> {
    lines: Lines<'a, R>,
    host: HostLayout,
    decoder: PositionDecoder,
    grouping: Grouping,
}

impl<'a, R: ReadRecorder<Word = u16>> Lines<'a, R> {
    /// Returns the positions of `host`, with ages grouped by `grouping`.
    #[inline(always)]
    #[must_use]
    pub fn positions(self, host: HostId, grouping: Grouping) -> Positions<'a, R> {
        let (host, decoder) =
            (HostLayout::new(self.params, host), PositionDecoder::new(self.params));
        Positions { lines: self, host, decoder, grouping }
    }
}

impl<R: ReadRecorder<Word = u16>> Positions<'_, R> {
    /// Returns the [bin](Grouping::bins) of `position`, or `None` if the position is not in the window.
    #[inline(always)]
    #[must_use]
    pub fn bin(&self, position: u32) -> Option<u32> {
        let touch = self.host.places.line(self.lines.params, position) + position % LINE;
        let word = |place: u32| self.lines.recorders[place as usize].word();
        let (touch, echo) = (word(touch), word(touch ^ self.host.places.twist));
        let tags = self.host.tagger.tags(position as u16);
        let (age, kind) = self.decoder.age_and_kind(touch, echo, tags);
        let group = self.grouping.group(age.into())?;
        Some(u32::from(kind) * self.grouping.groups() + group)
    }
}
