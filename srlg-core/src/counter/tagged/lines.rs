//! [`Lines`]: the array of the tagged counter, and the histograms of a host.
//!
//! Tallies are inlined by force: only so are they compiled for the vector instructions of a
//! caller that has more of them.

use core::ops::Range;

use super::block::{self, Block};
use super::histograms::Histograms;
use super::line::HostLayout;
use super::params::{AGES, LINE, TaggedParams};
use super::touch::Touch;
use crate::epoch::Span;
use crate::hash::by_family;
use crate::pair::{Address, IpPair};
use crate::recorder::{ReadRecorder, Recorder};
use crate::view::View;

/// The lines of the tagged counter.
pub type Lines<'a, R> = View<'a, TaggedParams, R>;

impl<'a, R: ReadRecorder<Word = u16>> Lines<'a, R> {
    /// Looks at `positions` of the linear estimator of `aip` over `span`; `ahead` is called with the number of a
    /// recorder of each line a while before it is looked at, so that the memory can be asked for
    /// it.
    ///
    /// # Panics
    /// When `positions` are not whole lines.
    #[inline(always)]
    #[must_use]
    pub fn tally(
        self,
        aip: Address,
        span: Span,
        positions: Range<u32>,
        ahead: impl Fn(usize),
    ) -> Histograms {
        let ends = [positions.start, positions.end];
        assert!(ends.map(|end| end % LINE) == [0; 2], "positions of a tally");
        let Self { params, recorders } = self;
        by_family!(params, |params| View { params, recorders }
            .histograms(aip, span.ages, positions, ahead))
    }
}

impl<R: Recorder<Word = u16>> Lines<'_, R> {
    /// Touches one recorder of every pair, and its echo, `age` epochs ago (Alg. 6,
    /// `alg_SLEA_scan`, with one row), while no other thread changes recorders.
    #[inline(always)]
    pub fn touch(self, pairs: &[IpPair], age: u32) {
        let aged = self.params.step(age);
        pairs.iter().for_each(|&pair| self.apply_exclusive(&[Touch::new(self.params, pair, aged)]));
    }

    /// Applies `touches`, while no other thread changes recorders of their lines.
    #[inline(always)]
    pub fn apply_exclusive(self, touches: &[Touch]) {
        for touch in touches {
            for (place, word) in touch.places.into_iter().zip(touch.words()) {
                let recorder = &self.recorders[place as usize];
                recorder.set(recorder.word().min(word));
            }
        }
    }
}

impl<R: ReadRecorder<Word = u16>> Lines<'_, R> {
    /// Histograms of the `positions`, whole lines, of the linear estimator of `aip`, for
    /// the least `ages` ages; `ahead` is called with the number of a recorder of each line before it is looked at.
    #[inline(always)]
    pub(super) fn histograms(
        self,
        aip: Address,
        ages: u32,
        positions: Range<u32>,
        ahead: impl Fn(usize),
    ) -> Histograms {
        let host = HostLayout::new(self.params, aip);
        // Tables in turn: equal bins that follow each other do not wait for each other.
        let mut tables = [[0u16; block::TABLE]; 2];
        let mut block = Block::new();
        let mut places = self.line_places(host, positions.start);
        for start in positions.clone().step_by(block::LEN) {
            let lines = block::LINES.min(((positions.end - start) / LINE) as usize);
            for (line, &place) in places[..lines].iter().enumerate() {
                block.load(line, &self.recorders[place as usize..][..LINE as usize], host.places);
            }
            places = self.line_places(host, start + block::LEN as u32);
            // Little by little: a processor waits when it is asked for many lines at once.
            let ahead = |pair: usize| {
                places[2 * pair..][..2].iter().for_each(|&place| ahead(place as usize));
            };
            block.count(self.params, host, (start as u16, lines), ages, &mut tables, ahead);
        }
        Histograms::of(ages as usize, |kind, age| {
            let bin = kind * AGES + age;
            u32::from(tables[0][bin]) + u32::from(tables[1][bin])
        })
    }

    /// The first recorders of the lines of the block that starts at the position `start`.
    #[inline(always)]
    fn line_places(self, host: HostLayout, start: u32) -> [u32; block::LINES] {
        let mut places = [0; block::LINES];
        for (line, place) in (0..).zip(&mut places) {
            *place = host.places.line(self.params, start + line * LINE);
        }
        places
    }
}
