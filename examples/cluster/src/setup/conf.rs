//! `nats.conf`: TLS for everybody, a key per client, and what each may do.
//!
//! Invariant: what is not allowed here is refused. A probe writes to its own subject and hears its own
//! notices; the collector alone may use the stream.

use std::fmt::Write;

use crate::network::Network;
use crate::subjects::{COLLECTOR, delta, durable, inbox_prefix};

/// Bytes of a message beside a part of a delta: its headers, and room for a few more.
pub(super) const HEADROOM: usize = 4096;

/// The configuration of a broker for `network`, whose clients have `keys`.
pub(super) fn conf(network: &Network, keys: &[(&str, String)], port: u16) -> String {
    let max_payload = network.part_bytes + HEADROOM;
    let mut users = String::new();
    for (client, key) in keys {
        let (publish, subscribe) = permissions(client);
        // Writing to a string cannot fail.
        let _ok = write!(
            users,
            "    # {client}\n    {{ nkey: {key}, permissions: {{\n        publish: [{}]\n        subscribe: [{}]\n    }} }}\n",
            quoted(&publish),
            quoted(&subscribe)
        );
    }
    format!(
        "# Made by srlg-cluster setup. Paths are relative to the folder that the broker is started in:\n\
         #   cd FOLDER && nats-server -c nats.conf\n\
         server_name: srlg\n\
         host: 0.0.0.0\n\
         port: {port}\n\
         max_payload: {max_payload}\n\
         jetstream {{ store_dir: jetstream }}\n\
         tls {{ cert_file: server.pem, key_file: server.key, timeout: 5 }}\n\
         authorization {{\n  timeout: 5\n  users: [\n{users}  ]\n}}\n"
    )
}

/// What a client may publish to and subscribe to.
fn permissions(client: &str) -> (Vec<String>, Vec<String>) {
    let inbox = format!("{}.>", inbox_prefix(client));
    if client == COLLECTOR {
        let publish = ["$JS.API.>", "$JS.ACK.>", "$JS.FC.>", &durable("*")];
        return (publish.map(str::to_owned).to_vec(), vec![inbox]);
    }
    (vec![delta(client)], vec![durable(client), inbox])
}

fn quoted(subjects: &[String]) -> String {
    subjects.iter().map(|subject| format!("\"{subject}\"")).collect::<Vec<_>>().join(", ")
}
