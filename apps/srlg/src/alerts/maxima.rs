//! The largest counts of hosts, of which thresholds are made.
//!
//! Shape: the largest count of each host that was reported, by view and window, since the beginning of a day or since the
//! monitor started; the latest whole day is kept beside.
//! Invariant: at most 65,536 hosts of a view and window: beyond, those with the least counts are left out.

use std::collections::HashMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Hosts that are remembered, twice as many between two times that the least are left out.
const HOSTS: usize = 1 << 16;

/// How long counts are collected.
const DAY_MS: u64 = 86_400_000;

/// The largest counts of hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Maxima {
    /// When the counts of today begin, milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// When the last count was taken.
    pub until_ms: u64,
    today: HashMap<IpAddr, f64>,
    yesterday: HashMap<IpAddr, f64>,
}

impl Maxima {
    /// Takes the count of `host` in a slice that ended at `now_ms`.
    pub(crate) fn take(&mut self, host: IpAddr, cardinality: f64, now_ms: u64) {
        let most = self.today.entry(host).or_insert(0.0);
        *most = most.max(cardinality);
        self.until_ms = now_ms;
        if self.today.len() >= 2 * HOSTS {
            let mut counts: Vec<(IpAddr, f64)> = self.today.drain().collect();
            counts.sort_by(|a, b| b.1.total_cmp(&a.1));
            self.today = counts.into_iter().take(HOSTS).collect();
        }
    }

    /// Lets time pass until `now_ms`: after a day another begins.
    pub(crate) fn pass(&mut self, now_ms: u64) {
        if self.since_ms == 0 {
            self.since_ms = now_ms;
        } else if now_ms.saturating_sub(self.since_ms) >= DAY_MS {
            self.since_ms = now_ms;
            self.yesterday = std::mem::take(&mut self.today);
        }
        self.until_ms = now_ms;
    }

    /// Returns the largest count of each host, of today and of the day before.
    #[must_use]
    pub(crate) fn counts(&self) -> Vec<(IpAddr, f64)> {
        let mut counts = self.yesterday.clone();
        for (host, count) in &self.today {
            let most = counts.entry(*host).or_insert(0.0);
            *most = most.max(*count);
        }
        counts.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{HOSTS, Maxima};
    use std::net::{IpAddr, Ipv4Addr};

    fn host(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn the_largest_counts_of_two_days_are_kept() {
        let mut maxima = Maxima::default();
        let day = 86_400_000;
        for (now, count) in [(5, 10.0), (6, 30.0), (7, 20.0), (day + 5, 7.0), (2 * day + 5, 8.0)] {
            maxima.pass(now);
            maxima.take(host(1), count, now);
            if now == day + 5 {
                assert_eq!(maxima.counts(), [(host(1), 30.0)]);
            }
        }
        assert_eq!(maxima.counts(), [(host(1), 8.0)]);
    }

    #[test]
    fn memory_is_bounded_and_the_largest_stay() {
        let mut maxima = Maxima::default();
        for number in 0..10 * HOSTS as u32 {
            maxima.take(host(number), f64::from(number % 1_000_003), 1);
            assert!(maxima.today.len() <= 2 * HOSTS);
        }
        let last = host(10 * HOSTS as u32 - 1);
        assert!(maxima.counts().iter().any(|(host, _)| *host == last));
    }
}
