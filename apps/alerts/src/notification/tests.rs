use crate::{Alert, Condition, Rule, Sighting, Terms, Tracker, Witnesses};

use srlg_input::contact::{HostKey, PeerKey, Prefixes, Role, ViewOptions};

use super::*;

/// Returns the start and the end of an alert about a host that has 2,000 peers.
fn alerts() -> Vec<Alert> {
    let terms = Terms { for_slices: 1, hold_ms: 0, ..Terms::default() };
    let rule = Rule { name: "r".to_owned(), networks: Vec::new(), windows: [(60, terms)].into() };
    let mut tracker = Tracker::new("fan-in");
    let point = Sighting::new([192, 0, 2, 7].into(), 2_000.0, 10.0);
    let closes = [(1_000, vec![point]), (61_000, Vec::new())].into_iter();
    let mut close = |(now_ms, points)| {
        tracker.close(
            now_ms,
            &[(60, points)].into(),
            |_| Some(&rule),
            Condition::default(),
            |_, _| Witnesses::default(),
        )
    };
    closes.flat_map(&mut close).collect()
}

fn notification(alert: Alert, counts: &[(&str, f64)]) -> Notification {
    let count = |(site, cardinality): &(&str, f64)| SiteCount {
        site: (*site).to_owned(),
        cardinality: *cardinality,
    };
    let rates = Rates {
        packets_per_second: Some(1_200_000),
        bits_per_second: Some(9_800_000_000),
        is_rate_upper_bound: true,
        ..Rates::default()
    };
    let evidence = Evidence {
        rates,
        sites: counts.iter().map(count).collect(),
        sites_without_details: vec!["lhr".to_owned()],
        ..Evidence::default()
    };
    let context =
        Context { direction: Direction::FanIn, slice_ms: 1_000, evidence, ..Context::default() };
    Notification::new(alert, context)
}

#[test]
fn a_notification_has_the_sites_that_saw_the_host_the_largest_first() {
    let start = alerts().remove(0);
    let notification = notification(start, &[("ams", 800.0), ("cdg", 0.0), ("fra", 1_240.0)]);
    let site =
        |site: &str, cardinality, share| NotifiedSite { site: site.to_owned(), cardinality, share };
    assert_eq!(notification.sites, [site("fra", 1_240.0, 0.62), site("ams", 800.0, 0.4)]);
    assert_eq!(notification.sites_without_details, ["lhr"]);
    insta::assert_snapshot!(notification.text);
    let written = serde_json::to_string(&notification).unwrap();
    assert_eq!(serde_json::from_str::<Notification>(&written).unwrap(), notification);
}

/// Returns the kind of an alert in a view, and the texts of its start and end.
fn of_view(view: &ViewOptions, host: &str, peer: Option<&str>) -> (Kind, String) {
    let parse = |text: &str| text.parse::<IpAddr>().unwrap();
    let notifications = alerts().into_iter().map(|mut alert| {
        alert.host = parse(host);
        let context = Context {
            direction: view.role.into(),
            host_packing: view.hosts(),
            peer_packing: view.peers(),
            slice_ms: 1_000,
            peers: peer.map(parse).into_iter().collect(),
            ..Context::default()
        };
        let notification = Notification::new(alert, context);
        let written = serde_json::to_string(&notification).unwrap();
        assert_eq!(serde_json::from_str::<Notification>(&written).unwrap(), notification);
        notification
    });
    let notifications: Vec<_> = notifications.collect();
    let lines = notifications.iter().map(|it| {
        let peers: Vec<_> = it.peers.iter().map(Name::to_string).collect();
        format!("{} [{}] {}", it.host, peers.join(" "), it.text)
    });
    (notifications[0].kind, lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_text_names_the_ports_of_most_contacts() {
    let text = |ports: &[(&str, f64)], source_ports: &[(&str, f64)]| {
        let owned = |ports: &[(&str, f64)]| {
            ports.iter().map(|(port, share)| ((*port).to_owned(), *share)).collect()
        };
        let detail =
            Detail { ports: owned(ports), source_ports: owned(source_ports), ..Detail::default() };
        let evidence = Evidence { detail: Some(detail), ..Evidence::default() };
        let context = Context { slice_ms: 1_000, evidence, ..Context::default() };
        Notification::new(alerts().remove(0), context).text
    };
    let ntp = &[("udp/123", 0.5)][..];
    insta::assert_snapshot!(
        [
            text(&[("udp/80", 0.5)], ntp),
            text(&[("udp/80", 0.4)], ntp),
            text(&[], ntp),
            text(&[], &[("udp/123", 0.4)]),
            text(&[], &[("port 123", 1.0)]),
            text(&[], &[]),
        ]
        .join("\n")
    );
}

#[test]
fn alerts_of_ports_and_services_name_them() {
    let prefixes = Prefixes { host4: 24, host6: 64, peer6: 64, ..Prefixes::default() };
    let (tcp_443, service) = ("0.6.1.187", "::c000:207:400:0:6:1bb");
    let view = |host, peer, role| ViewOptions { host, peer, role, ..ViewOptions::default() };
    use {HostKey as H, PeerKey as P, Role as R};
    let of = [
        (view(H::Address, P::Port, R::Destination), "192.0.2.7", Some(tcp_443), Kind::PortScan),
        (view(H::Address, P::Port, R::Source), "192.0.2.7", Some(tcp_443), Kind::PortScan),
        (view(H::Address, P::Port, R::Any), "192.0.2.7", None, Kind::PortScan),
        (view(H::Address, P::AddressPort, R::Source), "10.0.0.1", Some(service), Kind::ServiceScan),
        (
            view(H::Address, P::AddressPort, R::Destination),
            "10.0.0.1",
            Some(service),
            Kind::Unknown,
        ),
        (
            view(H::AddressPort, P::Address, R::Destination),
            service,
            Some("10.0.0.1"),
            Kind::ServiceFlood,
        ),
        (view(H::AddressPort, P::Address, R::Source), service, Some("10.0.0.1"), Kind::Scan),
        (
            ViewOptions { prefixes, ..view(H::Address, P::Address, R::Destination) },
            "192.0.2.0",
            Some("2001:db8::"),
            Kind::Unknown,
        ),
    ];
    let texts = of.map(|(view, host, peer, kind)| {
        let (found, text) = of_view(&view, host, peer);
        assert_eq!(found, kind, "{text}");
        text
    });
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_text_names_three_sites_and_counts_the_others() {
    let start = alerts().remove(0);
    let counts: Vec<_> =
        ["a", "b", "c", "d", "e"].into_iter().zip([900.0, 800.0, 70.0, 60.0, 50.0]).collect();
    let texts = [1, 3, 5].map(|sites| notification(start.clone(), &counts[..sites]).text);
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn shares_are_at_most_1_where_the_network_counts_fewer() {
    let mut start = alerts().remove(0);
    // A network counts 0 for a host with too few peers to be reported.
    start.windows[0].cardinality = 0.0;
    let none = f64::NAN;
    let notification = notification(start, &[("fra", 400.0), ("ams", 100.0), ("cdg", none)]);
    let shares: Vec<f64> = notification.sites.iter().map(|site| site.share).collect();
    assert_eq!(shares, [1.0, 0.25]);
}

#[test]
fn a_notification_without_sites_is_written_without_them() {
    let end = alerts().remove(1);
    let notification = Notification::new(end, Context::default());
    assert_eq!(notification.status, Status::End);
    let mut written = serde_json::to_value(&notification).unwrap();
    let fields = written.as_object_mut().unwrap();
    assert!(!fields.contains_key("sites") && !fields.contains_key("sites_without_details"));
    assert_eq!(serde_json::from_value::<Notification>(written).unwrap(), notification);
}

#[test]
fn a_sample_has_every_field() {
    let sample = serde_json::to_value(Notification::sample()).unwrap();
    let written: serde_json::Value = serde_json::from_str(include_str!("sample.json")).unwrap();
    assert_eq!(sample, written);
    // The sample must have all optional fields, which this pattern lists.
    let Notification { port, label, until_ms, opposite, detail_since_ms, syn_only, .. } =
        Notification::sample();
    let Notification { rates, peak_rates, .. } = Notification::sample();
    assert!(rates.packets_per_second.is_some() && rates.bits_per_second.is_some());
    assert!(peak_rates.is_some());
    assert!(port.is_some() && label.is_some() && until_ms.is_some() && opposite.is_some());
    assert!(detail_since_ms.is_some() && syn_only.is_some());
}

#[test]
fn peers_of_a_detector_are_taken_from_all_over_its_sample() {
    let peers = |count: u8| -> Vec<Name> {
        let peers = (0..count).map(|at| [192, 0, 2, at].into()).collect();
        Notification::new(alerts().remove(0), Context { peers, ..Context::default() }).peers
    };
    for (count, expected) in [(0, 0), (31, 31), (32, 32), (33, 32), (40, 32), (64, 32)] {
        let peers = peers(count);
        assert_eq!(peers.len(), expected);
        let is_late = |peer: &&Name| {
            let IpAddr::V4(address) = peer.network().unwrap().addr() else { panic!("{peer}") };
            address.octets()[3] >= count / 2
        };
        let late = peers.iter().filter(is_late).count();
        assert!(late.abs_diff(expected / 2) <= 1, "{late} of {expected} are of the second half");
        assert!(peers.is_sorted_by(|a, b| a.network() < b.network()), "{peers:?}");
    }
}
