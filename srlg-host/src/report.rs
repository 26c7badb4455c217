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

/// A host in contact with at least θ distinct others within the window.
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
    pub(crate) fn new(host: IpAddr, estimate: Estimate, peers: Vec<SamplePeer>) -> Self {
        let Estimate { cardinality, std_error, range, .. } = estimate;
        Self { host, cardinality, std_error, range, peers }
    }

    /// Compares by the order of a report: the largest cardinality first, equal ones by address.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        other.cardinality.total_cmp(&self.cardinality).then(self.host.cmp(&other.host))
    }

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

/// A sampled peer of a host.
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

/// The super points of one window, and how well the detector fared. Two reports are equal if they say the same, however
/// long they took.
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

/// The duration of each stage of a close, in their order.
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

    /// Makes `other` all that took time since `start`, when the backend was there, and is no stage.
    pub(crate) fn complete_since(&mut self, start: Instant) {
        let total = self.hand_in + self.wait + start.elapsed();
        self.other += total.saturating_sub(self.total());
    }
}

/// How well a detector fared in the last slice that closed.
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
    /// Whether intervals of 95 % hold the truth in 88 to 97 % of cases, for hosts with 100 peers and more: in the tagged
    /// scheme up to a `load` of 3. Above, lower bounds hold up to a `load` of 5, and upper bounds are too low
    /// ([`Params::errors_hold`]). A plan of `Config::for_load` keeps this true if its `pairs_per_recorder` is clearly below
    /// 3: the load is measured, so it varies by chance.
    pub errors_hold: bool,
    /// How full the finder was, and how often it misses a host.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub finder: FinderHealth,
}

impl Health {
    /// The health of a detector that has closed no slice yet.
    pub(crate) fn untouched(params: &Params) -> Self {
        let nothing = vec![0; params.counter_sizes().rows as usize];
        Self::new(params, &nothing, untouched(params))
    }

    /// The health where `row_weights` recorders of each row of the counter are within the window.
    pub(crate) fn new(params: &Params, row_weights: &[u32], finder: FinderHealth) -> Self {
        let row_len = params.counter_sizes().row_len;
        let factor = |&row_weight| background::setting_factor(row_len, row_weight);
        let load = params.counter_load(row_weights);
        Self {
            setting_factors: row_weights.iter().map(factor).collect(),
            background: background::share(row_len, row_weights),
            load,
            errors_hold: params.errors_hold(load),
            finder,
        }
    }
}
