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

use std::fmt;

use super::PART_BYTES;
use crate::network::bucket;
use crate::network::subjects::{
    ALL_REPORTS, COLLECTOR, WATCHLIST, durable, inbox_prefix, report, slice,
};

/// Part of the maximum message size that is reserved for headers, in bytes.
pub(super) const HEADROOM: usize = 4096;

/// Name of the account that the collector and the streams share. A probe's account has the name of the probe. Names of
/// probes are in lower case, so no probe has an account with this name.
const ACCOUNT: &str = "SRLG";

/// The broker's configuration file. Its accounts can change, and the text around them is kept.
#[derive(Debug, PartialEq)]
pub(super) struct Conf {
    /// Text before the accounts.
    before: String,
    /// Accounts of the probes.
    pub(super) probes: Vec<Account>,
    /// Public key of the collector.
    collector: String,
    /// Text after the accounts.
    after: String,
}

/// Account of a probe.
#[derive(Debug, PartialEq)]
pub(super) struct Account {
    /// Name of the probe.
    pub(super) probe: String,
    /// Public key of the probe.
    pub(super) key: String,
}

/// Text between the settings of the broker and its accounts.
const START: &str = "\naccounts {\n";

/// Text after the last account.
const END: &str = "\n}\n";

impl Conf {
    /// Returns the configuration of a broker that listens on `port`. `collector` is the public key of the collector.
    pub(super) fn new(port: u16, probes: Vec<Account>, collector: String) -> Self {
        let max_payload = PART_BYTES + HEADROOM;
        let before = format!(
            "# Created by srlg setup. Paths are relative to the folder in which the broker is started:\n\
             #   cd FOLDER && nats-server -c nats.conf\n\
             server_name: srlg\n\
             host: 0.0.0.0\n\
             port: {port}\n\
             max_payload: {max_payload}\n\
             jetstream {{ store_dir: jetstream }}\n\
             tls {{ cert_file: server.pem, key_file: server.key, timeout: 5 }}\n\
             authorization {{ timeout: 5 }}"
        );
        Self { before, probes, collector, after: String::new() }
    }

    /// Returns the configuration in `text`, or `None` if its accounts differ from those that this program writes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (before, rest) = text.split_once(START)?;
        let (accounts, after) = rest.split_once(END)?;
        let (mut name, mut probes) = (None, Vec::new());
        for line in accounts.lines() {
            if let Some(account) = line.strip_suffix(" {") {
                name = Some(account.trim().trim_matches('"').to_owned());
            } else if let Some((_, key)) = line.split_once("nkey: ") {
                let key = key.split_once(',')?.0.to_owned();
                probes.push(Account { probe: name.take()?, key });
            }
        }
        let collector = probes.pop()?.key;
        let [before, after] = [before, after].map(str::to_owned);
        let conf = Self { before, probes, collector, after };
        (conf.to_string() == text).then_some(conf)
    }
}

impl fmt::Display for Conf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, probes, collector, after } = self;
        let accounts =
            probes.iter().map(of_probe).collect::<String>() + &of_collector(probes, collector);
        write!(f, "{before}{START}{accounts}{END}{after}")
    }
}

/// Returns the configuration entry of the account that the collector and the streams share. The account exports each
/// probe's subjects to that probe.
fn of_collector(probes: &[Account], key: &str) -> String {
    let export = |Account { probe, .. }: &Account| {
        let (slice, durable, report) = (slice(probe), durable(probe), report(probe));
        format!(
            "      {{ service: \"{slice}\", accounts: [\"{probe}\"] }}\n\
             \x20     {{ service: \"{report}\", accounts: [\"{probe}\"] }}\n\
             \x20     {{ stream: \"{durable}\", accounts: [\"{probe}\"] }}\n"
        )
    };
    let exports = probes.iter().map(export).collect::<String>();
    let (question, user) = (bucket::QUESTION, user(COLLECTOR, key));
    format!(
        "  {ACCOUNT} {{\n    jetstream: enabled\n    users: [{user}]\n    exports: [\n\
         \x20     {{ service: \"{question}\" }}\n\
         \x20     {{ stream: \"{WATCHLIST}\" }}\n{exports}    ]\n  }}"
    )
}

fn of_probe(Account { probe, key }: &Account) -> String {
    let (slice, durable, report) = (slice(probe), durable(probe), report(probe));
    let (question, user) = (bucket::QUESTION, user(probe, key));
    format!(
        "  \"{probe}\" {{\n    users: [{user}]\n    imports: [\n\
         \x20     {{ service: {{ account: {ACCOUNT}, subject: \"{question}\" }} }}\n\
         \x20     {{ service: {{ account: {ACCOUNT}, subject: \"{slice}\" }} }}\n\
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
        let publish = vec![slice(client), report(client), bucket::QUESTION.to_owned()];
        (publish, vec![durable(client), WATCHLIST.to_owned(), inbox])
    };
    let (publish, subscribe) = (quoted(&publish), quoted(&subscribe));
    format!("{{ nkey: {key}, permissions: {{ publish: [{publish}], subscribe: [{subscribe}] }} }}")
}

fn quoted(subjects: &[String]) -> String {
    subjects.iter().map(|subject| format!("\"{subject}\"")).collect::<Vec<_>>().join(", ")
}
