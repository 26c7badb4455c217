//! [`Lines`]: the array of the tagged counter, with functions that touch it and count positions.
//!
//! Counting functions are always inlined, so that they are compiled for the vector instructions of their caller.

use super::bins::Bins;
use super::decoder::PositionDecoder;
use super::group::{GROUP, InWindow, LINES, POSITIONS, Selection, Words};
use super::line::HostLayout;
use super::params::TaggedParams;
use super::sizes::LINE;
use super::touch::{Contact, Touch};
use crate::counter::Look;
use crate::hash::by_family;
use crate::ids::PairIds;
use crate::recorder::{ReadRecorder, Recorder};
use crate::view::ArrayView;

/// The array of the tagged counter.
pub type Lines<'a, R> = ArrayView<'a, TaggedParams, R>;

impl<R: ReadRecorder<Word = u16>> Lines<'_, R> {
    /// Counts the positions of `look` that are in the span of `bins`, and adds them to `bins`.
    ///
    /// Some time before the function reads a line, it calls `ahead` with the index of a recorder in that line, to
    /// prefetch the line. For each group of lines, it calls `pick`, which is [`super::pick`] or an equivalent function.
    ///
    /// # Panics
    /// Panics if the range of positions does not start and end at a line boundary.
    #[inline(always)]
    pub fn count(
        self,
        look: &Look,
        ahead: impl Fn(usize),
        pick: impl Fn(&[Words; GROUP], Selection, &mut InWindow),
        bins: &mut Bins,
    ) {
        let ends = [look.positions.start, look.positions.end];
        assert!(
            ends.map(|end| end % LINE) == [0; 2],
            "the positions must start and end at a line boundary"
        );
        let Self { params, recorders } = self;
        by_family!(params, |params| ArrayView { params, recorders }
            .count_positions(look, ahead, pick, bins));
    }
}

impl<R: Recorder<Word = u16>> Lines<'_, R> {
    /// For each of `pairs`, writes the touches and the echoes of a contact `age` epochs ago (algorithm 6,
    /// `alg_SLEA_scan`, with one row). No other thread may change recorders at the same time.
    #[inline(always)]
    pub fn touch(self, pairs: &[impl PairIds], age: u32) {
        let aged = self.params.step(age);
        for pair in pairs {
            let contact = Contact::new(self.params, pair);
            self.apply_exclusive(&[contact.fine(self.params, aged)]);
            contact
                .coarse(self.params, aged)
                .iter()
                .for_each(|&touch| self.apply_exclusive(&[touch]));
        }
    }

    /// Applies `touches`. No other thread may change the lines of these touches at the same time.
    #[inline(always)]
    pub fn apply_exclusive(self, touches: &[Touch]) {
        for touch in touches {
            for (place, word) in touch.places.into_iter().zip(touch.words()) {
                let recorder = &self.recorders[place as usize];
                recorder.set(recorder.word().min(word));
            }
        }
    }

    /// Applies `touches` as [`apply_exclusive`](Self::apply_exclusive) does, but does not write if a touch changes
    /// nothing. Returns the number of touches that changed a recorder. A line that is not written stays valid in the
    /// caches of other cores.
    #[inline(always)]
    pub fn apply_changes(self, touches: &[Touch]) -> usize {
        let mut changes = 0;
        for touch in touches {
            let recorders = touch.places.map(|place| &self.recorders[place as usize]);
            let (seen, words) = (recorders.map(R::word), touch.words());
            if words[0] < seen[0] || words[1] < seen[1] {
                changes += 1;
                recorders[0].set(seen[0].min(words[0]));
                recorders[1].set(seen[1].min(words[1]));
            }
        }
        changes
    }
}

impl<R: ReadRecorder<Word = u16>> Lines<'_, R> {
    #[inline(always)]
    fn count_positions(
        self,
        look: &Look,
        ahead: impl Fn(usize),
        pick: impl Fn(&[Words; GROUP], Selection, &mut InWindow),
        bins: &mut Bins,
    ) {
        let host = HostLayout::new(self.params, look.host);
        let decoder = PositionDecoder::new(self.params);
        let limit = self.params.step(bins.span().ages) as u16;
        let mut places = self.line_places(host, look.positions.start);
        let mut found = InWindow::new();
        let mut group = [[0; LINE as usize]; GROUP];
        for start in look.positions.clone().step_by(POSITIONS) {
            let lines = LINES.min(((look.positions.end - start) / LINE) as usize);
            let next = match start + POSITIONS as u32 {
                next if next < look.positions.end => self.line_places(host, next),
                _ => self.line_places(HostLayout::new(self.params, look.next.0), look.next.1),
            };
            for first in (0..lines).step_by(GROUP) {
                let lines = GROUP.min(lines - first);
                for (number, words) in group[..lines].iter_mut().enumerate() {
                    let place = places[first + number] as usize;
                    *words = line_words(self.recorders[place..].first_chunk().expect("a line"));
                    // A CPU stalls if many lines are requested at once, so each line is requested separately.
                    ahead(next[first + number] as usize);
                }
                let (first, twist) = ((start + first as u32 * LINE) as u16, host.places.twist);
                let wanted = Selection { lines, first, twist, delay: decoder.delay, limit };
                pick(&group, wanted, &mut found);
                bins.count_whole_steps(decoder, host.tagger, &mut found);
            }
            places = next;
        }
        bins.count_rest(decoder, host.tagger, &mut found);
    }

    #[inline(always)]
    fn line_places(self, host: HostLayout, start: u32) -> [u32; LINES] {
        let mut places = [0; LINES];
        for (line, place) in (0..).zip(&mut places) {
            *place = host.places.line(self.params, start + line * LINE);
        }
        places
    }
}

/// Returns the words of a line. The array has a constant length, so that the words are read together.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "a loop with one index into two arrays vectorises")]
fn line_words<R: ReadRecorder<Word = u16>>(line: &[R; LINE as usize]) -> Words {
    let mut words = [0; LINE as usize];
    for place in 0..LINE as usize {
        words[place] = line[place].word();
    }
    words
}
