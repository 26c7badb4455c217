//! What a detector reports when a slice closes.

use std::net::Ipv4Addr;
use std::time::Duration;

use srlg_core::EstimateRange;

/// A host in contact with at least θ distinct others within the window.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SuperPoint {
    /// The inside host.
    pub host: Ipv4Addr,
    /// Estimated number of distinct opposite hosts.
    pub cardinality: f64,
    /// Standard error of `cardinality`, see [`Estimate::std_error`](crate::Estimate).
    pub std_error: f64,
    /// Whether `cardinality` is an estimate or a lower bound.
    pub range: EstimateRange,
}

/// The answer for one window. Reports are equal when they say the same, however long it took.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SliceReport {
    /// Number of the slice that closed: the window is the `window` slices that end with it.
    pub slice: u64,
    /// Super points, the largest cardinality first, equal ones by address.
    pub super_points: Vec<SuperPoint>,
    /// Hosts that the rough estimators offered; the linear estimators kept the super points.
    pub candidates: usize,
    /// How well the detector fared.
    pub health: Health,
    /// How long it took.
    pub stages: StageTimes,
}

impl PartialEq for SliceReport {
    fn eq(&self, other: &Self) -> bool {
        let Self { slice, super_points, candidates, health, stages: _ } = self;
        (slice, super_points, candidates, health)
            == (&other.slice, &other.super_points, &other.candidates, &other.health)
    }
}

/// How long the stages of a close took, in their order.
///
/// Of [`advance_to`](crate::SlidingDetector::advance_to) the first report has what was spent on
/// feeds, and no report has what it takes to end the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StageTimes {
    /// Ingesting what feeds still had in their buffers from an earlier close.
    pub hand_in: Duration,
    /// Waiting until no feed is ingesting.
    pub wait: Duration,
    /// Finding candidates, once the pairs that wait in batches have updated their recorders; on a
    /// GPU also what is asked ahead with them, most glimpses.
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

/// How well a detector fared in the last slice that closed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Health {
    /// Row setting factors SF(i,k): share of each row of the SLEA that was within the window.
    pub setting_factors: Vec<f64>,
    /// Their product: share of a host's union estimator that foreign touches set. In the
    /// paper's scheme the estimate subtracts its mean, but not what chance and giants add to
    /// it: beyond some 0.01 false super points appear (docs/measurements.md).
    pub background: f64,
    /// Share of each row of the RSRA that was hot at the configured hot weight.
    pub hot_shares: Vec<f64>,
    /// Weight from which rough estimators were searched: the configured hot weight, or
    /// more under overload.
    pub hot_weight: u32,
    /// Probability that the rough estimators passed over a host with exactly θ opposite
    /// hosts, at `hot_weight`. (Whether the estimate of one that is found reaches θ is another
    /// matter.)
    pub miss_probability: f64,
    /// What the search could not do.
    pub overload: Option<Overload>,
}

/// More hot columns or candidates than the limits of the configuration accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overload {
    /// The search took only rough estimators of a higher weight, [`Health::hot_weight`]:
    /// smaller super points are missed more often, [`Health::miss_probability`].
    RaisedHotWeight,
    /// Even estimators of the full weight were too many: no super point was found.
    Saturated,
}
