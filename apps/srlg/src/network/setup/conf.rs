//! `nats.conf`: TLS for all clients, and a key and permissions for each client.
//!
//! The collector and the streams share one account, and each probe has its own account. A probe's account imports only
//! the probe's own subjects, the watch list, and the subject for requesting the network description.
//!
//! Invariant: a probe can publish only to its own subjects and to the subject for requesting the network description.
//! It receives only the watch list and messages that are addressed to it. Apart from the requests for the description,
//! only the collector may use the stream API.
//!
//! Permissions alone would not be enough, because they do not restrict the reply subject that a client sets. The broker
//! would publish an acknowledgement to any reply subject, even to a subject of the stream API. With accounts, an
//! acknowledgement cannot leave the account of the probe.

use super::PART_BYTES;
use crate::network::bucket;
use crate::network::subjects::{
    ALL_REPORTS, COLLECTOR, WATCHLIST, delta, durable, inbox_prefix, report,
};

/// Part of the maximum message size that is reserved for headers, in bytes.
pub(super) const HEADROOM: usize = 4096;

/// Name of the account that the collector and the streams share. A probe's account has the name of the probe. Names of
/// probes are in lower case, so no probe has an account with this name.
const ACCOUNT: &str = "SRLG";

/// Returns the configuration of a broker for `probes`. `keys` contains the name and public key of each client.
pub(super) fn conf(probes: &[String], keys: &[(&str, String)], port: u16) -> String {
    let max_payload = PART_BYTES + HEADROOM;
    let accounts = keys.iter().map(|(client, key)| match *client {
        COLLECTOR => collector(probes, &user(client, key)),
        probe => of_probe(probe, &user(probe, key)),
    });
    let accounts = accounts.collect::<String>();
    format!(
        "# Created by srlg setup. Paths are relative to the folder in which the broker is started:\n\
         #   cd FOLDER && nats-server -c nats.conf\n\
         server_name: srlg\n\
         host: 0.0.0.0\n\
         port: {port}\n\
         max_payload: {max_payload}\n\
         jetstream {{ store_dir: jetstream }}\n\
         tls {{ cert_file: server.pem, key_file: server.key, timeout: 5 }}\n\
         authorization {{ timeout: 5 }}\n\
         accounts {{\n{accounts}}}\n"
    )
}

/// Returns the configuration entry of the account that the collector and the streams share. The account exports each
/// probe's subjects to that probe.
fn collector(probes: &[String], user: &str) -> String {
    let export = |probe: &String| {
        let (delta, durable, report) = (delta(probe), durable(probe), report(probe));
        format!(
            "      {{ service: \"{delta}\", accounts: [\"{probe}\"] }}\n\
             \x20     {{ service: \"{report}\", accounts: [\"{probe}\"] }}\n\
             \x20     {{ stream: \"{durable}\", accounts: [\"{probe}\"] }}\n"
        )
    };
    let exports = probes.iter().map(export).collect::<String>();
    let question = bucket::QUESTION;
    format!(
        "  {ACCOUNT} {{\n    jetstream: enabled\n    users: [{user}]\n    exports: [\n\
         \x20     {{ service: \"{question}\" }}\n\
         \x20     {{ stream: \"{WATCHLIST}\" }}\n{exports}    ]\n  }}\n"
    )
}

fn of_probe(probe: &str, user: &str) -> String {
    let (delta, durable, report) = (delta(probe), durable(probe), report(probe));
    let question = bucket::QUESTION;
    format!(
        "  \"{probe}\" {{\n    users: [{user}]\n    imports: [\n\
         \x20     {{ service: {{ account: {ACCOUNT}, subject: \"{question}\" }} }}\n\
         \x20     {{ service: {{ account: {ACCOUNT}, subject: \"{delta}\" }} }}\n\
         \x20     {{ service: {{ account: {ACCOUNT}, subject: \"{report}\" }} }}\n\
         \x20     {{ stream: {{ account: {ACCOUNT}, subject: \"{WATCHLIST}\" }} }}\n\
         \x20     {{ stream: {{ account: {ACCOUNT}, subject: \"{durable}\" }} }}\n    ]\n  }}\n"
    )
}

/// Returns the configuration entry of a user: its key, and its permissions to publish and subscribe.
fn user(client: &str, key: &str) -> String {
    let inbox = format!("{}.>", inbox_prefix(client));
    let (publish, subscribe): (Vec<_>, _) = if client == COLLECTOR {
        let streams = ["$JS.API.>", "$JS.ACK.>", "$JS.FC.>", bucket::ENTRY];
        let publish = streams.into_iter().chain([WATCHLIST]).map(str::to_owned);
        (publish.chain([durable("*")]).collect(), vec![ALL_REPORTS.to_owned(), inbox])
    } else {
        let publish = vec![delta(client), report(client), bucket::QUESTION.to_owned()];
        (publish, vec![durable(client), WATCHLIST.to_owned(), inbox])
    };
    let (publish, subscribe) = (quoted(&publish), quoted(&subscribe));
    format!("{{ nkey: {key}, permissions: {{ publish: [{publish}], subscribe: [{subscribe}] }} }}")
}

fn quoted(subjects: &[String]) -> String {
    subjects.iter().map(|subject| format!("\"{subject}\"")).collect::<Vec<_>>().join(", ")
}
