//! Stated intervals hold up to the load at which reports say so, whenever a host had its contacts; beyond, lower bounds do.

use std::net::{IpAddr, Ipv4Addr};

use srlg::config::Scheme;
use srlg::{Config, IpPair, SlidingDetector};
use srlg_traffic::synthetic::mix;

use crate::fixture::detector;

const LINES: u32 = 3_200;
const RECORDERS: f64 = 102_400.0;
const TRIALS: u64 = 8;

/// Peers of a host, and the number of such hosts in a trial.
const HOSTS: [(u32, u32); 3] = [(100, 40), (400, 12), (2_000, 3)];

/// When a host has its contacts.
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

    /// The slice of a contact in a window.
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

/// The number of truths that are below their intervals of 95 %, above them, and in all.
#[derive(Clone, Copy, Debug, Default)]
struct Truths {
    below: f64,
    above: f64,
    all: f64,
}

/// Fills a window, after one without the hosts, with `load` pairs per recorder; for each size of hosts the truths.
fn truths(window: u32, contacts: Contacts, load: f64) -> [Truths; HOSTS.len()] {
    let own: u32 = HOSTS.iter().map(|(peers, hosts)| peers * hosts).sum();
    let mut truths = [Truths::default(); HOSTS.len()];
    for seed in 0..TRIALS {
        let scheme = Scheme::Tagged { cell_bits: 12, lines: LINES, tags: 64 };
        let config = Config { seed, window, scheme, linear_width: 4096, ..Config::default() };
        let mut detector = detector(config);
        for slice in 0..2 * window {
            detector.skip_to(slice.into()).unwrap();
            let is_before = slice < window;
            let others = load * RECORDERS - if is_before { 0.0 } else { own.into() };
            let pairs = (0..(others / f64::from(window)) as u64).map(|number| {
                let random = mix(seed << 48 ^ u64::from(slice) << 24 ^ number);
                IpPair { inside: random as u32 >> 8, opposite: (random >> 32) as u32 }
            });
            let is_now = |contact| contacts.slice(contact, window) + window == slice;
            let pairs: Vec<IpPair> = pairs.chain(own_pairs(seed, is_now)).collect();
            detector.ingest(&pairs).unwrap();
        }
        count(&mut detector, &mut truths);
        let health = detector.close_slice().unwrap().health;
        assert!((0.95 * load..1.02 * load).contains(&health.load), "{}", health.load);
        assert_eq!(health.errors_hold, load < 3.0);
    }
    truths
}

/// The address of a host with this number of peers.
fn host(peers: u32, number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(peers << 16 | number)
}

/// The contacts of all hosts that are now.
fn own_pairs(seed: u64, is_now: impl Fn(u32) -> bool) -> Vec<IpPair> {
    let mut pairs = Vec::new();
    for (peers, hosts) in HOSTS {
        for host in (0..hosts).map(|number| host(peers, number)) {
            let peer =
                |contact| mix(seed << 56 ^ u64::from(host.to_bits()) << 24 ^ u64::from(contact));
            let contacts = (0..peers).filter(|&contact| is_now(contact));
            pairs.extend(contacts.map(|contact| IpPair::new(host, (peer(contact) as u32).into())));
        }
    }
    pairs
}

/// Compares the estimates of all hosts in the whole window with the truth.
fn count(detector: &mut SlidingDetector, truths: &mut [Truths; HOSTS.len()]) {
    let window = detector.params().window();
    for ((peers, hosts), truths) in HOSTS.into_iter().zip(truths) {
        let asked: Vec<IpAddr> = (0..hosts).map(|number| host(peers, number).into()).collect();
        for estimate in detector.cardinalities_within(&asked, window).unwrap() {
            let truth = f64::from(peers);
            truths.below += f64::from(u8::from(truth < estimate.lower(1.96)));
            truths.above += f64::from(u8::from(truth > estimate.upper(1.96)));
            truths.all += 1.0;
        }
    }
}

/// Calls `assert` with the truths of every window and all ages of contacts.
fn for_all_ages(load: f64, assert: impl Fn(Truths, &str)) {
    for window in [1, 2, 10, 300] {
        for contacts in Contacts::ALL {
            for (truths, (peers, _)) in truths(window, contacts, load).into_iter().zip(HOSTS) {
                assert(truths, &format!("{window} slices, {contacts:?}, {peers}: {truths:?}"));
            }
        }
    }
}

/// Four deviations of a share `p` of so many.
fn noise(p: f64, all: f64) -> f64 {
    4.0 * (p * (1.0 - p) / all).sqrt()
}

#[test]
fn intervals_hold_the_truth_in_88_to_97_percent_up_to_three_pairs_per_recorder() {
    for_all_ages(2.95, |Truths { below, above, all }, what| {
        let share = 1.0 - (below + above) / all;
        let (least, most) = (0.88 - noise(0.88, all), 0.97 + noise(0.97, all));
        assert!((least..=most).contains(&share), "{what}");
    });
}

// Upper bounds do not: half of the truths of some small hosts are above them.
#[test]
fn lower_bounds_hold_up_to_five_pairs_per_recorder() {
    for_all_ages(4.95, |Truths { below, all, .. }, what| {
        assert!(below / all <= 0.03 + noise(0.03, all), "{what}");
    });
}
