//! The reader on captures from other tools, compared with an independent reading and with what
//! is known about each file.
//!
//! The files are not part of this repository. `SRLG_DATA` names the folder that holds
//! `captures/`; without it `../shared/data` beside the workspace is tried, and if that is absent
//! the tests pass with a note.

mod oracle;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use srlg_capture::{CaptureError, Cause, Contact, Format, Reader, Skip, Truncation};

/// File, packets, contacts, skips by name.
type Known = (&'static str, u64, u64, &'static [(&'static str, u64)]);

fn folder() -> Option<PathBuf> {
    let beside = || [env!("CARGO_MANIFEST_DIR"), "..", "..", "shared", "data"].iter().collect();
    let folder = std::env::var_os("SRLG_DATA").map_or_else(beside, PathBuf::from).join("captures");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: SRLG_DATA is absent");
    None
}

fn drain(reader: &mut Reader) -> Vec<Contact> {
    std::iter::from_fn(|| reader.next_contact().expect("memory does not fail")).collect()
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
fn every_capture_reads_like_the_oracle_and_no_payload_is_a_capture() {
    let Some(folder) = folder() else { return };
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let file = fs::read(&path).unwrap();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("md") => {}
            Some("dat") => {
                let outcome = Reader::new(std::io::Cursor::new(file));
                assert!(matches!(outcome, Err(CaptureError::UnknownFormat { .. })), "{name}");
            }
            _ => compare(&name, file),
        }
    }
}

fn compare(name: &str, file: Vec<u8>) {
    let mut reader = Reader::new(std::io::Cursor::new(file.clone())).unwrap();
    let contacts = drain(&mut reader);
    let (packets, cut) = oracle::read(&unpacked(name, file));
    let expected: Vec<Contact> = packets
        .iter()
        .filter_map(|packet| packet.ok())
        .map(|(time_ns, source, destination)| Contact {
            time_ns,
            source: source.to_bits(),
            destination: destination.to_bits(),
        })
        .collect();
    println!("{name}: {}", reader.counts());
    assert_eq!(reader.counts().packets, packets.len() as u64, "packets of {name}");
    for reason in Skip::ALL {
        let skipped = packets.iter().filter(|packet| **packet == Err(reason.name())).count();
        assert_eq!(reader.counts().skipped(reason), skipped as u64, "{reason:?} of {name}");
    }
    assert_eq!(contacts, expected, "{name}");
    assert_eq!(reader.truncation().is_some(), cut, "{name}");
}

#[test]
fn counts_are_those_known_of_each_file() {
    let Some(folder) = folder() else { return };
    let known: [Known; 7] = [
        ("pcap_usec_ddos_synack.pcap", 8_000, 7_996, &[("not-ip", 4)]),
        ("truncated_mid_packet.pcap", 1_264, 1_262, &[("not-ip", 2)]),
        ("pcapng_ipv4_ipv6_mixed.pcapng", 246, 160, &[("ipv6", 86)]),
        ("pcapng_ipv6_multicast.pcapng", 885, 525, &[("not-ip", 3), ("ipv6", 357)]),
        ("vlan_ipv6.pcap", 1, 0, &[("ipv6", 1)]),
        ("sflow_v5_counters.pcap", 30, 30, &[]),
        ("netflow_v9_udp.pcap", 10, 10, &[]),
    ];
    for (name, packets, contacts, skips) in known {
        let mut reader = Reader::new(fs::File::open(folder.join(name)).unwrap()).unwrap();
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
    let Some(folder) = folder() else { return };
    let open = |name| Reader::new(fs::File::open(folder.join(name)).unwrap()).unwrap();
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
fn the_flood_has_the_distinct_directed_pairs_that_were_counted_elsewhere() {
    let Some(folder) = folder() else { return };
    let file = fs::File::open(folder.join("pcap_usec_ddos_synack.pcap")).unwrap();
    let contacts = drain(&mut Reader::new(file).unwrap());
    let pairs: HashSet<_> =
        contacts.iter().map(|c| (Ipv4Addr::from(c.source), c.destination)).collect();
    assert_eq!(pairs.len(), 7_055);
}
