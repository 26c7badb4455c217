//! [`Arrays`]: the recorders of one detector in this process.

use srlg_core::counter::Counter;
use srlg_core::finder::Finder;
use srlg_core::scheme::{CounterRecorder, FinderRecorder};
use srlg_core::{ArrayView, Params, SchemeTypes};

use super::pages::{Mappable, Pages};
use super::shards::{Array, Shards};
use super::waiting::FinderArray;
use crate::finder::CpuFinder;

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
    #[inline(always)]
    pub(super) fn finder(&self) -> FinderArray<'_, S::Finder> {
        ArrayView::new(S::Finder::params(self.params.finder()), self.finder.shared())
    }

    #[inline(always)]
    pub(super) fn counter(&self) -> Array<'_, S::Counter> {
        ArrayView::new(S::Counter::params(self.params.counter()), self.counter.shared())
    }
}
