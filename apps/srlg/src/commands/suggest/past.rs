//! The largest counts of hosts over all stored hours.
//!
//! Invariant: at most 65,536 hosts remain after each pruning, which drops the smallest counts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};

use srlg_alerts::usual::{HOUR_MS, HourPeaks, WEEK};

/// Number of hosts that remain after pruning. Pruning starts at twice this number.
const HOSTS: usize = 1 << 16;

/// The last hour of the year 9999, the last one that can be formatted.
const MOST_HOUR: u64 = 70_389_527;

/// Number of hours in a day.
const DAY: u64 = 24;

/// Counts of one window, from all stored hours.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    /// Time with input in each hour, in milliseconds.
    hours: BTreeMap<u64, u64>,
    hosts: HashMap<IpAddr, HostPeak>,
}

/// Largest counts of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostPeak {
    pub(super) host: IpAddr,
    pub(super) most: u32,
    /// Hour of `most`.
    hour: u64,
    /// Largest count on any other day.
    other_days: u32,
    /// One bit for each day on which the host was recorded.
    days: u32,
}

impl Past {
    /// Adds an hour, of which several views may have counts.
    pub(super) fn add(&mut self, peaks: &HourPeaks) {
        let counted_ms = self.hours.entry(peaks.hour).or_default();
        *counted_ms = peaks.counted_ms.max(*counted_ms);
        for (host, most) in peaks.iter() {
            let new = HostPeak { host, most, hour: peaks.hour, other_days: 0, days: 0 };
            self.hosts.entry(host).or_insert(new).add(peaks.hour, most);
        }
        if self.hosts.len() >= 2 * HOSTS {
            let mut hosts = self.peaks();
            hosts.truncate(HOSTS);
            self.hosts = hosts.into_iter().map(|peak| (peak.host, peak)).collect();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hours.is_empty()
    }

    /// Returns the peaks of all hosts, the largest first.
    pub(super) fn peaks(&self) -> Vec<HostPeak> {
        let mut peaks: Vec<HostPeak> = self.hosts.values().copied().collect();
        peaks.sort_unstable_by_key(|peak| (Reverse(peak.most), peak.host));
        peaks
    }
}

/// Writes how sure suggestions from this past are.
impl fmt::Display for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.hours.values().map(|ms| *ms as f64 / HOUR_MS as f64).sum::<f64>();
        match hours {
            // An hour less than a day or a week allows for restarts.
            ..23.0 => write!(f, "unsure, from {hours:.1} h of data; let srlg run for a week"),
            ..167.0 => write!(
                f,
                "fairly sure, from {hours:.0} h of data; days of the week differ, so let srlg run for a week"
            ),
            _ => write!(f, "sure, from {:.1} weeks of data", hours / WEEK as f64),
        }
    }
}

impl HostPeak {
    fn add(&mut self, hour: u64, count: u32) {
        let day = hour / DAY;
        // Fewer than 32 days are stored.
        self.days |= 1 << (day % 32);
        if self.hour / DAY == day {
            (self.most, self.hour) = (self.most, self.hour).max((count, hour));
        } else if count > self.most {
            self.other_days = self.most;
            (self.most, self.hour) = (count, hour);
        } else {
            self.other_days = self.other_days.max(count);
        }
    }
}

impl fmt::Display for HostPeak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { most, hour, other_days, days, .. } = self;
        let time = UNIX_EPOCH + Duration::from_secs((*hour).min(MOST_HOUR) * 3_600);
        let time = humantime::format_rfc3339_seconds(time).to_string();
        // The date and the hour
        let time = time.get(..13).unwrap_or(&time).replace('T', " ");
        write!(f, "up to {most} peers on {time} h UTC")?;
        match days.count_ones() {
            1 => f.write_str(", on one day only"),
            days => write!(f, ", up to {other_days} on other days, recorded on {days} days"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(number).into()
    }

    fn past(counts: &[(u64, f64)]) -> Past {
        let mut past = Past::default();
        for (hour, count) in counts {
            let mut peaks = HourPeaks::new(*hour);
            peaks.counted_ms = HOUR_MS;
            peaks.add(host(1), *count);
            past.add(&peaks);
        }
        past
    }

    #[test]
    fn the_largest_count_of_other_days_tells_whether_a_peak_is_rare() {
        for hours in [[24, 30, 50, 75], [75, 50, 30, 24], [50, 24, 75, 30]] {
            let count = |hour| match hour {
                24 => 100.0,
                30 => 900.0,
                50 => 300.0,
                _ => 200.0,
            };
            let peak = past(&hours.map(|hour| (hour, count(hour)))).peaks()[0];
            let found = (peak.most, peak.hour, peak.other_days, peak.days.count_ones());
            assert_eq!(found, (900, 30, 300, 3));
        }
        let peak = past(&[(24, 5.0), (25, 9.0), (47, 9.0)]).peaks()[0];
        assert_eq!((peak.most, peak.other_days, peak.days.count_ones()), (9, 0, 1));
    }

    #[test]
    fn memory_is_bounded_and_the_largest_stay() {
        let mut past = Past::default();
        for hour in 0..20 {
            let mut peaks = HourPeaks::new(hour);
            (0..16_000).for_each(|number| {
                let number = hour as u32 * 16_000 + number;
                peaks.add(host(number), f64::from(number));
            });
            past.add(&peaks);
            assert!(past.hosts.len() < 2 * HOSTS + 16_000);
        }
        assert_eq!(past.peaks()[0].host, host(20 * 16_000 - 1));
    }
}
