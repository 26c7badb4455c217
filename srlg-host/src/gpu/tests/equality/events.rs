//! Random events for detectors that must stay equal.

use std::net::{IpAddr, Ipv6Addr};

use proptest::prelude::*;
use srlg_core::{Address, Config, HashFamily, IpPair, Ipv4Pair, RsraSizes, Scheme};
use srlg_traffic::family::ip;

use crate::detector::SlidingDetector;
use crate::error::Error;
use crate::ingest::pairs::Pair;
use crate::report::StageTimes;

/// Neighbouring and extreme addresses, and hosts that differ only in high bits.
pub(super) const HOSTS: [Address; 10] =
    [0, 1, u32::MAX, 0x0a00_0001, 0x0b00_0001, 0xc0a8_0101, 0xc0a8_0201, 0x8000_0000, 7, 0x1000];

/// Contacts, and whether they are ingested as pairs of any two addresses. A contact consists of an index into [`HOSTS`]
/// and a peer.
type Contacts = (Vec<(usize, u32)>, bool);

#[derive(Clone, Debug)]
pub(super) enum Event {
    Ingest {
        contacts: Contacts,
        late: u32,
    },
    Pinned {
        contacts: Contacts,
    },
    Query {
        host: usize,
        window: u32,
    },
    /// A request for sample peers.
    Peers {
        host: usize,
    },
    Close,
    /// A new candidate limit for the next closes.
    Limit {
        candidates: u32,
    },
    Skip {
        slices: u64,
    },
    /// A share for the running slice, and the maximum for closes that change the share.
    Share {
        bits: u32,
        most_bits: u32,
    },
    /// A merge of data from a second node: a delta or, if `delta` is `None`, a snapshot. If `reports` is true, the
    /// snapshot contains kept hosts.
    Merge {
        contacts: Contacts,
        delta: Option<u32>,
        reports: bool,
    },
    Restore {
        contacts: Contacts,
        reports: bool,
    },
}

pub(super) fn configs() -> impl Strategy<Value = Config> {
    // With wide estimators, coarse regions are examined for few hosts. With narrow estimators, they are examined for
    // all hosts.
    let width = prop_oneof![2 => Just(256u32), 2 => Just(512), 1 => Just(1024)];
    let tagged =
        (12u32..16, width, 0u32..200, 64u32..300).prop_map(|(cell_bits, width, more, tags)| {
            let lines = if width < 1024 { 32 } else { 416 } + more;
            (Scheme::Tagged { cell_bits, lines, tags }, width)
        });
    let paper =
        (rough(), 1u32..4, 1u32..40, 1u32..8).prop_map(|(finder, rows, columns, stride)| {
            (Scheme::Paper { finder, rows, columns, stride }, 100)
        });
    let limit = prop_oneof![Just(3u32), Just(5), Just(1 << 16)];
    let hash = prop_oneof![Just(HashFamily::Murmur), Just(HashFamily::HalfSip13)];
    // With 2^12 cells, a window of 40 slices has epochs of two slices.
    let window = prop_oneof![4 => 1u32..8, 1 => Just(40)];
    let threshold = prop_oneof![2 => 8u32..60, 1 => 64u32..200];
    let (sizes, hashes) = (prop_oneof![tagged, paper], (hash, any::<u64>()));
    (sizes, limit, window, (threshold, 0u32..3), hashes).prop_map(
        |((scheme, linear_width), candidate_limit, window, (threshold, bits), (hash, seed))| {
            let most = match scheme {
                Scheme::Tagged { .. } => (threshold / 32).max(1),
                _ => 1,
            };
            let share = 1 << bits.min(most.ilog2());
            Config { scheme, linear_width, share, candidate_limit, window, threshold, hash, seed }
        },
    )
}

fn rough() -> impl Strategy<Value = RsraSizes> {
    let sizes = prop_oneof![Just((12, 10, 4, 8)), Just((13, 10, 4, 4)), Just((14, 6, 5, 2))];
    let limit = prop_oneof![Just(2u32), Just(1 << 14)];
    (sizes, limit).prop_map(|((column_bits, bit_stride, rows, width), hot_limit)| RsraSizes {
        column_bits,
        bit_stride,
        rows,
        width,
        hot_limit,
    })
}

pub(super) fn events() -> impl Strategy<Value = Vec<Event>> {
    let contacts = || (prop::collection::vec((0..HOSTS.len(), 0u32..300), 0..260), any::<bool>());
    let late = prop_oneof![4 => Just(0u32), 1 => 1u32..9];
    let event = prop_oneof![
        4 => (contacts(), late).prop_map(|(contacts, late)| Event::Ingest { contacts, late }),
        1 => contacts().prop_map(|contacts| Event::Pinned { contacts }),
        1 => (0..HOSTS.len(), 1u32..8).prop_map(|(host, window)| Event::Query { host, window }),
        3 => Just(Event::Close),
        1 => (0u32..8).prop_map(|candidates| Event::Limit { candidates }),
        1 => (0u32..3, 0u32..3).prop_map(|(bits, most_bits)| Event::Share { bits, most_bits }),
        1 => (0u64..5).prop_map(|slices| Event::Skip { slices }),
        1 => (0..HOSTS.len()).prop_map(|host| Event::Peers { host }),
        1 => (contacts(), any::<bool>())
            .prop_map(|(contacts, reports)| Event::Restore { contacts, reports }),
        1 => (contacts(), prop::option::of(1u32..4), any::<bool>())
            .prop_map(|(contacts, delta, reports)| Event::Merge { contacts, delta, reports }),
    ];
    prop::collection::vec(event, 1..14)
}

/// Returns the host at index `place` of [`HOSTS`]. At odd indices, it has an IPv6 address.
fn any_host(place: usize) -> IpAddr {
    match place % 2 {
        0 => ip(HOSTS[place]),
        _ => Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(HOSTS[place])).into(),
    }
}

/// Evaluates `$work` with `$contacts` as [`IpPair`]s if this is requested and the detector accepts them, and as
/// [`Ipv4Pair`]s otherwise.
macro_rules! of_type {
    (($detector:expr, $contacts:expr), |$pairs:ident| $work:expr) => {{
        let (contacts, is_long) = $contacts;
        if *is_long && $detector.params().finder().cells().is_some() {
            let address = |peer: u32| match peer % 3 {
                0 => Ipv6Addr::from_bits(0x2001_0db8_0001 << 80 | u128::from(peer)).into(),
                _ => ip(peer),
            };
            let pair = |&(host, peer): &(usize, u32)| IpPair::new(any_host(host), address(peer));
            let $pairs: &[IpPair] = &contacts.iter().map(pair).collect::<Vec<_>>();
            $work
        } else {
            let pair = |&(host, peer): &(usize, u32)| Ipv4Pair { inside: HOSTS[host], peer };
            let $pairs: &[Ipv4Pair] = &contacts.iter().map(pair).collect::<Vec<_>>();
            $work
        }
    }};
}

fn ingest_pinned<P: Pair>(detector: &SlidingDetector, pairs: &[P]) {
    let mut pinned = detector.pinned_pairs(pairs.len()).unwrap();
    pinned.fill(|buffer| buffer.copy_from_slice(pairs)).unwrap();
    detector.ingest_pinned(&pinned).unwrap();
    // The buffer may be refilled and dropped at once, although the device may still be reading it.
    pinned.fill(|buffer| buffer.fill(P::default())).unwrap();
}

/// Applies `event` to `detector` and returns the results as text with full precision.
pub(super) fn happen(
    detector: &mut SlidingDetector,
    event: &Event,
    other: &mut SlidingDetector,
) -> String {
    match event {
        Event::Ingest { contacts, late } => {
            of_type!((detector, contacts), |pairs| detector.ingest_late(pairs, *late).unwrap());
            String::new()
        }
        Event::Pinned { contacts } => {
            of_type!((detector, contacts), |pairs| ingest_pinned(detector, pairs));
            String::new()
        }
        Event::Query { host, window } => {
            let window = (*window).min(detector.params().window());
            let answer = detector.cardinality_within(any_host(*host), window);
            assert!(matches!(answer, Ok(_) | Err(Error::Ipv6InPaper)), "{answer:?}");
            format!("{answer:?}")
        }
        Event::Close => {
            let mut report = detector.close_slice().unwrap();
            report.stages = StageTimes::default();
            format!("{report:?}")
        }
        Event::Limit { candidates } => {
            detector.set_candidate_limit(*candidates);
            String::new()
        }
        // The result is an error in the paper's scheme.
        Event::Share { bits, most_bits } => {
            detector.set_most_share(1 << most_bits);
            format!("{:?}", detector.set_share(1 << bits))
        }
        Event::Skip { slices } => format!("{:?}", detector.skip_to(detector.slice() + slices)),
        Event::Peers { host } => {
            format!("{:?}", detector.sample_peers(any_host(*host)).unwrap())
        }
        Event::Restore { contacts, reports } => {
            other_ingests(detector, other, contacts, *reports);
            let snapshot = other.snapshot().unwrap();
            detector.restore(&snapshot).unwrap();
            assert!(detector.snapshot().unwrap() == snapshot);
            String::new()
        }
        Event::Merge { contacts, delta, reports } => {
            other_ingests(detector, other, contacts, *reports);
            match delta {
                Some(slices) => {
                    let slices = (*slices).min(other.params().window());
                    detector.merge_delta(&other.delta(slices).unwrap()).unwrap();
                }
                None => detector.merge_snapshot(&other.snapshot().unwrap()).unwrap(),
            }
            String::new()
        }
    }
}

/// Makes the second node `other` ingest `contacts`. If `reports` is true, `other` also closes the slice, and `detector`
/// skips to the next slice.
fn other_ingests(
    detector: &mut SlidingDetector,
    other: &mut SlidingDetector,
    contacts: &Contacts,
    reports: bool,
) {
    other.skip_to(detector.slice()).unwrap();
    of_type!((other, contacts), |pairs| other.ingest(pairs).unwrap());
    if reports {
        other.close_slice().unwrap();
        detector.skip_to(other.slice()).unwrap();
    }
}
