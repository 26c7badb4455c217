//! SLEA, the array of overlapping linear estimators: says how many opposite hosts.
//!
//! A view over `linear_rows` rows of [`Params::linear_row_len`] recorders. The linear
//! estimator of a host is a run of η' recorders in every row; runs of different hosts
//! overlap, so a run also holds foreign touches. The union estimator USLE of a host keeps,
//! per position, the largest age of its rows: what the host touched itself cannot be older.
//!
//! Tallies are inlined by force: only so are they compiled for the vector instructions of a
//! caller that has more of them.
//!
//! In the paper's scheme a tally is the weight of the union. In the tagged scheme it is two
//! histograms over the ages of the union: of all positions, and of those where a touch of
//! the host itself is visible. It is visible at the union's age if some row of that age
//! bears the host's tag and no row of that age a larger one (the minimum would have replaced
//! it); rows of a smaller age were touched by foreigners later.

mod union;

use crate::epoch::Span;
use crate::pair::{Address, IpPair};
use crate::params::Params;
use crate::recorder::{Reading, Recorder, count_below};
use crate::tag::Tagger;
use union::Union;

/// Positions of the union that are looked at together, row after row: few enough for
/// the first cache, many enough for full vectors.
const BLOCK: usize = 1024;

/// Pairs whose recorders are read together.
const BATCH: usize = 64;

/// Number of ages that a tagged recorder can have at most.
pub const AGES: usize = 256;

/// What a device returns about one host: integers, from which
/// [`estimate`](crate::estimate) makes a cardinality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "no allocation here; tallies live in small batches")]
pub enum Tally {
    /// Paper's scheme: `|USLE|^k`, positions of the union in the window, `0..=η'`.
    Union(u32),
    /// Tagged scheme.
    Visible(Histograms),
}

/// Positions of a host's union estimator by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Histograms {
    /// All positions; sums to η'.
    pub all: [u32; AGES],
    /// Positions that show a touch of the host itself, or of a foreigner with its tag.
    pub own: [u32; AGES],
}

/// A view of the recorders of a SLEA; copying it copies two pointers.
#[derive(Debug)]
pub struct Slea<'a, R> {
    params: &'a Params,
    recorders: &'a [R],
}

impl<R> Clone for Slea<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Slea<'_, R> {}

impl<'a, R: Reading<Word = u16>> Slea<'a, R> {
    /// A view of `recorders` as the SLEA of `params`.
    ///
    /// # Panics
    /// When `recorders` is not [`Params::linear_recorders`] long.
    #[must_use]
    pub fn new(params: &'a Params, recorders: &'a [R]) -> Self {
        assert_eq!(recorders.len(), params.linear_recorders(), "recorders of a SLEA");
        Self { params, recorders }
    }

    /// The η' recorders of the linear estimator of `aip` in `row`.
    #[inline]
    #[must_use]
    pub fn estimator(self, row: u32, aip: Address) -> &'a [R] {
        let start = self.start(row, aip);
        &self.recorders[start..start + self.params.linear_width as usize]
    }

    /// Looks at the first `positions` of the union estimator USLE of `aip` over `span`: all
    /// η' of them, or, in the tagged scheme, fewer for a glimpse.
    #[inline(always)]
    #[must_use]
    pub fn tally(self, aip: Address, span: Span, positions: u32) -> Tally {
        if self.params.is_tagged() {
            Tally::Visible(self.histograms(aip, positions as usize))
        } else {
            Tally::Union(self.union_weight(aip, span))
        }
    }

    /// How many recorders of `row` are within `span`.
    #[must_use]
    pub fn row_weight(self, row: u32, span: Span) -> u32 {
        count_below(self.row(row), self.limit(span))
    }

    /// The least word that is not within `span`.
    #[inline]
    fn limit(self, span: Span) -> u16 {
        R::saturated(span.ages << self.params.tag_bits)
    }

    #[inline]
    fn union_weight(self, aip: Address, span: Span) -> u32 {
        let limit = self.limit(span);
        let in_block = |start: usize| {
            let mut in_union = [true; BLOCK];
            for row in 0..self.params.linear_rows {
                for (all, recorder) in in_union.iter_mut().zip(self.block(row, aip, start)) {
                    *all &= recorder.word() < limit;
                }
            }
            let width = self.params.linear_width as usize;
            in_union[..BLOCK.min(width - start)].iter().map(|&all| u32::from(all)).sum::<u32>()
        };
        self.block_starts().map(in_block).sum()
    }

    #[inline(always)]
    fn histograms(self, aip: Address, positions: usize) -> Histograms {
        // Four tables in turn: equal ages that follow each other do not wait for each other.
        let mut tables = [[0u16; 2 * AGES]; 4];
        for start in self.block_starts().take_while(|&start| start < positions) {
            let mut union = Union::new();
            for row in 0..self.params.linear_rows {
                let tagger = Tagger::new(self.params, row, aip);
                union.add(self.block(row, aip, start), tagger, start as u16, self.params.tag_bits);
            }
            let bins = union.bins();
            let bins = &bins[..BLOCK.min(positions - start)];
            let (fours, rest) = bins.as_chunks::<4>();
            for four in fours {
                for (table, &bin) in tables.iter_mut().zip(four) {
                    table[usize::from(bin) % (2 * AGES)] += 1;
                }
            }
            rest.iter().for_each(|&bin| tables[0][usize::from(bin) % (2 * AGES)] += 1);
        }
        let sum = |bin: usize| tables.iter().map(|table| u32::from(table[bin])).sum::<u32>();
        let own: [u32; AGES] = core::array::from_fn(|age| sum(AGES + age));
        Histograms { all: core::array::from_fn(|age| sum(age) + own[age]), own }
    }

    #[inline]
    fn block_starts(self) -> impl Iterator<Item = usize> {
        (0..self.params.linear_width as usize).step_by(BLOCK)
    }

    /// At most [`BLOCK`] recorders of the run of `aip` in `row`, from position `start` on.
    #[inline]
    fn block(self, row: u32, aip: Address, start: usize) -> &'a [R] {
        let run = &self.estimator(row, aip)[start..];
        &run[..BLOCK.min(run.len())]
    }

    /// The recorders of `row`.
    #[must_use]
    pub fn row(self, row: u32) -> &'a [R] {
        let len = self.params.linear_row_len as usize;
        &self.recorders[row as usize * len..][..len]
    }

    #[inline(always)]
    fn start(self, row: u32, aip: Address) -> usize {
        let column = self.params.linear_column(row, aip);
        (row * self.params.linear_row_len + column * self.params.linear_stride) as usize
    }
}

impl<R: Recorder<Word = u16>> Slea<'_, R> {
    /// Touches one recorder of every pair in every row, `age` epochs ago (Alg. 6,
    /// `alg_SLEA_scan`).
    ///
    /// In the tagged scheme a touch waits for the word that it compares with: pairs are taken
    /// in batches whose recorders are found and read before the first is touched, so that
    /// many loads are under way at once.
    #[inline(always)]
    pub fn touch(self, pairs: &[IpPair], age: u32) {
        let aged = self.params.step(age);
        // Loops, not closures: only they are sure to be inlined.
        if self.params.is_tagged() {
            for batch in pairs.chunks(BATCH) {
                self.touch_tagged(batch, aged);
            }
        } else {
            let word = R::saturated(aged);
            for &pair in pairs {
                self.touch_untagged(pair, word);
            }
        }
    }

    #[inline]
    fn touch_untagged(self, pair: IpPair, word: u16) {
        let position = self.params.linear_position(pair.bip) as usize;
        for row in 0..self.params.linear_rows {
            self.recorders[self.start(row, pair.aip) + position].most_recent(word);
        }
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index into several arrays vectorises")]
    fn touch_tagged(self, pairs: &[IpPair], aged: u32) {
        // A short batch is filled up with its first pair: touching twice is touching once.
        let mut batch = [pairs[0]; BATCH];
        batch[..pairs.len()].copy_from_slice(pairs);
        let (mut hosts, mut positions) = ([0; BATCH], [0; BATCH]);
        for place in 0..BATCH {
            hosts[place] = batch[place].aip;
            positions[place] = self.params.linear_position(batch[place].bip);
        }
        for row in 0..self.params.linear_rows {
            let mut starts = [0; BATCH];
            let mut tags = [0; BATCH];
            // Arithmetic alone, which vectorises; the loads come after.
            for place in 0..BATCH {
                starts[place] = self.start(row, hosts[place]) as u32 + positions[place];
                let tagger = Tagger::new(self.params, row, hosts[place]);
                tags[place] = u32::from(tagger.tag(positions[place] as u16));
            }
            let mut seen = [R::UNTOUCHED; BATCH];
            for place in 0..BATCH {
                seen[place] = self.recorders[starts[place] as usize].word();
            }
            for place in 0..BATCH {
                let word = R::saturated(aged | tags[place]);
                // Words only fall while others touch: what was not larger then is not now.
                if word < seen[place] {
                    self.recorders[starts[place] as usize].most_recent(word);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
