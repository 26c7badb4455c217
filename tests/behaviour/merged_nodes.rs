//! Tests that nodes merged in any order equal one node that saw everything, bit for bit. The traffic has IPv4 and IPv6
//! hosts.

use std::cell::RefCell;

use proptest::prelude::*;
use srlg::config::HashFamily;
use srlg::state::Snapshot;
use srlg::{Config, IpPair, SlidingDetector};

use crate::fixture::Detectors;
use crate::small::{host, ingest_any, tagged};

const NODES: usize = 3;

/// A contact, the node that sees it, its delay in slices, and whether to ingest it as an `Ipv4Pair` if possible.
type Contact = (IpPair, usize, u32, bool);

/// Generates the contacts of each slice. Many hosts share cells, and some have many peers. Contacts in the same slice
/// have the same age, which causes ties.
fn seen_by_nodes() -> impl Strategy<Value = Vec<Vec<Contact>>> {
    let pair = prop_oneof![(0u32..40, 0u32..400), (0u32..4, 0u32..400)];
    let pair = pair.prop_map(|(inside, peer)| IpPair::new(host(inside), host(peer)));
    let late = prop_oneof![4 => Just(0u32), 1 => 1u32..10];
    let contact = (pair, 0..NODES, late, any::<bool>());
    prop::collection::vec(prop::collection::vec(contact, 0..200), 1..14)
}

/// Ingests all contacts into the detector `one`, and each node's contacts into that node. If `nodes_report` is set, the
/// nodes close their slices with a report.
fn see(
    one: &mut SlidingDetector,
    nodes: &mut [SlidingDetector; NODES],
    slices: &[Vec<Contact>],
    nodes_report: bool,
) {
    for (slice, contacts) in (1..).zip(slices) {
        for &(pair, node, late, is_short) in contacts {
            ingest_any(one, pair, false, late);
            ingest_any(&nodes[node], pair, is_short, late);
        }
        one.skip_to(slice).unwrap();
        for node in &mut *nodes {
            match nodes_report {
                true => drop(node.close_slice().unwrap()),
                false => node.skip_to(slice).unwrap(),
            }
        }
    }
}

thread_local! {
    static DETECTORS: RefCell<[Detectors<{ 1 + NODES }>; 2]> =
        RefCell::new([HashFamily::Murmur, HashFamily::HalfSip13].map(|hash| {
            Detectors::new(Config { hash, ..tagged() })
        }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn merged_nodes_equal_one_node_that_saw_everything(
        slices in seen_by_nodes(),
        order in Just([0usize, 1, 2]).prop_shuffle(),
        again in 0..NODES,
        keyed: bool,
        nodes_report: bool,
    ) {
        DETECTORS.with_borrow_mut(|detectors| {
            let [one, nodes @ ..] = detectors[usize::from(keyed)].anew();
            see(one, nodes, &slices, nodes_report);
            let snapshots = nodes.each_ref().map(|node| node.snapshot().unwrap());
            let bytes = snapshots[order[1]].to_bytes().unwrap();
            let first = &mut nodes[order[0]];
            first.merge_snapshot(&Snapshot::from_bytes(&bytes, one.params()).unwrap()).unwrap();
            first.merge_snapshot(&snapshots[order[2]]).unwrap();
            first.merge_snapshot(&snapshots[again]).unwrap(); // Merging is idempotent.
            // Deltas contain only recorders. These deltas cover all slices.
            let [merged, expected] = [&mut *first, &mut *one].map(|d| d.delta(tagged().window).unwrap());
            prop_assert!(merged == expected);
            if nodes_report {
                // The single detector does not know which hosts the nodes reported. It merges them from the snapshots,
                // in a different order.
                snapshots.iter().for_each(|snapshot| one.merge_snapshot(snapshot).unwrap());
            }
            prop_assert!(first.snapshot().unwrap() == one.snapshot().unwrap());
            prop_assert_eq!(first.close_slice().unwrap(), one.close_slice().unwrap());
            Ok(())
        })?;
    }
}
