//! Programs that are killed, and continue from their state.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use srlg_cli::network::broker::Broker;

use super::server::{STREAM, Server};
use crate::flows::{flows, json};
use crate::running::{Program, Site, when};

/// Returns lines of JSON about `count` peers from the number `first` on.
fn messages(first: u32, count: u32) -> Vec<Vec<u8>> {
    flows(first, count).iter().map(|flow| json(flow).into_bytes()).collect()
}

#[test]
fn no_flow_after_the_stored_position_is_lost_when_a_monitor_is_killed() {
    let Some(server) = Server::start("") else { return };
    server.make_stream();
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "http = '127.0.0.1:0'\nstate = '{}'\nslice = '1s'\ncheckpoint = '3s'\n\
         [input]\nnats = 'jetstream://{}/{STREAM}'\nmessage-format = 'json'\n\
         [[view]]\nname = 'in'\nrole = 'destination'\n\
         [[rule]]\nname = 'r'\nthresholds = {{ 300s = 500 }}\n",
        folder.path().join("state").display(),
        server.broker.address()
    );
    fs::write(folder.path().join("srlg.toml"), config).unwrap();
    let start = |log| Site::start(folder.path(), log, &["run", "--config", "srlg.toml"]);
    let site = start("log");
    when(|| (site.status()["broker"]["partitions"] == 1).then_some(()));
    server.produce(messages(0, 2_000));
    site.wait_for_contacts(2_000);
    // A checkpoint has these, and their position.
    thread::sleep(Duration::from_secs(5));
    // What is read now may be in no checkpoint.
    server.produce(messages(2_000, 2_000));
    site.wait_for_contacts(4_000);
    site.program.kill();
    // While it is away.
    server.produce(messages(4_000, 2_000));
    let site = start("log-again");
    let peers = site.peers(|peers| peers > 5_700.0);
    assert!(peers < 6_300.0, "{peers}");
    for line in
        ["srlg_broker_lag_messages 0", "srlg_broker_failing 0", "srlg_broker_expired_total 0"]
    {
        when(|| site.get("/metrics").lines().any(|it| it == line).then_some(()));
    }
    // Another stream of that name has other messages.
    site.program.kill();
    server.remove_stream();
    server.make_stream();
    server.produce(messages(6_000, 10));
    let site = start("log-of-another");
    site.wait_for_contacts(10);
    let log = fs::read_to_string(folder.path().join("log-of-another")).unwrap();
    assert!(log.contains("made anew"), "{log}");
}

#[test]
fn no_flow_after_the_stored_position_is_lost_when_a_probe_is_killed() {
    let Some(server) = Server::start("") else { return };
    server.make_stream();
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
    let nats = Broker::start(folder.path()).unwrap();
    configure(&nats.address());
    let collector = Site::start(folder.path(), "collector", &["collect", "--config", "srlg.toml"]);
    let url = format!("jetstream://{}/{STREAM}", server.broker.address());
    let address = nats.address();
    let start = |log| {
        let args = ["probe", "a", "--broker", &address, "--nats", &url, "--message-format", "json"];
        Program::start(folder.path(), log, &args)
    };
    let probe = start("probe");
    let position = folder.path().join("spool/a/position");
    let offset = || {
        let text = fs::read_to_string(&position).ok()?;
        serde_json::from_str::<Value>(&text).ok()?["offsets"]["0"].as_u64()
    };
    when(|| offset().filter(|offset| *offset == 1));
    server.produce(messages(0, 2_000));
    collector.peers(|peers| peers > 1_900.0);
    // The running slice is not in the spool.
    server.produce(messages(2_000, 2_000));
    thread::sleep(Duration::from_millis(300));
    probe.kill();
    server.produce(messages(4_000, 2_000));
    let _probe = start("probe-again");
    let peers = collector.peers(|peers| peers > 5_700.0);
    assert!(peers < 6_300.0, "{peers}");
}
