//! Three probes and a collector produce the same results as one node that sees everything, bit for bit.

use std::net::Ipv4Addr;

use srlg_input::Contact;

use super::Simulation;
use super::network_traffic::{OneNode, PROBES, SPREAD, VERSION, seen};
use crate::probe::simulated::SimulatedProbe;

const SLICES: std::ops::Range<u64> = 5000..5040;

/// Returns the contacts of router number `probe` in `slice`.
fn contacts(probe: usize, slice: u64) -> Vec<Contact> {
    let contact = |(ms, pair): (u64, srlg_host::Ipv4Pair)| {
        let [inside, peer] = [pair.inside, pair.peer].map(Ipv4Addr::from_bits);
        Contact::new((slice * 1000 + ms) * 1_000_000, inside.into(), peer.into())
    };
    (0..).zip(seen(probe, slice)).map(contact).collect()
}

fn probes(network: &Simulation) -> Vec<SimulatedProbe> {
    PROBES.iter().map(|name| network.probe(name, None)).collect()
}

/// Passes all traffic to the probes, which send each slice when it has closed. `after` is called after each slice.
fn measure(
    network: &mut Simulation,
    probes: &mut [SimulatedProbe],
    mut after: impl FnMut(&Simulation),
) {
    for slice in SLICES {
        for (number, probe) in probes.iter_mut().enumerate() {
            probe.ingest(&contacts(number, slice));
            network.send(probe);
        }
        after(network);
    }
    for probe in &mut *probes {
        probe.end();
        network.send(probe);
    }
    after(network);
}

#[test]
fn hosts_below_the_threshold_at_each_of_three_probes_are_super_points_of_the_network() {
    let one = OneNode::of(&[0, 1, 2], SLICES);
    let spread: Vec<_> = SPREAD.map(srlg_traffic::family::ip).collect();
    let super_points = |node: &OneNode| node.reports.last().unwrap().super_points.clone();
    let mut found: Vec<_> = super_points(&one).iter().map(|point| point.host).collect();
    found.sort();
    assert_eq!(found, spread);
    for probe in 0..3 {
        assert_eq!(super_points(&OneNode::of(&[probe], SLICES)), []);
    }
    // The probes send deltas, or lists of pairs.
    for most_pairs in [0, 100_000] {
        let mut network =
            Simulation::with(&format!("deadline = '1h'\nmost-pairs = {most_pairs}\n"));
        let (mut collector, mut probes) = (network.collector(), probes(&network));
        measure(&mut network, &mut probes, |network| collector.read(&network.stream));
        network.assert_is(collector, &one);
    }
}

#[test]
fn a_probe_keeps_its_slices_until_the_collector_has_stored_them() {
    let mut network = Simulation::new();
    let (mut collector, mut probes) = (network.collector(), probes(&network));
    measure(&mut network, &mut probes, |network| collector.read(&network.stream));
    let spooled = |name| {
        let spool = network.spools().join(name).join(VERSION.to_string());
        std::fs::read_dir(spool).unwrap().count()
    };
    assert_eq!(PROBES.map(spooled), [SLICES.count(); 3]);
    assert!(!probes.iter().any(SimulatedProbe::is_done));
    for (probe, message) in probes.iter().zip(collector.durability()) {
        probe.receive_durability(&message.unwrap());
    }
    assert_eq!(PROBES.map(spooled), [1; 3], "the newest slice");
    assert!(probes.iter().all(SimulatedProbe::is_done));
}

#[test]
fn all_slices_in_the_spool_are_sent_again_on_request() {
    let mut network = Simulation::new();
    let mut probes = probes(&network);
    measure(&mut network, &mut probes, |_| {});
    // The stream has lost its newest messages.
    network.stream.truncate(30);
    let mut collector = network.collector();
    collector.read(&network.stream);
    for probe in &mut probes {
        assert!(probe.send().is_empty());
        probe.receive_durability(crate::network::subjects::AGAIN);
        network.send(probe);
    }
    collector.read(&network.stream);
    network.assert_is(collector, &OneNode::of(&[0, 1, 2], SLICES));
}

#[test]
fn a_killed_probe_counts_again_what_it_had_not_spooled() {
    let mut network = Simulation::new();
    let mut collector = network.collector();
    for (probe, name) in PROBES.iter().enumerate() {
        for end in [SLICES.start + 10, SLICES.start + 25, SLICES.end] {
            // Each start is after a kill, and it reads the whole input again.
            let mut node = network.probe(name, None);
            (SLICES.start..end).for_each(|slice| node.ingest(&contacts(probe, slice)));
            if end == SLICES.end {
                node.end();
            }
            network.send(&mut node);
        }
    }
    collector.read(&network.stream);
    network.assert_is(collector, &OneNode::of(&[0, 1, 2], SLICES));
}

#[test]
fn a_collector_that_comes_when_everything_is_over_gives_the_same_answer() {
    let mut network = Simulation::new();
    let mut probes = probes(&network);
    measure(&mut network, &mut probes, |_| {});
    let mut collector = network.collector();
    collector.read(&network.stream);
    network.assert_is(collector, &OneNode::of(&[0, 1, 2], SLICES));
}
