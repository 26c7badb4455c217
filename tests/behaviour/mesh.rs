//! Tests of nodes that merge each other's deltas slice by slice, over several windows. All nodes must equal one node
//! that saw everything, bit for bit. Deltas must not grow much, although each node merges the deltas of the other
//! nodes.

use std::cell::RefCell;

use proptest::prelude::*;
use srlg::config::Scheme;
use srlg::state::Delta;
use srlg::{Config, IpPair, Ipv4Pair, SlidingDetector};
use srlg_traffic::synthetic::distinct_pairs;

use crate::fixture::{Detectors, detector};
use crate::small;

const NODES: usize = 3;

/// Maximum delay of a pair or of a part of a delta, in slices.
const LATE: u32 = 2;

/// Returns a configuration with epochs of one slice, one with epochs of two slices, and one of the paper's scheme. The
/// arrays are small so that contacts collide, but a slice touches only a part of each array.
fn kinds() -> [Config; 3] {
    let lines = |tags| Scheme::Tagged { cell_bits: 12, lines: 40, tags };
    let tagged = Config { scheme: lines(64), ..small::tagged() };
    [tagged, Config { scheme: lines(5000), ..tagged }, small::paper()]
}

/// A contact, the node that sees it, and its delay in slices.
type Contact = ((u32, u32), usize, u32);

/// Generates the contacts of up to four windows.
fn slices() -> impl Strategy<Value = Vec<Vec<Contact>>> {
    let contact = ((0u32..20, 0u32..300), 0..NODES, prop_oneof![4 => Just(0), 1 => 1..=LATE]);
    prop::collection::vec(prop::collection::vec(contact, 0..30), 1..33)
}

/// The detector that sees everything, a relay, the root to which the relay sends its deltas, and the nodes of the mesh.
/// The relay receives the deltas of the mesh late and in parts.
type All = [SlidingDetector; 3 + NODES];

/// Ingests `contacts`, exchanges the deltas, and moves all detectors to the next slice. `delays` yields the delay of
/// each delta part on its way to the relay.
fn see(
    all: &mut All,
    contacts: &[Contact],
    delays: &mut impl Iterator<Item = u64>,
    on_their_way: &mut Vec<(u64, Vec<u8>)>,
) {
    let [one, relay, root, mesh @ ..] = all;
    let takes_both = one.params().finder().cells().is_some();
    for &((inside, peer), node, late) in contacts {
        let pair = match takes_both {
            true => IpPair::new(small::host(inside), small::host(peer)),
            false => Ipv4Pair { inside, peer }.into(),
        };
        small::ingest_any(one, pair, true, late);
        small::ingest_any(&mesh[node], pair, true, late);
    }
    let slice = one.slice();
    let deltas = mesh.each_mut().map(|node| node.delta(1 + LATE).unwrap());
    for (number, node) in mesh.iter_mut().enumerate() {
        let others = (0..NODES).filter(|&other| other != number);
        others.for_each(|other| node.merge_delta(&deltas[other]).unwrap());
    }
    for part in deltas.into_iter().flat_map(|delta| delta.into_parts(200).unwrap()) {
        on_their_way.push((slice + delays.next().unwrap(), part));
    }
    for (_, part) in on_their_way.extract_if(.., |(arrives, _)| *arrives <= slice) {
        relay.merge_delta(&Delta::from_bytes(&part, one.params()).unwrap()).unwrap();
    }
    // A pair may arrive late at a node, and the node's delta may arrive late at the relay.
    root.merge_delta(&relay.delta(1 + 2 * LATE).unwrap()).unwrap();
    all.iter_mut().for_each(|detector| detector.skip_to(slice + 1).unwrap());
}

thread_local! {
    static DETECTORS: RefCell<[Detectors<{ 3 + NODES }>; 3]> =
        RefCell::new(kinds().map(Detectors::new));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn meshes_relays_and_their_roots_equal_one_node_that_saw_everything(
        kind in 0usize..3,
        slices in slices(),
        delays in prop::collection::vec(0..=u64::from(LATE), 1..9),
    ) {
        DETECTORS.with_borrow_mut(|detectors| {
            let all = detectors[kind].anew();
            let (mut delays, mut on_their_way) = (delays.into_iter().cycle(), Vec::new());
            for contacts in &slices {
                see(all, contacts, &mut delays, &mut on_their_way);
                let [one, _, _, mesh @ ..] = &*all;
                let one = one.snapshot().unwrap();
                for node in mesh {
                    prop_assert!(node.snapshot().unwrap() == one);
                }
            }
            // The remaining messages arrive.
            for _ in 0..LATE {
                see(all, &[], &mut delays, &mut on_their_way);
            }
            let [one, relay, root] = [0, 1, 2].map(|number| all[number].snapshot().unwrap());
            prop_assert!(relay == one);
            prop_assert!(root == one);
            Ok(())
        })?;
    }
}

/// Two deltas of the first node of a mesh.
struct Growth {
    first: Delta,
    /// The delta of the first slice after three windows.
    last: Delta,
}

impl Growth {
    /// Runs a mesh of `nodes` nodes. In every slice, each node sees `pairs` new pairs.
    fn of(config: Config, nodes: usize, pairs: usize) -> Self {
        let mut mesh: Vec<SlidingDetector> = (0..nodes).map(|_| detector(config)).collect();
        let mut traffic: Vec<_> =
            (0..nodes).map(|node| distinct_pairs(node as u64, 200_000, 1 << 32)).collect();
        // Each node creates its own delta before it merges the deltas of the others.
        let mut delta_of_a_slice = || {
            for (node, traffic) in mesh.iter_mut().zip(&mut traffic) {
                node.ingest(&traffic.by_ref().take(pairs).collect::<Vec<_>>()).unwrap();
            }
            let deltas: Vec<Delta> = mesh.iter_mut().map(|node| node.delta(1).unwrap()).collect();
            for (number, node) in mesh.iter_mut().enumerate() {
                let others = deltas.iter().enumerate().filter(|&(other, _)| other != number);
                others.for_each(|(_, delta)| node.merge_delta(delta).unwrap());
                // The slice is closed without a report, because a report would take most of the time.
                node.skip_to(node.slice() + 1).unwrap();
            }
            deltas.into_iter().next().unwrap()
        };
        let first = delta_of_a_slice();
        (1..3 * config.window).for_each(|_| drop(delta_of_a_slice()));
        Self { first, last: delta_of_a_slice() }
    }

    fn factor(&self) -> f64 {
        self.last.recorders() as f64 / self.first.recorders() as f64
    }
}

#[test]
fn deltas_do_not_grow_when_windows_have_passed() {
    // A quarter of the default's sizes.
    let scheme = Scheme::Tagged { cell_bits: 16, lines: 115_400, tags: 64 };
    let config = Config { window: 30, scheme, ..Config::default() };
    let alone = Growth::of(config, 1, 500).factor();
    assert!(alone <= 1.05, "{alone}");
    let in_a_mesh = Growth::of(config, 4, 500).factor();
    assert!(in_a_mesh <= 1.2, "{in_a_mesh}");
}

#[test]
#[ignore = "measures, for docs/measurements.md"]
fn growth_of_deltas() {
    println!(
        "\n| pairs per node and slice | nodes | first slice: recorders | bytes | after three windows: recorders | bytes |"
    );
    println!("|---|---|---|---|---|---|");
    for (nodes, pairs) in [(1, 2_000), (4, 2_000), (1, 20_000), (4, 20_000)] {
        let growth = Growth::of(Config::default(), nodes, pairs);
        let [first, last] = [&growth.first, &growth.last]
            .map(|delta| (delta.recorders(), delta.to_bytes().unwrap().len()));
        println!("| {pairs} | {nodes} | {} | {} | {} | {} |", first.0, first.1, last.0, last.1);
    }
}
