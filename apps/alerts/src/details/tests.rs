use std::net::{IpAddr, Ipv4Addr};
use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};

use proptest::prelude::*;
use serde_json::{Value, json};
use srlg_input::contact::{Contact, TCP, TCP_ACK, TCP_SYN};

use super::{
    Details, EXPORTERS, HOSTS, HostDetails, HostExporters, MOST_PEERS, Rates, shares::MOST_SHARES,
};
use crate::notification::InterfaceShare;

const SEED: u64 = 7;

fn host(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0000 + number).into()
}

fn take(details: &mut Details, peer: IpAddr, contact: &Contact) {
    details.add((host(0).into(), peer.into()), contact);
}

fn contact(peer: u32, port: u16) -> Contact {
    let mut contact = Contact::new(0, host(peer).into(), host(0).into());
    (contact.protocol, contact.destination_port) = (Some(TCP), Some(port));
    (contact.tcp_flags, contact.exporter) = (NonZeroU8::new(TCP_SYN), Some(host(9).into()));
    contact.ingress = NonZeroU32::new(if port == 445 { 7 } else { 70 });
    contact
}

#[test]
fn a_sample_is_uniform_bounded_and_starts_when_a_host_is_looked_at() {
    let mut details = Details::new(SEED);
    take(&mut details, host(1), &contact(1, 445));
    details.track_hosts(&[host(0)], 5_000);
    assert_eq!(details.of(host(0)), None, "nothing was seen yet");
    // Each peer contacts the host twice, but may be in the sample only once.
    for peer in 1..=2_000 {
        let port = if peer % 4 == 0 { 80 } else { 445 };
        take(&mut details, host(peer), &contact(peer, port));
        take(&mut details, host(peer), &contact(peer, port));
    }
    let detail = details.of(host(0)).unwrap();
    assert_eq!((detail.since_ms, detail.peers.len(), detail.syn_only), (5_000, MOST_PEERS, 1.0));
    assert_eq!(detail.exporters, [host(9)]);
    assert_eq!(detail.ports, [("tcp/445".to_owned(), 0.75), ("tcp/80".to_owned(), 0.25)]);
    assert_eq!(detail.prefixes.len(), MOST_SHARES);
    let interface =
        |interface, share| InterfaceShare { exporter: host(9), interface, name: None, share };
    assert_eq!(detail.interfaces, [interface(7, 0.75), interface(70, 0.25)]);
    let first = detail.peers.iter().filter(|peer| **peer <= host(1_000)).count();
    // The sample holds 32 of 2,000 peers, so 16 ± 3 are expected; the bounds are five standard deviations.
    assert!((1..32).contains(&first), "{first}");
    let distinct: std::collections::HashSet<_> = detail.peers.iter().collect();
    assert_eq!(distinct.len(), MOST_PEERS);
}

#[test]
fn ports_are_listed_if_they_stand_out() {
    let mut details = Details::new(SEED);
    details.track_hosts(&[host(0)], 5_000);
    // Half of the contacts are a reflection from udp/123 to all ports, and a tenth are pings.
    for peer in 1..=2_000 {
        let mut contact = contact(peer, peer as u16);
        let is_ntp = peer % 2 == 0;
        contact.source_port = Some(if is_ntp { 123 } else { 10_000 + peer as u16 });
        contact.protocol = Some(17);
        if peer % 10 == 5 {
            (contact.protocol, contact.source_port, contact.destination_port) =
                (Some(1), None, None);
        }
        take(&mut details, host(peer), &contact);
    }
    let detail = details.of(host(0)).unwrap();
    assert_eq!(detail.ports, [], "no destination port is frequent");
    assert_eq!(detail.source_ports, [("udp/123".to_owned(), 0.5)]);
    // Contacts without ports are listed by their protocol, but only once.
    let mut pings = Details::new(SEED);
    pings.track_hosts(&[host(0)], 5_000);
    let mut ping = contact(1, 0);
    (ping.protocol, ping.destination_port) = (Some(1), None);
    take(&mut pings, host(1), &ping);
    let detail = pings.of(host(0)).unwrap();
    assert_eq!((detail.ports, detail.source_ports), (vec![("icmp".to_owned(), 1.0)], Vec::new()));
}

#[test]
fn hosts_beyond_the_bound_are_not_looked_at() {
    let mut details = Details::new(SEED);
    let hosts: Vec<IpAddr> = (0..1_000).map(host).collect();
    details.track_hosts(&hosts, 0);
    assert_eq!(details.hosts.len(), HOSTS);
    assert!(details.hosts.contains_key(&host(0)) && !details.hosts.contains_key(&host(256)));
    details.track_hosts(&hosts[255..257], 1);
    assert_eq!(details.hosts.len(), 2);
    assert_eq!(details.hosts[&host(255)].since_ms, 0);
    assert_eq!(details.hosts[&host(256)].since_ms, 1);
}

fn sent(peers: &[u32]) -> HostDetails {
    let mut details = Details::new(SEED);
    details.track_hosts(&[host(0)], 5_000);
    peers.iter().for_each(|peer| take(&mut details, host(*peer), &contact(*peer, 445)));
    let text = serde_json::to_string(details.get(host(0)).unwrap()).unwrap();
    serde_json::from_str(&text).unwrap()
}

proptest! {
    #[test]
    fn samples_of_several_sites_are_the_sample_of_their_union(
        sites in prop::collection::vec(prop::collection::vec(1..200_u32, 1..100), 1..4),
    ) {
        let sent_by_each: Vec<HostDetails> = sites.iter().map(|peers| sent(peers)).collect();
        let together = HostDetails::merge_all(SEED, &sent_by_each).unwrap();
        let alone = HostDetails::merge_all(SEED, [&sent(&sites.concat())]).unwrap();
        prop_assert_eq!(together.peers, alone.peers);
        prop_assert_eq!(together.ports, [("tcp/445".to_owned(), 1.0)]);
        prop_assert_eq!((together.since_ms, together.syn_only), (5_000, 1.0));
    }
}

/// Returns the longest JSON of a host's details: all lists are full, and every address and number has its maximum
/// length.
fn longest() -> Value {
    let address = |at: usize| format!("2001:1db8:1234:5678:9abc:def0:1234:{:x}", 0x1000 + at);
    let addresses = |count| (0..count).map(address).collect::<Vec<_>>();
    let port = |at: u16| json!([{ "protocol": 200 + at, "port": 60_000 + at }, u64::MAX]);
    let prefix = |at: u16| json!([format!("2001:1db8:{:x}::/48", 0x1000 + at), u64::MAX]);
    let slot =
        |at: u64| json!({ "number": u64::MAX - at, "packets": u64::MAX, "octets": u64::MAX });
    let interface = |at: usize| json!([{ "exporter": address(at), "index": u32::MAX }, u64::MAX]);
    let attempts: Vec<_> = (0..32).map(|at: u64| (u64::MAX - at, false)).collect();
    json!({
        "since_ms": u64::MAX,
        "peers": addresses(MOST_PEERS),
        "exporters": addresses(EXPORTERS),
        "shares": {
            "contacts": u64::MAX,
            "syn_only": u64::MAX,
            "requests": u64::MAX,
            "replies": u64::MAX,
            "without_port": u64::MAX,
            "attempts": { "now": attempts, "before": attempts },
            "ports": { "counts": (0..16).map(port).collect::<Vec<_>>(), "all": u64::MAX },
            "source_ports": { "counts": (0..16).map(port).collect::<Vec<_>>(), "all": u64::MAX },
            "prefixes": { "counts": (0..16).map(prefix).collect::<Vec<_>>(), "all": u64::MAX },
            "interfaces": { "counts": (0..16).map(interface).collect::<Vec<_>>(), "all": u64::MAX },
        },
        "volume": {
            "since_ms": u64::MAX,
            "whole_since_ms": u64::MAX,
            "slots": (0..16).map(slot).collect::<Vec<_>>(),
            "last": { "any_ms": u64::MAX, "sampled_ms": u64::MAX, "unknown_ms": u64::MAX, "flow_ms": u64::MAX },
            "is_partial": false,
        },
    })
}

#[test]
fn the_longest_details_are_at_most_11_kb() {
    let details: HostDetails = serde_json::from_value(longest()).unwrap();
    let text = serde_json::to_string(&details).unwrap();
    assert!((9_000..=11_000).contains(&text.len()), "{}", text.len());
    assert_eq!(serde_json::from_str::<HostDetails>(&text).unwrap(), details);
}

#[test]
fn longer_lists_are_refused() {
    for (list, most) in [
        ("/peers", MOST_PEERS),
        ("/exporters", EXPORTERS),
        ("/shares/ports/counts", 16),
        ("/shares/source_ports/counts", 16),
        ("/shares/prefixes/counts", 16),
        ("/shares/interfaces/counts", 16),
        ("/volume/slots", 16),
    ] {
        let mut details = longest();
        let items = details.pointer_mut(list).unwrap().as_array_mut().unwrap();
        items.push(items[0].clone());
        let error = serde_json::from_value::<HostDetails>(details).unwrap_err().to_string();
        let expected = format!("invalid length {}, expected at most {most}", most + 1);
        assert_eq!(error, expected, "{list}");
    }
}

#[test]
fn numbers_of_a_faulty_probe_give_shares_of_at_most_1() {
    let full: HostDetails = serde_json::from_value(longest()).unwrap();
    let mut odd = longest();
    let shares = &mut odd["shares"];
    for list in ["ports", "source_ports", "prefixes", "interfaces"] {
        shares[list]["all"] = json!(0);
    }
    shares["contacts"] = json!(1);
    let odd: HostDetails = serde_json::from_value(odd).unwrap();
    for details in [&[&odd][..], &[&full, &odd], &[&full, &full]] {
        let detail = HostDetails::merge_all(SEED, details.iter().copied()).unwrap();
        assert_eq!((detail.since_ms, detail.syn_only), (u64::MAX, 1.0));
        assert_eq!((detail.peers.len(), detail.exporters.len()), (MOST_PEERS, EXPORTERS));
        let ports = detail.ports.iter().chain(&detail.source_ports).map(|(_, share)| *share);
        let shares = ports.chain(detail.prefixes.iter().map(|(_, it)| *it));
        let shares = shares.chain(detail.interfaces.iter().map(|it| it.share));
        assert_eq!(shares.collect::<Vec<_>>(), [1.0; 4 * MOST_SHARES]);
    }
}

#[test]
fn a_host_has_rates_if_it_is_tracked() {
    let mut details = Details::new(SEED);
    details.track_hosts(&[host(0), host(1)], 5_000);
    let mut contact = contact(2, 445);
    (contact.time_ns, contact.exporter) = (5_000_000_000, None);
    (contact.packets, contact.octets) = (NonZeroU64::new(1), NonZeroU64::new(100));
    take(&mut details, host(2), &contact);
    let rates = |packets, bits| Rates {
        packets_per_second: Some(packets),
        bits_per_second: Some(bits),
        ..Rates::default()
    };
    assert_eq!(details.rates(host(0), 7_000), rates(1, 400));
    assert_eq!([1, 2].map(|at| details.rates(host(at), 7_000)), [Rates::default(); 2]);
}

#[test]
fn rates_of_two_threads_are_those_of_all_their_contacts() {
    let mut details = Details::new(SEED);
    details.track_hosts(&[host(0)], 100_000);
    let mut of_threads = [details.clone(), details.clone()];
    // The slice closed one second late.
    for at in 0..200 {
        let mut contact = contact(2, 445);
        (contact.time_ns, contact.exporter) = ((101_000 + 10 * at) * 1_000_000, None);
        contact.packets = NonZeroU64::new(1);
        contact.octets = contact.packets;
        take(&mut of_threads[at as usize % 2], host(2), &contact);
        if at % 50 == 49 {
            of_threads.iter_mut().for_each(|of_thread| details.absorb(of_thread));
        }
    }
    let expected =
        Rates { packets_per_second: Some(100), bits_per_second: Some(800), ..Rates::default() };
    assert_eq!(details.rates(host(0), 103_000), expected);
}

#[test]
fn a_host_of_a_checkpoint_has_rates_from_its_first_contact_on() {
    let mut details = Details::new(SEED);
    let exporters = vec![host(9)];
    details.resume(vec![HostExporters { host: host(0), since_ms: 1_000, exporters }]);
    let mut of_thread = details.clone();
    for second in [100, 101] {
        let mut contact = contact(2, 445);
        (contact.time_ns, contact.exporter) = (second * 1_000_000_000, None);
        contact.packets = NonZeroU64::new(1);
        take(&mut of_thread, host(2), &contact);
        details.absorb(&mut of_thread);
    }
    assert_eq!(details.rates(host(0), 102_000).packets_per_second, Some(1));
    assert_eq!(details.all_exporters()[0].since_ms, 1_000);
}

#[test]
fn details_of_an_older_program_lack_what_it_does_not_count() {
    let mut old = serde_json::to_value(sent(&[1, 2])).unwrap();
    assert!(old.as_object_mut().unwrap().remove("volume").is_some());
    let old: HostDetails = serde_json::from_value(old).unwrap();
    assert_eq!((old.has_contacts(), old.volume()), (true, None));
    let new = sent(&[3]);
    assert!(new.volume().is_some() && HostDetails::new(0).volume().is_some());
}

#[test]
fn details_without_a_contact_are_empty() {
    assert_eq!(HostDetails::merge_all(SEED, [&HostDetails::new(0)]), None);
    assert_eq!(HostDetails::merge_all(SEED, []), None);
}

#[test]
fn shares_are_those_of_the_last_minutes() {
    let mut details = Details::new(SEED);
    details.track_hosts(&[host(0)], 0);
    let shares = |details: &Details| {
        let detail = details.of(host(0)).unwrap();
        (detail.ports.first().cloned(), (detail.syn_only * 100.0).round())
    };
    (1..=1_000).for_each(|peer| take(&mut details, host(peer), &contact(peer, 445)));
    details.track_hosts(&[host(0)], 59_999);
    assert_eq!(shares(&details), (Some(("tcp/445".to_owned(), 1.0)), 100.0));
    // In each of the next minutes, 500 contacts follow, which are no connection attempts.
    let mut shares_of_minutes = Vec::new();
    for minute in 1..=3 {
        details.track_hosts(&[host(0)], minute * 60_000);
        for peer in 1..=500 {
            let mut contact = contact(peer, 80);
            contact.tcp_flags = NonZeroU8::new(TCP_ACK);
            take(&mut details, host(peer), &contact);
        }
        shares_of_minutes.push(shares(&details));
    }
    let port = |port: &str, share| Some((port.to_owned(), share));
    assert_eq!(
        shares_of_minutes,
        [(port("tcp/445", 0.5), 50.0), (port("tcp/80", 0.75), 25.0), (port("tcp/80", 0.875), 13.0)]
    );
    // Without contacts, the last shares remain.
    (4..=90).for_each(|minute| details.track_hosts(&[host(0)], minute * 60_000));
    assert_eq!(shares(&details), (port("tcp/80", 0.874), 13.0));
}
