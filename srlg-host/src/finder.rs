//! Finders of hosts. For each finder of srlg-core, this module contains the code that all devices share, and the
//! implementation for the CPU.

pub(crate) mod cells;
mod cells_cpu;
pub(crate) mod rsra;
mod rsra_cpu;

use std::fmt;
use std::net::IpAddr;

use srlg_core::finder::Finder;
use srlg_core::{Params, ReadRecorder, SchemeTypes, Span, for_scheme};

/// The health of the finder in the last slice that closed.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FinderHealth {
    /// Fill of the finder, and its current requirement for candidates.
    #[cfg_attr(feature = "serde", serde(rename = "finder"))]
    pub fill: FinderFill,
    /// Probability that the finder missed an IPv4 host with exactly θ peers, if its contacts were spread evenly over
    /// the window.
    ///
    /// The error of the estimate is not included: the estimate of a host that was found may be below θ. Super points of
    /// the previous report are not missed, because they are always candidates. For θ below 64, every pair is sampled,
    /// so fewer hosts are missed, and this value is an upper bound.
    pub miss_probability: f64,
    /// Probability that the finder missed an IPv6 host with exactly θ peers, if its contacts were spread evenly over
    /// the window.
    ///
    /// An IPv6 host needs at least four cells. The value is `None` in the paper's scheme, which does not support IPv6.
    pub miss_probability_v6: Option<f64>,
    /// Probability that the finder missed an IPv4 host with exactly θ peers, if all its contacts were in the oldest
    /// epoch of the window.
    pub burst_miss_probability: f64,
    /// Probability that the finder missed an IPv6 host with exactly θ peers, if all its contacts were in the oldest
    /// epoch of the window.
    ///
    /// The value is `None` in the paper's scheme.
    pub burst_miss_probability_v6: Option<f64>,
    /// Minimum number of peers, to within 1 %, at which the finder finds 99 % of IPv4 hosts.
    ///
    /// A host that is found is reported only if its estimate is at least θ, so this value can be below θ. Contacts are
    /// assumed to be spread evenly over the window. The value is infinite if 99 % is never reached.
    pub found_from: f64,
    /// Minimum number of peers, to within 1 %, at which the finder finds 99 % of IPv6 hosts.
    ///
    /// The value is `None` in the paper's scheme.
    pub found_from_v6: Option<f64>,
    /// The overload of the finder, if any.
    pub overload: Option<Overload>,
}

/// The fill of a finder, and its current requirement for candidates.
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FinderFill {
    /// The cells of the default scheme.
    Cells {
        /// Minimum number of cells that a candidate must hold.
        ///
        /// The fuller the array of cells is, the fewer cells are required. If a search finds more hosts than the
        /// candidate limit, only the hosts with the most cells stay candidates, which can raise `c_min`. An IPv6 host
        /// always needs at least four cells, because its address is recovered from them.
        c_min: u32,
        /// Share of all cells that were touched in the window.
        in_use: f64,
        /// Share of all cells that were touched in the window and are held by IPv6 hosts.
        in_use_v6: f64,
    },
    /// The RSRA of the paper's scheme.
    Rsra {
        /// Minimum weight of the searched rough estimators: the configured hot weight, or more under overload.
        hot_weight: u32,
        /// Share of hot columns in each row, at the configured hot weight.
        hot_shares: Vec<f64>,
    },
}

/// A kind of finder overload: too many pairs, candidates or hot columns.
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overload {
    /// There are too many pairs: the finder misses more than 1 % of the hosts with θ peers, or the counter has a
    /// [load](crate::report::Health::load) above 4.
    ///
    /// Above that load, only hosts whose excess over θ is at least three standard errors are reported. To prevent this
    /// overload, configure more memory or a larger [share](crate::Config::share).
    /// [`Config::for_load`](crate::Config::for_load) computes both for a given load.
    ///
    /// The condition for the finder assumes that a candidate needs only two cells, or four if any IPv6 host holds a cell. For θ below
    /// 64, the condition uses a tighter bound than [`FinderHealth::miss_probability`].
    Crowded,
    /// There were more candidates or hot columns than the configured limit, so the requirement was raised.
    ///
    /// Small super points are therefore missed more often. In the default scheme, this overload is reported only if
    /// [`FinderHealth::miss_probability`] exceeds 0.00013.
    Raised,
    /// The limits were exceeded even at the largest weight, so the search found no hosts.
    Saturated,
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crowded => {
                "too many pairs for the memory, so small super points may be missing; configure more memory, or plan for more pairs"
            }
            Self::Raised => {
                "more candidates than the limit, so small super points may be missing; plan for more pairs, or raise candidate_limit or hot_limit"
            }
            Self::Saturated => "too many pairs for the finder, so the search found no hosts; configure a larger finder",
        })
    }
}

pub(crate) trait CpuFinder: Finder {
    /// The working memory of a search.
    type Search: CpuSearch<<Self::Recorder as ReadRecorder>::Word>;

    fn untouched(params: &Params) -> FinderHealth;
}

/// Returns the health of a finder whose detector has not closed a slice.
pub(crate) fn untouched(params: &Params) -> FinderHealth {
    for_scheme!(params, Types => <Types as SchemeTypes>::Finder::untouched(params))
}

pub(crate) trait CpuSearch<R: ReadRecorder>: Send + Sync {
    fn new(params: &Params) -> Self;

    /// Returns up to `limit` distinct candidates over `span`, and the health of the finder.
    fn candidates(
        &mut self,
        recorders: &[R],
        span: Span,
        limit: u32,
        threads: usize,
    ) -> (Vec<IpAddr>, FinderHealth);
}
