//! The measurement of one plan, with planted hosts in consecutive windows of one detector.
//!
//! The first window contains only background traffic, with the load of the plan. Therefore, from the second window on,
//! the number of pairs that have left the window equals the number of pairs in the window. From the second window on,
//! each window contains new planted hosts, and only its last slice gets a report. No earlier report can therefore have
//! kept a planted host as a candidate.
//!
//! The number of distinct pairs in a window equals the load, apart from a few random pairs that coincide. The pairs are
//! spread evenly over the slices of the window. They belong to background hosts, and to planted hosts with known
//! numbers of peers.

use std::collections::HashSet;

use anyhow::Result;
use srlg_core::{Address, Config, Ipv4Pair, Plan};
use srlg_host::report::Overload;
use srlg_host::{Device, SlidingDetector};
use srlg_traffic::family::{self, Family};
use srlg_traffic::synthetic::mix;

use super::{Place, Plans};
use crate::feed::Feeder;
use crate::missed;

/// Number of bytes that a pass over the recorders reads in about 50 ns, the time to ingest one pair.
const BYTES_PER_PAIR: u64 = 800;

/// Host number of the first planted host. Background hosts have smaller numbers.
const FIRST_PLANTED: u32 = 1 << 31;

/// Results for the planted hosts of all windows.
#[derive(Default)]
pub(super) struct Outcome {
    /// Number of planted hosts of each kind.
    pub(super) hosts: u32,
    /// Sum of the errors for hosts with θ peers.
    pub(super) errors: f64,
    /// Sum of the squared errors for hosts with θ peers.
    pub(super) squares: f64,
    /// Sum of the fourth powers of the errors for hosts with θ peers.
    pub(super) fourths: f64,
    /// Number of hosts with θ peers whose estimate is at least θ.
    pub(super) high: u32,
    /// Number of hosts with θ peers that were not reported although their estimate is at least θ.
    pub(super) high_missed: u32,
    /// Number of hosts with 2θ peers that were not reported.
    pub(super) missed: u32,
    /// Number of hosts with θ/2 peers that were reported.
    pub(super) false_reports: u32,
    /// Number of candidates in the last report.
    pub(super) candidates: usize,
    pub(super) crowded: u32,
    pub(super) raised: u32,
    /// Probability of missing a host with θ peers, as stated in the last report.
    pub(super) miss_probability: f64,
    /// Expected standard error at θ for the effective load.
    pub(super) std_error: f64,
}

pub(super) fn run(
    options: &Plans,
    place: &Place,
    plan: &Plan,
    background: Background,
) -> Result<Outcome> {
    let Place { threshold, window, load, .. } = *place;
    let traffic = Traffic::new(place, background, options.seed, options.hosts);
    let mut detector =
        SlidingDetector::new(Config { seed: options.seed, ..plan.config }, Device::Cpu)?;
    let passes = u64::from(window) * (detector.memory_bytes() as u64 / BYTES_PER_PAIR);
    let affordable = options.work / (u64::from(load) + passes);
    let wanted = u64::from(options.hosts.div_ceil(traffic.each));
    let windows = wanted.min(affordable.saturating_sub(1)).max(1) as u32;
    let params = detector.params();
    let acting = traffic.acting(plan.config.linear_width);
    let std_error =
        params.expected_error(threshold, acting).expect("the tagged scheme has an error formula");
    let mut outcome = Outcome { std_error, ..Outcome::default() };
    let mut feeder = Feeder::new(options.family);
    for number in 0..=windows {
        for slice in 0..window {
            feeder.ingest(&detector, &traffic.slice(number, slice))?;
            if number == 0 || slice + 1 < window {
                detector.skip_to(detector.slice() + 1)?;
            }
        }
        if number > 0 {
            outcome.window(&mut detector, options.family, &traffic, number)?;
        }
    }
    Ok(outcome)
}

impl Outcome {
    /// Closes the last slice of a window and adds the results for its planted hosts.
    fn window(
        &mut self,
        detector: &mut SlidingDetector,
        family: Family,
        traffic: &Traffic,
        number: u32,
    ) -> Result<()> {
        let threshold = f64::from(detector.params().threshold());
        let mut high = Vec::new();
        for host in traffic.planted(number, 1) {
            let cardinality = detector.cardinality(family.host(host))?.cardinality;
            let error = cardinality - threshold;
            self.errors += error;
            self.squares += error.powi(2);
            self.fourths += error.powi(4);
            if cardinality >= threshold {
                high.push(host);
            }
        }
        let report = detector.close_slice()?;
        let reported: HashSet<u32> =
            report.super_points.iter().map(|point| family::number(point.host)).collect();
        let reported = |host: &u32| reported.contains(host);
        self.hosts += traffic.each;
        self.high += high.len() as u32;
        self.high_missed += high.iter().filter(|host| !reported(host)).count() as u32;
        self.missed += traffic.planted(number, 2).filter(|host| !reported(host)).count() as u32;
        self.false_reports += traffic.planted(number, 0).filter(reported).count() as u32;
        self.candidates = report.candidates;
        let finder = &report.health.finder;
        self.crowded += u32::from(finder.overload == Some(Overload::Crowded));
        self.raised += u32::from(finder.overload == Some(Overload::Raised));
        self.miss_probability = missed::at_threshold(finder, family);
        Ok(())
    }

    pub(super) fn rms(&self) -> f64 {
        (self.squares / f64::from(self.hosts)).sqrt()
    }

    /// Returns the relative standard deviation of the root mean square.
    ///
    /// With n hosts, the mean square has the standard deviation of one squared error, divided by sqrt(n). The relative
    /// standard deviation of the root is half that of the mean square. For normal errors, whose kurtosis is 3, the
    /// result is 1/sqrt(2n). Small errors approximately have a Poisson distribution, whose kurtosis is 3 plus the
    /// reciprocal of the variance.
    pub(super) fn noise(&self) -> f64 {
        let hosts = f64::from(self.hosts);
        let measured = self.fourths * hosts / (self.squares * self.squares);
        let lumpy = 3.0 + 1.0 / (self.std_error * self.std_error);
        // If all errors are 0, the noise cannot be determined and the result is NaN.
        ((lumpy.max(measured) - 1.0) / hosts).sqrt() / 2.0
    }
}

/// The traffic of hosts that are not planted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Background {
    /// Hosts with about ten peers each.
    Small,
    /// Hosts with 1, 2, 4 and so on up to θ/2 peers. Each size has the same number of pairs.
    Tailed,
}

impl Background {
    pub(super) const ALL: [Self; 2] = [Self::Small, Self::Tailed];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Tailed => "tailed",
        }
    }

    /// Returns the sizes of background hosts, as mean numbers of peers.
    fn sizes(self, threshold: u32) -> Vec<u32> {
        match self {
            Self::Small => vec![10],
            Self::Tailed => {
                let most = threshold / 2;
                let powers = (0..32).map(|power| 1 << power).take_while(|&size| size < most);
                powers.chain([most]).collect()
            }
        }
    }
}

/// Consecutive windows of traffic, with new hosts in each.
struct Traffic {
    seed: u64,
    load: u32,
    window: u32,
    sizes: Vec<u32>,
    /// Numbers of peers of the planted hosts, by kind: θ/2, θ and 2θ.
    planted: [u32; 3],
    /// Number of planted hosts per kind and window.
    each: u32,
}

impl Traffic {
    /// Creates the traffic for `place`, whose load is at least 4θ. Each kind has at most `most_each` planted hosts, and
    /// all planted hosts together have at most a quarter of the pairs. However, each kind has at least one host, even
    /// if this quarter is exceeded.
    fn new(place: &Place, background: Background, seed: u64, most_each: u32) -> Self {
        let Place { threshold, window, load, .. } = *place;
        let planted = [threshold / 2, threshold, 2 * threshold];
        // Any load has room for one host of each kind.
        let each = most_each.min(load / 4 / planted.iter().sum::<u32>()).max(1);
        Self { seed, load, window, sizes: background.sizes(threshold), planted, each }
    }

    /// Returns the effective load of a window: the number of distinct positions that hosts touch in estimators with
    /// `width` positions. A host with many peers touches some positions repeatedly.
    fn acting(&self, width: u32) -> u64 {
        let width = f64::from(width);
        let touched = |contacts: u32| width * (1.0 - (-f64::from(contacts) / width).exp());
        let share = |&size: &u32| touched(size) / f64::from(size) / self.sizes.len() as f64;
        let planted: f64 = self.planted.iter().map(|&contacts| touched(contacts)).sum();
        let background = f64::from(self.load - self.planted_pairs());
        (background * self.sizes.iter().map(share).sum::<f64>() + f64::from(self.each) * planted)
            as u64
    }

    fn planted_pairs(&self) -> u32 {
        self.each * self.planted.iter().sum::<u32>()
    }

    /// Returns the planted hosts of one kind in `window`, which is at least 1. `kind` is an index into `self.planted`.
    fn planted(&self, window: u32, kind: u32) -> impl Iterator<Item = Address> + use<> {
        let first = FIRST_PLANTED + (window * self.planted.len() as u32 + kind) * self.each;
        first..first + self.each
    }

    /// Returns the pairs of one slice in a window. Window 0 has no planted hosts.
    fn slice(&self, window: u32, slice: u32) -> Vec<Ipv4Pair> {
        let planted = if window == 0 { 0 } else { self.planted_pairs() };
        let background = u64::from(self.load - planted);
        let until = |slice: u32| background * u64::from(slice) / u64::from(self.window);
        let numbers = until(slice)..until(slice + 1);
        let mut pairs: Vec<_> =
            numbers.map(|number| self.background(background, window, number)).collect();
        if window > 0 {
            for (kind, &contacts) in (0..).zip(&self.planted) {
                for host in self.planted(window, kind) {
                    self.plant(&mut pairs, host, contacts, slice);
                }
            }
        }
        pairs
    }

    fn background(&self, pairs: u64, window: u32, number: u64) -> Ipv4Pair {
        let random = mix(self.seed ^ mix((u64::from(window) << 40) | number));
        let class = ((random >> 48) as usize * self.sizes.len()) >> 16;
        let hosts = (pairs / (self.sizes.len() as u64 * u64::from(self.sizes[class]))).max(1);
        let host = ((random & 0xffff_ffff) * hosts) >> 32;
        let host = mix(self.seed ^ ((host << 32) | (u64::from(window) << 8) | class as u64)) as u32;
        Ipv4Pair { inside: host % FIRST_PLANTED, peer: mix(random) as u32 }
    }

    /// Adds the contacts of a planted host in a slice. The contacts of a host are spread evenly over the window.
    fn plant(&self, pairs: &mut Vec<Ipv4Pair>, host: Address, contacts: u32, slice: u32) {
        let random = mix(self.seed ^ u64::from(host));
        // The offset of the first contact is random, and at most the interval between two contacts.
        let window = u64::from(self.window);
        let place = random % window;
        let until = |slice: u32| (u64::from(slice) * u64::from(contacts) + place) / window;
        let peer =
            |contact: u64| (contact as u32).wrapping_mul(0x9e37_79b1) ^ (random >> 32) as u32;
        pairs.extend(
            (until(slice)..until(slice + 1))
                .map(|contact| Ipv4Pair { inside: host, peer: peer(contact) }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn a_window_has_its_load_and_its_planted_hosts_have_their_peers() {
        for (background, slices) in [(Background::Small, 10), (Background::Tailed, 7)] {
            let place = Place { threshold: 100, window: slices, load: 50_000, memory: 0 };
            let traffic = Traffic::new(&place, background, 1, 1000);
            // A quarter of the load belongs to hosts with 50, 100 and 200 peers.
            assert_eq!(traffic.each, 35);
            let pairs: Vec<_> = (0..slices).flat_map(|slice| traffic.slice(2, slice)).collect();
            assert_eq!(pairs.len(), 50_000);
            let distinct: HashSet<_> = pairs.iter().map(|pair| (pair.inside, pair.peer)).collect();
            // A host with 50 random peers among 2^32 addresses hardly ever has the same peer twice.
            assert!(distinct.len() > 49_990);
            let mut hosts = HashMap::new();
            distinct.iter().for_each(|(host, _)| *hosts.entry(*host).or_insert(0) += 1);
            for (kind, contacts) in [(0, 50), (1, 100), (2, 200)] {
                assert!(traffic.planted(2, kind).all(|host| hosts[&host] == contacts));
            }
            let others = hosts.iter().filter(|&(&host, _)| host < FIRST_PLANTED);
            let most = others.map(|(_, &contacts)| contacts).max().unwrap();
            // The numbers of peers of some thousand hosts are Poisson numbers with a mean of 10 or 50.
            assert!(
                most < if matches!(background, Background::Small) { 35 } else { 100 },
                "{most}"
            );
        }
    }
}
