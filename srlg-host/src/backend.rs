//! [`Backend`]: what a device does for a detector. Integers only; no estimator maths.
//!
//! A slice goes through a device as `scan`* (any number of threads) and then, exclusively,
//! `survey`, `regain`, `tally`, `finish`.

use std::num::NonZeroUsize;

use srlg_core::regain::{fill_high_table, high_table_lens};
use srlg_core::{Address, Ages, IpPair, Params, RecentRange, Span, Tally};
use srlg_kernels::survey::WEIGHTS;

use crate::device::Device;
#[cfg(feature = "cuda")]
use crate::device_pairs::DevicePairs;
use crate::error::Error;
use crate::pinned::PinnedPairs;
use crate::state::{Coder, Section, Words};

/// Counts over both arrays, as of one window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Per row of the RSRA: how many rough estimators have weight 0, 1, ... 8; those that are not
    /// hot are not counted.
    pub(crate) rough_weights: Vec<[u32; WEIGHTS]>,
    /// Per row of the SLEA: how many recorders are within the window. Nothing, where only
    /// [`finish`](Backend::finish) counts them.
    pub(crate) linear_weights: Vec<u32>,
}

impl Survey {
    /// Rough estimators of `row` that have at least `weight`.
    pub(crate) fn hot_columns(&self, row: usize, weight: u32) -> u32 {
        self.rough_weights[row][weight as usize..].iter().sum()
    }

    /// The same for the row that has the most.
    pub(crate) fn most_hot_columns(&self, weight: u32) -> u32 {
        (0..self.rough_weights.len()).map(|row| self.hot_columns(row, weight)).max().unwrap_or(0)
    }
}

/// The filled arrays of a [`HighTable`](srlg_core::regain::HighTable), for whichever device.
pub(crate) fn high_table(params: &Params) -> [Vec<u32>; 3] {
    let mut table = high_table_lens(params).map(|len| vec![0; len]);
    let [starts, highs, present] = &mut table;
    fill_high_table(params, starts, highs, present);
    table
}

/// A device that holds the recorders of one detector.
pub(crate) trait Backend: Send + Sync {
    /// Where it is.
    fn device(&self) -> Device;

    /// Touches the recorders of `pairs`, so long ago; the touches may still be on their way when
    /// the call returns, but not for any later call.
    fn scan(&self, pairs: &[IpPair], ages: Ages) -> Result<(), Error>;

    /// Room for `len` pairs, from where they get to the device fastest.
    fn pin(&self, len: usize) -> Result<PinnedPairs, Error>;

    /// As `scan`.
    fn scan_pinned(&self, pairs: &PinnedPairs, ages: Ages) -> Result<(), Error>;

    /// As `scan`, of pairs on the device.
    #[cfg(feature = "cuda")]
    fn scan_device(&self, pairs: &dyn DevicePairs, ages: Ages) -> Result<(), Error> {
        let _ = (pairs, ages);
        Err(Error::NotOnDevice)
    }

    /// Waits until all pairs have touched their recorders.
    fn flush(&self) -> Result<(), Error>;

    /// Lets a close take so many threads of the CPU, where that is where it works.
    fn set_threads(&mut self, threads: NonZeroUsize) {
        let _ = threads;
    }

    /// Counts both arrays over `span` and remembers the masks of the
    /// rough estimators for `regain`.
    fn survey(&mut self, span: Span) -> Result<Survey, Error>;

    /// Hosts whose union estimator, as of the last survey, has at least `weight`; in
    /// ascending order, each once. `None` when there are more than `limit`.
    ///
    /// `None`, too, where the params do not accept a search of so many hot columns.
    fn regain(&mut self, weight: u32, limit: u32) -> Result<Option<Vec<Address>>, Error>;

    /// Tallies of the first `positions` of the linear estimators of `hosts` over `span`: calls
    /// `each` once with the number of each of them, in any order and from any threads.
    fn tally(
        &mut self,
        hosts: &[Address],
        span: Span,
        positions: u32,
        each: &(dyn Fn(usize, &Tally) + Sync),
    ) -> Result<(), Error>;

    /// Tallies, of all positions, of those of `hosts` whose first `glimpse` positions are a tally
    /// that `promises` something; of the tagged scheme alone.
    fn tally_promising(
        &mut self,
        hosts: &[Address],
        span: Span,
        glimpse: u32,
        promises: &(dyn Fn(&Tally) -> bool + Sync),
        each: &(dyn Fn(usize, &Tally) + Sync),
    ) -> Result<(), Error>;

    /// Tally of one host, and, where estimates need it (in the paper's scheme), per row of the
    /// SLEA how many recorders are within `span`; while others may ingest.
    fn query(&self, host: Address, span: Span) -> Result<(Tally, Vec<u32>), Error>;

    /// Ends a close: makes every recorder so much older, and counts before what `survey` lacks.
    fn finish(&mut self, survey: &mut Survey, span: Span, ages: Ages) -> Result<(), Error> {
        let _ = (survey, span);
        if ages == Ages::default() { Ok(()) } else { self.age(ages) }
    }

    /// Makes every recorder so much older.
    fn age(&mut self, ages: Ages) -> Result<(), Error>;

    /// The words of that array.
    fn export(&self, array: usize) -> Result<Words, Error>;

    /// Keeps the smaller of each word of that array and its one of `words`, aged by `step`.
    fn merge(&mut self, array: usize, words: &Words, step: u64) -> Result<(), Error>;

    /// Writes to `coder` the recorders of that array whose words are in `range`.
    fn recent(&mut self, array: usize, range: RecentRange, coder: &mut Coder) -> Result<(), Error>;

    /// Merges the recorders in `section`, which are of that array, aged by `step`.
    fn apply(&mut self, array: usize, section: &Section<'_>, step: u64) -> Result<(), Error>;
}
