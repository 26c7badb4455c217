//! [`SlidingDetector`]: the detector of super points.

mod closing;
mod ingesting;
mod merging;
mod sparse;

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroUsize;

use srlg_core::{Config, Estimate, Params, Span};

use crate::backend::{Backend, HostAnswers};
use crate::device::Device;
use crate::error::Error;
use crate::ingest::feed::lent::LentBackend;
use crate::ingest::pairs::Family;
use crate::open;
use crate::peers::sample_peers;
use crate::report::{Health, SamplePeer, SliceReport};
use crate::shares::Shares;

pub use closing::Closing;
use closing::{ExclusiveDetector, LastReport};

/// A detector of super points: hosts in contact with at least θ distinct other hosts (peers) within the last k slices.
///
/// It also estimates the number of distinct peers of any host. Memory use is fixed at creation (see
/// [`memory_bytes`](Self::memory_bytes)).
///
/// ```
/// # use srlg_host as srlg;
/// use std::net::{IpAddr, Ipv6Addr};
///
/// use srlg::{Config, Device, IpPair, Ipv4Pair, SlidingDetector};
///
/// let config = Config { threshold: 1024, window: 300, ..Config::default() };
/// let mut detector = SlidingDetector::new(config, Device::Auto)?;
/// // IPv4: 10.0.0.1 and 5000 peers.
/// let pairs: Vec<Ipv4Pair> = (0..5000).map(|peer| Ipv4Pair { inside: 0x0a00_0001, peer }).collect();
/// detector.ingest(&pairs)?; // takes &self, so any number of threads may call it
/// // IPv6: 2001:db8::1 and 4000 peers.
/// let host: IpAddr = "2001:db8::1".parse()?;
/// let peer = |number: u16| Ipv6Addr::new(0x2001, 0xdb8, 1, number, 0, 0, 0, 1).into();
/// let pairs: Vec<IpPair> = (0..4000).map(|number| IpPair::new(host, peer(number))).collect();
/// detector.ingest(&pairs)?;
/// let report = detector.close_slice()?;
/// assert_eq!(report.super_points[0].host.to_string(), "10.0.0.1");
/// assert_eq!(report.super_points[1].host, host);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SlidingDetector {
    params: Params,
    backend: LentBackend,
    last: LastReport,
    candidate_limit: u32,
    shares: Shares,
    /// Maximum share that a close chooses, or `None` if closes do not change the share.
    most_share: Option<u32>,
}

impl fmt::Debug for SlidingDetector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The params are omitted, because they contain the seed, which may be a secret.
        let mut fields = f.debug_struct("SlidingDetector");
        fields.field("slice", &self.slice()).field("device", &self.device());
        fields.field("memory_bytes", &self.memory_bytes()).finish_non_exhaustive()
    }
}

impl SlidingDetector {
    /// Creates a detector with the sizes of `config` on `device`. The running slice is 0.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if `config` breaks a rule, [`Error::OutOfMemory`] if the recorders do not fit into
    /// memory, or another error if a GPU cannot be used.
    pub fn new(config: Config, device: Device) -> Result<Self, Error> {
        let params = config.validate()?;
        Ok(Self::with_backend(params, open::backend(device, params)?))
    }

    pub(crate) fn with_backend(params: Params, backend: Box<dyn Backend>) -> Self {
        let share = params.counter_sizes().share;
        let last = LastReport::untouched(&params, Vec::new(), share);
        let (backend, shares) = (LentBackend::new(backend, params), Shares::new(share));
        let candidate_limit = params.candidate_limit();
        Self { params, backend, last, candidate_limit, shares, most_share: None }
    }

    /// Sets the maximum number of threads that a close uses. The default is 1.
    ///
    /// The system may refuse to start some of the threads, in which case fewer are used. Reports do not depend on the
    /// number of threads. On a GPU, this setting has no effect.
    ///
    /// # Errors
    /// Returns an error only if a GPU fails.
    pub fn set_close_threads(&mut self, threads: NonZeroUsize) -> Result<(), Error> {
        self.backend.exclusive()?.set_threads(threads);
        Ok(())
    }

    /// Sets the candidate limit of the next closes to `limit`, but at least 1 and at most
    /// [`Config::candidate_limit`], which is the default.
    ///
    /// A close examines at most `limit` hosts that the finder returns, those with the most cells, and at most `limit`
    /// super points of the previous report, those with the most peers. A lower limit makes closes faster. If it
    /// excludes hosts, reports contain [`Overload::Raised`](crate::report::Overload) and a higher probability of a
    /// miss. Snapshots and deltas do not contain the limit.
    pub fn set_candidate_limit(&mut self, limit: u32) {
        self.candidate_limit = limit.clamp(1, self.params.candidate_limit());
    }

    /// Counts one pair in `share` from now on, instead of one in [`Config::share`].
    ///
    /// `share` must satisfy the same rules. Snapshots and deltas contain the shares of the window, and detectors with
    /// different shares can be merged. Estimates have the standard error of the largest share in the window, which is
    /// [`Health::share`].
    ///
    /// # Errors
    /// Returns [`Error::Config`] if `share` is not valid, or another error if a GPU fails.
    pub fn set_share(&mut self, share: u32) -> Result<(), Error> {
        self.params.with_shares(share, share)?;
        let slice = self.slice();
        self.exclusive_until(slice)?
            .change_shares(|shares, params| shares.set(share, slice, params))
    }

    /// Returns the number of pairs of which one is counted.
    #[must_use]
    pub fn share(&self) -> u32 {
        self.shares.share()
    }

    /// Lets closes change the [share](Self::set_share), up to one pair in `most`. By default, closes do not change it.
    ///
    /// If too many pairs make the counter [crowded](crate::report::Overload::Crowded), closes double the share until
    /// the slices since the last change have a load of at most 2. If the load is below 1.375, a close halves the share,
    /// but not below [`Config::share`], and only once per window or per 60 slices, whichever is longer.
    ///
    /// Do not call this for a detector that merges the states of others, because its share does not reduce the load of
    /// their touches.
    pub fn set_most_share(&mut self, most: u32) {
        self.most_share = Some(most);
    }

    /// Closes the running slice, reports the super points of the window that ends with it, and moves the window by one
    /// slice.
    ///
    /// Candidates are the hosts that the finder returns, and the super points of the previous report and of merged
    /// snapshots. Under overload, a host that was found once therefore stays a candidate as long as it reaches the
    /// threshold. A report thus depends on both the recorders and the previous report.
    ///
    /// # Errors
    /// Returns [`Error::LastSlice`] if the running slice has the highest possible number, or another error if a GPU
    /// fails.
    pub fn close_slice(&mut self) -> Result<SliceReport, Error> {
        self.begin_close()?.end()
    }

    /// Returns the report that [`close_slice`](Self::close_slice) would return now, without closing the slice.
    ///
    /// The call changes neither the state nor later reports, and takes about as long as a close.
    ///
    /// ```
    /// # use srlg_host as srlg;
    /// # use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
    /// let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
    /// detector.ingest(&(0..5000).map(|peer| Ipv4Pair { inside: 7, peer }).collect::<Vec<_>>())?;
    /// let report = detector.report()?;
    /// assert_eq!((detector.slice(), report), (0, detector.close_slice()?));
    /// # Ok::<(), srlg::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error only if a GPU fails, or if a [sparse](Self::sparse) detector cannot allocate its recorders.
    pub fn report(&mut self) -> Result<SliceReport, Error> {
        Closing::new(self.exclusive_until(self.slice())?)?.report()
    }

    /// Starts to close the running slice and finds the super points of the window that ends with it.
    ///
    /// The window can be queried until [`Closing::end`] moves it.
    ///
    /// # Errors
    /// Returns an error only if a GPU fails.
    pub fn begin_close(&mut self) -> Result<Closing<'_>, Error> {
        Closing::new(self.exclusive_until(self.slice().saturating_add(1))?)
    }

    /// Closes slices until `slice` is running and passes every report to `on_report`.
    ///
    /// After a [silent](SliceReport::is_silent) slice, the remaining slices are skipped without reports, because they
    /// cannot have a super point without new pairs. To query the window of each report, call
    /// [`begin_close`](Self::begin_close) in a loop, and [`skip_to`](Self::skip_to) after a silent report.
    ///
    /// Pairs that feeds ingest during the call belong to the slice `slice`. If `on_report` passes a feed more pairs
    /// than its capacity, the feed and this call wait for each other forever. If `on_report` panics, the slices whose
    /// reports it received stay closed, and feeds ingest into the following slice.
    ///
    /// # Errors
    /// Returns [`Error::SliceInPast`] if `slice` is already closed, an error of `on_report`, or an error if a GPU
    /// fails.
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

    /// Moves the window until `slice` is running, without any reports.
    ///
    /// # Errors
    /// Returns [`Error::SliceInPast`] if `slice` is already closed, or another error if a GPU fails.
    pub fn skip_to(&mut self, slice: u64) -> Result<(), Error> {
        self.check_not_past(slice)?;
        self.exclusive_until(slice)?.skip_to(slice)
    }

    /// Returns the detector for exclusive use. Pairs that feeds ingest meanwhile belong to the slice `next`.
    fn exclusive_until(&mut self, next: u64) -> Result<ExclusiveDetector<'_>, Error> {
        let Self { params, backend, last, candidate_limit, shares, most_share } = self;
        let (backend, candidate_limit) = (backend.exclusive_until(next)?, *candidate_limit);
        let most_share = *most_share;
        Ok(ExclusiveDetector { params, backend, last, candidate_limit, shares, most_share })
    }

    fn check_not_past(&self, slice: u64) -> Result<(), Error> {
        let running = self.slice();
        if slice < running {
            return Err(Error::SliceInPast { running, asked: slice });
        }
        Ok(())
    }

    /// Estimates the number of distinct peers of `host` in the window that ends with the running slice.
    ///
    /// # Errors
    /// Returns the errors of [`cardinality_within`](Self::cardinality_within).
    pub fn cardinality(&self, host: IpAddr) -> Result<Estimate, Error> {
        self.cardinality_within(host, self.params.window())
    }

    /// Estimates the number of distinct peers of `host` in the last `window` slices, including the running one.
    ///
    /// `window` must be between 1 and the detector's own window. After a close, the running slice is empty. To cover
    /// the same slices as the report, use [`Closing::cardinality_within`] during the close. If `window` is shorter than
    /// the detector's own window, you can add one slice to it instead.
    ///
    /// If the detector's own window has more than 511 slices (with 64 tags, the default), ages are counted in epochs of
    /// several slices. If only part of an epoch is within `window`, the contacts of this epoch count in proportion to
    /// that part. This also applies to the running epoch. The standard error holds only if contacts are spread evenly
    /// over an epoch. A burst, or contacts at regular times, may be far outside the interval.
    ///
    /// In the paper's scheme, the call reads the whole SLEA once to compute the row setting factors of `window`.
    ///
    /// # Errors
    /// Returns [`Error::QueryWindow`] if `window` is out of range. Returns [`Error::Ipv6InPaper`] for an IPv6 host in
    /// the paper's scheme. Returns another error if a GPU fails.
    pub fn cardinality_within(&self, host: IpAddr, window: u32) -> Result<Estimate, Error> {
        estimate_within(&self.params, self.backend.settled()?, self.slice(), host, window)
    }

    /// Estimates the number of distinct peers of each of `hosts` in the last `window` slices, including the running
    /// one. The estimates are returned in the order of `hosts`.
    ///
    /// For many hosts on the CPU, this is much faster than a call to [`cardinality_within`](Self::cardinality_within)
    /// for each host.
    ///
    /// # Errors
    /// Returns the errors of [`cardinality_within`](Self::cardinality_within).
    pub fn cardinalities_within(
        &mut self,
        hosts: &[IpAddr],
        window: u32,
    ) -> Result<Vec<Estimate>, Error> {
        let slice = self.slice();
        let mut backend = self.backend.exclusive()?;
        estimates_within(&self.params, &mut *backend, slice, hosts, window)
    }

    /// Returns up to 64 sampled peers of `host` in the window that ends with the running slice. The most recently
    /// contacted peer comes first.
    ///
    /// The host need not be a super point. The result is empty for an IPv6 host and in the paper's scheme.
    ///
    /// # Errors
    /// Returns an error only if a GPU fails.
    pub fn sample_peers(&self, host: IpAddr) -> Result<Vec<SamplePeer>, Error> {
        Ok(sample_peers(&self.params, self.backend.settled()?, &[host], self.slice())?.concat())
    }

    /// Returns the health of the detector in the last slice that closed.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.last.health
    }

    /// Returns whether the next close has candidates that the finder need not return.
    pub(crate) fn has_kept_hosts(&self) -> bool {
        !self.last.kept.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn backend_mut(&mut self) -> &mut LentBackend {
        &mut self.backend
    }

    /// Returns the number of the running slice. It is 0 in a new detector, and each close increases it by one.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.backend.slice()
    }

    /// Returns the device on which the detector runs, which is never [`Device::Auto`].
    #[must_use]
    pub fn device(&self) -> Device {
        self.backend.shared().device()
    }

    /// Returns the checked sizes of the detector.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the size of the recorders in memory, in bytes. The size is fixed at creation, unless the detector is
    /// [sparse](Self::sparse). Until a sparse detector has recorders, this is the size of its list.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.backend.shared().memory_bytes()
    }
}

/// Returns the span of the last `window` slices up to the running `slice`.
fn span(params: &Params, slice: u64, window: u32) -> Result<Span, Error> {
    let max = params.window();
    if !(1..=max).contains(&window) {
        return Err(Error::QueryWindow { window, max });
    }
    Ok(params.span(slice, window))
}

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
