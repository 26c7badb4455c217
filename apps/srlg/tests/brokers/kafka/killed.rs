//! Programs that are killed, and continue from their state.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use srlg_cli::network::broker::Broker as Nats;

use super::broker::{Broker, PARTITIONS, has_kcat};
use crate::flows::{flows, goflow2};
use crate::running::{Program, Site, when};
use crate::server::has_broker;

/// Writes goflow2's messages about `count` peers from the number `first` on.
fn produce(broker: &Broker, partition: usize, first: u32, count: u32) {
    let messages: Vec<_> = flows(first, count).iter().map(|flow| goflow2(flow, true)).collect();
    broker.produce("flows", partition, &messages);
}

#[test]
fn no_flow_after_the_stored_position_is_lost_when_a_monitor_is_killed() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start("flows");
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "http = '127.0.0.1:0'\nstate = '{}'\nslice = '1s'\ncheckpoint = '3s'\n\
         [input]\nkafka = 'kafka://{}/flows'\n\
         [[view]]\nname = 'in'\nrole = 'destination'\n\
         [[rule]]\nname = 'r'\nthresholds = {{ 300s = 500 }}\n",
        folder.path().join("state").display(),
        broker.addresses
    );
    fs::write(folder.path().join("srlg.toml"), config).unwrap();
    let start = |log| Site::start(folder.path(), log, &["run", "--config", "srlg.toml"]);
    let site = start("log");
    when(|| (site.status()["broker"]["partitions"] == PARTITIONS).then_some(()));
    produce(&broker, 0, 0, 2_000);
    site.wait_for_contacts(2_000);
    // A checkpoint has these, and their position.
    thread::sleep(Duration::from_secs(5));
    // What is read now may be in no checkpoint.
    produce(&broker, 1, 2_000, 2_000);
    site.wait_for_contacts(4_000);
    site.program.kill();
    // While it is away.
    produce(&broker, 2, 4_000, 2_000);
    let site = start("log-again");
    let peers = site.peers(|peers| peers > 5_700.0);
    assert!(peers < 6_300.0, "{peers}");
    for line in
        ["srlg_broker_lag_messages 0", "srlg_broker_failing 0", "srlg_broker_expired_total 0"]
    {
        when(|| site.get("/metrics").lines().any(|it| it == line).then_some(()));
    }
}

#[test]
fn no_flow_after_the_stored_position_is_lost_when_a_probe_is_killed() {
    if !has_kcat() || !has_broker() {
        return;
    }
    let kafka = Broker::start("flows");
    let folder = tempfile::tempdir().unwrap();
    let configure = |nats: &str| {
        let config = format!(
            "http = '127.0.0.1:0'\nstate = 'state'\nslice = '1s'\n\
             [network]\nprobes = ['a']\nbroker = '{nats}'\n\
             [[view]]\nname = 'in'\nrole = 'destination'\n\
             [[rule]]\nname = 'r'\nthresholds = {{ 300s = 500 }}\n"
        );
        fs::write(folder.path().join("srlg.toml"), config).unwrap();
    };
    configure("localhost");
    let mut setup = Program::start(folder.path(), "setup", &["setup", "--config", "srlg.toml"]);
    assert!(setup.0.wait().unwrap().success());
    let nats = Nats::start(folder.path()).unwrap();
    configure(&nats.address());
    let collector = Site::start(folder.path(), "collector", &["collect", "--config", "srlg.toml"]);
    let url = format!("kafka://{}/flows", kafka.addresses);
    let start = |log| {
        let args = ["probe", "a", "--broker", &nats.address(), "--kafka", &url];
        Program::start(folder.path(), log, &args)
    };
    let probe = start("probe");
    let position = folder.path().join("spool/a/position");
    let offsets = || {
        let text = fs::read_to_string(&position).ok()?;
        let position: Value = serde_json::from_str(&text).ok()?;
        position["offsets"].as_object().map(serde_json::Map::len)
    };
    when(|| offsets().filter(|offsets| *offsets == PARTITIONS));
    produce(&kafka, 0, 0, 2_000);
    collector.peers(|peers| peers > 1_900.0);
    // The running slice is not in the spool.
    produce(&kafka, 1, 2_000, 2_000);
    thread::sleep(Duration::from_millis(300));
    probe.kill();
    produce(&kafka, 2, 4_000, 2_000);
    let _probe = start("probe-again");
    let peers = collector.peers(|peers| peers > 5_700.0);
    assert!(peers < 6_300.0, "{peers}");
}
