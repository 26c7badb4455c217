//! The tagged SLEA: touches and their echoes, in lines of [`LINE`] recorders.
//!
//! A host's linear estimator is η' cells, `η' / 32` lines that hashing scatters over the
//! array: a giant then covers a little of every estimator, not all of a few. A touch of cell
//! z goes to place `z % 32` of line `z / 32`. Its echo goes to another place of the same
//! line, `z % 32 ^ twist`, which costs no further cache miss, and looks
//! [`Params::echo_delay`] ages older: more than any touch in the window. So an echo never
//! hides a touch; it only uses places that no touch in the window needs.

use core::ops::Range;

use super::histograms::{AGES, Histograms};
use super::{LINE, Slea};
use crate::hash;
use crate::linear::block::{self, Block};
use crate::pair::Address;
use crate::params::Params;
use crate::recorder::ReadRecorder;
use crate::tag::Tagger;

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

impl<R: ReadRecorder<Word = u16>> Slea<'_, R> {
    /// Histograms of the `positions`, whole lines, of the linear estimator of `aip`, for
    /// the least `ages` ages; `ahead` hears of a recorder of each line before it is looked at.
    #[inline(always)]
    pub(super) fn histograms(
        self,
        aip: Address,
        ages: u32,
        positions: Range<u32>,
        ahead: impl Fn(usize),
    ) -> Histograms {
        let host = Host::new(self.params, aip);
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

    /// The first recorders of the lines of the block that starts at the cell `start`.
    #[inline(always)]
    fn line_places(self, host: Host, start: u32) -> [u32; block::LINES] {
        let mut places = [0; block::LINES];
        for (line, place) in (0..).zip(&mut places) {
            *place = host.places.line(self.params, start + line * LINE);
        }
        places
    }
}
