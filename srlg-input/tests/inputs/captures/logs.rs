//! Logs that other tools wrote, against the pairs that were counted in them by hand.

use std::collections::BTreeSet;
use std::fs;

use srlg_input::capture::{Counts, Reader, Skip};
use srlg_input::contact::Contact;

use crate::captures::{drain, folder};

/// Directed pairs of IPv4 and of IPv6 among `contacts`.
fn pairs<'a>(contacts: impl Iterator<Item = &'a Contact>) -> (usize, usize) {
    let pairs: BTreeSet<_> = contacts.map(|it| (it.source, it.destination)).collect();
    let v4 = pairs.iter().filter(|(source, _)| source.is_ipv4()).count();
    (v4, pairs.len() - v4)
}

fn read(name: &str) -> Option<(Vec<Contact>, Counts)> {
    let text = fs::read_to_string(folder("flows/logs")?.join(name)).unwrap();
    // These logs are baselines of tests, in which all times were made alike.
    let text = text.replace("XXXXXXXXXX.XXXXXX", "1500000000.000000");
    let mut reader = Reader::new(std::io::Cursor::new(text)).unwrap();
    let contacts = drain(&mut reader);
    assert_eq!(reader.truncation(), None);
    Some((contacts, reader.counts().clone()))
}

#[test]
fn conversations_of_zeek_are_found_under_every_name_of_their_fields() {
    // Rows; pairs of originators with their responders; pairs of both directions. Of the Teredo log a
    // pair of IPv4 whose originator sent nothing is none.
    for (name, rows, began, all) in [
        ("zeek_conn_mac.log", 1_333, (1, 0), (1, 0)),
        ("zeek_conn_fabric.log", 64, (15, 15), (15, 15)),
        ("zeek_conn_teredo_ipv6.log", 21, (8, 3), (15, 4)),
        ("zeek_conn_renamed_fields.log", 34, (11, 2), (15, 2)),
    ] {
        let Some((contacts, counts)) = read(name) else { return };
        let originated = contacts.iter().filter(|contact| contact.initiated == Some(true));
        assert_eq!(pairs(originated), began, "{name}");
        assert_eq!(pairs(contacts.iter()), all, "{name}");
        assert_eq!(counts.packets, 2 * rows, "{name}: {counts}");
        assert_eq!(counts.skipped(Skip::NoPackets), counts.packets - counts.contacts, "{name}");
    }
}

#[test]
fn flows_of_a_vpc_are_those_with_addresses() {
    let Some((contacts, counts)) = read("aws_vpc_v2.log") else { return };
    assert_eq!(pairs(contacts.iter()), (4, 1));
    assert_eq!((counts.packets, counts.skipped(Skip::NoHosts)), (7, 2));
}
