//! Tests of the decoder on captures from other projects and from real exporters. The pairs are compared with those that
//! other decoders find. IPFIX files (RFC 5655) are compared with captures of the same messages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Cursor;
use std::net::SocketAddr;
use std::path::Path;

use srlg_input::capture::{Format, Reader};
use srlg_input::contact::Contact;
use srlg_input::flow::{Decoder, DecoderOptions, Reason, Timestamps};
use srlg_traffic::trace::recorded;

use crate::exports::build::{PLAIN, RECEIVED_NS, ipfix, plain, set, template10};
use crate::exports::{Datagram, Pair, counted, datagrams, datagrams_of, decode, decoder, pairs};

/// Exports that consist of several files, in the order in which they were sent.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "akvorado_multiplesamplingrates",
        &[
            "akvorado_multiplesamplingrates-template",
            "akvorado_multiplesamplingrates-options-template",
            "akvorado_multiplesamplingrates-options-data",
            "akvorado_multiplesamplingrates-data",
        ],
    ),
    ("akvorado_samplingrate", &["akvorado_samplingrate-template", "akvorado_samplingrate-data"]),
    (
        "akvorado_options+template+data",
        &[
            "akvorado_options-template",
            "akvorado_options-data",
            "akvorado_template",
            "akvorado_data",
        ],
    ),
    ("akvorado_icmp", &["akvorado_icmp-template", "akvorado_icmp-data"]),
];

/// Malformed exports that contain no decodable pair.
const WITHOUT_PAIRS: [&str; 3] =
    ["exatel_malformed-OT", "exatel_malformed_1", "exatel_malformed_2"];

/// Exports that all contain the same 7,055 pairs. [`SAMPLED`] lists sampled exports of these pairs, and the pair counts
/// that other decoders find.
const WHOLE: [&str; 5] = [
    "softflowd_synack_v5",
    "softflowd_synack_v9",
    "softflowd_synack_ipfix",
    "softflowd_synack_ipfix_biflow",
    "pmacctd_synack_v9",
];
const SAMPLED: [(&str, usize); 2] =
    [("softflowd_synack_v9_sampled10", 773), ("pmacctd_synack_sflow_1in4", 1906)];

fn truth(flows: &Path, name: &str) -> BTreeSet<Pair> {
    let path = flows.join("truth").join(format!("{name}.pairs.tsv"));
    let text = fs::read_to_string(path).unwrap();
    let pair = |line: &str| {
        let (source, destination) = line.split_once('\t').unwrap();
        (source.parse().unwrap(), destination.parse().unwrap())
    };
    text.lines().map(pair).collect()
}

fn export(flows: &Path, files: &[&str]) -> Vec<Datagram> {
    files.iter().flat_map(|file| datagrams(&flows.join(format!("{file}.pcap")))).collect()
}

fn decoded(flows: &Path, files: &[&str]) -> (Decoder, Vec<Contact>) {
    let mut decoder = decoder();
    let contacts = decode(&mut decoder, &export(flows, files));
    println!("{}: {}, {} pairs", files[0], decoder.counts(), pairs(&contacts).len());
    (decoder, contacts)
}

fn names(flows: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(flows).unwrap().map(|entry| entry.unwrap().path());
    let captures = entries.filter(|path| path.extension().is_some_and(|it| it == "pcap"));
    captures.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn every_capture_gives_exactly_the_pairs_that_are_in_it() {
    let Some(flows) = recorded("flows") else { return };
    let mut exports: BTreeMap<String, Vec<String>> =
        names(&flows).into_iter().map(|name| (name.clone(), vec![name])).collect();
    for (group, files) in GROUPS {
        files.iter().for_each(|file| assert!(exports.remove(*file).is_some(), "{file}"));
        exports.insert(group.to_owned(), files.iter().map(|file| (*file).to_owned()).collect());
    }
    for (name, files) in &exports {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let (decoder, contacts) = decoded(&flows, &files);
        let name = name.as_str();
        if let Some((_, count)) = SAMPLED.iter().find(|sampled| sampled.0 == name) {
            assert!(pairs(&contacts).is_subset(&truth(&flows, "synack")), "{name}");
            assert_eq!(pairs(&contacts).len(), *count, "{name}");
            continue;
        }
        let expected = match name {
            _ if WITHOUT_PAIRS.contains(&name) => BTreeSet::new(),
            _ if WHOLE.contains(&name) => truth(&flows, "synack"),
            _ => truth(&flows, name),
        };
        assert_eq!(pairs(&contacts), expected, "{name}: {}", decoder.counts());
    }
}

#[test]
fn records_are_those_that_other_decoders_count() {
    let Some(flows) = recorded("flows") else { return };
    // The first number counts flows and samples, and the second one options. In graylog_netflow9, records that arrived
    // before their template are included.
    for (files, flows_in_it, options) in [
        (&["akvorado_mpls"][..], 2, 1),
        (&["akvorado_nat"], 9, 0),
        (&["exatel_1"], 2, 2),
        (&["exatel_malformed_1"], 0, 0),
        (&["graylog_netflow5"], 4, 0),
        (&["graylog_netflow9"], 21, 1),
        (&["graylog_netgraph-netflow5"], 120, 0),
        (&["graylog_nprobe-netflow9"], 152, 2),
        (&["graylog_pmacctd-netflow5"], 42, 0),
        (&["pmacct100_ipfix_cisco"], 12, 0),
        (&["pmacct101_v9_cisco"], 51, 0),
        (&["pmacct102_v9_cisco_sampling"], 35, 0),
        (&["pmacct104_ipfix_ipv6_sampling_option"], 3, 1),
        (&["scapy_netflowv9"], 24, 1),
        (GROUPS[0].1, 12, 2),
        (GROUPS[1].1, 6, 0),
        (GROUPS[2].1, 4, 4),
        (GROUPS[3].1, 4, 0),
        (&["softflowd_synack_v5"], 7834, 0),
        (&["softflowd_synack_v9"], 7834, 16),
        (&["softflowd_synack_ipfix"], 7834, 16),
        (&["softflowd_synack_ipfix_biflow"], 7834, 19),
        (&["softflowd_synack_v9_sampled10"], 782, 2),
        (&["pmacctd_synack_v9"], 7833, 0),
        (&["pmacctd_synack_sflow_1in4"], 1990, 0),
    ] {
        let (decoder, _) = decoded(&flows, files);
        let counts = decoder.counts();
        let found = counts.of(Reason::Options);
        assert_eq!((counts.records - found, found), (flows_in_it, options), "{}", files[0]);
    }
}

#[test]
fn sampling_is_what_each_export_tells() {
    let Some(flows) = recorded("flows") else { return };
    let multiple: &[u32] = &[2000, 4000];
    for (files, rates) in [
        (&["akvorado_mpls"][..], &[10][..]),
        (&["akvorado_nat"], &[]),
        (&["akvorado_sflow_encap-vxlan"], &[1]),
        (&["akvorado_sflow_icmpv6"], &[1]),
        (&["akvorado_sflow_multiple-interfaces"], &[1024]),
        (&["akvorado_sflow_qinq"], &[4096]),
        (&["akvorado_sflow_sflow-ipv4-data"], &[256]),
        (&["graylog_netflow5"], &[100]),
        (&["pmacct102_v9_cisco_sampling"], &[]),
        // The options record states random sampling of 1 in 256 (elements 304, 309 and 310), although element 305 has
        // the value 1.
        (&["pmacct104_ipfix_ipv6_sampling_option"], &[256]),
        // The rate of 1 in 12 comes from 192.168.100.10, but the flows come from 192.168.100.1.
        (&["scapy_netflowv9"], &[]),
        (&["tcpdump_sflow_expanded"], &[1000]),
        (GROUPS[0].1, multiple),
        (GROUPS[1].1, &[2048]),
        (GROUPS[2].1, &[30000]),
        (&["softflowd_synack_v9"], &[1]),
        (&["softflowd_synack_v9_sampled10"], &[10]),
        (&["pmacctd_synack_sflow_1in4"], &[4]),
    ] {
        // If options follow the flows, they are known when the export is decoded a second time.
        let (mut decoder, _) = decoded(&flows, files);
        let contacts = decode(&mut decoder, &export(&flows, files));
        let found =
            contacts.iter().filter_map(|contact| contact.sampling).map(std::num::NonZeroU32::get);
        let expected: BTreeSet<u32> = rates.iter().copied().collect();
        assert_eq!(found.collect::<BTreeSet<u32>>(), expected, "{}", files[0]);
    }
}

#[test]
fn the_empty_direction_of_a_biflow_is_no_contact() {
    let Some(flows) = recorded("flows") else { return };
    let (decoder, contacts) = decoded(&flows, &["softflowd_synack_ipfix_biflow"]);
    let victim: std::net::IpAddr = "10.10.10.10".parse().unwrap();
    let is_reverse = |contact: &&Contact| contact.initiated == Some(false);
    assert_eq!(contacts.iter().filter(is_reverse).count(), 7_830);
    assert!(contacts.iter().filter(is_reverse).all(|contact| contact.source != victim.into()));
    assert_eq!(counted(&decoder, [Reason::NoPackets]), [7_834]);
}

#[test]
fn whole_exports_report_no_loss() {
    let Some(flows) = recorded("flows") else { return };
    for name in WHOLE.into_iter().chain(SAMPLED.map(|sampled| sampled.0)) {
        let (decoder, _) = decoded(&flows, &[name]);
        for (exporter, known) in decoder.exporters() {
            let losses = known.losses().unwrap();
            assert_eq!((losses.lost, losses.resets), (0, 0), "{name}: {exporter}");
        }
    }
}

const IPFIX: [&str; 3] =
    ["softflowd_synack_ipfix", "softflowd_synack_ipfix_biflow", "pmacct100_ipfix_cisco"];

fn messages(file: Vec<u8>) -> Vec<Datagram> {
    let mut reader = Reader::new(Cursor::new(file)).unwrap();
    assert_eq!(reader.format(), Format::IpfixFile);
    let messages = datagrams_of(&mut reader);
    assert_eq!(reader.truncation(), None);
    messages
}

/// Returns the contacts without their exporters, because an IPFIX file does not name exporters. Exporter clocks are
/// trusted, because an IPFIX file does not contain the times of receipt that a correction needs.
fn trusted(datagrams: &[Datagram]) -> Vec<Contact> {
    let options = DecoderOptions { timestamps: Timestamps::Trusted, ..DecoderOptions::default() };
    let mut contacts = decode(&mut Decoder::new(options).unwrap(), datagrams);
    contacts.iter_mut().for_each(|contact| contact.exporter = None);
    contacts
}

#[test]
fn a_file_gives_the_contacts_of_the_capture_that_it_is_made_of() {
    let Some(flows) = recorded("flows") else { return };
    for name in IPFIX {
        let capture = datagrams(&flows.join(format!("{name}.pcap")));
        let file: Vec<u8> = capture.iter().flat_map(|it| it.payload.clone()).collect();
        let expected = trusted(&capture);
        println!("{name}: {} messages, {} contacts", capture.len(), expected.len());
        assert!(!expected.is_empty(), "{name}");
        assert_eq!(trusted(&messages(file)), expected, "{name}");
    }
}

#[test]
fn messages_of_a_file_are_of_one_exporter_and_keep_their_templates() {
    let [first, second] = ["192.0.2.1", "192.0.2.3"].map(|host| plain(host, "192.0.2.2", 60, 1));
    let sets = [template10(256, &PLAIN), set(256, &first)];
    let file = [ipfix(0, 9, &sets), ipfix(1, 9, &[set(256, &second)])].concat();
    let mut decoder = decoder();
    let contacts = decode(&mut decoder, &messages(file));
    let found = contacts.iter().map(|contact| (contact.time_ns, contact.source.to_string()));
    let expected = ["192.0.2.1", "192.0.2.3"].map(|host| (RECEIVED_NS, host.to_owned()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let nowhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    assert_eq!(decoder.exporter(nowhere).unwrap().skew_ns(), 0, "received when exported");
}
