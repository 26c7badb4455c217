//! Closing of a slice in two steps, which turn the recorders of a device into a [`SliceReport`].
//!
//! ```text
//! Closing::new     candidates -> tallies and estimate of each -> sample peers of super points
//! Closing          answers queries about the window
//! Closing::finish  age: the window moves -> SliceReport
//! Closing::report  the window stays      -> SliceReport
//! ```
//!
//! The device only counts. srlg-core computes the estimates on the CPU from the counts of the device.

use std::fmt;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use srlg_core::{Ages, Estimate, Params};

use super::{estimate_within, estimates_within};
use crate::backend::{Backend, Candidates, HostTallies};
use crate::error::Error;
use crate::ingest::feed::lent::ExclusiveBackend;
use crate::peers::{peers_of, sample_peers};
use crate::report::{Health, SamplePeer, SliceReport, StageTimes, SuperPoint};
use crate::shares::Shares;

/// A slice that is being closed. Its window can be queried until [`end`](Self::end) moves it.
///
/// After a close, the running slice is empty but belongs to the window. A query of k slices then covers only k − 1
/// slices of traffic. During a close, a query of k slices covers k slices of traffic, up to the slice that is being
/// closed. If a `Closing` is dropped before [`end`](Self::end) is called, no slice is closed.
///
/// Until the `Closing` is dropped or ended, feeds buffer pairs for the next slice, and a feed whose buffer is full
/// waits. A thread that owns a `Closing` and a feed must not pass the feed more pairs than its capacity.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
///
/// let config = Config { threshold: 1000, window: 300, ..Config::default() };
/// let mut detector = SlidingDetector::new(config, Device::Cpu)?;
/// detector.ingest(&(0..3000).map(|peer| Ipv4Pair { inside: 7, peer }).collect::<Vec<_>>())?;
/// let mut closing = detector.begin_close()?;
/// let host = closing.super_points()[0].host;
/// assert!(closing.cardinality_within(host, 1)?.cardinality > 2900.0);
/// assert_eq!(closing.super_points_within(60, 1000.0)?.len(), 1);
/// let report = closing.end()?;
/// assert_eq!((report.slice, detector.slice()), (0, 1));
/// # Ok::<(), srlg::Error>(())
/// ```
#[must_use = "the slice is closed by `end`"]
pub struct Closing<'a> {
    detector: ExclusiveDetector<'a>,
    candidates: Candidates,
    super_points: Vec<SuperPoint>,
    stages: StageTimes,
    start: Instant,
}

/// Exclusive access to a detector. While it exists, no feed uses the backend.
pub(super) struct ExclusiveDetector<'a> {
    pub(super) params: &'a mut Params,
    pub(super) backend: ExclusiveBackend<'a>,
    pub(super) last: &'a mut LastReport,
    pub(super) candidate_limit: u32,
    pub(super) shares: &'a mut Shares,
    pub(super) most_share: Option<u32>,
}

/// The parts of the last report that a detector keeps.
pub(super) struct LastReport {
    pub(super) health: Health,
    /// Distinct hosts that are always candidates for the next report. If the candidate limit is lowered, only the first
    /// ones are: the hosts with the most peers, or after a merge the hosts with the smallest hashes.
    pub(super) kept: Vec<IpAddr>,
}

impl LastReport {
    /// Creates the `LastReport` of a new or restored detector. If the detector was restored from a snapshot, `kept`
    /// contains the super points of the snapshot's last report. `share` is the largest share in the window.
    pub(super) fn untouched(params: &Params, kept: Vec<IpAddr>, share: u32) -> Self {
        Self { health: Health::untouched(params, share), kept }
    }
}

impl ExclusiveDetector<'_> {
    pub(super) fn slice(&self) -> u64 {
        self.backend.slice()
    }

    pub(super) fn skip_to(&mut self, slice: u64) -> Result<(), Error> {
        self.backend.is_busy = true;
        let former = self.slice();
        let ages = self.params.ages_between(former, slice);
        if ages != Ages::default() {
            self.backend.age(ages)?;
        }
        self.backend.set_slice(slice);
        let may_change = self.most_share.is_some();
        self.change_shares(|shares, params| {
            // Nothing was counted in the window, so the former share has no reason any more.
            if may_change && slice - former >= u64::from(params.window()) {
                shares.set(params.counter_sizes().share, former, params);
            }
            shares.forget(slice, params);
        })
    }

    /// Changes the shares, and the positions that pairs touch and estimates use. If the result is an error, nothing
    /// changes.
    pub(super) fn change_shares(
        &mut self,
        change: impl FnOnce(&mut Shares, &Params),
    ) -> Result<(), Error> {
        let mut shares = self.shares.clone();
        change(&mut shares, self.params);
        let params = self.params.with_shares(shares.share(), shares.largest())?;
        if params != *self.params {
            self.backend.set_params(params)?;
            *self.params = params;
        }
        *self.shares = shares;
        Ok(())
    }

    /// Adds the shares of another detector whose running slice was `slice`.
    pub(super) fn merge_shares(&mut self, other: &Shares, slice: u64) -> Result<(), Error> {
        let running = self.slice();
        self.change_shares(|shares, params| {
            shares.merge(other, slice);
            shares.forget(running, params);
        })
    }

    /// Returns the health of the window of `candidates`, and then ages the recorders by `ages`.
    fn health(&mut self, candidates: Candidates, ages: Ages) -> Result<Health, Error> {
        let backend = &mut *self.backend;
        let row_weights = match candidates.row_weights {
            Some(row_weights) if ages == Ages::default() => row_weights,
            Some(row_weights) => backend.age(ages).map(|()| row_weights)?,
            None => vec![backend.count_and_age(candidates.span, ages)?],
        };
        Ok(Health::new(self.params, &row_weights, candidates.health, self.shares.largest()))
    }

    /// Adapts the shares to the `load` of the window that ended with the slice before the running one.
    fn adapt_shares(&mut self, load: f64) -> Result<(), Error> {
        let (running, params) = (self.slice(), *self.params);
        let backend = &mut *self.backend;
        let load_of = |slices| {
            // The running slice has no touches.
            let span = params.span(running, slices + 1);
            let touched = backend.count_and_age(span, Ages::default())?;
            Ok::<_, Error>(params.counter_load(&[touched]))
        };
        let share = match self.most_share {
            Some(most) => self.shares.adapted(&params, running - 1, load, most, load_of)?,
            None => self.shares.share(),
        };
        self.change_shares(|shares, params| {
            shares.set(share, running - 1, params);
            shares.forget(running, params);
        })
    }
}

impl fmt::Debug for Closing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Closing");
        fields.field("slice", &self.slice()).field("super_points", &self.super_points);
        fields.finish_non_exhaustive()
    }
}

impl<'a> Closing<'a> {
    /// Finds the super points of the window that ends with the running slice.
    pub(super) fn new(mut detector: ExclusiveDetector<'a>) -> Result<Self, Error> {
        let start = Instant::now();
        let ExclusiveDetector { params, backend, last, candidate_limit, .. } = &mut detector;
        backend.is_busy = true;
        let (slice, mut stages) = (backend.slice(), std::mem::take(&mut backend.delays));
        let span = params.span(slice, params.window());
        let kept = &last.kept[..last.kept.len().min(*candidate_limit as usize)];
        let candidates = backend.candidates(span, kept, *candidate_limit)?;
        stages.search = start.elapsed();
        let super_points = super_points(params, &mut **backend, slice, &candidates)?;
        stages.estimate = start.elapsed() - stages.search;
        backend.is_busy = false;
        Ok(Self { detector, candidates, super_points, stages, start })
    }

    /// Returns the number of the slice that is being closed.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.detector.slice()
    }

    /// Returns the super points of the window, as in the report.
    #[must_use]
    pub fn super_points(&self) -> &[SuperPoint] {
        &self.super_points
    }

    /// Returns the super points with at least `threshold` peers within the last `window` slices.
    ///
    /// Each super point is returned with its cardinality and sampled peers in these slices. The largest cardinality
    /// comes first. A `threshold` below the detector's own threshold does not find more hosts.
    ///
    /// Only the super points whose cardinality over the whole window reaches `threshold` are queried. A host with
    /// `threshold` peers in the last `window` slices also has them in the whole window. This selection therefore
    /// excludes such a host only if its estimate over the whole window is too low. In windows of more than 511 slices, its
    /// estimate in the last `window` slices may be too low as well.
    ///
    /// In the paper's scheme, a GPU reads the whole SLEA once per queried host, and a CPU reads it once per call.
    ///
    /// # Errors
    /// Returns the errors of [`cardinality_within`](Self::cardinality_within).
    pub fn super_points_within(
        &mut self,
        window: u32,
        threshold: f64,
    ) -> Result<Vec<SuperPoint>, Error> {
        let slice = self.slice();
        let ExclusiveDetector { params, backend, .. } = &mut self.detector;
        let reaching = self.super_points.iter().filter(|point| point.cardinality >= threshold);
        if window == params.window() {
            return Ok(reaching.cloned().collect());
        }
        let reaching: Vec<&SuperPoint> = reaching.collect();
        let hosts: Vec<IpAddr> = reaching.iter().map(|point| point.host).collect();
        let estimates = estimates_within(params, &mut **backend, slice, &hosts, window)?;
        let is_seen = |peer: &&SamplePeer| slice - peer.last_seen < window.into();
        let points = reaching.iter().zip(estimates);
        let points = points.filter(|(_, estimate)| estimate.cardinality >= threshold);
        let mut points: Vec<SuperPoint> = points
            .map(|(point, estimate)| {
                let peers = point.peers.iter().filter(is_seen).copied().collect();
                SuperPoint::new(point.host, estimate, peers)
            })
            .collect();
        points.sort_by(SuperPoint::order);
        Ok(points)
    }

    /// Estimates the number of distinct peers of `host` in the last `window` slices, including the slice that is being
    /// closed.
    ///
    /// The host need not be a super point. `window` must be between 1 and the detector's own window.
    ///
    /// # Errors
    /// Returns [`Error::QueryWindow`] if `window` is out of range. Returns [`Error::Ipv6InPaper`] for an IPv6 host in
    /// the paper's scheme. Returns another error if a GPU fails.
    pub fn cardinality_within(&self, host: IpAddr, window: u32) -> Result<Estimate, Error> {
        let ExclusiveDetector { params, backend, .. } = &self.detector;
        estimate_within(params, &**backend, self.slice(), host, window)
    }

    /// Returns up to 64 sampled peers of `host` in the window. The most recently contacted peer comes first.
    ///
    /// The host need not be a super point. The result is empty for an IPv6 host and in the paper's scheme.
    ///
    /// # Errors
    /// Returns an error only if a GPU fails.
    pub fn sample_peers(&self, host: IpAddr) -> Result<Vec<SamplePeer>, Error> {
        let ExclusiveDetector { params, backend, .. } = &self.detector;
        Ok(sample_peers(params, &**backend, &[host], self.slice())?.concat())
    }

    /// Closes the slice, moves the window by one slice, and returns the report.
    ///
    /// The time between `begin_close` and this call is part of [`StageTimes::other`](crate::report::StageTimes::other).
    ///
    /// # Errors
    /// Returns [`Error::LastSlice`] if the slice has the highest possible number, or another error if a GPU fails.
    pub fn end(self) -> Result<SliceReport, Error> {
        let start = self.start;
        let (mut report, detector) = self.finish()?;
        drop(detector);
        report.stages.complete_since(start);
        Ok(report)
    }

    /// Returns the report that [`end`](Self::end) would return, without closing the slice.
    pub(super) fn report(self) -> Result<SliceReport, Error> {
        let Self { mut detector, candidates, super_points, mut stages, start } = self;
        detector.backend.is_busy = true;
        let (slice, count) = (detector.slice(), candidates.count);
        let health = detector.health(candidates, Ages::default())?;
        detector.backend.is_busy = false;
        stages.complete_since(start);
        Ok(SliceReport { slice, super_points, candidates: count, health, stages })
    }

    /// Closes the slice like [`end`](Self::end), but keeps the exclusive access to the detector.
    pub(super) fn finish(self) -> Result<(SliceReport, ExclusiveDetector<'a>), Error> {
        let Self { mut detector, candidates, super_points, mut stages, start } = self;
        detector.backend.is_busy = true;
        let (slice, count) = (detector.slice(), candidates.count);
        let next = slice.checked_add(1).ok_or(Error::LastSlice { running: slice })?;
        let (ages, ageing) = (detector.params.ages_between(slice, next), Instant::now());
        let health = detector.health(candidates, ages)?;
        detector.backend.set_slice(next);
        let most = detector.params.candidate_limit() as usize;
        let kept = super_points.iter().take(most).map(|point| point.host);
        *detector.last = LastReport { health: health.clone(), kept: kept.collect() };
        detector.adapt_shares(health.load)?;
        stages.age = ageing.elapsed();
        detector.backend.is_busy = false;
        stages.complete_since(start);
        Ok((SliceReport { slice, super_points, candidates: count, health, stages }, detector))
    }
}

/// A candidate whose estimate reaches the threshold.
struct Found {
    point: SuperPoint,
    /// The sampled peers, if the device returned their words with the tallies.
    peers: Option<Vec<SamplePeer>>,
    /// Whether the host is reported even if the counter is crowded.
    is_clear: bool,
}

/// Returns the super points among the candidates, in the order of a report.
fn super_points(
    params: &Params,
    backend: &mut dyn Backend,
    slice: u64,
    candidates: &Candidates,
) -> Result<Vec<SuperPoint>, Error> {
    let (found, seems_crowded) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let (threshold, span) = (f64::from(params.threshold()), candidates.span);
    let row_weights = candidates.row_weights.as_deref().unwrap_or_default();
    let visit = |&HostTallies { host, tallies, words }: &HostTallies<'_>| {
        let estimate = params.estimate(tallies, span, row_weights);
        if estimate.cardinality >= threshold {
            let peers = words.map(|words| peers_of(params, slice, host, words));
            let is_clear = params.is_clear(&estimate, tallies, span);
            let point = SuperPoint::new(host, estimate, Vec::new());
            seems_crowded.fetch_or(params.seems_crowded(tallies, span), Relaxed);
            let found = &mut *found.lock().expect("no thread panics while it holds the lock");
            found.push(Found { point, peers, is_clear });
        }
    };
    backend.tally(candidates, &visit)?;
    let mut found = found.into_inner().expect("no thread panics while it holds the lock");
    // The load is counted only if a host suggests it, because the count reads the whole array.
    if seems_crowded.into_inner() {
        let touched = backend.count_and_age(span, Ages::default())?;
        if params.is_crowded(params.counter_load(&[touched])) {
            found.retain(|it| it.is_clear);
        }
    }
    found.sort_by(|a, b| a.point.order(&b.point));
    let asked = found.iter().filter(|it| it.peers.is_none());
    let hosts: Vec<IpAddr> = asked.map(|it| it.point.host).collect();
    let mut brought = sample_peers(params, backend, &hosts, slice)?.into_iter();
    let points = found.into_iter().map(|Found { point, peers, .. }| {
        let peers = peers.or_else(|| brought.next()).unwrap_or_default();
        SuperPoint { peers, ..point }
    });
    Ok(points.collect())
}
