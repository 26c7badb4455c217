//! How devices find hosts: for each finder of srlg-core what the CPU does, and what a GPU does.

mod cells;
mod cells_cpu;
#[cfg(any(feature = "cuda", test))]
mod cells_gpu;
mod quality;
mod rsra;
#[cfg(any(feature = "cuda", test))]
mod rsra_counts;
mod rsra_cpu;
#[cfg(any(feature = "cuda", test))]
mod rsra_gpu;

use std::fmt;
use std::net::IpAddr;

use srlg_core::finder::Finder;
use srlg_core::{Params, ReadRecorder, SchemeTypes, Span, for_scheme};

#[cfg(any(feature = "cuda", test))]
pub(crate) use cells::{Candidates, Counts, quality_of_all};
#[cfg(any(feature = "cuda", test))]
pub(crate) use cells_gpu::{CellsGpuSearch, Listed};
pub(crate) use quality::Quality;
#[cfg(any(feature = "cuda", test))]
pub(crate) use rsra_gpu::RsraGpuSearch;

/// Tells how full a finder was, and what it asked of a candidate.
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FinderHealth {
    /// The cells of the default scheme.
    Cells {
        /// The fewest cells of a candidate: the fuller the cells are of other hosts, the fewer are asked.
        /// Where there were more hosts than the limit, the fewest of those that stayed. An IPv6 host has to have four
        /// cells in any case: they spell its address.
        c_min: u32,
        /// Share of the cells that were touched in the window.
        in_use: f64,
        /// Share of the cells that IPv6 hosts hold, of those.
        in_use_v6: f64,
    },
    /// The RSRA of the paper's scheme.
    Rsra {
        /// Weight from which rough estimators were searched: the configured hot weight, or
        /// more under overload.
        hot_weight: u32,
        /// Share of each row that was hot at the configured hot weight.
        hot_shares: Vec<f64>,
    },
}

/// Tells what a finder could not do, for which there were too many pairs.
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overload {
    /// The cells hold so much of other hosts that even two cells are too many to ask of a host of θ: the finder
    /// misses more than 1 % of them, [`Health::miss_probability`](crate::report::Health). More cells help.
    Crowded,
    /// There were more candidates, or hot columns, than the limits of the configuration accept, and more
    /// was asked of them: smaller super points are missed more often, [`Health::miss_probability`](crate::report::Health).
    /// Of cells only where that is above 0.00013.
    Raised,
    /// Even rough estimators of the full weight were too many: no super point was found.
    Saturated,
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crowded => {
                "more pairs than the cells can hold, small super points may be missing: give more cells"
            }
            Self::Raised => {
                "more candidates than candidate_limit or hot_limit, small super points may be missing: raise that limit"
            }
            Self::Saturated => "no super point could be found: give a larger finder",
        })
    }
}

/// The finder's part of a close on the CPU.
pub(crate) trait CpuFinder: Finder {
    /// What a search keeps beside the recorders.
    type Search: CpuSearch<<Self::Recorder as ReadRecorder>::Word>;

    /// The quality before any search.
    fn untouched_quality(params: &Params) -> Quality;
}

/// Returns the quality of a detector that closed no slice yet.
pub(crate) fn untouched_quality(params: &Params) -> Quality {
    for_scheme!(params, Types => <Types as SchemeTypes>::Finder::untouched_quality(params))
}

/// A search on the CPU, over recorders `R` that nobody updates meanwhile.
pub(crate) trait CpuSearch<R: ReadRecorder>: Send + Sync {
    /// The memory of searches in a detector with `params`.
    fn new(params: &Params) -> Self;

    /// Returns the candidates over `span`, each once, on up to `threads` threads; and what they
    /// are worth.
    fn candidates(&mut self, recorders: &[R], span: Span, threads: usize)
    -> (Vec<IpAddr>, Quality);
}
