//! Reports of closed slices: super points, estimates, sample peers, health and times.
//!
//! [`SlidingDetector::close_slice`](crate::SlidingDetector::close_slice) returns a [`SliceReport`].
//! [`SlidingDetector::begin_close`](crate::SlidingDetector::begin_close) returns a [`Closing`], which answers queries
//! until the window moves.
//!
//! Cardinalities and standard errors are measured in peers. Probabilities and shares are between 0 and 1. An unbounded
//! value is infinite, which JSON represents as `null`. In JSON, a duration is an object with the fields `secs` and
//! `nanos`.
//!
//! # Example
//!
//! ```
//! # use srlg_host as srlg;
//! use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
//!
//! let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
//! detector.ingest(&(0..5000).map(|peer| Ipv4Pair { inside: 7, peer }).collect::<Vec<_>>())?;
//! let closing = detector.begin_close()?;
//! let point = &closing.super_points()[0];
//! assert!(point.lower(4.0) < 5000.0 && 5000.0 < point.upper(4.0));
//! assert!(closing.cardinality_within(point.host, 60)?.cardinality > 4000.0);
//! let report = closing.end()?;
//! assert!(report.health.errors_hold && report.health.finder.overload.is_none());
//! # Ok::<(), srlg::Error>(())
//! ```

use std::cmp::Ordering;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use srlg_core::Params;
use srlg_core::counter::rows::background;

pub use crate::detector::Closing;
use crate::finder::untouched;
pub use crate::finder::{FinderFill, FinderHealth, Overload};
pub use srlg_core::{Estimate, EstimateRange};

/// A host in contact with at least θ distinct other hosts within the window.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SuperPoint {
    /// The inside host.
    pub host: IpAddr,
    /// Estimated number of distinct peers.
    pub cardinality: f64,
    /// Standard error of `cardinality` (see [`Estimate::std_error`](crate::report::Estimate)).
    pub std_error: f64,
    /// Whether `cardinality` is an estimate or a lower bound.
    pub range: EstimateRange,
    /// Up to 64 sampled peers, most recent contact first (see [`SamplePeer`]). The list is empty for an IPv6 host.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub peers: Vec<SamplePeer>,
}

impl SuperPoint {
    pub(crate) fn new(host: IpAddr, estimate: Estimate, peers: Vec<SamplePeer>) -> Self {
        let Estimate { cardinality, std_error, range, .. } = estimate;
        Self { host, cardinality, std_error, range, peers }
    }

    /// Compares in the order of a report: by descending cardinality, then by address.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        other.cardinality.total_cmp(&self.cardinality).then(self.host.cmp(&other.host))
    }

    /// Returns the cardinality minus `sigmas` standard errors (see
    /// [`Estimate::lower`](crate::report::Estimate::lower)).
    #[must_use]
    pub fn lower(&self, sigmas: f64) -> f64 {
        self.range.lower(self.cardinality, self.std_error, sigmas)
    }

    /// Returns the cardinality plus `sigmas` standard errors (see [`Estimate::upper`](crate::report::Estimate::upper)).
    #[must_use]
    pub fn upper(&self, sigmas: f64) -> f64 {
        self.range.upper(self.cardinality, self.std_error, sigmas)
    }
}

/// A sampled peer of a host.
///
/// The sample is drawn from the pairs of a host that are still stored in cells. A hash of both addresses selects one
/// pair in 2^τ (one in 32 at θ = 1024) and assigns it to one of 64 slots. A slot shows the pair that had the most
/// recent contact in the window. If a pair of a different host has since taken its cell, the slot shows no pair.
///
/// Pairs whose last contacts were in the same epoch are shown with equal probability, whatever their addresses. A pair
/// with a more recent contact is shown with a higher probability. If the window starts in the middle of an epoch, all
/// slices of that epoch are included.
///
/// Only IPv4 hosts have sampled peers, and these peers are IPv4 hosts too, because cells cannot store IPv6 peers. The
/// paper's scheme does not store peers.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SamplePeer {
    /// The peer.
    pub host: IpAddr,
    /// Slice of the last contact.
    ///
    /// In long windows, the finder's ages count epochs of several slices. The value is then the last slice of the epoch
    /// that contains the contact, or the last slice of the window if that is earlier. This applies to windows of more
    /// than 2047 slices if the finder has 2^18 cells or more, and to windows of more than 31 slices if it has 2^12
    /// cells.
    pub last_seen: u64,
}

/// The super points of one window and the health of the detector. Equality comparisons ignore the stage times.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SliceReport {
    /// Number of the slice that closed, which is the last slice of the window.
    pub slice: u64,
    /// Super points, sorted by descending cardinality and then by address.
    pub super_points: Vec<SuperPoint>,
    /// Number of distinct candidates: the hosts that the finder returned, and the super points of the previous report
    /// and of merged snapshots.
    pub candidates: usize,
    /// Health of the detector in this slice.
    pub health: Health,
    /// Duration of each stage of the close.
    pub stages: StageTimes,
}

impl SliceReport {
    /// Returns whether the close found no candidates and the finder was not overloaded. Later slices then have no super
    /// points until new pairs arrive.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.candidates == 0 && self.health.finder.overload.is_none()
    }
}

impl PartialEq for SliceReport {
    fn eq(&self, other: &Self) -> bool {
        let Self { slice, super_points, candidates, health, stages: _ } = self;
        (slice, super_points, candidates, health)
            == (&other.slice, &other.super_points, &other.candidates, &other.health)
    }
}

/// The duration of each stage of a close.
///
/// In [`advance_to`](crate::SlidingDetector::advance_to), the time spent on feeds is part of the first report. The time
/// from the last report to the end of the call is not part of any report.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StageTimes {
    /// Time spent ingesting pairs that wait in feeds, for example because they arrived during a previous close.
    pub hand_in: Duration,
    /// Time spent waiting until no feed is ingesting.
    pub wait: Duration,
    /// Time spent finding candidates, including the wait until all ingested pairs have updated their recorders.
    pub search: Duration,
    /// Time spent computing the tallies and estimates of the candidates.
    pub estimate: Duration,
    /// Time spent moving the window by one slice and adapting the share of the pairs.
    pub age: Duration,
    /// Time spent on all remaining work, such as creating the report and letting feeds ingest again.
    pub other: Duration,
}

impl StageTimes {
    /// Returns the total duration of all stages, which is the duration of
    /// [`close_slice`](crate::SlidingDetector::close_slice).
    #[must_use]
    pub fn total(&self) -> Duration {
        let Self { hand_in, wait, search, estimate, age, other } = *self;
        hand_in + wait + search + estimate + age + other
    }

    /// Adds to `other` the time since `start` that no stage includes. `hand_in` and `wait` end before `start`.
    pub(crate) fn complete_since(&mut self, start: Instant) {
        let total = self.hand_in + self.wait + start.elapsed();
        self.other += total.saturating_sub(self.total());
    }
}

/// The health of a detector in the last slice that closed.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Health {
    /// Row setting factors SF(i,k): for each row of the SLEA, the share of recorders that were touched in the window.
    pub setting_factors: Vec<f64>,
    /// Product of the setting factors: the share of a host's union estimator that is set by touches of other hosts.
    ///
    /// In the paper's scheme, the estimate subtracts the mean of this share, but not its variation. Reports of this
    /// scheme contain false super points if the value is above about 0.01 (docs/limits.md).
    pub background: f64,
    /// λ: the number of touches by the distinct pairs in the window divided by the number of recorders in the SLEA (in
    /// the paper's scheme, in one of its rows). It is estimated from the share of recorders in the first row that were
    /// touched in the window.
    ///
    /// Errors grow with λ, which is infinite if all recorders of the first row were touched.
    pub load: f64,
    /// Whether 95 % intervals cover the true value in 88 to 97 % of cases, for hosts with 100 peers or more.
    ///
    /// In the tagged scheme, the value is true up to a `load` of 3. Above 3, upper bounds are too low, but lower bounds
    /// are valid up to a `load` of 5 (see [`Params::errors_hold`]). In the paper's scheme, the value is always false.
    /// With a plan of `Config::for_load`, the value is true at the planned load.
    pub errors_hold: bool,
    /// Expected standard error, in peers, of the estimate for a host with θ peers at this `load`, or `None` in the
    /// paper's scheme. At the planned load, it is about the [`Plan::std_error`](crate::config::Plan::std_error) that
    /// `Config::for_load` promises.
    pub std_error: Option<f64>,
    /// Number of pairs of which one is counted: the largest [share](crate::SlidingDetector::set_share) in the window.
    pub share: u32,
    /// Fill of the finder, and its probability of missing a host.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub finder: FinderHealth,
}

impl Health {
    pub(crate) fn untouched(params: &Params, share: u32) -> Self {
        let nothing = vec![0; params.counter_sizes().rows as usize];
        Self::new(params, &nothing, untouched(params), share)
    }

    /// Creates the health from `row_weights`, the number of recorders touched in the window per row of the counter.
    ///
    /// `share` is the largest share of the pairs in the window.
    pub(crate) fn new(
        params: &Params,
        row_weights: &[u32],
        finder: FinderHealth,
        share: u32,
    ) -> Self {
        let row_len = params.counter_sizes().row_len;
        let factor = |&row_weight| background::setting_factor(row_len, row_weight);
        let load = params.counter_load(row_weights);
        let is_crowded = params.is_crowded(load);
        let overload = if is_crowded { Some(Overload::Crowded) } else { finder.overload };
        // Estimates use only pairs that the largest share counts. A counted pair touches about 1.02 recorders.
        let of_share = params.with_shares(share, share).ok();
        let pairs = load * f64::from(row_len) * f64::from(share) / 1.02;
        Self {
            setting_factors: row_weights.iter().map(factor).collect(),
            background: background::share(row_len, row_weights),
            load,
            errors_hold: params.errors_hold(load),
            std_error: of_share.and_then(|it| it.expected_error(it.threshold(), pairs as u64)),
            share,
            finder: FinderHealth { overload, ..finder },
        }
    }
}
