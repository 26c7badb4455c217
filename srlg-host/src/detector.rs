//! [`SlidingDetector`]: pairs in, super points out, slice by slice.

mod ingesting;
mod merging;

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::time::Instant;

use srlg_core::{Ages, Config, Estimate, Params, Span};

use crate::backend::Backend;
use crate::close;
use crate::device::Device;
use crate::error::Error;
use crate::feed::lent::{Exclusive, LentBackend};
use crate::kept::KeptHosts;
use crate::open;
use crate::pairs::Family;
use crate::peers::sample_peers;
use crate::report::{Health, SamplePeer, SliceReport};

/// Finds the hosts that are in contact with at least θ distinct others within the last
/// k slices, and estimates with how many.
///
/// Memory is fixed at creation: [`memory_bytes`](Self::memory_bytes).
///
/// ```
/// use std::net::{IpAddr, Ipv6Addr};
///
/// use srlg_host::{Config, Device, Ip6Pair, IpPair, SlidingDetector};
///
/// let config = Config { threshold: 1024, window: 300, ..Config::default() };
/// let mut detector = SlidingDetector::new(config, Device::Auto)?;
/// // IPv4: 10.0.0.1 and 5000 peers.
/// let pairs: Vec<IpPair> = (0..5000).map(|bip| IpPair { aip: 0x0a00_0001, bip }).collect();
/// detector.ingest(&pairs)?; // &self: any number of threads
/// // IPv6: 2001:db8::1 and 4000 peers.
/// let host: IpAddr = "2001:db8::1".parse()?;
/// let peer = |number: u16| Ipv6Addr::new(0x2001, 0xdb8, 1, number, 0, 0, 0, 1).into();
/// let pairs: Vec<Ip6Pair> = (0..4000).map(|number| Ip6Pair::new(host, peer(number))).collect();
/// detector.ingest(&pairs)?;
/// let report = detector.close_slice()?;
/// assert_eq!(report.super_points[0].host.to_string(), "10.0.0.1");
/// assert_eq!(report.super_points[1].host, host);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SlidingDetector {
    params: Params,
    /// The device, and the running slice.
    backend: LentBackend,
    health: Health,
    /// Hosts that are candidates of the next report in any case.
    kept: KeptHosts,
}

impl SlidingDetector {
    /// Creates a detector with the sizes of `config` on `device`; slice 0 is running.
    ///
    /// # Errors
    /// [`Error::Config`] for a rule that `config` breaks, [`Error::OutOfMemory`], and for a GPU
    /// that cannot be used what stands in its way.
    pub fn new(config: Config, device: Device) -> Result<Self, Error> {
        let params = config.validate()?;
        Ok(Self::with_backend(params, open::backend(device, params)?))
    }

    pub(crate) fn with_backend(params: Params, backend: Box<dyn Backend>) -> Self {
        let health = close::untouched_health(&params);
        let kept = KeptHosts::default();
        Self { params, backend: LentBackend::new(backend, params), health, kept }
    }

    /// Sets the maximum number of threads that a close uses, 1 at first. Fewer are used if the system
    /// refuses to start them. Reports are the same. On a GPU it changes nothing.
    ///
    /// # Errors
    /// What the device reports; the CPU reports none.
    pub fn set_close_threads(&mut self, threads: NonZeroUsize) -> Result<(), Error> {
        self.backend.exclusive()?.set_threads(threads);
        Ok(())
    }

    /// Closes the running slice t: reports the super points of the window W(t-k+1,k), then
    /// moves the window by one slice.
    ///
    /// Candidates are the hosts that the finder offers, and the super points of the report before: under
    /// overload a host is caught when the finder sees it first, and stays as long as it counts. So a report
    /// depends on the recorders and on the report before.
    ///
    /// # Errors
    /// [`Error::LastSlice`], and what the device reports; the CPU reports none.
    pub fn close_slice(&mut self) -> Result<SliceReport, Error> {
        let start = Instant::now();
        let Self { params, backend, health, kept } = self;
        let mut backend = backend.exclusive_until(backend.slice().saturating_add(1))?;
        let mut report = close(params, &mut backend, (health, kept))?;
        drop(backend);
        report.stages.complete(start.elapsed());
        Ok(report)
    }

    /// Closes slices until `slice` is running, and hands every report to `on_report`.
    ///
    /// A long silence is not looped over: once a silent slice has no candidate no later
    /// one can have any, and after `window` silent slices all is forgotten. The slices
    /// from there on are skipped, with no report.
    ///
    /// What feeds ingest meanwhile is of the slice `slice`; `on_report` must not give a feed more
    /// than its capacity, which would wait for the end of this call.
    ///
    /// # Errors
    /// [`Error::SliceInPast`], and what the device or `on_report` reports.
    pub fn advance_to<E: From<Error>>(
        &mut self,
        slice: u64,
        mut on_report: impl FnMut(SliceReport) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_not_past(slice)?;
        let Self { params, backend, health, kept } = self;
        let mut backend = backend.exclusive_until(slice)?;
        while backend.slice() < slice {
            let report = close(params, &mut backend, (health, kept))?;
            let silent = report.candidates == 0 && report.health.overload.is_none();
            on_report(report)?;
            if silent {
                break;
            }
        }
        Ok(skip(params, &mut backend, slice)?)
    }

    /// Moves the window until `slice` is running, without any report, however far.
    ///
    /// # Errors
    /// [`Error::SliceInPast`] when `slice` has been closed already.
    pub fn skip_to(&mut self, slice: u64) -> Result<(), Error> {
        self.check_not_past(slice)?;
        skip(&self.params, &mut self.backend.exclusive_until(slice)?, slice)
    }

    fn check_not_past(&self, slice: u64) -> Result<(), Error> {
        let running = self.slice();
        if slice < running {
            return Err(Error::SliceInPast { running, asked: slice });
        }
        Ok(())
    }

    /// Estimates the number of distinct opposite hosts of `host` in the window that ends with the
    /// running slice.
    ///
    /// # Errors
    /// As [`cardinality_within`](Self::cardinality_within).
    pub fn cardinality(&self, host: IpAddr) -> Result<Estimate, Error> {
        self.cardinality_within(host, self.params.window())
    }

    /// Estimates the number of distinct opposite hosts of `host` in the last `window` slices, the
    /// running one included; `window` may be anything from 1 to the detector's own.
    ///
    /// Where ages count epochs of several slices (windows of more than 511), an epoch of which
    /// `window` holds a part counts pro rata, the running one too.
    ///
    /// In the paper's scheme the call reads the whole SLEA once, for the row setting factors of that
    /// window.
    ///
    /// # Errors
    /// [`Error::QueryWindow`], [`Error::Ip6InPaper`], and what the device reports.
    pub fn cardinality_within(&self, host: IpAddr, window: u32) -> Result<Estimate, Error> {
        Family::of_host(host).check(&self.params)?;
        let span = self.span(window)?;
        let (tallies, row_weights) =
            self.backend.settled()?.query(self.params.host_id(host), span)?;
        Ok(self.params.estimate(&tallies, span, &row_weights))
    }

    /// Returns some opposite hosts of `host` in the window that ends with the running slice, super point or
    /// not: up to 64, those of the most recent contacts first; none of an IPv6 host, and none in the paper's scheme.
    ///
    /// # Errors
    /// What the device reports; the CPU reports none.
    pub fn sample_peers(&self, host: IpAddr) -> Result<Vec<SamplePeer>, Error> {
        let span = self.params.span(self.slice(), self.params.window());
        let backend = self.backend.settled()?;
        let peers = sample_peers(&self.params, backend, &[host], (span, self.slice()))?;
        Ok(peers.into_iter().flatten().collect())
    }

    /// Returns how the detector fared in the last slice that closed.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
    }

    #[cfg(test)]
    pub(crate) fn backend_mut(&mut self) -> &mut LentBackend {
        &mut self.backend
    }

    /// The last `window` slices.
    fn span(&self, window: u32) -> Result<Span, Error> {
        let max = self.params.window();
        if !(1..=max).contains(&window) {
            return Err(Error::QueryWindow { window, max });
        }
        Ok(self.params.span(self.slice(), window))
    }

    /// The running slice: 0 at first, one more with every close.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.backend.slice()
    }

    /// The device that the detector runs on; never [`Device::Auto`].
    #[must_use]
    pub fn device(&self) -> Device {
        self.backend.shared().device()
    }

    /// The checked sizes of the detector.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Bytes of recorders, fixed at creation.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.params.recorder_bytes()
    }
}

/// Closes the `running` slice.
fn close(
    params: &Params,
    backend: &mut Exclusive<'_>,
    (health, kept): (&mut Health, &mut KeptHosts),
) -> Result<SliceReport, Error> {
    let running = backend.slice();
    let next = running.checked_add(1).ok_or(Error::LastSlice { running })?;
    let ages = params.ages_between(running, next);
    let start = Instant::now();
    let mut report = close::report(params, &mut **backend, kept.hosts(), (running, ages))?;
    report.stages.complete(start.elapsed());
    (report.stages.hand_in, report.stages.wait) = std::mem::take(&mut backend.delays);
    backend.set_slice(next);
    *health = report.health.clone();
    *kept = KeptHosts::of(&report.super_points, params);
    Ok(report)
}

/// Moves the window until `slice` is running.
fn skip(params: &Params, backend: &mut Exclusive<'_>, slice: u64) -> Result<(), Error> {
    let ages = params.ages_between(backend.slice(), slice);
    if ages != Ages::default() {
        backend.age(ages, None)?;
    }
    backend.set_slice(slice);
    Ok(())
}
