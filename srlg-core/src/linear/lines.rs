//! The tagged SLEA: touches and their echoes, in lines of [`LINE`] recorders.
//!
//! A host's linear estimator is η' cells, `η' / 32` lines that hashing scatters over the
//! array: a giant then covers a little of every estimator, not all of a few. A touch of cell
//! z goes to place `z % 32` of line `z / 32`. Its echo goes to another place of the same
//! line, `z % 32 ^ twist`, which costs no further cache miss, and looks
//! [`Params::echo_delay`] ages older: more than any touch in the window. So an echo never
//! hides a touch; it only uses places that no touch in the window needs.

use super::histograms::{AGES, Histograms};
use super::{LINE, Slea};
use crate::hash;
use crate::linear::block::{self, Block};
use crate::pair::{Address, IpPair};
use crate::params::Params;
use crate::recorder::{Reading, Recorder};
use crate::tag::Tagger;
use crate::twin::Twin;

/// Pairs whose recorders are read together.
pub(super) const BATCH: usize = 64;

/// Where the touches and echoes of one host go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    seed: u32,
    flip: u32,
    pub(super) twist: u32,
}

impl Places {
    #[inline(always)]
    pub(super) fn new(params: &Params, aip: Address) -> Self {
        let seed = params.hash(aip, params.column_keys[0]);
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
        let line = params.hash(self.seed.wrapping_add(cell / LINE), params.line_key);
        hash::reduce(line, params.linear_columns) * LINE
    }

    /// The recorders that the touch and the echo of `cell` go to.
    #[inline(always)]
    pub(super) fn of(self, params: &Params, cell: u32) -> [u32; 2] {
        let touch = self.line(params, cell) + cell % LINE;
        [touch, touch ^ self.twist]
    }
}

/// What a pair leaves in the SLEA: two recorders and their words, of the touch and of its echo.
struct Touch {
    places: [u32; 2],
    words: [u16; 2],
}

impl Touch {
    /// The touch of `pair`, `aged` being the word of its age.
    #[inline(always)]
    fn new(params: &Params, pair: IpPair, aged: u32) -> Self {
        let Host { places, tagger } = Host::new(params, pair.aip);
        let cell = places.cell(params.linear_position(pair.bip));
        let (tag, echo_tag) = tagger.tags(cell as u16);
        let delay = params.step(params.echo_delay);
        let word = |aged: u32, tag| (aged + u32::from(tag)).min(u16::MAX.into()) as u16;
        let words = [word(aged, tag), word(aged + delay, echo_tag)];
        Self { places: places.of(params, cell), words }
    }
}

/// How one host's cells are found and read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    pub(super) places: Places,
    pub(super) tagger: Tagger,
}

impl Host {
    #[inline(always)]
    pub(super) fn new(params: &Params, aip: Address) -> Self {
        Self { places: Places::new(params, aip), tagger: Tagger::new(params, aip) }
    }
}

impl<R: Reading<Word = u16>> Slea<'_, R> {
    /// Histograms of the first `positions`, whole lines, of the linear estimator of `aip`, for
    /// the least `ages` ages.
    #[inline(always)]
    pub(super) fn histograms(self, aip: Address, ages: u32, positions: u32) -> Histograms {
        let host = Host::new(self.params, aip);
        // Tables in turn: equal bins that follow each other do not wait for each other.
        let mut tables = [[0u16; block::TABLE]; 2];
        let mut block = Block::new();
        for start in (0..positions).step_by(block::LEN) {
            let len = block::LEN.min((positions - start) as usize);
            let mut line_places = [0; block::LINES];
            for (line, place) in (0..).zip(&mut line_places) {
                *place = host.places.line(self.params, start + line * LINE);
            }
            for (line, &place) in line_places[..len / LINE as usize].iter().enumerate() {
                block.load(line, &self.recorders[place as usize..][..LINE as usize]);
            }
            let bins = block.bins(self.params, host, start as u16, ages as u16);
            for (place, &bin) in bins[..len].iter().enumerate() {
                tables[place % 2][usize::from(bin) % block::TABLE] += 1;
            }
        }
        Histograms::of(ages as usize, |kind, age| {
            let bin = kind * AGES + age;
            u32::from(tables[0][bin]) + u32::from(tables[1][bin])
        })
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
        // Arithmetic alone, which vectorises; the loads come after.
        for i in 0..BATCH {
            let touch = Touch::new(params, batch[i], aged);
            [places[0][i], places[1][i]] = touch.places;
            [words[0][i], words[1][i]] = touch.words;
        }
        let mut seen = [[R::UNTOUCHED; BATCH]; 2];
        for kind in 0..2 {
            for i in 0..BATCH {
                seen[kind][i] = self.recorders[places[kind][i] as usize].word();
            }
        }
        for kind in 0..2 {
            for i in 0..BATCH {
                let recorder = &self.recorders[places[kind][i] as usize];
                recorder.most_recent_of(seen[kind][i], words[kind][i]);
            }
        }
    }
}

/// Touches the recorder of `pair`, and its echo, `age` epochs ago in the SLEA of `params`, which
/// `twins` are; the work of one thread among many; of the tagged scheme alone.
///
/// # Panics
/// When `twins` are fewer than half of [`Params::linear_recorders`].
#[inline(always)]
pub fn touch_twins(params: &Params, twins: &[Twin], pair: IpPair, age: u32) {
    let Touch { places, words } = Touch::new(params, pair, params.step(age));
    // Both are read before either is written: neither load waits for the other.
    let looks = places.map(|place| Twin::look(twins, place));
    for kind in 0..2 {
        let (twin, seen) = looks[kind];
        twin.most_recent_of(seen, places[kind], words[kind]);
    }
}
