//! Tests that intervals are correct up to a load of 3, regardless of when a host's contacts occur. Up to a load of 5,
//! the lower bounds are correct.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::AddAssign;

use srlg::config::Scheme;
use srlg::{Config, Ipv4Pair, SlidingDetector};
use srlg_traffic::synthetic::mix;

use crate::fixture::detector;

const LINES: u32 = 3_200;
const RECORDERS: f64 = 102_400.0;

/// Number of positions that a pair touches: one in the fine region, and a 32nd in the coarse regions.
const TOUCHES: f64 = 1.0 + 1.0 / 32.0;
const TRIALS: u64 = 8;

/// Peer counts, each with the number of hosts in a trial that have this peer count.
const HOSTS: [(u32, u32); 3] = [(100, 50), (400, 50), (2_000, 10)];

/// Distribution of a host's contacts over the window.
#[derive(Clone, Copy, Debug)]
enum Contacts {
    Even,
    Oldest,
    Newest,
    BothEnds,
    OldestTenth,
}

impl Contacts {
    const ALL: [Self; 5] =
        [Self::Even, Self::Oldest, Self::Newest, Self::BothEnds, Self::OldestTenth];

    fn slice(self, contact: u32, window: u32) -> u32 {
        match self {
            Self::Even => contact % window,
            Self::Oldest => 0,
            Self::Newest => window - 1,
            Self::BothEnds => contact % 2 * (window - 1),
            Self::OldestTenth => contact % window.div_ceil(10),
        }
    }
}

/// Numbers of true values below their 95 % intervals, above them, and in total.
#[derive(Clone, Copy, Debug, Default)]
struct IntervalCounts {
    below: f64,
    above: f64,
    all: f64,
}

impl AddAssign for IntervalCounts {
    fn add_assign(&mut self, other: Self) {
        self.below += other.below;
        self.above += other.above;
        self.all += other.all;
    }
}

/// Fills two windows with `load` pairs per recorder. The hosts have contacts only in the second window. Returns the
/// interval counts for each peer count.
fn intervals(window: u32, contacts: Contacts, load: f64) -> [IntervalCounts; HOSTS.len()] {
    let own: u32 = HOSTS.iter().map(|(peers, hosts)| peers * hosts).sum();
    let mut counts = [IntervalCounts::default(); HOSTS.len()];
    for seed in 0..TRIALS {
        let scheme = Scheme::Tagged { cell_bits: 12, lines: LINES, tags: 64 };
        let config = Config { seed, window, scheme, linear_width: 4096, ..Config::default() };
        let mut detector = detector(config);
        for slice in 0..2 * window {
            detector.skip_to(slice.into()).unwrap();
            let is_before = slice < window;
            let others = load * RECORDERS / TOUCHES - if is_before { 0.0 } else { own.into() };
            let pairs = (0..(others / f64::from(window)) as u64).map(|number| {
                let random = mix(seed << 48 ^ u64::from(slice) << 24 ^ number);
                Ipv4Pair { inside: random as u32 >> 8, peer: (random >> 32) as u32 }
            });
            let is_now = |contact| contacts.slice(contact, window) + window == slice;
            let pairs: Vec<Ipv4Pair> = pairs.chain(own_pairs(seed, is_now)).collect();
            detector.ingest(&pairs).unwrap();
        }
        count(&mut detector, &mut counts);
        let health = detector.close_slice().unwrap().health;
        assert!((0.95 * load..1.02 * load).contains(&health.load), "{}", health.load);
        assert_eq!(health.errors_hold, load < 3.0);
    }
    counts
}

fn host(peers: u32, number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(peers << 16 | number)
}

/// For each host, returns the contacts whose number satisfies `is_now`.
fn own_pairs(seed: u64, is_now: impl Fn(u32) -> bool) -> Vec<Ipv4Pair> {
    let mut pairs = Vec::new();
    for (peers, hosts) in HOSTS {
        for host in (0..hosts).map(|number| host(peers, number)) {
            let peer =
                |contact| mix(seed << 56 ^ u64::from(host.to_bits()) << 24 ^ u64::from(contact));
            let contacts = (0..peers).filter(|&contact| is_now(contact));
            pairs
                .extend(contacts.map(|contact| Ipv4Pair::new(host, (peer(contact) as u32).into())));
        }
    }
    pairs
}

fn count(detector: &mut SlidingDetector, counts: &mut [IntervalCounts; HOSTS.len()]) {
    let window = detector.params().window();
    for ((peers, hosts), counts) in HOSTS.into_iter().zip(counts) {
        let asked: Vec<IpAddr> = (0..hosts).map(|number| host(peers, number).into()).collect();
        for estimate in detector.cardinalities_within(&asked, window).unwrap() {
            let truth = f64::from(peers);
            counts.below += f64::from(u8::from(truth < estimate.lower(1.96)));
            counts.above += f64::from(u8::from(truth > estimate.upper(1.96)));
            counts.all += 1.0;
        }
    }
}

/// For each peer count, prints the shares and calls `assert` with the interval counts. The counts are those of each
/// window, of all windows of a distribution, and finally of all distributions.
fn for_each_size(load: f64, assert: impl Fn(IntervalCounts, &str)) {
    let judge = |counts: [IntervalCounts; HOSTS.len()], what: &str| {
        for (counts, (peers, _)) in counts.into_iter().zip(HOSTS) {
            let IntervalCounts { below, above, all } = counts;
            let [below, above] = [below, above].map(|count| 100.0 * count / all);
            let shares = format!("{below:.1} % below, {above:.1} % above");
            let row = format!("load {load}, {what}, {peers} peers, {all} intervals: {shares}");
            println!("{row}");
            assert(counts, &row);
        }
    };
    let mut all = [IntervalCounts::default(); HOSTS.len()];
    for contacts in Contacts::ALL {
        let mut of_contacts = [IntervalCounts::default(); HOSTS.len()];
        for window in [1, 2, 10, 300] {
            let counts = intervals(window, contacts, load);
            judge(counts, &format!("{contacts:?} in {window} slices"));
            add(&mut of_contacts, counts);
        }
        judge(of_contacts, &format!("{contacts:?}"));
        add(&mut all, of_contacts);
    }
    // With fewer intervals, a share of 97 % could not be distinguished from 100 %.
    assert!(all.iter().all(|counts| counts.all >= 1_600.0));
    judge(all, "all contacts");
}

fn add(sums: &mut [IntervalCounts; HOSTS.len()], counts: [IntervalCounts; HOSTS.len()]) {
    for (sum, counts) in sums.iter_mut().zip(counts) {
        *sum += counts;
    }
}

/// Returns four standard deviations of the observed share of `all` intervals if the expected share is `p`.
fn noise(p: f64, all: f64) -> f64 {
    4.0 * (p * (1.0 - p) / all).sqrt()
}

#[test]
fn intervals_hold_the_truth_in_88_to_97_percent_up_to_three_pairs_per_recorder() {
    for_each_size(2.95, |IntervalCounts { below, above, all }, what| {
        let share = 1.0 - (below + above) / all;
        let (least, most) = (0.88 - noise(0.88, all), 0.97 + noise(0.97, all));
        assert!((least..=most).contains(&share), "{what}");
    });
}

// Upper bounds are not correct at this load. docs/tagged-recorders.md contains the shares that this test prints.
#[test]
fn lower_bounds_hold_up_to_five_pairs_per_recorder() {
    for_each_size(4.95, |IntervalCounts { below, all, .. }, what| {
        assert!(below / all <= 0.03 + noise(0.03, all), "{what}");
    });
}

/// Numbers of peers of the hosts in the tests of shares. Of 2,000 peers, 125 are counted with a share of 16.
const SHARED: [u32; 2] = [2_000, 10_000];

/// Fills two windows of four slices with 300,000 other pairs each. The share of each slice is given. Hosts with a
/// number of peers in `SHARED` have contacts only in the second window. Asserts that 95 % of the intervals hold. Since
/// the number of counted peers is small and binomial, the true share differs by about one percentage point.
fn assert_intervals_hold(shares: [u32; 8]) {
    const OTHERS: u64 = 300_000;
    let mut counts = [IntervalCounts::default(); SHARED.len()];
    for seed in 0..100 {
        let scheme = Scheme::Tagged { cell_bits: 12, lines: 9_600, tags: 64 };
        let mut detector = detector(Config { seed, window: 4, scheme, ..Config::default() });
        for (slice, share) in (0..).zip(shares) {
            detector.skip_to(slice).unwrap();
            detector.set_share(share).unwrap();
            let others = (0..OTHERS / 4).map(|number| {
                let random = mix(seed << 48 ^ slice << 24 ^ number);
                Ipv4Pair { inside: random as u32 >> 8, peer: (random >> 32) as u32 }
            });
            let own = SHARED.into_iter().enumerate().flat_map(|(size, peers)| {
                let host = move |number: u32| host(size as u32, number);
                let peers = move |number| (0..peers).map(move |peer| (number, peer));
                (0..5).flat_map(peers).map(move |(number, peer)| {
                    let random = mix(seed << 40 ^ u64::from(number) << 32 ^ u64::from(peer));
                    Ipv4Pair::new(host(number), (random as u32).into())
                })
            });
            let is_now =
                |(number, _): &(usize, Ipv4Pair)| slice >= 4 && *number as u64 % 4 == slice % 4;
            let own = own.enumerate().filter(is_now).map(|(_, pair)| pair);
            detector.ingest(&others.chain(own).collect::<Vec<_>>()).unwrap();
        }
        for (size, (peers, counts)) in SHARED.into_iter().zip(&mut counts).enumerate() {
            let asked: Vec<IpAddr> =
                (0..5).map(|number| host(size as u32, number).into()).collect();
            for estimate in detector.cardinalities_within(&asked, 4).unwrap() {
                let truth = f64::from(peers);
                counts.below += f64::from(u8::from(truth < estimate.lower(1.96)));
                counts.above += f64::from(u8::from(truth > estimate.upper(1.96)));
                counts.all += 1.0;
            }
        }
    }
    for (IntervalCounts { below, above, all }, peers) in counts.into_iter().zip(SHARED) {
        let held = 1.0 - (below + above) / all;
        let row = format!("{shares:?}, {peers} peers: {:.1} % of {all}", 100.0 * held);
        println!("{row}");
        assert!((held - 0.95).abs() <= 0.01 + noise(0.95, all), "{row}");
    }
}

#[test]
fn intervals_hold_with_a_share_of_the_pairs() {
    [1, 4, 16].into_iter().for_each(|share| assert_intervals_hold([share; 8]));
}

#[test]
fn intervals_hold_while_the_share_changes() {
    assert_intervals_hold([1, 1, 1, 1, 1, 4, 8, 16]);
    assert_intervals_hold([16, 16, 16, 16, 16, 4, 2, 1]);
    assert_intervals_hold([1, 1, 1, 1, 4, 1, 1, 1]);
}
