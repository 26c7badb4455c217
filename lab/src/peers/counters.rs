//! Estimates from a linear counter for each host, in fixed memory.
//!
//! This is the simplest method if there are few hosts. The memory is divided among a known number of hosts. A position
//! stores the time of its last touch in 16 bits, so that a counter slides with the window. A host that comes after all
//! counters have been given away is not counted.

use rustc_hash::FxHashMap;
use srlg_core::{Address, Ipv4Pair};
use srlg_traffic::synthetic::mix;

use super::exact::{PairTable, table_bytes};
use crate::rivals::linear_count;

/// Linear counters, one for each of the first hosts.
pub(crate) struct OwnCounters {
    /// Number of positions of a counter.
    width: u32,
    /// Positions of all counters, one counter after the other. The value 0 marks a position without a touch in the
    /// window.
    times: Vec<u16>,
    /// Number of the counter of each host.
    counters: FxHashMap<Address, u32>,
    hosts: u32,
    seed: u64,
}

impl OwnCounters {
    /// Creates counters for `hosts` hosts, which use at most `bytes` bytes in total, including the map of hosts.
    pub(crate) fn with_memory(bytes: usize, hosts: u32, seed: u64) -> Self {
        let counters = FxHashMap::with_capacity_and_hasher(hosts as usize, Default::default());
        let places = bytes.saturating_sub(map_bytes(&counters)) / size_of::<u16>();
        let width = (places / hosts.max(1) as usize) as u32;
        let times = vec![0; width as usize * hosts as usize];
        Self { width, times, counters, hosts, seed: mix(seed) }
    }
}

fn map_bytes(counters: &FxHashMap<Address, u32>) -> usize {
    table_bytes::<(Address, u32)>(counters.capacity())
}

/// Returns the time of a slice, from 1 to the largest number of 16 bits. Windows have fewer slices than there are
/// times.
fn time(slice: u32) -> u16 {
    (slice % u32::from(u16::MAX)) as u16 + 1
}

impl PairTable for OwnCounters {
    fn name(&self) -> String {
        "own counter per host".to_owned()
    }

    fn touch(&mut self, pair: Ipv4Pair, now: u32) {
        let known = self.counters.len() as u32;
        let counter = match self.counters.get(&pair.inside) {
            Some(&counter) => counter,
            None if known < self.hosts => {
                self.counters.insert(pair.inside, known);
                known
            }
            None => return,
        };
        let hash = mix(u64::from(pair.inside) << 32 ^ u64::from(pair.peer) ^ self.seed);
        let position = ((hash >> 32) * u64::from(self.width)) >> 32;
        self.times[counter as usize * self.width as usize + position as usize] = time(now);
    }

    fn cardinalities(&self) -> impl Iterator<Item = (Address, f64)> {
        self.counters.iter().map(|(&host, &counter)| {
            let width = self.width as usize;
            let times = &self.times[counter as usize * width..][..width];
            let zeros = times.iter().filter(|&&time| time == 0).count();
            (host, linear_count(zeros as u32, self.width))
        })
    }

    fn forget(&mut self, left: u32) {
        let left = time(left);
        self.times.iter_mut().filter(|time| **time == left).for_each(|time| *time = 0);
    }

    fn bytes(&self) -> usize {
        size_of_val(self.times.as_slice()) + map_bytes(&self.counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::exact::SlidingMap;
    use crate::peers::testing;
    use crate::system::System;

    #[test]
    fn memory_is_divided_among_the_hosts() {
        // A map of 100 hosts has 128 places of 8 bytes and a control byte each, and 16 more bytes.
        let map = 128 * 9 + 16;
        let counters = OwnCounters::with_memory(100_000, 100, 1);
        assert_eq!(counters.width, (100_000 - map) / 200);
        assert_eq!(counters.bytes(), map as usize + 200 * counters.width as usize);
    }

    #[test]
    fn errors_are_those_of_linear_counting() {
        // Counters of 4000 positions, and 200 hosts with 1024 to 2019 peers. With t peers per position, linear counting
        // has the relative variance (e^t - t - 1) / (t^2 * 4000), whose root is 1.19 to 1.22 %. The bounds are four
        // standard deviations of the root mean square of 200 errors.
        let counters = OwnCounters::with_memory(200 * 8000 + (256 * 9 + 16), 200, 1);
        assert_eq!(counters.width, 4000);
        let error = testing::rmse(SlidingMap::new(1, 512, counters), 200);
        assert!((0.012 * 0.8..0.012 * 1.2).contains(&error), "{error}");
    }

    #[test]
    fn peers_leave_with_their_slice_and_late_hosts_have_no_counter() {
        let counters = OwnCounters::with_memory(10_000, 1, 1);
        let mut system = SlidingMap::new(2, 1, counters);
        let counts = [1, 2, 1].map(|host| {
            system.ingest(&testing::pairs_of(host, 1));
            let report = system.close_slice();
            report.into_iter().map(|(host, estimate)| (host, estimate.round())).collect::<Vec<_>>()
        });
        assert_eq!(counts, [[(1, 1.0)], [(1, 1.0)], [(1, 1.0)]]);
        system.skip_slice();
        assert_eq!(system.close_slice(), []);
    }
}
