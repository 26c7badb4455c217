//! How hosts are found: for each finder of srlg-core what all devices have in common, and what the CPU does.

pub(crate) mod cells;
mod cells_cpu;
pub(crate) mod rsra;
mod rsra_cpu;

use std::fmt;
use std::net::IpAddr;

use srlg_core::finder::Finder;
use srlg_core::{Params, ReadRecorder, SchemeTypes, Span, for_scheme};

/// How well the finder fared in the last slice that closed.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FinderHealth {
    /// How full the finder was, and what it asked of a candidate.
    #[cfg_attr(feature = "serde", serde(rename = "finder"))]
    pub fill: FinderFill,
    /// Probability that the finder passed over an IPv4 host with exactly θ peers, in contact evenly over the window.
    /// Whether the estimate of a host that is found reaches θ is another matter, and super points of the report before
    /// are candidates in any case. For θ below 64 this is an upper bound: cells miss such hosts less often.
    pub miss_probability: f64,
    /// The same probability for an IPv6 host, which needs four cells at least; `None` in the paper's scheme, which takes
    /// no IPv6.
    pub miss_probability_v6: Option<f64>,
    /// The same probability for an IPv4 host whose contacts were all in the oldest epoch of the window.
    pub burst_miss_probability: f64,
    /// The same probability for an IPv6 host whose contacts were all in the oldest epoch of the window; `None` in the
    /// paper's scheme.
    pub burst_miss_probability_v6: Option<f64>,
    /// The least number of peers, to 1 %, from which the finder finds 99 % of the IPv4 hosts in contact evenly over the
    /// window; infinite if it finds no host so often.
    pub found_from: f64,
    /// The same number for IPv6 hosts; `None` in the paper's scheme.
    pub found_from_v6: Option<f64>,
    /// What the finder could not do.
    pub overload: Option<Overload>,
}

/// How full a finder was, and what it asked of a candidate.
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FinderFill {
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

/// What a finder could not do, because there were too many pairs.
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overload {
    /// The cells hold so much of other hosts that even two cells are too many to ask of a host of θ: the finder
    /// misses more than 1 % of them, [`FinderHealth::miss_probability`]. If an IPv6 host holds a cell, the same applies to the
    /// four cells of an IPv6 host, [`FinderHealth::miss_probability_v6`]. One stray IPv6 host suffices for that. For θ below 64, where these numbers are upper
    /// bounds, a closer bound decides. More cells help, and `Config::for_load` gives enough for a load.
    Crowded,
    /// There were more candidates, or hot columns, than the limits of the configuration accept, and more
    /// was asked of them: smaller super points are missed more often, [`FinderHealth::miss_probability`].
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

    /// The health before any search.
    fn untouched(params: &Params) -> FinderHealth;
}

/// Returns the health of the finder of a detector that has closed no slice yet.
pub(crate) fn untouched(params: &Params) -> FinderHealth {
    for_scheme!(params, Types => <Types as SchemeTypes>::Finder::untouched(params))
}

/// A search on the CPU, over recorders `R` that nobody updates meanwhile.
pub(crate) trait CpuSearch<R: ReadRecorder>: Send + Sync {
    /// The memory of searches in a detector with `params`.
    fn new(params: &Params) -> Self;

    /// Returns the candidates over `span`, each once, found on up to `threads` threads, and how the search went.
    fn candidates(
        &mut self,
        recorders: &[R],
        span: Span,
        threads: usize,
    ) -> (Vec<IpAddr>, FinderHealth);
}
