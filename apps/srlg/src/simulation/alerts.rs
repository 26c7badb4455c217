//! Alerts of the whole network. Each alert starts once and ends once, however often the collector is killed.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use srlg_host::Ipv4Pair;

use super::network_messages::{Message, of_pairs};
use super::network_traffic::{Random, configuration, sizes};
use super::{Simulation, notifications};

/// Slices with the attack, and the subsequent slices without it.
const ON: std::ops::Range<u64> = 9000..9030;
const OFF: std::ops::Range<u64> = 9030..9070;

/// Number of new peers of the target that each router sees per slice. In the window of 20 slices, each router sees 100
/// peers, and the network sees 300 peers.
const NEW_PER_ROUTER: u32 = 5;
const TARGET: u32 = 0x0A00_0001;

fn of_slice(probe: usize, slice: u64) -> Vec<Message> {
    let first = 0xC000_0000 | (probe as u32) << 20 | (slice as u32 * NEW_PER_ROUTER) & 0xF_FFFF;
    let is_on = ON.contains(&slice);
    let peers = first..first + if is_on { NEW_PER_ROUTER } else { 0 };
    let pairs: Vec<_> = peers.map(|peer| Ipv4Pair { inside: TARGET, peer }).collect();
    of_pairs(sizes(), probe, slice, &pairs, 1 << 20)
}

fn messages(probes: &[usize], slices: impl Iterator<Item = u64>) -> Vec<Message> {
    let of_probes =
        |slice| probes.iter().flat_map(move |&probe| of_slice(probe, slice)).collect::<Vec<_>>();
    slices.flat_map(of_probes).collect()
}

fn all() -> Vec<Message> {
    messages(&[0, 1, 2], ON.chain(OFF))
}

/// Asserts that all notifications belong to the same alert, that only the first one is a start, and that only the last
/// one is an end.
fn assert_one_alert(notifications: &[Value]) {
    let of =
        |status: &str| notifications.iter().filter(|it| it["status"] == status).collect::<Vec<_>>();
    let ([start], [end]) = (&of("start")[..], &of("end")[..]) else { panic!("{notifications:?}") };
    assert!(start["host"] == "10.0.0.1" && notifications[0] == **start, "{notifications:?}");
    assert!(notifications.iter().all(|it| it["id"] == start["id"]), "{notifications:?}");
    assert!(*notifications.last().unwrap() == **end, "{notifications:?}");
}

#[test]
fn a_kill_between_start_and_end_leaves_one_start_and_one_end_of_one_id() {
    let mut network = Simulation::new();
    let messages = all();
    let (before, after) = messages.split_at(messages.len() / 2);
    network.publish(before);
    let mut collector = network.collector();
    collector.read(&network.stream);
    assert_eq!(collector.alerts(), 1);
    collector.kill();
    let mut collector = network.collector();
    network.publish(after);
    collector.read(&network.stream);
    collector.stop();
    let notifications = network.notifications();
    assert_one_alert(&notifications);
    assert_eq!(notifications[0]["peers"].as_array().unwrap().len(), 32);
    assert_eq!(notifications[0]["view"], "all");
}

#[test]
fn alerts_of_a_collector_that_is_killed_again_and_again_are_those_of_one_that_was_not() {
    let mut network = Simulation::new();
    let messages = all();
    let mut random = Random(19);
    let mut published = 0;
    while published < messages.len() {
        let every = 1 + random.below(9);
        let keys = "deadline = '1h'\n";
        network.configure(&configuration(Path::new("FOLDER")), &format!("{every}s"), keys);
        let mut collector = network.collector();
        for _ in 0..=random.below(4) {
            let next = (published + 1 + random.below(20) as usize).min(messages.len());
            network.publish(&messages[published..next]);
            published = next;
            collector.read(&network.stream);
        }
        collector.kill();
    }
    let mut collector = network.collector();
    collector.read(&network.stream);
    collector.stop();
    assert_one_alert(&network.notifications());
    let (mut collector, files) = network.collector_in("at-once");
    collector.read(&network.stream);
    collector.stop();
    assert_eq!(network.notifications(), notifications(&files.state));
}

#[test]
fn an_alert_does_not_end_while_a_probe_is_missing() {
    let mut network = Simulation::with("deadline = '1s'\n");
    let middle = OFF.start + 20;
    network.publish(&messages(&[0, 1, 2], ON));
    network.publish(&messages(&[0, 1], OFF.start..middle));
    let mut collector = network.collector();
    collector.read(&network.stream);
    collector.wait(Duration::from_secs(2));
    assert_eq!((collector.running(), collector.alerts()), (Some(middle), 1));
    let notifications = network.notifications();
    assert!(notifications.iter().all(|it| it["status"] != "end"), "{notifications:?}");
    let last = notifications.last().unwrap();
    assert!(
        last["now_ms"].as_u64() < Some(OFF.start * 1000)
            || last["missing_sites"] == serde_json::json!(["c"]),
        "{last}"
    );
    // The missing messages arrive, followed by all others.
    network.publish(&messages(&[2], OFF.start..middle));
    network.publish(&messages(&[0, 1, 2], middle..OFF.end));
    collector.read(&network.stream);
    assert_eq!(collector.running(), Some(OFF.end));
    collector.stop();
    let notifications = network.notifications();
    assert_one_alert(&notifications);
    let last = notifications.last().unwrap();
    assert!(last["now_ms"].as_u64().unwrap() > middle * 1000, "{notifications:?}");
}
