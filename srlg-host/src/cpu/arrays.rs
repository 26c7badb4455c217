//! [`Arrays`]: the recorders of one detector in this process.

use srlg_core::counter::Counter;
use srlg_core::finder::Finder;
use srlg_core::scheme::{CounterRecorder, FinderRecorder};
use srlg_core::{ArrayView, Params, SchemeTypes};

use super::pages::{Mappable, Pages};
use super::shards::{Array, Shards};
use super::waiting::FinderArray;
use crate::finder::CpuFinder;

/// A scheme whose arrays the CPU can store and search.
pub(super) trait CpuScheme:
    SchemeTypes<Finder: CpuFinder<Recorder: Mappable>, Counter: Counter<Recorder: Mappable>>
{
}

impl<S> CpuScheme for S where
    S: SchemeTypes<Finder: CpuFinder<Recorder: Mappable>, Counter: Counter<Recorder: Mappable>>
{
}

pub(super) struct Arrays<S: CpuScheme> {
    pub(super) params: Params,
    pub(super) finder: Pages<FinderRecorder<S>>,
    pub(super) counter: Pages<CounterRecorder<S>>,
    pub(super) shards: Shards,
}

impl<S: CpuScheme> Arrays<S> {
    /// Returns the finder's array, which any number of threads may update.
    #[inline(always)]
    pub(super) fn finder(&self) -> FinderArray<'_, S::Finder> {
        ArrayView::new(S::Finder::params(self.params.finder()), self.finder.shared())
    }

    /// Returns the counter's array, which any number of threads may update.
    #[inline(always)]
    pub(super) fn counter(&self) -> Array<'_, S::Counter> {
        ArrayView::new(S::Counter::params(self.params.counter()), self.counter.shared())
    }
}
