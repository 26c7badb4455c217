//! The tagged SLEA: touches and their echoes, in lines of [`LINE`] recorders.
//!
//! A host's linear estimator is η' positions, `η' / 32` lines that hashing scatters over the
//! array: a giant then covers a little of every estimator, not all of a few. A touch at
//! position z goes to place `z % 32` of line `z / 32`. Its echo goes to another place of the
//! same line, `z % 32 ^ twist`, which costs no further cache miss, and looks
//! [`Params::echo_delay`] ages older: more than any touch in the window. So an echo never
//! hides a touch; it only uses places that no touch in the window needs.

use super::{AGES, Histograms, LINE, Slea};
use crate::hash;
use crate::linear::block::{self, Block};
use crate::pair::{Address, IpPair};
use crate::params::Params;
use crate::recorder::{Reading, Recorder};
use crate::tag::Tagger;

/// Pairs whose recorders are read together.
pub(super) const BATCH: usize = 64;

/// Where the touches and echoes of one host go.
#[derive(Clone, Copy)]
pub(super) struct Places {
    seed: u32,
    twist: u32,
}

impl Places {
    #[inline(always)]
    pub(super) fn new(params: &Params, aip: Address) -> Self {
        let seed = hash::hash(aip, params.column_keys[0]);
        // Never 0: an echo is not in the place of its touch.
        let twist = 1 + hash::reduce(seed.wrapping_mul(0x9e37_79b1), LINE - 1);
        Self { seed, twist }
    }

    /// The recorder that a touch at `position` goes to; its echo goes to `^ twist`.
    #[inline(always)]
    pub(super) fn touch(self, params: &Params, position: u32) -> u32 {
        let line = hash::hash(self.seed.wrapping_add(position / LINE), params.line_key);
        hash::reduce(line, params.linear_columns) * LINE + position % LINE
    }

    #[inline(always)]
    pub(super) fn twist(self) -> u32 {
        self.twist
    }
}

impl<R: Reading<Word = u16>> Slea<'_, R> {
    /// Histograms of the first `positions` of the linear estimator of `aip`.
    #[inline(always)]
    pub(super) fn histograms(self, aip: Address, positions: u32) -> Histograms {
        let places = Places::new(self.params, aip);
        let tagger = Tagger::new(self.params, aip);
        // Tables in turn: equal bins that follow each other do not wait for each other.
        let mut tables = [[0u16; 4 * AGES]; 2];
        for start in (0..positions).step_by(block::LEN) {
            let mut block = Block::new();
            let len = block::LEN.min((positions - start) as usize);
            for (line, first) in (start..start + len as u32).step_by(LINE as usize).enumerate() {
                let place = places.touch(self.params, first) as usize;
                block.add_line(line, &self.recorders[place..][..LINE as usize], places.twist());
            }
            let bins = block.bins(self.params, tagger, start as u16);
            for (place, &bin) in bins[..len].iter().enumerate() {
                tables[place % 2][usize::from(bin) % (4 * AGES)] += 1;
            }
        }
        let of_kind = |kind: usize| {
            let sum = |bin: usize| u32::from(tables[0][bin]) + u32::from(tables[1][bin]);
            core::array::from_fn::<_, AGES, _>(|age| sum(kind * AGES + age))
        };
        let (excluded, hidden, own) = (of_kind(0), of_kind(1), of_kind(2));
        let all = core::array::from_fn(|age| excluded[age] + hidden[age] + own[age]);
        Histograms { all, own, hidden }
    }
}

impl<R: Recorder<Word = u16>> Slea<'_, R> {
    /// Touches the recorders of at most [`BATCH`] pairs, `aged` being the word of that age.
    ///
    /// A touch waits for the word that it compares with: all recorders are found and read
    /// before the first is touched, so that many loads are under way at once.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index into several arrays vectorises")]
    pub(super) fn touch_lines(self, pairs: &[IpPair], aged: u32) {
        let params = self.params;
        // A short batch is filled up with its first pair: touching twice is touching once.
        let mut batch = [pairs[0]; BATCH];
        batch[..pairs.len()].copy_from_slice(pairs);
        let mut places = [[0; BATCH]; 2];
        let mut words = [[0; BATCH]; 2];
        let delay = params.step(params.echo_delay);
        // Arithmetic alone, which vectorises; the loads come after.
        for i in 0..BATCH {
            let position = params.linear_position(batch[i].bip);
            let host = Places::new(params, batch[i].aip);
            let place = host.touch(params, position);
            let (tag, echo_tag) = Tagger::new(params, batch[i].aip).tags(position as u16);
            places[0][i] = place;
            places[1][i] = place ^ host.twist;
            words[0][i] = (aged + u32::from(tag)).min(u16::MAX.into()) as u16;
            words[1][i] = (aged + delay + u32::from(echo_tag)).min(u16::MAX.into()) as u16;
        }
        let mut seen = [[R::UNTOUCHED; BATCH]; 2];
        for kind in 0..2 {
            for i in 0..BATCH {
                seen[kind][i] = self.recorders[places[kind][i] as usize].word();
            }
        }
        for kind in 0..2 {
            for i in 0..BATCH {
                // Words only fall while others touch: what was not larger then is not now.
                if words[kind][i] < seen[kind][i] {
                    self.recorders[places[kind][i] as usize].most_recent(words[kind][i]);
                }
            }
        }
    }
}
