//! Programs that are killed while they read a NATS stream.

use super::server::{STREAM, Server};
use crate::flows::{flows, json};
use crate::killed::{check_monitor, check_probe, monitor};

fn produce(server: &Server, number: u32) {
    let flows = flows(2_000 * number, 2_000);
    server.produce(flows.iter().map(|flow| json(flow).into_bytes()).collect());
}

#[test]
fn no_flow_after_the_stored_position_is_lost_when_a_monitor_is_killed() {
    let Some(server) = Server::start("") else { return };
    server.make_stream();
    let folder = tempfile::tempdir().unwrap();
    let address = server.broker.address();
    let input = format!("url = 'jetstream://{address}/{STREAM}'\nmessage-format = 'json'");
    let site = check_monitor(folder.path(), &input, 1, |number| produce(&server, number));
    // A new stream of the same name has other messages.
    drop(site);
    server.remove_stream();
    server.make_stream();
    produce(&server, 3);
    let mut site = monitor(folder.path(), &input);
    site.wait_for_contacts(2_000);
    site.program.wait_for("recreated");
}

#[test]
fn no_flow_after_the_stored_position_is_lost_when_a_probe_is_killed() {
    let Some(server) = Server::start("") else { return };
    server.make_stream();
    let address = server.broker.address();
    let input = format!("url = 'jetstream://{address}/{STREAM}'\nmessage-format = 'json'");
    check_probe(&input, 1, |number| produce(&server, number));
}
