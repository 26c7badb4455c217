use super::*;
use srlg_alerts::Status;
use srlg_alerts::notification::NotifiedWindow;

fn notification(start_s: u64, host: &str, status: Status) -> Notification {
    Notification {
        id: AlertId::of(&[host], start_s),
        status,
        host: host.parse().unwrap(),
        port: None,
        label: None,
        start_ms: start_s * 1_000,
        now_ms: (start_s + 10) * 1_000,
        until_ms: (status == Status::End).then_some((start_s + 5) * 1_000),
        top_ports: vec![("tcp/443".to_owned(), 0.5), ("udp/53".to_owned(), 0.5)],
        top_source_ports: vec![("udp/53".to_owned(), 0.5)],
        ..Notification::sample()
    }
}

fn store() -> Store {
    let store = Store::open(None).unwrap();
    let mut notifications = vec![
        notification(100, "192.0.2.7", Status::End),
        notification(200, "2001:db8::1", Status::End),
        notification(300, "198.51.100.0/24", Status::End),
        notification(400, "198.51.100.9", Status::Update),
    ];
    (notifications[0].view, notifications[0].label) =
        ("fan-out".to_owned(), Some("ÖBB Web Shop".to_owned()));
    (notifications[0].kind, notifications[0].severity) = (Kind::Scan, Severity::Critical);
    (notifications[1].severity, notifications[1].top_ports) =
        (Severity::Major, vec![("tcp/22".into(), 1.0)]);
    notifications[1].top_source_ports = vec![("udp/123".into(), 0.9)];
    notifications[2].severity = Severity::Warning;
    notifications[3].severity = Severity::Warning;
    store.add(&notifications, &[]).unwrap();
    store
}

#[test]
fn incidents_are_found_by_each_filter() {
    let store = store();
    let starts = |filter: IncidentFilter| -> Vec<u64> {
        store.incidents(&filter).unwrap().iter().map(|it| it.start_ms / 1_000).collect()
    };
    let none = IncidentFilter::default;
    let host = |host: &str| IncidentFilter { host: host.parse().ok(), ..none() };
    let network = |network: &str| IncidentFilter { network: network.parse().ok(), ..none() };
    let port = |port: &str| IncidentFilter { port: port.parse().ok(), ..none() };
    let severity = |severity| IncidentFilter { severity: Some(severity), ..none() };
    let text = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        (none(), &[400, 300, 200, 100][..]),
        (host("192.0.2.7"), &[100]),
        (host("::ffff:192.0.2.7"), &[100]),
        (host("198.51.100.9"), &[400, 300]),
        (host("198.51.100.10"), &[300]),
        (host("2001:db8::1"), &[200]),
        (host("192.0.2.8"), &[]),
        (network("192.0.2.0/24"), &[100]),
        (network("198.51.0.0/16"), &[400, 300]),
        (network("198.51.100.128/25"), &[300]),
        (network("2001:db8::/32"), &[200]),
        (network("::/0"), &[200]),
        (network("0.0.0.0/0"), &[400, 300, 100]),
        (IncidentFilter { label: text("shop"), ..none() }, &[100]),
        (IncidentFilter { label: text("ÖBB web"), ..none() }, &[100]),
        (IncidentFilter { view: text("fan-out"), ..none() }, &[100]),
        (port("53"), &[400, 300, 100]),
        (port("tcp/22"), &[200]),
        (port("udp/123"), &[200]),
        (port("123"), &[200]),
        (port("udp/443"), &[]),
        (IncidentFilter { kind: Some(Kind::Scan), ..none() }, &[100]),
        (severity(Severity::Major), &[200, 100]),
        (severity(Severity::Critical), &[100]),
        // The first incident ended at second 105.
        (IncidentFilter { from: Some(105_000), ..none() }, &[400, 300, 200, 100]),
        (IncidentFilter { from: Some(105_001), ..none() }, &[400, 300, 200]),
        (IncidentFilter { from: Some(900_000), ..none() }, &[400]),
        (IncidentFilter { to: Some(200_000), ..none() }, &[200, 100]),
        (IncidentFilter { limit: Some(2), ..none() }, &[400, 300]),
        (IncidentFilter { before: Some(3), limit: Some(1), ..none() }, &[200]),
        (IncidentFilter { view: text("fan-out"), ..severity(Severity::Critical) }, &[100]),
        (IncidentFilter { view: text("fan-out"), ..host("2001:db8::1") }, &[]),
    ] {
        assert_eq!(starts(filter.clone()), expected, "{filter:?}");
        let last = store.last_notifications(&filter).unwrap();
        let last: Vec<u64> =
            last.iter().map(|(_, notification)| notification.start_ms / 1_000).collect();
        assert_eq!(last, expected, "{filter:?}");
    }
}

#[test]
fn an_incident_is_its_last_notification_with_the_ports_before_its_end() {
    let store = Store::open(None).unwrap();
    let main = |peak| NotifiedWindow { peak, ..Notification::sample().main };
    let start = Notification { main: main(2e3), ..notification(100, "192.0.2.7", Status::Start) };
    let update = Notification { main: main(9e3), now_ms: 111_000, ..start.clone() };
    let end = notification(100, "192.0.2.7", Status::End);
    let end = Notification { top_ports: Vec::new(), top_source_ports: Vec::new(), ..end };
    let end = Notification { main: main(9e3), severity: Severity::Critical, ..end };
    store.add(&[start.clone(), notification(99, "192.0.2.8", Status::Start)], &[]).unwrap();
    let first = |store: &Store| store.incidents(&IncidentFilter::default()).unwrap().pop().unwrap();
    let Incident { end_ms, is_over, peak, .. } = first(&store);
    assert_eq!((end_ms, is_over, peak), (None, false, 2e3));
    store.add(&[update.clone(), end.clone()], &[]).unwrap();
    let expected = Incident {
        first: 1,
        id: end.id,
        is_over: true,
        start_ms: 100_000,
        end_ms: Some(105_000),
        severity: Severity::Critical,
        kind: end.kind,
        view: end.view.clone(),
        rule: end.rule.clone(),
        host: "192.0.2.7".to_owned(),
        label: None,
        unit: end.unit,
        window_ms: end.main.window_ms,
        threshold: end.main.threshold,
        peak: 9e3,
        ports: vec!["tcp/443".to_owned(), "udp/53".to_owned()],
    };
    assert_eq!(first(&store), expected);
    let notifications = store.notifications_of(end.id).unwrap();
    assert_eq!(notifications, [(1, start), (3, update), (4, end)]);
    assert_eq!(store.notifications_of(AlertId::of(&["none"], 0)).unwrap(), []);
}

#[test]
fn incidents_are_forgotten_with_their_notifications() {
    let store = store();
    assert_eq!(store.forget(411_000).unwrap(), 3);
    let left = store.incidents(&IncidentFilter::default()).unwrap();
    assert_eq!(left.iter().map(|it| it.start_ms).collect::<Vec<_>>(), [400_000]);
}

#[test]
fn a_reader_finds_what_the_writer_has_added_since() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Some(folder.path())).unwrap();
    let reader = store.reader().unwrap();
    store.add(&[notification(100, "192.0.2.7", Status::Start)], &[]).unwrap();
    assert_eq!(reader.incidents(&IncidentFilter::default()).unwrap().len(), 1);
    assert!(
        reader.set(&[]).is_ok()
            && reader.add(&[notification(1, "::1", Status::Start)], &[]).is_err()
    );
}
