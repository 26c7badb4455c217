use srlg_input::contact::{ContactFilter, Role, ViewOptions};

use super::*;
use crate::notification::{Evidence, OppositeCounts};

/// Returns a context whose view counts `only` contacts in the direction of `role`, with peers in the opposite direction.
fn context(role: Role, only: ContactFilter, replies: Option<f64>, others: Option<f64>) -> Context {
    let view = ViewOptions { role, only, ..ViewOptions::default() };
    Context {
        direction: role.into(),
        only,
        host_packing: view.hosts(),
        peer_packing: view.peers(),
        opposite: OppositeCounts { replies, others, own: None },
        ..Context::default()
    }
}

/// Returns `context` with details about contacts that mostly have the ports `from` and `to`.
fn with(context: Context, from: &str, to: &str, attempts: f64) -> Context {
    let list = |port: &str| match port {
        "" => Vec::new(),
        port => vec![(port.to_owned(), 0.9)],
    };
    let is_request = to.parse().is_ok_and(Port::is_of_service);
    let detail = Detail {
        ports: list(to),
        source_ports: list(from),
        requests: f64::from(u8::from(is_request)),
        attempts,
        ..Detail::default()
    };
    let evidence = Evidence { detail: Some(detail), ..Evidence::default() };
    Context { evidence, ..context }
}

/// Returns the kind of an alert with 3,000 peers in a view without known replies.
fn kind(role: Role, replies: f64, others: f64, [from, to]: [&str; 2], attempts: f64) -> Kind {
    let context = context(role, ContactFilter::NoReplies, Some(replies), Some(others));
    Cause::of(&with(context, from, to, attempts), 3_000.0).kind
}

#[test]
fn a_host_that_answers_its_peers_is_busy_and_another_is_flooded() {
    let fan_in = |replies, ports| kind(Role::Destination, replies, 0.0, ports, 0.2);
    for (ports, busy) in [
        (["", "tcp/443"], Kind::Server),
        (["", "udp/53"], Kind::Resolver),
        (["", "tcp/853"], Kind::Resolver),
    ] {
        assert_eq!([1_000.0, 999.0].map(|it| fan_in(it, ports)), [busy, Kind::Flood], "{ports:?}");
    }
    // The host requests from others, which says nothing about requests to it.
    assert_eq!(kind(Role::Destination, 0.0, 3_000.0, ["", "tcp/443"], 0.2), Kind::Flood);
    // Nothing tells requests of P2P hosts from replies.
    assert_eq!(kind(Role::Destination, 0.0, 3_000.0, ["", "udp/40000"], 0.0), Kind::P2p);
    assert_eq!(kind(Role::Destination, 0.0, 3_000.0, ["", ""], 0.0), Kind::P2p);
}

#[test]
fn a_host_whose_peers_answer_is_busy_and_another_scans() {
    let fan_out = |replies, ports| kind(Role::Source, replies, 0.0, ports, 0.2);
    for (ports, busy) in [
        (["", "udp/53"], Kind::Resolver),
        (["", "tcp/443"], Kind::Server),
        (["", ""], Kind::P2p),
        // Live hosts answer scanners.
        (["", "tcp/445"], Kind::Scan),
        (["", "icmp"], Kind::Scan),
    ] {
        assert_eq!([1_000.0, 999.0].map(|it| fan_out(it, ports)), [busy, Kind::Scan], "{ports:?}");
    }
    // A monitoring host knows its devices.
    assert_eq!(
        [2_700.0, 2_699.0].map(|it| fan_out(it, ["", "udp/161"])),
        [Kind::Server, Kind::Scan]
    );
    // An infected server scans, although as many hosts contact it.
    assert_eq!(kind(Role::Source, 0.0, 3_000.0, ["", "tcp/445"], 0.2), Kind::Scan);
}

#[test]
fn connection_attempts_and_echo_requests_are_attacks_even_if_they_are_answered() {
    let web = ["", "tcp/443"];
    let of_attempts = [Role::Destination, Role::Source].map(|role| kind(role, 3e3, 3e3, web, 0.5));
    assert_eq!(of_attempts, [Kind::Flood, Kind::Scan]);
    let icmp = ["", "icmp"];
    let of_icmp = [Role::Destination, Role::Source].map(|role| kind(role, 3e3, 3e3, icmp, 0.0));
    assert_eq!(of_icmp, [Kind::Flood, Kind::Scan]);
}

#[test]
fn answers_that_nobody_asked_for_are_a_reflection_of_their_protocol() {
    for (only, to) in [(ContactFilter::Replies, ""), (ContactFilter::NoReplies, "udp/80")] {
        for (from, protocol) in [
            ("udp/53", Some("dns")),
            ("udp/123", Some("ntp")),
            ("udp/389", Some("cldap")),
            ("udp/11211", Some("memcached")),
            ("udp/1900", Some("ssdp")),
            ("udp/19", Some("chargen")),
            ("udp/161", Some("snmp")),
            ("tcp/443", None),
            ("udp/40000", None),
        ] {
            let context = context(Role::Destination, only, Some(0.0), Some(12.0));
            let cause = Cause::of(&with(context, from, to, 0.0), 3_000.0);
            let kind = if protocol.is_some() { Kind::Reflection } else { Kind::Flood };
            assert_eq!((cause.kind, cause.protocol), (kind, protocol), "{from}");
        }
    }
    let asked = context(Role::Destination, ContactFilter::Replies, None, Some(2_000.0));
    assert!(Cause::of(&with(asked, "udp/53", "", 0.0), 3_000.0).kind.is_benign());
}

#[test]
fn fragments_and_a_second_protocol_do_not_hide_a_reflection() {
    let context = context(Role::Destination, ContactFilter::NoReplies, Some(0.0), Some(0.0));
    let of = |shares: [(&str, f64); 2], without_port| {
        let source_ports = shares.map(|(port, share)| (port.to_owned(), share)).to_vec();
        let detail = Detail { source_ports, without_port, ..Detail::default() };
        let evidence = Evidence { detail: Some(detail), ..Evidence::default() };
        Cause::of(&Context { evidence, ..context.clone() }, 3_000.0).protocol
    };
    assert_eq!(of([("udp/389", 0.2), ("udp/5", 0.01)], 0.7), Some("cldap"));
    assert_eq!(of([("udp/389", 0.2), ("udp/5", 0.01)], 0.3), None);
    assert_eq!(of([("udp/389", 0.09), ("udp/5", 0.01)], 0.9), None, "too few have ports");
    assert_eq!(of([("udp/123", 0.3), ("udp/53", 0.3)], 0.0), Some("ntp"));
}

#[test]
fn one_view_alone_knows_attacks_by_flags_and_ports() {
    let alone = |role, from, to, attempts| {
        let context = context(role, ContactFilter::All, None, None);
        let Cause { kind, doubt, .. } = Cause::of(&with(context, from, to, attempts), 3_000.0);
        (kind, doubt)
    };
    let unknown = (Kind::Unknown, Some(Doubt::Opposite));
    assert_eq!(alone(Role::Destination, "", "tcp/443", 1.0), (Kind::Flood, None));
    assert_eq!(alone(Role::Destination, "udp/123", "udp/80", 0.0), (Kind::Reflection, None));
    assert_eq!(alone(Role::Destination, "", "tcp/443", 0.2), unknown);
    assert_eq!(alone(Role::Source, "", "tcp/443", 1.0), (Kind::Scan, None));
    assert_eq!(alone(Role::Source, "", "tcp/445", 0.2), (Kind::Scan, None));
    assert_eq!(alone(Role::Source, "", "", 0.2), unknown);
    assert_eq!(alone(Role::Any, "", "", 0.2), (Kind::Unknown, Some(Doubt::Directions)));
    // Requests are counted, but no view counts replies.
    let context = context(Role::Destination, ContactFilter::NoReplies, None, Some(3_000.0));
    assert_eq!(Cause::of(&with(context, "", "tcp/443", 0.2), 3_000.0).doubt, Some(Doubt::Opposite));
}

#[test]
fn networks_and_hosts_of_inputs_without_ports_are_servers_if_they_answer() {
    let fan_in = context(Role::Destination, ContactFilter::All, None, Some(2_000.0));
    assert_eq!(Cause::of(&fan_in, 3_000.0).kind, Kind::Server, "no details");
    let detail = Detail { without_port: 1.0, ..Detail::default() };
    let evidence = Evidence { detail: Some(detail), ..Evidence::default() };
    let of_list = Context { evidence, ..fan_in.clone() };
    assert_eq!(Cause::of(&of_list, 3_000.0).kind, Kind::Server, "a contact list");
    let of_networks = Context { is_of_networks: true, ..fan_in };
    assert_eq!(Cause::of(&with(of_networks, "", "", 0.2), 3_000.0).kind, Kind::Server);
}

#[test]
fn a_busy_host_is_flooded_if_it_has_far_more_peers_than_usual() {
    let usual = |most, weeks| Some(Usual { most, weeks });
    let given = |role, only, usual| {
        let context = with(context(role, only, Some(3_000.0), None), "", "tcp/443", 0.2);
        let Cause { kind, is_unusual, .. } =
            Cause::of(&context, 3_000.0).given(usual, &context, 3_000.0);
        (kind, is_unusual)
    };
    let (fan_in, requests) = (Role::Destination, ContactFilter::NoReplies);
    assert_eq!(given(fan_in, requests, None), (Kind::Server, false));
    assert_eq!(given(fan_in, requests, usual(1_000, 4)), (Kind::Server, false));
    assert_eq!(given(fan_in, requests, usual(900, 4)), (Kind::Flood, true));
    assert_eq!(given(fan_in, requests, usual(900, 1)), (Kind::Server, false), "too early to tell");
    assert!(!given(Role::Source, requests, usual(900, 4)).1, "it contacts more hosts");
    assert!(!given(fan_in, ContactFilter::Replies, usual(900, 4)).1, "it asked for more");
}
