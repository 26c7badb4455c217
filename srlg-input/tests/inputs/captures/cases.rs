//! Tests of recorded packets with lengths of 0, with compressed protocol fields, with headers before IP and of various
//! link types, and of logs of several products. Other programs have listed the pairs of the packets.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use srlg_input::packet::Tunnels;
use srlg_traffic::trace::recorded;

use super::{drain, open};

/// Number of packets of each pair. It is `None` if the truth does not state it.
type Pairs = BTreeMap<(IpAddr, IpAddr), Option<u64>>;

fn truth(folder: &Path, name: &str) -> Pairs {
    let text = fs::read_to_string(folder.join("truth").join(name)).unwrap();
    let pair = |line: &str| {
        let mut fields = line.split('\t');
        let mut host = || fields.next()?.parse().ok();
        let hosts = (host().unwrap(), host().unwrap());
        (hosts, fields.next().map(|count| count.parse().unwrap()))
    };
    text.lines().map(pair).collect()
}

/// Asserts that a capture has the pairs in `truth`, and at least one. Returns the number of contacts.
fn check(folder: &Path, capture: &str, tunnels: Tunnels, truth: &Pairs) -> usize {
    let mut reader = open(folder, capture).with_tunnels(tunnels);
    let contacts = drain(&mut reader);
    let mut found = Pairs::new();
    for contact in &contacts {
        let count = found.entry((contact.source.into(), contact.destination.into())).or_default();
        *count = Some(count.unwrap_or_default() + 1);
    }
    assert!(!truth.is_empty() && found.keys().eq(truth.keys()), "{capture}: {found:?}");
    for (pair, count) in truth.iter().filter(|(_, count)| count.is_some()) {
        assert_eq!(found[pair], *count, "{capture}");
    }
    contacts.len()
}

/// Asserts that each of the captures `names`, which were made for this purpose, has five contacts with the pairs in its
/// truth.
fn check_own(folder: &Path, names: &[&str]) {
    for name in names {
        let truth = truth(folder, &format!("own_{name}.pairs.tsv"));
        let capture = format!("own/{name}.pcap");
        assert_eq!(check(folder, &capture, Tunnels::Outer, &truth), 5, "{capture}");
    }
}

#[test]
fn recorded_packets_that_a_card_has_yet_to_split_are_contacts() {
    let Some(folder) = recorded("cases") else { return };
    for name in ["tso_http", "bigtcp_ipv4", "bigtcp_ipv4_vxlan"] {
        let capture = format!("fetched/{name}.pcap");
        let truth = truth(&folder, &format!("{name}.pairs.tsv"));
        assert_eq!(check(&folder, &capture, Tunnels::Outer, &truth), 1, "{name}");
    }
    let truth = truth(&folder, "own_tso_total_length_0.pairs.tsv");
    assert_eq!(check(&folder, "own/tso_total_length_0.pcap", Tunnels::Outer, &truth), 5);
}

#[test]
fn the_volume_of_a_recorded_packet_of_big_tcp_is_its_frame_and_the_inner_hosts_are_found() {
    let Some(folder) = recorded("cases") else { return };
    // The frames have 80,066 and 80,116 bytes. The inner packet of the second follows 50 bytes of VXLAN.
    for (name, tunnels, source, octets) in [
        ("bigtcp_ipv4", Tunnels::Inner, "10.25.132.13", 80_052),
        ("bigtcp_ipv4_vxlan", Tunnels::Outer, "10.25.132.11", 80_102),
        ("bigtcp_ipv4_vxlan", Tunnels::Inner, "192.168.1.2", 80_052),
    ] {
        let mut reader = open(&folder, &format!("fetched/{name}.pcap")).with_tunnels(tunnels);
        let [contact] = drain(&mut reader)[..] else { panic!("{name}: {}", reader.counts()) };
        assert_eq!(contact.source.to_string(), source, "{name}");
        assert_eq!(contact.octets.map(u64::from), Some(octets), "{name}");
    }
}

#[test]
fn recorded_packets_of_ppp_with_compressed_protocols_are_contacts() {
    let Some(folder) = recorded("cases") else { return };
    for (kind, name, tunnels, contacts) in [
        ("fetched", "gre_ppp_pfc", Tunnels::Inner, 1_024),
        ("own", "gre_ppp_pfc", Tunnels::Inner, 5),
        ("own", "pppoe_pfc", Tunnels::Outer, 5),
    ] {
        let prefix = if kind == "own" { "own_" } else { "" };
        let truth = truth(&folder, &format!("{prefix}{name}.pairs.tsv"));
        let capture = format!("{kind}/{name}.pcap");
        assert_eq!(check(&folder, &capture, tunnels, &truth), contacts, "{capture}");
    }
}

#[test]
fn recorded_packets_in_tunnels_have_their_inner_hosts() {
    let Some(folder) = recorded("cases") else { return };
    for (capture, contacts) in [
        ("fetched/gre_wccp.pcap", 1),
        ("fetched/gre_in_udp.pcap", 14),
        ("fetched/teredo.pcap", 29),
        ("fetched/capwap.pcapng", 14),
        ("fetched/erspan_vxlan_gpe.pcap", 7),
        ("own/vxlan_gpe_4790.pcap", 5),
        ("own/gre_wccp_883e.pcap", 5),
    ] {
        let name = capture.replace("fetched/", "").replace('/', "_");
        let (name, _) = name.split_once('.').unwrap();
        let truth = truth(&folder, &format!("{name}.pairs.tsv"));
        assert_eq!(check(&folder, capture, Tunnels::Inner, &truth), contacts, "{capture}");
    }
}

#[test]
fn recorded_packets_behind_headers_of_switches_are_contacts() {
    let Some(folder) = recorded("cases") else { return };
    for (name, contacts) in [("vntag_suricata", 5), ("vntag_zeek", 3), ("fabricpath", 128)] {
        let mut truth = truth(&folder, &format!("{name}.pairs.tsv"));
        if name == "fabricpath" {
            // The program that counted 120 packets rejects eight IPv6 packets without a payload.
            truth.values_mut().for_each(|count| *count = None);
        }
        let capture = format!("fetched/{name}.pcap");
        assert_eq!(check(&folder, &capture, Tunnels::Outer, &truth), contacts, "{capture}");
    }
    let own =
        ["etag_8021br", "fabricpath_8903", "llc_snap", "macsec_integrity", "nsh_894f", "vlan_9200"];
    check_own(&folder, &own);
}

#[test]
fn recorded_packets_of_every_link_type_are_contacts() {
    let Some(folder) = recorded("cases") else { return };
    for (name, contacts) in [
        ("lt_brcm_tag", 17),
        ("lt_edsa", 6),
        ("lt_ipnet", 20),
        ("lt_ipoib", 26),
        ("lt_nflog", 13),
        ("lt_ppi", 3),
        ("usec_beyond", 59),
    ] {
        let truth = truth(&folder, &format!("{name}.pairs.tsv"));
        let capture = format!("fetched/{name}.pcap");
        assert_eq!(check(&folder, &capture, Tunnels::Outer, &truth), contacts, "{capture}");
    }
    check_own(&folder, &["ipnet_226", "ipoib_247", "nflog_239", "pflog_117"]);
}

#[test]
fn logs_of_several_products_have_their_pairs() {
    let Some(folder) = recorded("cases") else { return };
    for (log, contacts) in [
        ("zeek_ms_json.json", 2),
        ("zeek_nested_json.json", 2),
        ("zeek_mixed_path_json.json", 2),
        ("azure_json.json", 1),
        ("vpc_cloudwatch_log.log", 2),
        ("vpc_tgw_log.log", 1),
        ("vpc_crlf_log.log", 1),
        ("vpc_underscore_log.log", 1),
        ("vpc_quoted_csv.csv", 1),
    ] {
        let (name, _) = log.split_once('.').unwrap();
        let truth = truth(&folder, &format!("own_{name}.pairs.tsv"));
        let found = check(&folder, &format!("own/{log}"), Tunnels::Outer, &truth);
        assert_eq!(found, contacts, "{log}");
    }
}
