//! [`Backend`]: what a device does for a detector. Integers only; no estimator maths.
//!
//! A slice goes through a device as `scan`* (any number of threads) and then, exclusively,
//! `survey`, `regain`, `tally`, `age`.

use srlg_core::{Address, Ages, IpPair, Span, Tally};

use crate::error::Error;
use crate::state::State;

/// Number of weights that a rough estimator can have: 0 to 8.
pub(crate) const WEIGHTS: usize = 9;

/// Counts over both arrays, as of one window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Per row of the RSRA: how many rough estimators have weight 0, 1, ... 8.
    pub(crate) rough_weights: Vec<[u32; WEIGHTS]>,
    /// Per row of the SLEA: how many recorders are within the window.
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

/// A device that holds the recorders of one detector.
pub(crate) trait Backend: Send + Sync {
    /// Touches the recorders of `pairs`, so long ago.
    fn scan(&self, pairs: &[IpPair], ages: Ages) -> Result<(), Error>;

    /// Counts both arrays over `span` and remembers the masks of the
    /// rough estimators for `regain`.
    fn survey(&mut self, span: Span) -> Result<Survey, Error>;

    /// Hosts whose union estimator, as of the last survey, has at least `weight`; in
    /// ascending order, each once. `None` when there are more than `limit`.
    fn regain(&mut self, weight: u32, limit: u32) -> Result<Option<Vec<Address>>, Error>;

    /// Tallies of the first `positions` of the linear estimators of `hosts` over `span`, in their order.
    fn tally(&mut self, hosts: &[Address], span: Span, positions: u32)
    -> Result<Vec<Tally>, Error>;

    /// Tally of one host, and, where estimates need it (in the paper's scheme), per row of the
    /// SLEA how many recorders are within `span`; while others may ingest.
    fn query(&self, host: Address, span: Span) -> Result<(Tally, Vec<u32>), Error>;

    /// Makes every recorder so much older.
    fn age(&mut self, ages: Ages) -> Result<(), Error>;

    /// The words of both arrays.
    fn export(&self) -> Result<(Vec<u16>, Vec<u16>), Error>;

    /// Merges the words of `state`, made so much older, by minimum.
    fn merge(&mut self, state: &State, ages: Ages) -> Result<(), Error>;
}
