//! Usual counts: the largest peer counts of hosts by hour of the week.
//!
//! The largest count of each reported host is kept for each view, window and hour. A count is usual at an hour of the week
//! if it was reached in this hour, the one before or the one after it, in one of the last four weeks. The neighbours
//! are included because clocks change twice a year.
//!
//! Hours are counted from the Unix epoch, in UTC. Counts of hosts with an alert are included only if the host is busy
//! and not attacked. The counts of an attack before its alert are dropped with all others of the hour.
//!
//! Invariant: at most 16,384 hosts of an hour are stored, those with the largest counts.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use srlg_input::ViewOptions;
use tracing::warn;

use crate::AlertId;

/// Length of an hour, in milliseconds.
pub const HOUR_MS: u64 = 3_600_000;

/// Number of hours for which counts are stored: 30 days.
pub const STORED_HOURS: u64 = 30 * 24;

/// Number of hours in a week.
pub const WEEK: u64 = 7 * 24;

/// Number of past weeks that determine what is usual.
const WEEKS: u64 = 4;

/// Maximum number of hours that wait for the store.
const MOST_UNSTORED: usize = 24;

/// Number of hosts of an hour that are stored. While the hour runs, twice as many are kept in memory.
const HOSTS: usize = 16_384;

/// Ratio of a count to the usual one above which a busy host is probably attacked.
const UNUSUAL: f64 = 3.0;

/// Number of weeks without which the largest count says little: a holiday may be among them.
const SURE: u64 = 2;

/// Largest count of a host at one hour of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usual {
    /// Largest count, rounded up.
    pub most: u32,
    /// Number of past weeks in which this hour was observed; 1 to 4.
    pub weeks: u64,
}

impl Usual {
    /// Returns whether `count` is so far above the usual one that a busy host is probably attacked. One week is not
    /// enough to tell.
    #[must_use]
    pub fn is_exceeded_by(&self, count: f64) -> bool {
        self.weeks >= SURE && count > UNUSUAL * f64::from(self.most)
    }
}

/// Largest counts of the hosts of a view within one window, during one hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HourPeaks {
    /// Number of the hour.
    pub hour: u64,
    /// Total length of the slices that had input, in milliseconds.
    pub counted_ms: u64,
    peaks: HashMap<IpAddr, u32>,
}

impl HourPeaks {
    /// Creates the peaks of `hour`, without any count.
    #[must_use]
    pub fn new(hour: u64) -> Self {
        Self { hour, ..Self::default() }
    }

    /// Adds a count of `host`.
    pub fn add(&mut self, host: IpAddr, count: f64) {
        // Estimates are positive and less than the number of addresses that a detector tells apart.
        self.raise(host, count.ceil() as u32);
    }

    fn raise(&mut self, host: IpAddr, count: u32) {
        let peak = self.peaks.entry(host).or_default();
        *peak = count.max(*peak);
        if self.peaks.len() >= 2 * HOSTS {
            self.prune();
        }
    }

    fn merge(&mut self, other: &Self) {
        self.counted_ms = self.counted_ms.saturating_add(other.counted_ms);
        other.iter().for_each(|(host, peak)| self.raise(host, peak));
    }

    /// Returns the hosts with their largest counts, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (IpAddr, u32)> {
        self.peaks.iter().map(|(host, peak)| (*host, *peak))
    }

    /// Returns whether at least half of the hour had input.
    #[must_use]
    pub const fn is_observed(&self) -> bool {
        self.counted_ms >= HOUR_MS / 2
    }

    /// Drops the smallest counts if there are more than [`HOSTS`] hosts. Of equal counts, those of the lowest addresses
    /// stay.
    fn prune(&mut self) {
        if self.peaks.len() > HOSTS {
            let mut peaks: Vec<(IpAddr, u32)> = self.peaks.drain().collect();
            peaks.sort_unstable_by_key(|(host, peak)| (std::cmp::Reverse(*peak), *host));
            peaks.truncate(HOSTS);
            self.peaks.extend(peaks);
        }
    }

    /// Returns the hosts and their largest counts in the form in which they are stored: for each host a byte 4 or 6, the
    /// address, and the count, with the most significant byte first.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(9 * self.peaks.len());
        for (host, peak) in &self.peaks {
            match host {
                IpAddr::V4(host) => {
                    bytes.push(4);
                    bytes.extend(host.octets());
                }
                IpAddr::V6(host) => {
                    bytes.push(6);
                    bytes.extend(host.octets());
                }
            }
            bytes.extend(peak.to_be_bytes());
        }
        bytes
    }

    /// Returns the peaks of `hour` from [`to_bytes`](Self::to_bytes).
    pub fn from_bytes(hour: u64, counted_ms: u64, mut bytes: &[u8]) -> Result<Self> {
        let mut peaks = HashMap::with_capacity(bytes.len() / 9);
        while let Some((version, rest)) = bytes.split_first() {
            let (host, rest) = match version {
                4 => address::<4>(rest).map(|(host, rest)| (Ipv4Addr::from(host).into(), rest)),
                6 => address::<16>(rest).map(|(host, rest)| (Ipv6Addr::from(host).into(), rest)),
                other => bail!("a host has the unknown IP version {other}"),
            }
            .context("a host is truncated")?;
            let (peak, rest) = address::<4>(rest).context("a count is truncated")?;
            peaks.insert(host, u32::from_be_bytes(peak));
            bytes = rest;
        }
        Ok(Self { hour, counted_ms, peaks })
    }
}

fn address<const N: usize>(bytes: &[u8]) -> Option<([u8; N], &[u8])> {
    bytes.split_first_chunk().map(|(address, rest)| (*address, rest))
}

/// A window of a view whose hours are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HourSeries {
    /// Name of the view.
    pub view: String,
    /// Hash of what the view counts. Counts of anything else are not comparable.
    pub counted: AlertId,
    /// Length of the window, in milliseconds.
    pub window_ms: u64,
}

impl HourSeries {
    /// Returns the series of a window of `window_ms` milliseconds of the view `name`. The inside networks do not matter,
    /// because more of them leave the counts of a host as they are.
    #[must_use]
    pub fn new(name: &str, view: &ViewOptions, window_ms: u64) -> Self {
        let ViewOptions { measure, role, host, peer, only, prefixes, inside: _ } = view;
        let counted = format!("{:?}", (measure, role, host, peer, only, prefixes));
        Self { view: name.to_owned(), counted: AlertId::of(&[&counted], 0), window_ms }
    }
}

/// Formats a series as its name in the database.
impl fmt::Display for HourSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { view, counted, window_ms } = self;
        write!(f, "{view}/{counted}/{window_ms}")
    }
}

/// A store of hours.
pub trait HourStore: Send + Sync {
    /// Returns the stored hours of `series` within `hours`, in ascending order.
    fn hours(&self, series: &HourSeries, hours: RangeInclusive<u64>) -> Result<Vec<HourPeaks>>;

    /// Stores `peaks`, in place of the stored counts of this hour. Hours of the series that are more than
    /// [`STORED_HOURS`] older are dropped. An implementation must not wait for other programs.
    fn keep(&self, series: &HourSeries, peaks: &HourPeaks) -> Result<()>;
}

/// The usual counts of the hosts of a view within one window, and the counts of the running hour.
pub(crate) struct UsualCounts {
    series: HourSeries,
    store: Arc<dyn HourStore>,
    running: HourPeaks,
    /// Counts of the hour before. An attack that began in it may be noticed later.
    former: HourPeaks,
    /// Whether the hour before is stored as it is.
    is_former_stored: bool,
    /// Earlier hours that could not be stored.
    unstored: VecDeque<HourPeaks>,
    /// Largest counts at this hour of the week in the past weeks.
    past: HourPeaks,
    /// Number of past weeks in which this hour was observed.
    weeks: u64,
}

impl UsualCounts {
    pub(crate) fn new(series: HourSeries, store: Arc<dyn HourStore>) -> Self {
        let [running, former, past] = [(); 3].map(|()| HourPeaks::default());
        Self {
            series,
            store,
            running,
            former,
            is_former_stored: false,
            unstored: VecDeque::new(),
            past,
            weeks: 0,
        }
    }

    /// Starts `hour`, unless it is running: stores the former hours, and reads what is usual at this one. If the store
    /// fails, nothing is usual in this hour. Hours that cannot be stored wait for the next call of
    /// [`keep`](Self::keep), but at most a day.
    pub(crate) fn begin(&mut self, hour: u64) {
        if self.running.hour == hour {
            return;
        }
        let kept = self.keep();
        let running = std::mem::replace(&mut self.running, HourPeaks::new(hour));
        let former = std::mem::replace(&mut self.former, running);
        self.is_former_stored = kept.is_ok();
        if kept.is_err() && former.counted_ms > 0 {
            self.unstored.push_back(former);
            self.unstored.drain(..self.unstored.len().saturating_sub(MOST_UNSTORED));
        }
        let read = self.read();
        if read.is_err() {
            (self.past, self.weeks) = Default::default();
        }
        for error in [kept, read].into_iter().filter_map(Result::err) {
            let HourSeries { view, .. } = &self.series;
            warn!("view {view}: cannot store or read the usual peer counts: {error:#}");
        }
    }

    fn read(&mut self) -> Result<()> {
        (self.past, self.weeks) = Default::default();
        let (store, hour) = (&self.store, self.running.hour);
        for former in store.hours(&self.series, hour..=hour)? {
            self.running.merge(&former);
        }
        for week in 1..=WEEKS {
            let Some(then) = hour.checked_sub(week * WEEK) else { break };
            let hours = store.hours(&self.series, then.saturating_sub(1)..=then + 1)?;
            self.weeks += u64::from(hours.iter().any(|it| it.hour == then && it.is_observed()));
            hours.iter().for_each(|hour| self.past.merge(hour));
        }
        self.past.prune();
        Ok(())
    }

    /// Stores the counts of the running hour, of the hour before, and of hours that could not be stored.
    pub(crate) fn keep(&mut self) -> Result<()> {
        let store = &self.store;
        while let Some(hour) = self.unstored.front() {
            store.keep(&self.series, hour)?;
            self.unstored.pop_front();
        }
        for (hour, is_stored) in
            [(&mut self.former, self.is_former_stored), (&mut self.running, false)]
        {
            if hour.counted_ms > 0 && !is_stored {
                hour.prune();
                store.keep(&self.series, hour)?;
            }
        }
        self.is_former_stored = true;
        Ok(())
    }

    /// Adds the length of a slice that had input.
    pub(crate) fn add_slice(&mut self, counted_ms: u64) {
        self.running.counted_ms += counted_ms;
    }

    /// Adds a count of `host`, which is not attacked. An unusual count only counts as the largest one that is not
    /// unusual, so a single flood changes little, and a host that has grown is usual after some weeks.
    pub(crate) fn add(&mut self, host: IpAddr, count: f64) {
        let most = match self.of(host) {
            Some(usual) if usual.is_exceeded_by(count) => UNUSUAL * f64::from(usual.most),
            _ => count,
        };
        self.running.add(host, most);
    }

    /// Forgets the recent counts of `host`, which is attacked or attacks others at `now_ms`. They were part of the attack
    /// before it was noticed.
    pub(crate) fn forget(&mut self, host: IpAddr, now_ms: u64) {
        self.running.peaks.remove(&host);
        if now_ms.saturating_sub(self.running.hour * HOUR_MS) < 2 * self.series.window_ms {
            self.is_former_stored &= self.former.peaks.remove(&host).is_none();
        }
    }

    /// Returns what is usual for `host` at the running hour, if this is known.
    pub(crate) fn of(&self, host: IpAddr) -> Option<Usual> {
        let most = *self.past.peaks.get(&host)?;
        (self.weeks > 0).then_some(Usual { most, weeks: self.weeks })
    }
}

#[cfg(test)]
pub(crate) mod tests;
