//! A collector's state on disk, its stop and its restart.

use std::fs;
use std::path::PathBuf;

use super::Simulation;
use super::network_messages::whole;
use super::network_traffic::{OneNode, SPREAD, VERSION};
use crate::commands::{explain, suggest};

const SLICES: std::ops::Range<u64> = 1000..1040;

fn one() -> OneNode {
    OneNode::of(&[0, 1, 2], SLICES)
}

#[test]
fn a_damaged_checkpoint_is_replaced_by_the_one_before_and_the_stream() {
    let mut network = Simulation::new();
    let messages = whole(SLICES);
    let (before, after) = messages.split_at(3 * 18);
    network.publish(before);
    let mut collector = network.collector();
    collector.read(&network.stream);
    collector.stop();
    let folder = network.files.state.join("network").join(VERSION.to_string());
    let mut checkpoints: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "srlg"))
        .collect();
    checkpoints.sort();
    assert_eq!(checkpoints.len(), 2);
    let mut bytes = fs::read(&checkpoints[1]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&checkpoints[1], bytes).unwrap();
    network.publish(after);
    let mut collector = network.collector();
    collector.read(&network.stream);
    assert!(checkpoints[1].with_extension("damaged").exists());
    network.assert_is(collector, &one());
}

#[test]
fn a_stopped_collector_resumes_where_it_was() {
    let mut network = Simulation::new();
    for part in whole(SLICES).chunks(17) {
        network.publish(part);
        let mut collector = network.collector();
        collector.read(&network.stream);
        collector.stop();
        // A collector that stops before it has read a message must not skip unmerged messages.
        let mut early = network.collector();
        early.lose_broker();
        early.stop();
    }
    network.assert_is(network.collector(), &one());
}

#[test]
fn the_state_of_a_collector_suggests_thresholds_and_its_file_explains_rules() {
    let mut network = Simulation::new();
    network.publish(&whole(SLICES));
    let mut collector = network.collector();
    collector.read(&network.stream);
    collector.stop();
    let config = network.files.config.clone();
    let suggested = suggest::suggest(&suggest::Args { config: config.clone() }).unwrap();
    let host = srlg_traffic::family::ip(SPREAD.start);
    let explained = explain::explain(&explain::Args { host, config }).unwrap();
    insta::assert_snapshot!(format!("{suggested}\n{explained}"));
}
