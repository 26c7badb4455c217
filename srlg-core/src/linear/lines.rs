//! The tagged SLEA: touches and their echoes, in lines of [`LINE`] recorders.
//!
//! A host's linear estimator is η' cells, `η' / 32` lines that hashing scatters over the
//! array: a giant then covers a little of every estimator, not all of a few. A touch of cell
//! z goes to place `z % 32` of line `z / 32`. Its echo goes to another place of the same
//! line, `z % 32 ^ twist`, which costs no further cache miss, and looks
//! [`Params::echo_delay`] ages older: more than any touch in the window. So an echo never
//! hides a touch; it only uses places that no touch in the window needs.

use super::{AGES, Histograms, LINE, Slea};
use crate::hash;
use crate::linear::block::{self, Block, Host};
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
    flip: u32,
    twist: u32,
}

impl Places {
    #[inline(always)]
    pub(super) fn new(params: &Params, aip: Address) -> Self {
        let seed = hash::hash(aip, params.column_keys[0]);
        let spread = seed.wrapping_mul(0x9e37_79b1);
        Self {
            seed,
            // An opposite host of many hosts is at the same position of all of them; this
            // gives it another place in their lines.
            flip: spread % LINE,
            // Never 0: an echo is not in the place of its touch.
            twist: 1 + hash::reduce(spread, LINE - 1),
        }
    }

    /// Which of the η' cells of the host `position` is: another one of the same line.
    #[inline(always)]
    pub(super) fn cell(self, position: u32) -> u32 {
        position ^ self.flip
    }

    /// The first recorder of the line that holds `cell`.
    #[inline(always)]
    pub(super) fn line(self, params: &Params, cell: u32) -> u32 {
        let line = hash::hash(self.seed.wrapping_add(cell / LINE), params.line_key);
        hash::reduce(line, params.linear_columns) * LINE
    }

    /// The recorders that the touch and the echo of `cell` go to.
    #[inline(always)]
    pub(super) fn of(self, params: &Params, cell: u32) -> [u32; 2] {
        let touch = self.line(params, cell) + cell % LINE;
        [touch, touch ^ self.twist]
    }
}

impl<R: Reading<Word = u16>> Slea<'_, R> {
    /// Histograms of the first `positions`, whole lines, of the linear estimator of `aip`, for
    /// the least `ages` ages.
    #[inline(always)]
    pub(super) fn histograms(self, aip: Address, ages: u32, positions: u32) -> Histograms {
        let places = Places::new(self.params, aip);
        let host = Host { twist: places.twist, tagger: Tagger::new(self.params, aip) };
        // Tables in turn: equal bins that follow each other do not wait for each other.
        let mut tables = [[0u16; block::BINS]; 2];
        let mut block = Block::new();
        for start in (0..positions).step_by(block::LEN) {
            let len = block::LEN.min((positions - start) as usize);
            let mut line_places = [0; block::LINES];
            for (line, place) in (0..).zip(&mut line_places) {
                *place = places.line(self.params, start + line * LINE);
            }
            for (line, &place) in line_places[..len / LINE as usize].iter().enumerate() {
                block.load(line, &self.recorders[place as usize..][..LINE as usize]);
            }
            let bins = block.bins(self.params, host, start as u16, ages as u16);
            for (place, &bin) in bins[..len].iter().enumerate() {
                tables[place % 2][usize::from(bin) % block::BINS] += 1;
            }
        }
        let of_kind = |kind: usize| {
            let sum = |bin: usize| u32::from(tables[0][bin]) + u32::from(tables[1][bin]);
            core::array::from_fn::<_, AGES, _>(|age| sum(kind * AGES + age))
        };
        let (own, once, excluded) =
            (of_kind(block::OWN), of_kind(block::HIDDEN), of_kind(block::EXCLUDED));
        let hidden_twice = of_kind(block::HIDDEN_TWICE);
        let excluded_twice = of_kind(block::EXCLUDED_TWICE);
        let hidden: [u32; AGES] = core::array::from_fn(|age| once[age] + hidden_twice[age]);
        let others = |age: usize| excluded[age] + excluded_twice[age] + hidden[age];
        let all = core::array::from_fn(|age| own[age] + others(age));
        Histograms { all, own, hidden, hidden_twice, excluded_twice }
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
            let cell = host.cell(position);
            let (tag, echo_tag) = Tagger::new(params, batch[i].aip).tags(cell as u16);
            [places[0][i], places[1][i]] = host.of(params, cell);
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
