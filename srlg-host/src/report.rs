//! Reports of closed slices: super points, estimates, sample peers, health and times.
//!
//! [`SlidingDetector::close_slice`](crate::SlidingDetector::close_slice) returns a [`SliceReport`].
//! [`SlidingDetector::begin_close`](crate::SlidingDetector::begin_close) returns a [`Closing`], which answers questions about
//! the window before it moves.
//!
//! Cardinalities and standard errors are numbers of peers; probabilities and shares are from 0 to 1. A value without a bound
//! is infinite, which JSON writes as `null`; JSON has times as seconds and nanoseconds.
//!
//! ```
//! # use srlg_host as srlg;
//! use srlg::{Config, Device, IpPair, SlidingDetector};
//!
//! let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
//! detector.ingest(&(0..5000).map(|opposite| IpPair { inside: 7, opposite }).collect::<Vec<_>>())?;
//! let closing = detector.begin_close()?;
//! let point = &closing.super_points()[0];
//! assert!(point.lower(4.0) < 5000.0 && 5000.0 < point.upper(4.0));
//! assert!(closing.cardinality_within(point.host, 60)?.cardinality > 4000.0);
//! let report = closing.end()?;
//! assert!(report.health.errors_hold && report.health.overload.is_none());
//! # Ok::<(), srlg::Error>(())
//! ```

use std::net::IpAddr;
use std::time::Duration;

pub use crate::detector::Closing;
pub use crate::finder::{FinderHealth, Overload};
pub use srlg_core::{Estimate, EstimateRange};

/// Describes a host in contact with at least θ distinct others within the window.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SuperPoint {
    /// The inside host.
    pub host: IpAddr,
    /// Estimated number of distinct opposite hosts.
    pub cardinality: f64,
    /// Standard error of `cardinality`, see [`Estimate::std_error`](crate::report::Estimate).
    pub std_error: f64,
    /// Whether `cardinality` is an estimate or a lower bound.
    pub range: EstimateRange,
    /// Some of its opposite hosts, see [`SamplePeer`]: up to 64, those of the most recent contacts first; none of an
    /// IPv6 host.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub peers: Vec<SamplePeer>,
}

impl SuperPoint {
    /// Returns `sigmas` standard errors below the cardinality; see [`Estimate::lower`](crate::report::Estimate::lower).
    #[must_use]
    pub fn lower(&self, sigmas: f64) -> f64 {
        self.range.lower(self.cardinality, self.std_error, sigmas)
    }

    /// Returns `sigmas` standard errors above the cardinality; see [`Estimate::upper`](crate::report::Estimate::upper).
    #[must_use]
    pub fn upper(&self, sigmas: f64) -> f64 {
        self.range.upper(self.cardinality, self.std_error, sigmas)
    }
}

/// Names an opposite host of a host, one of a sample.
///
/// The sample is of the pairs of a host that cells still hold. A hash of both addresses puts one pair
/// in 2^τ (32 at θ = 1024) into one of 64 slots; a slot shows the pair with the most recent contact in the
/// window, unless a pair of another host took its cell later. Pairs whose last contacts were in the same epoch are
/// shown with equal probability, whatever their addresses; pairs with a more recent contact with
/// a higher one. Of an epoch that the window cuts all slices count. Both hosts are of IPv4: cells have no room for an
/// opposite host of another kind. The paper's scheme has no such samples.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SamplePeer {
    /// The opposite host.
    pub host: IpAddr,
    /// The slice of the last contact; where the finder's ages count epochs of several slices (windows of more than
    /// 2047 slices with 2^18 cells, of more than 31 with 2^12) the last slice of its epoch.
    pub last_seen: u64,
}

/// Holds the answer for one window. Reports are equal when they say the same, however long it took.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SliceReport {
    /// Number of the slice that closed: the window is the `window` slices that end with it.
    pub slice: u64,
    /// Super points, the largest cardinality first, equal ones by address.
    pub super_points: Vec<SuperPoint>,
    /// Hosts that the finder offered, and super points of the report before that it did not; the
    /// linear estimators kept the super points.
    pub candidates: usize,
    /// How well the detector fared.
    pub health: Health,
    /// How long it took.
    pub stages: StageTimes,
}

impl SliceReport {
    /// Returns whether no host came near the threshold, so that without new pairs no later slice has a super point.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.candidates == 0 && self.health.overload.is_none()
    }
}

impl PartialEq for SliceReport {
    fn eq(&self, other: &Self) -> bool {
        let Self { slice, super_points, candidates, health, stages: _ } = self;
        (slice, super_points, candidates, health)
            == (&other.slice, &other.super_points, &other.candidates, &other.health)
    }
}

/// Tells how long the stages of a close took, in their order.
///
/// Of [`advance_to`](crate::SlidingDetector::advance_to) the first report has what was spent on
/// feeds, and no report has what it takes to end the call.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StageTimes {
    /// Ingesting what feeds still had in their buffers from an earlier close.
    pub hand_in: Duration,
    /// Waiting until no feed is ingesting.
    pub wait: Duration,
    /// Finding candidates, once the pairs that wait in batches have updated their recorders.
    pub search: Duration,
    /// Tallies and estimates of the candidates.
    pub estimate: Duration,
    /// Moving the window: every recorder one slice older.
    pub age: Duration,
    /// Everything else: making the report, and letting feeds ingest again.
    pub other: Duration,
}

impl StageTimes {
    /// Returns the sum of all stages: the time from the call of
    /// [`close_slice`](crate::SlidingDetector::close_slice) to its return.
    #[must_use]
    pub fn total(&self) -> Duration {
        let Self { hand_in, wait, search, estimate, age, other } = *self;
        hand_in + wait + search + estimate + age + other
    }

    /// Makes `total` the sum, by `other`.
    pub(crate) fn complete(&mut self, total: Duration) {
        self.other += total.saturating_sub(self.total());
    }
}

/// Tells how well a detector fared in the last slice that closed.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Health {
    /// Row setting factors SF(i,k): share of each row of the SLEA that was within the window.
    pub setting_factors: Vec<f64>,
    /// Their product: share of a host's union estimator that foreign touches set. In the
    /// paper's scheme the estimate subtracts its mean, but not what chance and giants add to
    /// it: beyond some 0.01 false super points appear (docs/measurements.md).
    pub background: f64,
    /// λ: distinct pairs of the window for each recorder of the SLEA, as the share of the first row that was touched
    /// tells. Errors grow with λ; infinite where all recorders were touched.
    pub load: f64,
    /// Whether the truth is within 1.96 of `std_error` with 88 to 96 %: in the tagged scheme up to a `load` of 5. Beyond,
    /// intervals hold in 50 to 88 % at a load of 7 to 10: plan for the load, with `Config::for_load`.
    pub errors_hold: bool,
    /// How full the finder was, and what it asked of a candidate.
    pub finder: FinderHealth,
    /// Probability that the finder passed over a host with exactly θ opposite hosts, in contact evenly over
    /// the window. (Whether the estimate of one that is found reaches θ is another matter; and
    /// super points of the report before are looked at in any case.) Of θ below 64 a bound: cells miss such hosts less
    /// often.
    pub miss_probability: f64,
    /// The same for an IPv6 host, which needs four cells at least; `None` in the paper's scheme, which takes no IPv6.
    pub miss_probability_v6: Option<f64>,
    /// The same for an IPv4 host where all contacts were in the oldest epoch of the window.
    pub burst_miss_probability: f64,
    /// The least number of opposite hosts, to 1 %, of which the finder finds 99 % of hosts in contact evenly
    /// over the window; infinite where it finds no host so often.
    pub found_from: f64,
    /// What the finder could not do.
    pub overload: Option<Overload>,
}
