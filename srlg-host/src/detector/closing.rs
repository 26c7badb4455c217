//! [`Closing`]: a close in two steps, between which the window that ends can be asked.

use std::fmt;
use std::net::IpAddr;
use std::time::Instant;

use srlg_core::{Estimate, Params};

use super::estimate_within;
use crate::close::Studied;
use crate::error::Error;
use crate::ingest::feed::lent::Exclusive;
use crate::kept::KeptHosts;
use crate::peers::sample_peers;
use crate::report::{Health, SamplePeer, SliceReport, SuperPoint};

/// Answers questions about a window before it moves, and closes its last slice at [`end`](Self::end).
///
/// After a close the running slice is empty and counts as one of the window, so a query of k slices is about one slice
/// less than the report. Here both are about the same window. Dropped without `end`, a `Closing` closes nothing.
///
/// Feeds keep pairs until then, and ingest them into the slice that runs afterwards. A feed that must wait, as its buffer
/// is full, waits until the `Closing` is gone: a thread that has both gives the feed no more than its capacity.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::{Config, Device, IpPair, SlidingDetector};
///
/// let config = Config { threshold: 1000, window: 300, ..Config::default() };
/// let mut detector = SlidingDetector::new(config, Device::Cpu)?;
/// detector.ingest(&(0..3000).map(|opposite| IpPair { inside: 7, opposite }).collect::<Vec<_>>())?;
/// let closing = detector.begin_close()?;
/// let host = closing.super_points()[0].host;
/// assert!(closing.cardinality_within(host, 1)?.cardinality > 2900.0);
/// assert_eq!(closing.super_points_within(60)?.len(), 1);
/// let report = closing.end()?;
/// assert_eq!((report.slice, detector.slice()), (0, 1));
/// # Ok::<(), srlg::Error>(())
/// ```
#[must_use = "the slice is closed by `end`"]
pub struct Closing<'a> {
    params: &'a Params,
    backend: Exclusive<'a>,
    health: &'a mut Health,
    kept: &'a mut KeptHosts,
    studied: Studied,
    start: Instant,
}

impl fmt::Debug for Closing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Closing");
        fields.field("slice", &self.slice()).field("super_points", &self.super_points());
        fields.finish_non_exhaustive()
    }
}

impl<'a> Closing<'a> {
    pub(super) fn new(
        params: &'a Params,
        mut backend: Exclusive<'a>,
        (health, kept): (&'a mut Health, &'a mut KeptHosts),
        start: Instant,
    ) -> Result<Self, Error> {
        let slice = backend.slice();
        let studied = Studied::new(params, &mut *backend, kept.hosts(), slice)?;
        Ok(Self { params, backend, health, kept, studied, start })
    }

    /// Returns the number of the slice that is being closed.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.studied.slice
    }

    /// Returns the super points of the window, as the report will have them.
    #[must_use]
    pub fn super_points(&self) -> &[SuperPoint] {
        &self.studied.super_points
    }

    /// Returns those of the super points whose cardinality within the last `window` slices reaches the threshold, too,
    /// with that cardinality, and with those of their sample peers that were seen in these slices; the largest first.
    ///
    /// A host that has θ opposite hosts in a shorter window has them in the longer one. So no host is left out but for the
    /// errors of the longer one: of a host near θ that estimate may stay below θ.
    ///
    /// In the paper's scheme the call reads the whole SLEA once for each super point.
    ///
    /// # Errors
    /// As [`cardinality_within`](Self::cardinality_within).
    pub fn super_points_within(&self, window: u32) -> Result<Vec<SuperPoint>, Error> {
        let threshold = f64::from(self.params.threshold());
        let mut points = Vec::new();
        for point in self.super_points() {
            let estimate = self.cardinality_within(point.host, window)?;
            if estimate.cardinality >= threshold {
                let Estimate { cardinality, std_error, range, .. } = estimate;
                let is_seen = |peer: &&SamplePeer| self.slice() - peer.last_seen < window.into();
                let peers = point.peers.iter().filter(is_seen).copied().collect();
                points.push(SuperPoint { host: point.host, cardinality, std_error, range, peers });
            }
        }
        points.sort_by(|a, b| b.cardinality.total_cmp(&a.cardinality).then(a.host.cmp(&b.host)));
        Ok(points)
    }

    /// Estimates the number of distinct opposite hosts of `host`, super point or not, in the last `window` slices, of which
    /// the one that is being closed is the last; `window` may be anything from 1 to the detector's own.
    ///
    /// # Errors
    /// [`Error::QueryWindow`], [`Error::Ip6InPaper`], and what the device reports.
    pub fn cardinality_within(&self, host: IpAddr, window: u32) -> Result<Estimate, Error> {
        estimate_within(self.params, &*self.backend, self.slice(), (host, window))
    }

    /// Returns some opposite hosts of `host` in the window, super point or not: up to 64, those of the most recent contacts
    /// first; none of an IPv6 host, and none in the paper's scheme.
    ///
    /// # Errors
    /// What the device reports; the CPU reports none.
    pub fn sample_peers(&self, host: IpAddr) -> Result<Vec<SamplePeer>, Error> {
        let span = self.params.span(self.slice(), self.params.window());
        let peers = sample_peers(self.params, &*self.backend, &[host], (span, self.slice()))?;
        Ok(peers.into_iter().flatten().collect())
    }

    /// Closes the slice: moves the window by one slice, and returns the report. The time between `begin_close` and this
    /// call is in [`StageTimes::other`](crate::report::StageTimes::other).
    ///
    /// # Errors
    /// [`Error::LastSlice`], and what the device reports; the CPU reports none.
    pub fn end(self) -> Result<SliceReport, Error> {
        let Self { params, mut backend, health, kept, studied, start } = self;
        let mut report = end(params, &mut backend, (health, kept), studied)?;
        drop(backend);
        report.stages.complete(start.elapsed());
        Ok(report)
    }
}

/// Closes the running slice, of which all is known.
pub(super) fn end(
    params: &Params,
    backend: &mut Exclusive<'_>,
    (health, kept): (&mut Health, &mut KeptHosts),
    studied: Studied,
) -> Result<SliceReport, Error> {
    let running = backend.slice();
    let next = running.checked_add(1).ok_or(Error::LastSlice { running })?;
    let mut report = studied.report(params, &mut **backend, params.ages_between(running, next))?;
    (report.stages.hand_in, report.stages.wait) = std::mem::take(&mut backend.delays);
    backend.set_slice(next);
    *health = report.health.clone();
    *kept = KeptHosts::of(&report.super_points, params);
    Ok(report)
}
