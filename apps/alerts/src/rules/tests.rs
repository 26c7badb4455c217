use std::net::IpAddr;
use std::num::NonZeroU8;

use crate::{Rule, Terms};
use ipnet::IpNet;
use srlg_input::contact::{Contact, Prefixes, parse_network};

use super::{Allow, AllowTarget, Rules};

fn host(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn networks(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| parse_network(text).unwrap()).collect()
}

fn set(name: &str, of: &[&str], threshold: f64) -> Rule {
    let windows = [(60, Terms { threshold, ..Terms::default() })].into();
    Rule { name: name.to_owned(), networks: networks(of), windows }
}

fn rules() -> Rules {
    let sets = vec![
        set("all", &["0.0.0.0/0", "::/0"], 1000.0),
        set("site", &["10.0.0.0/8", "2001:db8::/32"], 500.0),
        set("servers", &["10.1.2.0/24"], 5000.0),
    ];
    let allow = |what, why: &str| Allow { what, why: why.to_owned() };
    let allows = vec![
        allow(AllowTarget::Hosts(networks(&["10.1.2.9", "2001:db8::9"])), "busy"),
        allow(AllowTarget::Peers(networks(&["192.0.2.0/24"])), "scanner of ours"),
        allow(AllowTarget::Services(networks(&["10.0.0.0/8"]), vec![53]), "dns"),
        allow(AllowTarget::Services(networks(&["10.1.0.0/16"]), vec![443]), "web"),
    ];
    Rules::new(sets, allows)
}

fn contact(source: &str, destination: &str, port: u16) -> Contact {
    let mut contact = Contact::new(0, host(source).into(), host(destination).into());
    contact.destination_port = Some(port);
    contact
}

#[test]
fn the_longest_network_decides_and_other_windows_have_no_rule() {
    let rules = rules();
    for (of, name) in [
        ("192.0.2.1", Some("all")),
        ("10.9.9.9", Some("site")),
        ("10.1.2.3", Some("servers")),
        ("2001:db8::1", Some("site")),
        ("2001:db9::1", Some("all")),
        ("10.1.2.9", None),
        ("2001:db8::9", None),
    ] {
        assert_eq!(rules.rule(host(of)).map(|rule| rule.name.as_str()), name, "{of}");
    }
    assert_eq!((rules.windows(), rules.least()), (vec![60], 400.0));
}

#[test]
fn an_allowed_host_of_a_network_does_not_hide_the_network() {
    let prefixes = Prefixes { host4: 24, host6: 48, peer4: 32, peer6: 64 };
    let what = AllowTarget::Hosts(networks(&["10.1.2.9", "10.2.0.0/16", "2001:db8::9"]));
    let allows = Allow { what, why: "busy".to_owned() }.in_view(&prefixes);
    let targets: Vec<_> = allows.iter().map(|allow| allow.what.clone()).collect();
    assert_eq!(
        targets,
        [
            AllowTarget::Hosts(networks(&["10.2.0.0/16"])),
            AllowTarget::Parts(networks(&["10.1.2.9", "2001:db8::9"])),
        ]
    );
    let rules = Rules::new(vec![set("all", &["0.0.0.0/0"], 1000.0)], allows);
    assert!(rules.rule(host("10.1.2.0")).is_some() && rules.rule(host("10.2.2.0")).is_none());
    let mut hits = [0; 2];
    for (source, destination, counts) in [
        ("198.51.100.1", "10.1.2.9", [true, false]),
        ("10.1.2.9", "198.51.100.1", [false, true]),
        ("198.51.100.1", "10.1.2.8", [true, true]),
    ] {
        assert_eq!(rules.counts(&contact(source, destination, 80), [true; 2], &mut hits), counts);
    }
    assert_eq!(hits, [0, 2]);
}

#[test]
fn what_is_allowed_does_not_count_and_is_counted() {
    let (rules, mut hits) = (rules(), [0; 4]);
    for (contact, counts) in [
        (contact("198.51.100.1", "10.1.2.3", 80), true),
        (contact("192.0.2.7", "10.1.2.3", 80), false),
        (contact("10.1.2.3", "192.0.2.7", 80), true),
        (contact("198.51.100.1", "10.1.2.3", 443), false),
        // The entry of the larger network, with port 53, applies too.
        (contact("198.51.100.1", "10.1.2.3", 53), false),
        (contact("198.51.100.1", "10.2.2.3", 443), true),
        (Contact::new(0, [198, 51, 100, 1].into(), [10, 1, 2, 3].into()), true),
    ] {
        assert_eq!(
            rules.counts(&contact, [false, true], &mut hits),
            [false, counts],
            "{contact:?}"
        );
    }
    for (of, window, opposite) in [
        ("10.1.2.9", 60, 5_000.0),
        ("10.1.2.9", 60, 4_999.0),
        ("10.1.2.9", 61, 9_000.0),
        ("10.1.2.8", 60, 9_000.0),
    ] {
        rules.count_host(host(of), window, opposite, &mut hits);
    }
    assert_eq!(hits, [1, 1, 1, 1]);
    // A contact without a pair in this view was not ignored by the allow list.
    let allowed = contact("192.0.2.7", "10.1.2.3", 80);
    assert_eq!(rules.counts(&allowed, [false; 2], &mut hits), [false; 2]);
    assert_eq!(hits, [1, 1, 1, 1]);
    // The allowed host is the peer of only one end.
    assert_eq!(rules.counts(&allowed, [true, true], &mut hits), [true, false]);
    let answer = contact("10.1.2.3", "192.0.2.7", 80);
    assert_eq!(rules.counts(&answer, [true, true], &mut hits), [false, true]);
    let mut allows = rules.allows().to_vec();
    allows.rotate_left(1);
    allows.insert(0, Allow { what: AllowTarget::Peers(Vec::new()), why: "new".to_owned() });
    let next = Rules::new(rules.rules().to_vec(), allows);
    assert_eq!(next.hits_after(&rules, &hits), [0, 3, 1, 1, 1], "counts outlive a reload");
}

#[test]
fn requests_to_a_service_and_its_replies_are_ignored() {
    let web = AllowTarget::Services(networks(&["198.51.100.80", "2001:db8::80"]), vec![443]);
    let allows = vec![Allow { what: web, why: "web".to_owned() }];
    let rules = Rules::new(vec![set("all", &["0.0.0.0/0", "::/0"], 1000.0)], allows);
    let (server, client) = ("198.51.100.80", "203.0.113.7");
    let of = |source, [source_port, destination_port]: [u16; 2], destination| {
        let mut contact = contact(source, destination, destination_port);
        contact.source_port = Some(source_port);
        contact
    };
    let syn = |mut contact: Contact| {
        (contact.protocol, contact.tcp_flags) = (Some(6), NonZeroU8::new(2));
        contact
    };
    let initiated = |mut contact: Contact, by_source| {
        contact.initiated = Some(by_source);
        contact
    };
    let icmp = |mut contact: Contact| {
        contact.protocol = Some(1);
        contact
    };
    for (contact, is_ignored, what) in [
        (of(client, [40_000, 443], server), true, "request"),
        (syn(of(client, [40_000, 443], server)), true, "first packet of a request"),
        (of(server, [443, 40_000], client), true, "reply"),
        (initiated(of(server, [443, 40_000], client), false), true, "known reply"),
        (of("2001:db8::80", [443, 40_000], "2001:db8:1::1"), true, "reply over IPv6"),
        (of(client, [40_000, 80], server), false, "flood of another port"),
        (of(client, [443, 40_000], server), false, "flood from the port of the service"),
        (of(server, [40_000, 443], client), false, "scan for the same service"),
        (syn(of(server, [443, 22], client)), false, "scan from the port of the service"),
        (initiated(of(server, [443, 22], client), true), false, "known scan"),
        (of("198.51.100.81", [443, 40_000], client), false, "reply of another host"),
        (icmp(of(client, [0, 443], server)), false, "ICMP"),
    ] {
        let mut hits = [0];
        let counts = rules.counts(&contact, [true; 2], &mut hits);
        assert_eq!((counts, hits), ([!is_ignored; 2], [u64::from(is_ignored)]), "{what}");
    }
}

#[test]
fn an_explanation_names_the_rule_its_network_and_what_is_allowed() {
    let rules = rules();
    let explanation = rules.explain(host("10.1.2.9"));
    let (set, network) = explanation.rule.unwrap();
    assert_eq!((set.name.as_str(), network.to_string().as_str()), ("servers", "10.1.2.0/24"));
    let others: Vec<&str> = explanation.others.iter().map(|(set, _)| set.name.as_str()).collect();
    assert_eq!(others, ["all", "site"]);
    let allows: Vec<&str> = explanation.allows.iter().map(|allow| allow.why.as_str()).collect();
    assert_eq!(allows, ["busy", "dns", "web"]);
}

#[test]
fn terms_out_of_range_are_named() {
    let terms = Terms::default();
    let errors = [
        (Terms { threshold: 0.0, ..terms }, "threshold"),
        (Terms { threshold: f64::NAN, ..terms }, "threshold"),
        (Terms { down: 1.0, ..terms }, "down"),
        (Terms { of_slices: 33, ..terms }, "of"),
        (Terms { for_slices: 6, ..terms }, "for"),
        (Terms { for_slices: 0, ..terms }, "for"),
    ]
    .map(|(bad, name)| {
        let error = bad.checked().unwrap_err();
        assert_eq!(error.name, name);
        format!("{error}\n")
    });
    insta::assert_snapshot!(errors.concat());
    assert_eq!(terms.checked(), Ok(terms));
}
