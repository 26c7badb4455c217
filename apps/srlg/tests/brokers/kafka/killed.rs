//! Programs that are killed while they read a Kafka topic.

use super::broker::{Broker, PARTITIONS, has_kcat};
use crate::flows::{flows, goflow2};
use crate::killed::{check_monitor, check_probe};
use crate::server::has_broker;

fn produce(broker: &Broker, number: u32) {
    let flows = flows(2_000 * number, 2_000);
    let messages: Vec<_> = flows.iter().map(|flow| goflow2(flow, true)).collect();
    broker.produce("flows", number as usize, &messages);
}

#[test]
fn no_flow_after_the_stored_position_is_lost_when_a_monitor_is_killed() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start("flows");
    let folder = tempfile::tempdir().unwrap();
    let input = format!("url = 'kafka://{}/flows'", broker.addresses);
    check_monitor(folder.path(), &input, PARTITIONS, |number| produce(&broker, number));
}

#[test]
fn no_flow_after_the_stored_position_is_lost_when_a_probe_is_killed() {
    if !has_kcat() || !has_broker() {
        return;
    }
    let broker = Broker::start("flows");
    let input = format!("url = 'kafka://{}/flows'", broker.addresses);
    check_probe(&input, PARTITIONS, |number| produce(&broker, number));
}
