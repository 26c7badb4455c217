//! [`SlidingDetector`]: pairs in, super points out, slice by slice.

mod closing;
mod ingesting;
mod merging;

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroUsize;

use srlg_core::{Config, Estimate, Params, Span};

use crate::backend::{Backend, HostAnswers};
use crate::device::Device;
use crate::error::Error;
use crate::ingest::feed::lent::LentBackend;
use crate::ingest::pairs::Family;
use crate::kept::KeptHosts;
use crate::open;
use crate::peers::sample_peers;
use crate::report::{Health, SamplePeer, SliceReport};

pub use closing::Closing;
use closing::{ExclusiveDetector, LastReport};

/// A detector of the hosts that are in contact with at least θ distinct others within the last
/// k slices, which also estimates with how many.
///
/// Memory is fixed at creation: [`memory_bytes`](Self::memory_bytes).
///
/// ```
/// # use srlg_host as srlg;
/// use std::net::{IpAddr, Ipv6Addr};
///
/// use srlg::{Config, Device, IpPair, SlidingDetector};
/// use srlg::ingest::Ip6Pair;
///
/// let config = Config { threshold: 1024, window: 300, ..Config::default() };
/// let mut detector = SlidingDetector::new(config, Device::Auto)?;
/// // IPv4: 10.0.0.1 and 5000 peers.
/// let pairs: Vec<IpPair> = (0..5000).map(|opposite| IpPair { inside: 0x0a00_0001, opposite }).collect();
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
    last: LastReport,
}

impl fmt::Debug for SlidingDetector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the params, which know the seed: it may be a secret.
        let mut fields = f.debug_struct("SlidingDetector");
        fields.field("slice", &self.slice()).field("device", &self.device());
        fields.field("memory_bytes", &self.memory_bytes()).finish_non_exhaustive()
    }
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
        let last = LastReport::untouched(&params, KeptHosts::default());
        Self { params, backend: LentBackend::new(backend, params), last }
    }

    /// Sets the maximum number of threads that a close uses to `threads`, 1 at first. Fewer are used if the system
    /// refuses to start them. Reports are the same. On a GPU the number changes nothing.
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
        self.begin_close()?.end()
    }

    /// Begins to close the running slice: finds the super points of the window, which can be asked until
    /// [`Closing::end`] moves it.
    ///
    /// # Errors
    /// What the device reports; the CPU reports none.
    pub fn begin_close(&mut self) -> Result<Closing<'_>, Error> {
        Closing::new(self.exclusive_until(self.slice().saturating_add(1))?)
    }

    /// Closes slices until `slice` is running, and hands every report to `on_report`.
    ///
    /// A long silence is not looped over: once a silent slice has no candidate no later
    /// one can have any, and after `window` silent slices all is forgotten. The slices
    /// from there on are skipped, with no report. Where a report leads to questions, loop over
    /// [`begin_close`](Self::begin_close), and [`skip_to`](Self::skip_to) once a report
    /// [is silent](SliceReport::is_silent).
    ///
    /// What feeds ingest meanwhile is of the slice `slice`; `on_report` must not give a feed more
    /// than its capacity, which would wait for the end of this call. If `on_report` panics, the slices whose reports it got
    /// are closed, and feeds ingest into the next one.
    ///
    /// # Errors
    /// [`Error::SliceInPast`], and what the device or `on_report` reports.
    pub fn advance_to<E: From<Error>>(
        &mut self,
        slice: u64,
        mut on_report: impl FnMut(SliceReport) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_not_past(slice)?;
        let mut detector = self.exclusive_until(slice)?;
        while detector.slice() < slice {
            let report;
            (report, detector) = Closing::new(detector)?.finish()?;
            let is_silent = report.is_silent();
            on_report(report)?;
            if is_silent {
                break;
            }
        }
        Ok(detector.skip_to(slice)?)
    }

    /// Moves the window until `slice` is running, without any report, however far.
    ///
    /// # Errors
    /// [`Error::SliceInPast`] when `slice` has been closed already.
    pub fn skip_to(&mut self, slice: u64) -> Result<(), Error> {
        self.check_not_past(slice)?;
        self.exclusive_until(slice)?.skip_to(slice)
    }

    /// The detector while no feed uses it, to let time pass until `next` runs.
    fn exclusive_until(&mut self, next: u64) -> Result<ExclusiveDetector<'_>, Error> {
        let Self { params, backend, last } = self;
        Ok(ExclusiveDetector { params, backend: backend.exclusive_until(next)?, last })
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
    /// running one included; `window` may be anything from 1 to the detector's own. After a close the running slice is
    /// empty: ask for one slice more, or while the slice is closed, by [`Closing::cardinality_within`].
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
        estimate_within(&self.params, self.backend.settled()?, self.slice(), host, window)
    }

    /// Estimates the same of each of `hosts`, in their order. Of many hosts on the CPU this takes a fraction of the time that
    /// as many calls of [`cardinality_within`](Self::cardinality_within) take.
    ///
    /// # Errors
    /// As [`cardinality_within`](Self::cardinality_within).
    pub fn cardinalities_within(
        &mut self,
        hosts: &[IpAddr],
        window: u32,
    ) -> Result<Vec<Estimate>, Error> {
        let slice = self.slice();
        let mut backend = self.backend.exclusive()?;
        estimates_within(&self.params, &mut *backend, slice, hosts, window)
    }

    /// Returns some opposite hosts of `host` in the window that ends with the running slice, super point or
    /// not: up to 64, those of the most recent contacts first; none of an IPv6 host, and none in the paper's scheme.
    ///
    /// # Errors
    /// What the device reports; the CPU reports none.
    pub fn sample_peers(&self, host: IpAddr) -> Result<Vec<SamplePeer>, Error> {
        Ok(sample_peers(&self.params, self.backend.settled()?, &[host], self.slice())?.concat())
    }

    /// Returns how the detector fared in the last slice that closed.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.last.health
    }

    #[cfg(test)]
    pub(crate) fn backend_mut(&mut self) -> &mut LentBackend {
        &mut self.backend
    }

    /// Returns the running slice: 0 at first, one more with every close.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.backend.slice()
    }

    /// Returns the device that the detector runs on; never [`Device::Auto`].
    #[must_use]
    pub fn device(&self) -> Device {
        self.backend.shared().device()
    }

    /// Returns the checked sizes of the detector.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the number of bytes of recorders, fixed at creation.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.params.recorder_bytes()
    }
}

/// The last `window` slices, where `slice` is running.
fn span(params: &Params, slice: u64, window: u32) -> Result<Span, Error> {
    let max = params.window();
    if !(1..=max).contains(&window) {
        return Err(Error::QueryWindow { window, max });
    }
    Ok(params.span(slice, window))
}

/// Estimates the cardinality of each of `hosts` in the last `window` slices, the running `slice` included.
fn estimates_within(
    params: &Params,
    backend: &mut dyn Backend,
    slice: u64,
    hosts: &[IpAddr],
    window: u32,
) -> Result<Vec<Estimate>, Error> {
    hosts.iter().try_for_each(|host| Family::of_host(*host).check(params))?;
    let span = span(params, slice, window)?;
    let ids: Vec<_> = hosts.iter().map(|&host| params.host_id(host)).collect();
    let HostAnswers { tallies, row_weights } = backend.query_all(&ids, span)?;
    let estimate = |tallies: &Vec<_>| params.estimate(tallies, span, &row_weights);
    Ok(tallies.iter().map(estimate).collect())
}

/// Estimates the cardinality of `host` in the last `window` slices, the running `slice` included.
fn estimate_within(
    params: &Params,
    backend: &dyn Backend,
    slice: u64,
    host: IpAddr,
    window: u32,
) -> Result<Estimate, Error> {
    Family::of_host(host).check(params)?;
    let span = span(params, slice, window)?;
    let (tallies, row_weights) = backend.query(params.host_id(host), span)?;
    Ok(params.estimate(&tallies, span, &row_weights))
}
