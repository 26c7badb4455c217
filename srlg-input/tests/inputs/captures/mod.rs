//! Tests of the reader on captures and logs from other tools. The results are compared with those of an independent
//! reader and with known facts about each file.

mod cases;
mod generated;
mod oracle;
mod tunnels;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use srlg_input::capture::{CaptureError, Cause, Format, PacketCounts, Reader, Skip, Truncation};
use srlg_input::contact::Contact;
use srlg_traffic::trace::recorded;

/// File name, packet count, contact count, and count of skipped packets by reason.
type Known = (&'static str, u64, u64, &'static [(&'static str, u64)]);

fn drain(reader: &mut Reader) -> Vec<Contact> {
    let mut contacts = Vec::new();
    while let Some(block) = reader.next_contacts().expect("memory does not fail") {
        contacts.extend_from_slice(block);
    }
    contacts
}

fn open(folder: &Path, name: &str) -> Reader {
    Reader::new(fs::File::open(folder.join(name)).unwrap()).unwrap()
}

fn unpacked(name: &str, file: Vec<u8>) -> Vec<u8> {
    if !name.ends_with(".gz") {
        return file;
    }
    let mut content = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(&file[..]), &mut content).unwrap();
    content
}

#[test]
fn every_capture_reads_like_the_oracle_and_no_payload_but_of_ipfix_is_a_file() {
    let Some(folder) = recorded("captures") else { return };
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let file = fs::read(&path).unwrap();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("md") => {}
            Some("dat") if name.contains("ipfix") => is_whole_messages(&name, &file),
            Some("dat") => {
                let outcome = Reader::new(std::io::Cursor::new(file));
                assert!(matches!(outcome, Err(CaptureError::UnknownFormat { .. })), "{name}");
            }
            _ => compare(&name, file),
        }
    }
}

/// Asserts that an IPFIX payload is read as a valid IPFIX file.
fn is_whole_messages(name: &str, file: &[u8]) {
    let mut reader = Reader::new(std::io::Cursor::new(file.to_vec())).unwrap();
    let mut read = Vec::new();
    while let Some(message) = reader.next_datagram().unwrap() {
        read.extend_from_slice(message.payload);
    }
    assert_eq!(read, file, "{name}");
    let expected = if name == "payload_ipfix.dat" { 3 } else { 1 };
    assert_eq!(reader.counts().packets, expected, "{name}");
    assert_eq!((reader.format(), reader.truncation()), (Format::IpfixFile, None), "{name}");
}

fn compare(name: &str, file: Vec<u8>) {
    let mut reader = Reader::new(std::io::Cursor::new(file.clone())).unwrap();
    let contacts = drain(&mut reader);
    let (packets, cut) = oracle::read(&unpacked(name, file));
    let outers: Vec<_> = packets.iter().filter_map(|packet| packet.ok()).collect();
    assert_eq!(reader.counts().packets, packets.len() as u64, "packets of {name}");
    for reason in Skip::ALL {
        let skipped = packets.iter().filter(|packet| packet.err() == Some(reason.name())).count();
        assert_eq!(reader.counts().skipped(reason), skipped as u64, "{reason:?} of {name}");
    }
    let expected: Vec<_> = outers.iter().map(|(time_ns, outer)| outer.contact(*time_ns)).collect();
    assert_eq!(contacts.iter().copied().map(oracle::bare).collect::<Vec<_>>(), expected, "{name}");
    for (contact, (_, outer)) in contacts.iter().zip(&outers) {
        assert!(outer.agrees(contact), "{name}: {contact:?}");
    }
    assert_eq!(reader.truncation().is_some(), cut, "{name}");
    let [v4, v6] = [IpAddr::is_ipv4, IpAddr::is_ipv6].map(|family| pairs(&contacts, family));
    println!("{name}: {}; pairs: {} IPv4, {} IPv6", reader.counts(), v4.len(), v6.len());
}

fn pairs(contacts: &[Contact], family: fn(&IpAddr) -> bool) -> BTreeSet<(IpAddr, IpAddr)> {
    let pairs = contacts.iter().map(|contact| (contact.source.into(), contact.destination.into()));
    pairs.filter(|(source, destination)| family(source) && family(destination)).collect()
}

#[test]
fn counts_are_those_known_of_each_file() {
    let Some(folder) = recorded("captures") else { return };
    let known: [Known; 7] = [
        ("pcap_usec_ddos_synack.pcap", 8_000, 7_996, &[("not-ip", 4)]),
        ("truncated_mid_packet.pcap", 1_264, 1_262, &[("not-ip", 2)]),
        ("pcapng_ipv4_ipv6_mixed.pcapng", 246, 246, &[]),
        ("pcapng_ipv6_multicast.pcapng", 885, 882, &[("not-ip", 3)]),
        ("vlan_ipv6.pcap", 1, 1, &[]),
        ("sflow_v5_counters.pcap", 30, 30, &[]),
        ("netflow_v9_udp.pcap", 10, 10, &[]),
    ];
    for (name, packets, contacts, skips) in known {
        let mut reader = open(&folder, name);
        drain(&mut reader);
        let counts = reader.counts();
        assert_eq!((counts.packets, counts.contacts), (packets, contacts), "{name}");
        let seen: BTreeMap<_, _> = Skip::ALL
            .iter()
            .map(|reason| (reason.name(), counts.skipped(*reason)))
            .filter(|(_, count)| *count > 0)
            .collect();
        assert_eq!(seen, skips.iter().copied().collect(), "{name}");
    }
}

#[test]
fn content_decides_the_format_and_a_cut_file_names_its_last_record() {
    let Some(folder) = recorded("captures") else { return };
    let open = |name| open(&folder, name);
    assert_eq!(open("pcap_usec_misnamed_syn_optack.pcapng").format(), Format::Pcap);
    assert_eq!(open("broken_mpls_6in6.pcap.gz").format(), Format::Pcap);
    assert_eq!(open("pcapng_many_interfaces.pcapng").format(), Format::PcapNg);

    let mut cut = open("truncated_mid_packet.pcap");
    let contacts = drain(&mut cut);
    let whole = drain(&mut open("pcap_usec_ddos_synack.pcap"));
    assert_eq!(contacts[..], whole[..contacts.len()]);
    let truncation = cut.truncation().expect("the file is cut");
    assert_eq!(*truncation, Truncation { offset: 99_931, cause: Cause::EndOfInput });
}

#[test]
fn captures_have_the_distinct_directed_pairs_that_were_counted_elsewhere() {
    let Some(folder) = recorded("captures") else { return };
    let read = |name| drain(&mut open(&folder, name));
    let flood = read("pcap_usec_ddos_synack.pcap");
    assert_eq!(pairs(&flood, IpAddr::is_ipv4).len(), 7_055);
    assert_eq!(pairs(&flood, IpAddr::is_ipv6).len(), 0);

    let mixed = read("pcapng_ipv4_ipv6_mixed.pcapng");
    assert_eq!(mixed.iter().filter(|contact| contact.source.as_v4().is_none()).count(), 86);
    assert_eq!(pairs(&mixed, IpAddr::is_ipv6).len(), 20);

    let multicast = pairs(&read("pcapng_ipv6_multicast.pcapng"), IpAddr::is_ipv6);
    let mut sources = BTreeMap::new();
    for (_, group) in &multicast {
        *sources.entry(group).or_insert(0) += 1;
    }
    assert_eq!(sources.into_values().max(), Some(61), "sources of the busiest group");
}

/// Returns the number of distinct directed pairs in `contacts` for IPv4 and for IPv6.
fn families<'a>(contacts: impl Iterator<Item = &'a Contact>) -> (usize, usize) {
    let contacts: Vec<_> = contacts.copied().collect();
    (pairs(&contacts, IpAddr::is_ipv4).len(), pairs(&contacts, IpAddr::is_ipv6).len())
}

fn read_log(name: &str) -> Option<(Vec<Contact>, PacketCounts)> {
    let text = fs::read_to_string(recorded("flows/logs")?.join(name)).unwrap();
    // These logs are baselines of Zeek's own tests, in which all times were replaced by a fixed text.
    let text = text.replace("XXXXXXXXXX.XXXXXX", "1500000000.000000");
    let mut reader = Reader::new(std::io::Cursor::new(text)).unwrap();
    let contacts = drain(&mut reader);
    assert_eq!(reader.truncation(), None);
    Some((contacts, reader.counts().clone()))
}

#[test]
fn conversations_of_zeek_are_found_under_every_name_of_their_fields() {
    // The columns are the number of rows, the pairs of originator and responder, and the pairs in both directions. In
    // the Teredo log, one IPv4 pair does not count because its originator sent nothing.
    for (name, rows, began, all) in [
        ("zeek_conn_mac.log", 1_333, (1, 0), (1, 0)),
        ("zeek_conn_fabric.log", 64, (15, 15), (15, 15)),
        ("zeek_conn_teredo_ipv6.log", 21, (8, 3), (15, 4)),
        ("zeek_conn_renamed_fields.log", 34, (11, 2), (15, 2)),
    ] {
        let Some((contacts, counts)) = read_log(name) else { return };
        let originated = contacts.iter().filter(|contact| contact.initiated == Some(true));
        assert_eq!(families(originated), began, "{name}");
        assert_eq!(families(contacts.iter()), all, "{name}");
        assert_eq!(counts.packets, 2 * rows, "{name}: {counts}");
        assert_eq!(counts.skipped(Skip::NoPackets), counts.packets - counts.contacts, "{name}");
    }
}

#[test]
fn flows_of_a_vpc_are_those_with_addresses() {
    let Some((contacts, counts)) = read_log("aws_vpc_v2.log") else { return };
    assert_eq!(families(contacts.iter()), (4, 1));
    assert_eq!((counts.packets, counts.skipped(Skip::NoHosts)), (7, 2));
}
