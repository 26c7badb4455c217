//! Tests that sampled peers are true peers of a host, and have the slice of their last contact.

use approx::assert_abs_diff_eq;
use srlg_traffic::family::{ip, number};
use std::collections::HashMap;
use std::net::IpAddr;

use srlg::report::SamplePeer;
use srlg::{Config, Ipv4Pair, SlidingDetector};
use srlg_traffic::synthetic::distinct_pairs;

use crate::fixture::{self, detector, with_cells};
use crate::small;

/// The slice of the last contact, for each pair of a host and a peer.
type Truth = HashMap<(IpAddr, IpAddr), u64>;

fn ingest(detector: &SlidingDetector, pairs: &[Ipv4Pair], late: u32, truth: &mut Truth) {
    detector.ingest_late(pairs, late).unwrap();
    let slice = detector.slice() - u64::from(late);
    for pair in pairs {
        let last = truth.entry((ip(pair.inside), ip(pair.peer))).or_insert(slice);
        *last = slice.max(*last);
    }
}

/// Returns the contacts of 12 hosts in `slice`. Host n has 100 n contacts, of which 37 are with new peers in each
/// slice.
fn contacts(slice: u32) -> Vec<Ipv4Pair> {
    let host = |number: u32| 0x0a00_0000 + number.pow(2);
    let peers =
        |number: u32| (0..100 * number).map(move |i| (slice * 37 + i).wrapping_mul(0x9e37_79b1));
    (1..13)
        .flat_map(|number| peers(number).map(move |peer| Ipv4Pair { inside: host(number), peer }))
        .collect()
}

/// The slices in which sampled peers may have been seen.
struct Window {
    running: u64,
    slices: u64,
    /// Length of an epoch, in slices.
    epoch: u64,
}

/// Asserts that all `peers` are true peers of `host`, are sorted, and were seen within the window.
fn assert_true(host: IpAddr, peers: &[SamplePeer], truth: &Truth, window: &Window) {
    let Window { running, slices, epoch } = *window;
    assert!(peers.len() <= 64, "{} peers", peers.len());
    let order = |peer: &SamplePeer| (u64::MAX - peer.last_seen, peer.host);
    assert!(peers.is_sorted_by(|a, b| order(a) < order(b)), "{peers:?}");
    for peer in peers {
        let last = truth.get(&(host, peer.host)).expect("a peer of this host");
        let end = (last / epoch * epoch + epoch - 1).min(running);
        assert_eq!(peer.last_seen, end, "{host} and {peer:?}");
        assert!(peer.last_seen + slices > running, "{peer:?} is past the window");
    }
}

/// Asserts in each slice that the sampled peers of all super points are true peers. Returns the mean number of sampled
/// peers per super point.
fn check(config: Config, slices: u32) -> f64 {
    let (mut detector, mut truth) = (detector(config), Truth::new());
    let epoch = detector.params().finder().epoch_slices().into();
    let (mut shown, mut points) = (0, 0);
    for slice in 0..slices {
        ingest(&detector, &contacts(slice), 0, &mut truth);
        ingest(&detector, &contacts(slice + 1000), slice.min(2), &mut truth);
        let noise: Vec<Ipv4Pair> = distinct_pairs(slice.into(), 100_000, 50_000).collect();
        detector.ingest(&noise).unwrap();
        let asked = |detector: &SlidingDetector, host| detector.sample_peers(host).unwrap();
        let before: HashMap<IpAddr, Vec<SamplePeer>> =
            truth.keys().map(|&(host, _)| (host, asked(&detector, host))).collect();
        let report = detector.close_slice().unwrap();
        assert!(report.super_points.len() >= 6, "{}", report.super_points.len());
        for point in &report.super_points {
            let window = Window { running: slice.into(), slices: config.window.into(), epoch };
            assert_true(point.host, &point.peers, &truth, &window);
            assert_eq!(point.peers, before[&point.host]);
            shown += point.peers.len();
        }
        points += report.super_points.len();
    }
    f64::from(shown as u32) / f64::from(points as u32)
}

#[test]
fn sample_peers_of_super_points_are_peers_with_their_last_slice() {
    let config = Config { threshold: 512, window: 6, ..Config::default() };
    // A host with θ peers has 32 samples, which fill 25 of 64 slots. The hosts of this test are larger.
    let shown = check(config, 10);
    assert!((25.0..60.0).contains(&shown), "{shown}");
    // Peers can be queried for a host that is not a super point.
    check(Config { hash: srlg::config::HashFamily::HalfSip13, seed: 7, window: 1, ..config }, 3);
}

#[test]
fn in_windows_of_epochs_the_last_slice_of_the_epoch_is_shown() {
    let config = Config { threshold: 512, window: 5000, ..Config::default() };
    let epoch = config.validate().unwrap().finder().epoch_slices();
    assert!(epoch > 1);
    check(config, 3 * epoch + 1);
}

#[test]
fn few_cells_show_fewer_peers_and_no_wrong_ones() {
    let full = Config { threshold: 512, window: 6, ..Config::default() };
    let few = Config { linear_width: 1 << 15, ..full };
    let few = Config { scheme: with_cells(13), ..few };
    assert!(check(few, 8) < check(full, 8));
}

// With θ = 32, every pair is sampled. A peer is missing only if it shares its slot or its cell with another one.
#[test]
fn few_peers_of_a_small_host_are_nearly_all_shown() {
    let config = Config { threshold: 32, window: 4, ..Config::default() };
    let (mut detector, mut truth) = (detector(config), Truth::new());
    let pair =
        |host: u32, peer: u32| Ipv4Pair { inside: 0x0a00_0000 + host, peer: 0xc000_0000 + peer };
    let pairs: Vec<Ipv4Pair> =
        (0..200).flat_map(|host| [0, 1, 2].map(|peer| pair(host, peer))).collect();
    ingest(&detector, &pairs, 0, &mut truth);
    assert_eq!(detector.close_slice().unwrap().super_points, []);
    let mut shown = 0;
    for host in 0..200 {
        let host = ip(0x0a00_0000 + host);
        let peers = detector.sample_peers(host).unwrap();
        assert!((1..=3).contains(&peers.len()), "{peers:?}");
        assert_true(host, &peers, &truth, &Window { running: 1, slices: 4, epoch: 1 });
        shown += peers.len();
    }
    // In 3 / 64 of the hosts, two of three peers share one of 64 slots. This affects 9 of 200 hosts. The bound allows
    // five standard deviations more.
    assert!(shown >= 600 - 9 - 15, "{shown}");
    assert_eq!(detector.sample_peers([10, 0, 1, 0].into()).unwrap(), []);
    // The peers disappear when their slice leaves the window.
    detector.skip_to(3).unwrap();
    assert!(!detector.sample_peers([10, 0, 0, 1].into()).unwrap().is_empty());
    detector.skip_to(4).unwrap();
    assert_eq!(detector.sample_peers([10, 0, 0, 1].into()).unwrap(), []);
}

#[test]
fn late_contacts_are_shown_with_the_slice_that_they_were_in() {
    let config = Config { threshold: 32, window: 4, ..Config::default() };
    let (mut detector, host) = (detector(config), ip(0x0a00_0001));
    detector.skip_to(10).unwrap();
    let contact = |peer: u32| [Ipv4Pair { inside: number(host), peer }];
    let shown = |detector: &SlidingDetector| {
        let peers = detector.sample_peers(host).unwrap();
        peers.iter().map(|peer| (number(peer.host), peer.last_seen)).collect::<Vec<_>>()
    };
    detector.ingest_late(&contact(7), 2).unwrap();
    assert_eq!(shown(&detector), [(7, 8)]);
    // An earlier contact of the pair does not change the sample, but a later one does.
    detector.ingest_late(&contact(7), 3).unwrap();
    assert_eq!(shown(&detector), [(7, 8)]);
    detector.ingest_late(&contact(7), 1).unwrap();
    assert_eq!(shown(&detector), [(7, 9)]);
    // These contacts are before the window, before slice 0, or later than the largest age.
    for late in [4, 11, u32::MAX] {
        detector.ingest_late(&contact(9), late).unwrap();
    }
    assert_eq!(shown(&detector), [(7, 9)]);
    detector.skip_to(12).unwrap();
    assert_eq!(shown(&detector), [(7, 9)]);
    detector.skip_to(13).unwrap();
    assert_eq!(shown(&detector), []);
}

// All 300 hosts have the same 1024 peers. The addresses of peers must not affect which of them are shown.
#[test]
fn peers_of_one_slice_are_shown_with_equal_probability() {
    let detector = detector(Config { threshold: 1024, window: 4, ..Config::default() });
    for host in 0..300 {
        let pairs: Vec<Ipv4Pair> = (0..1024).map(|peer| Ipv4Pair { inside: host, peer }).collect();
        detector.ingest(&pairs).unwrap();
    }
    let peers = (0..300).flat_map(|host: u32| detector.sample_peers(ip(host)).unwrap());
    let peers: Vec<u32> = peers.map(|peer| number(peer.host)).collect();
    // Each host has 32 samples, which fill 25 of 64 slots.
    assert!((300 * 22..300 * 28).contains(&peers.len()), "{}", peers.len());
    let deviation = (peers.len() as f64).sqrt() / 2.0;
    for bit in 0..10 {
        let set = peers.iter().filter(|&&peer| peer >> bit & 1 == 1).count() as f64;
        let expected = peers.len() as f64 / 2.0;
        assert_abs_diff_eq!(set, expected, epsilon = 5.0 * deviation);
    }
}

#[test]
fn peers_that_two_nodes_saw_are_shown_after_a_merge() {
    let config = Config { threshold: 32, window: 4, ..Config::default() };
    let [mut west, east] = [detector(config), detector(config)];
    west.ingest(&fixture::contacts(7.into(), 0..30)).unwrap();
    east.ingest(&fixture::contacts(7.into(), 100..130)).unwrap();
    west.merge_snapshot(&east.snapshot().unwrap()).unwrap();
    let report = west.close_slice().unwrap();
    let is_east = |peer: &&SamplePeer| number(peer.host) >= 0xc000_0000 + 100;
    let of_east = report.super_points[0].peers.iter().filter(is_east).count();
    let all = report.super_points[0].peers.len();
    assert!(of_east > 5 && all - of_east > 5, "{of_east} of {all}");
}

#[test]
fn the_paper_s_scheme_has_no_sample_peers() {
    let mut detector = detector(Config { threshold: 64, ..small::paper() });
    let pairs: Vec<Ipv4Pair> = (0..150).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
    detector.ingest(&pairs).unwrap();
    assert_eq!(detector.sample_peers(ip(7)).unwrap(), []);
    let report = detector.close_slice().unwrap();
    assert_eq!(report.super_points.len(), 1);
    assert_eq!(report.super_points[0].peers, []);
}
