//! Test that ports tell requests from replies in recorded traffic, where TCP handshakes or logs show who began.

use std::collections::HashMap;
use std::fs;

use srlg_input::capture::Reader;
use srlg_input::contact::{Contact, Host, Port, Turn};
use srlg_traffic::trace::recorded;

use super::read_log;

/// The two ends of a conversation, in any order.
type Ends = [(Host, Port); 2];

fn ends(contact: &Contact) -> Option<Ends> {
    let mut ends =
        [(contact.source, contact.sender_port()?), (contact.destination, contact.port()?)];
    ends.sort_by_key(|(host, port)| (std::net::IpAddr::from(*host), *port));
    Some(ends)
}

/// Numbers of packets by what their ports say.
#[derive(Debug, Default)]
struct Verdicts {
    right: u64,
    wrong: u64,
    unknown: u64,
}

impl Verdicts {
    /// Compares what the ports of `contact` say with the truth.
    fn judge(&mut self, mut contact: Contact, is_request: bool) {
        (contact.initiated, contact.tcp_flags) = (None, None);
        match contact.turn() {
            None => self.unknown += 1,
            Some(turn) if matches!(turn, Turn::Request(_)) == is_request => self.right += 1,
            Some(_) => self.wrong += 1,
        }
    }
}

#[test]
fn ports_agree_with_handshakes_and_logs() {
    let (mut of_packets, mut of_logs) = (Verdicts::default(), Verdicts::default());
    for (folder, name) in [("captures", ""), ("cases", "fetched")] {
        let Some(folder) = recorded(folder) else { return };
        for entry in fs::read_dir(folder.join(name)).unwrap() {
            // Several cases are damaged on purpose, and others are no captures.
            let file = fs::File::open(entry.unwrap().path()).unwrap();
            let Ok(mut reader) = Reader::new(file) else { continue };
            let mut contacts = Vec::new();
            while let Ok(Some(block)) = reader.next_contacts() {
                contacts.extend_from_slice(block);
            }
            judge_packets(&contacts, &mut of_packets);
        }
    }
    for log in ["mac", "fabric", "teredo_ipv6", "renamed_fields"] {
        let Some((contacts, _)) = read_log(&format!("zeek_conn_{log}.log")) else { return };
        for contact in contacts {
            of_logs.judge(contact, contact.initiated == Some(true));
        }
    }
    println!("packets: {of_packets:?}, logs: {of_logs:?}");
    for of in [of_packets, of_logs] {
        assert!(of.right > 100 && of.right >= 49 * of.wrong, "less than 98 % is right: {of:?}");
    }
}

/// Compares what the ports of TCP packets say with the handshake of their connection. Packets whose flags tell are left
/// out.
fn judge_packets(contacts: &[Contact], of: &mut Verdicts) {
    let mut clients: HashMap<Ends, (Host, Port)> = HashMap::new();
    for contact in contacts.iter().filter(|contact| contact.is_syn_only()) {
        if let (Some(ends), Some(port)) = (ends(contact), contact.sender_port()) {
            clients.entry(ends).or_insert((contact.source, port));
        }
    }
    for contact in contacts.iter().filter(|contact| contact.is_initiated().is_none()) {
        let client = ends(contact).and_then(|ends| clients.get(&ends));
        if let (Some(client), Some(port)) = (client, contact.sender_port()) {
            of.judge(*contact, *client == (contact.source, port));
        }
    }
}
