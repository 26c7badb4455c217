//! Largest counts of hosts, from which thresholds are suggested.
//!
//! The largest count of each reported host is kept for each view and window. A collection lasts a day, and the
//! collection of the previous day is also kept.
//!
//! Invariant: at most 65,536 hosts remain in a collection after each pruning, which drops the smallest counts.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Number of hosts that remain after pruning. Pruning starts at twice this number.
const HOSTS: usize = 1 << 16;

/// Length of a collection, in milliseconds.
const DAY_MS: u64 = 86_400_000;

/// Largest counts of hosts within one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Maxima {
    /// Start of the current collection, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// Start of the previous collection. If there was no previous collection, this is the start of the current one.
    #[serde(default)]
    pub first_ms: u64,
    /// Total length of the slices that had input, in milliseconds: for today and for the previous day.
    #[serde(default)]
    counted_ms: [u64; 2],
    today: HashMap<IpAddr, f64>,
    yesterday: HashMap<IpAddr, f64>,
}

impl Maxima {
    pub fn add(&mut self, host: IpAddr, cardinality: f64) {
        let most = self.today.entry(host).or_insert(0.0);
        *most = most.max(cardinality);
        if self.today.len() >= 2 * HOSTS {
            let mut counts: Vec<(IpAddr, f64)> = self.today.drain().collect();
            counts.sort_by(|a, b| b.1.total_cmp(&a.1));
            self.today = counts.into_iter().take(HOSTS).collect();
        }
    }

    /// Adds a slice that ended at `now_ms` and had input for `counted_ms`. After a day, a new collection starts.
    pub fn add_slice(&mut self, now_ms: u64, counted_ms: u64) {
        let [today, _] = self.counted_ms;
        if self.since_ms == 0 {
            (self.first_ms, self.since_ms) = (now_ms, now_ms);
        } else if now_ms.saturating_sub(self.since_ms) >= DAY_MS {
            (self.first_ms, self.since_ms) = (self.since_ms, now_ms);
            self.counted_ms = [0, today];
            self.yesterday = std::mem::take(&mut self.today);
        }
        self.counted_ms[0] += counted_ms;
    }

    #[must_use]
    pub fn counted(&self) -> Duration {
        Duration::from_millis(self.counted_ms.iter().sum())
    }

    /// Returns each host's largest count since the start of the previous collection.
    #[must_use]
    pub fn counts(&self) -> Vec<(IpAddr, f64)> {
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
    use std::time::Duration;

    fn host(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn the_largest_counts_of_two_days_are_kept() {
        let mut maxima = Maxima::default();
        let day = 86_400_000;
        for (now, count) in [(5, 10.0), (6, 30.0), (7, 20.0), (day + 5, 7.0), (2 * day + 5, 8.0)] {
            maxima.add_slice(now, 1_000);
            maxima.add(host(1), count);
            if now == day + 5 {
                assert_eq!(maxima.counts(), [(host(1), 30.0)]);
            }
        }
        assert_eq!(maxima.counts(), [(host(1), 8.0)]);
        assert_eq!((maxima.counted(), maxima.first_ms), (Duration::from_secs(2), day + 5));
    }

    #[test]
    fn memory_is_bounded_and_the_largest_stay() {
        let mut maxima = Maxima::default();
        for number in 0..10 * HOSTS as u32 {
            maxima.add(host(number), f64::from(number % 1_000_003));
            assert!(maxima.today.len() <= 2 * HOSTS);
        }
        let last = host(10 * HOSTS as u32 - 1);
        assert!(maxima.counts().iter().any(|(host, _)| *host == last));
    }
}
